/**
 * The part of a journal that a replay uses: per task, the results of its steps and the ends of its attempts; and external
 * events: answers, signals, timers, a cancellation. Everything has a rank, its position in the journal: a replay follows that order,
 * so that order-dependent results are the same.
 */
import type {
  Entry,
  ErrorData,
  Json,
  NodeId,
  OpenRequest,
  RequestId,
  RunForked,
  SignalId,
  SourcedUsage,
  TaskFailed,
  TaskFinished,
  TaskId,
  TimerId,
  Usage,
  UsageSource,
} from "../core/index.ts"
import { splitName } from "../core/internal.ts"
import type { FoldedRecord } from "../runtime/internal.ts"
import { isRetried } from "./checkpoints.ts"
import { type Journal, JournalWalk } from "./journal-walk.ts"

export interface RecordedResult {
  readonly rank: number
  readonly value: Json
  readonly usage?: Usage | undefined
  readonly source?: UsageSource | undefined
  readonly also?: readonly SourcedUsage[] | undefined
}

export interface RecordedEnd {
  readonly rank: number
  readonly error?: ErrorData | undefined
}

export interface RecordedFailure {
  readonly rank: number
  readonly error: ErrorData
  /** The usage of the attempt, without its steps. */
  readonly usage?: Usage | undefined
}

/**
 * A task over all its lives: a sub-workflow that a retry calls again starts a new life. Queries return what follows the
 * rank that the replay has reached.
 */
export class RecordedTask {
  /** Its node's timeout in milliseconds. */
  readonly timeout: number | undefined
  /** How its last life ended; undefined if it was in progress. */
  last: RecordedEnd | undefined
  readonly #ends: RecordedEnd[] = []
  readonly #steps = new Map<string, RecordedResult[]>()
  readonly #failures = new Map<number, RecordedFailure[]>()
  /** When it recorded a step or began to wait, by key. */
  readonly #turns = new Map<string, number[]>()
  /** All its ranks, in order, and how many of them have passed. */
  readonly #ranks: number[] = []
  #passed = 0

  constructor(timeout: number | undefined) {
    this.timeout = timeout
  }

