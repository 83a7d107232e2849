/**
 * What the event loop shows of itself to the thread that beats for it: that it turns, and which task had control last.
 * A blocked loop can say neither; the thread reads it from shared memory.
 */
import type { NodeId, RunId } from "../core/index.ts"

/** Milliseconds between two turns that are counted. */
const TURN = 250
/** Milliseconds that the loop may be blocked before it is reported. */
export const BLOCKED = 1_000

/** The layout of the shared memory, which the threads of stores rely on. */
const SIGNS = {
  /** Int32 at 0: counts turns. Int32 at 1: how many bytes of text follow. */
  turns: 0,
  length: 1,
  /** From this byte on: the run's id, a line feed, the node's id, as UTF-8. */
  text: 8,
  bytes: 1_032,
} as const

/** The task that had control last. */
export interface Control {
  readonly runId: RunId
  readonly node: NodeId
}

export class LoopSigns {
  readonly buffer = new SharedArrayBuffer(SIGNS.bytes)
  readonly #numbers = new Int32Array(this.buffer, 0, 2)
  readonly #text = new Uint8Array(this.buffer, SIGNS.text)
  readonly #encoder = new TextEncoder()
  #turns: ReturnType<typeof setInterval> | undefined

  /** Counts the turns of the loop from now on; keeps no process alive. */
  start(): void {
    this.#turns ??= setInterval(() => Atomics.add(this.#numbers, SIGNS.turns, 1), TURN)
    this.#turns.unref()
  }

  stop(): void {
    clearInterval(this.#turns)
    this.#turns = undefined
  }

  /** A handler or a step of the task is called now. */
  enter(runId: RunId, node: NodeId): void {
    const { written } = this.#encoder.encodeInto(`${runId}\n${node}`, this.#text)
    this.#numbers[SIGNS.length] = written
  }
}

/** What the thread read. */
export function toControl(text: string): Control | undefined {
  const end = text.indexOf("\n")
  return end < 0 ? undefined : { runId: text.slice(0, end), node: text.slice(end + 1) }
}
