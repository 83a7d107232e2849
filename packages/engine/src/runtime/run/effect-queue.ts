/**
 * Carries out the effects of a run's machines, one after another, never nested, however deep handlers and sub-workflows are:
 * effects that follow from one are queued behind it. The driver hands them over once their entry is durable (M2).
 */
import type { Effect, Task, TimerId } from "../../core/index.ts"
import {
  Fifo,
  hasEffect,
  NO_ENTRIES,
  NO_ITEMS,
  pushSized,
  putEntry,
  removeEntry,
} from "../../core/internal.ts"
import type { Watchers } from "../journal/watchers.ts"
import type { Clock } from "../ports/clock.ts"
import type { Frame } from "./frame.ts"
import { attemptOf, TaskRun } from "./task-run.ts"

/** The effects of one entry. */
export interface Work {
  readonly frame: Frame
  readonly effects: readonly Effect[]
  /** The number of the event before the first of these, and of the last one. */
  readonly eventsBefore: number
  readonly eventsAfter: number
  readonly at: number
  /** How many of the effects are carried out already. */
  readonly done: number
}

/** Aborts handlers that effects would have aborted that are never carried out: no task refers to them any more. */
export function abortHandlers(effects: readonly Effect[]): void {
  for (const effect of effects) if (effect.type === "abort") attemptOf(effect.task)?.abort(effect.reason)
}

/** The run whose effects they are. */
interface EffectRun {
  readonly clock: Clock
  readonly watchers: Watchers
  readonly activity: { place(): Promise<void> | undefined }
  /** Handlers are neither called nor resumed while the run is paused (M10). */
  readonly isPaused: boolean
  /** Undefined while new work may start; otherwise resolves when that may have changed. */
  sure(): Promise<void> | undefined
  /** False if the task must not start: the run has stopped or only probes calls. Otherwise the task has control now. */
  mayStart(task: Task): boolean
  /** The machine of the frame has ended. */
  returnFrame(frame: Frame): void
  /** Everything is carried out. */
  drained(): void
}

/** After this many tasks in one turn, timers and IO get their turn: a busy run can be cancelled and times out. */
const TASKS_PER_TURN = 2_000

export class EffectQueue {
  readonly #run: EffectRun
  #work: Fifo<Work> | undefined
  /** Work that was interrupted for timers and IO. */
  #interrupted: Work | undefined
  /** Handlers to call and to resume when the paused run is resumed. After a restart its journal has them. */
  #held: readonly Work[] = NO_ITEMS
  isDraining = false
  #tasksThisTurn = 0
  #timers: ReadonlyMap<string, () => void> = NO_ENTRIES

  constructor(run: EffectRun) {
    this.#run = run
  }

  add(work: Work): void {
    this.#queue(work)
    if (this.isDraining) return
    this.isDraining = true
    this.#drain()
  }

