#!/usr/bin/env node
// Durable runs in PostgreSQL: ours, raw inserts, LangGraph's PostgresSaver and DBOS side by side in one run; and lists of a million runs.
import { runBench, show } from "./src/bench.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { measures, postgresTargets } from "./src/postgres/measures.mjs"
import { benchServer } from "./src/postgres/server.mjs"

const options = {
  only: { type: "string", help: `measures, by comma: ${Object.keys(measures).join(", ")}` },
  rounds: { type: "string", default: "7", help: "samples of each system, in turns" },
  runs: { type: "string", default: "1000000", help: "runs in the table of the lists" },
  url: {
    type: "string",
    help: "a server to measure on, in schemas of its own (default: one out of npm, with fsync on)",
  },
  peers: {
    type: "string",
    help: "where @langchain/langgraph-checkpoint-postgres and @dbos-inc/dbos-sdk are installed; else they are left out",
  },
}

async function measure(values) {
  const only = listOption(values.only, Object.keys(measures), "measure")
  const server = await benchServer(values.url)
  const settings = {
    url: server.url,
    peers: values.peers,
    rounds: values.smoke ? 1 : Math.ceil(positiveOption(values.rounds, "--rounds")),
    runs: values.smoke ? 20_000 : Math.ceil(positiveOption(values.runs, "--runs")),
  }
  const sections = {}
  try {
    for (const id of only) {
      const { title, measure: run, table } = measures[id]
      console.error(`measuring ${id} …`)
      sections[id] = await run(settings)
      show(title, table(sections[id]))
    }
  } finally {
    await server.stop()
  }
  const isWhole = only.length === Object.keys(measures).length && values.peers !== undefined
  return { partial: !isWhole, rounds: settings.rounds, sections }
}

await runBench({
  name: "postgres",
  options,
  packages: ["superstep", "@superstep/store-postgres"],
  measure,
  targets: postgresTargets,
})
