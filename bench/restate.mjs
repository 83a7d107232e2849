#!/usr/bin/env node
// Superstep on Restate beside SQLite, PostgreSQL and plain Restate code: steps of one run, runs, fan-outs over workers, answers.
import { join } from "node:path"
import { runBench, show } from "./src/bench.mjs"
import { makeFolder } from "./src/durable/folder.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { benchServer } from "./src/postgres/server.mjs"
import { benchCluster } from "./src/restate/cluster.mjs"
import { openStore } from "./src/restate/flows.mjs"
import {
  localRuntimes,
  measureAnswers,
  measureFanOut,
  measureRuns,
  measureSteps,
} from "./src/restate/measures.mjs"
import { pairedRatio } from "./src/statistics.mjs"
import { shortNumber, textTable } from "./src/table.mjs"

/** What the same work costs in plain Restate code, of this system. */
const plainOf = (system) => (system.startsWith("Restate") ? `plain ${system}` : undefined)
const find = (cells, system, size) => cells.find((cell) => cell.system === system && cell.size === size)

/** Times plain Restate code, of the largest size, paired round by round. */
function overhead(cells, system) {
  const cell = cells.findLast((one) => one.system === system)
  const plain = cell && find(cells, plainOf(system), cell.size)
  return plain && pairedRatio(cell.samples, plain.samples)
}

/** The exponent by which the cost of all grows with the size: 1 is linear. */
function exponent(cells, system) {
  const own = cells.filter((cell) => cell.system === system)
  const [first, last] = [own[0], own.at(-1)]
  if (first === undefined || first.size === last.size) return undefined
  return 1 + Math.log(last.cost / first.cost) / Math.log(last.size / first.size)
}

const number = (value) => (value === undefined ? "" : shortNumber(value))
const cpuTotal = ({ cpu }) => cpu && Object.values(cpu).reduce((sum, one) => sum + one, 0)

const rates = (unit) => (cells) =>
  textTable(
    ["system", "size", `${unit}s/s`, "× plain", "growth", `CPU ms/${unit}`],
    cells.map((cell) => {
      const { system, size, cost } = cell
      const isLast = cells.findLast((one) => one.system === system) === cell
      const ofPlain = plainOf(system) && find(cells, plainOf(system), size)
      const ratio = ofPlain && pairedRatio(cell.samples, ofPlain.samples)
      const grows = isLast ? exponent(cells, system) : undefined
      return [
        system,
        String(size),
        shortNumber(1_000 / cost),
        number(ratio),
        number(grows),
        number(cpuTotal(cell)),
      ]
    }),
  )
const latencies = (cells) =>
  textTable(
    ["system", "p50, ms", "× plain"],
    cells.map(({ system, cost }) => [system, shortNumber(cost), number(overhead(cells, system))]),
  )
/** `seconds`: after that, no further round begins. */
const measures = {
  steps: { title: "Steps of one run", run: measureSteps, table: rates("step"), seconds: 100 },
  runs: { title: "Runs of one task, 64 at a time", run: measureRuns, table: rates("run"), seconds: 60 },
  fanOut: { title: "Fan-out of tasks of 5 ms", run: measureFanOut, table: rates("task"), seconds: 120 },
  answers: {
    title: "From an answer to the end of its run",
    run: measureAnswers,
    table: latencies,
    seconds: 40,
  },
}

const options = {
  only: { type: "string", help: `measures, by comma: ${Object.keys(measures).join(", ")}` },
  rounds: {
    type: "string",
    default: "5",
    help: "samples of each system at most; a measure ends when its time is over",
  },
  size: {
    type: "string",
    default: "10000",
    help: "steps of the longest run, and tasks of the largest fan-out",
  },
  systems: { type: "string", help: "only systems whose names begin with these, by comma" },
  url: { type: "string", help: "a PostgreSQL server to measure on (default: one out of npm, with fsync on)" },
}

async function measure(values) {
  const only = listOption(values.only, Object.keys(measures), "measure")
  const { smoke } = values
  const size = Math.ceil(positiveOption(values.size, "--size"))
  const postgres = await benchServer(values.url)
  const cluster = await benchCluster(postgres.url)
  const stores = {
    SQLite: await openStore(join(makeFolder(), "bench.db")),
    PostgreSQL: await openStore(`${postgres.url}#bench_restate`),
  }
  const local = localRuntimes(stores)
  const fleets = []
  const wanted = values.systems?.split(",")
  const settings = {
    local,
    isWanted: (system) => wanted?.some((one) => system.startsWith(one)) ?? true,
    fleet: async (workers) => {
      const fleet = await cluster.fleet(workers)
      fleets.push(fleet)
      return fleet
    },
    rounds: smoke ? 1 : Math.ceil(positiveOption(values.rounds, "--rounds")),
    sizes: smoke ? [20] : [Math.ceil(size / 10), size],
    runs: smoke ? 20 : Math.min(1_000, size),
    count: smoke ? 3 : 30,
    workers: smoke ? [1] : [1, 2, 3],
  }
  const sections = {}
  try {
    for (const id of only) {
      const { title, run, table, seconds } = measures[id]
      console.error(`measuring ${id} …`)
      sections[id] = { cells: await run({ ...settings, seconds }) }
      show(title, table(sections[id].cells))
      for (const fleet of fleets.splice(0)) await fleet.stop()
    }
  } finally {
    for (const fleet of fleets) await fleet.stop()
    for (const runtime of Object.values(local)) await runtime.close()
    for (const store of Object.values(stores)) await store.close()
    await cluster.stop()
    await postgres.stop()
  }
  return {
    partial: only.length < Object.keys(measures).length || wanted !== undefined,
    rounds: settings.rounds,
    sections,
  }
}

const ofPlain = (name, id, system) => ({
  name: `${name}, times plain Restate code`,
  atMost: 2,
  measure: (sections) => sections[id] && overhead(sections[id].cells, system),
})
const grows = (name, id, system) => ({
  name: `${name}: exponent of growth`,
  atMost: 1.1,
  measure: (sections) => sections[id] && exponent(sections[id].cells, system),
})

await runBench({
  name: "restate",
  options,
  packages: ["superstep", "@superstep/store-postgres", "@superstep/restate", "@restatedev/restate-sdk"],
  measure,
  targets: [
    ofPlain("a step of one run", "steps", "Restate"),
    ofPlain("a run of one task", "runs", "Restate"),
    ofPlain("a task of a fan-out over 1 worker", "fanOut", "Restate, 1 worker"),
    ofPlain("a task of a fan-out over 2 workers", "fanOut", "Restate, 2 workers"),
    ofPlain("a task of a fan-out over 3 workers", "fanOut", "Restate, 3 workers"),
    ofPlain("an answer", "answers", "Restate"),
    grows("steps of one run", "steps", "Restate"),
    grows("a fan-out over 3 workers", "fanOut", "Restate, 3 workers"),
  ],
})
