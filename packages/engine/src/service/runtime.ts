/**
 * Many runs on one store, and any number of processes that share it. A run goes on as long as one of them lives: what a
 * dead one held is taken over, what waits is kept in the store and comes back on its answer or in time, and questions
 * are answered from anywhere. How one run is run is `runtime/`; this is the life around it.
 */
import { type RequestId, type RunId, SuperstepError } from "../core/index.ts"
import {
  type Fixture,
  type ForkOptions,
  fork,
  type HistoryOptions,
  history,
  type ReplayOptions,
  type ReplayReport,
  type RerunOptions,
  type RunHistory,
  recordingOf,
  replay,
  rerun,
  toFixture,
} from "../history/index.ts"
import {
  type Amount,
  type Callable,
  currentTelemetry,
  DEFAULT_LEASE,
  isOver,
  Keeper,
  type Program,
  type RequestQuery,
  type ResumeOptions,
  Run,
  type RunOptions,
  type RunQuery,
  runUnknown,
  type StorageReport,
  type Store,
  type StoredRequest,
  type StoredRun,
  systemClock,
} from "../runtime/index.ts"
import { cancelFree } from "./cancel-free.ts"
import { checkRuntimeOptions } from "./check-options.ts"
import { type GraphConflict, graphConflicts } from "./graph-check.ts"
import type { Recovery, Retention, RuntimeOptions } from "./options.ts"
import { Sweeper } from "./sweeper.ts"

export type StartOptions = Omit<RunOptions, "store" | "clock" | "telemetry">

export class Runtime {
  readonly store: Store
  readonly #programs: ReadonlyMap<string, Program>
  readonly #options: RuntimeOptions
  readonly #keeper: Keeper
  readonly #sweeper: Sweeper
  readonly #around: ConstructorParameters<typeof Sweeper>[0]
  #closed: Promise<void> | undefined

