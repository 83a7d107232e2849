/** The state of a machine: plain records that only the machine writes, in place, and the effects of an entry. */

import type { AgentChanges } from "./agent-change.ts"
import { type Fifo, NO_ENTRIES, NO_ITEMS, NO_MEMBERS, putEntry, removeEntry } from "./collections.ts"
import type { Entry, LeftByTask, TaskFinished } from "./entries.ts"
import type { ErrorData } from "./errors.ts"
import type { MachineEvent } from "./events.ts"
import type { Graph, GraphMap, GraphNode, Limits } from "./graph.ts"
import { IdTable } from "./id-table.ts"
import type { NodeId, RequestId, RunId, SignalId, TaskId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import type {
  BufferedSignal,
  FinalStatus,
  LeftNotice,
  OpenRequest,
  Pause,
  RunStatus,
  TaskStatus,
  Undelivered,
  Wait,
  WaitOutcome,
} from "./messages.ts"
import { ownCopy, writesInPlace } from "./reducers.ts"
import { type Budget, NO_USAGE, type SourcedUsage, type Usage, type UsageSource } from "./usage.ts"

/** The result of a task: its messages, its writes and its traceparent. */
export type TaskEnd = Pick<TaskFinished, "sends" | "writes" | "trace">

/**
 * One node, one message, until it is finished. Both classes of tasks declare all their fields: each step of a run creates a task,
 * and creating one with inherited fields takes a tenth of the time of a step.
 */
export abstract class Task {
  abstract readonly id: TaskId
  abstract readonly node: GraphNode
  abstract readonly message: Json
  abstract readonly from: NodeId | undefined
  abstract readonly superstep: number
  /** When its message arrived. */
  abstract readonly knownAt: number
  /** The map that it works for. */
  abstract readonly map: MapRun | undefined
  /** Which item of its map it works on. */
  abstract readonly item: number
  abstract status: TaskStatus
  /** Its messages and writes, from its end until its superstep commits. */
  abstract ended: TaskEnd | undefined
  /** Owned by the driver while it runs the task; not part of the state. */
  abstract attachment: unknown
  /** Created for the few tasks that have any of it: a run may have a hundred thousand tasks. */
  abstract extras: TaskExtras | undefined

  get attempt(): number {
    return this.extras?.attempt ?? 1
  }
  get answers(): TaskExtras["answers"] {
    return this.extras?.answers
  }
  get traces(): TaskExtras["traces"] {
    return this.extras?.traces
  }
  get memo(): TaskExtras["memo"] {
    return this.extras?.memo
  }
  get starts(): TaskExtras["starts"] {
    return this.extras?.starts
  }
  get failures(): TaskExtras["failures"] {
    return this.extras?.failures
  }
  get left(): TaskExtras["left"] {
    return this.extras?.left
  }
  get waits(): TaskExtras["waits"] {
    return this.extras?.waits
  }
}

/** A task for a message that was sent to its node. */
export class MessageTask extends Task {
  readonly id: TaskId
  readonly node: GraphNode
  readonly message: Json
  readonly from: NodeId | undefined
  readonly superstep: number
  readonly knownAt: number
  status: TaskStatus = "queued"
  ended: TaskEnd | undefined = undefined
  attachment: unknown = undefined
  extras: TaskExtras | undefined = undefined

  constructor(
    id: TaskId,
    node: GraphNode,
    message: Json,
    from: NodeId | undefined,
    superstep: number,
    knownAt: number,
  ) {
    super()
    this.id = id
    this.node = node
    this.message = message
    this.from = from
    this.superstep = superstep
    this.knownAt = knownAt
  }

  get map(): undefined {
    return undefined
  }
  get item(): number {
    return 0
  }
}

/** A task for an item of a map. It reads from the map what all items have in common: a run may have a hundred thousand of them. */
export class ItemTask extends Task {
  readonly map: MapRun
  readonly item: number
  status: TaskStatus = "queued"
  ended: TaskEnd | undefined = undefined
  attachment: unknown = undefined
  extras: TaskExtras | undefined = undefined

  constructor(map: MapRun, item: number) {
    super()
    this.map = map
    this.item = item
  }

  /** The map reserves ids for its items in order. */
  get id(): TaskId {
    return this.map.id + this.item
  }
  get node(): GraphNode {
    return this.map.worker
  }
  get message(): Json {
    return this.map.items[this.item] as Json
  }
  get from(): NodeId | undefined {
    return this.map.from
  }
  get superstep(): number {
    return this.map.superstep
  }
  get knownAt(): number {
    return this.map.knownAt
  }
}

/** What few tasks have. The machine writes it; others read it from the task. */
export class TaskExtras {
  attempt = 1
  /** The request that the message answers. */
  answers: OpenRequest | undefined = undefined
  /** W3C traceparents of the tasks that caused it. */
  traces: readonly string[] | undefined = undefined
  /** Results of steps and of what it waited for, by key: they outlive attempts and restarts. */
  memo: ReadonlyMap<string, Json> | undefined = undefined
  /** Steps that were started and have no result: each may have happened. They outlive attempts and restarts. */
  starts: Set<string> | undefined = undefined
  /** Failures of what it waited for, by key, until its next attempt: a handler may have caught one and continued. */
  failures: ReadonlyMap<string, ErrorData> | undefined = undefined
  /** The progress of called workflows that a limit of their callers ended. */
  left: readonly LeftNotice[] | undefined = undefined
  /** What it waits for, by key. */
  waits: ReadonlyMap<string, Wait> | undefined = undefined
}

export function extrasOf(task: Task): TaskExtras {
  task.extras ??= new TaskExtras()
  return task.extras
}

/** The reservation of a call in progress, of a task or of a sub-workflow below it. */
export interface Reservation {
  readonly task: Task
  readonly key: string
  readonly usage: Usage
  readonly source?: UsageSource | undefined
  /** The usage to count if it can no longer be settled, if more precise than `usage`. */
  readonly spent?: readonly SourcedUsage[] | undefined
}

/** Admits a limited number of tasks at a time, the others in order: a node, or one list in a map. */
export interface Gate {
  /** How many of the tasks that have a place are parked. */
  parked: number
  /** Parked tasks hold every place: the tasks behind them wait for something external too. */
  held: boolean
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

/** One list that a map processes. Tasks are created as places free up; their ids are reserved. */
export class MapRun implements Gate {
  readonly id: TaskId
  readonly map: GraphMap
  readonly worker: GraphNode
  readonly items: readonly Json[]
  readonly from: NodeId | undefined
  readonly superstep: number
  readonly knownAt: number
  readonly results: Json[]
  traces: readonly string[] | undefined
  /** Traceparents of the workers, for the one that gathers. */
  readonly resultTraces: string[] = []
  /** Tasks that have a place. */
  active = 0
  parked = 0
  held = false
  /** The next item to start. */
  next = 0
  left: number

  constructor(
    id: TaskId,
    map: GraphMap,
    worker: GraphNode,
    items: readonly Json[],
    from: NodeId | undefined,
    superstep: number,
    knownAt: number,
  ) {
    this.id = id
    this.map = map
    this.worker = worker
    this.items = items
    this.from = from
    this.superstep = superstep
    this.knownAt = knownAt
    this.results = new Array<Json>(items.length).fill(null)
    this.left = items.length
  }
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
