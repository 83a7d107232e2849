#!/usr/bin/env node
// What waiting costs in memory: heap per pending task and per idle run; and how much a value of 200 MB takes at its peak.
import { runBench, show } from "./src/bench.mjs"
import { inNewProcess } from "./src/child.mjs"
import { memoryMeasures } from "./src/measures.mjs"
import { measureMemory } from "./src/memory.mjs"
import { systemsOption } from "./src/options.mjs"
import { memoryTable } from "./src/report.mjs"
import { median } from "./src/statistics.mjs"
import { missing, systemNames } from "./src/systems/index.mjs"
import { costText, shortNumber, textTable } from "./src/table.mjs"
import { memoryTargets } from "./src/targets.mjs"

const options = { systems: { type: "string", help: `systems, by comma: ${systemNames.join(", ")}` } }

const packages = ["superstep", "@langchain/langgraph", "@mastra/core", "xstate"]
const largeValue = new URL("./src/large-value-process.mjs", import.meta.url)
const valueWays = ["plain", "superstep", "raw", "superstep + sqlite"]

async function measureHeap(systems, { smoke }) {
  const sections = {}
  for (const measure of memoryMeasures) {
    console.error(`measuring ${measure.id} …`)
    const sizes = smoke ? Object.fromEntries(systems.map((system) => [system, 100])) : measure.sizes
    const cells = await measureMemory({ ...measure, sizes }, systems, {
      rounds: smoke ? 1 : 3,
      budgetMs: 8_000,
    })
    sections[measure.id] = { title: measure.title, unit: "B", cells }
    show(measure.title, memoryTable(sections[measure.id]))
  }
  return sections
}

/** The most memory that the process had, over what it had before, in multiples of the value. */
async function measureValue({ smoke }) {
  console.error("measuring a large value …")
  const [megabytes, rounds] = smoke ? [10, 1] : [200, 3]
  const cells = []
  for (const system of valueWays) {
    const samples = []
    for (let round = 0; round < rounds; round++)
      samples.push(await inNewProcess(largeValue, [system, megabytes]))
    cells.push({ system, size: megabytes, samples, cost: median(samples) })
  }
  const title = `A value of ${megabytes} MB through three nodes: most memory of the process`
  const rows = cells.map(({ system, cost }) => [
    system,
    costText(cost, "MB"),
    `${shortNumber(cost / megabytes)}×`,
  ])
  show(title, textTable(["system", "over what it had", "times the value"], rows))
  return { title, unit: "MB", cells }
}

async function measure(values) {
  const { systems, partial } = systemsOption(values, systemNames, missing)
  const sections = await measureHeap(systems, values)
  sections.value = await measureValue(values)
  return { partial, sections }
}

await runBench({ name: "memory", options, packages, measure, targets: memoryTargets })
