/**
 * The journal: what happened to a run, in order. Only applying its entries to a machine yields the run's state. Entries are
 * deltas; user code decided the routing, which is part of the record.
 */

import type { AgentChanges } from "./agent-change.ts"
import type { ErrorData } from "./errors.ts"
import type { Limits } from "./graph.ts"
import type { NodeId, RequestId, RunId, SignalId, TaskId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { LeftNotice, RequestSpec, Send, SignalWaitSpec, Undelivered, WaitOutcome } from "./messages.ts"
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
  /** Milliseconds since the epoch at which the run times out. */
  readonly deadline?: number | undefined
  /** W3C traceparent of the run's span. */
  readonly trace?: string | undefined
  /** The thread that the initial values of persistent channels come from, and its version. */
  readonly thread?: { readonly id: string; readonly version: number } | undefined
  /** The keys of the context that the run was started with. The context itself is never recorded. */
  readonly context?: readonly string[] | undefined
  /** Of a fork that starts anew. */
  readonly agents?: AgentChanges | undefined
}

/**
 * A new run with the past of another one. It may change shared state and limits; its time continues from there.
 */
export interface RunForked {
  readonly type: "run.forked"
  readonly at: number
  readonly runId: RunId
  readonly from: { readonly runId: RunId; readonly seq: number }
  readonly state?: { readonly [key: string]: Json | undefined } | undefined
  /** Limits that replace the old ones, part by part; past usage counts. */
  readonly limits?: Limits | undefined
  readonly budget?: Budget | undefined
  /** Milliseconds since the epoch of the new deadline. */
  readonly deadline?: number | undefined
  readonly agents?: AgentChanges | undefined
  /** Milliseconds by which every timer moves. */
  readonly later: number
}

/**
 * The run continues with another version of its workflow: with its state unchanged, nodes and joins matched by name, or with
 * the result of a migration. A driver restores a machine for it; `Machine.apply` does not accept it.
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
  /** The conditions of a definition that were evaluated to decide where its messages go. */
  readonly decisions?: readonly RouteDecision[] | undefined
}

/** A condition, and what it was decided with. Kept to explain the route; nothing follows from it. */
export interface RouteDecision {
  /** As it is written in the definition. */
  readonly condition: string
  readonly holds: boolean
  /** References and operations in it, the innermost first; a long value is clipped text. */
  readonly operands: readonly { readonly text: string; readonly value?: Json | undefined }[]
  /** Where it leads if it holds; null ends the run. Absent if an edge of the graph says so. */
  readonly to?: NodeId | null | undefined
}

export interface TaskFailed {
  readonly type: "task.failed"
  readonly at: number
  readonly task: TaskId
  readonly attempt: number
  readonly error: ErrorData
  readonly usage?: Usage | undefined
  readonly trace?: string | undefined
  /** If it failed at a limit: the work that remains. */
  readonly left?: Left | undefined
}

/** What a task leaves behind when a limit ends it. */
export interface Left {
  /** Writes to channels with a built-in reducer. */
  readonly writes?: readonly (readonly [key: string, value: Json])[] | undefined
  /** Passed to the node of the limit route, besides the code and the message. */
  readonly notice?: LeftNotice | undefined
}

export type LeftByTask = readonly (readonly [task: TaskId, left: Left])[]

/** No handler of the node accepts the message. */
export interface TaskRejected {
  readonly type: "task.rejected"
  readonly at: number
  readonly task: TaskId
  readonly reason: string
}

/**
 * A step that costs or has an effect is about to run. This entry is durable first: a step that was started and has no result
 * may have happened. Its reservation counts as used until its result is recorded, or permanently (R1, R2 in budget.ts).
 */
export interface StepStarted {
  readonly type: "step.started"
  readonly at: number
  readonly task: TaskId
  readonly key: string
  readonly usage: Usage
  readonly source?: UsageSource | undefined
  /** The same start needs more than it reserved at first: this is the new total. */
  readonly isRaise?: boolean | undefined
  /** The usage to count if the step never has a result, such as that of a partial stream. Default: `usage`. */
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
  /** Additional usage of other sources, such as attempts with another model. */
  readonly also?: readonly SourcedUsage[] | undefined
  /** `usage` replaces the reservation of its start. Otherwise a reservation belongs to an earlier start, and is lost. */
  readonly settles?: boolean | undefined
  /** How it was done, for people who inspect the run: no program reads it. */
  readonly details?: Json | undefined
}

