/**
 * Looks after the runs of a store from one process, again and again: says that the process lives, brings mail, claims
 * runs whose holder is dead or whose time has come, unloads runs that only wait, and deletes old runs.
 *
 * A run that may have killed processes is tried: one such run at a time, before any other, and alone where nothing else
 * executes here. One that keeps killing them is quarantined.
 */
import type { RunId } from "../core/index.ts"
import {
  type Clock,
  claimRun,
  type Keeper,
  type Lease,
  type Program,
  type RunHost,
  revive,
  runQuarantined,
  type StoredRun,
  SUSPECT,
  type Surroundings,
  TICK,
} from "../runtime/index.ts"
import type { Recovery, RuntimeOptions, RuntimeProblem } from "./options.ts"
import { isGuilty, Trial } from "./trial.ts"

/** Runs that are asked for at once. */
const BATCH = 100
/** Milliseconds until a run that could not go on here is tried again, here or elsewhere. */
const TRY_AGAIN = 60_000
const PRUNE_EVERY = 3_600_000
/** For so many leases from its first sweep on a process may hold everything back for the trial of one run. */
const ALONE = 3

interface Found extends Recovery {
  readonly resumed: RunId[]
  readonly problems: RuntimeProblem[]
}

/** What the options leave open is decided. */
export interface SweeperOptions extends Pick<RuntimeOptions, "retention" | "onProblem"> {
  readonly evictAfter: number
  readonly maxIdle: number
  readonly concurrency: number
  readonly maxTakeovers: number
  readonly lease: number
}

export class Sweeper {
  readonly #keeper: Keeper
  readonly #clock: Clock
  readonly #around: Surroundings
  readonly #programs: ReadonlyMap<string, Program>
  readonly #options: SweeperOptions
  /** Runs that had nothing to do, since when; the longest first. */
  readonly #idle = new Map<RunHost, number>()
  #cancelTimer: (() => void) | undefined
  #sweeping: Promise<void> | undefined
  #trial: Trial | undefined
  /** Until then a run under suspicion is tried alone, if nothing else executes: not for ever, as others wait for it. */
  #aloneUntil: number | undefined
  #pruned = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(around: Surroundings, programs: ReadonlyMap<string, Program>, options: SweeperOptions) {
    this.#keeper = around.keeper
    this.#clock = around.clock
    this.#around = around
    this.#programs = programs
    this.#options = options
    this.#keeper.onHold = (host) => {
      host.onIdle(() => this.#isIdle(host))
      host.onFinish(() => this.#idle.delete(host))
    }
  }

