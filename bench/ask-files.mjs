#!/usr/bin/env node
// How long `superstep ask` takes to have 44 MB of CSV ready: read the first time, from the cache the second time. Prints the
// ratio of the two, and both over the start of the command itself. Needs `npm run build` in the repository.
import { spawnSync } from "node:child_process"
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { finished } from "node:stream/promises"
import { runBench, show } from "./src/bench.mjs"
import { positiveOption } from "./src/options.mjs"
import { costText, shortNumber, textTable } from "./src/table.mjs"

const whole = 44
const command = resolve(import.meta.dirname, "../packages/superstep/bin/superstep.cjs")
const folder = mkdtempSync(join(tmpdir(), "superstep-bench-"))

async function writeTable(path, megabytes) {
  const out = createWriteStream(path)
  out.write("id,customer,city,amount,placed\n")
  let bytes = 0
  for (let id = 1; bytes < megabytes * 1_000_000; id += 1) {
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

async function measure(values) {
  const megabytes = values.smoke ? 1 : positiveOption(values.megabytes, "--megabytes")
  const repeats = values.smoke ? 1 : 3
  try {
    for (const name of ["large", "small"]) mkdirSync(join(folder, name))
    await writeTable(join(folder, "large", "orders.csv"), megabytes)
    writeFileSync(
      join(folder, "small", "orders.csv"),
      "id,customer,city,amount,placed\n1,customer 1,city 1,1,2026-01-01\n",
    )
    const ask = (data) =>
      timed(
        "ask",
        "Show me the orders.",
        "--csv",
        data,
        "--model",
        "offline",
        "--store",
        "memory:",
        "--quiet",
      )
    const least = (data) => Math.min(...Array.from({ length: repeats }, () => ask(data)))
    // Compiled code is cached, and so is the small table: what is left is the command's own start and one short query.
    if (!values.smoke) ask("small")
    const small = least("small")
    const first = ask("large")
    const next = least("large")
    const rows = [
      ["a table of one row, cached", costText(small, "ms")],
      ["first question: files are read", costText(first, "ms")],
      ["next question: from the cache", costText(next, "ms")],
      ["next question, times the first", `${shortNumber(next / first)}×`],
    ]
    show(`superstep ask over ${megabytes} MB of CSV`, textTable(["question", "process"], rows))
    return { partial: megabytes < whole, megabytes, smallMs: small, firstMs: first, nextMs: next }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

await runBench({
  name: "ask-files",
  options: { megabytes: { type: "string", default: String(whole), help: "of CSV" } },
  packages: ["superstep"],
  measure,
})