  constructor(options: RuntimeOptions) {
    checkRuntimeOptions(options)
    const { store, workflows, clock = systemClock, telemetry = currentTelemetry() } = options
    this.store = store
    this.#options = options
    this.#programs = new Map(workflows.map(({ name, program }) => [name, program]))
    this.#keeper = new Keeper(store, {
      clock,
      lease: options.lease,
      hungAfter: options.hungAfter,
      machine: options.machine,
      beatsAtOnce: true,
      onProblem: options.onProblem,
    })
    this.#around = { keeper: this.#keeper, clock, telemetry, onGraphChange: options.onGraphChange }
    this.#sweeper = new Sweeper(this.#around, this.#programs, {
      retention: options.retention,
      onProblem: options.onProblem,
      evictAfter: options.evictAfter ?? 10_000,
      maxIdle: options.maxIdle ?? 1_000,
      concurrency: options.concurrency ?? 1_000,
      maxTakeovers: options.maxTakeovers ?? 3,
      lease: options.lease ?? DEFAULT_LEASE,
    })
  }

  // Runs

  /** Starts a run. With the id or key of one that is there, joins it. */
  start<In, Out>(workflow: Callable<In, Out>, input: In, options: StartOptions = {}): Run<Out> {
    return this.#start(workflow, input, options, false)
  }

  /** The same, with its events from the first on. */
  stream<In, Out>(workflow: Callable<In, Out>, input: In, options: StartOptions = {}): Run<Out> {
    return this.#start(workflow, input, options, true)
  }

  #start<In, Out>(
    workflow: Callable<In, Out>,
    input: In,
    options: StartOptions,
    streaming: boolean,
  ): Run<Out> {
    const program = this.#begin(workflow)
    const { clock, telemetry } = this.#around
    const full = { ...options, store: this.store, clock, telemetry }
    return Run.start<Out>(program, input, full, streaming, this.#kept())
  }

  #begin(workflow: Pick<Callable, "name" | "program">): Program {
    this.#checkOpen()
    const program = this.#programs.get(workflow.name)
    if (program === undefined || program !== workflow.program) throw notRegistered(workflow.name, program)
    this.#sweeper.begin()
    return program
  }

  /** Goes on with a run of the store in this process; RUN_HELD while another one that is alive has it. */
  resume<In, Out>(
    workflow: Callable<In, Out>,
    runId: RunId,
    options: Pick<ResumeOptions, "signal" | "takeOver"> = {},
  ): Run<Out> {
    const program = this.#begin(workflow)
    const { clock, telemetry, onGraphChange } = this.#around
    const full = { ...options, store: this.store, clock, telemetry, onGraphChange }
    return Run.resume<Out>(program, runId, full, this.#kept())
  }

  /** A run of the store, wherever it is at work: await it, watch it, answer it, cancel it. */
  get<Out = unknown>(runId: RunId): Run<Out> {
    this.#checkOpen()
    return Run.follow<Out>(runId, { ...this.#around, ...this.#kept() })
  }

  #kept() {
    return { keeper: this.#keeper, takeUp: (run: StoredRun) => this.#sweeper.takeUpFor(run) }
  }

  /** Newest first. */
  runs(query: RunQuery = {}): Promise<readonly StoredRun[]> {
    return this.#ask(() => this.store.runs(query))
  }

  /** Ends it, wherever it is at work. One that nobody holds is ended in the store, whether its workflow is here or not. */
  async cancel(runId: RunId, reason?: string): Promise<void> {
    const run = this.get(runId)
    const row = await this.store.run(runId)
    const { clock } = this.#around
    if (row !== undefined && (await cancelFree(this.#keeper, row, reason, clock.now()))) return
    await run.cancelled(reason)
  }

  // Recovery

  /** Takes up every run that no living process holds, and goes on doing so in the background, until `close()`. */
  async recover(): Promise<Recovery> {
    this.#checkOpen()
    await this.#keeper.begin()
    const recovery = await this.#sweeper.takeUpAll()
    this.#sweeper.begin()
    return recovery
  }

  /** Frees a quarantined run: it continues as if no process had died with it. */
  async release(runId: RunId): Promise<void> {
    this.#checkOpen()
    if (!(await this.store.unquarantine(runId))) {
      const row = await this.store.run(runId)
      if (row === undefined) throw runUnknown(runId)
      const text = `Run "${runId}" is ${row.status}, not quarantined: there is nothing to release.`
      throw new SuperstepError("RUN_NOT_QUARANTINED", text, { run: runId })
    }
    this.#sweeper.soon()
  }

  /** Which runs in flight this version of the workflow would break. */
  check(workflow: Callable<never, unknown>): Promise<GraphConflict[]> {
    return graphConflicts(this.store, workflow)
  }

  // People

  /** Questions over all runs, oldest first; those that are open, unless the query says otherwise. */
  requests(query: RequestQuery = {}): Promise<readonly StoredRequest[]> {
    return this.#ask(() => this.store.requests(query))
  }

  /** Answers a question of any run, wherever that is at work. Rejects, and takes nothing, when the answer does not fit. */
  async respond(
    runId: RunId,
    request: RequestId,
    value: unknown,
    options: { readonly by?: string | undefined } = {},
  ): Promise<void> {
    this.#sweeper.begin()
    await this.get(runId).respond(request, value, options)
  }

  // Looking back

  /** What became of a run: its state at any superstep, what changed, by which task; who answered what. */
  history(runId: RunId, options?: HistoryOptions): Promise<RunHistory> {
    return history(this.store, runId, options)
  }

  /** A new run that shares the past of this one up to a point, and goes on from there; gives its id. */
  fork(runId: RunId, options: Omit<ForkOptions, "clock"> = {}): Promise<RunId> {
    return this.#goOn(fork(this.store, runId, { ...options, clock: this.#around.clock }))
  }

  /** A fork right before what failed, or before what `from` names, which so runs again; gives its id. */
  rerun(runId: RunId, options: Omit<RerunOptions, "clock"> = {}): Promise<RunId> {
    return this.#goOn(rerun(this.store, runId, { ...options, clock: this.#around.clock }))
  }

  /** With a workflow that this process does not have, it waits for one that has. */
  async #goOn(made: Promise<RunId>): Promise<RunId> {
    this.#checkOpen()
    const runId = await made
    const run = await this.store.run(runId)
    if (run !== undefined) await this.#sweeper.takeUp(run)
    this.#sweeper.begin()
    return runId
  }

  /** The run against a workflow as it is now, offline: what steps and people gave is on record. */
  async replay<In, Out>(
    runId: RunId,
    workflow: Callable<In, Out>,
    options?: ReplayOptions,
  ): Promise<ReplayReport> {
    return await replay(await recordingOf(this.store, runId), workflow, options)
  }

  /** The run as a file for a test: see `expectReplay` in `superstep/testing`. */
  toFixture(runId: RunId): Promise<Fixture> {
    return toFixture(this.store, runId)
  }

  // What is kept

  /** A pinned run is never let go by retention. */
  async pin(runId: RunId, pinned = true): Promise<void> {
    if (!(await this.store.pin(runId, pinned))) throw runUnknown(runId)
  }

  /** Removes a run that is over. */
  async remove(runId: RunId): Promise<void> {
    if (await this.store.remove(runId)) return
    const row = await this.store.run(runId)
    if (row === undefined) throw runUnknown(runId)
    const inFlight = !isOver(row)
    const why = inFlight ? `is ${row.status}: cancel it first` : "is the past of a fork: remove that first"
    throw new SuperstepError("RUN_KEPT", `Run "${runId}" ${why}.`, { run: runId })
  }

  /** Lets go of runs that are over, by the policy given or the runtime's own. */
  prune({ keep, maxAge }: Retention = this.#options.retention ?? {}): Promise<Amount> {
    const endedBefore = maxAge === undefined ? undefined : this.#around.clock.now() - maxAge
    return this.#ask(() => this.store.prune({ keep, endedBefore }))
  }

  storage(): Promise<StorageReport> {
    return this.#ask(() => this.store.report())
  }

  async #ask<T>(question: () => T | Promise<T>): Promise<T> {
    return await question()
  }

  // The end

  #checkOpen(): void {
    if (this.#closed === undefined) return
    throw new SuperstepError("RUNTIME_CLOSED", "This runtime is closed: make another one.")
  }

  /** Lets go of every run at once: another process goes on with them, or this one when it comes back. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await this.#sweeper.close()
    const now = this.#around.clock.now()
    for (const host of [...this.#keeper.hosts()]) {
      const wakeAt = host.isDormant() ? host.wakeAt() : now
      const text = `The runtime was closed; run ${host.runId} goes on where it is taken up again.`
      host.stop(new SuperstepError("RUNTIME_CLOSED", text, { run: host.runId }))
      await this.#keeper.release(host, wakeAt)
    }
    await this.#keeper.end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function notRegistered(name: string, known: Program | undefined): SuperstepError {
  const text =
    known === undefined
      ? `This runtime does not have workflow "${name}": new Runtime({ store, workflows: [${name}, …] }).`
      : `This runtime has another workflow under the name "${name}".`
  return new SuperstepError("WORKFLOW_UNKNOWN", text)
}
