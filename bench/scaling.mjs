#!/usr/bin/env node
// Workers that share one store: do two and three of them do twice and three times the work of one, and where does the store saturate?
import { runBench, show } from "./src/bench.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { saturationTable, scalingTargets, waitingTable } from "./src/scaling/report.mjs"
import { sampleFleet } from "./src/scaling/sample.mjs"
import { storeKinds } from "./src/scaling/stores.mjs"
import { median, pairedRatio } from "./src/statistics.mjs"

const measures = ["waiting", "saturation"]
const WORKERS = [1, 2, 3]
const TASK_MS = 20
/** So few at a time that a worker waits for its tasks, and not for a processor. */
const FEW = 2
/** As many as keep the store busy. */
const MANY = [8, 32, 128]

const options = {
  only: { type: "string", help: `measures, by comma: ${measures.join(", ")}` },
  stores: { type: "string", help: `stores, by comma: ${Object.keys(storeKinds).join(", ")}` },
  runs: { type: "string", default: "5000", help: "runs of each sample" },
  rounds: { type: "string", default: "3", help: "samples of each number of workers, in turns" },
  url: { type: "string", help: "a PostgreSQL server to measure on (default: one out of npm, with fsync on)" },
}

/** Samples of each fleet, in turns. */
async function inTurns(fleets, settings) {
  const cells = fleets.map((fleet) => ({ ...fleet, samples: [] }))
  for (let round = 0; round < settings.rounds; round++) {
    for (const { workers, concurrency, samples } of cells) {
      samples.push(await sampleFleet({ ...settings, workers, concurrency, taskMs: TASK_MS }))
    }
  }
  return cells.map(({ samples, ...fleet }) => ({
    store: settings.store.name,
    ...fleet,
    samples: samples.map(({ seconds }) => seconds),
    perSecond: settings.runs / median(samples.map(({ seconds }) => seconds)),
    workerCpu: median(samples.map(({ workerCpu }) => workerCpu)),
    serverCpu: samples[0].serverCpu && median(samples.map(({ serverCpu }) => serverCpu)),
  }))
}

/** The share of what as many times the workers would do that they did. */
function withEfficiency(cells) {
  const [alone] = cells
  return cells.map((cell) => ({
    ...cell,
    efficiency: pairedRatio(
      alone.samples,
      cell.samples.map((seconds) => seconds * cell.workers),
    ),
  }))
}

async function measureStore(store, only, values) {
  const settings = {
    store,
    runs: values.smoke ? 60 : Math.ceil(positiveOption(values.runs, "--runs")),
    rounds: values.smoke ? 1 : Math.ceil(positiveOption(values.rounds, "--rounds")),
  }
  const counts = values.smoke ? [1, 2] : WORKERS
  const cells = { waiting: [], saturation: [] }
  if (only.includes("waiting")) {
    console.error(`measuring tasks that wait, ${store.name} …`)
    const fleets = counts.map((workers) => ({ workers, concurrency: FEW }))
    cells.waiting = withEfficiency(await inTurns(fleets, settings))
  }
  if (only.includes("saturation")) {
    console.error(`measuring saturation, ${store.name} …`)
    const fleets = [1, counts.at(-1)].flatMap((workers) =>
      MANY.map((concurrency) => ({ workers, concurrency })),
    )
    cells.saturation = await inTurns(fleets, settings)
  }
  return { cells, runs: settings.runs }
}

async function measure(values) {
  const only = listOption(values.only, measures, "measure")
  const kinds = listOption(values.stores, Object.keys(storeKinds), "store")
  const sections = {
    waiting: { unit: "s", taskMs: TASK_MS, cells: [] },
    saturation: { unit: "s", taskMs: TASK_MS, cells: [] },
  }
  let runs = 0
  for (const kind of kinds) {
    const store = await storeKinds[kind](values)
    try {
      const found = await measureStore(store, only, values)
      runs = found.runs
      for (const id of measures) sections[id].cells.push(...found.cells[id])
    } finally {
      await store.stop()
    }
  }
  for (const id of only) {
    sections[id].runs = runs
    const title = id === "waiting" ? "tasks that wait" : "saturation"
    show(
      `${runs.toLocaleString("en-US")} runs with a task of ${TASK_MS} ms: ${title}`,
      (id === "waiting" ? waitingTable : saturationTable)(sections[id]),
    )
  }
  const isWhole = only.length === measures.length && kinds.length === Object.keys(storeKinds).length
  return { partial: !isWhole, sections }
}

await runBench({
  name: "scaling",
  options,
  packages: ["superstep", "@superstep/store-sqlite", "@superstep/store-postgres"],
  measure,
  targets: scalingTargets,
})
