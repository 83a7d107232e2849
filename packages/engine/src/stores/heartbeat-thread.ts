/**
 * Beats for a holder from a thread with a connection of its own, which a blocked event loop cannot stop. The thread also
 * watches the loop: it reports a loop that was blocked, and dismisses the holder of one that is stuck for good, with
 * the run that had control.
 *
 * The thread's program is text, so that it needs no file of its own wherever a package is bundled to.
 */
import { Worker } from "node:worker_threads"
import type { KeepAlive, KeepAliveOptions } from "../runtime/index.ts"
import { toStoredName } from "./stored-values.ts"

/** How the thread reaches the store. */
export interface HeartbeatConnection {
  /**
   * JavaScript that defines `beat(holder)`, `dismiss(holder, runId)` and `close()`, which may be async. Names are as
   * `toStoredName` writes them. A call that fails is repeated. It may define `work()`, which is not. What a native module
   * does it wraps in `whole(…)`: a process that ends waits for that, because some end with an abort when they are interrupted.
   */
  readonly program: string
  /** What the program finds in `workerData`. */
  readonly data: Readonly<Record<string, unknown>>
  /** The thread's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

export interface HeartbeatThread extends KeepAlive {
  /** Has the thread call `work()` of its program. */
  work(): void
}

export function heartbeatThread(options: KeepAliveOptions, connection: HeartbeatConnection): HeartbeatThread {
  const { holder, every, hungAfter, loopState, onBlocked } = options
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const thread = new Worker(`${HEAD}${connection.program}${PROGRAM}`, {
    eval: true,
    workerData: { ...connection.data, holder: toStoredName(holder.id), every, hungAfter, loopState, gate },
    // Nothing that a user's process was started with belongs into this thread: loaders, debuggers, conditions.
    execArgv: ["--no-warnings"],
    env: connection.env ?? {},
    name: "superstep heartbeat",
  })
  thread.unref()
  thread.on("message", ({ milliseconds, text }: { milliseconds: number; text: string }) =>
    onBlocked(milliseconds, text),
  )
  // The event loop beats too; without the thread it does so alone.
  thread.on("error", () => undefined)
  shutAtExit(gate)
  thread.on("exit", () => forget(gate))
  return {
    // Not terminated, for the same reason that `whole` has.
    stop: () => thread.postMessage("stop"),
    work: () => thread.postMessage("work"),
  }
}

/** What a gate says: `whole` is free to begin, or something is in it, or the process ends and nothing may begin. */
const [FREE, TAKEN, SHUT] = [0, 1, 2]
/** Milliseconds that a process which ends waits for a thread. */
const MAX_WAIT = 2_000

const gates = new Set<Int32Array>()

function shutAtExit(gate: Int32Array): void {
  if (gates.size === 0) process.on("exit", shutGates)
  gates.add(gate)
}

function forget(gate: Int32Array): void {
  gates.delete(gate)
  if (gates.size === 0) process.off("exit", shutGates)
}

function shutGates(): void {
  for (const gate of gates) {
    if (Atomics.compareExchange(gate, 0, FREE, SHUT) !== TAKEN) continue
    Atomics.wait(gate, 0, TAKEN, MAX_WAIT)
    Atomics.compareExchange(gate, 0, FREE, SHUT)
  }
}

/** A thread that was stopped before it began opens no connection: the store may already be gone. */
const HEAD = `
"use strict"
const { parentPort, receiveMessageOnPort, workerData } = require("node:worker_threads")
let early
for (let first; (first = receiveMessageOnPort(parentPort)) !== undefined; early = first.message)
  if (first.message === "stop") process.exit()

function whole(work) {
  if (Atomics.compareExchange(workerData.gate, 0, ${FREE}, ${TAKEN}) !== ${FREE}) process.exit()
  try {
    return work()
  } finally {
    Atomics.store(workerData.gate, 0, ${FREE})
    Atomics.notify(workerData.gate, 0)
  }
}
`

/** How the numbers in the shared memory are laid out is `LoopState` in lease/loop-watch.ts. */
const PROGRAM = `
const { holder, every, hungAfter, loopState } = workerData
const numbers = new Int32Array(loopState, 0, 2)
const bytes = new Uint8Array(loopState, 8)
const LOOK = 200
const BLOCKED = 1000

parentPort.on("message", follow)
if (early !== undefined) follow(early)

async function follow(message) {
  try {
    await (message === "work" ? work() : close())
  } catch {
    // The log is moved when it has grown again.
  } finally {
    if (message === "stop") process.exit()
  }
}

let turns = -1
let turnedAt = performance.now()
let beatAt = performance.now()
let blocked
let hung = false
let isCalling = false

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
  if (hung || isCalling) return
  if (now - turnedAt > hungAfter) {
    const run = JSON.stringify((blocked ?? "").split("\\n")[0]).slice(1, -1)
    call(() => dismiss(holder, run), () => { hung = true })
  } else if (now - beatAt >= every) {
    call(() => beat(holder), () => { beatAt = now })
  }
}, LOOK)

/** A store that is locked or away is called again at the next look. */
async function call(act, done) {
  isCalling = true
  try {
    await act()
    done()
  } catch {
  } finally {
    isCalling = false
  }
}
`
