/** Takes a snapshot of a machine's state, and restores one. */

import { groupBy } from "./analysis.ts"
import { reserve } from "./budget.ts"
import { addMember, Fifo, putEntry, SmallMap } from "./collections.ts"
import { nodeNamed, unknown } from "./entry-checks.ts"
import { SuperstepError } from "./errors.ts"
import type { Graph, GraphNode } from "./graph.ts"
import type { TaskId } from "./ids.ts"
import type { Json } from "./json.ts"
import {
  type FinishedSnapshot,
  type JoinSnapshot,
  type MachineSnapshot,
  type MapSnapshot,
  type NodeSnapshot,
  SNAPSHOT_VERSION,
  type TaskSnapshot,
} from "./snapshot-data.ts"
import { type JoinRound, lendAll, MachineState, type NodeState, nodeState, setShared } from "./state.ts"
import { extrasOf, ItemTask, MapRun, MessageTask, type Task, type TaskExtras } from "./task.ts"
import { NO_USAGE } from "./usage.ts"

export function snapshotOf(m: MachineState): MachineSnapshot {
  return {
    version: SNAPSHOT_VERSION,
    runId: m.runId,
    status: m.status,
    error: m.error,
    pause: m.pause,
    left: m.left,
    startedAt: m.startedAt,
    limits: m.limits,
    budget: m.budget,
    agents: m.agents,
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
    nodes: m.graph.nodes.flatMap((node) => (m.visits[node.index] === 0 ? [] : [nodeOut(m, node)])),
    shared: lendAll(m),
    joins: m.graph.joins.flatMap((join) => {
      const state = m.joins?.[join.index]
      return state === undefined
        ? []
        : [{ id: join.id, arrivals: [...state.arrivals], rounds: [...state.rounds.values()].map(roundOut) }]
    }),
    maps: [...m.maps.values()].map(mapOut),
    passes: m.graph.counted.flatMap(({ index, from, to }) => {
      const count = m.passes?.[index]
      return count === undefined ? [] : [{ from, to, count }]
    }),
    requests: [...m.requests.values()],
    answered: [...m.answered],
    signals: m.signals.size === 0 ? undefined : [...m.signals.values()],
    signalIds: m.signalIds.size === 0 ? undefined : [...m.signalIds],
    replies: m.replies.size === 0 ? undefined : [...m.replies],
    kept: m.kept.size === 0 ? undefined : [...m.kept],
    timers: [...m.timers],
    outputs: [...m.outputs],
    undelivered: [...m.undelivered],
    finished: m.finished.map(finishedOut),
    committing: m.committing.map(finishedOut),
    reducing: [...m.reducing].map(([key, writes]) => [key, [...writes]]),
    open: m.open,
    parked: m.parked,
    running: m.running,
    ready: [...(m.ready ?? [])].map((task) => task.id),
    graceUntil: m.graceUntil,
    events: m.events,
  }
}

/** Migrates a snapshot to the latest version. */
function migrated(snapshot: MachineSnapshot): MachineSnapshot {
  const version = snapshot.version as number
  // Before version 2 nothing was reserved, and before version 3 there were no signals, and before version 4 no pauses:
  // the new parts are empty.
  if (version >= 1 && version < SNAPSHOT_VERSION) return { ...snapshot, version: SNAPSHOT_VERSION }
  if (version === SNAPSHOT_VERSION) return snapshot
  throw new SuperstepError(
    "SNAPSHOT_VERSION",
    `This snapshot has version ${version}; this library reads versions 1 to ${SNAPSHOT_VERSION}. Use a newer library.`,
  )
}

export function restoreState(graph: Graph, stored: MachineSnapshot): MachineState {
  const snapshot = migrated(stored)
  const m = new MachineState(graph, snapshot.runId)
  m.hasStarted = true
  const { status, error, pause, left, startedAt, limits, budget, agents, usage, lost = NO_USAGE } = snapshot
  const { superstep, nextTask, nextRequest, open, parked, running, graceUntil, events } = snapshot
  Object.assign(m, {
    status,
    error,
    pause,
    left,
    startedAt,
    limits,
    budget,
    agents,
    usage,
    lost,
  } satisfies Partial<MachineState>)
  Object.assign(m, {
    superstep,
    nextTask,
    nextRequest,
    open,
    parked,
    running,
    graceUntil,
    events,
  } satisfies Partial<MachineState>)
  for (const [agent, used] of snapshot.usageByAgent ?? [])
    m.usageByAgent = putEntry(m.usageByAgent, agent, used)
  const tasksByMap = groupBy(snapshot.tasks.map((task) => [task.map, task] as const))
  for (const map of snapshot.maps)
    m.maps = putEntry(m.maps, map.id, mapIn(graph, map, tasksByMap.get(map.id)))
  for (const task of snapshot.tasks) m.tasks.add(taskIn(m, task))
  const taskOf = (id: TaskId) => m.tasks.get(id) as Task
  for (const one of snapshot.reservations ?? []) reserve(m, { ...one, task: taskOf(one.task) }, false)
  for (const [agent, calls] of snapshot.lostCallsByAgent ?? [])
    m.lostCallsByAgent = putEntry(m.lostCallsByAgent, agent, calls)
  for (const node of snapshot.nodes) nodeIn(m, node, taskOf)
  for (const [key, value] of snapshot.shared) setShared(m, key, value)
  for (const { id, arrivals, rounds } of snapshot.joins) {
    const join = graph.joinIndex.get(id)
    if (join === undefined) throw unknown(graph, `join "${id}"`)
    m.joins ??= []
    m.joins[join.index] = {
      arrivals: [...arrivals],
      rounds: new Map(rounds.map((round) => [round.round, roundIn(round, join.sources.size)])),
    }
  }
  for (const { from, to, count } of snapshot.passes) {
    const edge = nodeNamed(graph, from).counted.get(to)
    if (edge === undefined) continue
    m.passes ??= []
    m.passes[edge.index] = count
  }
  for (const request of snapshot.requests) m.requests = putEntry(m.requests, request.id, request)
  for (const id of snapshot.answered) m.answered = addMember(m.answered, id)
  for (const signal of snapshot.signals ?? []) m.signals = putEntry(m.signals, signal.id, signal)
  for (const id of snapshot.signalIds ?? []) m.signalIds = addMember(m.signalIds, id)
  for (const [id, reply] of snapshot.replies ?? []) m.replies = putEntry(m.replies, id, reply)
  for (const [name, answer] of snapshot.kept ?? []) m.kept = putEntry(m.kept, name, answer)
  for (const [timer, at] of snapshot.timers) m.timers = putEntry(m.timers, timer, at)
  m.outputs = [...snapshot.outputs]
  m.undelivered = [...snapshot.undelivered]
  m.finished = snapshot.finished.map((task) => finishedIn(m, task))
  m.committing = snapshot.committing.map((task) => finishedIn(m, task))
  for (const [key, writes] of snapshot.reducing) m.reducing = putEntry(m.reducing, key, [...writes])
  if (snapshot.ready.length > 0) m.ready = new Fifo()
  for (const id of snapshot.ready) m.ready?.push(taskOf(id))
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
    left: task.left,
    waits: task.waits === undefined ? undefined : [...task.waits],
  }
}

