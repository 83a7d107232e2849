/**
 * Drives one run with all its sub-workflows: one journal, one sequence of events, one set of timers. Effects are
 * carried out one after another, never nested, however deep handlers and sub-workflows go.
 */
import {
  type Effect,
  type Entry,
  type ErrorData,
  Fifo,
  fromErrorData,
  type Json,
  jsonProblem,
  type MachineEvent,
  type OpenRequest,
  type RequestId,
  type RunId,
  type RunStarted,
  SuperstepError,
  type TimerId,
} from "../core/index.ts"
import type { Clock } from "./clock.ts"
import { EventStream, type LiveEvent, outerId, type RunEvent, withOuterIds } from "./events.ts"
import { type Caller, Frame } from "./frame.ts"
import { Journal } from "./journal.ts"
import type { RunResult } from "./options.ts"
import type { Program } from "./program.ts"
import { validate } from "./schema.ts"
import type { Store } from "./store.ts"
import type { RunTelemetry, Telemetry } from "./telemetry-port.ts"

interface Work {
  readonly frame: Frame
  readonly effects: readonly Effect[]
  /** The number of the event before the first of these. */
  readonly eventsBefore: number
  readonly at: number
}

/** After this many tasks in one turn, timers and IO get their turn: a busy run can be cancelled and times out. */
const TASKS_PER_TURN = 2_000

export interface HostOptions {
  readonly runId: RunId
  readonly store: Store | undefined
  readonly clock: Clock
  readonly telemetry: Telemetry | undefined
}

export class RunHost {
  readonly runId: RunId
  readonly store: Store | undefined
  readonly #clock: Clock
  readonly #telemetry: Telemetry | undefined
  readonly #journal: Journal
  readonly #frames = new Map<string, Frame>()
  /** Entries of sub-workflows that were read back and whose callers have not called again yet. */
  readonly #unclaimed = new Map<string, Entry[]>()
  readonly #timers = new Map<string, () => void>()
  readonly #work = new Fifo<Work>()
  readonly #streams = new Set<EventStream>()
  #waiters: ((result: RunResult) => void)[] = []
  #losers: ((error: unknown) => void)[] = []
  #finishers: (() => void)[] = []
  #lost: { readonly error: unknown } | undefined
  #draining = false
  #tasksThisTurn = 0
  #busyFrames = 0
  #events = 0

  constructor({ runId, store, clock, telemetry }: HostOptions) {
    this.runId = runId
    this.store = store
    this.#clock = clock
    this.#telemetry = telemetry
    this.#journal = new Journal(store, runId, (error) => this.#lose(error))
  }

  now(): number {
    return this.#clock.now()
  }
  get root(): Frame {
    return this.#frames.get("") as Frame
  }
  get isObserved(): boolean {
    return this.#streams.size > 0
  }
  frame(key: string): Frame | undefined {
    return this.#frames.get(key)
  }

  /** Starts a sub-workflow, or finds it as the journal left it. */
  call(program: Program, entry: RunStarted, caller: Caller, key: string): void {
    const unclaimed = this.#unclaimed.get(key)
    if (unclaimed === undefined) {
      Frame.start(this, program, entry, caller)
      return
    }
    this.#unclaimed.delete(key)
    Frame.restore(this, program, unclaimed, caller).resume()
  }

  /** After records were read back. */
  restored(seq: number, events: number, belowRoot: ReadonlyMap<string, Entry[]>): void {
    this.#journal.continueAfter(seq)
    this.#events = events
    for (const [key, entries] of belowRoot) this.#unclaimed.set(key, entries)
  }

  addFrame(frame: Frame): void {
    this.#frames.set(frame.key, frame)
  }
  removeFrame(frame: Frame): void {
    this.#frames.delete(frame.key)
  }
  changeBusy(by: 1 | -1): void {
    this.#busyFrames += by
  }

