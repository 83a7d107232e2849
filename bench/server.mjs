#!/usr/bin/env node
// The server over HTTP: starting and awaiting runs beside a bare hono route with one insert, watchers of one run, the first
// byte of a stream, and many waiting runs.
import { runBench, show } from "./src/bench.mjs"
import { listOption, positiveOption, systemsOption } from "./src/options.mjs"
import { firstByte, requests, waiting, watchers } from "./src/server/measures.mjs"
import { missing, systemNames } from "./src/server/peers.mjs"
import { costText, ratioText, shortNumber, textTable } from "./src/table.mjs"

const whole = { rounds: 15, requests: 200, watchers: 1_000, tokens: 50, waiting: 10_000 }
const small = { rounds: 1, requests: 5, watchers: 10, tokens: 3, waiting: 20 }

const ms = (value) => costText(value, "ms")
const bytes = (value) => costText(Math.max(0, value), "B")

const measures = {
  requests: {
    title: "Start a no-op workflow and wait for its result",
    run: requests,
    header: ["", "wall", "CPU", "wall ÷ hono", "CPU ÷ hono"],
    rows: (found) =>
      found.map(({ system, wall, cpu, wallRatio, cpuRatio }) => [
        system,
        costText(wall, "µs"),
        costText(cpu, "µs"),
        ratioText(wallRatio),
        ratioText(cpuRatio),
      ]),
  },
  watchers: {
    title: "Watchers of one run",
    run: watchers,
    header: ["watchers", "memory each", "token p50", "token p99"],
    rows: (found) => [[shortNumber(found.watchers), bytes(found.bytes), ms(found.p50), ms(found.p99)]],
  },
  "first-byte": {
    title: "First byte of a stream",
    run: firstByte,
    header: ["p50", "p99"],
    rows: ({ p50, p99 }) => [[ms(p50), ms(p99)]],
  },
  waiting: {
    title: "Runs that wait for a person",
    run: waiting,
    header: ["runs", "start each", "memory each", "list 50", "answer one"],
    rows: (found) => [
      [shortNumber(found.runs), ms(found.start), bytes(found.bytes), ms(found.list), ms(found.answer)],
    ],
  },
}

const options = {
  only: { type: "string", help: `measures, by comma: ${Object.keys(measures).join(", ")}` },
  rounds: { type: "string", default: String(whole.rounds), help: "samples of each system, in turns" },
  peers: { type: "string", help: "a folder with LangGraph's and Mastra's servers; else they are left out" },
  systems: { type: "string", help: `whose starts are measured, by comma: ${systemNames.join(", ")}` },
}

async function measure(values) {
  const only = listOption(values.only, Object.keys(measures), "measure")
  const sizes = values.smoke
    ? small
    : { ...whole, rounds: Math.ceil(positiveOption(values.rounds, "--rounds")) }
  const { peers } = values
  const { systems: chosen, partial } = systemsOption(values, systemNames, (name) => missing(name, peers))
  const sections = {}
  for (const id of only) {
    const { title, run, header, rows } = measures[id]
    console.error(`measuring ${id} …`)
    sections[id] = await run({ ...sizes, systems: chosen, peers })
    show(title, textTable(header, rows(sections[id])))
  }
  return { partial: partial || only.length < Object.keys(measures).length, sizes, sections }
}

await runBench({
  name: "server",
  options,
  packages: ["superstep", "@superstep/server", "hono"],
  measure,
  targets: [
    {
      name: "start and wait, times a hono route with one insert",
      atMost: 3,
      measure: ({ requests: found }) => found?.find(({ system }) => system === "superstep")?.wallRatio,
    },
  ],
})
