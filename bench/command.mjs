#!/usr/bin/env node
// What the command costs: `superstep run` of a file with two steps and `superstep runs list`, against `node` with an empty
// script.
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { runBench, show } from "./src/bench.mjs"
import { measuredEnvironment } from "./src/environment.mjs"
import { measuredCell } from "./src/report.mjs"
import { leastDifference, median } from "./src/statistics.mjs"
import { costText, textTable } from "./src/table.mjs"

const definition = `agents:
  writer: { model: offline, instruction: Write. }
  editor: { model: offline, instruction: Edit. }
workflow:
  - { type: agent, name: writer }
  - { type: agent, name: editor }
`
const require = createRequire(import.meta.url)
const manifest = require.resolve("superstep/package.json")
const command = join(dirname(manifest), require(manifest).bin.superstep)
const empty = fileURLToPath(new URL("./src/hello/empty.mjs", import.meta.url))
// What a first start keeps for the next ones.
const compiled = join(dirname(manifest), "dist", "compiled")

const BARE = "node, an empty script"
const MEMORY = "superstep run, in memory"
const DISK = "superstep run, on disk"
const LIST = "superstep runs list"
const FIRST = "superstep run, in memory, the first time"

const file = "two-steps.yaml"
const ways = {
  [BARE]: [empty],
  "superstep --version": [command, "--version"],
  [MEMORY]: [command, "run", file, "Storks", "--store", "memory:"],
  [DISK]: [command, "run", file, "Storks"],
  [LIST]: [command, "runs", "list"],
  // Last in each round: what it keeps is there for the next one.
  [FIRST]: [command, "run", file, "Storks", "--store", "memory:"],
}

/** Removes what starts of this command have kept, and not what others have. */
function forget(name) {
  for (const file of readdirSync(compiled)) {
    if (file.startsWith(`${name}-`)) rmSync(join(compiled, file))
  }
}

function startMs(way, folder) {
  if (way === FIRST) forget("run")
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

function takeStarts(rounds) {
  const folder = mkdtempSync(join(tmpdir(), "superstep-command-"))
  try {
    writeFileSync(join(folder, file), definition)
    const samples = Object.fromEntries(Object.keys(ways).map((way) => [way, []]))
    for (let round = 0; round <= rounds; round++) {
      for (const way of Object.keys(ways)) {
        const elapsed = startMs(way, folder)
        // The first round brings files into the operating system's cache.
        if (round > 0) samples[way].push(elapsed)
      }
    }
    return samples
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function over({ cells }, way) {
  const [cell, bare] = [way, BARE].map((system) => measuredCell({ cells }, system, 1))
  return leastDifference(cell.samples, bare.samples)
}

async function measure({ smoke }) {
  const samples = takeStarts(smoke ? 1 : 25)
  const cells = Object.entries(samples).map(([system, taken]) => ({
    system,
    size: 1,
    samples: taken,
    cost: median(taken),
  }))
  const process = { title: "A process from start to end", unit: "ms", cells }
  const rows = cells.map(({ system, cost }) => [
    system,
    costText(cost, "ms"),
    system === BARE ? "" : costText(over(process, system), "ms"),
  ])
  show(process.title, textTable(["process", "takes", "over bare node"], rows))
  return { sections: { process } }
}

const targets = [
  [MEMORY, 80],
  [DISK, 100],
  [LIST, 100],
].map(([way, atMost]) => ({
  name: `${way}, ms over bare node`,
  atMost,
  measure: ({ process }) => over(process, way),
}))

await runBench({ name: "command", packages: ["superstep"], measure, targets })
