/**
 * Beats for a holder from a thread with a connection of its own, which a blocked event loop cannot stop. The thread also
 * watches the loop: it reports a loop that was blocked, and dismisses the holder of one that is stuck for good, with
 * the run that had control.
 *
 * The thread's program is text, so that it needs no file of its own wherever this package is bundled to.
 */
import { Worker } from "node:worker_threads"
import type { KeepAlive, KeepAliveOptions } from "@superstep/engine"
import { toText } from "../file/columns.ts"
import { libsqlPath } from "../file/driver.ts"
import { DISMISSAL } from "./leases.ts"

export function keepAlive(path: string, options: KeepAliveOptions): KeepAlive {
  const { holder, every, hungAfter, loopState, onBlocked } = options
  const workerData = {
    path,
    holder: toText(holder.id),
    every,
    hungAfter,
    loopState,
    // Where Node has no SQLite.
    libsql: process.getBuiltinModule("node:sqlite") === undefined ? libsqlPath() : undefined,
    sql: DISMISSAL,
  }
  const thread = new Worker(PROGRAM, {
    eval: true,
    workerData,
    // Nothing that a user's process was started with belongs into this thread: loaders, debuggers, conditions.
    execArgv: ["--no-warnings"],
    env: {},
    name: "superstep heartbeat",
  })
  thread.unref()
  thread.on("message", ({ milliseconds, text }: { milliseconds: number; text: string }) =>
    onBlocked(milliseconds, text),
  )
  // The event loop beats too; without the thread it does so alone.
  thread.on("error", () => undefined)
  return {
    // Not terminated: libsql ends the whole process when it is interrupted while it opens a file.
    stop: () => thread.postMessage("stop"),
  }
}

/** How the numbers in the shared memory are laid out is `LoopState` in the engine. */
const PROGRAM = `
"use strict"
const { parentPort, receiveMessageOnPort, workerData } = require("node:worker_threads")
const { path, holder, every, hungAfter, loopState, libsql, sql } = workerData
const numbers = new Int32Array(loopState, 0, 2)
const bytes = new Uint8Array(loopState, 8)
const LOOK = 200
const BLOCKED = 1000

const Database = libsql === undefined
  ? process.getBuiltinModule("node:sqlite").DatabaseSync
  : require(libsql)
// Stopped before it began: the file may be gone by now.
if (receiveMessageOnPort(parentPort) !== undefined) process.exit()
const database = new Database(path)
database.exec("PRAGMA busy_timeout = 2000")
parentPort.once("message", () => {
  database.close()
  process.exit()
})

let turns = -1
let turnedAt = performance.now()
let beatAt = performance.now()
let blocked
let hung = false

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
  if (hung) return
  try {
    if (now - turnedAt > hungAfter) {
      dismiss(blocked ?? "")
      hung = true
    } else if (now - beatAt >= every) {
      database.prepare("UPDATE holders SET beat = beat + 1 WHERE id = ?").run(holder)
      beatAt = now
    }
  } catch {
    // The file is locked, or gone: the next look tries again.
  }
}, LOOK)

/** As leases.ts dismisses a hung holder. */
function dismiss(text) {
  const run = JSON.stringify(text.split("\\n")[0])
  database.exec("BEGIN IMMEDIATE")
  try {
    if (database.prepare(sql.removeHolder).run(holder).changes > 0) {
      database.prepare(sql.countHungRun).run(1, holder, run.slice(1, -1))
      database.prepare(sql.freeAll).run(holder)
    }
    database.exec("COMMIT")
  } catch (error) {
    database.exec("ROLLBACK")
    throw error
  }
}
`
