/** The events of a run as its watchers get them, and how they are handed out. */
import { Fifo } from "../core/fifo.ts"
import type { Json, MachineEvent, NodeId, RequestId, RunId, TaskId } from "../core/index.ts"
import type { Delta, LogLevel } from "./context.ts"

interface EventEnvelope {
  readonly runId: RunId
  /** 1, 2, 3, … over the whole run. An event that is not kept has the number of the one before it. */
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Through which tasks of which nodes a nested workflow was reached: `node#task`; empty for the run itself. */
  readonly path: readonly string[]
}

/** Events that live only while someone watches. A user's event is always `custom`, whatever its name. */
export type LiveEvent =
  | ({ readonly type: "model.delta"; readonly task: TaskId; readonly node: NodeId } & Delta)
  | {
      readonly type: "custom"
      readonly task: TaskId
      readonly node: NodeId
      readonly name: string
      readonly data?: Json | undefined
    }
  | {
      readonly type: "log"
      readonly task: TaskId
      readonly node: NodeId
      readonly level: LogLevel
      readonly message: string
      readonly data?: Json | undefined
    }

/** Live events have the number of the kept event before them. */
export function isLive({ type }: Pick<RunEvent, "type">): boolean {
  return type === "custom" || type === "log" || type === "model.delta"
}

export type RunEvent = EventEnvelope & (MachineEvent | LiveEvent)

/** Events for one watcher, in order, from its first call until the run is over or it leaves. */
export class EventStream implements AsyncIterableIterator<RunEvent> {
  readonly #buffer = new Fifo<RunEvent>()
  readonly #onLeave: () => void
  #waiting: { resolve: (result: IteratorResult<RunEvent>) => void; reject: (error: unknown) => void }[] = []
  #ended = false
  #failure: { readonly error: unknown } | undefined

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  push(event: RunEvent): void {
    if (this.#ended) return
    const next = this.#waiting.shift()
    if (next === undefined) this.#buffer.push(event)
    else next.resolve({ value: event, done: false })
  }

  end(): void {
    this.#ended = true
    for (const next of this.#waiting) next.resolve({ value: undefined, done: true })
    this.#waiting = []
  }

  /** The run could not start, or could not go on: whoever watches gets the error after what came before it. */
  fail(error: unknown): void {
    if (this.#ended) return
    this.#ended = true
    const [first, ...others] = this.#waiting
    this.#waiting = []
    if (first === undefined) this.#failure = { error }
    else first.reject(error)
    for (const next of others) next.resolve({ value: undefined, done: true })
  }

  next(): Promise<IteratorResult<RunEvent>> {
    const event = this.#buffer.shift()
    if (event !== undefined) return Promise.resolve({ value: event, done: false })
    const failure = this.#failure
    this.#failure = undefined
    if (failure !== undefined) return Promise.reject(failure.error)
    if (this.#ended) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** Leaving early: nothing is kept for this watcher any more. The run goes on. */
  return(): Promise<IteratorResult<RunEvent>> {
    this.#onLeave()
    this.#buffer.clear()
    this.end()
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

/** A nested workflow's requests are known in the run by an id that leads to them. */
export function outerId(frameKey: string, id: RequestId): RequestId {
  return frameKey === "" ? id : `${frameKey}/${id}`
}

export function withOuterIds(frameKey: string, event: MachineEvent): MachineEvent {
  if (frameKey === "") return event
  switch (event.type) {
    case "request.opened":
    case "request.escalated":
      return { ...event, request: { ...event.request, id: outerId(frameKey, event.request.id) } }
    case "request.answered":
    case "request.closed":
      return { ...event, request: outerId(frameKey, event.request) }
    case "task.parked":
      if (event.wait.kind !== "request") return event
      return { ...event, wait: { ...event.wait, request: outerId(frameKey, event.wait.request) } }
    default:
      return event
  }
}
