#!/usr/bin/env node
// The engine's benchmark: ours, its peers and the plain limit, side by side in one run.
import { parseArgs } from "node:util"
import { describeEnvironment, environmentText } from "./src/environment.mjs"
import { judgeTargets, targetTable } from "./src/judging.mjs"
import { measureIds, memoryMeasures, timedMeasures } from "./src/measures.mjs"
import { measureMemory } from "./src/memory.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { memoryTable, startUpTable, timedTable } from "./src/report.mjs"
import { resultsFile, writeResult } from "./src/results.mjs"
import { timeStartUp } from "./src/start-up.mjs"
import { systemProcess } from "./src/system-process.mjs"
import { systemNames } from "./src/systems/index.mjs"
import { engineTargets } from "./src/targets.mjs"
import { timeMeasure } from "./src/timing.mjs"

const help = `Usage: node engine.mjs [options]

  --only <list>     measures, by comma: ${measureIds.join(", ")}
  --systems <list>  systems, by comma: ${systemNames.join(", ")}
  --rounds <n>      samples of each system, in turns (default 5)
  --cap <seconds>   a system is not measured at a size at which one pass would take longer (default 10)
  --out <file>      where to write the JSON (default results/engine.json, and only when nothing is left out)
  --help            this text

Flags of node are given to the measured processes as well:
  node --cpu-prof engine.mjs --only chain --systems plain,superstep
`

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      systems: { type: "string" },
      rounds: { type: "string", default: "5" },
      cap: { type: "string", default: "10" },
      out: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  const whole = values.only === undefined && values.systems === undefined
  const out = values.out ?? (whole ? resultsFile("engine") : undefined)
  return {
    help: values.help,
    only: listOption(values.only, measureIds, "measure"),
    systems: listOption(values.systems, systemNames, "system"),
    rounds: Math.ceil(positiveOption(values.rounds, "--rounds")),
    capMs: positiveOption(values.cap, "--cap") * 1_000,
    // A slow peer gets fewer samples instead of more of everyone's time.
    budgetMs: 8_000,
    out,
  }
}

const packages = ["superstep", "@langchain/langgraph", "@langchain/core", "@mastra/core", "xstate"]

function show(section, table) {
  console.log(`\n${section.title}\n\n${table}`)
}

async function runTimed(options, sections) {
  const processes = options.systems.map((name) => systemProcess(name))
  try {
    for (const measure of timedMeasures) {
      if (!options.only.includes(measure.id)) continue
      console.error(`measuring ${measure.id} …`)
      const cells = await timeMeasure(measure, processes, options)
      const section = { title: measure.title, unit: "µs", cells }
      sections[measure.id] = section
      if (cells.length > 0) show(section, timedTable(section, measure.sizeName))
    }
    for (const process of processes) await process.close()
  } finally {
    for (const process of processes) process.stop()
  }
}

async function runStartUp(options, sections) {
  console.error("measuring start-up …")
  const cells = await timeStartUp(options.systems, options)
  sections["start-up"] = { title: "Import and hello world in a new process", unit: "ms", cells }
  show(sections["start-up"], startUpTable(sections["start-up"]))
}

async function runMemory(options, sections) {
  for (const measure of memoryMeasures) {
    console.error(`measuring memory, ${measure.id} …`)
    const cells = await measureMemory(measure, options.systems, options)
    sections[measure.id] = { title: measure.title, unit: "B", cells }
    show(sections[measure.id], memoryTable(sections[measure.id]))
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
  const sections = {}
  await runTimed(options, sections)
  if (options.only.includes("start-up")) await runStartUp(options, sections)
  if (options.only.includes("memory")) await runMemory(options, sections)
  const targets = judgeTargets(engineTargets, sections)
  console.log(`\nTargets\n\n${targetTable(targets)}`)
  console.log(`\nTook ${Math.round((performance.now() - start) / 1_000)} s.`)
  if (options.out !== undefined) {
    writeResult(options.out, { environment, rounds: options.rounds, sections, targets })
  }
}

main().catch((error) => {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error)
  process.exitCode = 1
})
