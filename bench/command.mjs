#!/usr/bin/env node
// What the command costs: `superstep run` of a file with two steps, against `node` with an empty script.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { describeEnvironment, environmentText, measuredEnvironment } from "./src/environment.mjs"
import { judgeTargets, targetTable } from "./src/judging.mjs"
import { resultsFile, writeResult } from "./src/results.mjs"
import { median } from "./src/statistics.mjs"
import { costText, textTable } from "./src/table.mjs"

const rounds = 25
const folder = mkdtempSync(join(tmpdir(), "superstep-command-"))
const definition = join(folder, "two-steps.yaml")
writeFileSync(
  definition,
  `agents:
  writer: { model: offline, instruction: Write. }
  editor: { model: offline, instruction: Edit. }
workflow:
  - { type: agent, name: writer }
  - { type: agent, name: editor }
`,
)
const require = createRequire(import.meta.url)
const manifest = require.resolve("superstep/package.json")
const command = join(dirname(manifest), require(manifest).bin.superstep)
const empty = fileURLToPath(new URL("./src/hello/empty.mjs", import.meta.url))

// What a first start keeps for the next ones.
const compiled = join(dirname(command), "compiled")
const FIRST = "superstep run, in memory, the first time"

const ways = {
  "node, an empty script": [empty],
  "superstep --version": [command, "--version"],
  "superstep run, in memory": [command, "run", definition, "Storks", "--store", "memory:"],
  "superstep run, on disk": [command, "run", definition, "Storks"],
  // Last in each round: what it keeps is there for the next one.
  [FIRST]: [command, "run", definition, "Storks", "--store", "memory:"],
}

// What a first start keeps for the next ones.
function startMs(way) {
  if (way === FIRST) rmSync(compiled, { recursive: true, force: true })
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, ways[way], {
    cwd: folder,
    env: measuredEnvironment,
    encoding: "utf8",
  })
  const elapsed = performance.now() - start
  if (status !== 0) throw new Error(`${way} ended with ${status}:\n${stderr}`)
  return elapsed
}

const names = Object.keys(ways)
const samples = Object.fromEntries(names.map((way) => [way, []]))
for (const way of names) startMs(way)
for (let round = 0; round < rounds; round++) for (const way of names) samples[way].push(startMs(way))
rmSync(folder, { recursive: true, force: true })

const [bare] = names
const medians = Object.fromEntries(names.map((way) => [way, median(samples[way])]))
const over = (way) => median(samples[way].map((value, i) => value - samples[bare][i]))
const environment = describeEnvironment(["superstep"])
console.log(environmentText(environment))
const rows = names.map((way) => [
  way,
  costText(medians[way], "ms"),
  way === bare ? "" : costText(over(way), "ms"),
])
console.log(`\nA process from start to end\n\n${textTable(["process", "takes", "over bare node"], rows)}`)
const targets = judgeTargets(
  [names[2], names[3]].map((way) => ({
    name: `${way}, ms over bare node`,
    atMost: 150,
    measure: () => over(way),
  })),
  medians,
)
console.log(`\nTargets\n\n${targetTable(targets)}`)
writeResult(resultsFile("command"), { environment, medians, targets })