  /** Begins another life. */
  begin(): void {
    this.last = undefined
  }
  addTurn(key: string, rank: number): void {
    this.#ranks.push(rank)
    listIn(this.#turns, key).push(rank)
  }
  addStep(key: string, result: RecordedResult): void {
    this.addTurn(key, result.rank)
    listIn(this.#steps, key).push(result)
  }
  addFailure(attempt: number, failure: RecordedFailure): void {
    this.#ranks.push(failure.rank)
    listIn(this.#failures, attempt).push(failure)
  }
  addEnd(end: RecordedEnd): void {
    if (this.#ranks.at(-1) !== end.rank) this.#ranks.push(end.rank)
    this.#ends.push(end)
    this.last = end
  }

  step(key: string): RecordedResult | undefined {
    const results = this.#steps.get(key)
    return results?.find(({ rank }) => rank > this.#now) ?? results?.at(-1)
  }
  /** How that attempt ends, if it fails. */
  failure(attempt: number): RecordedFailure | undefined {
    return this.#failures.get(attempt)?.find(({ rank }) => rank > this.#now)
  }
  get end(): RecordedEnd | undefined {
    return this.#ends.find(({ rank }) => rank > this.#now) ?? this.#ends.at(-1)
  }

  /** The rank of the next operation under this key. */
  nextTurn(key: string): number | undefined {
    return this.#turns.get(key)?.[0]
  }
  takeTurn(key: string): number | undefined {
    return this.#turns.get(key)?.shift()
  }
  /** The rank of its next operation. */
  get next(): number | undefined {
    return this.#ranks[this.#passed]
  }
  /** The replay has reached this rank: skips earlier turns. */
  pass(rank: number): void {
    while ((this.next ?? rank + 1) <= rank) this.#passed++
  }
  get #now(): number {
    return this.#ranks[this.#passed - 1] ?? 0
  }
}

function listIn<K, V>(lists: Map<K, V[]>, key: K): V[] {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}

/** An external event. */
export type FromOutside = { readonly rank: number; readonly at: number } & (
  | {
      readonly type: "answer"
      readonly request: string
      readonly value: Json
      readonly by?: string | undefined
    }
  | { readonly type: "signal"; readonly id: SignalId; readonly name: string; readonly value: Json }
  | { readonly type: "timer"; readonly timer: string }
  | { readonly type: "fork"; readonly frame: string; readonly entry: RunForked }
  | { readonly type: "cancel"; readonly reason?: string | undefined }
  | { readonly type: "fail"; readonly error: ErrorData }
)

export class RecordedRun {
  readonly #tasks = new Map<string, RecordedTask>()
  readonly #names = new Names()
  readonly #at: readonly number[]
  readonly #outside: FromOutside[] = []
  /** Timers that were set when the recording was made. */
  readonly #set: ReadonlySet<string>
  readonly isOver: boolean

  constructor(journal: Journal) {
    const { records } = journal
    this.#at = records.map(({ entry }) => entry.at)
    const refused = new Set(
      records.flatMap(({ frame, entry }) =>
        entry.type === "task.rejected" ? [`${frame} ${entry.task}`] : [],
      ),
    )
    const walk = new JournalWalk(journal)
    for (const walked of walk) this.#take(walked, refused)
    this.isOver = walk.frames.get("")?.machine.isOver() ?? true
    this.#set = new Set(
      [...walk.frames].flatMap(([key, { machine }]) =>
        [...machine.timers()].map((timer) => this.#names.timer(key, timer)),
      ),
    )
  }

  task(name: string): RecordedTask | undefined {
    return this.#tasks.get(name)
  }
  /** External events that were not consumed, in order. */
  get outside(): readonly FromOutside[] {
    return this.#outside
  }
  takeOutside(one: FromOutside): void {
    this.#outside.splice(this.#outside.indexOf(one), 1)
  }
  at(rank: number): number {
    return this.#at[rank - 1] ?? 0
  }
  wasSet(timer: string): boolean {
    return this.#set.has(timer)
  }

  #take(walked: FoldedRecord, refused: ReadonlySet<string>): void {
    const { record, frame, effects } = walked
    const { key } = frame
    this.#nameRequests(walked)
    this.#takeEntry(walked, record.entry, record.seq)
    for (const effect of effects) {
      if (effect.type !== "start" || refused.has(`${key} ${effect.task.id}`)) continue
      const { id, node } = effect.task
      const name = this.#names.task(key, id, node.id)
      const task = this.#tasks.get(name)
      if (task === undefined) this.#tasks.set(name, new RecordedTask(node.spec.timeout))
      else task.begin()
    }
  }

  #nameRequests({ record, frame, effects }: FoldedRecord): void {
    const { entry } = record
    let number = 0
    for (const effect of effects) {
      if (effect.type !== "request" || this.#names.request(frame.key, effect.request.id) !== undefined)
        continue
      this.#names.openRequest(
        frame.key,
        effect.request,
        entry.type === "request.opened" ? entry.key : ++number,
      )
    }
  }

  #takeEntry(walked: FoldedRecord, entry: Entry, rank: number): void {
    const { key } = walked.frame
    const { at } = entry
    switch (entry.type) {
      case "step.recorded":
        this.#of(key, entry)?.addStep(entry.key, { ...entry, rank })
        break
      case "request.opened":
      case "signal.awaited":
      case "timer.set":
      case "call.started":
        this.#of(key, entry)?.addTurn(entry.key, rank)
        break
      case "call.finished":
        this.#of(key, entry)?.addTurn(returnKey(entry.key), rank)
        break
      case "task.finished":
      case "task.failed":
        this.#takeEnd(walked, entry, rank)
        break
      case "request.answered": {
        const { value, by } = entry
        const request = this.#names.request(key, entry.request) as string
        // Handlers decide this again.
        if (!by?.startsWith('node "')) this.#outside.push({ rank, at, type: "answer", request, value, by })
        break
      }
      case "signal.received": {
        const { id, name, value } = entry
        this.#outside.push({ rank, at, type: "signal", id, name, value })
        break
      }
      case "timer.fired":
        this.#outside.push({ rank, at, type: "timer", timer: this.#names.timer(key, entry.timer) })
        break
      case "run.forked":
        this.#outside.push({ rank, at, type: "fork", frame: this.#names.frame(key), entry })
        break
      case "run.cancelled":
        this.#outside.push({ rank, at, type: "cancel", reason: entry.reason })
        break
      case "run.failed":
        // Any other failure of a run results from its own code.
        if (entry.error.code === "POISONED")
          this.#outside.push({ rank, at, type: "fail", error: entry.error })
        break
      default:
        // Consequences of other entries follow again.
        break
    }
  }

  #of(frame: string, { task }: { readonly task: number }): RecordedTask | undefined {
    return this.#tasks.get(this.#names.knownTask(frame, task))
  }

