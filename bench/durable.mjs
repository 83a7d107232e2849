#!/usr/bin/env node
// The benchmark of durable runs: ours, its peers and raw inserts into SQLite, side by side in one run.
import { parseArgs } from "node:util"
import { bytesTable, measureBytes } from "./src/durable/bytes.mjs"
import { removeAllFolders } from "./src/durable/folder.mjs"
import { measureIds, resumeMeasures, timedMeasures } from "./src/durable/measures.mjs"
import { timeResume } from "./src/durable/resume.mjs"
import { skippedReasons } from "./src/durable/skipped.mjs"
import { missing, systemNames } from "./src/durable/systems/index.mjs"
import { durableTargets } from "./src/durable/targets.mjs"
import { describeEnvironment, environmentText } from "./src/environment.mjs"
import { judgeTargets, targetTable } from "./src/judging.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { timedTable } from "./src/report.mjs"
import { resultsFile, writeResult } from "./src/results.mjs"
import { systemProcess } from "./src/system-process.mjs"
import { timeMeasure } from "./src/timing.mjs"

const help = `Usage: node durable.mjs [options]

  --only <list>     measures, by comma: ${measureIds.join(", ")}
  --systems <list>  systems, by comma: ${systemNames.join(", ")}
  --rounds <n>      samples of each system, in turns (default 5)
  --cap <seconds>   a system is not measured at a size at which one pass would take longer (default 60)
  --out <file>      where to write the JSON (default results/durable.json, and only when nothing is left out)
  --help            this text

The files are made in .data/ of this folder, and removed.
`

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

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      systems: { type: "string" },
      rounds: { type: "string", default: "5" },
      cap: { type: "string", default: "60" },
      out: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  const asked = listOption(values.systems, systemNames, "system")
  const systems = asked.filter((name) => missing(name) === undefined)
  const whole = values.only === undefined && systems.length === systemNames.length
  return {
    help: values.help,
    only: listOption(values.only, measureIds, "measure"),
    absent: asked.filter((name) => !systems.includes(name)),
    systems,
    rounds: Math.ceil(positiveOption(values.rounds, "--rounds")),
    capMs: positiveOption(values.cap, "--cap") * 1_000,
    // A slow peer gets fewer samples instead of more of everyone's time.
    budgetMs: 8_000,
    out: values.out ?? (whole ? resultsFile("durable") : undefined),
  }
}

function show(section, table) {
  console.log(`\n${section.title}\n\n${table}`)
}

const sizeName = (size) => `${size} steps`

async function runTimed(options, sections) {
  const processes = options.systems.map((name) => systemProcess(name, worker))
  try {
    for (const measure of timedMeasures) {
      if (!options.only.includes(measure.id)) continue
      console.error(`measuring ${measure.id} …`)
      const cells = await timeMeasure(measure, processes, options)
      const section = { title: measure.title, unit: "µs", cells }
      sections[measure.id] = section
      if (cells.length > 0) show(section, timedTable(section, measure.sizeName, "raw"))
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
  show(onDisk, bytesTable(onDisk))
  if (written.cells.length > 0) show(written, bytesTable(written))
}

async function runResume(options, sections) {
  for (const measure of resumeMeasures) {
    if (!options.only.includes(measure.id)) continue
    console.error(`measuring ${measure.id} …`)
    const cells = await timeResume(measure, options)
    sections[measure.id] = { title: measure.title, unit: "ms", cells }
    show(sections[measure.id], timedTable(sections[measure.id], sizeName, "raw"))
  }
}

async function main() {
  const options = readOptions()
  if (options.help) {
    console.log(help)
    return
  }
  const start = performance.now()
  const environment = describeEnvironment(packages)
  console.log(environmentText(environment))
  for (const name of options.absent) console.log(`${name} is left out: ${missing(name)}.`)
  const sections = {}
  try {
    await runTimed(options, sections)
    await runResume(options, sections)
  } finally {
    removeAllFolders()
  }
  const targets = judgeTargets(durableTargets, sections)
  console.log(`\nTargets\n\n${targetTable(targets, "raw")}`)
  console.log(`\nTook ${Math.round((performance.now() - start) / 1_000)} s.`)
  if (options.out !== undefined) {
    writeResult(options.out, { environment, rounds: options.rounds, sections, targets })
  }
}

main().catch((error) => {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error)
  process.exitCode = 1
})
