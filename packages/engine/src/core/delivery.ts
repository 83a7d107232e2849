/**
 * From what tasks sent to the tasks that come of it: nodes, joins, maps, outputs (M5). Joins keep a buffer per
 * source over supersteps: the k-th message of every source belongs to round k.
 */

import { nodeState } from "./admission.ts"
import { emit, reportUndelivered, watched } from "./emit.ts"
import type { Route, Send } from "./entries.ts"
import type { ErrorData } from "./errors.ts"
import type { GraphJoin, GraphMap, GraphNode, Settled } from "./graph.ts"
import type { JoinId, NodeId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import { type FinishedTask, type JoinRound, type MachineState, MapRun, Task } from "./state.ts"

/** A task that gathers very many results remembers this many of its causes: what a span can link to by default. */
const MOST_LINKS = 128

/** Delivers everything a finished task sent; the tasks that come of it are added to `next`, not yet started. */
export function deliverAll(m: MachineState, from: FinishedTask, next: (Task | MapRun)[]): void {
  for (const send of from.sends) deliver(m, from, send, next)
  const map = from.map
  if (map === undefined) return
  map.left--
  if (from.trace !== undefined && map.resultTraces.length < MOST_LINKS) map.resultTraces.push(from.trace)
  if (map.left === 0) completeMap(m, map, from, next)
}

function deliver(m: MachineState, from: FinishedTask, { value, route }: Send, next: (Task | MapRun)[]): void {
  const source = from.node.id
  if (route.output) {
    m.outputs.push(value)
    if (watched(m)) emit(m, { type: "output", task: from.task, node: source, value })
  }
  if (route.result && from.map !== undefined) from.map.results[from.item] = value
  if (route.nodes !== undefined) {
    for (const id of route.nodes) {
      countPass(m, from.node, id)
      addTask(m, nodeAt(m, id), value, from, next)
    }
  }
  if (route.joins !== undefined)
    for (const id of route.joins) arrive(m, joinAt(m, id), from, value, route.failed === true, next)
  if (route.maps !== undefined) for (const id of route.maps) startMap(m, id, from, value, next)
  if (goesNowhere(route))
    reportUndelivered(m, { from: source, reason: route.reason ?? "no edge leads out", value })
}

function goesNowhere(route: Route): boolean {
  return !(route.output || route.result || route.nodes?.length || route.joins?.length || route.maps?.length)
}

/** Cold path: an entry that names what the graph does not have is a changed graph or a broken journal. */
function nodeAt(m: MachineState, id: NodeId): GraphNode {
  const node = m.graph.nodes[m.graph.index.get(id) ?? -1]
  if (node === undefined)
    throw new RangeError(`the journal names node "${id}", which workflow "${m.graph.name}" does not have`)
  return node
}

function joinAt(m: MachineState, id: JoinId): GraphJoin {
  const join = m.graph.joinIndex.get(id)
  if (join === undefined)
    throw new RangeError(`the journal names join "${id}", which workflow "${m.graph.name}" does not have`)
  return join
}

function addTask(
  m: MachineState,
  target: GraphNode,
  value: Json,
  from: FinishedTask,
  next: (Task | MapRun)[],
  traces?: readonly string[],
): void {
  const task = new Task(m.nextTask++, target, value, from.node.id, from.superstep + 1)
  task.traces = traces ?? from.traces ?? (from.trace === undefined ? undefined : [from.trace])
  task.answers = from.answers
  visit(m, target)
  m.tasks.set(task.id, task)
  m.open++
  next.push(task)
}

/** Counts a visit, and notes the limit it breaks. The first visit of a run, its start, is counted too. */
export function visit(m: MachineState, node: GraphNode, times = 1): void {
  const state = nodeState(m, node)
  state.visits += times
  const most = Math.min(node.maxVisits, m.limits.visits ?? Number.POSITIVE_INFINITY)
  if (state.visits <= most) return
  m.breach ??= {
    code: "VISIT_LIMIT",
    message: `Node "${node.id}" was to be visited more than ${most} times; raise maxVisits or limits.visits, or end the loop earlier.`,
    node: node.id,
  }
}

function countPass(m: MachineState, from: GraphNode, to: NodeId): void {
  if (from.counted.size === 0) return
  const edge = from.counted.get(to)
  if (edge === undefined) return
  const passes = (m.passes[edge.index] ?? 0) + 1
  m.passes[edge.index] = passes
  const most = Math.min(
    edge.max,
    edge.back ? (m.limits.loops ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY,
  )
  if (passes <= most) return
  m.breach ??= {
    code: "LOOP_LIMIT",
    message: `The edge "${from.id}" -> "${to}" was to be taken more than ${most} times; raise its max or limits.loops, or end the loop earlier.`,
    node: from.id,
  }
}

function startMap(
  m: MachineState,
  worker: NodeId,
  from: FinishedTask,
  value: Json,
  next: (Task | MapRun)[],
): void {
  const map = m.graph.maps.get(worker) as GraphMap
  const items = value as readonly Json[]
  const run = new MapRun(m.nextTask, map, items, from.node.id, from.superstep + 1)
  run.traces = from.trace === undefined ? undefined : [from.trace]
  if (items.length === 0) return completeMap(m, run, from, next)
  visit(m, m.graph.nodes[map.worker] as GraphNode, items.length)
  m.nextTask += items.length
  m.maps.set(run.id, run)
  m.open += items.length
  next.push(run)
}

function completeMap(m: MachineState, run: MapRun, from: FinishedTask, next: (Task | MapRun)[]): void {
  m.maps.delete(run.id)
  const { target, worker } = run.map
  const sender = { ...from, node: m.graph.nodes[worker] as GraphNode }
  if (target !== undefined)
    return addTask(m, m.graph.nodes[target] as GraphNode, run.results, sender, next, run.resultTraces)
  m.outputs.push(run.results)
  if (watched(m)) emit(m, { type: "output", task: from.task, node: sender.node.id, value: run.results })
}

/** A message reaches a join: buffered, or the one that makes it fire, or too late. */
function arrive(
  m: MachineState,
  join: GraphJoin,
  from: FinishedTask,
  value: Json,
  failed: boolean,
  next: (Task | MapRun)[],
): void {
  const source = join.sources.get(from.node.id)
  if (source === undefined) {
    reportUndelivered(m, {
      from: from.node.id,
      to: join.group.to,
      reason: `it is not a source of the join ${join.id}`,
      value,
    })
    return
  }
  const state = joinState(m, join)
  const number = state.arrivals[source] ?? 0
  state.arrivals[source] = number + 1
  let round = state.rounds.get(number)
  if (round === undefined) {
    round = {
      round: number,
      values: new Array<Json | undefined>(join.sources.size).fill(undefined),
      count: 0,
      fired: false,
      traces: undefined,
    }
    state.rounds.set(number, round)
    if (join.group.timeout !== undefined) setTimer(m, joinTimer(join, number), m.now + join.group.timeout)
  }
  round.count++
  if (round.fired) {
    if (round.count === join.sources.size) state.rounds.delete(number)
    reportUndelivered(m, {
      from: from.node.id,
      to: join.group.to,
      reason: "it came after the join had fired",
      value,
    })
    return
  }
  round.values[source] = settles(join) && !failed ? asSettled(value) : value
  if (from.trace !== undefined) {
    round.traces ??= []
    round.traces.push(from.trace)
  }
  if (round.count >= (join.needs ?? join.sources.size)) {
    addTask(m, m.graph.nodes[join.target] as GraphNode, takeRound(m, join, round), from, next, round.traces)
  } else if (watched(m))
    emit(m, {
      type: "join.waiting",
      join: join.id,
      node: join.group.to,
      missing: missingSources(join, round),
    })
}

function joinState(m: MachineState, join: GraphJoin): { arrivals: number[]; rounds: Map<number, JoinRound> } {
  let state = m.joins[join.index]
  if (state === undefined) {
    state = { arrivals: new Array<number>(join.sources.size).fill(0), rounds: new Map() }
    m.joins[join.index] = state
  }
  return state
}

/** Ends a round: the list for the target, in the declared order of the sources. */
function takeRound(m: MachineState, join: GraphJoin, round: JoinRound): Json {
  round.fired = true
  if (round.count === join.sources.size) joinState(m, join).rounds.delete(round.round)
  clearTimer(m, joinTimer(join, round.round))
  if (!settles(join)) return round.values.filter((value) => value !== undefined)
  return round.values.map((value, i) => value ?? asFailed(notSent(join, i)))
}

/**
 * Fires a settling join with what is there; the sources that have not sent appear as failures. The message goes
 * out with the next commit, like every other.
 */
export function fireEarly(m: MachineState, join: GraphJoin, round: JoinRound): void {
  const node = m.graph.nodes[join.target] as GraphNode
  const send = { value: takeRound(m, join, round), route: { nodes: [node.id] } }
  m.finished.push({ ...outsideMessage(m, node, [send]), traces: round.traces })
}

/** The first open round of a settling join, if there is one. */
export function openSettlement(m: MachineState): { join: GraphJoin; round: JoinRound } | undefined {
  for (const join of m.graph.joins) {
    if (!settles(join)) continue
    for (const round of m.joins[join.index]?.rounds.values() ?? []) if (!round.fired) return { join, round }
  }
  return undefined
}

/** Every round that has not fired, with its messages. */
export function* openRounds(m: MachineState): Generator<{ join: GraphJoin; round: JoinRound }> {
  for (const join of m.graph.joins) {
    for (const round of m.joins[join.index]?.rounds.values() ?? []) if (!round.fired) yield { join, round }
  }
}

export function missingSources(join: GraphJoin, round: JoinRound): NodeId[] {
  return join.group.from.filter((_, i) => round.values[i] === undefined)
}

/** Stands for a message that no task of this superstep sent: an answer, a join whose time is up, a limit. */
export function outsideMessage(m: MachineState, node: GraphNode, sends: readonly Send[]): FinishedTask {
  return {
    task: Number.MAX_SAFE_INTEGER,
    node,
    superstep: m.superstep,
    sends,
    writes: undefined,
    map: undefined,
    item: 0,
    trace: undefined,
  }
}

export function joinTimer(join: GraphJoin, round: number): TimerId {
  return `join:${join.id}:${round}`
}

export function setTimer(m: MachineState, timer: TimerId, at: number): void {
  m.timers.set(timer, at)
  m.out.push({ type: "timer", timer, at })
}

export function clearTimer(m: MachineState, timer: TimerId): void {
  if (m.timers.delete(timer)) m.out.push({ type: "clear-timer", timer })
}

function settles(join: GraphJoin): boolean {
  return join.group.join.kind === "settle"
}

function notSent(join: GraphJoin, source: number): ErrorData {
  return {
    code: "NOT_SENT",
    message: `"${join.group.from[source]}" sent nothing to the join`,
    node: join.group.from[source],
  }
}

function asSettled(value: Json): Json {
  return { ok: true, value } satisfies Settled<Json>
}

export function asFailed(error: ErrorData): Json {
  return { ok: false, error } satisfies Settled<Json> as unknown as Json
}
