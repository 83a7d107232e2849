/**
 * What a replay takes from a journal: per task, what its steps gave and how its attempts ended; and what came from outside:
 * answers, timers, a cancellation. Everything has a rank, its place in the journal: a replay lets things happen in that
 * order, so that what depends on the order comes out the same.
 */
import type { Entry, ErrorData, Json, RunForked, TaskFailed, TaskFinished, Usage } from "../core/index.ts"
import { isTriedAgain } from "./checkpoints.ts"
import { type Journal, JournalWalk, type WalkedRecord } from "./journal-walk.ts"
import { Names } from "./names.ts"

export interface RecordedResult {
  readonly rank: number
  readonly value: Json
  readonly usage?: Usage | undefined
}

export interface RecordedFailure {
  readonly rank: number
  readonly error: ErrorData
  /** What the attempt had used, its steps aside. */
  readonly usage?: Usage | undefined
}

export class RecordedTask {
  readonly steps = new Map<string, RecordedResult>()
  /** Its node's time limit, milliseconds. */
  readonly timeout: number | undefined
  end: { readonly rank: number; readonly error?: ErrorData | undefined } | undefined
  /** How it failed, by attempt; more than once where its workflow was called again. */
  readonly #failures = new Map<number, RecordedFailure[]>()
  /** When it recorded a step or began to wait, by key; more than once where a retry did so again. */
  readonly #turns = new Map<string, number[]>()
  /** All that is still to come, in order. */
  readonly #ranks: number[] = []

  constructor(timeout: number | undefined) {
    this.timeout = timeout
  }

  addTurn(key: string, rank: number): void {
    this.#ranks.push(rank)
    const ranks = this.#turns.get(key)
    if (ranks === undefined) this.#turns.set(key, [rank])
    else ranks.push(rank)
  }
  addEnd(rank: number): void {
    this.#ranks.push(rank)
  }
  addFailure(attempt: number, failure: RecordedFailure): void {
    const failures = this.#failures.get(attempt)
    if (failures === undefined) this.#failures.set(attempt, [failure])
    else failures.push(failure)
  }

  /** How that attempt ended, if it failed. */
  failure(attempt: number): RecordedFailure | undefined {
    return this.#failures.get(attempt)?.[0]
  }
  /** The attempt has failed: the next one of that number is another one. */
  passFailure(attempt: number): void {
    this.#failures.get(attempt)?.shift()
  }

  /** When something under this key is to happen next. */
  nextTurn(key: string): number | undefined {
    return this.#turns.get(key)?.[0]
  }
  takeTurn(key: string): number | undefined {
    return this.#turns.get(key)?.shift()
  }

  /** When anything of it is to happen next. */
  get next(): number | undefined {
    return this.#ranks[0]
  }
  /** It has come this far: what was to happen before will not happen any more. */
  pass(rank: number): void {
    while (this.#ranks[0] !== undefined && this.#ranks[0] <= rank) this.#ranks.shift()
  }
}

/** Something that no handler does. */
export type FromOutside = { readonly rank: number; readonly at: number } & (
  | {
      readonly type: "answer"
      readonly request: string
      readonly value: Json
      readonly by?: string | undefined
    }
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
  /** What came from outside and has not been taken, in order. */
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

  #take(walked: WalkedRecord, refused: ReadonlySet<string>): void {
    const { record, frame, effects } = walked
    const { key } = frame
    this.#nameRequests(walked)
    this.#takeEntry(walked, record.entry, record.seq)
    for (const effect of effects) {
      if (effect.type !== "start" || refused.has(`${key} ${effect.task.id}`)) continue
      const { id, node } = effect.task
      const name = this.#names.task(key, id, node.id)
      if (!this.#tasks.has(name)) this.#tasks.set(name, new RecordedTask(node.spec.timeout))
    }
  }

  #nameRequests({ record, frame, effects }: WalkedRecord): void {
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

  #takeEntry(walked: WalkedRecord, entry: Entry, rank: number): void {
    const { key } = walked.frame
    const { at } = entry
    switch (entry.type) {
      case "step.recorded":
        this.#of(key, entry)?.steps.set(entry.key, { rank, value: entry.value, usage: entry.usage })
        this.#of(key, entry)?.addTurn(entry.key, rank)
        break
      case "request.opened":
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
        // What a handler decided is decided again.
        if (!by?.startsWith('node "')) this.#outside.push({ rank, at, type: "answer", request, value, by })
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
        // Any other failure of a run comes of its own code.
        if (entry.error.code === "POISONED")
          this.#outside.push({ rank, at, type: "fail", error: entry.error })
        break
      default:
        // What follows from something else follows from it again.
        break
    }
  }

  #of(frame: string, { task }: { readonly task: number }): RecordedTask | undefined {
    return this.#tasks.get(this.#names.knownTask(frame, task))
  }

  #takeEnd(walked: WalkedRecord, entry: TaskFinished | TaskFailed, rank: number): void {
    const task = this.#of(walked.frame.key, entry)
    if (task === undefined) return
    const error = entry.type === "task.failed" ? entry.error : entry.settled
    task.addEnd(rank)
    if (error !== undefined) task.addFailure(walked.attempt, { rank, error, usage: entry.usage })
    if (entry.type === "task.finished" || !isTriedAgain(walked)) task.end = { rank, error }
  }
}

/** The turn at which a task gets what the sub-workflow that it called under a key came to. */
export function returnKey(call: string): string {
  return `return ${call}`
}
