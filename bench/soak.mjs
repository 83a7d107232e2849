#!/usr/bin/env node
// Many runs in one process, one after another: does its memory stay as it is?
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { runBench, show } from "./src/bench.mjs"
import { measuredEnvironment } from "./src/environment.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { soakTable, soakTargets } from "./src/soak/report.mjs"
import { storeNames } from "./src/soak/stores.mjs"

const wholeRuns = 100_000

const options = {
  stores: { type: "string", help: `where runs are kept, by comma: ${storeNames.join(", ")}` },
  runs: {
    type: "string",
    default: String(wholeRuns),
    help: "runs in all; memory is read after a tenth, a half and all of them",
  },
}

/** The marks of one store's process, as src/soak/process.mjs sends them. */
function soak(store, runs) {
  const script = fileURLToPath(new URL("./src/soak/process.mjs", import.meta.url))
  return new Promise((resolve, reject) => {
    const child = fork(script, [store, String(runs)], {
      env: measuredEnvironment,
      execArgv: [...process.execArgv, "--expose-gc", "--no-warnings"],
    })
    const marks = []
    child.on("message", (mark) => marks.push(mark))
    child.once("error", reject)
    child.once("exit", (code) => {
      if (code === 0) resolve(marks)
      else reject(new Error(`${store}: its process ended with code ${code}`))
    })
  })
}

async function measure(values) {
  const stores = listOption(values.stores, storeNames, "store")
  const runs = values.smoke ? 100 : Math.ceil(positiveOption(values.runs, "--runs"))
  const sections = {}
  for (const store of stores) {
    console.error(`soaking, ${store} …`)
    sections[store] = {
      title: `${runs.toLocaleString("en-US")} runs, ${store}`,
      marks: await soak(store, runs),
    }
    show(sections[store].title, soakTable(sections[store]))
  }
  return { partial: stores.length < storeNames.length || runs < wholeRuns, sections }
}

await runBench({
  name: "soak",
  options,
  packages: ["superstep", "@superstep/store-sqlite", "libsql"],
  measure,
  targets: soakTargets,
})
