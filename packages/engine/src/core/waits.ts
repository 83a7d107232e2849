/**
 * What a task waits for: a person, a signal (signals.ts), a timer, a sub-workflow. A task that waits leaves its superstep, and the
 * others continue. The outcome is recorded, and returned when the handler runs again.
 */

import { admitToRun, fillRun, park, unpark } from "./admission.ts"
import { addMember, NO_ENTRIES, pushSized, putEntry, removeEntry } from "./collections.ts"
import { enterLimitRoute, settle } from "./commit.ts"
import { failureRoute } from "./delivery.ts"
import { emit, watched } from "./emit.ts"
import { finishRun } from "./ending.ts"
import type {
  AnswerKept,
  CallFinished,
  CallStarted,
  RequestAnswered,
  RequestEscalated,
  RequestOpened,
  RunPaused,
  RunResumed,
  TimerFired,
  TimerSet,
} from "./entries.ts"
import { checkKeyFree, checkWaiting, nodeNamed } from "./entry-checks.ts"
import { type ErrorData, SuperstepError } from "./errors.ts"
import type { GraphJoin } from "./graph.ts"
import type { RequestId } from "./ids.ts"
import { fireEarly, missingSources, settles } from "./joins.ts"
import type { Json } from "./json.ts"
import type { Escalation, OpenRequest, RequestSpec, SignalWait, Wait, WaitOutcome } from "./messages.ts"
import { freezeData } from "./own-json.ts"
import { isLive, type JoinRound, type MachineState } from "./state.ts"
import { extrasOf, type Task } from "./task.ts"
import { sendFromOutside } from "./tasks.ts"
import {
  clearTimer,
  isBlockedExternally,
  RUN_TIMER,
  requestTimer,
  setTimer,
  signalTimer,
  sleepTimer,
  splitName,
  stopWaiting,
} from "./waiting.ts"

export function openInline(m: MachineState, task: Task, { key, request }: RequestOpened): void {
  checkKeyFree(task, key)
  startWait(m, task, key, { kind: "request", request: openRequest(m, task, request) })
}

export function sleep(m: MachineState, task: Task, { key, until }: TimerSet): void {
  checkKeyFree(task, key)
  setTimer(m, sleepTimer(task.id, key), until)
  startWait(m, task, key, { kind: "timer", until })
}

export function startCall(m: MachineState, task: Task, { key, workflow, number }: CallStarted): void {
  checkKeyFree(task, key)
  startWait(m, task, key, { kind: "call", workflow, ...(number === undefined ? {} : { number }) })
}

export function finishCall(m: MachineState, task: Task, { key, outcome, undelivered }: CallFinished): void {
  checkWaiting(task, key, "call")
  // Their events came from the called workflow.
  for (const message of undelivered ?? []) m.undelivered = pushSized(m.undelivered, message)
  endWait(m, task, key, outcome)
}

export function startWait(m: MachineState, task: Task, key: string, wait: Wait): void {
  const extras = extrasOf(task)
  extras.waits = putEntry(extras.waits ?? NO_ENTRIES, key, wait)
  if (wait.kind === "signal") m.signalWaits++
  if (watched(m)) emit(m, { type: "task.parked", task: task.id, node: task.node.id, wait })
  if (task.status !== "parked") park(m, task)
  settle(m)
  if (isLive(m)) fillRun(m)
  if (m.breach !== undefined) settle(m)
}

/** A wait of the task has ended. The task counts as running again if it waits for nothing else. */
export function endWait(m: MachineState, task: Task, key: string, outcome: WaitOutcome): void {
  if (task.waits?.get(key)?.kind === "signal") m.signalWaits--
  const extras = extrasOf(task)
  removeEntry(extras.waits ?? NO_ENTRIES, key)
  if (outcome.ok) extras.memo = putEntry(extras.memo ?? NO_ENTRIES, key, outcome.value)
  else {
    extras.failures = putEntry(extras.failures ?? NO_ENTRIES, key, outcome.error)
    if (outcome.left !== undefined && outcome.error.limit)
      extras.left = [...(extras.left ?? []), outcome.left]
  }
  m.out = pushSized(m.out, { type: "resume", task, key, outcome })
  if (task.waits?.size === 0) {
    // M10: in a paused run it stays parked, and continues with it.
    if (m.status !== "paused") continueTask(m, task)
  } else if (!isBlockedExternally(m)) stopWaiting(m)
}

/** The task was admitted before: it continues at once, even if the run is full. */
function continueTask(m: MachineState, task: Task): void {
  stopWaiting(m)
  unpark(m, task)
  task.status = "running"
  m.running++
  if (watched(m)) emit(m, { type: "task.resumed", task: task.id, node: task.node.id })
}

