/**
 * One life of a process in a simulation: its clock, its way to the store, and everything in it that waits for its
 * turn. When it dies, nothing of it happens any more: its turns never come, and its store is fenced.
 */
import type { Clock, Store } from "../runtime/index.ts"
import { saveEvery } from "../runtime/snapshots.ts"
import type { CrashPoint } from "./simulate.ts"
import { type StoreSurroundings, simulatedStore } from "./simulated-store.ts"

/** Something that may happen next. */
export interface Turn {
  /** `read`, `write`: the store answers. `handler`, `step`: user code has ended. `answer`: a person answers. */
  readonly kind: "read" | "write" | "handler" | "step" | "answer" | "timer"
  take(): void
}

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export interface ProcessSurroundings extends StoreSurroundings {
  /** Time goes on across processes. */
  readonly time: { now: number }
  /** How likely a timer fires twice. */
  readonly duplicateTimers: number
  /** How many entries there are between two snapshots. */
  readonly snapshots: number
  /** Where this process is to die. */
  readonly death: CrashPoint | undefined
}

export class SimulatedProcess {
  readonly #world: ProcessSurroundings
  readonly store: Store
  /** Another one has taken its runs over, and it does not know. */
  isSlow = false
  holdsRun = false
  #turns: Turn[] = []
  #timers: Timer[] = []
  #alive = true
  #doomed = false
  readonly #holders = new Set<string>()
  /** Writes that are under way: what makes them happen, without anybody being told. */
  readonly #underWay = new Set<() => unknown>()

  constructor(world: ProcessSurroundings) {
    this.#world = world
    const isAlive = () => this.#alive
    this.store = simulatedStore(world, {
      get isAlive() {
        return isAlive()
      },
      later: (kind, act) => this.#later(kind, act),
      deathIn: (first, last) => this.#deathIn(first, last),
      named: (holder) => this.#holders.add(holder),
      holds: () => {
        this.holdsRun = true
      },
    })
    saveEvery(this.store, world.snapshots)
  }

  get turns(): readonly Turn[] {
    return this.#turns
  }

  /** The timers that are due first. */
  get dueTimers(): readonly Turn[] {
    const at = Math.min(...this.#timers.map((timer) => timer.at))
    return this.#timers
      .filter((timer) => timer.at === at)
      .map((timer) => ({ kind: "timer", take: () => this.#fire(timer) }))
  }

  /** Whether it has come to the point where it is to die. */
  get isDoomed(): boolean {
    const { death, journal } = this.#world
    return this.#doomed || (typeof death === "number" && journal.length >= death)
  }

  #deathIn(first: number, last: number): "before" | "after" | undefined {
    const { death } = this.#world
    if (typeof death !== "object" || this.#doomed) return undefined
    const when = "before" in death ? "before" : "after"
    const at = "before" in death ? death.before : death.after
    if (at < first || at > last) return undefined
    this.#doomed = true
    return when
  }

  /** Resolves when the turn is taken; in a process that has died, never. */
  turn(kind: Turn["kind"]): Promise<void> {
    return new Promise((resolve) => this.#add(kind, resolve))
  }

  #later<T>(kind: "read" | "write", act: () => T | Promise<T>): Promise<T> {
    if (kind === "write") this.#underWay.add(act)
    return new Promise((resolve, reject) =>
      this.#add(kind, () => {
        this.#underWay.delete(act)
        try {
          resolve(act())
        } catch (error) {
          reject(error)
        }
      }),
    )
  }

  #add(kind: Turn["kind"], happen: () => void): void {
    if (!this.#alive) return
    const turn: Turn = {
      kind,
      take: () => {
        this.#turns.splice(this.#turns.indexOf(turn), 1)
        happen()
      },
    }
    this.#turns.push(turn)
  }

  /** The end of the process. A write that is under way reaches the store or not. */
  die(): void {
    const { random, dead } = this.#world
    for (const write of this.#underWay) if (random.chance(0.5)) this.#reach(write)
    this.#alive = false
    this.#turns = []
    this.#timers = []
    for (const holder of this.#holders) dead.add(holder)
  }

  /** Nobody is there to be told that it was refused. */
  #reach(write: () => unknown): void {
    try {
      write()
    } catch {
      // The store is as it was.
    }
  }

  readonly clock: Clock = {
    now: () => this.#world.time.now,
    setTimer: (at, callback) => {
      const timer = { at, callback }
      if (this.#alive) this.#timers.push(timer)
      return () => this.#drop(timer)
    },
  }

  #drop(timer: Timer): void {
    this.#timers = this.#timers.filter((other) => other !== timer)
  }

  #fire(timer: Timer): void {
    const { time, random, duplicateTimers } = this.#world
    this.#drop(timer)
    time.now = Math.max(time.now, timer.at)
    if (random.chance(duplicateTimers)) this.#timers.push({ ...timer, at: time.now })
    timer.callback()
  }
}
