/**
 * Admission: which task runs now. Concurrency is limited per node (default 1), per run and per map. Constant work per task,
 * however many wait.
 */

import { nodeOverBudget, overBudget } from "./budget.ts"
import { Fifo, pushSized } from "./collections.ts"
import { emit, watched } from "./emit.ts"
import type { GraphNode } from "./graph.ts"
import { type MachineState, nodeState } from "./state.ts"
import { extrasOf, type Gate, ItemTask, type MapRun, type Task } from "./task.ts"

export function admit(m: MachineState, task: Task): void {
  const { index } = task.node
  const active = m.active[index] as number
  if (active < places(task.node) && !m.nodes?.[index]?.queue?.size) {
    m.active[index] = active + 1
    admitToRun(m, task)
  } else queueAtNode(m, task)
}

function queueAtNode(m: MachineState, task: Task): void {
  const node = nodeState(m, task.node)
  node.queue ??= new Fifo()
  node.queue.push(task)
  if (node.held) m.open--
}

function places(node: GraphNode): number {
  return node.spec.concurrency ?? 1
}

function itemPlaces({ map, worker }: MapRun): number {
  return map.group.concurrency ?? worker.spec.concurrency ?? Number.POSITIVE_INFINITY
}

/** Starts items of a map while there are places. */
export function admitItems(m: MachineState, map: MapRun): void {
  if (map.next === map.items.length) return
  const most = itemPlaces(map)
  while (map.active < most && map.next < map.items.length) {
    const task = new ItemTask(map, map.next++)
    if (map.traces !== undefined) extrasOf(task).traces = map.traces
    map.active++
    m.tasks.add(task)
    admitToRun(m, task)
  }
}

/** A task that has a place at its node starts when the run has one too. */
export function admitToRun(m: MachineState, task: Task): void {
  if (!m.ready?.size && hasRoom(m) && isAffordable(m, task)) begin(m, task)
  else queueInRun(m, task)
}

function queueInRun(m: MachineState, task: Task): void {
  m.ready ??= new Fifo()
  m.ready.push(task)
}

/** A paused run has none (M10). */
function hasRoom(m: MachineState): boolean {
  return m.status !== "paused" && m.running < (m.limits.concurrency ?? Number.POSITIVE_INFINITY)
}

/** Checked before every task: running tasks may finish, no new task starts. The commit handles the breach. */
function isAffordable(m: MachineState, { node }: Task): boolean {
  if (m.budget !== undefined) m.breach ??= overBudget(m)
  if (node.spec.budget !== undefined) m.breach ??= nodeOverBudget(m, node)
  return m.breach === undefined
}

function begin(m: MachineState, task: Task): void {
  m.running++
  task.status = "running"
  if (watched(m)) emitStarted(m, task)
  m.out = pushSized(m.out, { type: "start", task })
}

function emitStarted(m: MachineState, { id, node, attempt, superstep, message, from }: Task): void {
  emit(m, {
    type: "task.started",
    task: id,
    node: node.id,
    attempt,
    superstep,
    input: message,
    ...(from === undefined ? {} : { from }),
  })
}

/** Frees the places of a task that has ended. `fill` assigns them once the consequences of its end are known. */
export function vacate(m: MachineState, task: Task): void {
  vacateRun(m, task)
  if (task.map === undefined) (m.active[task.node.index] as number)--
  else task.map.active--
}

/** The task frees its place in the run and keeps the one at its node. */
export function vacateRun(m: MachineState, task: Task): void {
  if (task.status === "running") m.running--
}

/** Assigns the places of an ended task to the tasks that wait for them. */
export function fill(m: MachineState, { map, node }: Task): void {
  if (map !== undefined) admitItems(m, map)
  else if (m.nodes !== undefined) fillNode(m, node)
  if (m.ready !== undefined) fillRun(m)
}

function fillNode(m: MachineState, node: GraphNode): void {
  const queue = m.nodes?.[node.index]?.queue
  while (queue?.size && (m.active[node.index] as number) < places(node)) {
    ;(m.active[node.index] as number)++
    admitToRun(m, queue.shift() as Task)
  }
}

export function fillRun(m: MachineState): void {
  const { ready } = m
  for (let next = ready?.peek(); next !== undefined; next = ready?.peek()) {
    if (!hasRoom(m) || !isAffordable(m, next)) return
    ready?.shift()
    begin(m, next)
  }
}

/** A task that waits for something external leaves its superstep, and so do tasks that wait for its place. */
export function park(m: MachineState, task: Task): void {
  vacateRun(m, task)
  task.status = "parked"
  m.open--
  m.parked++
  const gate = gateOf(m, task)
  gate.parked++
  const { map, node } = task
  const most = map === undefined ? places(node) : itemPlaces(map)
  const active = map === undefined ? (m.active[node.index] as number) : map.active
  if (gate.parked < active || active < most) return
  gate.held = true
  m.open -= waitingBehind(m, task)
}

/** The task is no longer parked; the caller decides what it does next. */
export function unpark(m: MachineState, task: Task): void {
  m.parked--
  m.open++
  const gate = gateOf(m, task)
  gate.parked--
  if (!gate.held) return
  gate.held = false
  m.open += waitingBehind(m, task)
}

function gateOf(m: MachineState, task: Task): Gate {
  return task.map ?? nodeState(m, task.node)
}

function waitingBehind(m: MachineState, { map, node }: Task): number {
  return map === undefined ? (m.nodes?.[node.index]?.queue?.size ?? 0) : map.items.length - map.next
}
