#!/usr/bin/env node
// Durable runs in PostgreSQL: ours, raw inserts, LangGraph's PostgresSaver and DBOS side by side in one run; and lists of a million runs.
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { resultsFile, writeResult } from "./src/results.mjs"

const help = `Usage: node postgres.mjs [options]

  --only <list>   alone, many, bytes, lists (default: all)
  --rounds <n>    samples of each system, in turns (default 7)
  --runs <n>      runs in the table of the lists (default 1000000)
  --url <url>     a server to measure on, in schemas of its own (default: one out of npm, with fsync on)
  --peers <dir>   where @langchain/langgraph-checkpoint-postgres and @dbos-inc/dbos-sdk are installed; else they are left out
  --out <file>    where to write the JSON (default results/postgres.json, and only when nothing is left out)
  --smoke         the smallest sizes, to see that it runs; writes no JSON
  --help          this text
`

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "alone,many,bytes,lists" },
    rounds: { type: "string", default: "7" },
    runs: { type: "string", default: "1000000" },
    url: { type: "string" },
    peers: { type: "string" },
    out: { type: "string" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
})

const isFromSource = process.execArgv.some((one) => one.includes("@superstep/source"))
if (values.help) process.stdout.write(help)
else if (isFromSource) await measure()
else {
  const flags = ["--conditions=@superstep/source", "--import", import.meta.resolve("tsx")]
  const script = fileURLToPath(import.meta.url)
  const { status } = spawnSync(process.execPath, [...flags, script, ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { ...process.env, NODE_ENV: "production" },
  })
  process.exitCode = status ?? 1
}

async function measure() {
  const { startPostgres } = await import("../tests/postgres/start-postgres.ts")
  const { measures } = await import("./src/postgres/measures.mjs")
  const server =
    values.url === undefined
      ? await startPostgres({ settings: { fsync: "on", shared_buffers: "512MB", max_wal_size: "4GB" } })
      : undefined
  const settings = {
    url: values.url ?? server.url(),
    rounds: values.smoke ? 1 : Number(values.rounds),
    runs: values.smoke ? 20_000 : Number(values.runs),
    peers: values.peers,
  }
  const result = {}
  try {
    for (const id of values.only.split(",")) {
      const { measure: run, print } = measures[id]
      result[id] = await run(settings)
      process.stdout.write(`\n${print(result[id])}\n`)
    }
  } finally {
    await server?.stop()
  }
  if (values.smoke) return
  const isWhole = Object.keys(measures).every((id) => id in result) && values.peers !== undefined
  if (values.out !== undefined || isWhole) {
    writeResult(values.out ?? resultsFile("postgres"), {
      settings: { ...settings, url: undefined, peers: undefined },
      ...result,
    })
  }
}
