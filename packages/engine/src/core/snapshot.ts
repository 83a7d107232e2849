/**
 * A machine's state as plain data and back. Nodes and joins appear by name, so that a snapshot can meet a graph
 * that has changed. A later version brings a function from the one before.
 *
 * Version 2 adds steps that were started and have no result, what calls under way have reserved, and lost model calls.
 */

import { reserve } from "./counting.ts"
import type { Send, TaskFinished } from "./entries.ts"
import { type ErrorData, SuperstepError } from "./errors.ts"
import type { OpenRequest, RunStatus, Undelivered, Wait } from "./events.ts"
import { Fifo } from "./fifo.ts"
import { nodeNamed, unknown } from "./fitting.ts"
import type { Graph, GraphNode, Limits } from "./graph.ts"
import type { JoinId, NodeId, RequestId, RunId, TaskId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import { ownCopy } from "./reducers.ts"
import { type JoinRound, MachineState, MapRun, NodeState, Task, type TaskStatus } from "./state.ts"
import type { Budget, Usage, UsageSource } from "./usage.ts"

export const SNAPSHOT_VERSION = 2

interface TaskSnapshot {
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
  waits?: [string, Wait][] | undefined
}

interface ReservationSnapshot {
  task: TaskId
  key: string
  usage: Usage
  source?: UsageSource | undefined
}

interface NodeSnapshot {
  id: NodeId
  visits: number
  active: number
  parked: number
  held: boolean
  queue: TaskId[]
  local?: { [key: string]: Json } | undefined
  usage?: Usage | undefined
}

interface MapSnapshot {
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

interface JoinSnapshot {
  id: JoinId
  arrivals: readonly number[]
  /** A source that has not sent is absent from `values`, which pairs its place with its message. */
  rounds: {
    round: number
    values: [number, Json][]
    count: number
    fired: boolean
    traces?: string[] | undefined
  }[]
}

interface FinishedSnapshot {
  task: TaskId
  node: NodeId
  superstep: number
  sends: readonly Send[]
  writes?: TaskFinished["writes"]
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
  startedAt: number
  limits: Limits
  budget?: Budget | undefined
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

export function snapshotOf(m: MachineState): MachineSnapshot {
  for (const key of m.shared.keys()) m.lent.add(key)
  return {
    version: SNAPSHOT_VERSION,
    runId: m.runId,
    status: m.status,
    error: m.error,
    startedAt: m.startedAt,
    limits: m.limits,
    budget: m.budget,
    usage: m.usage,
    usageByAgent: m.usageByAgent.size === 0 ? undefined : [...m.usageByAgent],
    reservations:
      m.reservations.size === 0
        ? undefined
        : [...m.reservations.values()].map((one) => ({ ...one, task: one.task.id })),
    lost: m.lost,
    lostCallsByAgent: m.lostCallsByAgent.size === 0 ? undefined : [...m.lostCallsByAgent],
    superstep: m.superstep,
    nextTask: m.nextTask,
    nextRequest: m.nextRequest,
    tasks: [...m.tasks.values()].map(taskOut),
    nodes: m.nodes.flatMap((node, i) =>
      node === undefined ? [] : [nodeOut((m.graph.nodes[i] as GraphNode).id, node)],
    ),
    shared: [...m.shared],
    joins: m.graph.joins.flatMap((join) => {
      const state = m.joins[join.index]
      return state === undefined
        ? []
        : [{ id: join.id, arrivals: [...state.arrivals], rounds: [...state.rounds.values()].map(roundOut) }]
    }),
    maps: [...m.maps.values()].map(mapOut),
    passes: m.graph.counted.flatMap(({ index, from, to }) => {
      const count = m.passes[index]
      return count === undefined ? [] : [{ from, to, count }]
    }),
    requests: [...m.requests.values()],
    answered: [...m.answered],
    timers: [...m.timers],
    outputs: [...m.outputs],
    undelivered: [...m.undelivered],
    finished: m.finished.map(finishedOut),
    committing: m.committing.map(finishedOut),
    reducing: [...m.reducing].map(([key, writes]) => [key, [...writes]]),
    open: m.open,
    parked: m.parked,
    running: m.running,
    ready: [...m.ready].map((task) => task.id),
    graceUntil: m.graceUntil,
    events: m.events,
  }
}

/** A snapshot of any version so far, as the latest. */
function migrated(snapshot: MachineSnapshot): MachineSnapshot {
  const version = snapshot.version as number
  // Before version 2 nothing was reserved: all that the new parts hold was absent.
  if (version === 1) return { ...snapshot, version: SNAPSHOT_VERSION }
  if (version === SNAPSHOT_VERSION) return snapshot
  throw new SuperstepError(
    "SNAPSHOT_VERSION",
    `This snapshot has version ${version}; this library reads versions 1 to ${SNAPSHOT_VERSION}. Use a newer library.`,
  )
}

export function restoreState(graph: Graph, stored: MachineSnapshot): MachineState {
  const snapshot = migrated(stored)
  const m = new MachineState(graph)
  m.runId = snapshot.runId
  m.status = snapshot.status
  m.error = snapshot.error
  m.startedAt = snapshot.startedAt
  m.limits = snapshot.limits
  m.budget = snapshot.budget
  m.usage = snapshot.usage
  for (const [agent, usage] of snapshot.usageByAgent ?? []) m.usageByAgent.set(agent, usage)
  m.superstep = snapshot.superstep
  m.nextTask = snapshot.nextTask
  m.nextRequest = snapshot.nextRequest
  m.open = snapshot.open
  m.parked = snapshot.parked
  m.running = snapshot.running
  m.graceUntil = snapshot.graceUntil
  m.events = snapshot.events
  for (const map of snapshot.maps) m.maps.set(map.id, mapIn(graph, map))
  for (const task of snapshot.tasks) m.tasks.add(taskIn(m, task))
  const taskOf = (id: TaskId) => m.tasks.get(id) as Task
  for (const one of snapshot.reservations ?? []) reserve(m, { ...one, task: taskOf(one.task) }, false)
  m.lost = snapshot.lost ?? {}
  for (const [agent, calls] of snapshot.lostCallsByAgent ?? []) m.lostCallsByAgent.set(agent, calls)
  for (const node of snapshot.nodes) m.nodes[nodeNamed(graph, node.id).index] = nodeIn(node, taskOf)
  for (const [key, value] of snapshot.shared) m.shared.set(key, ownCopy(value))
  for (const { id, arrivals, rounds } of snapshot.joins) {
    const join = graph.joinIndex.get(id)
    if (join === undefined) throw unknown(graph, `join "${id}"`)
    m.joins[join.index] = {
      arrivals: [...arrivals],
      rounds: new Map(rounds.map((round) => [round.round, roundIn(round, join.sources.size)])),
    }
  }
  for (const { from, to, count } of snapshot.passes) {
    const edge = nodeNamed(graph, from).counted.get(to)
    if (edge !== undefined) m.passes[edge.index] = count
  }
  for (const request of snapshot.requests) m.requests.set(request.id, request)
  for (const id of snapshot.answered) m.answered.add(id)
  for (const [timer, at] of snapshot.timers) m.timers.set(timer, at)
  for (const output of snapshot.outputs) m.outputs.push(output)
  for (const message of snapshot.undelivered) m.undelivered.push(message)
  m.finished = snapshot.finished.map((task) => finishedIn(m, task))
  m.committing = snapshot.committing.map((task) => finishedIn(m, task))
  for (const [key, writes] of snapshot.reducing) m.reducing.set(key, [...writes])
  for (const id of snapshot.ready) m.ready.push(taskOf(id))
  return m
}

function taskOut(task: Task): TaskSnapshot {
  return {
    id: task.id,
    node: task.node.id,
    message: task.message,
    from: task.from,
    superstep: task.superstep,
    knownAt: task.knownAt,
    status: task.status,
    attempt: task.attempt,
    map: task.map?.id,
    item: task.map === undefined ? undefined : task.item,
    answers: task.answers,
    traces: task.traces,
    memo: task.memo === undefined ? undefined : [...task.memo],
    starts: task.starts === undefined || task.starts.size === 0 ? undefined : [...task.starts],
    failures: task.failures === undefined ? undefined : [...task.failures],
    waits: task.waits === undefined ? undefined : [...task.waits],
  }
}

function taskIn(m: MachineState, data: TaskSnapshot): Task {
  const task = new Task(
    data.id,
    nodeNamed(m.graph, data.node),
    data.message,
    data.from,
    data.superstep,
    data.knownAt,
  )
  task.status = data.status
  task.attempt = data.attempt
  task.map = data.map === undefined ? undefined : m.maps.get(data.map)
  task.item = data.item ?? 0
  task.answers = data.answers
  task.traces = data.traces
  task.memo = data.memo === undefined ? undefined : new Map(data.memo)
  task.starts = data.starts === undefined ? undefined : new Set(data.starts)
  task.failures = data.failures === undefined ? undefined : new Map(data.failures)
  task.waits = data.waits === undefined ? undefined : new Map(data.waits)
  return task
}

function nodeOut(id: NodeId, node: NodeState): NodeSnapshot {
  return {
    id,
    visits: node.visits,
    active: node.active,
    parked: node.parked,
    held: node.held,
    queue: [...(node.queue ?? [])].map((task) => task.id),
    local: node.local === undefined ? undefined : { ...node.local },
    usage: node.usage,
  }
}

function nodeIn(data: NodeSnapshot, taskOf: (id: TaskId) => Task): NodeState {
  const node = new NodeState()
  node.visits = data.visits
  node.active = data.active
  node.parked = data.parked
  node.held = data.held
  if (data.queue.length > 0) node.queue = new Fifo()
  for (const id of data.queue) node.queue?.push(taskOf(id))
  node.usage = data.usage
  if (data.local !== undefined) node.local = Object.assign(Object.create(null), data.local)
  return node
}

function mapOut(run: MapRun): MapSnapshot {
  return {
    id: run.id,
    worker: run.map.group.worker,
    items: run.items,
    from: run.from,
    superstep: run.superstep,
    knownAt: run.knownAt,
    results: [...run.results],
    traces: run.traces,
    resultTraces: [...run.resultTraces],
    active: run.active,
    parked: run.parked,
    held: run.held,
    next: run.next,
    left: run.left,
  }
}

function mapIn(graph: Graph, data: MapSnapshot): MapRun {
  const map = graph.maps.get(data.worker)
  if (map === undefined) throw unknown(graph, `map over "${data.worker}"`)
  const run = new MapRun(data.id, map, data.items, data.from, data.superstep, data.knownAt)
  data.results.forEach((result, i) => {
    run.results[i] = result
  })
  run.traces = data.traces
  run.resultTraces.push(...data.resultTraces)
  run.next = data.next
  run.active = data.active
  run.parked = data.parked
  run.held = data.held
  run.left = data.left
  return run
}

function roundOut(round: JoinRound): JoinSnapshot["rounds"][number] {
  return {
    round: round.round,
    values: round.values.flatMap((value, i): [number, Json][] => (value === undefined ? [] : [[i, value]])),
    count: round.count,
    fired: round.fired,
    traces: round.traces === undefined ? undefined : [...round.traces],
  }
}

function roundIn(data: JoinSnapshot["rounds"][number], sources: number): JoinRound {
  const values = new Array<Json | undefined>(sources).fill(undefined)
  for (const [i, value] of data.values) values[i] = value
  return { round: data.round, values, count: data.count, fired: data.fired, traces: data.traces }
}

function finishedOut(task: Task): FinishedSnapshot {
  return {
    task: task.id,
    node: task.node.id,
    superstep: task.superstep,
    sends: task.ended?.sends ?? [],
    writes: task.ended?.writes,
    map: task.map?.id,
    item: task.item,
    trace: task.ended?.trace,
    traces: task.traces,
    answers: task.answers,
  }
}

function finishedIn(m: MachineState, data: FinishedSnapshot): Task {
  const task = new Task(data.task, nodeNamed(m.graph, data.node), null, undefined, data.superstep, 0)
  task.status = "over"
  task.ended = { sends: data.sends, writes: data.writes, trace: data.trace }
  task.map = data.map === undefined ? undefined : m.maps.get(data.map)
  task.item = data.item
  task.traces = data.traces
  task.answers = data.answers
  return task
}
