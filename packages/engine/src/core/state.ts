/** The state of a machine: plain records that only the machine writes, in place, and the effects of an entry. */

import type { AgentChanges } from "./agent-change.ts"
import { type Fifo, NO_ENTRIES, NO_ITEMS, NO_MEMBERS, putEntry, removeEntry } from "./collections.ts"
import type { Entry, LeftByTask } from "./entries.ts"
import type { ErrorData } from "./errors.ts"
import type { MachineEvent } from "./events.ts"
import type { Graph, GraphNode, Limits } from "./graph.ts"
import { IdTable } from "./id-table.ts"
import type { RequestId, RunId, SignalId, TaskId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import type {
  BufferedSignal,
  FinalStatus,
  LeftNotice,
  OpenRequest,
  Pause,
  RunStatus,
  Undelivered,
  WaitOutcome,
} from "./messages.ts"
import { ownCopy, writesInPlace } from "./reducers.ts"
import type { Gate, MapRun, Task } from "./task.ts"
import { type Budget, NO_USAGE, type SourcedUsage, type Usage, type UsageSource } from "./usage.ts"

/** The reservation of a call in progress, of a task or of a sub-workflow below it. */
export interface Reservation {
  readonly task: Task
  readonly key: string
  readonly usage: Usage
  readonly source?: UsageSource | undefined
  /** The usage to count if it can no longer be settled, if more precise than `usage`. */
  readonly spent?: readonly SourcedUsage[] | undefined
}

/** Rarely needed state of a node: waiting tasks, its own state, a budget. */
export class NodeState implements Gate {
  parked = 0
  held = false
  /** Tasks that wait for a place; created with the first one. */
  queue: Fifo<Task> | undefined = undefined
  local: { [key: string]: Json } | undefined = undefined
  /** Counted if the node has a budget. */
  usage: Usage | undefined = undefined
}

/** The k-th message of each source belongs to the k-th round of a join. */
export interface JoinRound {
  readonly round: number
  readonly values: (Json | undefined)[]
  count: number
  /** The round fired before every source had sent; later messages are late. */
  fired: boolean
  traces: string[] | undefined
}

export interface JoinState {
  /** Messages so far, per source. */
  readonly arrivals: number[]
  readonly rounds: Map<number, JoinRound>
}

/**
 * What the driver must do for the machine. Effects of one entry are carried out in order, once the entry is durable (M2).
 */
export type Effect =
  /** Run the task's handler. */
  | { readonly type: "start"; readonly task: Task }
  /** Resume a waiting handler with the outcome. */
  | { readonly type: "resume"; readonly task: Task; readonly key: string; readonly outcome: WaitOutcome }
  /** Stop the handler: its result no longer counts. */
  | { readonly type: "abort"; readonly task: Task; readonly reason: string }
  | { readonly type: "timer"; readonly timer: TimerId; readonly at: number }
  | { readonly type: "clear-timer"; readonly timer: TimerId }
  /** Reduce writes with a function that the runtime holds, and apply `state.reduced` before anything else. */
  | {
      readonly type: "reduce"
      readonly key: string
      readonly reducer: string
      readonly current: Json | undefined
      readonly writes: readonly Json[]
    }
  /** A question is open, or has passed to somebody else. Stored with the entry. */
  | { readonly type: "request"; readonly request: OpenRequest }
  | {
      readonly type: "request-closed"
      readonly request: RequestId
      readonly outcome: "answered" | "expired" | "withdrawn"
      readonly by?: string | undefined
    }
  | { readonly type: "emit"; readonly event: MachineEvent }
  | { readonly type: "finish"; readonly status: FinalStatus }

/** A loop: every entry asks this, and mostly has one effect or none. */
export function hasEffect(effects: readonly Effect[], type: Effect["type"]): boolean {
  for (let i = 0; i < effects.length; i++) if ((effects[i] as Effect).type === type) return true
  return false
}

/** Shared by all runs without limits of their own. */
export const NO_LIMITS: Limits = Object.freeze({})

/** What every step reads or writes comes first: it shares a few cache lines, which counts where many runs take turns. */
export class MachineState {
  readonly graph: Graph
  status: RunStatus = "running"
  /** Whether the run is watched: events are always counted, and created only then. */
  observed = false
  events = 0
  superstep = 0
  nextTask: TaskId = 1
  /** Those that have not ended, in order of creation. */
  readonly tasks: IdTable<Task> = new IdTable()
  /** By node index: visits, tasks that have a place, and rarely needed state. */
  readonly visits: number[]
  readonly active: number[]
  nodes: (NodeState | undefined)[] | undefined = undefined
  /** Tasks the current superstep waits for: all that are neither finished nor parked. */
  open = 0
  parked = 0
  running = 0
  /** Tasks that wait for a place in the run. */
  ready: Fifo<Task> | undefined = undefined
  /** Finished since the last commit. */
  finished: readonly Task[] = NO_ITEMS
  /** Tasks whose writes are applied and whose messages wait for a custom reducer. */
  committing: readonly Task[] = NO_ITEMS
  /** Channels whose writes wait for a custom reducer; the commit continues when none is left. */
  reducing: ReadonlyMap<string, Json[]> = NO_ENTRIES
  limits: Limits = NO_LIMITS
  budget: Budget | undefined = undefined
  /** Of calls in progress, by task and key. */
  reservations: ReadonlyMap<string, Reservation> = NO_ENTRIES
  /** Set once a limit sent the run to its limit route: the superstep at which it finally ends. */
  graceUntil: number | undefined = undefined

  // Of the entry being applied: its effects, its time, the limit it broke. Not part of the state.
  entry: Entry | undefined = undefined
  out: readonly Effect[] = NO_ITEMS
  now = 0
  breach: ErrorData | undefined = undefined
  /** Delivered tasks, to be started before the entry is done. */
  next: readonly Task[] = NO_ITEMS
  nextMaps: readonly MapRun[] = NO_ITEMS

  runId: RunId
  hasStarted = false
  error: ErrorData | undefined = undefined
  /** Set while the status is `paused`. */
  pause: Pause | undefined = undefined
  startedAt = 0
  usage: Usage = NO_USAGE
  usageByAgent: ReadonlyMap<string, Usage> = NO_ENTRIES
  /** The part of `usage` that was reserved and never settled (R2). */
  lost: Usage = NO_USAGE
  /** Model calls that are counted although their outcome is unknown. */
  lostCallsByAgent: ReadonlyMap<string, number> = NO_ENTRIES
  nextRequest = 1
  shared: ReadonlyMap<string, Json> = NO_ENTRIES
  /** Frozen copies of shared values that were read since their last write. Not part of the state. */
  lent: ReadonlyMap<string, Json> = NO_ENTRIES
  joins: (JoinState | undefined)[] | undefined = undefined
  maps: ReadonlyMap<TaskId, MapRun> = NO_ENTRIES
  /** By index of the graph's counted edges. */
  passes: number[] | undefined = undefined
  requests: ReadonlyMap<RequestId, OpenRequest> = NO_ENTRIES
  answered: ReadonlySet<RequestId> = NO_MEMBERS
  /** Signals that no wait has taken yet, in the order of their arrival. */
  signals: ReadonlyMap<SignalId, BufferedSignal> = NO_ENTRIES
  /** All signals ever received: each is received once. */
  signalIds: ReadonlySet<SignalId> = NO_MEMBERS
  /** The last replies to signals. */
  replies: ReadonlyMap<SignalId, Json> = NO_ENTRIES
  /** Open waits for signals. Follows from the tasks. */
  signalWaits = 0
  /** Answers that hold for later questions of the run, by the name of the questions. */
  kept: ReadonlyMap<string, Json> = NO_ENTRIES
  timers: ReadonlyMap<TimerId, number> = NO_ENTRIES
  outputs: readonly Json[] = NO_ITEMS
  undelivered: readonly Undelivered[] = NO_ITEMS

  /** What forks changed of its agents. */
  agents: AgentChanges | undefined = undefined
  /** If a limit ended the run: the progress of its agents. */
  left: LeftNotice | undefined = undefined
  /** Owned by the driver: what executing tasks leave behind when the entry made the run reach a limit. */
  leave: ((breach: ErrorData) => LeftByTask) | undefined = undefined

  constructor(graph: Graph, runId: RunId) {
    this.runId = runId
    this.graph = graph
    this.visits = new Array<number>(graph.nodes.length).fill(0)
    this.active = this.visits.slice()
  }
}

// Shared state is written in place, so that a write costs its own size and not the state's. Other code gets a frozen copy,
// one for all reads between two writes: it can neither change the state nor see it change. Copying on read takes a tenth of
// the time of freezing on read and copying before the next write: a frozen list is slow to copy, and its copy has no room to
// grow.

/** The value of a channel, for code outside of the machine. The run owns its items, so only the top level is copied. */
export function lend(m: MachineState, key: string): Json | undefined {
  const value = m.shared.get(key)
  if (typeof value !== "object" || Object.isFrozen(value)) return value
  const reducer = m.graph.channels.get(key)?.reducer ?? "replace"
  if (!writesInPlace(reducer) || !isLive(m)) return Object.freeze(value)
  const known = m.lent.get(key)
  if (known !== undefined) return known
  const copy = Object.freeze(ownCopy(value))
  m.lent = putEntry(m.lent, key, copy)
  return copy
}

export function lendAll(m: MachineState): [string, Json][] {
  return [...m.shared.keys()].map((key) => [key, lend(m, key) as Json])
}

/** Sets the value of a channel from outside. */
export function setShared(m: MachineState, key: string, value: Json): void {
  removeEntry(m.lent, key)
  m.shared = putEntry(m.shared, key, ownCopy(value))
}

/** The value of a channel, to write into it. */
export function toWrite(m: MachineState, key: string): Json | undefined {
  removeEntry(m.lent, key)
  return m.shared.get(key)
}

export function isLive(m: MachineState): boolean {
  return m.status === "running" || m.status === "waiting" || m.status === "paused"
}

export function nodeState(m: MachineState, node: GraphNode): NodeState {
  m.nodes ??= new Array<NodeState | undefined>(m.graph.nodes.length).fill(undefined)
  let state = m.nodes[node.index]
  if (state === undefined) {
    state = new NodeState()
    m.nodes[node.index] = state
  }
  return state
}
