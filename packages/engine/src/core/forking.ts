/** A run that starts out as another one's past. */
import { emit, watched } from "./emit.ts"
import type { RunForked } from "./entries.ts"
import { unknown } from "./fitting.ts"
import { given } from "./given.ts"
import { grown } from "./grow.ts"
import type { Json } from "./json.ts"
import { ownCopy } from "./reducers.ts"
import type { MachineState } from "./state.ts"
import { RUN_TIMER, setTimer } from "./timers.ts"

export function forkRun(m: MachineState, entry: RunForked): void {
  const { runId, from, state, later } = entry
  const changed = Object.entries(state ?? {}).filter((pair): pair is [string, Json] => pair[1] !== undefined)
  for (const [key] of changed) if (!m.graph.channels.has(key)) throw unknown(m.graph, `channel "${key}"`)
  m.runId = runId
  m.startedAt += later
  for (const [key, value] of changed) m.shared.set(key, ownCopy(value))
  for (const [timer, at] of m.timers) {
    m.timers.set(timer, at + later)
    m.out = grown(m.out, { type: "timer", timer, at: at + later })
  }
  changeBounds(m, entry)
  for (const [id, request] of m.requests) {
    const { deadline } = request
    const moved = deadline === undefined ? request : { ...request, deadline: deadline + later }
    m.requests.set(id, moved)
    m.out = grown(m.out, { type: "request", request: moved })
  }
  for (const task of m.tasks.values()) {
    for (const [key, wait] of task.waits ?? []) {
      if (wait.kind === "timer") task.waits?.set(key, { ...wait, until: wait.until + later })
    }
  }
  if (watched(m)) {
    const written = changed.length === 0 ? {} : { state: Object.fromEntries(changed) }
    emit(m, { type: "run.forked", from, later, ...written })
  }
}

function changeBounds(m: MachineState, { limits, budget, deadline }: RunForked): void {
  if (limits !== undefined) m.limits = { ...m.limits, ...given(limits) }
  if (budget !== undefined) m.budget = { ...m.budget, ...given(budget) }
  // What was too much before may not be now: it is looked at again before anything starts.
  if (limits !== undefined || budget !== undefined) m.breach = undefined
  if (deadline !== undefined) setTimer(m, RUN_TIMER, deadline)
}
