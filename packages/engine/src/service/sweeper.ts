/**
 * Periodically maintains the runs of a store for one process: sends heartbeats, delivers mail, claims runs that are due or
 * whose holder is dead, unloads waiting runs, and deletes old runs.
 *
 * A run that may have killed processes is put on trial: one such run at a time, before any other, and alone if nothing else
 * executes here. A run that keeps killing processes is quarantined.
 */
import { type ErrorData, graphData, type RunId, SuperstepError } from "../core/index.ts"
import {
  type Clock,
  cancelExpired,
  claimRun,
  DEFAULT_QUEUE,
  type Keeper,
  type Lease,
  type LiveService,
  type Program,
  type RunEnvironment,
  type RunHost,
  restoreClaimed,
  restoreRun,
  runQuarantined,
  type StoredRun,
  SUSPECT,
  TICK,
} from "../runtime/index.ts"
import { deferred, hasLimits, type ReadAhead, Signal } from "../runtime/internal.ts"
import type { Recovery, RuntimeOptions, RuntimeProblem, RuntimeRun } from "./options.ts"
import { eventsKeptFrom, prunePolicy } from "./options.ts"
import type { Programs } from "./programs.ts"
import { StoredLimits } from "./stored-limits.ts"
import { storedRetention } from "./stored-retention.ts"
import { isGuilty, Trial } from "./trial.ts"
import { fitsAnyVersion, Versions } from "./versions.ts"

/** Runs per query. */
const BATCH = 100
/** Milliseconds until a run that could not continue here is retried, here or elsewhere. */
const TRY_AGAIN = 60_000
const PRUNE_EVERY = 3_600_000
/** Milliseconds: a run whose timer fires within this time stays loaded, if a dispatcher would have to bring it back. */
const STAYS = 1_000
/** Default limit of recovered runs that execute at the same time. */
const MAX_RECOVERED = 1_000
/** For this many lease durations after its first sweep, a process may hold back everything else for the trial of one run. */
const ALONE = 3

/** Captured at load time: tests may fake timers. */
const nextTurn = setImmediate

interface Found {
  /** Runs that continue here; one may have ended already. */
  readonly resumed: Map<RunId, RunHost>
  readonly problems: RuntimeProblem[]
}

const nothing = (): Found => ({ resumed: new Map(), problems: [] })

/** What the options leave open is decided. */
export interface SweeperOptions extends Pick<RuntimeOptions, "retention" | "onProblem" | "onRun"> {
  /** False: only runs that somebody asks for are claimed, and none is unloaded. */
  readonly recover: boolean
  readonly evictAfter: number
  readonly maxIdle: number
  readonly maxTakeovers: number
  readonly lease: number
  /** Which queues it serves; undefined: all. */
  readonly queues: readonly string[] | undefined
  /** A run that executed here has ended, or only waits; or it is parked. */
  onChanged(): void
  /** Called with every sweep. */
  onSweep(): Promise<void>
  /** A dispatcher brings runs here: a run that only waits is unloaded at once, and what is claimed here is reported. */
  readonly onClaimed?: ((runId: RunId) => void) | undefined
}

export class Sweeper {
  readonly #keeper: Keeper
  readonly #clock: Clock
  readonly #environment: RunEnvironment
  readonly #programs: Programs
  readonly #versions: Versions
  readonly #options: SweeperOptions
  /** Idle runs with the time since when; the longest idle first. */
  readonly #idle = new Map<RunHost, number>()
  /** Runs that were claimed because no process held them. */
  readonly #claimed = new Set<RunHost>()
  /** Those whose lanes others wait for: they are unloaded as soon as they only wait. */
  readonly #limited = new Set<RunHost>()
  /** Claims are made one after another, so that each knows how much room there is. */
  #claiming: Promise<void> = Promise.resolve()
  /** A claim that has not begun yet. */
  #together: Promise<Found> | undefined
  #isFilling = false
  /** There was more to claim than room. */
  #hasMore = false
  #cancelFill: (() => void) | undefined
  readonly #limits: StoredLimits
  #isDraining = false
  /** A run that executed here has ended, or only waits. */
  readonly #changed = new Signal()
  #cancelTimer: (() => void) | undefined
  #sweeping: Promise<void> | undefined
  #trial: Trial | undefined
  /** Until then a suspected run is on trial alone, if nothing else executes: others wait for it. */
  #aloneUntil: number | undefined
  #pruned = Number.NEGATIVE_INFINITY
  #hints: LiveService | undefined
  #closed = false

