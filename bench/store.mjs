#!/usr/bin/env node
// A store with many runs: recovering those that a killed process left, deleting old ones, finding some.
import { cpSync } from "node:fs"
import { join } from "node:path"
import { runBench, show } from "./src/bench.mjs"
import { inNewProcess } from "./src/child.mjs"
import { makeFolder, removeFolder } from "./src/durable/folder.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { timedTable } from "./src/report.mjs"
import { takeSamples } from "./src/round-robin.mjs"
import { median } from "./src/statistics.mjs"
import { storeTargets } from "./src/store/targets.mjs"

const systems = ["raw", "superstep"]
const measures = ["recover", "prune", "query"]
const whole = { recover: 10_000, runs: 100_000, keep: 12_000 }
const small = { recover: 20, runs: 200, keep: 20 }

const options = {
  only: { type: "string", help: `measures, by comma: ${measures.join(", ")}` },
  rounds: { type: "string", default: "3", help: "samples of each system, in turns" },
}

const script = new URL("./src/store/process.mjs", import.meta.url)

/** A store of each system, made once. */
async function makeStores(kind, runs) {
  const stores = []
  for (const system of systems) {
    console.error(`making ${runs.toLocaleString("en-US")} ${kind} runs, ${system} …`)
    const folder = makeFolder()
    await inNewProcess(script, [kind, system, join(folder, "bench.db"), runs])
    stores.push({ system, folder })
  }
  return stores
}

/** What changes the store gets a copy of it for each sample. */
async function sampleCopies(what, stores, runs, rounds, ...more) {
  const entrants = stores.map(({ system, folder }) => ({
    system,
    samples: [],
    async sample() {
      const copy = makeFolder()
      // The database and its log; sockets of the process before are not copied.
      cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith("-live") })
      try {
        return await inNewProcess(script, [what, system, join(copy, "bench.db"), runs, ...more])
      } finally {
        removeFolder(copy)
      }
    },
  }))
  console.error(`measuring ${what} …`)
  await takeSamples(entrants, { rounds, budgetMs: 60_000 })
  return entrants
}

function section(title, size, entrants) {
  const cells = entrants.map(({ system, samples }) => ({ system, size, samples, cost: median(samples) }))
  const made = { title, unit: "ms", cells }
  show(
    title,
    timedTable(made, (count) => `${count} runs`, "raw"),
  )
  return made
}

async function measureQueries(stores, runs, rounds) {
  const entrants = stores.map(({ system, folder }) => ({
    system,
    samples: [],
    sample: () => inNewProcess(script, ["query", system, join(folder, "bench.db"), runs]),
  }))
  console.error("measuring query …")
  await takeSamples(entrants, { rounds, budgetMs: 60_000 })
  const sections = {}
  for (const name of Object.keys(entrants[0].samples[0])) {
    const of = entrants.map(({ system, samples }) => ({ system, samples: samples.map((one) => one[name]) }))
    sections[name] = section(`Finding ${name}`, runs, of)
  }
  return sections
}

async function measure(values) {
  const only = listOption(values.only, measures, "measure")
  const sizes = values.smoke ? small : whole
  const rounds = values.smoke ? 1 : Math.ceil(positiveOption(values.rounds, "--rounds"))
  const sections = {}
  if (only.includes("recover")) {
    const stores = await makeStores("running", sizes.recover)
    const entrants = await sampleCopies("recover", stores, sizes.recover, rounds)
    sections.recover = section("Recovering the runs of a killed process", sizes.recover, entrants)
  }
  if (only.includes("prune") || only.includes("query")) {
    const stores = await makeStores("finished", sizes.runs)
    if (only.includes("query")) Object.assign(sections, await measureQueries(stores, sizes.runs, rounds))
    if (only.includes("prune")) {
      const entrants = await sampleCopies("prune", stores, sizes.runs, rounds, sizes.keep)
      sections.prune = section(`Deleting all but ${sizes.keep.toLocaleString("en-US")}`, sizes.runs, entrants)
    }
  }
  return { partial: values.only !== undefined, rounds, sections }
}

await runBench({
  name: "store",
  options,
  packages: ["superstep", "@superstep/store-sqlite", "libsql"],
  measure,
  targets: storeTargets,
  limitName: "raw",
})
