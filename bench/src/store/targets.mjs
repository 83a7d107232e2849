// What a store with many runs is held to.
import { leastCost } from "../report.mjs"

function target(name, atMost, section, size) {
  const of = (system) => (sections) => leastCost(sections[section], system, size)
  return { name, atMost, measure: of("superstep"), limit: of("raw") }
}

export const storeTargets = [
  target("recover 10,000 interrupted runs, ms", 1_000, "recover", 10_000),
  target("delete 88,000 of 100,000 runs, ms", 5_000, "prune", 100_000),
  ...[
    "the newest 20",
    "a label of one run",
    "a label of one run in a hundred",
    "text in one run's id",
    "text that no run has",
  ].map((query) => target(`find ${query} among 100,000, ms`, 5, query, 100_000)),
]
