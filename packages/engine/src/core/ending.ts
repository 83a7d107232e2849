/** Ends a run: completed, failed, cancelled or at a limit; or continues it, once, along its limit route. */

import { loseReservations } from "./budget.ts"
import { NO_ENTRIES, NO_ITEMS, pushSized } from "./collections.ts"
import { emitOutput, reportUnrouted } from "./delivery.ts"
import { emit, reportUndelivered, watched } from "./emit.ts"
import type { ErrorData } from "./errors.ts"
import { DEFAULT_SUPERSTEPS } from "./graph.ts"
import { missingSources, openRounds } from "./joins.ts"
import type { Json } from "./json.ts"
import type { FinalStatus, LeftNotice } from "./messages.ts"
import type { MachineState, NodeState } from "./state.ts"
import type { Task } from "./task.ts"
import { addFirstTask } from "./tasks.ts"
import { stopWaiting } from "./waiting.ts"

/** Ends the run. Outputs stay; running handlers are aborted and no longer count. */
export function finishRun(m: MachineState, status: FinalStatus, error?: ErrorData): void {
  m.status = status
  m.pause = undefined
  m.error = error
  dropWork(m, status === "completed" ? "nothing more can reach the join" : `the run ended as ${status}`)
  if (watched(m)) emit(m, { type: "run.finished", status, ...(error === undefined ? {} : { error }) })
  m.out = pushSized(m.out, { type: "finish", status })
}

/**
 * A limit, the budget or the time is used up: the run has ended; or, where the graph has a limit route and the run
 * has not taken it before, that route's task is what runs next.
 */
export function reachLimit(m: MachineState, error: ErrorData, notice?: LeftNotice): void {
  const { onLimit } = m.graph
  const target = m.graceUntil === undefined && onLimit !== undefined ? m.graph.nodes[onLimit] : undefined
  if (watched(m)) {
    emit(m, { type: "limit.reached", error, ...(target === undefined ? {} : { goesTo: target.id }) })
  }
  if (target === undefined) {
    m.left = notice
    return finishRun(m, "limit", error)
  }
  stopWaiting(m)
  dropWork(m, "the run reached a limit")
  m.graceUntil = m.superstep + DEFAULT_SUPERSTEPS
  addFirstTask(m, target, Object.freeze({ ...notice, code: error.code, message: error.message }))
  // The limit that led to the limit route does not apply to it.
  m.breach = undefined
}

/** Drops every task, buffer, timer, reservation and request; reports undelivered messages (M5). */
function dropWork(m: MachineState, reason: string): void {
  if (isOpen(m)) dropOpen(m, reason)
  m.finished = NO_ITEMS
  m.committing = NO_ITEMS
  m.reducing = NO_ENTRIES
  m.ready = undefined
  m.active.fill(0)
  if (m.nodes !== undefined) for (const node of m.nodes) if (node !== undefined) emptyGate(node)
  m.open = 0
  m.parked = 0
  m.running = 0
}

/** Whether a run that ends leaves anything behind. Most have finished all they began. */
function isOpen(m: MachineState): boolean {
  if (m.finished.length > 0 || m.committing.length > 0 || m.joins !== undefined) return true
  return m.tasks.size + m.maps.size + m.requests.size + m.timers.size + m.reservations.size > 0
}

function dropOpen(m: MachineState, reason: string): void {
  loseReservations(m)
  for (const task of m.tasks.values()) {
    const { status } = task
    task.status = "over"
    if (status === "queued") {
      reportUndelivered(m, { from: task.from, to: task.node.id, reason, value: task.message })
      continue
    }
    if (watched(m)) emit(m, { type: "task.cancelled", task: task.id, node: task.node.id })
    m.out = pushSized(m.out, { type: "abort", task, reason })
  }
  for (const task of m.committing) dropMessages(m, task, reason)
  for (const task of m.finished) dropMessages(m, task, reason)
  for (const { map, items, next, from } of m.maps.values()) {
    for (let i = next; i < items.length; i++) {
      reportUndelivered(m, { from, to: map.group.worker, reason, value: items[i] as Json })
    }
  }
  for (const { join, round } of m.joins === undefined ? NO_ITEMS : openRounds(m)) {
    const missing = missingSources(join, round).map((id) => `"${id}"`)
    const why = `${reason}: the join of "${join.group.to}" still waits for ${missing.join(", ")}`
    join.group.from.forEach((from, i) => {
      const value = round.values[i]
      if (value !== undefined) reportUndelivered(m, { from, to: join.group.to, reason: why, value })
    })
  }
  for (const request of m.requests.keys()) {
    m.out = pushSized(m.out, { type: "request-closed", request, outcome: "withdrawn" })
    if (watched(m)) emit(m, { type: "request.closed", request, reason: "withdrawn" })
  }
  for (const timer of m.timers.keys()) m.out = pushSized(m.out, { type: "clear-timer", timer })
  m.tasks.clear()
  m.maps = NO_ENTRIES
  m.joins = undefined
  m.requests = NO_ENTRIES
  m.timers = NO_ENTRIES
  m.signalWaits = 0
}

/** For a task that finished in a superstep that does not commit: its outputs stay, its messages are dropped. */
function dropMessages(m: MachineState, task: Task, reason: string): void {
  for (const { value, route } of task.ended?.sends ?? []) {
    if (route.output) emitOutput(m, task, task.node.id, value)
    const joins = (route.joins ?? []).map((id) => m.graph.joinIndex.get(id)?.group.to)
    const places = [...(route.nodes ?? []), ...joins, ...(route.maps ?? [])]
    for (const to of places) reportUndelivered(m, { from: task.node.id, to, reason, value })
    if (places.length === 0) reportUnrouted(m, task, route, value)
  }
}

function emptyGate(node: NodeState): void {
  node.parked = 0
  node.held = false
  node.queue = undefined
}
