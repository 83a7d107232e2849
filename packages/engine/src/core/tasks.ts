/** Creates tasks: one message, one node, one visit. */

import { pushSized } from "./collections.ts"
import type { ErrorData } from "./errors.ts"
import type { GraphNode } from "./graph.ts"
import type { NodeId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { Send } from "./messages.ts"
import type { MachineState } from "./state.ts"
import { extrasOf, MessageTask, type Task } from "./task.ts"

/** Stands for the id of a sender that is not a task, and sorts after all task ids. */
export const OUTSIDE = Number.MAX_SAFE_INTEGER

/** A task for a message that another one sent. It starts with the next superstep. */
export function addTask(
  m: MachineState,
  target: GraphNode,
  value: Json,
  from: Task,
  traces: readonly string[] | undefined,
): void {
  const task = new MessageTask(m.nextTask++, target, value, from.node.id, stepAfter(m, from), m.now)
  if (traces !== undefined) extrasOf(task).traces = traces
  if (from.id === OUTSIDE && from.answers !== undefined) extrasOf(task).answers = from.answers
  enter(m, task)
}

/** A task for a message from outside the graph: the input, or the notice of a limit. */
export function addFirstTask(m: MachineState, target: GraphNode, value: Json): Task {
  const task = new MessageTask(m.nextTask++, target, value, undefined, m.superstep + 1, m.now)
  enter(m, task)
  return task
}

function enter(m: MachineState, task: Task): void {
  countVisits(m, task.node, 1)
  m.tasks.add(task)
  m.open++
  m.next = pushSized(m.next, task)
}

/** The superstep of what follows from a task: in flow mode every chain of tasks counts separately. */
export function stepAfter(m: MachineState, from: Task): number {
  return (m.graph.schedule === "flow" ? from.superstep : m.superstep) + 1
}

/** The causes of what a finished task sent. */
export function tracesOf(from: Task): readonly string[] | undefined {
  return from.ended?.trace === undefined ? from.traces : [from.ended.trace]
}

/** Counts visits of a node, and records the limit that they exceed. */
export function countVisits(m: MachineState, node: GraphNode, times: number): void {
  const visits = (m.visits[node.index] as number) + times
  m.visits[node.index] = visits
  if (visits <= node.maxVisits && (m.limits.visits === undefined || visits <= m.limits.visits)) return
  m.breach ??= tooManyVisits(node.id, Math.min(node.maxVisits, m.limits.visits ?? Number.POSITIVE_INFINITY))
}

function tooManyVisits(node: NodeId, most: number): ErrorData {
  return {
    code: "VISIT_LIMIT",
    message: `Node "${node}" was to be visited more than ${most} times; raise maxVisits or limits.visits, or end the loop earlier.`,
    node,
  }
}

/**
 * Stands for a message that no task of this superstep sent: an answer, a join that timed out. It is delivered
 * with the next commit, after what tasks sent.
 */
export function sendFromOutside(m: MachineState, node: GraphNode, send: Send): Task {
  const sender = new MessageTask(OUTSIDE, node, null, undefined, m.superstep, m.now)
  sender.status = "over"
  sender.ended = { sends: [send] }
  m.finished = pushSized(m.finished, sender)
  return sender
}
