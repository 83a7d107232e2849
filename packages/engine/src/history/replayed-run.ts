/**
 * Replays a recorded run: the workflow's handlers run for real, in memory, and external events are taken from the record.
 * Every operation of a handler waits for its turn, and turns follow the order of the record, one at a time, when nothing
 * else can happen by itself. The clock shows the recorded time.
 *
 * Its parts: the record (RecordedRun), the control of handlers (replayed-program.ts), people and timers (OutsideWorld).
 * Invariants:
 * R1 as long as the workflow behaves as recorded, its entries have the order and the times of the record.
 * R2 no step runs, unless `live` is set: it returns the recorded result, or fails as it did then, or with
 *    REPLAY_DIVERGED.
 * R3 work that was in progress when the recording was made stays in progress, as long as the recorded end can still come.
 * R4 time advances by itself only when nothing else is left to do.
 */
import {
  fromErrorData,
  graphData,
  type RunStarted,
  SuperstepError,
  signatureOf,
  type Task,
} from "../core/index.ts"
import {
  type JournalRecord,
  type Labels,
  type Program,
  RunHost,
  type Store,
  systemClock,
} from "../runtime/index.ts"
import { memoryStore } from "../stores/index.ts"
import type { Journal } from "./journal-walk.ts"
import { type Move, OutsideWorld } from "./outside-world.ts"
import {
  callOf,
  Names,
  type RecordedFailure,
  RecordedRun,
  type RecordedTask,
  returnKey,
} from "./recorded-run.ts"
import {
  type Attempt,
  type Director,
  type RecordedStep,
  replayedProgram,
  type TaskPosition,
} from "./replayed-program.ts"

export interface ReplayOptions {
  /** Runs steps that are not recorded. Default: such a step fails with REPLAY_DIVERGED. */
  readonly live?: boolean | undefined
  /** Real milliseconds that a handler may spend outside steps. Default 5,000. */
  readonly patience?: number | undefined
}

/** An attempt whose handler was called. */
interface Part extends TaskPosition {
  readonly recorded: RecordedTask | undefined
  /** Ends the attempt, whatever its handler still does. */
  readonly fail: (error: unknown) => void
  /** How many turns it waits for. */
  held: number
  /** The rank at which it ended: its machine may apply that a little later. */
  ending: number | undefined
  /** Waiting for it has timed out. */
  isLate: boolean
}

interface Turn {
  readonly part: Part
  readonly rank: number
  readonly take: () => void
}

/** Unrecorded operations come after all recorded ones; work in progress at the end of the recording comes last (R3). */
const NOT_RECORDED = 2 ** 40
const BEYOND = 2 ** 45

const PATIENCE = 5_000

/** Captured at load time, so that a test framework's fake timers do not stop it. */
const nextTurn = setImmediate

export class ReplayedRun implements Director {
  readonly #first: RunStarted
  readonly #recorded: RecordedRun
  readonly #options: ReplayOptions
  readonly #store: Store = copyingStore()
  readonly #host: RunHost
  readonly #names = new Names()
  /** In the order of their ranks. */
  readonly #turns: Turn[] = []
  /** The last attempt of every task. */
  readonly #parts = new Map<string, Part>()
  /** Attempts that do not wait for a turn: executing, parked or ended. */
  readonly #others = new Set<Part>()
  readonly #outside: OutsideWorld
  #now: number
  #arrivals = 0
  #onArrival: (() => void) | undefined
  #liveSteps = 0
  /** What could not be taken from the record, by frame and task. */
  readonly notes = new Map<string, string>()