  startTelemetry(path: readonly string[], entry: RunStarted, resumed: boolean): RunTelemetry | undefined {
    return this.#telemetry?.startRun({
      runId: this.runId,
      workflow: entry.workflow,
      path,
      parent: entry.trace,
      resumed,
    })
  }

  /** Makes an entry durable, then carries out what follows from it (M2). */
  commit(frame: Frame, entry: Entry, effects: readonly Effect[], events: number): void {
    const eventsBefore = this.#events
    this.#events += events
    const work = { frame, effects, eventsBefore, at: entry.at }
    if (this.#journal.isVolatile) {
      this.#work.push(work)
      this.#drain()
    } else {
      this.#journal.write(frame.key, entry, this.#events, () => {
        this.#work.push(work)
        this.#drain()
      })
    }
  }

  afterDurable(callback: () => void): void {
    this.#journal.afterwards(callback)
  }

  enqueue(frame: Frame, effects: readonly Effect[], eventsBefore: number): void {
    this.#work.push({ frame, effects, eventsBefore, at: this.now() })
    this.#drain()
  }

  #drain(): void {
    if (this.#draining) return
    this.#draining = true
    for (let work = this.#work.shift(); work !== undefined; work = this.#work.shift()) {
      this.#perform(work)
      if (this.#tasksThisTurn < TASKS_PER_TURN) continue
      this.#tasksThisTurn = 0
      setImmediate(() => {
        this.#draining = false
        this.#drain()
      })
      return
    }
    this.#draining = false
    this.checkSettled()
  }

  #perform({ frame, effects, eventsBefore, at }: Work): void {
    let seq = eventsBefore
    for (const effect of effects) {
      if (effect.type === "emit") this.#emit(frame, ++seq, at, effect.event)
      else {
        if (effect.type === "start") this.#tasksThisTurn++
        frame.perform(effect)
      }
    }
  }

  setTimer(frame: Frame, timer: TimerId, at: number): void {
    const key = `${frame.key} ${timer}`
    const cancel = this.#clock.setTimer(at, () => {
      this.#timers.delete(key)
      frame.fireTimer(timer)
    })
    this.#timers.set(key, cancel)
  }
  clearTimer(frame: Frame, timer: TimerId): void {
    const key = `${frame.key} ${timer}`
    this.#timers.get(key)?.()
    this.#timers.delete(key)
  }
  /** A timer that is nobody's state: an attempt's time limit. */
  armTimer(at: number, callback: () => void): () => void {
    return this.#clock.setTimer(at, callback)
  }

  // Watching

  watch(): EventStream {
    const stream: EventStream = new EventStream(() => {
      this.#streams.delete(stream)
      this.#observe()
    })
    if (this.#frames.has("") && this.root.machine.isOver()) stream.end()
    else {
      this.#streams.add(stream)
      this.#observe()
    }
    return stream
  }

  #observe(): void {
    for (const frame of this.#frames.values()) frame.machine.observe(this.isObserved)
  }

  #emit(frame: Frame, seq: number, at: number, event: MachineEvent): void {
    this.#push({ runId: this.runId, seq, at, path: frame.path, ...withOuterIds(frame.key, event) })
  }

  emitLive(frame: Frame, event: LiveEvent): void {
    if (this.isObserved)
      this.#push({ runId: this.runId, seq: this.#events, at: this.now(), path: frame.path, ...event })
  }

  #push(event: RunEvent): void {
    for (const stream of this.#streams) stream.push(event)
  }

  // People

  /** Open questions of the run and of everything below it, under ids that are unique in the run. */
  requests(): OpenRequest[] {
    return [...this.#frames.values()].flatMap((frame) =>
      frame.machine.requests().map((request) => ({ ...request, id: outerId(frame.key, request.id) })),
    )
  }

  /** Validates an answer, then takes it: at most once (M7). */
  async respond(id: RequestId, value: unknown, by: string | undefined): Promise<void> {
    const slash = id.lastIndexOf("/")
    const frame = this.#frames.get(slash < 0 ? "" : id.slice(0, slash))
    const inner = id.slice(slash + 1)
    const request = this.#openRequest(frame, inner, id)
    this.checkJson(value, `the answer to request "${id}"`)
    const schema = request.schema
    if (schema !== undefined) {
      const checked = await validate(schema, value)
      if (!checked.ok) {
        throw new SuperstepError(
          "REQUEST_INVALID",
          `The answer to request "${id}" does not fit: ${checked.reason}. Nothing was taken; answer again.`,
        )
      }
      this.#openRequest(frame, inner, id)
    }
    request.frame.apply({
      type: "request.answered",
      at: this.now(),
      request: inner,
      value: value as Json,
      by,
    })
  }

  #openRequest(frame: Frame | undefined, inner: RequestId, id: RequestId) {
    const request = frame?.machine.request(inner)
    if (frame !== undefined && request !== undefined) {
      return { frame, schema: frame.answerSchema(request) }
    }
    if (frame?.machine.wasAnswered(inner)) {
      throw new SuperstepError(
        "REQUEST_ANSWERED",
        `Request "${id}" was answered before; an answer cannot be changed.`,
      )
    }
    const open =
      this.requests()
        .map((one) => `"${one.id}"`)
        .join(", ") || "none"
    throw new SuperstepError(
      "REQUEST_UNKNOWN",
      `Run ${this.runId} has no open request "${id}". Open: ${open}.`,
    )
  }

  // The end

  /** The result, once the run is over or waits for a person. Rejects only when the run could not go on at all. */
  settled(): Promise<RunResult> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) reject(this.#lost.error)
      else if (this.#isSettled()) resolve(this.#result())
      else {
        this.#waiters.push(resolve)
        this.#losers.push(reject)
      }
    })
  }

  #isSettled(): boolean {
    if (this.#draining || !this.#journal.isIdle || !this.#frames.has("")) return false
    return this.root.machine.isOver() || (this.#busyFrames === 0 && this.requests().length > 0)
  }

  /** Tells those who wait when the run is over or waits for a person. */
  checkSettled(): void {
    if (this.#waiters.length === 0 || !this.#isSettled()) return
    const waiters = this.#waiters
    this.#waiters = []
    this.#losers = []
    const result = this.#result()
    for (const resolve of waiters) resolve(result)
  }

  onFinish(callback: () => void): void {
    this.#finishers.push(callback)
  }

  /** The root frame is over: timers go, streams end. */
  finish(): void {
    for (const callback of this.#finishers) callback()
    this.#finishers = []
    for (const cancel of this.#timers.values()) cancel()
    this.#timers.clear()
    for (const stream of this.#streams) stream.end()
    this.#streams.clear()
    for (const [key, frame] of this.#frames) if (key !== "") this.removeFrame(frame)
  }

  /** The journal is gone: nothing may follow, and everyone who waits is told. */
  #lose(cause: unknown): void {
    const error =
      cause instanceof SuperstepError
        ? cause
        : new SuperstepError("JOURNAL_LOST", `Run ${this.runId} stopped: its journal could not be written.`, {
            cause,
          })
    this.#lost = { error }
    for (const frame of this.#frames.values()) frame.abortAll("the run's journal could not be written")
    this.finish()
    for (const reject of this.#losers) reject(error)
    this.#losers = []
    this.#waiters = []
  }

  #result(): RunResult {
    const { machine, thrown } = this.root
    const status = machine.isOver() ? machine.status : "waiting"
    return {
      runId: this.runId,
      status: status as RunResult["status"],
      outputs: [...machine.outputs],
      state: machine.allState(),
      ...(machine.error === undefined ? {} : { error: withCause(machine.error, thrown) }),
      requests: this.requests(),
      undelivered: machine.undelivered,
      usage: machine.usage,
      supersteps: machine.superstep,
    }
  }

  checkJson(value: unknown, what: string): void {
    const problem = jsonProblem(value)
    if (problem === undefined) return
    const where = problem.path === "" ? "it" : problem.path
    throw new SuperstepError("NOT_SERIALISABLE", `${what} cannot be stored: ${where} ${problem.reason}.`, {
      retryable: false,
    })
  }
}

/** The error from the journal, with what was thrown in this process as its cause: stacks are not journaled. */
function withCause(data: ErrorData, thrown: unknown): SuperstepError {
  if (!(thrown instanceof Error)) return fromErrorData(data)
  const { code, message, node, attempt } = data
  return new SuperstepError(code, message, {
    cause: thrown,
    ...(node === undefined ? {} : { node }),
    ...(attempt === undefined ? {} : { attempt }),
  })
}
