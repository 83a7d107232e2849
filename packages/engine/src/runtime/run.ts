/** A run as its caller holds it: await it, watch it, answer it, cancel it. It may be at work here or elsewhere. */

import { isSuperstepError, type Json, type RequestId, type RunId, SuperstepError } from "../core/index.ts"
import { canonicalJson } from "../core/reducers.ts"
import { type Clock, systemClock } from "./clock.ts"
import { type EventStream, isLive, type RunEvent } from "./events.ts"
import { FollowedRun, isOver } from "./followed-run.ts"
import { Frame } from "./frame.ts"
import { type Keeper, keeperOf, runHeld } from "./keeper.ts"
import { andThen, fromUser, isPromise, type MaybePromise } from "./maybe-promise.ts"
import type { ResumeOptions, RunOptions, RunResult } from "./options.ts"
import type { Program } from "./program.ts"
import { replayEvents } from "./replay-events.ts"
import { RunError } from "./run-error.ts"
import { RunHost } from "./run-host.ts"
import { newRunId } from "./run-id.ts"
import { checkInput, checkOptions, runStarted, valueBytesOf } from "./start.ts"
import { runTaken } from "./store-errors.ts"
import type { StoredRun } from "./stored.ts"
import { revive, runQuarantined, runUnknown, type Surroundings, takeUp } from "./take-up.ts"
import { currentTelemetry } from "./telemetry-port.ts"
import { checkThreadState, lastingState, type ThreadAtStart } from "./thread.ts"

/** Brings a run into this process. */
type TakeUp = (run: StoredRun) => Promise<RunHost | undefined>

export class Run<Out = unknown> implements PromiseLike<RunResult<Out>>, AsyncIterable<RunEvent> {
  /** Undefined for a run that this process can only follow. */
  readonly #program: Program | undefined
  readonly #clock: Clock
  readonly #keeper: Keeper | undefined
  readonly #takeUp: TakeUp
  readonly #isFollowed: boolean
  #id: RunId
  #host: RunHost | undefined
  /** Set when the run is not, or no longer, at work here. */
  #elsewhere: FollowedRun | undefined
  #stream: EventStream | undefined
  #streaming = false
  /** Settles when the run has begun; rejects when it could not. Undefined: it began at once. */
  #begun: Promise<void> | undefined

  private constructor(program: Program | undefined, id: RunId, around: Around) {
    this.#program = program
    this.#id = id
    this.#clock = around.clock
    this.#keeper = around.keeper
    this.#isFollowed = around.takeUp !== undefined
    this.#takeUp = around.takeUp ?? ((run) => takeUp(program as Program, run, around as Surroundings))
  }

  get id(): RunId {
    return this.#id
  }

