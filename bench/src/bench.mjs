// What the programs of all benchmarks share: options, the environment that a result names, targets, the result file.
import { parseArgs } from "node:util"
import { removeAllFolders } from "./durable/folder.mjs"
import { describeEnvironment, environmentText } from "./environment.mjs"
import { judgeTargets, targetTable } from "./judging.mjs"
import { resultsFile, writeResult } from "./results.mjs"

const shared = {
  smoke: {
    type: "boolean",
    default: false,
    help: "smallest sizes, one round: does it still run? Writes no JSON",
  },
  out: { type: "string", help: "where to write the JSON" },
  help: { type: "boolean", default: false, help: "this text" },
}

/**
 * @param bench
 *   `name`      of the program and of its result file
 *   `options`   of its own, as `parseArgs` takes them, each with a line of `help`
 *   `packages`  whose versions the result names
 *   `measure`   gets the options' values, prints its tables, and returns what it found: `{ sections, … }`. With
 *               `partial: true` the run left something out, and is written only where `--out` says so
 *   `targets`   as judging.mjs takes them, for the sections
 *   `check`     gets what was found, and returns a line for each thing that must not be: the program then ends with 1.
 *               A smoke run checks nothing
 */
export async function runBench({ name, options = {}, packages, measure, targets = [], limitName, check }) {
  const all = { ...options, ...shared }
  try {
    const { values } = parseArgs({ options: withoutHelp(all) })
    if (values.help) {
      console.log(helpText(name, all))
      return
    }
    const start = performance.now()
    const environment = describeEnvironment(packages)
    console.log(environmentText(environment))
    const { partial = false, ...found } = await measure(values)
    const judged = values.smoke ? [] : judgeTargets(targets, found.sections)
    if (judged.length > 0) console.log(`\nTargets\n\n${targetTable(judged, limitName)}`)
    console.log(`\nTook ${Math.round((performance.now() - start) / 1_000)} s.`)
    const out = values.out ?? (partial || values.smoke ? undefined : resultsFile(name))
    if (out !== undefined) writeResult(out, { environment, ...found, targets: judged })
    const wrong = values.smoke ? [] : (check?.(found) ?? [])
    for (const line of wrong) console.error(line)
    if (wrong.length > 0) process.exitCode = 1
  } catch (error) {
    console.error(error instanceof Error ? (error.stack ?? error.message) : error)
    process.exitCode = 1
  } finally {
    removeAllFolders()
  }
}

function withoutHelp(options) {
  return Object.fromEntries(Object.entries(options).map(([name, { help: _, ...option }]) => [name, option]))
}

function helpText(name, options) {
  const lines = Object.entries(options).map(([option, { type, help, default: value }]) => {
    const flag = `--${option}${type === "string" ? " <…>" : ""}`.padEnd(18)
    return `  ${flag}${help}${type === "string" && value !== undefined ? ` (default ${value})` : ""}`
  })
  return `Usage: node ${name}.mjs [options]\n\n${lines.join("\n")}\n`
}

/** A title and what is below it, as every benchmark prints its tables. */
export function show(title, ...parts) {
  console.log(`\n${[title, ...parts].join("\n\n")}`)
}
