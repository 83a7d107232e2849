/**
 * The journal: what happened to a run, in order. Applying its entries to a machine gives the run's state, and
 * nothing else does. Entries are deltas; routing was decided where user code runs and is part of the record.
 */

import type { ErrorData } from "./errors.ts"
import type { Limits } from "./graph.ts"
import type { RequestId, RunId, TaskId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { LeftNotice, RequestSpec, Send, Undelivered, WaitOutcome } from "./messages.ts"
import type { MachineSnapshot } from "./snapshot-data.ts"
import type { Budget, SourcedUsage, Usage, UsageSource } from "./usage.ts"

export interface RunStarted {
  readonly type: "run.started"
  readonly at: number
  readonly runId: RunId
  readonly workflow: string
  readonly signature: string
  /** The hash of the whole graph, under which the store has it. */
  readonly graph: string
  readonly input: Json
  readonly state?: { readonly [key: string]: Json | undefined } | undefined
  readonly limits?: Limits | undefined
  readonly budget?: Budget | undefined
  /** Milliseconds since the epoch at which the run's time is up. */
  readonly deadline?: number | undefined
  /** W3C traceparent of the run's span. */
  readonly trace?: string | undefined
  /** The thread that the first values of persistent channels come from, and how far it had come. */
  readonly thread?: { readonly id: string; readonly version: number } | undefined
  /** The names in the context that the run was started with. The context itself is never recorded. */
  readonly context?: readonly string[] | undefined
}

/**
 * A new run that has another one's past. It may change shared state, and how far the run may go; its time continues from
 * there.
 */
export interface RunForked {
  readonly type: "run.forked"
  readonly at: number
  readonly runId: RunId
  readonly from: { readonly runId: RunId; readonly seq: number }
  readonly state?: { readonly [key: string]: Json | undefined } | undefined
  /** Those that are to be other ones, part by part; what the past has used counts. */
  readonly limits?: Limits | undefined
  readonly budget?: Budget | undefined
  /** Milliseconds since the epoch at which the run's time is up, instead of when it was. */
  readonly deadline?: number | undefined
  /** Milliseconds by which every timer moves. */
  readonly later: number
}

/**
 * The run continues with another version of its workflow: with its state as it was, nodes and joins matched by name, or
 * with the state that a migration made of it. A driver restores a machine for it; `Machine.apply` does not take it.
 */
export interface GraphChanged {
  readonly type: "graph.changed"
  readonly at: number
  readonly signature: string
  readonly graph: string
  readonly snapshot?: MachineSnapshot | undefined
}

export interface TaskFinished {
  readonly type: "task.finished"
  readonly at: number
  readonly task: TaskId
  readonly sends: readonly Send[]
  readonly writes?: readonly (readonly [key: string, value: Json])[] | undefined
  /** Writes to the node's own state. */
  readonly local?: readonly (readonly [key: string, value: Json])[] | undefined
  /** Questions whose answers come back to the node as messages. */
  readonly requests?: readonly RequestSpec[] | undefined
  readonly usage?: Usage | undefined
  /** Set when the task failed for good and its failure became the value it sent. */
  readonly settled?: ErrorData | undefined
  readonly trace?: string | undefined
}

export interface TaskFailed {
  readonly type: "task.failed"
  readonly at: number
  readonly task: TaskId
  readonly attempt: number
  readonly error: ErrorData
  readonly usage?: Usage | undefined
  readonly trace?: string | undefined
  /** Where it failed at a limit: what stays of its work. */
  readonly left?: Left | undefined
}

/** What a task leaves behind when a limit ends it. */
export interface Left {
  /** Writes to channels with a built-in reducer. */
  readonly writes?: readonly (readonly [key: string, value: Json])[] | undefined
  /** Goes to the node of the limit route, beside the code and the message. */
  readonly notice?: LeftNotice | undefined
}

export type LeftByTask = readonly (readonly [task: TaskId, left: Left])[]

/** No handler of the node takes the message. */
export interface TaskRejected {
  readonly type: "task.rejected"
  readonly at: number
  readonly task: TaskId
  readonly reason: string
}

/**
 * A step that costs or has an effect is about to be made. Durable before it is: a step that has started and has no result
 * may have happened. What it reserves counts as used until its result is recorded, or for good (R1, R2 in budget.ts).
 */
export interface StepStarted {
  readonly type: "step.started"
  readonly at: number
  readonly task: TaskId
  readonly key: string
  readonly usage: Usage
  readonly source?: UsageSource | undefined
  /** The same start needs more than it reserved at first: this is all of it. */
  readonly isRaise?: boolean | undefined
  /** What counts if the step never has a result, where that is known better: as far as a stream has come. Default: `usage`. */
  readonly spent?: readonly SourcedUsage[] | undefined
}

/** The result of a step inside a task: the step does not run again. */
export interface StepRecorded {
  readonly type: "step.recorded"
  readonly at: number
  readonly task: TaskId
  readonly key: string
  readonly value: Json
  readonly usage?: Usage | undefined
  readonly source?: UsageSource | undefined
  /** What else it used, of other sources: attempts with another model. */
  readonly also?: readonly SourcedUsage[] | undefined
  /** `usage` takes the place of what its start has reserved. Otherwise a reservation is of a start before, and lost. */
  readonly settles?: boolean | undefined
}

/** Something a sub-workflow of the task, or a step of it that failed, has used; it counts here too. */
export interface UsageRecorded {
  readonly type: "usage.recorded"
  readonly at: number
  readonly task: TaskId
  readonly usage: Usage
  readonly source?: UsageSource | undefined
  /** What else was used, of other sources. */
  readonly also?: readonly SourcedUsage[] | undefined
  /** The step, or the hold of a sub-workflow, whose reservation this settles. */
  readonly settles?: string | undefined
}

/** What a call of a sub-workflow of the task has reserved; it counts here too. */
export interface UsageReserved {
  readonly type: "usage.reserved"
  readonly at: number
  readonly task: TaskId
  /** Names the call among all below the task. */
  readonly hold: string
  readonly usage: Usage
  readonly source?: UsageSource | undefined
  readonly isRaise?: boolean | undefined
  readonly spent?: readonly SourcedUsage[] | undefined
}

export interface RequestOpened {
  readonly type: "request.opened"
  readonly at: number
  readonly task: TaskId
  readonly key: string
  readonly request: RequestSpec
}

export interface RequestAnswered {
  readonly type: "request.answered"
  readonly at: number
  readonly request: RequestId
  readonly value: Json
  /** Who answered, as the caller said. */
  readonly by?: string | undefined
  /** The mail that brought the answer: its sender's outcome. */
  readonly mail?: string | undefined
}

/** A task sleeps until `until`. */
export interface TimerSet {
  readonly type: "timer.set"
  readonly at: number
  readonly task: TaskId
  readonly key: string
  readonly until: number
}

export interface TimerFired {
  readonly type: "timer.fired"
  readonly at: number
  readonly timer: TimerId
}

/** A task runs a workflow of its own and waits for it. */
export interface CallStarted {
  readonly type: "call.started"
  readonly at: number
  readonly task: TaskId
  readonly key: string
  readonly workflow: string
  /** Which of the attempt's calls it is, from 1. */
  readonly number?: number | undefined
}

export interface CallFinished {
  readonly type: "call.finished"
  readonly at: number
  readonly task: TaskId
  readonly key: string
  readonly outcome: WaitOutcome
  /** Messages that reached nobody in the called workflow, and in those that it called. */
  readonly undelivered?: readonly Undelivered[] | undefined
}

/** What a reducer that is not built in made of a superstep's writes. */
export interface StateReduced {
  readonly type: "state.reduced"
  readonly at: number
  readonly key: string
  readonly value: Json
}

export interface RunFailed {
  readonly type: "run.failed"
  readonly at: number
  readonly error: ErrorData
}

export interface RunCancelled {
  readonly type: "run.cancelled"
  readonly at: number
  readonly reason?: string | undefined
  /** The code of the run's error. Default: CANCELLED. */
  readonly code?: string | undefined
  /** The mail that asked for it. */
  readonly mail?: string | undefined
}

/** Whether the entry only says what is about to be done. It is made anew each time that is tried: no progress. */
export function isIntent({ type }: Entry): boolean {
  return type === "step.started" || type === "usage.reserved"
}

export type Entry = (
  | RunStarted
  | RunForked
  | GraphChanged
  | TaskFinished
  | TaskFailed
  | TaskRejected
  | StepStarted
  | StepRecorded
  | UsageRecorded
  | UsageReserved
  | RequestOpened
  | RequestAnswered
  | TimerSet
  | TimerFired
  | CallStarted
  | CallFinished
  | StateReduced
  | RunFailed
  | RunCancelled
) & {
  /** Where it made the run reach a limit: what the tasks that were at work leave behind. */
  readonly atWork?: LeftByTask | undefined
}
