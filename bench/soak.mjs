#!/usr/bin/env node
// Many runs in one process, one after another: does the heap stay as it is?
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { removeAllFolders } from "./src/durable/folder.mjs"
import { describeEnvironment, environmentText, measuredEnvironment } from "./src/environment.mjs"
import { judgeTargets, targetTable } from "./src/judging.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { resultsFile, writeResult } from "./src/results.mjs"
import { soakTable, soakTargets } from "./src/soak/report.mjs"
import { storeNames } from "./src/soak/stores.mjs"

const wholeRuns = 100_000

const help = `Usage: node soak.mjs [options]

  --stores <list>  where runs are kept, by comma: ${storeNames.join(", ")}
  --runs <n>       runs in all (default ${wholeRuns}); the heap is looked at after a tenth, a half and all of them
  --out <file>     where to write the JSON (default results/soak.json, and only when nothing is left out)
  --help           this text
`

function readOptions() {
  const { values } = parseArgs({
    options: {
      stores: { type: "string" },
      runs: { type: "string", default: String(wholeRuns) },
      out: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  const stores = listOption(values.stores, storeNames, "store")
  const runs = Math.ceil(positiveOption(values.runs, "--runs"))
  const whole = stores.length === storeNames.length && runs >= wholeRuns
  return { help: values.help, stores, runs, out: values.out ?? (whole ? resultsFile("soak") : undefined) }
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

async function main() {
  const options = readOptions()
  if (options.help) {
    console.log(help)
    return
  }
  const environment = describeEnvironment(["superstep", "@superstep/store-sqlite", "libsql"])
  console.log(environmentText(environment))
  const sections = {}
  try {
    for (const store of options.stores) {
      console.error(`soaking, ${store} …`)
      sections[store] = {
        title: `${options.runs.toLocaleString("en-US")} runs, ${store}`,
        marks: await soak(store, options.runs),
      }
      console.log(`\n${sections[store].title}\n\n${soakTable(sections[store])}`)
    }
  } finally {
    removeAllFolders()
  }
  const targets = judgeTargets(soakTargets, sections)
  console.log(`\nTargets\n\n${targetTable(targets)}`)
  if (options.out !== undefined) writeResult(options.out, { environment, sections, targets })
}

main().catch((error) => {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error)
  process.exitCode = 1
})
