/**
 * The end of a superstep: writes become visible in task order (M4), messages are delivered, the next tasks
 * start. In flow mode every finished task is a commit of its own.
 */

import { admit, admitItems } from "./admission.ts"
import { overBudget } from "./budget.ts"
import { NO_ITEMS, pushSized, putEntry } from "./collections.ts"
import { deliverAll } from "./delivery.ts"
import { emit, watched } from "./emit.ts"
import { finishRun, reachLimit } from "./ending.ts"
import type { Left } from "./entries.ts"

import type { ErrorData } from "./errors.ts"
import { DEFAULT_SUPERSTEPS } from "./graph.ts"
import { fireEarly, openSettlement } from "./joins.ts"
import type { Json } from "./json.ts"
import type { LeftNotice } from "./messages.ts"
import { isBuiltInReducer, reduce } from "./reducers.ts"
import { isLive, lend, type MachineState, toWrite } from "./state.ts"
import type { MapRun, Task } from "./task.ts"
import { isBlockedExternally, startWaiting } from "./waiting.ts"

/** Commits whatever is due, until tasks run, the run waits for something external, or the run has ended. */
export function settle(m: MachineState): void {
  while (isLive(m) && m.reducing.size === 0) {
    if (m.breach !== undefined) {
      enterLimitRoute(m, m.breach)
      continue
    }
    const barrier = m.graph.schedule === "superstep"
    if (barrier && m.open > 0) return
    if (m.finished.length > 0) commit(m)
    else if (m.open > 0 || !atRest(m)) return
  }
}

function commit(m: MachineState): void {
  const batch = m.finished
  m.finished = NO_ITEMS
  // Sorting an ordered list is linear.
  if (batch.length > 1) (batch as Task[]).sort(inTaskOrder)
  for (let i = 0; i < batch.length; i++) {
    const task = batch[i] as Task
    if (task.ended?.writes !== undefined) write(m, task, task.ended.writes)
  }
  m.committing = batch
  if (m.reducing.size === 0) completeCommit(m)
  else for (const [key, writes] of m.reducing) askForReduction(m, key, writes)
}

function inTaskOrder(a: Task, b: Task): number {
  return a.id - b.id
}

/** What a task leaves at a limit is written at once; there is no commit in which a custom reducer could run. */
export function writeLeft(m: MachineState, task: Task, { writes = [] }: Left): void {
  const isBuiltIn = ([key]: readonly [string, Json]) =>
    isBuiltInReducer(m.graph.channels.get(key)?.reducer ?? "replace")
  write(m, task, writes.filter(isBuiltIn))
}

function write(m: MachineState, task: Task, writes: NonNullable<Left["writes"]>): void {
  for (const [key, value] of writes) {
    const reducer = m.graph.channels.get(key)?.reducer ?? "replace"
    if (!isBuiltInReducer(reducer)) {
      const writes = m.reducing.get(key)
      if (writes) writes.push(value)
      else m.reducing = putEntry(m.reducing, key, [value])
      continue
    }
    m.shared = putEntry(m.shared, key, reduce(reducer, toWrite(m, key), value))
    if (watched(m)) emit(m, { type: "state.written", task: task.id, node: task.node.id, key, reducer, value })
  }
}

export function askForReduction(m: MachineState, key: string, writes: readonly Json[]): void {
  const reducer = m.graph.channels.get(key)?.reducer as string
  m.out = pushSized(m.out, { type: "reduce", key, reducer, current: lend(m, key), writes })
}

/** Messages are delivered after all writes of the superstep. */
export function completeCommit(m: MachineState): void {
  const batch = m.committing
  m.committing = NO_ITEMS
  for (let i = 0; i < batch.length; i++) deliverAll(m, batch[i] as Task)
  if (m.graph.schedule === "superstep" && watched(m)) {
    emit(m, { type: "superstep.committed", superstep: m.superstep })
  }
  startNext(m)
}

/** Starts what was delivered, if limits and budget allow. */
export function startNext(m: MachineState): void {
  const { next, nextMaps } = m
  if (next.length === 0 && nextMaps.length === 0) return
  let superstep = m.superstep
  for (let i = 0; i < next.length; i++) superstep = Math.max(superstep, (next[i] as Task).superstep)
  for (let i = 0; i < nextMaps.length; i++) superstep = Math.max(superstep, (nextMaps[i] as MapRun).superstep)
  const breach = m.breach ?? tooManySupersteps(m, superstep) ?? overBudget(m)
  m.next = NO_ITEMS
  m.nextMaps = NO_ITEMS
  if (breach !== undefined) return enterLimitRoute(m, breach)
  if (superstep > m.superstep) {
    m.superstep = superstep
    if (m.graph.schedule === "superstep" && watched(m)) {
      emit(m, { type: "superstep.started", superstep, tasks: m.open })
    }
  }
  for (let i = 0; i < next.length; i++) admit(m, next[i] as Task)
  for (let i = 0; i < nextMaps.length; i++) admitItems(m, nextMaps[i] as MapRun)
}

/** Ends the run, or takes its limit route. `own`: what the task that reached the limit leaves. */
export function enterLimitRoute(m: MachineState, breach: ErrorData, own?: LeftNotice): void {
  m.breach = undefined
  const atWork = m.entry?.atWork ?? m.leave?.(breach) ?? []
  const notices = own === undefined ? [] : [own]
  for (const [id, left] of atWork) {
    writeLeft(m, m.tasks.get(id) as Task, left)
    if (left.notice !== undefined) notices.push(left.notice)
  }
  reachLimit(m, breach, joinNotices(notices))
  startNext(m)
}

/** Merges notices: the first one, with all others in `others`. */
export function joinNotices(notices: readonly LeftNotice[]): LeftNotice | undefined {
  const [first, ...rest] = notices
  if (first === undefined || rest.length === 0) return first
  const others = rest.flatMap(({ others: further = [], limit: _, ...one }) => [one, ...(further as Json[])])
  return { ...first, others: [...((first.others as Json[] | undefined) ?? []), ...others] }
}

function tooManySupersteps(m: MachineState, superstep: number): ErrorData | undefined {
  const most = m.graceUntil ?? m.limits.supersteps ?? DEFAULT_SUPERSTEPS
  return superstep <= most ? undefined : notConverged(m, most)
}

function notConverged(m: MachineState, most: number): ErrorData {
  const names = [...m.next.map((task) => task.node.id), ...m.nextMaps.map((map) => map.map.group.worker)]
  const pending = [...new Set(names)].slice(0, 10).map((name) => `"${name}"`)
  return {
    code: "CONVERGENCE",
    message: `The run did not end within ${most} ${most === 1 ? "superstep" : "supersteps"}; still to run: ${pending.join(", ")}. Raise limits.supersteps if the work is that long.`,
  }
}

/** Called when nothing runs and nothing is deliverable. True if that made something deliverable. */
function atRest(m: MachineState): boolean {
  if (m.parked > 0 || m.requests.size > 0) {
    if (isBlockedExternally(m)) startWaiting(m)
    return false
  }
  const settlement = openSettlement(m)
  if (settlement !== undefined) {
    fireEarly(m, settlement.join, settlement.round)
    return true
  }
  if (isBlockedExternally(m)) {
    startWaiting(m)
    return false
  }
  finishRun(m, "completed")
  return true
}
