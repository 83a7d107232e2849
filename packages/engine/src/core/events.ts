/**
 * The events that a machine emits to watchers. Events follow from the journal alone: the same entries yield the same events
 * in the same order. The envelope (run, sequence, time, path) is the runtime's.
 */

import type { AgentChanges } from "./agent-change.ts"
import type { ErrorData } from "./errors.ts"
import type { JoinId, NodeId, RequestId, RunId, SignalId, TaskId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { FinalStatus, OpenRequest, Send, Undelivered, Wait } from "./messages.ts"
import type { Usage, UsageSource } from "./usage.ts"

export type MachineEvent =
  | {
      readonly type: "run.started"
      readonly workflow: string
      readonly input: Json
      /** The initial state; absent if empty. */
      readonly state?: { readonly [key: string]: Json } | undefined
    }
  | {
      readonly type: "run.forked"
      readonly from: { readonly runId: RunId; readonly seq: number }
      /** Milliseconds by which deadlines and timers moved. */
      readonly later: number
      /** What the fork changed in shared state. */
      readonly state?: { readonly [key: string]: Json } | undefined
      /** What it changed of agents. */
      readonly agents?: AgentChanges | undefined
    }
  | { readonly type: "run.waiting" }
  /** What it waited for happened, or somebody resumed it after a pause: then `by` may say who. */
  | { readonly type: "run.resumed"; readonly by?: string | undefined }
  | {
      readonly type: "run.paused"
      readonly reason?: string | undefined
      readonly by?: string | undefined
    }
  | { readonly type: "run.finished"; readonly status: FinalStatus; readonly error?: ErrorData | undefined }
  | { readonly type: "superstep.started"; readonly superstep: number; readonly tasks: number }
  | { readonly type: "superstep.committed"; readonly superstep: number }
  | {
      readonly type: "task.started"
      readonly task: TaskId
      readonly node: NodeId
      readonly attempt: number
      readonly superstep: number
      readonly input: Json
      readonly from?: NodeId | undefined
    }
  | {
      readonly type: "task.finished"
      readonly task: TaskId
      readonly node: NodeId
      readonly sends: readonly Send[]
      readonly settled?: ErrorData | undefined
    }
  | {
      readonly type: "task.failed"
      readonly task: TaskId
      readonly node: NodeId
      readonly attempt: number
      readonly error: ErrorData
      /** Time of the retry; absent after the last attempt. */
      readonly retryAt?: number | undefined
    }
  | { readonly type: "task.parked"; readonly task: TaskId; readonly node: NodeId; readonly wait: Wait }
  | { readonly type: "task.resumed"; readonly task: TaskId; readonly node: NodeId }
  /** No handler accepts its message, which is reported as undelivered. */
  | { readonly type: "task.rejected"; readonly task: TaskId; readonly node: NodeId; readonly reason: string }
  | { readonly type: "task.cancelled"; readonly task: TaskId; readonly node: NodeId }
  | {
      readonly type: "step.recorded"
      readonly task: TaskId
      readonly node: NodeId
      readonly key: string
      readonly value: Json
      readonly details?: Json | undefined
    }
  | ({ readonly type: "message.undelivered" } & Omit<Undelivered, "path">)
  | {
      readonly type: "join.waiting"
      readonly join: JoinId
      readonly node: NodeId
      readonly missing: readonly NodeId[]
    }
  | {
      readonly type: "state.written"
      readonly task: TaskId
      readonly node: NodeId
      readonly key: string
      readonly reducer: string
      readonly value: Json
    }
  | { readonly type: "output"; readonly task: TaskId; readonly node: NodeId; readonly value: Json }
  | { readonly type: "request.opened"; readonly request: OpenRequest }
  /** Nobody answered in time: the request passed to the next person. */
  | { readonly type: "request.escalated"; readonly request: OpenRequest }
  | {
      readonly type: "request.answered"
      readonly request: RequestId
      readonly value: Json
      readonly by?: string | undefined
    }
  | { readonly type: "request.closed"; readonly request: RequestId; readonly reason: "expired" | "withdrawn" }
  | {
      readonly type: "signal.received"
      readonly id: SignalId
      readonly name: string
      readonly value: Json
    }
  /** A wait of the task took the signal. */
  | {
      readonly type: "signal.taken"
      readonly id: SignalId
      readonly name: string
      readonly task: TaskId
      readonly node: NodeId
    }
  /** The caller who sent the signal as an update gets this reply. */
  | { readonly type: "signal.replied"; readonly id: SignalId; readonly value: Json }
  | {
      readonly type: "usage.recorded"
      readonly task: TaskId
      readonly node: NodeId
      readonly usage: Usage
      readonly source?: UsageSource | undefined
    }
  | { readonly type: "limit.reached"; readonly error: ErrorData; readonly goesTo?: NodeId | undefined }
