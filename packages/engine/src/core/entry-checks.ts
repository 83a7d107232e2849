/**
 * Checks an entry against the machine's state before anything changes: an invalid entry throws and leaves the machine
 * unchanged.
 */

import type { TaskFinished } from "./entries.ts"
import { SuperstepError } from "./errors.ts"
import type { Graph, GraphNode } from "./graph.ts"
import type { TaskId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { Route, Send, Wait } from "./messages.ts"
import { writeProblem } from "./reducers.ts"
import type { MachineState } from "./state.ts"
import type { Task } from "./task.ts"

/** The task whose handler is executing or waits; M1: an ended task accepts no more entries. */
export function workingTask(m: MachineState, id: TaskId): Task {
  const task = m.tasks.get(id)
  if (task === undefined) {
    throw new SuperstepError(
      "TASK_NOT_LIVE",
      `Task ${id} has ended or never existed; its run accepts no entry for it (M1).`,
    )
  }
  if (task.status !== "running" && task.status !== "parked") {
    throw new SuperstepError(
      "TASK_NOT_RUNNING",
      `Task ${id} is ${task.status}; it accepts no entry before it runs.`,
    )
  }
  return task
}

/** A task waits for one thing under one key, and has one record under it. */
export function checkKeyFree(task: Task, key: string): void {
  if (task.memo?.has(key) || task.failures?.has(key)) {
    throw new SuperstepError("STEP_RECORDED", `"${key}" of task ${task.id} is already recorded.`)
  }
  if (task.waits?.has(key)) {
    throw new SuperstepError("ALREADY_WAITING", `Task ${task.id} already waits under "${key}".`)
  }
}

export function checkWaiting(task: Task, key: string, kind: Wait["kind"]): void {
  if (task.waits?.get(key)?.kind === kind) return
  throw new SuperstepError("NOT_WAITING", `Task ${task.id} does not wait for a ${kind} under "${key}".`)
}

/** Names in routes and writes must exist in the graph. */
export function checkFinished(m: MachineState, task: Task, { sends, writes }: TaskFinished): void {
  for (let i = 0; i < sends.length; i++) checkRoute(m.graph, task, sends[i] as Send)
  if (writes !== undefined) checkWrites(m, writes)
}

function checkWrites(m: MachineState, writes: NonNullable<TaskFinished["writes"]>): void {
  for (const [key, value] of writes) {
    const channel = m.graph.channels.get(key)
    if (channel === undefined) throw unknown(m.graph, `channel "${key}"`)
    const problem = writeProblem(channel.reducer, value)
    if (problem !== undefined) throw new SuperstepError("WRITE_INVALID", `Channel "${key}": ${problem}.`)
  }
}

function checkRoute(graph: Graph, task: Task, { route, value }: Send): void {
  const { nodes, joins, maps } = route
  if (nodes !== undefined) {
    for (let i = 0; i < nodes.length; i++) targetNamed(graph, task.node, nodes[i] as string)
  }
  if (joins !== undefined) checkJoins(graph, task, joins)
  if (maps !== undefined) checkMaps(graph, maps, value)
}

function checkMaps(graph: Graph, maps: NonNullable<Route["maps"]>, value: Json): void {
  for (const worker of maps) {
    if (!graph.maps.has(worker)) throw unknown(graph, `map over "${worker}"`)
    if (!Array.isArray(value))
      throw new SuperstepError("MAP_NEEDS_LIST", `The map over "${worker}" needs a list.`)
  }
}

function checkJoins(graph: Graph, task: Task, joins: NonNullable<Route["joins"]>): void {
  for (const id of joins) {
    if (!graph.joinIndex.get(id)?.sources.has(task.node.id))
      throw unknown(graph, `join "${id}" from "${task.node.id}"`)
  }
}

/** Most nodes have few targets: a linear search is faster than a lookup by name. */
export function targetNamed(graph: Graph, { targets }: GraphNode, id: string): GraphNode {
  for (let i = 0; i < targets.length && i < 4; i++) {
    const target = targets[i] as GraphNode
    if (target.id === id) return target
  }
  return nodeNamed(graph, id)
}

export function nodeNamed(graph: Graph, id: string): GraphNode {
  const node = graph.nodes[graph.index.get(id) ?? -1]
  if (node === undefined) throw unknown(graph, `node "${id}"`)
  return node
}

export function unknown(graph: Graph, what: string): SuperstepError {
  return new SuperstepError(
    "GRAPH_CHANGED",
    `The run's record names the ${what}, which workflow "${graph.name}" does not have.`,
  )
}
