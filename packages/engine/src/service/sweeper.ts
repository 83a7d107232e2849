/**
 * Looks after the runs of a store from one process, again and again: says that the process lives, brings mail, takes up
 * runs whose holder is dead or whose time has come, puts aside runs that only wait, and lets old runs go.
 */
import type { RunId } from "../core/index.ts"
import {
  type Clock,
  type Keeper,
  type Program,
  type RunHost,
  revive,
  type StoredRun,
  type Surroundings,
  TICK,
} from "../runtime/index.ts"
import type { Recovery, RuntimeOptions, RuntimeProblem } from "./options.ts"
import { poison } from "./poison.ts"

/** Runs that are asked for at once. */
const BATCH = 100
/** Milliseconds until a run that could not go on here is tried again, here or elsewhere. */
const TRY_AGAIN = 60_000
const PRUNE_EVERY = 3_600_000

/** What the options leave open is decided. */
export interface SweeperOptions extends Pick<RuntimeOptions, "retention" | "onProblem"> {
  readonly evictAfter: number
  readonly maxIdle: number
  readonly concurrency: number
  readonly maxTakeovers: number
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
    this.#cancelTimer = this.#clock.setTimer(this.#clock.now() + TICK, () => {
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

  // Taking up

  /** Every run that nobody alive holds and that has something to do, as far as there is room. */
  async takeUpAll(): Promise<Recovery> {
    const { store, watch } = this.#keeper
    const resumed: RunId[] = []
    const problems: RuntimeProblem[] = []
    const now = this.#clock.now()
    const dead = watch.dead(await store.holders(), now).map(({ id }) => id)
    const workflows = [...this.#programs.keys()]
    for (;;) {
      const limit = Math.min(BATCH, this.#options.concurrency - this.#atWork())
      if (limit <= 0 || this.#closed) break
      const free = await store.free({ workflows, dead, now, limit })
      for (const run of free) {
        try {
          if ((await this.takeUp(run)) !== undefined) resumed.push(run.runId)
        } catch (error) {
          problems.push(this.#tell(run.runId, error))
        }
      }
      if (free.length < limit) break
    }
    for (const id of dead) await store.dismiss(id)
    return { resumed, problems }
  }

  #atWork(): number {
    return this.#keeper.size - this.#idle.size
  }

  /** Undefined when somebody else was faster, or this process does not have the workflow. */
  async takeUp(run: StoredRun): Promise<RunHost | undefined> {
    const program = this.#programs.get(run.workflow)
    if (program === undefined) return undefined
    const lease = await this.#keeper.claim(run)
    if (lease === undefined) return undefined
    const { store } = this.#keeper
    try {
      const deaths = run.holder === undefined ? 0 : run.takeovers + 1
      if (deaths > this.#options.maxTakeovers) {
        await poison(store, lease, deaths, this.#clock.now())
        return undefined
      }
      const host = await revive(program, run, lease, this.#around)
      await this.#keeper.deliver()
      return host
    } catch (error) {
      await this.#keeper.refuseMail(run.runId, error)
      await store.release(lease, this.#clock.now() + TRY_AGAIN)
      throw error
    }
  }

  // Putting aside

  #isIdle(host: RunHost): void {
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
    this.#cancelTimer?.()
    await this.#sweeping
  }
}