/** Usage of a sub-workflow of the task, or of a failed step; it counts here too. */
export interface UsageRecorded {
  readonly type: "usage.recorded"
  readonly at: number
  readonly task: TaskId
  readonly usage: Usage
  readonly source?: UsageSource | undefined
  /** Additional usage of other sources. */
  readonly also?: readonly SourcedUsage[] | undefined
  /** The step, or the hold of a sub-workflow, whose reservation this settles. */
  readonly settles?: string | undefined
}

/** The reservation of a call in a sub-workflow of the task; it counts here too. */
export interface UsageReserved {
  readonly type: "usage.reserved"
  readonly at: number
  readonly task: TaskId
  /** Identifies the call among all calls below the task. */
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
  /** Who answered, as the caller stated. */
  readonly by?: string | undefined
  /** The mail that delivered the answer; its sender gets the outcome. */
  readonly mail?: string | undefined
}

/**
 * An answer that also holds for later questions of the run with this name. It belongs to the run, also if a sub-workflow asked, and
 * is written together with the answer.
 */
export interface AnswerKept {
  readonly type: "answer.kept"
  readonly at: number
  readonly name: string
  readonly value: Json
}

/** Somebody passed a question on to another person. Its deadline, and who is asked after that, stay as they are. */
export interface RequestEscalated {
  readonly type: "request.escalated"
  readonly at: number
  readonly request: RequestId
  readonly to: string
  readonly note?: string | undefined
  /** Who passed it on, as the caller stated. */
  readonly by?: string | undefined
  /** The mail that asked for it. */
  readonly mail?: string | undefined
}

/** A signal arrived. It belongs to the run, which buffers it until a wait takes it. */
export interface SignalReceived {
  readonly type: "signal.received"
  readonly at: number
  readonly id: SignalId
  readonly name: string
  readonly value: Json
  /** The mail that delivered it; its sender gets the outcome. */
  readonly mail?: string | undefined
}

/** A task waits for a signal. */
export interface SignalAwaited {
  readonly type: "signal.awaited"
  readonly at: number
  readonly task: TaskId
  readonly key: string
  readonly wait: SignalWaitSpec
}

/**
 * A wait takes a buffered signal. If the wait is one of a sub-workflow there are two entries: one without a task, which
 * removes the signal from the buffer of the run, and one of the sub-workflow, with the value.
 */
export interface SignalTaken {
  readonly type: "signal.taken"
  readonly at: number
  readonly id: SignalId
  readonly name: string
  readonly task?: TaskId | undefined
  readonly key?: string | undefined
  readonly value?: Json | undefined
}

/** A handler replied to a signal, for the caller who sent it as an update. */
export interface SignalReplied {
  readonly type: "signal.replied"
  readonly at: number
  readonly id: SignalId
  readonly value: Json
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
  /** Undelivered messages of the called workflow and its sub-workflows. */
  readonly undelivered?: readonly Undelivered[] | undefined
}

/** The result of a custom reducer for a superstep's writes. */
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

/** The run starts nothing more until it is resumed. The run and each of its sub-workflows have an entry of their own. */
export interface RunPaused {
  readonly type: "run.paused"
  readonly at: number
  readonly reason?: string | undefined
  /** Who paused it, as the caller stated. */
  readonly by?: string | undefined
  /** The mail that asked for it. */
  readonly mail?: string | undefined
}

/** A paused run continues. */
export interface RunResumed {
  readonly type: "run.resumed"
  readonly at: number
  /** Who resumed it, as the caller stated. */
  readonly by?: string | undefined
  /** The mail that asked for it. */
  readonly mail?: string | undefined
}

/** Whether the entry only states an intent. It is repeated with every try, so it is not progress. */
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
  | AnswerKept
  | RequestEscalated
  | SignalReceived
  | SignalAwaited
  | SignalTaken
  | SignalReplied
  | TimerSet
  | TimerFired
  | CallStarted
  | CallFinished
  | StateReduced
  | RunPaused
  | RunResumed
  | RunFailed
  | RunCancelled
) & {
  /** If it made the run reach a limit: what the executing tasks leave behind. */
  readonly atWork?: LeftByTask | undefined
}
