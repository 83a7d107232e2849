/**
 * Follows a run in this process until it ends: watches it, answers its questions, and releases it at Ctrl-C.
 *
 * 1. The first Ctrl-C releases the run: finished work stays in the store, and `runs resume` continues from there. A run that
 *    is in memory only is cancelled instead. The second Ctrl-C ends the process immediately.
 * 2. Questions are asked one at a time, when nothing else in the run can proceed.
 */
import { isSuperstepError, type OpenRequest, type Run, type RunResult } from "@superstep/engine"
import { type Cli, EXIT, type ExitCode, exitCodeOf } from "../cli.ts"
import type { Watcher } from "../print/progress/watcher.ts"
import { printText, sanitize } from "../terminal/terminal.ts"

/** The answer of a person, or of a rule on the command line. */
export type Answered =
  | { readonly kind: "answer"; readonly value: unknown; readonly by?: string | undefined }
  /** Nobody is available to answer it. */
  | { readonly kind: "open" }
  /** Ctrl-C at the question. */
  | { readonly kind: "interrupt" }

export type Answerer = (request: OpenRequest, signal: AbortSignal) => Promise<Answered>

export interface SuperviseOptions {
  readonly run: Run<unknown>
  /** Watches events after this one, including past ones. Absent: events from now on. */
  readonly after?: number | undefined
  readonly watcher: Watcher
  readonly answerer: Answerer
  /** Whether the run outlives this process. */
  readonly isKept: boolean
}

export interface Supervised {
  /** Undefined if the run was released. */
  readonly result: RunResult | undefined
  readonly code: ExitCode
}

export async function superviseRun(cli: Cli, options: SuperviseOptions): Promise<Supervised> {
  const supervision = new Supervision(cli, options)
  try {
    return await supervision.untilItEnds()
  } finally {
    supervision.stopListening()
  }
}

class Supervision {
  readonly #cli: Cli
  readonly #options: SuperviseOptions
  readonly stopListening: () => void
  /** By request id. Aborted when the question no longer needs an answer. */
  readonly #asked = new Map<string, AbortController>()
  /** Requests that were answered, also by an answer to another one, or that expired. */
  readonly #closed = new Set<string>()
  #interrupts = 0
  #release: (() => void) | undefined
  readonly #released: Promise<undefined>

  constructor(cli: Cli, options: SuperviseOptions) {
    this.#cli = cli
    this.#options = options
    this.#released = new Promise((resolve) => {
      this.#release = () => resolve(undefined)
    })
    this.stopListening = cli.io.onInterrupt(() => this.#interrupt())
  }

  async untilItEnds(): Promise<Supervised> {
    const { run, watcher } = this.#options
    const watching = this.#watch()
    let result: RunResult | undefined
    do {
      result = await Promise.race([run.result, this.#released])
    } while (result?.status === "waiting" && (await this.#answer(result.requests)) && this.#interrupts === 0)
    if (result === undefined || (result.status === "waiting" && this.#interrupts > 0)) {
      watcher.end?.(undefined)
      return { result: undefined, code: EXIT.cancelled }
    }
    if (result.status !== "waiting" && result.status !== "paused") await watching
    // The events before the wait are on their way.
    else await new Promise((resolve) => setImmediate(resolve))
    watcher.end?.(result)
    return { result, code: exitCodeOf(result.status, result.error) }
  }

  async #watch(): Promise<void> {
    const { run, after, watcher } = this.#options
    try {
      for await (const event of after === undefined ? run : run.events({ after })) {
        watcher.event(event)
        if (event.type !== "request.answered" && event.type !== "request.closed") continue
        this.#closed.add(event.request)
        this.#asked.get(event.request)?.abort()
      }
    } catch {
      // The caller that awaits the run gets the same error.
    }
  }

  #interrupt(): void {
    this.#interrupts++
    const { run, isKept } = this.#options
    if (this.#interrupts > 1) return this.#cli.io.exitNow(EXIT.cancelled)
    for (const asked of this.#asked.values()) asked.abort()
    if (isKept) this.#release?.()
    else run.cancel("Ctrl-C")
  }

  /** Returns false if every question stays open. */
  async #answer(requests: readonly OpenRequest[]): Promise<boolean> {
    const { watcher } = this.#options
    watcher.pause?.()
    try {
      let isAnswered = false
      for (const request of requests) {
        // Events of the answer before are on their way.
        if (isAnswered) await new Promise((resolve) => setImmediate(resolve))
        if (!this.#closed.has(request.id)) isAnswered = (await this.#answerOne(request)) || isAnswered
      }
      return isAnswered
    } finally {
      watcher.resume?.()
    }
  }

  async #answerOne(request: OpenRequest): Promise<boolean> {
    const { run, answerer } = this.#options
    while (this.#interrupts === 0) {
      const asked = new AbortController()
      this.#asked.set(request.id, asked)
      const answer = await answerer(request, asked.signal)
      this.#asked.delete(request.id)
      // Another process answered first, or the question expired: the run continues.
      if (asked.signal.aborted) return true
      if (answer.kind === "open") return false
      if (answer.kind === "interrupt") {
        this.#interrupt()
        return true
      }
      try {
        await run.respond(request.id, answer.value, { by: answer.by })
        return true
      } catch (error) {
        if (!isSuperstepError(error)) throw error
        if (error.code !== "REQUEST_INVALID") return true
        const { err } = this.#cli
        printText(err, sanitize(error.message), { paint: err.paint.red })
      }
    }
    return true
  }
}