  /** The same, but bypasses the queue if the effects can be carried out at once. */
  follow(
    frame: Frame,
    effects: readonly Effect[],
    eventsBefore: number,
    eventsAfter: number,
    at: number,
  ): void {
    if (!this.isDraining) {
      this.isDraining = true
      if (this.#perform(frame, effects, eventsBefore, eventsAfter, at, 0)) this.#drain()
    } else if (effects.length === 0 && !this.#run.watchers.any) this.#run.watchers.advanceTo(eventsAfter)
    else this.#queue({ frame, effects, eventsBefore, eventsAfter, at, done: 0 })
  }

  /** Carries out what the function enqueues after it returns. */
  after(act: () => void): void {
    if (this.isDraining) return act()
    this.isDraining = true
    act()
    this.#drain()
  }

  #queue(work: Work): void {
    this.#work ??= new Fifo()
    this.#work.push(work)
  }

  #drain(): void {
    for (;;) {
      const work = this.#interrupted ?? this.#work?.shift()
      this.#interrupted = undefined
      if (work === undefined) break
      if (!this.#perform(work.frame, work.effects, work.eventsBefore, work.eventsAfter, work.at, work.done))
        return
    }
    this.#work = undefined
    this.isDraining = false
    this.#run.drained()
  }

  /** Carries out effects; nothing else does. Returns false if it stopped early to let timers and IO run. */
  #perform(
    frame: Frame,
    effects: readonly Effect[],
    eventsBefore: number,
    eventsAfter: number,
    at: number,
    done: number,
  ): boolean {
    const run = this.#run
    const { watchers } = run
    let seq = eventsBefore
    // Unwatched events count too: a live event of a task follows the start of that task.
    if (watchers.keepsRecent && !hasEffect(effects, "emit")) watchers.advanceTo(eventsAfter)
    for (let i = done; i < effects.length; i++) {
      const effect = effects[i] as Effect
      const { type } = effect
      if (type === "emit") watchers.emit(frame, ++seq, at, effect.event)
      else if ((type === "start" || type === "resume") && run.isPaused) this.#hold(frame, effect, seq, at)
      else if ((type === "start" && this.#isFull()) || (type === "resume" && run.activity.place()))
        return this.#performLater({ frame, effects, eventsBefore: seq, eventsAfter, at, done: i })
      else if (type === "start") this.#startTask(frame, effect.task)
      else this.#performOne(frame, effect)
    }
    watchers.advanceTo(eventsAfter)
    return true
  }

  #performOne(frame: Frame, effect: Exclude<Effect, { readonly type: "start" | "emit" }>): void {
    switch (effect.type) {
      case "resume":
        attemptOf(effect.task)?.resume(effect.key, effect.outcome)
        break
      case "abort":
        attemptOf(effect.task)?.abort(effect.reason)
        break
      case "timer":
        this.#setTimer(frame, effect.timer, effect.at)
        break
      case "clear-timer":
        this.clearTimer(frame, effect.timer)
        break
      case "finish":
        this.#run.returnFrame(frame)
        break
      case "reduce":
      case "request":
      case "request-closed":
        // The frame already reduced before the entry's effects; requests are stored with the entry.
        break
    }
  }

  /** Whether no more tasks may start in this turn. */
  #isFull(): boolean {
    return this.#tasksThisTurn >= TASKS_PER_TURN || this.#run.sure() !== undefined
  }

  #hold(frame: Frame, effect: Effect, seq: number, at: number): void {
    const work = { frame, effects: [effect], eventsBefore: seq, eventsAfter: seq, at, done: 0 }
    this.#held = pushSized(this.#held, work)
  }

  /** The run is resumed: what was held back follows. */
  release(): void {
    const held = this.#held
    this.#held = NO_ITEMS
    for (const work of held) this.add(work)
  }

  /** Tasks whose handlers were not called, because the run is paused. */
  *held(): Generator<Task> {
    for (const { effects } of this.#held)
      for (const effect of effects) if (effect.type === "start") yield effect.task
  }

  /** After timers and IO; and not before the lease is known to be valid (K4). */
  #performLater(rest: Work): false {
    this.#interrupted = rest
    const drain = () => {
      this.#tasksThisTurn = 0
      this.#drain()
    }
    const sure = this.#run.sure()
    if (sure === undefined) setImmediate(drain)
    else sure.then(drain)
    return false
  }

  /** Skips a task that was dropped, or whose caller was dropped, since the decision. */
  #startTask(frame: Frame, task: Task): void {
    if (task.status === "over" || (frame.caller !== undefined && frame.isAbandoned())) return
    if (!this.#run.mayStart(task)) return
    this.#tasksThisTurn++
    new TaskRun(frame, task).start()
  }

  #setTimer(frame: Frame, timer: TimerId, at: number): void {
    const key = `${frame.key} ${timer}`
    this.#timers.get(key)?.()
    const cancel = this.#run.clock.setTimer(at, () => {
      removeEntry(this.#timers, key)
      frame.fireTimer(timer)
    })
    this.#timers = putEntry(this.#timers, key, cancel)
  }

  clearTimer(frame: Frame, timer: TimerId): void {
    const key = `${frame.key} ${timer}`
    this.#timers.get(key)?.()
    removeEntry(this.#timers, key)
  }

  clearTimers(): void {
    for (const cancel of this.#timers.values()) cancel()
    this.#timers = NO_ENTRIES
  }

  /** The run has stopped: drops queued work. */
  dropWork(): void {
    this.#work = undefined
    this.#held = NO_ITEMS
  }
}
