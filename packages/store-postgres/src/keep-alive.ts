/**
 * Beats for a holder from a thread with a connection of its own, which a blocked event loop cannot stop. The thread also
 * watches the loop: it reports a loop that was blocked, and dismisses the holder of one that is stuck for good, with
 * the run that had control.
 *
 * The thread's program is text, so that it needs no file of its own wherever this package is bundled to.
 */
import { Worker } from "node:worker_threads"
import type { KeepAlive, KeepAliveOptions } from "@superstep/engine"
import { requireFrom } from "@superstep/engine/packages"
import type { ConnectionConfig } from "./address.ts"
import { toText } from "./names.ts"

export function keepAlive(config: ConnectionConfig, schema: string, options: KeepAliveOptions): KeepAlive {
  const { holder, every, hungAfter, loopState, onBlocked } = options
  const workerData = {
    pg: requireFrom(import.meta.url).resolve("pg"),
    config,
    schema: `"${schema}"`,
    holder: toText(holder.id),
    every,
    hungAfter,
    loopState,
  }
  const thread = new Worker(PROGRAM, {
    eval: true,
    workerData,
    // Nothing that a user's process was started with belongs into this thread: loaders, debuggers, conditions. But what the
    // driver takes from the environment does.
    execArgv: ["--no-warnings"],
    env: Object.fromEntries(
      Object.entries(process.env).filter(([name]) => /^(?:PG|HOME$|NODE_EXTRA_CA)/.test(name)),
    ),
    name: "superstep heartbeat",
  })
  thread.unref()
  thread.on("message", ({ milliseconds, text }: { milliseconds: number; text: string }) =>
    onBlocked(milliseconds, text),
  )
  // The event loop beats too; without the thread it does so alone.
  thread.on("error", () => undefined)
  return {
    stop() {
      thread.terminate().catch(() => undefined)
    },
  }
}

/** How the numbers in the shared memory are laid out is `LoopState` in the engine. */
const PROGRAM = `
"use strict"
const { parentPort, workerData } = require("node:worker_threads")
const { pg, config, schema, holder, every, hungAfter, loopState } = workerData
const { Client } = require(pg)
const numbers = new Int32Array(loopState, 0, 2)
const bytes = new Uint8Array(loopState, 8)
const LOOK = 200
const BLOCKED = 1000
const PATIENCE = 5000

let turns = -1
let turnedAt = performance.now()
let beatAt = performance.now()
let blocked
let hung = false
let client
let isAsking = false

setInterval(() => {
  const now = performance.now()
  const seen = Atomics.load(numbers, 0)
  if (seen !== turns) {
    if (blocked !== undefined) parentPort.postMessage({ milliseconds: now - turnedAt, text: blocked })
    blocked = undefined
    hung = false
    turns = seen
    turnedAt = now
  } else if (now - turnedAt > BLOCKED) {
    blocked ??= Buffer.from(bytes.slice(0, numbers[1])).toString()
  }
  if (hung || isAsking) return
  if (now - turnedAt > hungAfter) {
    const run = JSON.stringify((blocked ?? "").split("\\n")[0]).slice(1, -1)
    ask("SELECT " + schema + ".dismiss_1($1, 'hung', $2)", [holder, run], () => { hung = true })
  } else if (now - beatAt >= every) {
    ask("UPDATE " + schema + ".holders SET beat = beat + 1 WHERE id = $1", [holder], () => { beatAt = now })
  }
}, LOOK)

/** A server that is away is asked again with the next look. */
async function ask(text, values, done) {
  isAsking = true
  try {
    client ??= await connected()
    await client.query({ text, values })
    done()
  } catch {
    client?.end().catch(() => undefined)
    client = undefined
  } finally {
    isAsking = false
  }
}

async function connected() {
  const made = new Client({
    ...config,
    connectionTimeoutMillis: PATIENCE,
    query_timeout: PATIENCE,
    application_name: "superstep heartbeat",
  })
  made.on("error", () => { client = undefined })
  await made.connect()
  return made
}
`
