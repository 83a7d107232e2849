/**
 * Many runs on one store, and any number of processes that share it. A run continues as long as one of them is alive: runs
 * of a dead process are taken over, waiting runs are unloaded and resume on their answer or timer, and any process can
 * answer questions. `runtime/` executes one run.
 */
import type { RequestId, RunId } from "../core/index.ts"
import { loadModule } from "../core/internal.ts"
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
  type CancelOptions,
  cancelFree,
  currentTelemetry,
  DEFAULT_LEASE,
  type Delivery,
  type EscalateOptions,
  type EventType,
  Keeper,
  type PauseOptions,
  type Program,
  type RequestQuery,
  type ResumeOptions,
  Run,
  type RunOptions,
  type RunQuery,
  type RunState,
  runState,
  runUnknown,
  type SignalOptions,
  type StorageReport,
  type Store,
  type StoredConsumer,
  type StoredRequest,
  type StoredRun,
  systemClock,
  type Telemetry,
  type UpdateOptions,
} from "../runtime/index.ts"
import { type Demand, newRunId } from "../runtime/internal.ts"
import { Activations, type RuntimeWorker } from "./activations.ts"
import type { Enqueued, EnqueueOptions } from "./enqueue.ts"
import { INTERNAL_QUEUE, ownRuns } from "./internal-runs.ts"
import { observedTelemetry, type RunObserver } from "./observed-runs.ts"
import {
  checkRuntimeOptions,
  eventsKeptFrom,
  type GraphConflict,
  graphConflicts,
  prunePolicy,
  type Recovery,
  type Retention,
  type RuntimeOptions,
  sweepOptions,
} from "./options.ts"
import { Programs, type WorkflowSource } from "./programs.ts"
import {
  answerProblem,
  consumerUnknown,
  keyUnknown,
  notQuarantined,
  notRegistered,
  recoversNothing,
  runKept,
  runtimeClosed,
} from "./refusals.ts"
import { ScheduleRows } from "./schedules/schedule-rows.ts"
import { Scheduler } from "./schedules/scheduler.ts"
import { Schedules } from "./schedules/schedules.ts"
import type { Consumers, EventHandler, Subscription, SubscriptionOptions } from "./served-consumer.ts"
import { storedRetention } from "./stored-retention.ts"
import { Sweeper } from "./sweeper.ts"

export type StartOptions = Omit<RunOptions, "store" | "clock" | "telemetry" | "context">

/** A run by its id, or by the idempotency key that it was started with. */
export type RunTarget = RunId | { readonly key: string }

export class Runtime {
  readonly store: Store
  /** When workflows are run by themselves. */
  readonly schedules: Schedules
  /** What processes do that a dispatcher sends for. */
  readonly worker: RuntimeWorker
  readonly #programs: Programs
  readonly #options: RuntimeOptions
  readonly #keeper: Keeper
  readonly #sweeper: Sweeper
  #consumers: Consumers | undefined
  readonly #scheduler: Scheduler
  readonly #activations: Activations
  readonly #environment: ConstructorParameters<typeof Sweeper>[0] & { telemetry?: Telemetry | undefined }
  #closed: Promise<void> | undefined

