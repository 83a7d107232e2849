/** How an attempt at a task ends: finished, rejected, failed and retried, or finally failed. */

import { admitToRun, fill, fillRun, unpark, vacate, vacateRun } from "./admission.ts"
import { count, countAlso, endReservation, loseReservations, overBudget } from "./budget.ts"
import { NO_ENTRIES, pushSized, putEntry } from "./collections.ts"
import { enterLimitRoute, settle, writeLeft } from "./commit.ts"
import { failureRoute, takeResult } from "./delivery.ts"
import { emit, reportUndelivered, watched } from "./emit.ts"
import { finishRun } from "./ending.ts"
import type { Left, StepRecorded, TaskFailed, TaskFinished, UsageRecorded } from "./entries.ts"
import { checkFinished, checkKeyFree } from "./entry-checks.ts"
import { type ErrorData, SuperstepError } from "./errors.ts"
import type { Json } from "./json.ts"
import { retryDelay } from "./retry.ts"
import { isLive, type MachineState, nodeState } from "./state.ts"
import { extrasOf, type Task, type TaskEnd, type TaskExtras } from "./task.ts"
import { retryTimer, setTimer, stopWaiting } from "./waiting.ts"
import { openRequest, withdrawWaits } from "./waits.ts"

export function finishTask(m: MachineState, task: Task, entry: TaskFinished): void {
  checkFinished(m, task, entry)
  loseReservations(m, task)
  if (entry.usage !== undefined) count(m, task, entry.usage, undefined)
  if (entry.local !== undefined) writeLocal(m, task, entry.local)
  if (watched(m)) emitFinished(m, task, entry)
  if (entry.requests !== undefined) for (const request of entry.requests) openRequest(m, task, request)
  end(m, task, entry)
}

function writeLocal(m: MachineState, task: Task, local: NonNullable<TaskFinished["local"]>): void {
  const node = nodeState(m, task.node)
  node.local ??= Object.create(null) as { [key: string]: Json }
  for (const [key, value] of local) node.local[key] = value
}

function emitFinished(m: MachineState, task: Task, { sends, settled }: TaskFinished): void {
  const more = settled === undefined ? {} : { settled }
  emit(m, { type: "task.finished", task: task.id, node: task.node.id, sends, ...more })
}

export function rejectTask(m: MachineState, task: Task, reason: string): void {
  loseReservations(m, task)
  if (watched(m)) emit(m, { type: "task.rejected", task: task.id, node: task.node.id, reason })
  reportUndelivered(m, { from: task.from, to: task.node.id, reason, value: task.message })
  end(m, task, { sends: [] })
}

/** Removes the task from the live tasks; its messages wait for the commit. */
function end(m: MachineState, task: Task, ended: TaskEnd): void {
  if (task.waits !== undefined) withdrawWaits(m, task)
  m.tasks.delete(task.id)
  if (task.status === "parked") unpark(m, task)
  m.open--
  vacate(m, task)
  task.status = "over"
  if (task.extras !== undefined) forgetSteps(task.extras)
  task.ended = ended
  if (task.map === undefined || !takeResult(task, task.map)) m.finished = pushSized(m.finished, task)
  stopWaiting(m)
  settle(m)
  if (!isLive(m)) return
  fill(m, task)
  if (m.breach !== undefined) settle(m)
}

function forgetSteps(extras: TaskExtras): void {
  extras.memo = undefined
  extras.starts = undefined
  extras.failures = undefined
}

/** M3: a failed attempt leaves nothing but the failure and its usage. */
export function failTask(m: MachineState, task: Task, entry: TaskFailed): void {
  const { attempt } = entry
  if (task.attempt !== attempt) {
    const text = `Attempt ${attempt} of task ${task.id} has ended; the current attempt is ${task.attempt}.`
    throw new SuperstepError("ATTEMPT_OVER", text)
  }
  const error = { ...entry.error, node: task.node.id, attempt }
  loseReservations(m, task)
  if (entry.usage !== undefined) count(m, task, entry.usage, undefined)
  const delay = delayBeforeRetry(m, task, entry.error)
  if (watched(m)) {
    const retryAt = delay === undefined ? {} : { retryAt: entry.at + delay }
    emit(m, { type: "task.failed", task: task.id, node: task.node.id, attempt, error, ...retryAt })
  }
  if (delay !== undefined) return retry(m, task, delay)
  if (error.limit) return endAtLimit(m, task, error, entry.left)
  const sends = error.fatal ? undefined : failureRoute(task, error)
  if (sends === undefined) {
    m.tasks.delete(task.id)
    task.status = "over"
    finishRun(m, "failed", error)
  } else end(m, task, { sends, trace: entry.trace })
}

/** The run takes its limit route, if it has one, or ends. */
function endAtLimit(m: MachineState, task: Task, error: ErrorData, left: Left = {}): void {
  writeLeft(m, task, left)
  withdrawWaits(m, task)
  m.tasks.delete(task.id)
  task.status = "over"
  enterLimitRoute(m, error, left.notice)
}

export function delayBeforeRetry(m: MachineState, task: Task, error: ErrorData): number | undefined {
  return retryDelay(task.node.spec.retry, task.attempt, error, `${m.runId}:${task.id}`)
}

/** The task keeps its place at its node and its recorded steps. */
function retry(m: MachineState, task: Task, delay: number): void {
  withdrawWaits(m, task)
  if (task.status === "parked") {
    unpark(m, task)
    stopWaiting(m)
  }
  vacateRun(m, task)
  const extras = extrasOf(task)
  extras.attempt++
  extras.failures = undefined
  extras.left = undefined
  task.status = "backoff"
  if (delay === 0) admitToRun(m, task)
  else setTimer(m, retryTimer(task.id), m.now + delay)
  fillRun(m)
  settle(m)
}

export function recordStep(m: MachineState, task: Task, entry: StepRecorded): void {
  const { key, value, usage, source, also, settles, details } = entry
  checkKeyFree(task, key)
  task.starts?.delete(key)
  endReservation(m, task, key, settles === true)
  const extras = extrasOf(task)
  extras.memo = putEntry(extras.memo ?? NO_ENTRIES, key, value)
  if (watched(m)) {
    const more = details === undefined ? undefined : { details }
    emit(m, { type: "step.recorded", task: task.id, node: task.node.id, key, value, ...more })
  }
  if (usage !== undefined) count(m, task, usage, source)
  countAlso(m, task, also)
}

/** A sub-workflow in progress stops at once when the budget is used up. */
export function recordChildUsage(m: MachineState, task: Task, entry: UsageRecorded): void {
  const { usage, source, also, settles } = entry
  if (settles !== undefined) endReservation(m, task, settles, true)
  if (Object.keys(usage).length > 0) count(m, task, usage, source)
  countAlso(m, task, also)
  const breach = overBudget(m)
  if (breach !== undefined) enterLimitRoute(m, breach)
}
