/**
 * The points of a run at which its state is consistent: its start, every commit, and its end. One pass finds them all. They
 * keep the changes, by reference to the journal, and never the state itself.
 */

import type { Effect, ErrorData, Json, NodeId, Send, TaskId } from "../core/index.ts"
import { canonicalJson } from "../core/internal.ts"
import type { FoldedRecord } from "../runtime/internal.ts"
import { eventsOf } from "./journal-walk.ts"

export interface Checkpoint {
  /** The journal record after which the checkpoint holds. */
  readonly seq: number
  /** The superstep that was committed last, 0 at the start; in flow mode, the length of the chain of tasks. */
  readonly superstep: number
  readonly at: number
  /**
   * `start`: before the first task. `commit`: of a superstep; in flow mode, of one task. `fork`: the run was forked here.
   * `graph`: it continued with another version of its workflow. `end`: it ended in the middle of a superstep.
   */
  readonly kind: "start" | "commit" | "fork" | "graph" | "end"
  /** The writes, in order. */
  readonly changes: readonly Change[]
  /** The tasks that ended since the previous checkpoint, in order. */
  readonly finished: readonly FinishedTask[]
}

export interface Change {
  readonly key: string
  /** `replace` if the value is the result of a custom reducer for all writes. */
  readonly reducer: string
  readonly value: Json
  /** The task that wrote it; absent for a change by a fork or a migration. */
  readonly task?: TaskId | undefined
  readonly node?: NodeId | undefined
}

export interface FinishedTask {
  readonly task: TaskId
  readonly node: NodeId
  readonly attempt: number
  readonly sends: readonly Send[]
  /** Set if it finally failed. */
  readonly error?: ErrorData | undefined
}

interface Ended extends FinishedTask {
  readonly superstep: number
}

/** Collects the checkpoints of one frame, record by record. */
export class Checkpoints {
  readonly list: Checkpoint[] = []
  #ended: Ended[] = []
  #changes: Change[] = []
  /** Channels that wait for a custom reducer. */
  #reducing = 0

  /** Call it with every record of the frame, in order. */
  take(walked: FoldedRecord): void {
    const { entry } = walked.record
    if (entry.type === "run.started") return this.#add(walked, "start", 0)
    if (entry.type === "run.forked") {
      for (const [key, value] of Object.entries(entry.state ?? {})) {
        if (value !== undefined) this.#changes.push({ key, reducer: "replace", value })
      }
      return this.#add(walked, "fork", this.#superstep)
    }
    if (entry.type === "graph.changed") return this.#migrated(walked)
    const ended = endedTask(walked)
    if (ended !== undefined) this.#ended.push(ended)
    this.#reducing += reductions(walked.effects) - (entry.type === "state.reduced" ? 1 : 0)
    this.#follow(walked)
  }

  get #superstep(): number {
    return this.list.at(-1)?.superstep ?? 0
  }

  #follow(walked: FoldedRecord): void {
    const flow = walked.frame.machine.graph.schedule === "flow"
    let committed: number | undefined
    let over: string | undefined
    for (const event of eventsOf(walked)) {
      if (event.type === "state.written") {
        const { key, reducer, value, task, node } = event
        this.#changes.push({ key, reducer, value, task, node })
      } else if (event.type === "superstep.committed") committed = event.superstep
      else if (event.type === "run.finished") over = event.status
      else if (
        event.type === "limit.reached" &&
        event.goesTo !== undefined &&
        !flow &&
        committed === undefined
      ) {
        // The limit route drops what was not committed.
        this.#ended = []
      }
    }
    if (flow && this.#reducing === 0) {
      const stopped = over !== undefined && over !== "completed" && this.#changes.length === 0
      if (!stopped) committed = this.#ended.at(-1)?.superstep
    }
    if (committed !== undefined) this.#add(walked, "commit", committed)
    else if (over !== undefined) this.#add(walked, "end", walked.frame.machine.superstep)
  }

  #migrated(walked: FoldedRecord): void {
    for (const [key, value] of Object.entries(walked.frame.machine.allState())) {
      const before = walked.replaced?.state(key)
      if (before === undefined || canonicalJson(before) !== canonicalJson(value)) {
        this.#changes.push({ key, reducer: "replace", value })
      }
    }
    this.#add(walked, "graph", this.#superstep)
  }

  #add({ record }: FoldedRecord, kind: Checkpoint["kind"], superstep: number): void {
    const { seq, entry } = record
    const finished = this.#ended.map(({ superstep: _, ...task }) => task)
    this.list.push({ seq, superstep, at: entry.at, kind, changes: this.#changes, finished })
    this.#ended = []
    this.#changes = []
  }
}

function endedTask(walked: FoldedRecord): Ended | undefined {
  const { task, attempt, record } = walked
  const { entry } = record
  if (task === undefined) return undefined
  const ended = { task: task.id, node: task.node.id, attempt, superstep: task.superstep }
  if (entry.type === "task.finished") {
    return { ...ended, sends: entry.sends, ...(entry.settled === undefined ? {} : { error: entry.settled }) }
  }
  if (entry.type === "task.rejected") {
    return { ...ended, sends: [], error: { code: "UNDELIVERED", message: entry.reason } }
  }
  if (entry.type !== "task.failed" || isRetried(walked)) return undefined
  return { ...ended, sends: [], error: entry.error }
}

/** Whether another attempt follows the failure in the record. */
export function isRetried(walked: Pick<FoldedRecord, "effects">): boolean {
  for (const event of eventsOf(walked)) if (event.type === "task.failed") return event.retryAt !== undefined
  return false
}

function reductions(effects: readonly Effect[]): number {
  let count = 0
  for (const { type } of effects) if (type === "reduce") count++
  return count
}

// The channels whose values differ between two states.

interface State {
  readonly [key: string]: Json
}

export interface ChangedChannel {
  readonly key: string
  /** Absent: the channel had no value. */
  readonly before?: Json | undefined
  readonly after?: Json | undefined
}

export function stateDifference(before: State, after: State): readonly ChangedChannel[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    const was = before[key]
    const is = after[key]
    if (was !== undefined && is !== undefined && isSame(was, is)) return []
    return [
      { key, ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) },
    ]
  })
}

/** Whatever the order of keys. */
export function isSame(before: Json, after: Json): boolean {
  return canonicalJson(before) === canonicalJson(after)
}