  constructor(options: RuntimeOptions) {
    checkRuntimeOptions(options)
    const { store, workflows, clock = systemClock, telemetry = currentTelemetry() } = options
    this.store = store
    this.#options = options
    this.#programs = new Programs(workflows)
    this.#keeper = new Keeper(store, {
      clock,
      lease: options.lease,
      hungAfter: options.hungAfter,
      machine: options.machine,
      concurrency: options.concurrency,
      beatsAtOnce: true,
      hasThread: options.recover !== false,
      onProblem: options.onProblem,
      dispatcher: options.dispatcher,
    })
    this.#keeper.answerProblem = answerProblem
    const { onGraphChange, context: contextOf } = options
    this.#environment = { keeper: this.#keeper, clock, telemetry, onGraphChange, contextOf }
    this.#sweeper = new Sweeper(this.#environment, this.#programs, {
      ...sweepOptions(options),
      onChanged: () => this.#consumers?.wake(),
      queues: options.queues && [...options.queues, INTERNAL_QUEUE],
      onSweep: async () => {
        await this.#programs.refresh()
        await this.#scheduler.look()
      },
      onClaimed: options.dispatcher && ((runId) => this.#activations.supervise(runId)),
    })
    this.#activations = new Activations({
      ...this.#environment,
      environment: this.#environment,
      programs: this.#programs,
      sweeper: this.#sweeper,
      lease: options.lease ?? DEFAULT_LEASE,
      onProblem: options.onProblem,
    })
    this.worker = this.#activations
    const rows = new ScheduleRows(this.#environment)
    this.#scheduler = new Scheduler(this.#environment, rows, this.#programs, {
      isOn: options.schedules ?? options.recover ?? true,
      onProblem: options.onProblem,
      onFired: () => this.#sweeper.claimSoon(),
      cancel: (runId, reason) => this.cancel(runId, reason),
    })
    this.schedules = new Schedules({
      store,
      rows,
      programOf: (workflow) => this.#begin(workflow),
      fire: (row) => this.#scheduler.fire(row),
    })
  }

  // Workflows

  /**
   * Adds a workflow that this process can run from now on. Adding it again changes nothing; another one of the same name is
   * refused.
   */
  add(workflow: Callable): void {
    this.#checkOpen()
    const known = this.#programs.get(workflow.name)
    if (known !== undefined && known !== workflow.program) throw notRegistered(workflow.name, known)
    this.#programs.add(workflow)
  }

  /**
   * Executes the workflows of this source too, beside those of the options. Processes that share a store and a source execute
   * a new version as soon as the source has it; runs that began with another version continue with theirs.
   */
  useSource(source: WorkflowSource): void {
    this.#checkOpen()
    this.#programs.use(source)
  }

  /** Asks the source for changes now. The runtime also does so once a second, while it has runs to look after. */
  async refresh(): Promise<void> {
    await this.#programs.refresh()
  }

  /** The workflow with this name, in its current version or in another one that the source has. */
  async workflow(name: string, version?: string): Promise<Callable | undefined> {
    return version === undefined ? this.#programs.workflow(name) : await this.#programs.version(name, version)
  }

  /** Reports to the observer the ends of runs and tasks that begin or continue here from now on. */
  observe(observer: RunObserver): void {
    this.#environment.telemetry = observedTelemetry(this.#environment.telemetry, observer)
  }

  // Runs

  /** Starts a run, or joins the existing one with the same id or key. */
  start<In, Out, State>(
    workflow: Callable<In, Out, State>,
    input: In,
    options: StartOptions = {},
  ): Run<Out, State> {
    return this.#start(workflow, input, options, false)
  }

  /** The same, with all its events. */
  stream<In, Out, State>(
    workflow: Callable<In, Out, State>,
    input: In,
    options: StartOptions = {},
  ): Run<Out, State> {
    return this.#start(workflow, input, options, true)
  }

  #start<In, Out, State>(
    workflow: Callable<In, Out, State>,
    input: In,
    options: StartOptions,
    streaming: boolean,
  ): Run<Out, State> {
    const program = this.#begin(workflow)
    const { clock, telemetry } = this.#environment
    const ports: RunOptions = { store: this.store, clock, telemetry }
    // They come first, too: on Node 20 each property that is added to a copy takes a microsecond or more.
    const full: RunOptions = { store: this.store, clock, telemetry, ...options, ...ports }
    if (program.flow?.limits.length || this.#options.dispatcher)
      return this.#startLimited<Out, State>(program, input, full)
    return Run.start<Out, State>(program, input, full, streaming, this.#kept())
  }

  /** Through the queue: it counts from its claim on, which its limits admit at once or later. */
  #startLimited<Out, State>(program: Program, input: unknown, options: RunOptions): Run<Out, State> {
    const full = { ...options, runId: options.runId ?? newRunId() }
    const kept = this.#kept()
    const claim = this.#options.dispatcher ? kept.claim : (run: StoredRun) => this.#sweeper.claimStarted(run)
    const begin = async (demand: Demand) => {
      await this.#sweeper.setLimits()
      const { place, startOrder } = await loadModule(() => import("./enqueue.ts"))
      const order = await startOrder(this.#environment, program, input, full)
      if (this.#options.dispatcher) return await this.#activations.begin(order, demand)
      const runId = await place(this.#keeper, order)
      const run = await this.store.run(runId)
      if (run !== undefined) await claim(run)
      return { runId }
    }
    return Run.queued<Out, State>(program, full, begin, { ...kept, claim })
  }

  /**
   * Creates a run that is executed later, by any process that has the workflow and serves the queue. Resolves with its id
   * when it is stored. Enqueuing with a key or run id that exists returns that run.
   */
  async enqueue<In, Out, State>(
    workflow: Callable<In, Out, State>,
    input: Enqueued<In>,
    options: EnqueueOptions = {},
  ): Promise<RunId> {
    const program = this.#begin(workflow)
    await this.#sweeper.setLimits()
    const { enqueue, isDelayed } = await loadModule(() => import("./enqueue.ts"))
    const runId = await enqueue(this.#environment, program, input, options)
    if (!this.#activations.dispatch(runId, isDelayed(program, options))) this.#sweeper.claimSoon()
    this.#consumers?.wake()
    return runId
  }

  #begin(workflow: Pick<Callable, "name" | "program">): Program {
    this.#checkOpen()
    if (!this.#programs.isKnown(workflow))
      throw notRegistered(workflow.name, this.#programs.get(workflow.name))
    this.#sweeper.begin()
    return workflow.program
  }

  /**
   * Pauses a run, wherever it executes or waits: it starts no task, step or sub-workflow until it is resumed. What executes
   * finishes and is recorded. Resolves when the pause is recorded, also for a run that is paused already. `stored`: the
   * process that executes the run did not answer within `timeout`; it pauses the run when it reads its mail.
   */
  async pause(runId: RunId, options: PauseOptions & CancelOptions = {}): Promise<Delivery> {
    return await this.get(runId).pause(options)
  }

  /** Continues a paused run, in any process. Resolves when that is recorded. A run that is not paused stays as it is. */
  resume(runId: RunId, options?: Pick<PauseOptions, "by"> & CancelOptions): Promise<Delivery>
  /**
   * Continues a stored run in this process, paused or not; fails with RUN_HELD while another live process holds it.
   */
  resume<In, Out, State>(
    workflow: Callable<In, Out, State>,
    runId: RunId,
    options?: Pick<ResumeOptions, "signal" | "takeOver">,
  ): Run<Out, State>
  resume(
    first: RunId | Callable,
    second?: RunId | (Pick<PauseOptions, "by"> & CancelOptions),
    options?: Pick<ResumeOptions, "signal" | "takeOver">,
  ): unknown {
    if (typeof first === "string") return this.#unpause(first, second as Pick<PauseOptions, "by"> | undefined)
    return this.#resumeHere(first, second as RunId, options)
  }

  async #unpause(runId: RunId, options?: Pick<PauseOptions, "by"> & CancelOptions): Promise<Delivery> {
    const delivery = await this.get(runId).resume(options)
    if (!this.#activations.dispatch(runId)) this.#sweeper.claimSoon()
    return delivery
  }

  #resumeHere(
    workflow: Callable,
    runId: RunId,
    options: Pick<ResumeOptions, "signal" | "takeOver"> = {},
  ): Run {
    const program = this.#begin(workflow)
    const { clock, telemetry, onGraphChange } = this.#environment
    const full = { ...options, store: this.store, clock, telemetry, onGraphChange }
    if (this.#options.dispatcher) {
      const begin = () => this.#unpause(runId).then(() => ({ runId }))
      return Run.queued(program, { ...full, runId }, begin, this.#kept())
    }
    return Run.resume(program, runId, full, this.#kept())
  }

  /** A run of the store, wherever it executes: await it, watch it, answer it, cancel it. */
  get<Out = unknown>(runId: RunId): Run<Out> {
    this.#checkOpen()
    return Run.follow<Out>(runId, { ...this.#environment, ...this.#kept() })
  }

  #kept() {
    const { contextOf } = this.#environment
    // With a dispatcher, this process executes only what it is sent for.
    const claim = async (run: StoredRun) =>
      this.#options.dispatcher ? undefined : await this.#sweeper.claimFor(run)
    return { keeper: this.#keeper, claim, contextOf }
  }

  /** Newest first. Runs of internal workflows only if the query names their workflow. */
  runs(query: RunQuery = {}): Promise<readonly StoredRun[]> {
    return ownRuns(this.store, query)
  }

  /**
   * Cancels a run, wherever it executes. A run that no process holds is ended in the store, even if this process does not
   * have its workflow. Resolves when that is recorded. `stored`: the process that executes the run did not answer within
   * `timeout`; it cancels the run when it reads its mail.
   */
  async cancel(runId: RunId, reason?: string, options: CancelOptions = {}): Promise<Delivery> {
    const run = this.get(runId)
    const row = await this.store.run(runId)
    const { clock } = this.#environment
    if (row !== undefined && (await cancelFree(this.#keeper, row, reason, clock.now()))) return "taken"
    return await run.cancelled(reason, options)
  }

  // Recovery

  /** Recovers orphaned runs, now and continuously until `close()`. */
  async recover(): Promise<Recovery> {
    this.#checkOpen()
    if (this.#options.recover === false) throw recoversNothing()
    await this.#keeper.begin()
    await this.#programs.refresh()
    await this.#sweeper.setLimits()
    await this.#scheduler.look()
    const recovery = await this.#sweeper.claimAll()
    this.#sweeper.begin()
    return recovery
  }

  /** Frees a quarantined run: it continues as if no process had died while executing it. */
  async release(runId: RunId): Promise<void> {
    this.#checkOpen()
    if (!(await this.store.unquarantine(runId))) throw notQuarantined(runId, await this.store.run(runId))
    if (!this.#activations.dispatch(runId)) this.#sweeper.soon()
  }

  /** Which runs in flight this version of the workflow would break. */
  check(workflow: Callable<never, unknown>): Promise<GraphConflict[]> {
    return graphConflicts(this.store, workflow)
  }

  // People

  /** Requests of all runs, oldest first; only open ones by default. */
  async requests(query: RequestQuery = {}): Promise<readonly StoredRequest[]> {
    return await this.store.requests(query)
  }

  /**
   * Answers a request of any run, wherever it executes. Rejects, and records nothing, if the answer is not valid. `stored`:
   * no live process executes the run, and this one does not have its workflow; the answer was checked against the question's
   * JSON Schema, and is delivered when the run resumes.
   */
  async respond(
    runId: RunId,
    request: RequestId,
    value: unknown,
    options: { readonly by?: string | undefined } = {},
  ): Promise<Delivery> {
    this.#sweeper.begin()
    return await this.get(runId).respond(request, value, options)
  }

  /**
   * Passes an open request of any run on to another person: it is theirs in the inbox, and subscribers get `request.opened`.
   * Its deadline, and who is asked after that, stay as they are.
   */
  async escalate(runId: RunId, request: RequestId, options: EscalateOptions): Promise<Delivery> {
    this.#sweeper.begin()
    const delivery = await this.get(runId).escalate(request, options)
    this.#consumers?.wake()
    return delivery
  }

  // Signals

  /**
   * Sends a signal to a run, wherever it executes: the oldest `ctx.waitFor` with this name takes it, or the run buffers it.
   * When it resolves, the signal is durable. A signal that was sent before with the same id changes nothing. `stored`: no
   * live process executes the run, and this one cannot; the signal is delivered when the run resumes.
   */
  async signal(
    run: RunTarget,
    name: string,
    value?: unknown,
    options: SignalOptions = {},
  ): Promise<Delivery> {
    this.#sweeper.begin()
    return await this.get(await this.#idOf(run)).signal(name, value, options)
  }

  /**
   * Sends a signal, and returns the reply of the handler that takes it with `ctx.waitForUpdate`. Sent again with the same
   * id, it returns the same reply.
   */
  async update<Reply = unknown>(
    run: RunTarget,
    name: string,
    value?: unknown,
    options: UpdateOptions = {},
  ): Promise<Reply> {
    this.#sweeper.begin()
    return await this.get(await this.#idOf(run)).update<Reply>(name, value, options)
  }

  /** What a run has done so far and what it waits for: the state after the last record of its journal. */
  async state(run: RunTarget): Promise<RunState> {
    return await runState(this.store, await this.#idOf(run))
  }

  async #idOf(run: RunTarget): Promise<RunId> {
    if (typeof run === "string") return run
    const { key } = run
    const [row] = await this.store.runs({ key, limit: 1 })
    if (row === undefined) throw keyUnknown(key)
    return row.runId
  }

  // Subscriptions

  /**
   * Subscribes a consumer to events of all runs of the store, durably: at least once, in order, by one process at a time,
   * from the position that the store has for the consumer. Resolves when it is subscribed. An event whose handler throws is
   * tried again, with growing pauses, and later ones wait.
   */
  async on<Type extends EventType>(
    types: Type | readonly Type[],
    options: SubscriptionOptions,
    handler: EventHandler<Type>,
  ): Promise<Subscription> {
    this.#checkOpen()
    this.#sweeper.begin()
    const { Consumers } = await loadModule(() => import("./served-consumer.ts"))
    this.#checkOpen()
    this.#consumers ??= new Consumers(this.#keeper, this.#environment.clock, this.#options.onProblem)
    return await this.#consumers.subscribe(types, options, handler as unknown as EventHandler)
  }

  /** Consumers of the store, by name: how far each is, and why it does not get further. */
  async consumers(): Promise<readonly StoredConsumer[]> {
    return await this.store.subscriptions.consumers()
  }

  /** Forgets a consumer and its position. */
  async removeConsumer(consumer: string): Promise<void> {
    if (!(await this.store.subscriptions.remove(consumer))) throw consumerUnknown(consumer)
  }

  // Looking back

  /** The history of a run: its state at any superstep, what changed, by which task; who answered what. */
  history(runId: RunId, options?: HistoryOptions): Promise<RunHistory> {
    return history(this.store, runId, options)
  }

  /** A new run that shares the past of this one up to a point, and continues from there. Returns its id. */
  fork(runId: RunId, options: Omit<ForkOptions, "clock"> = {}): Promise<RunId> {
    return this.#claimNew(fork(this.store, runId, { ...options, clock: this.#environment.clock }))
  }

  /** Forks right before the failure, or before `from`, and runs that part again. Returns the new run's id. */
  rerun(runId: RunId, options: Omit<RerunOptions, "clock"> = {}): Promise<RunId> {
    return this.#claimNew(rerun(this.store, runId, { ...options, clock: this.#environment.clock }))
  }

  /** If this process does not have the workflow, the run waits for one that does. */
  async #claimNew(made: Promise<RunId>): Promise<RunId> {
    this.#checkOpen()
    const runId = await made
    const run = await this.store.run(runId)
    if (!this.#activations.dispatch(runId) && run !== undefined) await this.#sweeper.claim(run)
    this.#sweeper.begin()
    return runId
  }

  /** Replays the run against the current workflow, offline, with the recorded results of steps and people. */
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

  /** Retention never deletes a pinned run. */
  async pin(runId: RunId, pinned = true): Promise<void> {
    if (!(await this.store.pin(runId, pinned))) throw runUnknown(runId)
  }

  /** Removes a run that has ended. */
  async remove(runId: RunId): Promise<void> {
    if (!(await this.store.remove(runId))) throw runKept(runId, await this.store.run(runId))
  }

  /** The policy by which finished runs and old events are deleted; empty: none are. */
  get retention(): Retention {
    return this.#options.retention ?? {}
  }

  /** Deletes finished runs and old events by this policy; without one, by that of the store, or by the runtime's own. */
  async prune(retention?: Retention): Promise<Amount> {
    const now = this.#environment.clock.now()
    await this.store.subscriptions.trim(eventsKeptFrom(retention ?? this.retention, now))
    const policy = retention ?? (await storedRetention(this.store)) ?? this.retention
    return await this.store.prune(prunePolicy(policy, now))
  }

  async storage(): Promise<StorageReport> {
    return await this.store.report()
  }

  // The end

  #checkOpen(): void {
    if (this.#closed !== undefined) throw runtimeClosed()
  }

  /**
   * Releases every run: another process continues them, or this one after a restart. With `grace`, it claims nothing more
   * and first waits so many milliseconds for runs that execute here to end, or to wait for something.
   */
  close({ grace = 0 }: { readonly grace?: number | undefined } = {}): Promise<void> {
    this.#closed ??= this.#close(grace)
    return this.#closed
  }

  async #close(grace: number): Promise<void> {
    await this.#scheduler.close()
    await this.#activations.close()
    await Promise.all([grace > 0 && this.#sweeper.drain(grace), this.#consumers?.close(grace)])
    // Nothing that queues may start while the others are stopped.
    this.#keeper.places?.close()
    await this.#sweeper.close()
    const now = this.#environment.clock.now()
    for (const host of [...this.#keeper.hosts()]) {
      const wakeAt = host.isDormant() ? host.wakeAt() : now
      host.stop(runtimeClosed(host.runId))
      await this.#keeper.release(host, wakeAt)
    }
    await this.#keeper.end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