  #takeEnd(walked: FoldedRecord, entry: TaskFinished | TaskFailed, rank: number): void {
    const task = this.#of(walked.frame.key, entry)
    if (task === undefined) return
    const error = entry.type === "task.failed" ? entry.error : entry.settled
    if (error !== undefined) task.addFailure(walked.attempt, { rank, error, usage: entry.usage })
    if (entry.type === "task.finished" || !isRetried(walked)) task.addEnd({ rank, error })
  }
}

/** The turn at which a task receives the outcome of the sub-workflow that it called under a key. */
export function returnKey(call: string): string {
  return `return ${call}`
}

// Names that identify corresponding parts in two runs of the same, or a changed, workflow: a task by the path to its
// workflow, its node, and the visit; a question and a timer by their task. Ids do not work: they shift with the first new
// task. A sub-workflow that a retry called again has the same name.

export class Names {
  readonly #tasks = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  readonly #requests = new Map<string, string>()

  /** Names the task on first use, in the order in which tasks start. */
  task(frame: string, task: TaskId, node: NodeId): string {
    const known = this.#tasks.get(`${frame} ${task}`)
    if (known !== undefined) return known
    const count = (this.#counts.get(`${frame}\n${node}`) ?? 0) + 1
    this.#counts.set(`${frame}\n${node}`, count)
    const name = `${this.frame(frame)}\n${node}#${count}`
    this.#tasks.set(`${frame} ${task}`, name)
    return name
  }

  knownTask(frame: string, task: TaskId): string {
    return this.#tasks.get(`${frame} ${task}`) ?? `${frame} ${task}`
  }

  /** The task that called it, and the key of the call; not the attempt. */
  frame(key: string): string {
    if (key === "") return ""
    const { frame, task, call } = callOf(key)
    return `${this.knownTask(frame, task)}\n${call}`
  }

  /** `key` is the key of the wait; questions of a task that asked without waiting are numbered. */
  openRequest(frame: string, { id, task }: Pick<OpenRequest, "id" | "task">, key: string | number): string {
    const own = typeof key === "number" ? `request ${key}` : key
    const name = `${this.knownTask(frame, task)}\n${own}`
    this.#requests.set(`${frame} ${id}`, name)
    return name
  }

  request(frame: string, id: RequestId): string | undefined {
    return this.#requests.get(`${frame} ${id}`)
  }

  timer(frame: string, timer: TimerId): string {
    const [kind, rest] = splitName(timer)
    const [first, key] = splitName(rest)
    if (kind === "retry" || kind === "sleep" || kind === "signal")
      return `${this.knownTask(frame, Number(first))}\n${kind} ${key}`
    if (kind === "request") return `${this.request(frame, rest)}\ndeadline`
    return `${this.frame(frame)}\n${timer}`
  }
}

/** The call of a sub-workflow, from its frame's key: see `childKey`. */
export function callOf(key: string): {
  readonly frame: string
  readonly task: TaskId
  readonly call: string
} {
  const slash = key.lastIndexOf("/")
  const own = key.slice(slash + 1)
  const call = splitName(own)[1].replaceAll("%2F", "/")
  return { frame: slash < 0 ? "" : key.slice(0, slash), task: Number.parseInt(own, 10), call }
}