  constructor(environment: RunEnvironment, programs: Programs, options: SweeperOptions) {
    this.#keeper = environment.keeper
    this.#clock = environment.clock
    this.#environment = environment
    this.#programs = programs
    this.#limits = new StoredLimits(this.#keeper.store.queue)
    this.#versions = new Versions(environment, programs, options.recover)
    this.#options = options
    this.#keeper.onStopped = async (lease, error) => {
      this.#report(lease.runId, error)
      await this.#postpone(lease, error)
    }
    this.#keeper.onMail = ({ runId }) => options.onClaimed?.(runId)
    this.#keeper.onHold = (host) => {
      this.#tell(host, "started")
      host.onIdle(() => this.#isIdle(host))
      host.onFinish(() => {
        this.#tell(host, host.isOver ? "ended" : "released")
        this.#notifyChange()
        this.#idle.delete(host)
        this.#reportFailure(host)
        this.#fill(this.#limited.delete(host))
      })
    }
  }

  #notifyChange(): void {
    this.#changed.notify()
    this.#options.onChanged()
  }

  #tell(host: RunHost, type: RuntimeRun["type"]): void {
    const { onRun } = this.#options
    if (onRun === undefined) return
    // A run that was just held has no machine yet.
    queueMicrotask(() => {
      const { machine, program } = host.root
      const { status, error } = machine
      const run = { type, runId: host.runId, workflow: program.graph.name }
      onRun(type === "ended" ? { ...run, status, error } : run)
    })
  }

  /** From now on it sweeps by itself. */
  begin(): void {
    if (this.#closed || this.#cancelTimer !== undefined) return
    this.#hints ??= this.#keeper.store.live?.hints?.(this.#keeper.id, () => this.#hinted())
    this.#sweepAt(this.#clock.now() + TICK)
  }

  /** There may be mail, or a run that is free: a dispatcher brings that one. */
  #hinted(): void {
    if (this.#options.onClaimed === undefined) return this.soon()
    if (this.#closed || this.#keeper.size === 0) return
    this.#keeper.deliver().catch((error) => this.#report(undefined, error))
  }

  /** Sweeps before the next tick. */
  soon(): void {
    if (this.#closed || this.#sweeping !== undefined) return
    this.#cancelTimer?.()
    this.#sweepAt(this.#clock.now())
  }

  #sweepAt(time: number): void {
    this.#cancelTimer = this.#clock.setTimer(time, () => {
      this.#sweeping = this.#sweep().finally(() => {
        this.#cancelTimer = undefined
        this.#sweeping = undefined
        this.begin()
      })
    })
  }

  async #sweep(): Promise<void> {
    try {
      await this.#keeper.tick()
      await this.setLimits()
      await this.#versions.refresh()
      if (this.#options.recover) {
        await this.#evictIdle()
        await this.claimAll()
        await this.#endExpired()
      } else await this.#dismissGone()
      await this.#prune()
      await this.#options.onSweep()
    } catch (error) {
      // The store may be back with the next tick.
      this.#report(undefined, error)
    }
  }

  #report(runId: RunId | undefined, error: unknown): RuntimeProblem {
    const problem = { runId, error: error instanceof Error ? error : new Error(String(error)) }
    this.#options.onProblem?.(problem)
    return problem
  }

  /** Reports the failure of a run that nobody awaits or watches. Its caller first gets a moment to do so. */
  #reportFailure(host: RunHost): void {
    if (!host.isOver || host.wasObserved || this.#options.onRun !== undefined) return
    const { status, error } = host.root.machine
    if (error === undefined || status === "cancelled") return
    nextTurn(() => {
      if (!host.wasObserved) this.#report(host.runId, unobserved(host, status, error))
    })
  }

  // Claiming

  /** Claims every run that no live process holds and that has something to do, while there is room. */
  async claimAll(): Promise<Recovery> {
    const found = nothing()
    await this.#dismissGone()
    await this.#versions.known()
    await this.#trySuspects(found)
    if (this.#trial?.isAlone !== true) await this.#claimOthers(found)
    return { resumed: [...found.resumed.keys()], problems: found.problems }
  }

  async #dismissGone(): Promise<void> {
    const { store, watch, id: self } = this.#keeper
    for (const { id, why } of watch.gone(await store.holders())) if (id !== self) await store.dismiss(id, why)
  }

  #claimOthers(found: Found): Promise<void> {
    const claimed = this.#claiming.then(() => this.#claimNext(found))
    this.#claiming = claimed.catch(() => undefined)
    return claimed
  }

  /** The same for several callers at once: those that ask before it begins share it. */
  #claimTogether(): Promise<Found> {
    this.#together ??= this.#claiming.then(async () => {
      this.#together = undefined
      const found = nothing()
      await this.#claimOthers(found)
      return found
    })
    return this.#together
  }

  async #claimNext(found: Found): Promise<void> {
    if (this.#isDraining) return
    const { store, id: holder } = this.#keeper
    const { queues } = this.#options
    const workflows = this.#programs.names()
    await this.#keeper.begin()
    for (;;) {
      const limit = Math.min(BATCH, this.#room())
      this.#hasMore = limit <= 0
      if (limit <= 0 || this.#closed) return
      const now = () => this.#clock.now()
      const without = this.#versions.elsewhere
      const { runs, nextAt } = await store.queue.claimNext({ holder, workflows, queues, without, now, limit })
      // At once: what a store is asked in one turn it may answer together.
      await Promise.all(runs.map((run) => this.#restoreOne(run, found, () => this.#restoreClaimed(run))))
      if (runs.length === limit) continue
      if (nextAt !== undefined) this.#fillAt(nextAt)
      return
    }
  }

  /** What other processes have is known from now on. */
  async look(): Promise<void> {
    await this.setLimits()
    await this.#versions.known()
  }

  /** Whether processes with another version of its workflow continue the run. */
  isElsewhere(run: StoredRun): boolean {
    return this.#versions.isElsewhere(run)
  }

  /** A run was queued here. */
  claimSoon(): void {
    this.begin()
    this.#fill(true)
  }

  /** A place is free, or more: claims before the next tick what was kept back. */
  #fill(isFree: boolean): void {
    if (!(isFree || this.#hasMore) || this.#isFilling || this.#closed || !this.#options.recover) return
    if (this.#trial?.isAlone === true) return
    this.#isFilling = true
    nextTurn(() => {
      this.#isFilling = false
      if (this.#closed) return
      this.#claimOthers(nothing()).catch((error) => this.#report(undefined, error))
    })
  }

  #fillAt(time: number): void {
    this.#cancelFill?.()
    if (!this.#closed) this.#cancelFill = this.#clock.setTimer(time, () => this.#fill(true))
  }

  /** What the workflows of this process say about limits counts from now on, also for runs that are queued already. */
  async setLimits(): Promise<void> {
    await this.#limits.set(this.#programs.entries())
  }

  async #endExpired(): Promise<void> {
    const { store } = this.#keeper
    const now = this.#clock.now()
    for (const run of await store.queue.expired(now, BATCH)) await cancelExpired(this.#keeper, run, now)
  }

  #restoreClaimed(run: StoredRun): Promise<RunHost | undefined> {
    return restoreClaimed(run, this.#keeper, (lease) => this.#restore(run, lease))
  }

  async #restoreOne(
    run: StoredRun,
    found: Found,
    restore: () => Promise<RunHost | undefined>,
  ): Promise<RunHost | undefined> {
    try {
      const host = await restore()
      if (host !== undefined) {
        found.resumed.set(run.runId, host)
        this.#options.onClaimed?.(run.runId)
        this.#claimed.add(host)
        host.onFinish(() => this.#claimed.delete(host))
      }
      return host
    } catch (error) {
      found.problems.push(this.#report(run.runId, error))
      return undefined
    }
  }

  /**
   * How many more runs may be claimed. If runs started here queue, one stored run queues with them, so that it gets its
   * turn.
   */
  #room(): number {
    const { places } = this.#keeper
    const resting = [...this.#keeper.hosts()].filter((host) => host.isResting).length
    // They stay in memory, where they keep their places in line.
    if (resting >= Math.max(1, this.#options.maxIdle)) return 0
    if (places === undefined) return MAX_RECOVERED - this.#atWork() + resting
    const isQueued = [...this.#claimed].some((host) => host.isQueued)
    if (places.queued > 0) return isQueued ? 0 : 1
    return places.free
  }

  #atWork(): number {
    return this.#keeper.size - this.#idle.size
  }

  /** Quarantines guilty runs, and puts the next suspect on trial if there is no trial. */
  async #trySuspects(found: Found): Promise<void> {
    if (this.#isDraining) return
    const now = this.#clock.now()
    const { store } = this.#keeper
    const { lease } = this.#options
    this.#aloneUntil ??= now + ALONE * lease
    if (this.#trial !== undefined && !(await this.#endIfOver(this.#trial, now))) return
    // A queued run proves nothing.
    if (this.#keeper.places !== undefined && this.#keeper.places.free <= 0) return
    for (;;) {
      const limit = this.#versions.elsewhere.length > 0 ? BATCH : 1
      const query = { workflows: this.#programs.names(), now, limit, suspects: true }
      const run = (await store.free(query)).find((one) => !this.isElsewhere(one))
      if (run === undefined || this.#closed || this.#trial !== undefined) return
      const isAlone = this.#atWork() === 0 && now < this.#aloneUntil
      const host = await this.#restoreOne(run, found, () => this.claim(run))
      if (host !== undefined) return this.#begin(new Trial(host, run, { isAlone, now, lease }))
      // Its limits may not admit it yet.
      if (run.flow !== undefined) return
    }
  }

  async #endIfOver(trial: Trial, now: number): Promise<boolean> {
    const outcome = trial.outcome(now)
    if (outcome === undefined) return false
    const { lease } = trial.host
    if (outcome === "survived" && lease !== undefined) await this.#keeper.store.absolve(lease)
    this.#endTrial()
    return true
  }

  /** While the trial runs alone, nothing else starts here: if the process dies, this run killed it. */
  #begin(trial: Trial): void {
    this.#trial = trial
    if (trial.isAlone) this.#keeper.trial = trial.ended
    trial.host.onFinish(() => this.#look())
  }

  /** Checks whether the run on trial has proved harmless. */
  #look(): void {
    if (this.#trial?.outcome(this.#clock.now()) !== undefined) this.soon()
  }

  #endTrial(): void {
    this.#trial?.end()
    this.#trial = undefined
    this.#keeper.trial = undefined
  }

  /** The same for somebody who asks for the run. One under suspicion waits until it is tried, a queued one for its turn. */
  async claimFor(run: StoredRun, ahead?: ReadAhead): Promise<RunHost | undefined> {
    const isPlain = run.status !== "queued" || this.isNext(run)
    if (isPlain && run.takeovers < SUSPECT) return await this.claim(run, ahead)
    const isInTurn = run.status === "queued" && this.#serves(run) && this.#trial?.isAlone !== true
    const found = isInTurn ? await this.#claimTogether() : nothing()
    this.begin()
    return found.resumed.get(run.runId) ?? this.#keeper.host(run.runId)
  }

  /** A dispatcher brought this queued run here, and nothing has to be counted or ordered before it begins. */
  isNext(run: StoredRun): boolean {
    if (this.#options.onClaimed === undefined || this.#isDraining || !this.#serves(run)) return false
    return !hasLimits(run) && this.#keeper.places === undefined && this.#trial?.isAlone !== true
  }

  /** The same for a run that was started here, and is queued because it has limits. */
  async claimStarted(run: StoredRun): Promise<RunHost | undefined> {
    const isOwn = run.status === "queued" && !this.#serves(run)
    return isOwn ? await this.claim(run) : await this.claimFor(run)
  }

  /** Whether runs of its queue are claimed here in turn. */
  #serves({ flow }: StoredRun): boolean {
    const { recover, queues } = this.#options
    return recover && (queues?.includes(flow?.queue ?? DEFAULT_QUEUE) ?? true)
  }

  /** Undefined if another process claimed it first, this process does not have the workflow, or the run is quarantined. */
  async claim(run: StoredRun, ahead?: ReadAhead): Promise<RunHost | undefined> {
    if (!this.#programs.has(run.workflow) || this.isElsewhere(run)) return undefined
    return await claimRun(run, this.#keeper, (lease, read) => this.#restore(run, lease, read), ahead)
  }

  async #restore(run: StoredRun, lease: Lease, ahead?: ReadAhead): Promise<RunHost | undefined> {
    const { store } = this.#keeper
    if (isGuilty(run, this.#options.maxTakeovers)) {
      await store.quarantine(lease, this.#clock.now())
      this.#options.onChanged()
      this.#report(run.runId, runQuarantined(run))
      return undefined
    }
    try {
      const program = (await this.#programs.of(run)) as Program
      if (graphData(program.graph).hash !== run.graph && (await this.#versions.leaves(run))) {
        await store.release(lease, this.#clock.now())
        return undefined
      }
      const host = await restoreRun(program, run, lease, this.#environmentOf(run), ahead)
      if (host !== undefined && run.flow?.lanes !== undefined) this.#limited.add(host)
      return host
    } catch (error) {
      await this.#postpone(lease, error)
      throw error
    }
  }

  #environmentOf(run: StoredRun): RunEnvironment {
    const { onGraphChange = "fail" } = this.#environment
    if (!fitsAnyVersion(run) || onGraphChange !== "fail") return this.#environment
    return { ...this.#environment, onGraphChange: "continue" }
  }

  /** The run cannot continue here: the senders of its mail get the error, and it is retried later, here or elsewhere. */
  async #postpone(lease: Lease, error: unknown): Promise<void> {
    await this.#keeper.refuseMail(lease, error)
    await this.#keeper.store.release(lease, this.#clock.now() + TRY_AGAIN)
  }

  // Unloading

  #isIdle(host: RunHost): void {
    this.#look()
    if (host.isOver) return
    this.#idle.delete(host)
    this.#idle.set(host, this.#clock.now())
    this.#notifyChange()
    if (this.#options.recover) {
      const leaves = this.#leavesAtOnce(host)
      nextTurn(() => {
        const rested = leaves ? this.#evict(host) : this.#rest(host)
        rested.catch((error) => this.#report(host.runId, error))
      })
    }
    if (this.#options.recover && this.#idle.size > this.#options.maxIdle) {
      this.#evictOldest(this.#idle.size - this.#options.maxIdle).catch((error) =>
        this.#report(undefined, error),
      )
    }
  }

  /**
   * It has limits that others wait for, or a dispatcher brings it back when its timer fires, unless that is in a moment. One that waits
   * for others stays for a while: what it waits for may come here, and another worker that gets it takes the run.
   */
  #leavesAtOnce(host: RunHost): boolean {
    if (this.#limited.has(host)) return true
    if (this.#options.onClaimed === undefined) return false
    const wakeAt = host.wakeAt()
    return host.isPaused || (wakeAt !== undefined && wakeAt > this.#clock.now() + STAYS)
  }

  /** A run that only waits for others has nothing to do here. */
  async #rest(host: RunHost): Promise<void> {
    await this.#keeper.delivered(host.runId)
    // Others take a run only if its row says that it waits.
    await host.noteIdle()
    if (host.isResigned()) host.settle()
  }

  async #evictOldest(count: number): Promise<void> {
    let left = count
    for (const host of this.#idle.keys()) {
      if (left-- === 0) break
      await this.#evict(host)
    }
  }

  async #evictIdle(): Promise<void> {
    const before = this.#clock.now() - this.#options.evictAfter
    for (const [host, since] of this.#idle)
      if (since <= before || this.#limited.has(host)) await this.#evict(host)
  }

  /** A run that is busy again is removed from the list; it reports when it is idle once more. */
  async #evict(host: RunHost): Promise<void> {
    await this.#keeper.delivered(host.runId)
    if (host.isBusy) this.#idle.delete(host)
    if (!host.isDormant()) return
    // A run that was restored and waits again has written nothing: released as if it executed, it would be claimed without end.
    await host.noteIdle()
    if (!host.isDormant()) return
    this.#idle.delete(host)
    this.#claimed.delete(host)
    const wakeAt = host.wakeAt()
    host.evict()
    this.#tell(host, "released")
    await this.#keeper.release(host, wakeAt)
    this.#fill(this.#limited.delete(host))
  }

  // Letting go

  async #prune(): Promise<void> {
    const { retention } = this.#options
    const now = this.#clock.now()
    if (now - this.#pruned < PRUNE_EVERY) return
    this.#pruned = now
    const { store } = this.#keeper
    await store.subscriptions.trim(eventsKeptFrom(retention ?? {}, now))
    const policy = (await storedRetention(store)) ?? retention
    if (policy !== undefined) await store.prune(prunePolicy(policy, now))
  }

  /** Claims nothing more, and resolves when nothing executes here, or the time is over. */
  async drain(milliseconds: number): Promise<void> {
    this.#isDraining = true
    await this.#versions.withdraw()
    const until = this.#clock.now() + milliseconds
    const isBusy = () =>
      [...this.#keeper.hosts()].some((host) => host.isBusy && !host.isResting && !host.isOver)
    while (isBusy() && this.#clock.now() < until) {
      const { promise, resolve } = deferred()
      const cancel = this.#clock.setTimer(until, resolve)
      await Promise.race([this.#changed.wait(), promise])
      cancel()
    }
  }

  /** Stops sweeping, and waits for the sweep in progress. */
  async close(): Promise<void> {
    this.#closed = true
    this.#hints?.close()
    this.#endTrial()
    this.#cancelTimer?.()
    this.#cancelFill?.()
    await this.#sweeping
    await this.#claiming
    await this.#versions.withdraw()
  }
}

function unobserved(host: RunHost, status: string, { code, message, node }: ErrorData): SuperstepError {
  const where = node === undefined ? "" : ` at node "${node}"`
  const what = status === "limit" ? "reached a limit" : "failed"
  const text = `Run "${host.runId}" of workflow "${host.root.program.graph.name}" ${what}${where}, and nobody awaited it: ${message}`
  return new SuperstepError(code, text, { run: host.runId, ...(node === undefined ? {} : { node }) })
}
