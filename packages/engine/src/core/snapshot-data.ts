/**
 * The state of a machine as plain data. Nodes and joins appear by name, so that a snapshot can be restored with a graph that
 * has changed. Each later version has a migration from the previous one.
 *
 * Version 2 adds steps that were started and have no result, what calls in progress have reserved, and lost model calls.
 * Version 3 adds signals. Version 4 adds pauses.
 */
import type { AgentChanges } from "./agent-change.ts"
import type { ErrorData } from "./errors.ts"
import type { Limits } from "./graph.ts"
import type { JoinId, NodeId, RequestId, RunId, SignalId, TaskId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import type {
  BufferedSignal,
  LeftNotice,
  OpenRequest,
  Pause,
  RunStatus,
  Send,
  TaskStatus,
  Undelivered,
  Wait,
} from "./messages.ts"
import type { Budget, SourcedUsage, Usage, UsageSource } from "./usage.ts"

export const SNAPSHOT_VERSION = 4

export interface TaskSnapshot {
  id: TaskId
  node: NodeId
  message: Json
  from?: NodeId | undefined
  superstep: number
  knownAt: number
  status: TaskStatus
  attempt: number
  map?: TaskId | undefined
  item?: number | undefined
  answers?: OpenRequest | undefined
  traces?: readonly string[] | undefined
  memo?: [string, Json][] | undefined
  starts?: string[] | undefined
  failures?: [string, ErrorData][] | undefined
  left?: readonly LeftNotice[] | undefined
  waits?: [string, Wait][] | undefined
}

interface ReservationSnapshot {
  task: TaskId
  key: string
  usage: Usage
  source?: UsageSource | undefined
  spent?: readonly SourcedUsage[] | undefined
}

export interface NodeSnapshot {
  id: NodeId
  visits: number
  active: number
  parked: number
  held: boolean
  queue: TaskId[]
  local?: { [key: string]: Json } | undefined
  usage?: Usage | undefined
}

export interface MapSnapshot {
  id: TaskId
  worker: NodeId
  items: readonly Json[]
  from?: NodeId | undefined
  superstep: number
  knownAt: number
  results: readonly Json[]
  traces?: readonly string[] | undefined
  resultTraces: readonly string[]
  active: number
  parked: number
  held: boolean
  next: number
  left: number
}

export interface JoinSnapshot {
  id: JoinId
  arrivals: readonly number[]
  /** A source that has not sent is absent from `values`, which pairs its index with its message. */
  rounds: {
    round: number
    values: [number, Json][]
    count: number
    fired: boolean
    traces?: string[] | undefined
  }[]
}

export interface FinishedSnapshot {
  task: TaskId
  node: NodeId
  superstep: number
  sends: readonly Send[]
  writes?: readonly (readonly [key: string, value: Json])[] | undefined
  map?: TaskId | undefined
  item: number
  trace?: string | undefined
  traces?: readonly string[] | undefined
  answers?: OpenRequest | undefined
}

export interface MachineSnapshot {
  version: typeof SNAPSHOT_VERSION
  runId: RunId
  status: RunStatus
  error?: ErrorData | undefined
  pause?: Pause | undefined
  left?: LeftNotice | undefined
  startedAt: number
  limits: Limits
  budget?: Budget | undefined
  agents?: AgentChanges | undefined
  usage: Usage
  usageByAgent?: [string, Usage][] | undefined
  reservations?: ReservationSnapshot[] | undefined
  lost?: Usage | undefined
  lostCallsByAgent?: [string, number][] | undefined
  superstep: number
  nextTask: TaskId
  nextRequest: number
  tasks: TaskSnapshot[]
  nodes: NodeSnapshot[]
  shared: [string, Json][]
  joins: JoinSnapshot[]
  maps: MapSnapshot[]
  passes: { from: NodeId; to: NodeId; count: number }[]
  requests: OpenRequest[]
  answered: RequestId[]
  signals?: BufferedSignal[] | undefined
  signalIds?: SignalId[] | undefined
  replies?: [SignalId, Json][] | undefined
  kept?: [string, Json][] | undefined
  timers: [TimerId, number][]
  outputs: Json[]
  undelivered: Undelivered[]
  finished: FinishedSnapshot[]
  committing: FinishedSnapshot[]
  reducing: [string, Json[]][]
  open: number
  parked: number
  running: number
  ready: TaskId[]
  graceUntil?: number | undefined
  events: number
}
