/**
 * Watches this process's event loop while it holds runs, from a thread of the store where it has one. The thread beats
 * when the loop cannot, reports a loop that was blocked, and dismisses the holder when the loop is stuck for good.
 */
import { type NodeId, type RunId, SuperstepError } from "../core/index.ts"
import { BLOCKED, LoopSigns, toControl } from "./loop-signs.ts"
import type { KeepAlive, KeepAliveOptions, Store } from "./store.ts"

export class LoopWatch {
  readonly #store: Store
  readonly #options: Pick<KeepAliveOptions, "holder" | "every" | "hungAfter">
  readonly #onBlocked: (error: SuperstepError) => void
  #signs: LoopSigns | undefined
  #thread: KeepAlive | undefined

  constructor(
    store: Store,
    options: Pick<KeepAliveOptions, "holder" | "every" | "hungAfter">,
    onBlocked: (error: SuperstepError) => void,
  ) {
    this.#store = store
    this.#options = options
    this.#onBlocked = onBlocked
  }

  start(): void {
    if (this.#thread !== undefined || this.#store.keepAlive === undefined) return
    this.#signs = new LoopSigns()
    this.#signs.start()
    this.#thread = this.#store.keepAlive({
      ...this.#options,
      signs: this.#signs.buffer,
      onBlocked: (milliseconds, text) => this.#onBlocked(loopBlocked(milliseconds, text)),
    })
  }

  stop(): void {
    this.#signs?.stop()
    this.#thread?.stop()
    this.#signs = undefined
    this.#thread = undefined
  }

  enter(runId: RunId, node: NodeId): void {
    this.#signs?.enter(runId, node)
  }
}

function loopBlocked(milliseconds: number, text: string): SuperstepError {
  const control = toControl(text)
  const who =
    control === undefined ? "" : ` Node "${control.node}" of run "${control.runId}" had control last.`
  const seconds = (Math.max(milliseconds, BLOCKED) / 1_000).toFixed(1)
  const message = `The event loop was blocked for ${seconds} s.${who} Move long computations to a worker thread: while the loop is blocked, no other run of this process makes progress.`
  return new SuperstepError("LOOP_BLOCKED", message, control === undefined ? {} : { run: control.runId })
}
