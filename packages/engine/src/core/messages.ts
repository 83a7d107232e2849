/** Messages of a run and what it waits for, as they appear in entries, events and snapshots. */
import type { ErrorData } from "./errors.ts"
import type { JoinId, NodeId, RequestId, SignalId, TaskId } from "./ids.ts"
import type { Json } from "./json.ts"

export type RunStatus = "running" | "waiting" | "paused" | "completed" | "failed" | "cancelled" | "limit"
export type FinalStatus = Exclude<RunStatus, "running" | "waiting" | "paused">

/** Since when a run is paused, by whom and why. */
export interface Pause {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly reason?: string | undefined
  /** Who paused it, as the caller stated. */
  readonly by?: string | undefined
}

/**
 * `queued`: waits for a free place. `backoff`: waits for its next attempt. `parked`: waits for a person, a signal, a timer
 * or a sub-workflow, or has its outcome and continues when the paused run does. `over`: finished, finally failed or dropped.
 */
export type TaskStatus = "queued" | "running" | "backoff" | "parked" | "over"

/** Where one message goes: nodes, joins, maps (by their worker), the run's outputs, or nowhere, with a reason. */
export interface Route {
  readonly nodes?: readonly NodeId[] | undefined
  readonly joins?: readonly JoinId[] | undefined
  readonly maps?: readonly NodeId[] | undefined
  readonly output?: boolean | undefined
  /** The message is the result of an item of a map. */
  readonly result?: boolean | undefined
  /** The value is a failure, for joins that settle. */
  readonly failed?: boolean | undefined
  /** Why the message goes nowhere. */
  readonly reason?: string | undefined
}

export interface Send {
  readonly value: Json
  readonly route: Route
}

/** A message that reached no node, and why. */
export interface Undelivered {
  /** Set for a sub-workflow: which one, as in the `path` of its events. */
  readonly path?: readonly string[] | undefined
  readonly from?: NodeId | undefined
  readonly to?: NodeId | undefined
  readonly reason: string
  readonly value: Json
}

/** A question to a person. */
export interface RequestSpec {
  readonly prompt: string
  /** What the person needs to see to answer. */
  readonly data?: Json | undefined
  /** JSON Schema of the answer, if known. */
  readonly schema?: Json | undefined
  /** The assignee. */
  readonly to?: string | undefined
  /** Milliseconds since the epoch after which it passes to the first of `escalate`; after the last, see `default`. */
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

/** A question that is open. */
export interface OpenRequest {
  readonly id: RequestId
  readonly node: NodeId
  readonly task: TaskId
  readonly prompt: string
  /** The assignee. */
  readonly to?: string | undefined
  readonly data?: Json | undefined
  readonly schema?: Json | undefined
  readonly openedAt: number
  readonly deadline?: number | undefined
  /** Who is asked next if nobody answers in time. */
  readonly escalate?: readonly Escalation[] | undefined
  readonly default?: Json | undefined
  /** Of a question that somebody passed on: what they wrote, and who it was. */
  readonly note?: string | undefined
  readonly escalatedBy?: string | undefined
}

/** What a task waits for. */
export type Wait =
  | { readonly kind: "request"; readonly request: RequestId }
  | { readonly kind: "timer"; readonly until: number }
  | { readonly kind: "call"; readonly workflow: string; readonly number?: number | undefined }
  | SignalWait

/** A task waits for a signal with this name. */
export interface SignalWait extends SignalWaitSpec {
  readonly kind: "signal"
}

export interface SignalWaitSpec {
  readonly name: string
  /** Among the open waits of the run and its sub-workflows the lowest one takes the next signal. */
  readonly order: number
  /** JSON Schema of the value, if known. */
  readonly schema?: Json | undefined
  /** Milliseconds since the epoch after which the wait ends with `default`, or fails. */
  readonly deadline?: number | undefined
  readonly default?: Json | undefined
}

/** The wait, with its time moved by so many milliseconds. */
export function movedWait(wait: Wait, later: number): Wait {
  if (wait.kind === "timer") return { ...wait, until: wait.until + later }
  if (wait.kind === "signal" && wait.deadline !== undefined)
    return { ...wait, deadline: wait.deadline + later }
  return wait
}

/** A signal that no wait has taken yet. */
export interface BufferedSignal {
  readonly id: SignalId
  readonly name: string
  readonly value: Json
  /** When it was received. */
  readonly at: number
}

/** The progress of a task when a limit ended it. */
export interface LeftNotice {
  readonly [key: string]: Json
}

/** How something that a task waited for ended. */
export type WaitOutcome =
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false
      readonly error: ErrorData
      /** For a called workflow that a limit ended: the progress of its agents. */
      readonly left?: LeftNotice | undefined
    }
