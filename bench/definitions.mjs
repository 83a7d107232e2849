#!/usr/bin/env node
// Definitions of many steps: loading one, which is what `superstep validate` does, and running it.
import { runBench, show } from "./src/bench.mjs"
import { inNewProcess } from "./src/child.mjs"
import { positiveOption } from "./src/options.mjs"
import { leastCost, ratioTo, timedTable } from "./src/report.mjs"
import { takeSamples } from "./src/round-robin.mjs"
import { median } from "./src/statistics.mjs"

const script = new URL("./src/definitions/process.mjs", import.meta.url)

/** The first system is the limit. */
const measures = {
  load: {
    title: "Loading a definition, in a new process: read, check, link (the limit: parsing YAML)",
    systems: ["yaml", "superstep"],
    sizes: [1_000, 10_000],
  },
  "tool steps": {
    title: "Running a definition of tool steps (the limit: a chain of functions in TypeScript)",
    systems: ["code", "superstep"],
    sizes: [1_000, 10_000],
  },
  "agent steps": {
    title:
      "Running a definition of agents, each of which reads all outputs before it (the limit: a plain loop)",
    systems: ["plain", "superstep"],
    sizes: [1_000, 10_000],
  },
}

const options = {
  rounds: { type: "string", default: "5", help: "samples of each system, in turns" },
  cap: { type: "string", default: "60", help: "seconds; a size that would take longer is left out" },
}

async function timeDefinition(what, { systems, sizes }, { rounds, capMs }) {
  const cells = []
  for (const size of sizes) {
    const entrants = systems.map((system) => ({
      system,
      size,
      samples: [],
      sample: () => inNewProcess(script, [what, system, size]),
    }))
    // Ten times the steps may take a hundred times as long.
    const tooLong = entrants.filter(({ system }) => {
      const before = cells.find((cell) => cell.system === system && cell.cost !== undefined)
      return before !== undefined && before.cost * (size / before.size) ** 2 > capMs
    })
    await takeSamples(
      entrants.filter((entrant) => !tooLong.includes(entrant)),
      { rounds, budgetMs: 20_000 },
    )
    for (const { system, samples } of entrants) {
      if (samples.length === 0) cells.push({ system, size, skipped: `> ${capMs / 1_000} s, skipped` })
      else cells.push({ system, size, samples, cost: median(samples) })
    }
  }
  return cells
}

async function measure(values) {
  const rounds = values.smoke ? 1 : Math.ceil(positiveOption(values.rounds, "--rounds"))
  const capMs = positiveOption(values.cap, "--cap") * 1_000
  const sections = {}
  for (const [what, described] of Object.entries(measures)) {
    console.error(`measuring ${what} …`)
    const sized = values.smoke ? { ...described, sizes: [20] } : described
    const cells = await timeDefinition(what, sized, { rounds, capMs })
    sections[what] = { title: described.title, unit: "ms", cells }
    const table = timedTable(sections[what], (size) => `${size} steps`, described.systems[0])
    show(described.title, table)
  }
  return { rounds, sections }
}

/** Cost per step at the larger size against that at the smaller. */
function perStepGrowth(section, system, from, to) {
  const [small, large] = [from, to].map((size) => leastCost(section, system, size))
  return small && large && large / to / (small / from)
}

const targets = [
  {
    name: "load 10,000 steps, ms",
    atMost: 1_000,
    measure: ({ load }) => leastCost(load, "superstep", 10_000),
    limit: ({ load }) => leastCost(load, "yaml", 10_000),
  },
  {
    name: "run 1,000 tool steps, times the same chain in TypeScript",
    atMost: 50,
    measure: (sections) => ratioTo(sections["tool steps"], "superstep", "code", 1_000),
  },
  {
    name: "time per tool step, 10,000 steps against 1,000",
    atMost: 1.25,
    measure: (sections) => perStepGrowth(sections["tool steps"], "superstep", 1_000, 10_000),
    limit: (sections) => perStepGrowth(sections["tool steps"], "code", 1_000, 10_000),
  },
  {
    name: "run 1,000 agent steps, times a plain loop with the same prompts",
    atMost: 10,
    measure: (sections) => ratioTo(sections["agent steps"], "superstep", "plain", 1_000),
  },
]

await runBench({ name: "definitions", options, packages: ["superstep"], measure, targets })