function taskIn(m: MachineState, data: TaskSnapshot): Task {
  const { id, message, from, superstep, knownAt, status, attempt, answers, traces } = data
  const map = data.map === undefined ? undefined : m.maps.get(data.map)
  const task =
    map === undefined
      ? new MessageTask(id, nodeNamed(m.graph, data.node), message, from, superstep, knownAt)
      : new ItemTask(map, id - map.id)
  for (const [, { kind }] of data.waits ?? []) if (kind === "signal") m.signalWaits++
  Object.assign(extrasOf(task), {
    attempt,
    answers,
    traces,
    memo: data.memo && SmallMap.of(data.memo),
    starts: data.starts && new Set(data.starts),
    failures: data.failures && SmallMap.of(data.failures),
    left: data.left,
    waits: data.waits && SmallMap.of(data.waits),
  } satisfies TaskExtras)
  return Object.assign(task, { status } satisfies Partial<Task>)
}

function nodeOut(m: MachineState, { id, index }: GraphNode): NodeSnapshot {
  const node = m.nodes?.[index]
  return {
    id,
    visits: m.visits[index] as number,
    active: m.active[index] as number,
    parked: node?.parked ?? 0,
    held: node?.held ?? false,
    queue: [...(node?.queue ?? [])].map((task) => task.id),
    local: node?.local === undefined ? undefined : { ...node.local },
    usage: node?.usage,
  }
}

function nodeIn(m: MachineState, data: NodeSnapshot, taskOf: (id: TaskId) => Task): void {
  const { visits, active, parked, held, queue, local, usage } = data
  const graphNode = nodeNamed(m.graph, data.id)
  m.visits[graphNode.index] = visits
  m.active[graphNode.index] = active
  if (parked === 0 && queue.length === 0 && local === undefined && usage === undefined) return
  const node = Object.assign(nodeState(m, graphNode), { parked, held, usage } satisfies Partial<NodeState>)
  if (queue.length > 0) node.queue = new Fifo()
  for (const id of queue) node.queue?.push(taskOf(id))
  if (local !== undefined) node.local = Object.assign(Object.create(null), local)
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

function mapIn(graph: Graph, data: MapSnapshot, tasks: readonly TaskSnapshot[] = []): MapRun {
  const map = graph.maps.get(data.worker)
  if (map === undefined) throw unknown(graph, `map over "${data.worker}"`)
  const { id, from, superstep, knownAt, traces, next, active, parked, held, left } = data
  const worker = graph.nodes[map.worker] as GraphNode
  const items = [...data.items]
  // A migration may have changed the messages of tasks, which read them from the map.
  for (const task of tasks) items[task.id - id] = task.message
  const run = new MapRun(id, map, worker, Object.freeze(items), from, superstep, knownAt)
  for (const [i, result] of data.results.entries()) run.results[i] = result
  run.resultTraces.push(...data.resultTraces)
  return Object.assign(run, { traces, next, active, parked, held, left } satisfies Partial<MapRun>)
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
  const { round, count, fired, traces } = data
  const values = new Array<Json | undefined>(sources).fill(undefined)
  for (const [i, value] of data.values) values[i] = value
  return { round, values, count, fired, traces: traces && [...traces] }
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
  const { sends, writes, trace, traces, answers } = data
  const map = data.map === undefined ? undefined : m.maps.get(data.map)
  const task =
    map === undefined
      ? new MessageTask(data.task, nodeNamed(m.graph, data.node), null, undefined, data.superstep, 0)
      : new ItemTask(map, data.task - map.id)
  Object.assign(extrasOf(task), { traces, answers } satisfies Partial<TaskExtras>)
  const ended = { sends, writes, trace }
  return Object.assign(task, { status: "over", ended } satisfies Partial<Task>)
}
