#!/usr/bin/env node
// The benchmark of durable runs: ours, its peers and raw inserts into SQLite, side by side in one run.
import { runBench, show } from "./src/bench.mjs"
import { bytesTable, measureBytes } from "./src/durable/bytes.mjs"
import { measureIds, resumeMeasures, timedMeasures } from "./src/durable/measures.mjs"
import { timeResume } from "./src/durable/resume.mjs"
import { skippedReasons } from "./src/durable/skipped.mjs"
import { missing, systemNames } from "./src/durable/systems/index.mjs"
import { durableTargets } from "./src/durable/targets.mjs"
import { listOption, positiveOption, systemsOption } from "./src/options.mjs"
import { timedTable } from "./src/report.mjs"
import { systemProcess } from "./src/system-process.mjs"
import { hurried, timeMeasure } from "./src/timing.mjs"

// The files are made in .data/ of this folder, and removed.
const options = {
  only: { type: "string", help: `measures, by comma: ${measureIds.join(", ")}` },
  systems: { type: "string", help: `systems, by comma: ${systemNames.join(", ")}` },
  rounds: { type: "string", default: "5", help: "samples of each system, in turns" },
  cap: {
    type: "string",
    default: "60",
    help: "seconds; a size at which a pass would take longer is left out",
  },
}

const packages = [
  "superstep",
  "@superstep/store-sqlite",
  "libsql",
  "@langchain/langgraph",
  "@langchain/langgraph-checkpoint-sqlite",
  "better-sqlite3",
  "@mastra/core",
  "@mastra/libsql",
]

const worker = new URL("./src/durable/worker.mjs", import.meta.url)
const sizeName = (size) => `${size} steps`

async function runTimed(options, sections) {
  const processes = options.systems.map((name) => systemProcess(name, worker))
  try {
    for (const measure of timedMeasures) {
      if (!options.only.includes(measure.id)) continue
      console.error(`measuring ${measure.id} …`)
      const sized = options.smoke ? { ...measure, sizes: [10] } : measure
      const cells = await timeMeasure(sized, processes, options)
      const section = { title: measure.title, unit: "µs", cells }
      sections[measure.id] = section
      if (cells.length > 0) show(section.title, timedTable(section, measure.sizeName, "raw"))
      if (measure.id === "steps") await runBytes(measure, section, processes, sections)
    }
    for (const process of processes) await process.close()
  } finally {
    for (const process of processes) process.stop()
  }
}

async function runBytes(measure, timed, processes, sections) {
  const { onDisk, written } = await measureBytes(measure, timed.cells, processes)
  for (const reason of skippedReasons(timed, onDisk)) console.log(`\n${reason}`)
  Object.assign(sections, { onDisk, written })
  show(onDisk.title, bytesTable(onDisk))
  if (written.cells.length > 0) show(written.title, bytesTable(written))
}

async function runResume(options, sections) {
  for (const measure of resumeMeasures) {
    if (!options.only.includes(measure.id)) continue
    console.error(`measuring ${measure.id} …`)
    const sized = options.smoke ? { ...measure, sizes: { 10: options.systems } } : measure
    const cells = await timeResume(sized, options)
    sections[measure.id] = { title: measure.title, unit: "ms", cells }
    show(measure.title, timedTable(sections[measure.id], sizeName, "raw"))
  }
}

async function measure(values) {
  const { smoke } = values
  const { systems, partial } = systemsOption(values, systemNames, missing)
  const options = {
    smoke,
    only: listOption(values.only, measureIds, "measure"),
    systems,
    rounds: smoke ? 1 : Math.ceil(positiveOption(values.rounds, "--rounds")),
    capMs: positiveOption(values.cap, "--cap") * 1_000,
    // A slow peer gets fewer samples instead of more of everyone's time.
    budgetMs: 8_000,
    ...(smoke ? { pace: hurried } : {}),
  }
  const sections = {}
  await runTimed(options, sections)
  await runResume(options, sections)
  return { partial: partial || values.only !== undefined, rounds: options.rounds, sections }
}

await runBench({ name: "durable", options, packages, measure, targets: durableTargets, limitName: "raw" })
