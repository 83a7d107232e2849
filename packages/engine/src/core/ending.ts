/** How a run ends: completed, failed, cancelled, at a limit; or goes on, once, along its limit route. */
import { missingSources, openRounds, visit } from "./delivery.ts"
import { emit, reportUndelivered, watched } from "./emit.ts"
import type { ErrorData } from "./errors.ts"
import type { FinalStatus } from "./events.ts"
import { DEFAULT_SUPERSTEPS, type GraphNode } from "./graph.ts"
import { type MachineState, Task } from "./state.ts"

/** Ends the run. What was produced stays; handlers still at work are told to stop, and no longer count. */
export function finishRun(m: MachineState, status: FinalStatus, error?: ErrorData): void {
  m.status = status
  m.error = error
  dropWork(m, status === "completed" ? "nothing more can reach the join" : `the run ended as ${status}`)
  if (watched(m)) emit(m, { type: "run.finished", status, ...(error === undefined ? {} : { error }) })
  m.out.push({ type: "finish", status })
}

/**
 * A limit, the budget or the time is used up. Returns the task of the limit route when the graph has one and
 * the run has not taken it before; else the run is over.
 */
export function reachLimit(m: MachineState, error: ErrorData): Task | undefined {
  const { onLimit } = m.graph
  const graceful = onLimit !== undefined && m.graceUntil === undefined
  const target = graceful ? (m.graph.nodes[onLimit] as GraphNode) : undefined
  if (watched(m)) {
    emit(m, { type: "limit.reached", error, ...(target === undefined ? {} : { goesTo: target.id }) })
  }
  if (target === undefined) {
    finishRun(m, "limit", error)
    return undefined
  }
  dropWork(m, "the run reached a limit")
  m.graceUntil = m.superstep + DEFAULT_SUPERSTEPS
  const message = { code: error.code, message: error.message }
  const task = new Task(m.nextTask++, target, message, undefined, m.superstep + 1)
  visit(m, target)
  m.breach = undefined
  m.tasks.set(task.id, task)
  m.open++
  return task
}

/** Lets go of every task, buffer, timer and request; messages that nobody took are reported (M5). */
function dropWork(m: MachineState, reason: string): void {
  for (const task of m.tasks.values()) {
    if (task.status === "queued") {
      reportUndelivered(m, { from: task.from, to: task.node.id, reason, value: task.message })
      continue
    }
    if (watched(m)) emit(m, { type: "task.cancelled", task: task.id, node: task.node.id })
    m.out.push({ type: "abort", task, reason })
  }
  for (const { join, round } of openRounds(m)) {
    const missing = missingSources(join, round).map((id) => `"${id}"`)
    const why = `${reason}: the join of "${join.group.to}" still waits for ${missing.join(", ")}`
    join.group.from.forEach((from, i) => {
      const value = round.values[i]
      if (value !== undefined) reportUndelivered(m, { from, to: join.group.to, reason: why, value })
    })
  }
  for (const request of m.requests.keys()) {
    if (watched(m)) emit(m, { type: "request.closed", request, reason: "withdrawn" })
  }
  for (const timer of m.timers.keys()) m.out.push({ type: "clear-timer", timer })
  m.tasks.clear()
  m.maps.clear()
  m.joins.length = 0
  m.requests.clear()
  m.timers.clear()
  m.finished = []
  m.committing = []
  m.reducing.clear()
  m.ready.clear()
  for (const node of m.nodes) {
    if (node === undefined) continue
    node.gate.active = 0
    node.gate.queue.clear()
  }
  m.open = 0
  m.parked = 0
  m.running = 0
}
