/**
 * Has other processes execute runs, through a dispatcher, and knows which of them are with a run: who waits for the run need not look
 * for its end meanwhile. A visit that is lost is none: the run is in the store, where a process finds it.
 */
import type { RunId } from "../../core/index.ts"
import type { Dispatcher, RunStart, StartReply } from "../ports/dispatcher.ts"

export class Visits {
  readonly #dispatcher: Dispatcher
  readonly #report: (runId: RunId, error: Error) => void
  readonly #visits = new Map<RunId, Promise<unknown>>()

  constructor(dispatcher: Dispatcher, report: (runId: RunId, error: Error) => void) {
    this.#dispatcher = dispatcher
    this.#report = report
  }

  /** Sends for a process, which executes the run at once, or `at` a time; `graph`: one that has it. Never rejects: problems are reported. */
  send(runId: RunId, at?: number, graph?: string): Promise<void> {
    const isWatched = at === undefined && graph === undefined && this.#dispatcher.execute !== undefined
    const sent = isWatched ? this.#dispatcher.execute?.(runId) : this.#dispatcher.activate(runId, at, graph)
    const reported = this.#reported(runId, sent as Promise<void>)
    return isWatched ? this.#keep(runId, reported) : reported
  }

  /** Has a process create the run and execute it. Undefined, or a promise of that, if none does: create it here. */
  start(run: RunStart): Promise<StartReply | undefined> | undefined {
    const sent = this.#dispatcher.start?.(run)
    return sent && this.#keep(run.runId, this.#reported(run.runId, sent))
  }

  #reported<T>(runId: RunId, sent: Promise<T>): Promise<T | undefined> {
    return sent.catch((error) => {
      this.#report(runId, error instanceof Error ? error : new Error(String(error)))
      return undefined
    })
  }

  #keep<T>(runId: RunId, sent: Promise<T>): Promise<T> {
    const kept = sent.finally(() => {
      if (this.#visits.get(runId) === kept) this.#visits.delete(runId)
    })
    this.#visits.set(runId, kept)
    return kept
  }

  /** Resolves when the process that was sent for last has left the run. Undefined if none is with it, as far as is known. */
  of(runId: RunId): Promise<unknown> | undefined {
    return this.#visits.get(runId)
  }
}
