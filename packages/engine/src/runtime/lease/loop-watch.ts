/**
 * Watches this process's event loop while it holds runs, from a thread of the store where it has one. The thread sends
 * heartbeats when the loop cannot, reports a blocked loop, and dismisses the holder when the loop is stuck. A blocked loop
 * cannot report which task had control last, so the thread reads that from shared memory.
 */
import { type NodeId, type RunId, SuperstepError } from "../../core/index.ts"
import type { KeepAlive, KeepAliveOptions, Store } from "../ports/store.ts"

/** Milliseconds between two turns that are counted. */
const TURN = 250
/** Milliseconds that the loop may be blocked before it is reported. */
const BLOCKED = 1_000

/** The layout of the shared memory, which the threads of stores rely on. */
const LAYOUT = {
  /** Int32 at 0: counts turns. Int32 at 1: the length of the text in bytes. */
  turns: 0,
  length: 1,
  /** From this byte on: the run's id, a line feed, the node's id, as UTF-8. */
  text: 8,
  bytes: 1_032,
} as const

type LoopWatchOptions = Pick<KeepAliveOptions, "holder" | "every" | "hungAfter">

export class LoopWatch {
  readonly #store: Store
  readonly #options: LoopWatchOptions
  readonly #onBlocked: (error: SuperstepError) => void
  readonly #encoder = new TextEncoder()
  /** Set while the loop is watched. */
  #numbers: Int32Array | undefined
  #text: Uint8Array | undefined
  #turns: ReturnType<typeof setInterval> | undefined
  #thread: KeepAlive | undefined

  constructor(store: Store, options: LoopWatchOptions, onBlocked: (error: SuperstepError) => void) {
    this.#store = store
    this.#options = options
    this.#onBlocked = onBlocked
  }

  /** Begins to count the turns of the loop; does not keep the process alive. */
  start(): void {
    if (this.#thread !== undefined || this.#store.keepAlive === undefined) return
    const loopState = new SharedArrayBuffer(LAYOUT.bytes)
    const numbers = new Int32Array(loopState, 0, 2)
    this.#numbers = numbers
    this.#text = new Uint8Array(loopState, LAYOUT.text)
    this.#turns = setInterval(() => Atomics.add(numbers, LAYOUT.turns, 1), TURN)
    this.#turns.unref()
    this.#thread = this.#store.keepAlive({
      ...this.#options,
      loopState,
      onBlocked: (milliseconds, text) => this.#onBlocked(loopBlocked(milliseconds, text)),
    })
  }

  stop(): void {
    clearInterval(this.#turns)
    this.#thread?.stop()
    this.#numbers = undefined
    this.#text = undefined
    this.#thread = undefined
  }

  /** A handler or a step of the task is called now. */
  enter(runId: RunId, node: NodeId): void {
    if (this.#numbers === undefined || this.#text === undefined) return
    const { written } = this.#encoder.encodeInto(`${runId}\n${node}`, this.#text)
    this.#numbers[LAYOUT.length] = written
  }
}

function loopBlocked(milliseconds: number, text: string): SuperstepError {
  const end = text.indexOf("\n")
  const run = end < 0 ? undefined : text.slice(0, end)
  const who = run === undefined ? "" : ` Node "${text.slice(end + 1)}" of run "${run}" had control last.`
  const seconds = (Math.max(milliseconds, BLOCKED) / 1_000).toFixed(1)
  const message = `The event loop was blocked for ${seconds} s.${who} Move long computations to a worker thread: while the loop is blocked, no other run of this process makes progress.`
  return new SuperstepError("LOOP_BLOCKED", message, run === undefined ? {} : { run })
}
