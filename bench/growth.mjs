#!/usr/bin/env node
// How costs grow with steps, runs, levels, items, state and lines of YAML. Ends with 1 if a row grows faster than its size.
import { rmSync } from "node:fs"
import { runBench, show } from "./src/bench.mjs"
import { inNewProcess } from "./src/child.mjs"
import { dataFolder } from "./src/environment.mjs"
import { fittedExponent, MAX_EXPONENT, steepRows } from "./src/growth/fit.mjs"
import { rows } from "./src/growth/rows.mjs"
import { positiveOption } from "./src/options.mjs"
import { costText, textTable } from "./src/table.mjs"
import { predictedMs } from "./src/timing.mjs"

const options = {
  only: { type: "string", help: "rows that have this in their name" },
  rounds: { type: "string", default: "3", help: "samples of each size; the smallest counts" },
  cap: {
    type: "string",
    default: "60",
    help: "seconds; sizes at which a pass would take longer are left out",
  },
}

const script = new URL("./src/growth/process.mjs", import.meta.url)

/** The least of the samples: what else the machine does only adds to it. */
async function leastCost(name, size, { rounds, smoke }) {
  const samples = []
  for (let round = 0; round < rounds; round++) {
    samples.push(await inNewProcess(script, [name, size, !smoke], ["--expose-gc"]))
    rmSync(dataFolder, { recursive: true, force: true })
  }
  return Math.min(...samples)
}

async function measureRow(name, { sizes }, options) {
  const points = []
  for (const size of sizes) {
    const before = points.map((point) => ({ size: point.size, passMs: point.cost }))
    if (predictedMs(before, size) > options.capMs) break
    points.push({ size, cost: await leastCost(name, size, options) })
  }
  return { name, points, skipped: sizes.slice(points.length), exponent: fittedExponent(points) }
}

async function measure(values) {
  const chosen = Object.entries(rows).filter(([name]) => name.includes(values.only ?? ""))
  const rounds = values.smoke ? 1 : Math.ceil(positiveOption(values.rounds, "--rounds"))
  const capMs = positiveOption(values.cap, "--cap") * 1_000
  const found = []
  for (const [name, row] of chosen) {
    console.error(`measuring ${name} …`)
    const sized = values.smoke ? { ...row, sizes: [10] } : row
    found.push(await measureRow(name, sized, { rounds, capMs, smoke: values.smoke }))
  }
  const count = (number) => number.toLocaleString("en-US")
  const cells = found.map(({ name, points, skipped, exponent }) => [
    name,
    `${count(points[0].size)} to ${count(points.at(-1).size)}`,
    points.map(({ cost }) => costText(cost, "ms")).join(", "),
    skipped.length === 0 ? "" : skipped.map(count).join(", "),
    exponent?.toFixed(2) ?? "",
  ])
  show(
    "CPU time of the whole",
    textTable(["what grows", "sizes", "cost at each", "left out", "exponent"], cells),
  )
  return { partial: values.only !== undefined, rounds, sections: { growth: found } }
}

const targets = Object.keys(rows).map((name) => ({
  name: `growth, ${name}: exponent`,
  atMost: MAX_EXPONENT,
  measure: ({ growth }) => growth.find((row) => row.name === name)?.exponent,
}))

await runBench({
  name: "growth",
  options,
  packages: ["superstep", "@superstep/store-sqlite", "libsql"],
  measure,
  targets,
  check: ({ sections: { growth } }) => steepRows(growth),
})
