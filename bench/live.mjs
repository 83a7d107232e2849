#!/usr/bin/env node
// How long an event takes from the process that executes a run to a watcher in another process, beside a plain message
// between the same two processes (Node's IPC).
import { fork } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { node, Runtime, workflow } from "superstep"
import { sqliteStore } from "superstep/sqlite"
import { runBench, show } from "./src/bench.mjs"
import { textTable } from "./src/table.mjs"

const PAUSE = 10
/** The same in all processes of the host. */
const now = () => performance.timeOrigin + performance.now()

const talk = node("talk", async (events, ctx) => {
  // The watcher is there before the first event.
  await sleep(500)
  for (let i = 0; i < events; i++) {
    const at = now()
    ctx.emit("tick", { at })
    process.send?.({ at })
    if (i % 10 === 0) await ctx.step(`journaled ${i}`, () => now())
    await sleep(PAUSE)
  }
  return events
})
const talking = workflow("talking").start(talk).build()

if (process.argv[2] === "--execute") await execute(process.argv[3], Number(process.argv[4]))
else await runBench({ name: "live", packages: ["superstep"], measure })

async function execute(path, events) {
  const store = sqliteStore({ path })
  const runtime = new Runtime({ store, workflows: [talking] })
  const run = runtime.start(talking, events, { runId: "r" })
  process.send({ started: true })
  await run.result
  await runtime.close()
  await store.close()
  process.disconnect()
}

async function measure({ smoke }) {
  const folder = mkdtempSync(join(tmpdir(), "superstep-live-"))
  try {
    const path = join(folder, "runs.db")
    const child = fork(fileURLToPath(import.meta.url), ["--execute", path, smoke ? "10" : "300"])
    const ended = new Promise((resolve) => child.once("exit", resolve))
    const [ipc, live, journaled] = [[], [], []]
    await new Promise((resolve) => {
      child.on("message", ({ started, at }) => (started ? resolve() : ipc.push(now() - at)))
    })
    const store = sqliteStore({ path })
    const runtime = new Runtime({ store, workflows: [talking], recover: false })
    await until(async () => (await store.run("r")) !== undefined)
    for await (const event of runtime.get("r")) {
      if (event.type === "custom") live.push(now() - event.data.at)
      if (event.type === "step.recorded") journaled.push(now() - event.value)
    }
    await runtime.close()
    await store.close()
    await ended
    const rows = { "plain message (IPC)": ipc, "live event": live, "journaled event": journaled }
    const figures = Object.entries(rows).map(([what, all]) => ({
      what,
      count: all.length,
      ...quantiles(all),
    }))
    const cells = figures.map(({ what, count, p50, p99, max }) => [
      what,
      String(count),
      ...[p50, p99, max].map((ms) => ms.toFixed(2)),
    ])
    show("From one process to another", textTable(["", "events", "p50 ms", "p99 ms", "max ms"], cells))
    return { figures }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function until(condition) {
  while (!(await condition())) await sleep(5)
}

function quantiles(all) {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}
