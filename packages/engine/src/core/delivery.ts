/** Delivers the messages of tasks to nodes, joins, maps and outputs, and creates the next tasks (M5). */

import { pushSized, putEntry, removeEntry } from "./collections.ts"
import { emit, reportUndelivered, watched } from "./emit.ts"
import { targetNamed } from "./entry-checks.ts"
import type { ErrorData } from "./errors.ts"
import type { GraphJoin, GraphMap, GraphNode } from "./graph.ts"
import type { NodeId } from "./ids.ts"
import { arrive, asFailed } from "./joins.ts"
import type { Json } from "./json.ts"
import type { Route, Send } from "./messages.ts"
import { freezeData } from "./own-json.ts"
import type { MachineState } from "./state.ts"
import { MapRun, type Task, type TaskEnd } from "./task.ts"
import { addTask, countVisits, OUTSIDE, stepAfter, tracesOf } from "./tasks.ts"

/** A task that gathers many results remembers this many causes: the default link limit of a span. */
const MAX_LINKS = 128

/** Delivers everything that a finished task sent. The resulting tasks wait in `m.next`. */
export function deliverAll(m: MachineState, from: Task): void {
  const { sends } = from.ended as TaskEnd
  for (let i = 0; i < sends.length; i++) deliver(m, from, sends[i] as Send)
  if (from.map !== undefined) finishItem(m, from, from.map)
}

function deliver(m: MachineState, from: Task, { value, route }: Send): void {
  const { nodes, joins, maps, output, result } = route
  if (nodes !== undefined)
    for (let i = 0; i < nodes.length; i++) deliverTo(m, from, nodes[i] as NodeId, value)
  if (joins !== undefined) deliverToJoins(m, from, joins, value, route.failed === true)
  if (maps !== undefined) for (const worker of maps) startMap(m, worker, from, value)
  if (output) emitOutput(m, from, from.node.id, value)
  if (result && from.map !== undefined) from.map.results[from.item] = value
  if (nodes === undefined && joins === undefined && maps === undefined) reportUnrouted(m, from, route, value)
}

function deliverToJoins(
  m: MachineState,
  from: Task,
  joins: NonNullable<Route["joins"]>,
  value: Json,
  failed: boolean,
): void {
  for (const id of joins) arrive(m, m.graph.joinIndex.get(id) as GraphJoin, from, value, failed)
}

/** Reports a message without a target, with the reason, unless it is an output or a result. */
export function reportUnrouted(m: MachineState, from: Task, route: Route, value: Json): void {
  if (route.output || route.result) return
  reportUndelivered(m, { from: from.node.id, reason: route.reason ?? "no edge leads out", value })
}

function deliverTo(m: MachineState, from: Task, id: NodeId, value: Json): void {
  if (from.node.counted.size > 0 && from.id !== OUTSIDE) countPass(m, from.node, id)
  addTask(m, targetNamed(m.graph, from.node, id), value, from, tracesOf(from))
}

export function emitOutput(m: MachineState, from: Task, node: NodeId, value: Json): void {
  m.outputs = pushSized(m.outputs, value)
  if (watched(m)) emit(m, { type: "output", task: from.id, node, value })
}

function countPass(m: MachineState, from: GraphNode, to: NodeId): void {
  const edge = from.counted.get(to)
  if (edge === undefined) return
  m.passes ??= []
  const passes = (m.passes[edge.index] ?? 0) + 1
  m.passes[edge.index] = passes
  const most = edge.back && m.limits.loops !== undefined ? Math.min(edge.max, m.limits.loops) : edge.max
  if (passes > most) m.breach ??= tooManyPasses(from.id, to, most)
}

function tooManyPasses(from: NodeId, to: NodeId, most: number): ErrorData {
  return {
    code: "LOOP_LIMIT",
    message: `The edge "${from}" -> "${to}" was to be taken more than ${most} times; raise its max or limits.loops, or end the loop earlier.`,
    node: from,
  }
}

/** Ids are reserved for all items; their tasks are created as places free up. */
function startMap(m: MachineState, worker: NodeId, from: Task, value: Json): void {
  const map = m.graph.maps.get(worker) as GraphMap
  const node = m.graph.nodes[map.worker] as GraphNode
  const items = value as readonly Json[]
  const run = new MapRun(m.nextTask, map, node, items, from.node.id, stepAfter(m, from), m.now)
  run.traces = tracesOf(from)
  if (items.length === 0) return gather(m, run, from, tracesOf(from))
  countVisits(m, node, items.length)
  m.nextTask += items.length
  m.maps = putEntry(m.maps, run.id, run)
  m.open += items.length
  m.nextMaps = pushSized(m.nextMaps, run)
}

function finishItem(m: MachineState, from: Task, run: MapRun): void {
  countItem(from, run)
  if (run.left > 0) return
  removeEntry(m.maps, run.id)
  gather(m, run, from, run.resultTraces)
}

function countItem(from: Task, run: MapRun): void {
  run.left--
  if (from.ended?.trace !== undefined && run.resultTraces.length < MAX_LINKS) {
    run.resultTraces.push(from.ended.trace)
  }
}

/**
 * An item that only returns a result need not wait for the commit: the results become visible with the last one, which does
 * wait. So a map over many items keeps their results, not their tasks.
 */
export function takeResult(task: Task, map: MapRun): boolean {
  if (map.left === 1) return false
  const { sends, writes } = task.ended as TaskEnd
  if (writes !== undefined || sends.length !== 1) return false
  const [{ value, route }] = sends as readonly [Send]
  if (!route.result || route.nodes !== undefined || route.joins !== undefined || route.maps !== undefined)
    return false
  map.results[task.item] = value
  countItem(task, map)
  // The task may be kept for a while by those that start with it; its end is no longer needed.
  task.ended = undefined
  return true
}

/** Sends the results, in item order, to the gathering node or to the outputs. */
function gather(m: MachineState, run: MapRun, from: Task, traces: readonly string[] | undefined): void {
  const { target, group } = run.map
  const results = Object.freeze(run.results)
  if (target === undefined) emitOutput(m, from, group.worker, results)
  else addTask(m, m.graph.nodes[target] as GraphNode, results, from, traces?.length ? traces : undefined)
}

/** Where a final failure goes: the node's error edge, else the joins that settle; undefined if it fails the run. */
export function failureRoute(
  { node, message }: Pick<Task, "node" | "message">,
  error: ErrorData,
): Send[] | undefined {
  if (node.onError !== undefined) {
    const value = freezeData({ node: node.id, error, input: message }) as unknown as Json
    return [{ value, route: { nodes: [node.onError] } }]
  }
  if (node.settles.length === 0) return undefined
  return [{ value: asFailed(error), route: { joins: node.settles.map((join) => join.id), failed: true } }]
}
