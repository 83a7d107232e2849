#!/usr/bin/env node
// The engine's benchmark: ours, its peers and the plain limit, side by side in one run.
import { runBench, show } from "./src/bench.mjs"
import { timeCold } from "./src/cold.mjs"
import { coldMeasures, measureIds, timedMeasures } from "./src/measures.mjs"
import { listOption, positiveOption, systemsOption } from "./src/options.mjs"
import { startUpTable, timedTable } from "./src/report.mjs"
import { timeStartUp } from "./src/start-up.mjs"
import { systemProcess } from "./src/system-process.mjs"
import { missing, systemNames } from "./src/systems/index.mjs"
import { engineTargets } from "./src/targets.mjs"
import { hurried, timeMeasure } from "./src/timing.mjs"

// Flags of node are given to the measured processes as well: node --cpu-prof engine.mjs --only chain
const options = {
  only: { type: "string", help: `measures, by comma: ${measureIds.join(", ")}` },
  systems: { type: "string", help: `systems, by comma: ${systemNames.join(", ")}` },
  rounds: { type: "string", default: "5", help: "samples of each system, in turns" },
  cap: {
    type: "string",
    default: "10",
    help: "seconds; a size at which a pass would take longer is left out",
  },
}

const packages = ["superstep", "@langchain/langgraph", "@langchain/core", "@mastra/core", "xstate"]

/** For a smoke run. */
const small = (measure) => ({ ...measure, sizes: [10], size: 10 })

async function runTimed(options, sections) {
  const processes = options.systems.map((name) => systemProcess(name))
  try {
    for (const measure of timedMeasures) {
      if (!options.only.includes(measure.id)) continue
      console.error(`measuring ${measure.id} …`)
      const cells = await timeMeasure(options.smoke ? small(measure) : measure, processes, options)
      const section = { title: measure.title, unit: "µs", cells }
      sections[measure.id] = section
      if (cells.length > 0) show(section.title, timedTable(section, measure.sizeName))
    }
    for (const process of processes) await process.close()
  } finally {
    for (const process of processes) process.stop()
  }
}

async function runCold(options, sections) {
  for (const measure of coldMeasures) {
    if (!options.only.includes(measure.id)) continue
    console.error(`measuring ${measure.id} …`)
    const cells = await timeCold(options.smoke ? small(measure) : measure, options)
    const section = { title: measure.title, unit: "ms", cells }
    sections[measure.id] = section
    show(section.title, timedTable(section, measure.sizeName))
  }
}

async function runStartUp(options, sections) {
  console.error("measuring start-up …")
  const cells = await timeStartUp(options.systems, options)
  sections["start-up"] = { title: "Import and hello world in a new process", unit: "ms", cells }
  show(sections["start-up"].title, startUpTable(sections["start-up"]))
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
  await runCold(options, sections)
  if (options.only.includes("start-up")) await runStartUp(options, sections)
  return { partial: partial || values.only !== undefined, rounds: options.rounds, sections }
}

await runBench({ name: "engine", options, packages, measure, targets: engineTargets })