  /** `keeper` and `takeUp` are a runtime's; without them the run has those of its store. */
  static start<Out>(
    program: Program,
    input: unknown,
    options: RunOptions,
    streaming: boolean,
    kept?: Pick<Around, "keeper" | "takeUp">,
  ): Run<Out> {
    const around = surroundings(options, kept)
    const run = new Run<Out>(program, options.runId ?? newRunId(), around)
    // A run that may be there already is not known to be this one yet: its events are read from the journal.
    const named = options.store !== undefined && (options.runId !== undefined || options.key !== undefined)
    run.#host = new RunHost({ runId: run.id, store: options.store, ...around })
    if (streaming && !named) run.#stream = run.#host.watch()
    run.#streaming = streaming
    run.#begin(() => {
      checkOptions(program, options)
      const start = () =>
        andThen(fromUser(checkInput(program, input, valueBytesOf(program, options.limits))), () =>
          andThen(around.keeper?.admit(), () =>
            andThen(threadAtStart(options), (thread) => run.#startHere(input as Json, options, thread)),
          ),
        )
      return named ? run.#startOrJoin(start, input as Json) : start()
    }, options.signal)
    return run
  }

  /** Starting a run that exists already is joining it: it starts once. */
  #startOrJoin(start: () => MaybePromise<void>, input: Json): MaybePromise<void> {
    const keeper = this.#keeper as Keeper
    return keeper.pass(this.id, () =>
      keeper.host(this.id) === undefined ? this.#orJoin(start(), input) : this.#join(this.id, input),
    )
  }

  #startHere(input: Json, options: RunOptions, thread: ThreadAtStart | undefined): void {
    const host = this.#host as RunHost
    const program = this.#program as Program
    if (thread !== undefined) checkThreadState(program.graph, thread)
    const entry = runStarted(program, this.id, input, host.now(), {
      ...options,
      timeout: options.timeout ?? program.timeout,
      budget: options.budget ?? program.budget,
      thread: thread && { id: thread.id, version: thread.version },
    })
    if (this.#keeper !== undefined) {
      const { workflow, graph } = entry
      host.create(
        this.#keeper.newLease(this.id),
        {
          workflow,
          graph,
          key: options.key,
          labels: options.labels && { ...options.labels },
          thread: thread?.id,
          threadVersion: thread?.version,
        },
        thread,
      )
      this.#keeper.add(host)
    }
    host.together(() => {
      Frame.start(host, program, entry, undefined, thread && lastingState(program.graph, thread.state))
      // Aborted before it began: no handler runs.
      if (options.signal?.aborted) host.root.cancel(reasonOf(options.signal))
    })
    host.afterDurable(() => host.wasStored())
  }

  #orJoin(started: MaybePromise<void>, input: Json): MaybePromise<void> {
    const host = this.#host as RunHost
    if (!isPromise(started) && host.failure === undefined && host.isDurable) return
    const durable = async () => {
      await started
      await host.durable()
    }
    return durable().catch(async (error) => {
      const isThere = isSuperstepError(error, "RUN_EXISTS") || isSuperstepError(error, "KEY_TAKEN")
      if (!isThere) throw error
      await this.#join(error.run ?? this.id, input)
    })
  }

  async #join(id: RunId, input: Json): Promise<void> {
    const { store } = this.#keeper as Keeper
    const [first] = await store.read(id, 0)
    const entry = first?.entry
    const { name } = (this.#program as Program).graph
    if (
      entry?.type !== "run.started" ||
      entry.workflow !== name ||
      canonicalJson(entry.input) !== canonicalJson(input)
    ) {
      const text = `There is a run "${id}" already, and it is not this one: another workflow, or another input. Choose another id or key.`
      throw new SuperstepError("RUN_EXISTS", text, { run: id })
    }
    this.#id = id
    this.#follow()
  }

  #follow(): FollowedRun {
    this.#host = undefined
    this.#elsewhere ??= new FollowedRun(this.id, this.#keeper as Keeper, this.#clock, this.#takeUp)
    return this.#elsewhere
  }

  /** Goes on with a run from its journal. `keeper` and `takeUp` as above. */
  static resume<Out>(
    program: Program,
    runId: RunId,
    options: ResumeOptions,
    kept?: Pick<Around, "keeper" | "takeUp">,
  ): Run<Out> {
    const around = surroundings(options, kept)
    const run = new Run<Out>(program, runId, around)
    run.#begin(async () => {
      if (around.keeper === undefined) throw runUnknown(runId)
      run.#host = await resumed(program, runId, around as Surroundings, options.takeOver ?? false)
    }, options.signal)
    return run
  }

  /** A run of a runtime's store, wherever it is. */
  static follow<Out>(runId: RunId, around: Around): Run<Out> {
    const run = new Run<Out>(undefined, runId, around)
    run.#follow()
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
    const whenOver = () => this.#host?.onFinish(leave)
    if (this.#begun === undefined) whenOver()
    else this.#begun.then(whenOver, leave)
  }

  /**
   * The result, once the run is over or waits for a person. It does not reject for a run that failed, was
   * cancelled or hit a limit: look at `status`.
   */
  get result(): Promise<RunResult<Out>> {
    const settled = () =>
      this.#seat()
        .settled()
        .catch((error) => {
          // It goes on elsewhere: a runtime's runs are followed there.
          if (!this.#isFollowed || !isSuperstepError(error, "RUN_TAKEN")) throw error
          return this.#follow().settled()
        }) as Promise<RunResult<Out>>
    return this.#begun === undefined ? settled() : this.#begun.then(settled)
  }

  /** The run here, or what follows it elsewhere. */
  #seat(): RunHost | FollowedRun {
    if (this.#host === undefined || this.#host.isEvicted) return this.#follow()
    return this.#host
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
    const cancel = () => {
      const seat = this.#seat()
      if (seat instanceof RunHost) seat.root.cancel(reason)
      // Whoever awaits the run sees what became of it.
      else seat.cancel(reason).catch(() => undefined)
    }
    if (this.#begun === undefined) cancel()
    else this.#begun.then(cancel, () => undefined)
  }

  /** The same, and resolves when that is on record, wherever the run is at work. */
  async cancelled(reason?: string): Promise<void> {
    await this.#begun
    await this.#wherever((seat) => seat.cancel(reason))
  }

  /** Answers an open request. Rejects, and takes nothing, when the id is unknown or answered or the value does not fit. */
  respond(id: RequestId, value: unknown, options: { readonly by?: string | undefined } = {}): Promise<void> {
    const respond = () => this.#wherever((seat) => seat.respond(id, value, options.by))
    return this.#begun === undefined ? respond() : this.#begun.then(respond)
  }

  /** A run that was taken over while it was asked has not taken what it was asked for: it is asked where it is now. */
  async #wherever(ask: (seat: RunHost | FollowedRun) => Promise<void>): Promise<void> {
    try {
      await ask(this.#seat())
    } catch (error) {
      if (!isSuperstepError(error, "RUN_TAKEN") || this.#keeper === undefined) throw error
      await ask(this.#follow())
    }
  }

  /** Events from now on; with `after`, first those that came after that number, from the journal. */
  async *events(
    options: { readonly after?: number | undefined } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    await this.#begun
    const { after } = options
    const host = this.#seat()
    if (host instanceof FollowedRun) {
      yield* host.events(after ?? (await this.#lastEvent()), this.#program?.graph)
      return
    }
    const live = host.watch()
    try {
      let last = after ?? -1
      if (after !== undefined) {
        for (const event of await this.#past(host, after)) {
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

  async #past(host: RunHost, after: number): Promise<RunEvent[]> {
    const { store } = host
    if (store === undefined) {
      throw new SuperstepError(
        "NO_STORE",
        `Run ${this.id} keeps no journal, so past events are gone; start it with a store.`,
      )
    }
    // What has happened and is not written yet would be missed.
    await host.durable()
    return replayEvents(store, await store.read(this.id, 0), after, this.#program?.graph)
  }

  async #lastEvent(): Promise<number> {
    const records = (await this.#keeper?.store.read(this.id, 0)) ?? []
    return records.at(-1)?.events ?? 0
  }

  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    return this.#stream ?? this.events(this.#streaming ? { after: 0 } : {})
  }
}

function reasonOf(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : String(signal.reason)
}

interface Around extends Omit<Surroundings, "keeper"> {
  readonly keeper: Keeper | undefined
  readonly takeUp?: TakeUp | undefined
}

function surroundings(
  { store, clock, telemetry, onGraphChange }: RunOptions & Pick<ResumeOptions, "onGraphChange">,
  kept?: Pick<Around, "keeper" | "takeUp">,
): Around {
  return {
    keeper: kept?.keeper ?? (store && keeperOf(store)),
    takeUp: kept?.takeUp,
    clock: clock ?? systemClock,
    telemetry: telemetry ?? currentTelemetry(),
    onGraphChange,
  }
}

/** What the thread of the run has so far. */
function threadAtStart({ thread, store }: RunOptions): MaybePromise<ThreadAtStart | undefined> {
  if (thread === undefined) return undefined
  if (store === undefined) {
    throw new SuperstepError(
      "OPTION_INVALID",
      `Thread "${thread}" needs a store: run(input, { store, thread }).`,
    )
  }
  return andThen(fromUser(store.thread(thread)), (found) => ({ id: thread, ...found }))
}

/** The run in this process. One that another process executes is RUN_HELD, once it is clear that its holder lives. */
async function resumed(
  program: Program,
  runId: RunId,
  around: Surroundings,
  takeOver: boolean,
): Promise<RunHost> {
  const { keeper, clock } = around
  let seen: number | undefined
  for (;;) {
    const here = await keeper.settledHost(runId)
    if (here !== undefined && !takeOver) return sameProgram(here, program)
    here?.stop(runTaken(runId))
    const row = await keeper.store.run(runId)
    if (row === undefined) throw runUnknown(runId)
    if (isOver(row)) return await revive(program, row, undefined, around)
    if (row.status === "quarantined") throw runQuarantined(row)
    const holder = takeOver ? undefined : await keeper.isHeldElsewhere(row)
    if (holder === undefined) {
      const host = await takeUp(program, row, around)
      if (host !== undefined) return sameProgram(host, program)
    } else {
      const isAlive = keeper.watch.isHere(holder) || (seen !== undefined && holder.beat !== seen)
      if (isAlive) throw runHeld(runId, holder)
      seen = holder.beat
      await new Promise<void>((resolve) => clock.setTimer(clock.now() + 250, resolve))
    }
  }
}

/** A run that is executed here already is not started a second time: whoever resumes it gets the one that is here. */
function sameProgram(host: RunHost, program: Program): RunHost {
  if (host.root.program === program) return host
  const text = `Run "${host.runId}" is being executed by this process, with another version of workflow "${program.graph.name}". Wait for it, or resume it with takeOver: true.`
  throw new SuperstepError("RUN_HELD", text, { run: host.runId })
}