/** M10: from now on the run only records what is executing. */
export function pauseRun(m: MachineState, { at, reason, by }: RunPaused): void {
  if (m.status === "paused") throw new SuperstepError("RUN_PAUSED", `Run "${m.runId}" is already paused.`)
  const why = { ...(reason === undefined ? {} : { reason }), ...(by === undefined ? {} : { by }) }
  m.status = "paused"
  m.pause = Object.freeze({ at, ...why })
  if (watched(m)) emit(m, { type: "run.paused", ...why })
}

/** What happened meanwhile takes effect. The time limit of the run excludes the pause; other times have passed. */
export function resumeRun(m: MachineState, { at, by }: RunResumed): void {
  const { pause } = m
  if (pause === undefined) throw new SuperstepError("RUN_NOT_PAUSED", `Run "${m.runId}" is not paused.`)
  m.status = "running"
  m.pause = undefined
  if (watched(m)) emit(m, { type: "run.resumed", ...(by === undefined ? {} : { by }) })
  const deadline = m.timers.get(RUN_TIMER)
  if (deadline !== undefined) m.timers = putEntry(m.timers, RUN_TIMER, deadline + Math.max(0, at - pause.at))
  for (const [timer, due] of m.timers) m.out = pushSized(m.out, { type: "timer", timer, at: due })
  for (const task of m.tasks.values()) {
    if (task.status === "parked" && task.waits?.size === 0) continueTask(m, task)
  }
  fillRun(m)
  settle(m)
}

/** Withdraws the waits of an attempt that has ended. */
export function withdrawWaits(m: MachineState, task: Task): void {
  if (task.waits === undefined) return
  for (const [key, wait] of task.waits) {
    if (wait.kind === "timer") clearTimer(m, sleepTimer(task.id, key))
    if (wait.kind === "request") closeRequest(m, wait.request, "withdrawn")
    if (wait.kind === "signal") {
      m.signalWaits--
      clearTimer(m, signalTimer(task.id, key))
    }
  }
  extrasOf(task).waits = undefined
}

export function openRequest(m: MachineState, task: Task, spec: RequestSpec): RequestId {
  const id: RequestId = `r${m.nextRequest++}`
  const request = freezeData<OpenRequest>({
    id,
    node: task.node.id,
    task: task.id,
    openedAt: m.now,
    ...spec,
  })
  m.requests = putEntry(m.requests, id, request)
  m.out = pushSized(m.out, { type: "request", request })
  if (spec.deadline !== undefined) setTimer(m, requestTimer(id), spec.deadline)
  if (watched(m)) emit(m, { type: "request.opened", request })
  return id
}

function closeRequest(m: MachineState, id: RequestId, reason: "expired" | "withdrawn"): void {
  if (!removeEntry(m.requests, id)) return
  m.out = pushSized(m.out, { type: "request-closed", request: id, outcome: reason })
  clearTimer(m, requestTimer(id))
  if (watched(m)) emit(m, { type: "request.closed", request: id, reason })
}

/** M7: a request that is answered is no longer open. */
export function answer(
  m: MachineState,
  { request: id, value, by }: Pick<RequestAnswered, "request" | "value" | "by">,
): void {
  const request = m.requests.get(id)
  if (request === undefined) throw new SuperstepError("REQUEST_NOT_OPEN", `Request "${id}" is not open (M7).`)
  removeEntry(m.requests, id)
  m.answered = addMember(m.answered, id)
  m.out = pushSized(m.out, { type: "request-closed", request: id, outcome: "answered", by })
  clearTimer(m, requestTimer(id))
  if (watched(m))
    emit(m, { type: "request.answered", request: id, value, ...(by === undefined ? {} : { by }) })
  const waiting = waitingFor(m, request)
  if (waiting === undefined) deliverAnswer(m, request, value)
  else endWait(m, waiting.task, waiting.key, { ok: true, value })
}

export function keepAnswer(m: MachineState, { name, value }: AnswerKept): void {
  m.kept = putEntry(m.kept, name, value)
}

/** The task that waits inline for the request, and under which key. */
function waitingFor(m: MachineState, request: OpenRequest): { task: Task; key: string } | undefined {
  const task = m.tasks.get(request.task)
  for (const [key, wait] of task?.waits ?? []) {
    if (wait.kind === "request" && wait.request === request.id) return { task: task as Task, key }
  }
  return undefined
}

/** The task that asked has ended: the answer comes back to its node as a message. */
function deliverAnswer(m: MachineState, request: OpenRequest, value: Json): void {
  const node = nodeNamed(m.graph, request.node)
  stopWaiting(m)
  extrasOf(sendFromOutside(m, node, { value, route: { nodes: [node.id] } })).answers = request
  settle(m)
}

