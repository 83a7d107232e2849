#!/usr/bin/env node
// How costs grow with steps, runs, levels, items, state and lines of YAML. Ends with 1 if a row grows faster than its size, and than
// the same without an engine.
import { rmSync } from "node:fs"
import { runBench, show } from "./src/bench.mjs"
import { inNewProcess } from "./src/child.mjs"
import { dataFolder } from "./src/environment.mjs"
import { fittedExponent, limitOf, MAX_EXPONENT, steepRows } from "./src/growth/fit.mjs"
import { families, rowNames } from "./src/growth/rows.mjs"
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

/** Of each row the least of the samples: what else the machine does only adds to it. */
async function leastCosts({ rows }, size, { rounds, smoke }) {
  const samples = []
  for (let round = 0; round < rounds; round++) {
    samples.push(await inNewProcess(script, [rows[0], size, !smoke], ["--expose-gc"]))
    rmSync(dataFolder, { recursive: true, force: true })
  }
  return rows.map((_, row) => Math.min(...samples.map((costs) => costs[row])))
}

async function measureFamily(family, options) {
  const points = family.rows.map(() => [])
  let measured = 0
  for (const size of options.smoke ? [10] : family.sizes) {
    const before = points[0].map(({ size, cost }) => ({ size, passMs: cost }))
    if (predictedMs(before, size) > options.capMs) break
    const costs = await leastCosts(family, size, options)
    for (const [row, cost] of costs.entries()) points[row].push({ size, cost })
    measured += 1
  }
  const skipped = family.sizes.slice(measured)
  return family.rows.map((name, row) => ({
    name,
    ...(family.limitOf === undefined ? {} : { limitOf: family.limitOf }),
    points: points[row],
    skipped,
    exponent: fittedExponent(points[row]),
  }))
}

async function measure(values) {
  const { smoke, only = "" } = values
  const chosen = families.filter(({ rows, limitOf = "" }) =>
    [...rows, limitOf].some((name) => name.includes(only)),
  )
  const rounds = smoke ? 1 : Math.ceil(positiveOption(values.rounds, "--rounds"))
  const capMs = positiveOption(values.cap, "--cap") * 1_000
  const found = []
  for (const family of chosen) {
    console.error(`measuring ${family.rows.join(", ")} …`)
    found.push(...(await measureFamily(family, { rounds, capMs, smoke })))
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

const targets = rowNames.map((name) => ({
  name: `growth, ${name}: exponent`,
  atMost: MAX_EXPONENT,
  measure: ({ growth }) => growth.find((row) => row.name === name)?.exponent,
  limit: ({ growth }) => limitOf(growth, name),
}))

await runBench({
  name: "growth",
  options,
  packages: ["superstep", "@superstep/store-sqlite", "libsql"],
  measure,
  targets,
  check: ({ sections: { growth } }) => steepRows(growth),
})