  constructor(journal: Journal, options: ReplayOptions, labels?: Labels) {
    this.#first = (journal.records[0] as JournalRecord).entry as RunStarted
    this.#recorded = new RecordedRun(journal)
    this.#options = options
    this.#now = this.#first.at
    this.#host = new RunHost({
      runId: this.#first.runId,
      labels,
      store: this.#store,
      // Timers are read from the machines, and fired in turn.
      clock: { now: () => this.#now, setTimer: () => () => undefined },
      onReturn: (frame, returnNow) => this.#return(frame, returnNow),
    })
    this.#outside = new OutsideWorld(this.#host, this.#recorded, this.#names, (place, text) =>
      this.#note(place, text),
    )
  }

  /** The journal of the replay, and the store that has its graphs. */
  async play(program: Program): Promise<{ records: readonly JournalRecord[]; store: Store }> {
    const host = this.#host
    const { runId } = host
    const { graph } = program
    const { name: workflow } = graph
    const { hash } = graphData(graph)
    const entry = { ...this.#first, workflow, signature: signatureOf(graph).hash, graph: hash }
    host.create({ runId, holder: "replay", token: 1 }, { workflow, graph: hash })
    host.start(replayedProgram(runId, this)(program), entry)
    while (await this.#advance()) {
      // Consequences of what happened come next.
    }
    if (host.failure !== undefined) throw host.failure
    if (!host.root.machine.isOver()) host.evict()
    return { records: await this.#store.read(runId, 0), store: this.#store }
  }

  // What handlers do

  perform(place: TaskPosition, act: (attempt: Attempt) => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const part = this.#enter(place, reject)
      const attempt: Attempt = {
        clock: this.#options.live ? systemClock : undefined,
        counts: !this.#failsAgain(part),
        step: (key) => this.#step(part, key),
        live: (step) => this.#live(step),
        mayWait: (key) => this.#mayWait(part, key),
      }
      const acted = async () => act(attempt)
      acted().then(
        (value) =>
          this.#end(part, true).then((again) => (again === undefined ? resolve(value) : reject(again))),
        (error) => this.#end(part, false).then((again) => reject(again ?? error)),
      )
    })
  }

  #enter(place: TaskPosition, fail: Part["fail"]): Part {
    const { frame, task, node } = place
    const recorded = this.#recorded.task(this.#names.task(frame, task, node))
    this.#outside.add(frame)
    const part = { ...place, recorded, fail, held: 0, ending: undefined, isLate: false }
    this.#parts.set(`${frame} ${task}`, part)
    this.#others.add(part)
    this.#arrive()
    return part
  }

  /** R2. */
  #step(part: Part, key: string): RecordedStep | undefined {
    const { recorded, node } = part
    const found = recorded?.step(key)
    const failure = this.#failureBefore(part, found?.rank)
    if (failure !== undefined) return { value: () => Promise.reject(fromErrorData(failure.error)) }
    if (found !== undefined) {
      const value = () => this.#turn(part, recorded?.takeTurn(key)).then(() => found.value)
      return { value, usage: found.usage, source: found.source, also: found.also }
    }
    if (this.#options.live) return undefined
    const value = async () => {
      await this.#turn(part, undefined)
      const text = `Step "${key.replace(/^step(#\d+)?:/, "")}" of "${node}" is not recorded.`
      this.#note(part, text)
      throw new SuperstepError("REPLAY_DIVERGED", text, { retryable: false })
    }
    return { value }
  }

  /** The recorded failure of the attempt, if it failed before this point. */
  #failureBefore({ recorded, attempt }: Part, rank: number | undefined): RecordedFailure | undefined {
    const failure = recorded?.failure(attempt)
    if (failure === undefined) return undefined
    const isBefore = rank === undefined ? !this.#options.live : failure.rank < rank
    return isBefore ? failure : undefined
  }

  async #live<T>(step: Promise<T>): Promise<T> {
    this.#liveSteps++
    try {
      return await step
    } finally {
      this.#liveSteps--
    }
  }

  /** An operation that is already recorded in this life does not wait again. */
  #mayWait(part: Part, key: string): Promise<void> {
    const task = this.#taskOf(part)
    if (task?.memo?.has(key) || task?.failures?.has(key)) return Promise.resolve()
    const failure = this.#failureBefore(part, part.recorded?.nextTurn(key))
    if (failure !== undefined) return Promise.reject(fromErrorData(failure.error))
    return this.#turn(part, part.recorded?.takeTurn(key))
  }

  /** A sub-workflow has ended. */
  #return(key: string, returnNow: () => void): void {
    const { frame, task, call } = callOf(key)
    const caller = this.#parts.get(`${frame} ${task}`) as Part
    this.#turn(caller, caller.recorded?.takeTurn(returnKey(call))).then(returnNow)
  }

  /** The handler has ended. Returns the error if the attempt fails anyway. */
  async #end(part: Part, well: boolean): Promise<unknown> {
    const { recorded, attempt } = part
    const failure = recorded?.failure(attempt)
    const again = this.#failsAgain(part)
    part.ending = (again || !well ? failure?.rank : undefined) ?? recorded?.end?.rank
    await this.#turn(part, part.ending)
    if (!again || failure === undefined) return undefined
    if (failure.usage !== undefined) part.use(failure.usage)
    return fromErrorData(failure.error)
  }

  /** Whether the attempt failed for a reason outside its code: the last one ended differently, or it timed out. */
  #failsAgain(part: Part): boolean {
    const { recorded, attempt } = part
    const error = recorded?.failure(attempt)?.error
    if (error === undefined) return false
    const last = recorded?.last?.error
    if (error.code === "TIMEOUT" && last?.code === "TIMEOUT") return this.#hasNoMoreTime(part)
    return error.code !== last?.code || error.message !== last.message
  }

  /** Whether its node's timeout is not longer than recorded. */
  #hasNoMoreTime(part: Part): boolean {
    const timeout = this.#taskOf(part)?.node.spec.timeout
    return timeout !== undefined && timeout <= (part.recorded?.timeout ?? 0)
  }

  #turn(part: Part, rank: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const turn = { part, rank: rank ?? (isInProgress(part) ? BEYOND : NOT_RECORDED), take: resolve }
      this.#turns.splice(placeOf(turn, this.#turns), 0, turn)
      part.held++
      this.#others.delete(part)
      this.#arrive()
    })
  }

  #arrive(): void {
    this.#arrivals++
    this.#onArrival?.()
  }

  #note({ frame, task }: Pick<Part, "frame" | "task">, text: string): void {
    const place = `${frame} ${task}`
    if (!this.notes.has(place)) this.notes.set(place, text)
  }

  #taskOf({ frame, task, attempt }: TaskPosition): Task | undefined {
    const found = this.#host.frame(frame)?.machine.task(task)
    return found?.attempt === attempt ? found : undefined
  }

  // What happens next

  /** Performs one move. False if none is left. */
  async #advance(): Promise<boolean> {
    await this.#atRest()
    if (this.#host.failure !== undefined || this.#host.root.machine.isOver()) return false
    const move = this.#nextMove()
    const awaited = this.#awaited(move?.rank ?? BEYOND)
    if (awaited !== undefined) await this.#waitFor(awaited)
    else if (move === undefined) return this.#advanceTime()
    else {
      if (move.rank < NOT_RECORDED) this.#now = this.#recorded.at(move.rank)
      await move.act()
    }
    return true
  }

  /** Resolves when everything that can happen by itself has happened: a run with many tasks to start takes several turns. */
  async #atRest(): Promise<void> {
    for (let quiet = 0; quiet < 2; quiet++) {
      const seen = this.#arrivals
      await new Promise<void>((resolve) => nextTurn(resolve))
      if (seen !== this.#arrivals) quiet = -1
    }
  }

  #nextMove(): Move | undefined {
    const turn = this.#nextTurn()
    const outside = this.#outside.next(turn?.rank ?? NOT_RECORDED)
    const first = outside ?? turn
    return this.#nextTimeUp(first?.rank ?? NOT_RECORDED) ?? first
  }

  #nextTurn(): Move | undefined {
    while (this.#turns[0] !== undefined && this.#taskOf(this.#turns[0].part) === undefined)
      this.#turns.shift()
    const [turn] = this.#turns
    if (turn === undefined || (turn.rank === BEYOND && !this.#recorded.isOver)) return undefined
    return { rank: turn.rank, act: () => this.#take(turn) }
  }

  #take(turn: Turn): void {
    const { part, rank } = turn
    this.#turns.splice(this.#turns.indexOf(turn), 1)
    if (--part.held === 0) this.#others.add(part)
    if (rank < NOT_RECORDED) part.recorded?.pass(rank)
    turn.take()
  }

  /** A handler that timed out in the record and executes again. */
  #nextTimeUp(before: number): Move | undefined {
    for (const part of this.#atWork()) {
      const { recorded, attempt, fail } = part
      const failure = recorded?.failure(attempt)
      if (failure?.error.code !== "TIMEOUT" || failure.rank >= before || recorded?.next !== failure.rank)
        continue
      if (!this.#hasNoMoreTime(part)) continue
      const act = () => {
        recorded.pass(failure.rank)
        fail(fromErrorData(failure.error))
      }
      return { rank: failure.rank, act }
    }
    return undefined
  }

  /** Attempts whose handlers neither wait for a turn nor for something external. */
  *#atWork(): Generator<Part, void, undefined> {
    for (const part of this.#others) {
      const task = this.#taskOf(part)
      if (task === undefined) this.#others.delete(part)
      else if (!part.isLate && !task.waits?.size) yield part
    }
  }

  /** An executing attempt that has a recorded operation before that rank. */
  #awaited(rank: number): Part | undefined {
    for (const part of this.#atWork()) {
      const { recorded, ending } = part
      const next = ending ?? recorded?.next
      const mayEnd = !isInProgress(part) || this.#recorded.isOver
      if (next !== undefined ? next < rank : rank >= NOT_RECORDED && mayEnd) return part
    }
    return undefined
  }

  /** Waits in real time: the handler does something outside steps. */
  async #waitFor(part: Part): Promise<void> {
    if (await this.#hasArrived()) return
    const timeout = this.#taskOf(part)?.node.spec.timeout
    if (timeout === undefined) part.isLate = true
    else part.fail(new SuperstepError("TIMEOUT", `Node "${part.node}" took longer than ${timeout} ms.`))
  }

  #hasArrived(): Promise<boolean> {
    return new Promise((resolve) => {
      const { patience = PATIENCE } = this.#options
      const timer = this.#liveSteps > 0 ? undefined : setTimeout(() => this.#onArrival?.(), patience)
      const before = this.#arrivals
      this.#onArrival = () => {
        clearTimeout(timer)
        this.#onArrival = undefined
        resolve(this.#arrivals > before)
      }
    })
  }

  /** R4: fires the next timer that is not recorded. False if there is none: the replay has ended. */
  #advanceTime(): boolean {
    const timer = this.#outside.nextTimer()
    if (timer === undefined) return this.#stop()
    this.#now = Math.max(this.#now, timer.at)
    timer.fire()
    return true
  }

  #stop(): false {
    for (const part of this.#others) {
      if (!part.isLate || this.#taskOf(part) === undefined || isInProgress(part)) continue
      const text = `"${part.node}" (task ${part.task}) waits for something that a replay does not have. In a replay, handlers can only wait with ctx (step, ask, sleep) or for something immediate.`
      throw new SuperstepError("REPLAY_STUCK", text, { node: part.node })
    }
    return false
  }
}

/** Copies entries, so that handlers cannot change their values later. */
function copyingStore(): Store {
  const inner = memoryStore()
  const append: Store["append"] = (lease, seq, records, change) =>
    inner.append(lease, seq, structuredClone(records), change)
  return { ...inner, append }
}

/** Whether its task had not ended when the recording was made (R3). */
function isInProgress({ recorded }: Part): boolean {
  return recorded !== undefined && recorded.last === undefined
}

/** The index after all turns with the same or a lower rank. */
function placeOf({ rank }: Turn, turns: readonly Turn[]): number {
  let from = 0
  let to = turns.length
  while (from < to) {
    const middle = (from + to) >> 1
    if ((turns[middle] as Turn).rank <= rank) from = middle + 1
    else to = middle
  }
  return from
}