export function fireTimer(m: MachineState, { timer }: TimerFired): void {
  if (!removeEntry(m.timers, timer)) throw new SuperstepError("TIMER_NOT_SET", `Timer "${timer}" is not set.`)
  const [kind, rest] = splitName(timer)
  if (timer === RUN_TIMER) {
    enterLimitRoute(m, { code: "RUN_TIMEOUT", message: "The run's time is up." })
  } else if (kind === "retry") {
    admitToRun(m, m.tasks.get(Number(rest)) as Task)
    settle(m)
  } else if (kind === "sleep") {
    const [id, key] = splitName(rest)
    endWait(m, m.tasks.get(Number(id)) as Task, key, { ok: true, value: null })
  } else if (kind === "signal") {
    const [id, key] = splitName(rest)
    expireSignalWait(m, m.tasks.get(Number(id)) as Task, key)
  } else if (kind === "request") {
    expire(m, m.requests.get(rest) as OpenRequest)
  } else {
    joinTimeUp(m, rest)
  }
}

/** No signal came in time: the default is its value, or the wait fails. */
function expireSignalWait(m: MachineState, task: Task, key: string): void {
  const wait = task.waits?.get(key) as SignalWait
  const { name, default: fallback } = wait
  if (fallback !== undefined)
    return endWait(m, task, key, { ok: true, value: Object.freeze({ value: fallback }) })
  const message = `No signal "${name}" arrived in time.`
  endWait(m, task, key, { ok: false, error: { code: "SIGNAL_TIMEOUT", message, retryable: false } })
}

/** Somebody passes an open request on to another person. */
export function passOn(m: MachineState, { request: id, to, note, by }: RequestEscalated): void {
  const request = m.requests.get(id)
  if (request === undefined) throw new SuperstepError("REQUEST_NOT_OPEN", `Request "${id}" is not open (M7).`)
  const { note: _, escalatedBy: __, ...same } = request
  reassign(m, {
    ...same,
    to,
    ...(note === undefined ? {} : { note }),
    ...(by === undefined ? {} : { escalatedBy: by }),
  })
}

/** With a deadline: it is a new one. */
function reassign(m: MachineState, changed: OpenRequest, deadline?: number): void {
  const request = freezeData(changed)
  m.requests = putEntry(m.requests, request.id, request)
  m.out = pushSized(m.out, { type: "request", request })
  if (deadline !== undefined) setTimer(m, requestTimer(request.id), deadline)
  if (watched(m)) emit(m, { type: "request.escalated", request })
}

/** Passes the request to the next person. */
function escalate(m: MachineState, request: OpenRequest, { to, timeout }: Escalation): void {
  const deadline = timeout === undefined ? undefined : m.now + timeout
  reassign(m, { ...request, to, deadline, escalate: request.escalate?.slice(1) }, deadline)
}

/** The deadline passed: the next one is asked, else the default is the answer, else the request is closed. */
function expire(m: MachineState, request: OpenRequest): void {
  const [next] = request.escalate ?? []
  if (next !== undefined) return escalate(m, request, next)
  if (request.default !== undefined) {
    return answer(m, { request: request.id, value: request.default, by: "deadline" })
  }
  const waiting = waitingFor(m, request)
  closeRequest(m, request.id, "expired")
  const message = `Nobody answered "${request.prompt}" before its deadline.`
  const error = { code: "REQUEST_EXPIRED", message, retryable: false }
  if (waiting !== undefined) endWait(m, waiting.task, waiting.key, { ok: false, error })
  else expireApart(m, request, { ...error, node: request.node })
}

/** No handler waits for it: the failure is routed like that of a task. */
function expireApart(m: MachineState, { node: id, data }: OpenRequest, error: ErrorData): void {
  const node = nodeNamed(m.graph, id)
  const sends = failureRoute({ node, message: data ?? null }, error)
  if (sends === undefined) return finishRun(m, "failed", error)
  stopWaiting(m)
  for (const send of sends) sendFromOutside(m, node, send)
  settle(m)
}

function joinTimeUp(m: MachineState, name: string): void {
  const [number, id] = splitName(name)
  const join = m.graph.joinIndex.get(id) as GraphJoin
  const round = m.joins?.[join.index]?.rounds.get(Number(number)) as JoinRound
  if (settles(join)) {
    stopWaiting(m)
    fireEarly(m, join, round)
    return settle(m)
  }
  const missing = missingSources(join, round).map((source) => `"${source}"`)
  const message = `The join of "${join.group.to}" waited ${join.group.timeout} ms; ${missing.join(", ")} did not send.`
  finishRun(m, "failed", { code: "JOIN_TIMEOUT", message, node: join.group.to })
}