  /** From now on it sweeps by itself. */
  begin(): void {
    if (this.#closed || this.#cancelTimer !== undefined) return
    this.#sweepAt(this.#clock.now() + TICK)
  }

  /** There is something to do before the next tick. */
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
      await this.#evictIdle()
      await this.takeUpAll()
      await this.#prune()
    } catch (error) {
      // The store may be back with the next tick.
      this.#tell(undefined, error)
    }
  }

  #tell(runId: RunId | undefined, error: unknown): RuntimeProblem {
    const problem = { runId, error: error instanceof Error ? error : new Error(String(error)) }
    this.#options.onProblem?.(problem)
    return problem
  }

  // Claiming

  /** Every run that nobody alive holds and that has something to do, as far as there is room. */
  async takeUpAll(): Promise<Recovery> {
    const found: Found = { resumed: [], problems: [] }
    const { store, watch, id: self } = this.#keeper
    for (const { id, why } of watch.gone(await store.holders())) if (id !== self) await store.dismiss(id, why)
    await this.#trySuspects(found)
    if (this.#trial?.isAlone !== true) await this.#takeUpOthers(found)
    return found
  }

  async #takeUpOthers(found: Found): Promise<void> {
    const { store } = this.#keeper
    const now = this.#clock.now()
    const workflows = [...this.#programs.keys()]
    for (;;) {
      const limit = Math.min(BATCH, this.#options.concurrency - this.#atWork())
      if (limit <= 0 || this.#closed) break
      const free = await store.free({ workflows, now, limit, suspects: false })
      for (const run of free) await this.#takeUpOne(run, found)
      if (free.length < limit) break
    }
  }

  async #takeUpOne(run: StoredRun, found: Found): Promise<RunHost | undefined> {
    try {
      const host = await this.takeUp(run)
      if (host !== undefined) found.resumed.push(run.runId)
      return host
    } catch (error) {
      found.problems.push(this.#tell(run.runId, error))
      return undefined
    }
  }

  #atWork(): number {
    return this.#keeper.size - this.#idle.size
  }

  /** Quarantines those that are guilty, and tries the next one, if none is being tried. */
  async #trySuspects(found: Found): Promise<void> {
    const now = this.#clock.now()
    const { store } = this.#keeper
    const { lease } = this.#options
    this.#aloneUntil ??= now + ALONE * lease
    if (this.#trial !== undefined && !(await this.#endIfOver(this.#trial, now))) return
    for (;;) {
      const query = { workflows: [...this.#programs.keys()], now, limit: 1, suspects: true }
      const [run] = await store.free(query)
      if (run === undefined || this.#closed || this.#trial !== undefined) return
      const isAlone = this.#atWork() === 0 && now < this.#aloneUntil
      const host = await this.#takeUpOne(run, found)
      if (host !== undefined) return this.#begin(new Trial(host, run, { isAlone, now, lease }))
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

  /** While it is alone, nothing else starts here: should the process die, it was this run. */
  #begin(trial: Trial): void {
    this.#trial = trial
    if (trial.isAlone) this.#keeper.trial = trial.ended
    trial.host.onFinish(() => this.#look())
  }

  /** The run that is tried may have shown that it does no harm. */
  #look(): void {
    if (this.#trial?.outcome(this.#clock.now()) !== undefined) this.soon()
  }

  #endTrial(): void {
    this.#trial?.end()
    this.#trial = undefined
    this.#keeper.trial = undefined
  }

  /** The same for somebody who asks for the run; one under suspicion waits until it is tried. */
  async takeUpFor(run: StoredRun): Promise<RunHost | undefined> {
    if (run.takeovers < SUSPECT) return await this.takeUp(run)
    this.begin()
    return this.#keeper.host(run.runId)
  }

  /** Undefined when somebody else was faster, this process does not have the workflow, or the run is quarantined. */
  async takeUp(run: StoredRun): Promise<RunHost | undefined> {
    const program = this.#programs.get(run.workflow)
    if (program === undefined) return undefined
    const host = await claimRun(run, this.#keeper, (lease) => this.#restore(program, run, lease))
    if (host !== undefined) await this.#keeper.deliver()
    return host
  }

  async #restore(program: Program, run: StoredRun, lease: Lease): Promise<RunHost | undefined> {
    const { store } = this.#keeper
    if (isGuilty(run, this.#options.maxTakeovers)) {
      await store.quarantine(lease)
      this.#tell(run.runId, runQuarantined(run))
      return undefined
    }
    try {
      return await revive(program, run, lease, this.#around)
    } catch (error) {
      await this.#keeper.refuseMail(lease, error)
      await store.release(lease, this.#clock.now() + TRY_AGAIN)
      throw error
    }
  }

  // Unloading

  #isIdle(host: RunHost): void {
    this.#look()
    if (host.isOver) return
    this.#idle.delete(host)
    this.#idle.set(host, this.#clock.now())
    if (this.#idle.size > this.#options.maxIdle) {
      this.#evictOldest(this.#idle.size - this.#options.maxIdle).catch((error) =>
        this.#tell(undefined, error),
      )
    }
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
    for (const host of this.#idle.keys()) host.noteIdle()
    for (const [host, since] of this.#idle) {
      if (since > before) break
      await this.#evict(host)
    }
  }

  /** One that has come to do something again is forgotten here; it says so when it is idle once more. */
  async #evict(host: RunHost): Promise<void> {
    if (host.isBusy) this.#idle.delete(host)
    if (!host.isDormant()) return
    this.#idle.delete(host)
    const wakeAt = host.wakeAt()
    host.evict()
    await this.#keeper.release(host, wakeAt)
  }

  // Letting go

  async #prune(): Promise<void> {
    const { retention } = this.#options
    const now = this.#clock.now()
    if (retention === undefined || now - this.#pruned < PRUNE_EVERY) return
    this.#pruned = now
    const { keep, maxAge } = retention
    await this.#keeper.store.prune({ keep, endedBefore: maxAge === undefined ? undefined : now - maxAge })
  }

  /** Sweeps no more; what is under way is awaited. */
  async close(): Promise<void> {
    this.#closed = true
    this.#endTrial()
    this.#cancelTimer?.()
    await this.#sweeping
  }
}
