#!/usr/bin/env node
// What an agent costs beside its model: the same model asked directly, through callModel, and by an agent; each for a
// whole reply, and for one that is streamed to an observer. And how late the event loop is under many durable agents.
import { performance } from "node:perf_hooks"
import { ways } from "./src/agents/calls.mjs"
import { runBench, show } from "./src/bench.mjs"
import { inNewProcess } from "./src/child.mjs"
import { measuredCell } from "./src/report.mjs"
import { takeSamples } from "./src/round-robin.mjs"
import { leastDifference, median } from "./src/statistics.mjs"
import { costText, textTable } from "./src/table.mjs"

const loopDelay = new URL("./src/agents/loop-delay-process.mjs", import.meta.url)
const manyAgents = 1_000

async function measureCalls({ smoke }) {
  const [rounds, calls] = smoke ? [1, 10] : [9, 300]
  const entrants = Object.entries(ways).map(([system, { per, run }]) => ({
    system,
    samples: [],
    async sample() {
      const times = Math.ceil(calls / per)
      const start = performance.now()
      for (let i = 0; i < times; i++) await run()
      return ((performance.now() - start) * 1_000) / (times * per)
    },
  }))
  for (const { sample } of entrants) for (let warm = 0; warm < rounds / 4; warm++) await sample()
  await takeSamples(entrants, { rounds, budgetMs: Number.POSITIVE_INFINITY })
  const cells = entrants.map(({ system, samples }) => ({ system, size: 1, samples, cost: median(samples) }))
  const title = "Time per model call"
  const rows = cells.map(({ system, cost }) => [system, costText(cost, "µs")])
  show(title, textTable(["asked by", "per call"], rows))
  return { title, unit: "µs", cells }
}

async function measureLoopDelay({ smoke }) {
  const [rounds, agents] = smoke ? [1, 10] : [5, manyAgents]
  const entrants = ["plain", "superstep"].map((system) => ({
    system,
    samples: [],
    sample: () => inNewProcess(loopDelay, [system, agents]),
  }))
  await takeSamples(entrants, { rounds, budgetMs: Number.POSITIVE_INFINITY })
  const title = `How late the event loop is under ${agents.toLocaleString("en-US")} durable agents`
  const cells = entrants.map(({ system, samples }) => {
    const of = (what) => median(samples.map((sample) => sample[what]))
    return { system, size: agents, samples, p50: of("p50"), p99: of("p99"), max: of("max"), cost: of("p99") }
  })
  const rows = cells.map(({ system, p50, p99, max }) => [
    system,
    ...[p50, p99, max].map((ms) => costText(ms, "ms")),
  ])
  show(title, textTable(["system", "median", "p99", "max"], rows))
  return { title, unit: "ms", cells }
}

const overheads = Object.entries(ways)
  .filter(([, { over }]) => over !== undefined)
  .map(([way, { over }]) => ({
    name: `overhead per model call over ${over}, µs: ${way}`,
    atMost: 30,
    measure({ calls }) {
      const [cell, base] = [way, over].map((system) => measuredCell(calls, system, 1))
      return cell && base && leastDifference(cell.samples, base.samples)
    },
  }))

function leastDelay(section, system, what) {
  const cell = measuredCell(section, system, manyAgents)
  return cell && Math.min(...cell.samples.map((sample) => sample[what]))
}

const delays = [
  ["p99", 20],
  ["max", 50],
].map(([what, atMost]) => ({
  name: `event loop under 1,000 durable agents, ${what} ms`,
  atMost,
  measure: ({ loop }) => leastDelay(loop, "superstep", what),
  limit: ({ loop }) => leastDelay(loop, "plain", what),
}))

await runBench({
  name: "agents",
  packages: ["superstep", "@superstep/store-sqlite", "libsql"],
  async measure(values) {
    return { sections: { calls: await measureCalls(values), loop: await measureLoopDelay(values) } }
  },
  targets: [...overheads, ...delays],
})
