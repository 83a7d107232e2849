/**
 * The end of a superstep: writes become visible in task order (M4), messages are delivered, the next tasks
 * start. In flow mode every finished task is a commit of its own.
 */
import { admit, admitItems } from "./admission.ts"
import { deliverAll, fireEarly, openSettlement } from "./delivery.ts"
import { emit, watched } from "./emit.ts"
import { finishRun, reachLimit } from "./ending.ts"
import type { ErrorData } from "./errors.ts"
import { DEFAULT_SUPERSTEPS } from "./graph.ts"
import { isBuiltInReducer, ownCopy, reduce } from "./reducers.ts"
import { type FinishedTask, type MachineState, MapRun, type Task } from "./state.ts"
import { exhausted } from "./usage.ts"

/** Commits whatever is due, until tasks run, something outside is waited for, or the run is over. */
export function settle(m: MachineState): void {
  while (isLive(m) && m.reducing.size === 0) {
    const barrier = m.graph.schedule === "superstep"
    if (barrier && m.open > 0) return
    if (m.finished.length > 0) commit(m)
    else if (m.open > 0 || !atRest(m)) return
  }
}

function isLive(m: MachineState): boolean {
  return m.status === "running" || m.status === "waiting"
}

function commit(m: MachineState): void {
  const batch = m.finished
  m.finished = []
  if (batch.length > 1) batch.sort(inTaskOrder)
  for (const task of batch) if (task.writes !== undefined) write(m, task)
  m.committing = batch
  if (m.reducing.size === 0) completeCommit(m)
  else for (const [key, writes] of m.reducing) askForReduction(m, key, writes)
}

function inTaskOrder(a: FinishedTask, b: FinishedTask): number {
  return a.task - b.task
}

function write(m: MachineState, task: FinishedTask): void {
  for (const [key, value] of task.writes ?? []) {
    const reducer = m.graph.channels.get(key)?.reducer ?? "replace"
    if (!isBuiltInReducer(reducer)) {
      const writes = m.reducing.get(key)
      if (writes) writes.push(value)
      else m.reducing.set(key, [value])
      continue
    }
    let current = m.shared.get(key)
    if (current !== undefined && m.lent.delete(key)) current = ownCopy(current)
    m.shared.set(key, reduce(reducer, current, value))
    if (watched(m))
      emit(m, { type: "state.written", task: task.task, node: task.node.id, key, reducer, value })
  }
}

export function askForReduction(
  m: MachineState,
  key: string,
  writes: readonly Parameters<typeof ownCopy>[0][],
): void {
  const reducer = m.graph.channels.get(key)?.reducer as string
  m.out.push({ type: "reduce", key, reducer, current: m.shared.get(key), writes })
}

/** Messages go out once every write of the superstep is in place. */
export function completeCommit(m: MachineState): void {
  const next: (Task | MapRun)[] = []
  const batch = m.committing
  m.committing = []
  for (const task of batch) deliverAll(m, task, next)
  if (m.graph.schedule === "superstep" && watched(m))
    emit(m, { type: "superstep.committed", superstep: m.superstep })
  startNext(m, next)
}

/** Starts what was delivered, if limits and budget allow. */
export function startNext(m: MachineState, next: readonly (Task | MapRun)[]): void {
  if (next.length === 0) return
  let superstep = m.superstep
  for (const task of next) if (task.superstep > superstep) superstep = task.superstep
  const breach = m.breach ?? tooManySupersteps(m, superstep, next) ?? overBudget(m)
  m.breach = undefined
  if (breach !== undefined) {
    const route = reachLimit(m, breach)
    if (route !== undefined) startNext(m, [route])
    return
  }
  const isNew = superstep > m.superstep
  m.superstep = superstep
  if (isNew && m.graph.schedule === "superstep" && watched(m)) {
    emit(m, { type: "superstep.started", superstep, tasks: m.open })
  }
  for (const task of next) {
    if (task instanceof MapRun) admitItems(m, task)
    else admit(m, task)
  }
}

function tooManySupersteps(
  m: MachineState,
  superstep: number,
  next: readonly (Task | MapRun)[],
): ErrorData | undefined {
  const most = m.graceUntil ?? m.limits.supersteps ?? DEFAULT_SUPERSTEPS
  if (superstep <= most) return undefined
  const names = next.map((task) => (task instanceof MapRun ? task.map.group.worker : task.node.id))
  const pending = [...new Set(names)].slice(0, 10).map((name) => `"${name}"`)
  return {
    code: "CONVERGENCE",
    message: `The run did not end within ${most} supersteps; still to run: ${pending.join(", ")}. Raise limits.supersteps if the work is that long.`,
  }
}

/** Checked before every task: what is running may finish, nothing new starts. */
export function overBudget(m: MachineState): ErrorData | undefined {
  if (m.budget === undefined || m.graceUntil !== undefined) return undefined
  const parts = exhausted(m.budget, m.usage)
  if (parts.length === 0) return undefined
  return { code: "BUDGET_EXCEEDED", message: `Budget exceeded: ${parts.join(", ")}` }
}

/** Nothing runs and nothing is deliverable. True when something came of it. */
function atRest(m: MachineState): boolean {
  if (m.parked > 0 || m.requests.size > 0) {
    if (waitsForTheOutside(m)) startWaiting(m)
    return false
  }
  const settlement = openSettlement(m)
  if (settlement !== undefined) {
    fireEarly(m, settlement.join, settlement.round)
    return true
  }
  if (waitsForTheOutside(m)) {
    startWaiting(m)
    return false
  }
  finishRun(m, "completed")
  return true
}

/** For a person or a timer. A sub-workflow at work is no waiting, and the end of the run's time is no aim. */
function waitsForTheOutside(m: MachineState): boolean {
  return m.requests.size > 0 || m.timers.size > (m.timers.has("run") ? 1 : 0)
}

function startWaiting(m: MachineState): void {
  if (m.status === "waiting") return
  m.status = "waiting"
  if (watched(m)) emit(m, { type: "run.waiting" })
}

/** Something that was waited for came: the run goes on. */
export function stopWaiting(m: MachineState): void {
  if (m.status !== "waiting") return
  m.status = "running"
  if (watched(m)) emit(m, { type: "run.resumed" })
}
