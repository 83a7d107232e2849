/**
 * A run from its beginning to its end in this process: watched, answered, and let go of at Ctrl-C.
 *
 * 1. The first Ctrl-C lets go: what is done stays in the store, and `runs resume` goes on from there. A run that is in no
 *    file is cancelled instead. The second one ends the process on the spot.
 * 2. Questions are asked one after the other, when nothing else in the run can go on.
 */
import type { OpenRequest, Run, RunResult, Runtime } from "@superstep/engine"
import { isSuperstepError } from "@superstep/engine"
import type { Cli } from "./cli.ts"
import { EXIT, type ExitCode, exitCodeOf } from "./exit-codes.ts"
import type { Watcher } from "./progress/watcher.ts"
import { foreign, wrapped } from "./terminal.ts"

/** What a person, or a rule of the command line, says to a question. */
export type Answered =
  | { readonly kind: "answer"; readonly value: unknown; readonly by?: string | undefined }
  /** Nobody is there to answer it. */
  | { readonly kind: "open" }
  /** Ctrl-C at the question. */
  | { readonly kind: "interrupt" }

export type Answerer = (request: OpenRequest, signal: AbortSignal) => Promise<Answered>

export interface SuperviseOptions {
  readonly runtime: Runtime
  readonly run: Run<unknown>
  /** Events after this one are watched, also those that came before somebody watched. Absent: from now on. */
  readonly after?: number | undefined
  readonly watcher: Watcher
  readonly answerer: Answerer
  /** The run outlives this process. */
  readonly isKept: boolean
}

export interface Supervised {
  /** Undefined when the run was let go of. */
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
  readonly #leave: () => void
  /** Of the question that is asked now: aborted when it needs no answer any more. */
  readonly #asked = new Map<string, AbortController>()
  #interrupts = 0
  #onLetGo: (() => void) | undefined
  readonly #letGo: Promise<undefined>

  constructor(cli: Cli, options: SuperviseOptions) {
    this.#cli = cli
    this.#options = options
    this.#letGo = new Promise((resolve) => {
      this.#onLetGo = () => resolve(undefined)
    })
    this.#leave = cli.io.onInterrupt(() => this.#interrupt())
  }

  stopListening(): void {
    this.#leave()
  }

  async untilItEnds(): Promise<Supervised> {
    const { run, watcher } = this.#options
    const watching = this.#watch()
    let result: RunResult | undefined
    do {
      result = await Promise.race([run.result, this.#letGo])
    } while (result?.status === "waiting" && (await this.#answer(result.requests)) && this.#interrupts === 0)
    if (result === undefined || (result.status === "waiting" && this.#interrupts > 0)) {
      watcher.end(undefined)
      return { result: undefined, code: EXIT.cancelled }
    }
    if (result.status !== "waiting") await watching
    // What it said before it came to wait is on its way.
    else await new Promise((resolve) => setImmediate(resolve))
    watcher.end(result)
    return { result, code: exitCodeOf(result.status, result.error) }
  }

  async #watch(): Promise<void> {
    const { run, after, watcher } = this.#options
    try {
      for await (const event of after === undefined ? run : run.events({ after })) {
        watcher.event(event)
        if (event.type === "request.answered" || event.type === "request.closed")
          this.#asked.get(event.request)?.abort()
      }
    } catch {
      // Whoever awaits the run gets the same error.
    }
  }

  #interrupt(): void {
    this.#interrupts++
    const { run, isKept } = this.#options
    if (this.#interrupts > 1) return this.#cli.io.exitNow(EXIT.cancelled)
    for (const asked of this.#asked.values()) asked.abort()
    if (isKept) this.#onLetGo?.()
    else run.cancel("Ctrl-C")
  }

  /** False when a question stays open. */
  async #answer(requests: readonly OpenRequest[]): Promise<boolean> {
    const { watcher } = this.#options
    watcher.pause()
    try {
      let isAnswered = false
      for (const request of requests) isAnswered = (await this.#answerOne(request)) || isAnswered
      return isAnswered
    } finally {
      watcher.resume()
    }
  }

  async #answerOne(request: OpenRequest): Promise<boolean> {
    const { run, answerer } = this.#options
    while (this.#interrupts === 0) {
      const asked = new AbortController()
      this.#asked.set(request.id, asked)
      const answer = await answerer(request, asked.signal)
      this.#asked.delete(request.id)
      // Somebody else was faster, or its time is up: the run goes on.
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
        this.#tell(error.message)
      }
    }
    return true
  }

  #tell(message: string): void {
    const { err } = this.#cli
    for (const line of wrapped(foreign(message), err.width)) err.line(err.paint.red(line))
  }
}
