/** Starts a run: with an input, or as a fork with the past of another run. */

import type { AgentChanges } from "./agent-change.ts"
import { pushSized, putEntry } from "./collections.ts"
import { startNext } from "./commit.ts"
import { emit, watched } from "./emit.ts"
import type { RunForked, RunStarted } from "./entries.ts"
import { unknown } from "./entry-checks.ts"
import { SuperstepError } from "./errors.ts"
import type { GraphNode, Limits } from "./graph.ts"
import { type Json, omitUndefined } from "./json.ts"
import { movedWait } from "./messages.ts"
import { lendAll, type MachineState, NO_LIMITS, setShared } from "./state.ts"
import { extrasOf } from "./task.ts"
import { addFirstTask } from "./tasks.ts"
import { RUN_TIMER, setTimer } from "./waiting.ts"

export function startRun(m: MachineState, entry: RunStarted): void {
  if (m.hasStarted) throw new SuperstepError("RUN_STARTED", `Run "${entry.runId}" was already started.`)
  m.hasStarted = true
  m.startedAt = entry.at
  const { limits } = m.graph.spec
  m.limits = mergedLimits(limits, entry.limits)
  m.budget = entry.budget
  m.agents = entry.agents
  for (const { key, initial } of m.graph.channels.values())
    if (initial !== undefined) setShared(m, key, initial)
  if (entry.state !== undefined) {
    for (const [key, value] of Object.entries(entry.state)) if (value !== undefined) setShared(m, key, value)
  }
  if (watched(m)) {
    const state = m.shared.size === 0 ? {} : { state: Object.fromEntries(lendAll(m)) }
    emit(m, { type: "run.started", workflow: entry.workflow, input: entry.input, ...state })
  }
  if (entry.deadline !== undefined) setTimer(m, RUN_TIMER, entry.deadline)
  const task = addFirstTask(m, m.graph.nodes[m.graph.start] as GraphNode, entry.input)
  if (entry.trace !== undefined) extrasOf(task).traces = [entry.trace]
  startNext(m)
}

/** A limit of the run that is undefined leaves the workflow's own. */
function mergedLimits(own: Limits | undefined, asked: Limits | undefined): Limits {
  if (own === undefined && asked === undefined) return NO_LIMITS
  return own === undefined ? omitUndefined(asked) : { ...own, ...omitUndefined(asked) }
}

export function forkRun(m: MachineState, entry: RunForked): void {
  const { runId, from, state, later } = entry
  const changed = Object.entries(state ?? {}).filter((pair): pair is [string, Json] => pair[1] !== undefined)
  for (const [key] of changed) if (!m.graph.channels.has(key)) throw unknown(m.graph, `channel "${key}"`)
  m.runId = runId
  m.startedAt += later
  if (m.pause !== undefined) m.pause = Object.freeze({ ...m.pause, at: m.pause.at + later })
  for (const [key, value] of changed) setShared(m, key, value)
  for (const [timer, at] of m.timers) {
    m.timers = putEntry(m.timers, timer, at + later)
    m.out = pushSized(m.out, { type: "timer", timer, at: at + later })
  }
  changeBounds(m, entry)
  if (entry.agents !== undefined) m.agents = mergedChanges(m.agents, entry.agents)
  for (const [id, request] of m.requests) {
    const { deadline } = request
    const moved = deadline === undefined ? request : Object.freeze({ ...request, deadline: deadline + later })
    m.requests = putEntry(m.requests, id, moved)
    m.out = pushSized(m.out, { type: "request", request: moved })
  }
  for (const { waits } of m.tasks.values()) {
    if (waits === undefined) continue
    for (const [key, wait] of waits) putEntry(waits, key, movedWait(wait, later))
  }
  if (watched(m)) {
    const written = changed.length === 0 ? {} : { state: Object.fromEntries(changed) }
    const agents = entry.agents === undefined ? undefined : { agents: entry.agents }
    emit(m, { type: "run.forked", from, later, ...written, ...agents })
  }
}

/** A fork of a fork keeps what the first one changed. */
function mergedChanges(before: AgentChanges = {}, changes: AgentChanges): AgentChanges {
  const merged = Object.entries(changes).map(([agent, change]) => {
    const own = before[agent]
    const settings = { ...own?.settings, ...change.settings }
    const both = { ...own, ...omitUndefined(change) }
    return [agent, Object.keys(settings).length === 0 ? both : { ...both, settings }] as const
  })
  return { ...before, ...Object.fromEntries(merged) }
}

function changeBounds(m: MachineState, { limits, budget, deadline }: RunForked): void {
  if (limits !== undefined) m.limits = { ...m.limits, ...omitUndefined(limits) }
  if (budget !== undefined) m.budget = { ...m.budget, ...omitUndefined(budget) }
  // Limits may have changed: they are checked again before anything starts.
  if (limits !== undefined || budget !== undefined) m.breach = undefined
  if (deadline !== undefined) setTimer(m, RUN_TIMER, deadline)
}
