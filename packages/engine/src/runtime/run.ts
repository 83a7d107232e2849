/** A run as its caller holds it: await it, watch it, answer it, cancel it. */

import {
  type Entry,
  type Json,
  type RequestId,
  type RunId,
  SuperstepError,
  signatureDifference,
  signatureOf,
} from "../core/index.ts"
import { systemClock } from "./clock.ts"
import type { EventStream, RunEvent } from "./events.ts"
import { Frame } from "./frame.ts"
import { isPromise } from "./maybe-promise.ts"
import type { RunOptions, RunResult } from "./options.ts"
import type { Program } from "./program.ts"
import { replayEvents } from "./replay-events.ts"
import { RunError } from "./run-error.ts"
import { RunHost } from "./run-host.ts"
import { newRunId } from "./run-id.ts"
import { checkInput, checkOptions, runStarted } from "./start.ts"
import type { JournalRecord } from "./store.ts"
import { currentTelemetry } from "./telemetry-port.ts"

export class Run<Out = unknown> implements PromiseLike<RunResult<Out>>, AsyncIterable<RunEvent> {
  readonly id: RunId
  readonly #program: Program
  readonly #host: RunHost
  #stream: EventStream | undefined
  /** Settles when the run has begun; rejects when it could not. Undefined: it began at once. */
  #begun: Promise<void> | undefined

  private constructor(program: Program, options: RunOptions) {
    this.id = options.runId ?? newRunId()
    this.#program = program
    this.#host = new RunHost({
      runId: this.id,
      store: options.store,
      clock: options.clock ?? systemClock,
      telemetry: options.telemetry ?? currentTelemetry(),
    })
  }

  static start<Out>(program: Program, input: unknown, options: RunOptions, streaming: boolean): Run<Out> {
    const run = new Run<Out>(program, options)
    if (streaming) run.#stream = run.#host.watch()
    run.#begin(() => {
      checkOptions(program, options)
      const begin = () => {
        const entry = runStarted(program, run.id, input as Json, run.#host.now(), options)
        run.#host.together(() => {
          Frame.start(run.#host, program, entry, undefined)
          // Aborted before it began: no handler runs.
          if (options.signal?.aborted) run.#host.root.cancel(reasonOf(options.signal))
        })
      }
      const checked = checkInput(program, input)
      return isPromise(checked) ? checked.then(begin) : begin()
    }, options.signal)
    return run
  }

  /** Goes on with a run from its journal. */
  static resume<Out>(program: Program, runId: RunId, options: RunOptions, streaming: boolean): Run<Out> {
    const run = new Run<Out>(program, { ...options, runId })
    if (streaming) run.#stream = run.#host.watch()
    run.#begin(async () => {
      const records = (await options.store?.read(runId, 0)) ?? []
      restore(run.#host, program, runId, records)
    }, options.signal)
    return run
  }

  #begin(begin: () => Promise<void> | void, signal: AbortSignal | undefined): void {
    try {
      const begun = begin()
      if (isPromise(begun)) this.#begun = begun as Promise<void>
    } catch (error) {
      this.#begun = Promise.reject(error)
    }
    // Whoever awaits the run gets the error; a run that nobody awaits must not bring the process down.
    this.#begun?.catch((error) => this.#stream?.fail(error))
    if (signal !== undefined) this.#followSignal(signal)
  }

  #followSignal(signal: AbortSignal): void {
    const onAbort = () => this.cancel(reasonOf(signal))
    if (signal.aborted) return onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    const leave = () => signal.removeEventListener("abort", onAbort)
    this.#host.onFinish(leave)
    this.#begun?.catch(leave)
  }

  /**
   * The result, once the run is over or waits for a person. It does not reject for a run that failed, was
   * cancelled or hit a limit: look at `status`.
   */
  get result(): Promise<RunResult<Out>> {
    const settled = () => this.#host.settled() as Promise<RunResult<Out>>
    return this.#begun === undefined ? settled() : this.#begun.then(settled)
  }

  /** Awaiting a run gives its result, and throws a RunError when it failed, was cancelled or hit a limit. */
  // biome-ignore lint/suspicious/noThenProperty: a run is awaited like any other asynchronous work.
  then<A = RunResult<Out>, B = never>(
    onResult?: ((result: RunResult<Out>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.result
      .then((result) => {
        if (result.status !== "completed" && result.status !== "waiting") throw new RunError(result)
        return result
      })
      .then(onResult, onError)
  }

  /** Ends the run at once; its handlers are told through their signals. A run that is over stays as it is. */
  cancel(reason?: string): void {
    if (this.#begun === undefined) this.#host.root.cancel(reason)
    else
      this.#begun.then(
        () => this.#host.root.cancel(reason),
        () => undefined,
      )
  }

  /** Answers an open request. Rejects, and takes nothing, when the id is unknown or answered or the value does not fit. */
  respond(id: RequestId, value: unknown, options: { readonly by?: string | undefined } = {}): Promise<void> {
    const respond = () => this.#host.respond(id, value, options.by)
    return this.#begun === undefined ? respond() : this.#begun.then(respond)
  }

  /** Events from now on; with `after`, first those that came after that number, from the journal. */
  async *events(
    options: { readonly after?: number | undefined } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    await this.#begun
    const { after } = options
    const live = this.#host.watch()
    try {
      let last = after ?? -1
      if (after !== undefined) {
        for (const event of await this.#past(after)) {
          last = event.seq
          yield event
        }
      }
      for await (const event of live)
        if (event.seq > last || (event.seq === last && isLive(event))) yield event
    } finally {
      await live.return()
    }
  }

  async #past(after: number): Promise<RunEvent[]> {
    const { store } = this.#host
    if (store === undefined) {
      throw new SuperstepError(
        "NO_STORE",
        `Run ${this.id} keeps no journal, so past events are gone; start it with a store.`,
      )
    }
    // What has happened and is not written yet would be missed.
    await this.#host.durable()
    return replayEvents(this.#program.graph, this.#host.called, await store.read(this.id, 0), after)
  }

  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    return this.#stream ?? this.events()
  }
}

function reasonOf(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : String(signal.reason)
}

/** Live events have the number of the kept event before them. */
function isLive({ type }: RunEvent): boolean {
  return type === "custom" || type === "log"
}

/** Folds a journal into the frames of a run, and starts what was under way. */
function restore(host: RunHost, program: Program, runId: RunId, records: readonly JournalRecord[]): void {
  const last = records.at(-1)
  const first = records[0]?.entry
  if (last === undefined || first?.type !== "run.started") {
    throw new SuperstepError("RUN_UNKNOWN", `The store has no run "${runId}".`)
  }
  const now = signatureOf(program.graph)
  if (first.signature !== now.hash) {
    const difference = signatureDifference({ hash: first.signature, lines: first.graph ?? [] }, now)
    const text = `Run "${runId}" was started with another version of workflow "${first.workflow}":`
    throw new SuperstepError("GRAPH_CHANGED", [text, ...difference].join("\n  "))
  }
  const own: Entry[] = []
  const below = new Map<string, Entry[]>()
  for (const { frame, entry } of records) {
    if (frame === "") own.push(entry)
    else if (below.has(frame)) below.get(frame)?.push(entry)
    else below.set(frame, [entry])
  }
  host.restored(last.seq, last.events, below)
  Frame.restore(host, program, own, undefined).resume()
}
