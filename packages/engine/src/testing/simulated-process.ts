/**
 * One life of a process in a simulation: its clock, its way to the journal, and everything in it that waits for
 * its turn. When it dies, nothing of it happens any more: its turns never come, and its store is fenced.
 */
import { jsonProblem, SuperstepError } from "../core/index.ts"
import type { Clock, JournalRecord, Store } from "../runtime/index.ts"
import type { Random } from "./random.ts"
import type { SimulatedJournal } from "./simulated-journal.ts"

/** Something that may happen next. */
export interface Turn {
  /** `write`: records become durable. `handler`, `step`: user code has ended. `answer`: a person answers. */
  readonly kind: "write" | "handler" | "step" | "answer" | "timer"
  take(): void
}

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export interface ProcessSurroundings {
  readonly random: Random
  readonly journal: SimulatedJournal
  /** Time goes on across processes. */
  readonly time: { now: number }
  /** How likely a timer fires twice. */
  readonly duplicateTimers: number
  readonly onBroken: (problem: string) => void
}

export class SimulatedProcess {
  readonly #world: ProcessSurroundings
  #turns: Turn[] = []
  #timers: Timer[] = []
  #alive = true
  /** Makes durable what is being written, without anybody being told. */
  #writeThrough: (() => void) | undefined

  constructor(world: ProcessSurroundings) {
    this.#world = world
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

  /** Resolves when the turn is taken; in a process that has died, never. */
  turn(kind: Turn["kind"]): Promise<void> {
    return new Promise((resolve) => this.#add(kind, resolve))
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

  /** The end of the process. A write that is under way reaches the journal or not. */
  die(): void {
    if (this.#world.random.chance(0.5)) this.#writeThrough?.()
    this.#alive = false
    this.#turns = []
    this.#timers = []
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

  readonly store: Store = {
    append: (_, expectedSeq, records) => this.#append(expectedSeq, records),
    read: (_, afterSeq) => this.#world.journal.records().slice(afterSeq),
  }

  /** Some writes are done at once, others take until their turn. */
  #append(expectedSeq: number, records: readonly JournalRecord[]): Promise<void> | undefined {
    const { journal, random } = this.#world
    if (!this.#alive) throw fenced()
    const texts = this.#textsOf(records)
    if (random.chance(0.3)) {
      journal.append(expectedSeq, texts)
      return undefined
    }
    return new Promise((resolve, reject) => {
      const write = () => {
        this.#writeThrough = undefined
        if (texts.join() !== this.#textsOf(records).join()) {
          this.#world.onBroken(
            `data changed after it was sent or returned, so the run and its journal no longer agree (M6): ${texts.join()}`,
          )
        }
        journal.append(expectedSeq, texts)
      }
      this.#writeThrough = write
      this.#add("write", () => {
        try {
          write()
          resolve()
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  #textsOf(records: readonly JournalRecord[]): string[] {
    const problem = jsonProblem(records)
    if (problem !== undefined) {
      this.#world.onBroken(`what is journaled cannot be stored (M6): ${problem.path} ${problem.reason}`)
    }
    return records.map((record) => JSON.stringify(record))
  }
}

function fenced(): SuperstepError {
  return new SuperstepError("FENCED", "This process of the simulation is dead; another one holds the run.")
}
