/**
 * One process in a simulation: its clock, its access to the store, and everything that waits for its turn. After its death
 * nothing more happens: its turns never come, and its store is fenced.
 */
import { jsonProblem, SuperstepError } from "../../core/index.ts"
import type { Clock, JournalRecord, RunChange, Snapshot, Store } from "../../runtime/index.ts"
import { type RunSnapshot, saveEvery } from "../../runtime/internal.ts"
import type { CrashPoint, Random } from "./simulate-options.ts"
import type { SimulatedJournal } from "./simulated-journal.ts"

/** Something that may happen next. */
export interface Turn {
  /** `read`, `write`: the store answers. `handler`, `step`: user code has ended. `answer`: a person answers. */
  readonly kind: "read" | "write" | "handler" | "step" | "answer" | "signal" | "pause" | "timer"
  take(): void
}

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export interface ProcessEnvironment {
  readonly random: Random
  readonly journal: SimulatedJournal
  /** What the store has besides the journal. */
  readonly rows: Store
  /** Holders whose processes are dead. */
  readonly dead: Set<string>
  readonly onBroken: (problem: string) => void
  /** Time passes across processes. */
  readonly time: { now: number }
  /** The probability that a timer fires twice. */
  readonly duplicateTimers: number
  /** The number of entries between two snapshots. */
  readonly snapshots: number
  /** Where this process is to die. */
  readonly death: CrashPoint | undefined
}

export class SimulatedProcess {
  readonly #world: ProcessEnvironment
  readonly store: Store
  /** Another process has taken over its runs without its knowledge. */
  isSlow = false
  holdsRun = false
  #turns: Turn[] = []
  #timers: Timer[] = []
  isAlive = true
  #doomed = false
  /** The names under which it can hold runs. */
  readonly holders = new Set<string>()
  /** Writes in progress: calling one performs it without notifying the process. */
  readonly #underWay = new Set<() => unknown>()

  constructor(world: ProcessEnvironment) {
    this.#world = world
    this.store = simulatedStore(world, this)
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

  /** Whether it has reached the point where it is to die. */
  get isDoomed(): boolean {
    const { death, journal } = this.#world
    return this.#doomed || (typeof death === "number" && journal.length >= death)
  }

  /** Whether the process is to die in the middle of the write of these records. */
  deathIn(first: number, last: number): "before" | "after" | undefined {
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

  /** Resolves when the turn is taken. A write in progress when the process dies happens or not. */
  later<T>(kind: "read" | "write", act: () => T | Promise<T>): Promise<T> {
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
    if (!this.isAlive) return
    const turn: Turn = {
      kind,
      take: () => {
        this.#turns.splice(this.#turns.indexOf(turn), 1)
        happen()
      },
    }
    this.#turns.push(turn)
  }

  /** The end of the process. A write that is in progress reaches the store or not. */
  die(): void {
    const { random, dead } = this.#world
    for (const write of this.#underWay) if (random.chance(0.5)) this.#reach(write)
    this.isAlive = false
    this.#turns = []
    this.#timers = []
    for (const holder of this.holders) dead.add(holder)
  }

  /** The process is dead, so a rejection is ignored. */
  #reach(write: () => unknown): void {
    try {
      write()
    } catch {
      // The store is unchanged.
    }
  }

  readonly clock: Clock = {
    now: () => this.#world.time.now,
    setTimer: (at, callback) => {
      const timer = { at, callback }
      if (this.isAlive) this.#timers.push(timer)
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

/**
 * The process's access to its store: some calls complete at once, others when their turn comes. The journal is stored as
 * text, so that it shares nothing with the process that wrote it; a memory store has the rows, leases and snapshots.
 */
function simulatedStore(world: ProcessEnvironment, process: SimulatedProcess): Store {
  const { random, journal, rows, dead, onBroken } = world

  const check = () => {
    if (process.isAlive) return
    throw new SuperstepError("FENCED", "This process of the simulation is dead; another one holds the run.")
  }
  const mayTakeTime = <T>(kind: "read" | "write", act: () => T | Promise<T>): T | Promise<T> => {
    check()
    return random.chance(0.6) ? act() : process.later(kind, act)
  }
  const textOf = (value: object): string => {
    const problem = jsonProblem(value, Number.POSITIVE_INFINITY)
    if (problem !== undefined)
      onBroken(`a written value is not valid JSON (M6): ${problem.path} ${problem.reason}`)
    return JSON.stringify(value)
  }
  /** A change of a passed value would be visible in one process and not in the next. */
  const checkUnchanged = (text: string, value: object) => {
    if (text === JSON.stringify(value)) return
    onBroken(
      `data changed after it was sent or returned, so the run and its journal no longer agree (M6): ${text}`,
    )
  }

  const append: Store["append"] = (lease, expectedSeq, records, change) => {
    check()
    const text = textOf(records)
    const kept = copyOf(change)
    const write = () => {
      checkUnchanged(text, records)
      void rows.append(lease, expectedSeq, JSON.parse(text) as JournalRecord[], kept)
      journal.append(expectedSeq, text)
      process.holdsRun = true
    }
    const death = process.deathIn(expectedSeq + 1, expectedSeq + records.length)
    if (death === "after") write()
    if (death !== undefined) return new Promise(() => undefined)
    if (!random.chance(0.3)) return process.later("write", write)
    write()
    return undefined
  }

  const saveSnapshot: Store["saveSnapshot"] = (lease, snapshot) => {
    check()
    const text = textOf(snapshot)
    // A full check costs as much as the run so far.
    if (random.chance(0.2)) journal.checkSnapshot(snapshot.seq, snapshot.data as unknown as RunSnapshot)
    return mayTakeTime("write", () => {
      checkUnchanged(text, snapshot)
      return rows.saveSnapshot(lease, JSON.parse(text) as Snapshot)
    })
  }

  return {
    ...rows,
    append,
    saveSnapshot,
    read: (_, afterSeq) => mayTakeTime("read", () => journal.records(afterSeq)),
    snapshot: (runId) => mayTakeTime("read", () => copyOf(rows.snapshot(runId) as Snapshot | undefined)),
    run: (runId) => mayTakeTime("read", () => rows.run(runId)),
    claim: (runId, token, holder, restsAt) =>
      mayTakeTime("write", async () => {
        const lease = await rows.claim(runId, token, holder, restsAt)
        if (lease !== undefined) process.holdsRun = true
        return lease
      }),
    release: (lease, wakeAt) => mayTakeTime("write", () => rows.release(lease, wakeAt)),
    // Heartbeats and mail use real time: they complete at once, independent of the seed.
    beat(holder) {
      check()
      process.holders.add(holder.id)
      return rows.beat(holder)
    },
    mail(holder) {
      check()
      return rows.mail(holder)
    },
    async holders() {
      const holders = await rows.holders()
      return holders.map((holder) => (dead.has(holder.id) ? { ...holder, lapsed: true } : holder))
    },
  }
}

/** A copy, as if read from disk; graphs are shared. */
function copyOf<T extends RunChange | Snapshot>(value: T | undefined): T | undefined {
  if (value === undefined) return undefined
  const { graphs, ...rest } = value as RunChange
  const copy = JSON.parse(JSON.stringify(rest)) as T
  return graphs === undefined ? copy : { ...copy, graphs }
}
