// How long `superstep ask` takes to have 44 MB of CSV ready: read the first time, from the cache the second time. Prints the
// ratio of the two, and both over the start of the command itself. Needs `npm run build` in the repository.
import { spawnSync } from "node:child_process"
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { finished } from "node:stream/promises"

const MEGABYTES = Number(process.argv[2] ?? 44)
const command = resolve(import.meta.dirname, "../packages/superstep/bin/superstep.cjs")
const folder = mkdtempSync(join(tmpdir(), "superstep-bench-"))

async function writeTable(path) {
  const out = createWriteStream(path)
  out.write("id,customer,city,amount,placed\n")
  let bytes = 0
  for (let id = 1; bytes < MEGABYTES * 1_000_000; id += 1) {
    const day = String((id % 28) + 1).padStart(2, "0")
    const line = `${id},customer ${id % 9973},city ${id % 211},${(id % 100_000) / 100},2026-01-${day}\n`
    bytes += line.length
    if (!out.write(line)) await new Promise((done) => out.once("drain", done))
  }
  out.end()
  await finished(out)
}

function timed(...args) {
  const started = performance.now()
  const env = { ...process.env, SUPERSTEP_CACHE: join(folder, "cache") }
  const { status, stderr } = spawnSync(process.execPath, [command, ...args], {
    cwd: folder,
    env,
    encoding: "utf8",
  })
  if (status !== 0) throw new Error(`superstep ${args.join(" ")} ended with ${status}:\n${stderr}`)
  return performance.now() - started
}

try {
  for (const name of ["large", "small"]) mkdirSync(join(folder, name))
  await writeTable(join(folder, "large", "orders.csv"))
  writeFileSync(
    join(folder, "small", "orders.csv"),
    "id,customer,city,amount,placed\n1,customer 1,city 1,1,2026-01-01\n",
  )
  const ask = (data) =>
    timed("ask", "Show me the orders.", "--csv", data, "--model", "offline", "--store", "memory:", "--quiet")
  // Compiled code is cached, and so is the small table: what is left is the command's own start and one short query.
  ask("small")
  const base = Math.min(ask("small"), ask("small"), ask("small"))
  const cold = ask("large")
  const warm = Math.min(ask("large"), ask("large"), ask("large"))
  const row = (what, ms) => console.log(`${what.padEnd(34)} ${ms.toFixed(0).padStart(6)} ms`)
  console.log(`superstep ask over ${MEGABYTES} MB of CSV`)
  row("a table of one row, cached", base)
  row("first question: files are read", cold)
  row("next question: from the cache", warm)
  row("next question, over the small one", warm - base)
  console.log(`${"ratio next / first".padEnd(34)} ${(warm / cold).toFixed(3).padStart(6)}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
