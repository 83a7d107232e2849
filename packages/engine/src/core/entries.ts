/**
 * The journal: what happened to a run, in order. Applying its entries to a machine gives the run's state, and
 * nothing else does. Entries are deltas; routing was decided where user code runs and is part of the record.
 */
import type { ErrorData } from "./errors.ts"
import type { Limits } from "./graph.ts"
import type { JoinId, NodeId, RequestId, RunId, TaskId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { MachineSnapshot } from "./snapshot.ts"
import type { Budget, Usage, UsageSource } from "./usage.ts"

/** Where one message goes: nodes, joins, maps (by their worker), the run's outputs, or nowhere for a reason. */
export interface Route {
  readonly nodes?: readonly NodeId[] | undefined
  readonly joins?: readonly JoinId[] | undefined
  readonly maps?: readonly NodeId[] | undefined
  readonly output?: boolean | undefined
  /** It is the result of an item, for the map that the task works for. */
  readonly result?: boolean | undefined
  /** The value is a failure, for joins that settle. */
  readonly failed?: boolean | undefined
  /** Why it goes nowhere. */
  readonly reason?: string | undefined
}

export interface Send {
  readonly value: Json
  readonly route: Route
}

/** A question to a person. */
export interface RequestSpec {
  readonly prompt: string
  /** What the person needs to see to answer. */
  readonly data?: Json | undefined
  /** JSON Schema of the answer, where it is known. */
  readonly schema?: Json | undefined
  /** Whom it is for. */
  readonly to?: string | undefined
  /** Milliseconds since the epoch after which it goes on to the first of `escalate`; after the last, see `default`. */
  readonly deadline?: number | undefined
  readonly escalate?: readonly Escalation[] | undefined
  /** The answer when the last deadline has passed; without one the request expires. */
  readonly default?: Json | undefined
}

/** Who is asked when nobody answered in time, and how long they have. */
export interface Escalation {
  readonly to: string
  readonly timeout?: number | undefined
}

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
  /** The thread that the first values of lasting channels come from, and how far it had come. */
  readonly thread?: { readonly id: string; readonly version: number } | undefined
}

/**
 * A new run that has another one's past. It may change shared state, and how far the run may go; time goes on as if it
 * were still then.
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
 * The run goes on with another version of its workflow: with its state as it was, nodes and joins matched by name, or
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
}

/** No handler of the node takes the message. */
export interface TaskRejected {
  readonly type: "task.rejected"
  readonly at: number
  readonly task: TaskId
  readonly reason: string
}

/**
 * A step that costs or has an effect is about to be made. Durable before it is: a step that has started and has no result
 * may have happened. What it reserves counts as used until its result is recorded, or for good (R1, R2 in counting.ts).
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
}

/** How something that a task waited for ended. */
export type WaitOutcome =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: ErrorData }

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
  /** The mail that asked for it. */
  readonly mail?: string | undefined
}

/** Whether the entry only says what is about to be done. It is made anew each time that is tried: no progress. */
export function isIntent({ type }: Entry): boolean {
  return type === "step.started" || type === "usage.reserved"
}

export type Entry =
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
