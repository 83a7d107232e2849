/** Tasks, and the maps that some of them work for: plain records that only the machine writes, in place. */

import type { TaskFinished } from "./entries.ts"
import type { ErrorData } from "./errors.ts"
import type { GraphMap, GraphNode } from "./graph.ts"
import type { NodeId, TaskId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { LeftNotice, OpenRequest, TaskStatus, Wait } from "./messages.ts"

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
  /** Counted from 1. */
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

/** Admits a limited number of tasks at a time, the others in order: a node, or one list in a map. */
export interface Gate {
  /** How many of the tasks that have a place are parked. */
  parked: number
  /** Parked tasks hold every place: the tasks behind them wait for something external too. */
  held: boolean
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
