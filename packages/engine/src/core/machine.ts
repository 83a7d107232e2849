/**
 * The machine: journal entries in, effects out. Deterministic: no IO, no clock, no randomness, no user code.
 * It leaves to its driver: running handlers, deciding routes, the clock, making entries durable.
 *
 * Invariants:
 * M1 a finished task never runs again.
 * M2 no dependent task starts before its cause is durable: effects are carried out after their entry is stored.
 * M3 a failed task leaves no writes, messages or outputs.
 * M4 writes to shared state become visible at the commit only, in task order. A node's own state is committed
 *    when its task finishes, so that its next delivery sees it.
 * M5 every message is delivered, buffered in a join, or reported undelivered.
 * M6 fold(journal) = live state, at every prefix.
 * M7 a request is answered at most once.
 * M8 budgets and attempts survive restarts: they follow from the journal.
 */
import { admitToRun, leaveRun, nodeState, release } from "./admission.ts"
import { askForReduction, completeCommit, overBudget, settle, startNext, stopWaiting } from "./commit.ts"
import {
  asFailed,
  clearTimer,
  fireEarly,
  missingSources,
  outsideMessage,
  setTimer,
  visit,
} from "./delivery.ts"
import type { Effect } from "./effects.ts"
import { emit, reportUndelivered, watched } from "./emit.ts"
import { finishRun, reachLimit } from "./ending.ts"
import type {
  Entry,
  RequestAnswered,
  RequestSpec,
  RunStarted,
  Send,
  StateReduced,
  TaskFailed,
  TaskFinished,
  TimerFired,
  WaitOutcome,
} from "./entries.ts"
import { type ErrorData, SuperstepError } from "./errors.ts"
import type { OpenRequest, RunStatus, Undelivered, Wait } from "./events.ts"
import type { Graph, GraphNode } from "./graph.ts"
import type { NodeId, RequestId, RunId, TaskId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import { ownCopy } from "./reducers.ts"
import { retryDelay } from "./retry.ts"
import { type MachineSnapshot, restoreState, snapshotOf } from "./snapshot.ts"
import { type FinishedTask, MachineState, Task } from "./state.ts"
import { addUsage, type Usage } from "./usage.ts"

export class Machine {
  readonly #m: MachineState

  private constructor(state: MachineState) {
    this.#m = state
  }

  /** A machine for a new run, and what to do first. */
  static start(graph: Graph, entry: RunStarted, observed = false): { machine: Machine; effects: Effect[] } {
    const m = new MachineState(graph)
    m.observed = observed
    const machine = new Machine(m)
    return { machine, effects: machine.apply(entry) }
  }

  static restore(graph: Graph, snapshot: MachineSnapshot): Machine {
    return new Machine(restoreState(graph, snapshot))
  }

  /** Takes one entry. An entry that does not fit the state throws and changes nothing. */
  apply(entry: Entry): Effect[] {
    const m = this.#m
    const effects: Effect[] = []
    m.out = effects
    m.now = entry.at
    switch (entry.type) {
      case "task.finished":
        finishTask(m, liveTask(m, entry.task), entry)
        break
      case "task.failed":
        failTask(m, liveTask(m, entry.task), entry)
        break
      case "step.recorded":
        record(m, liveTask(m, entry.task), entry.key, entry.value, entry.usage)
        break
      case "run.started":
        startRun(m, entry)
        break
      case "task.rejected":
        rejectTask(m, liveTask(m, entry.task), entry.reason)
        break
      case "usage.recorded":
        addFromBelow(m, liveTask(m, entry.task), entry.usage)
        break
      case "request.opened":
        openInline(m, liveTask(m, entry.task), entry.key, entry.request)
        break
      case "request.answered":
        answer(m, entry)
        break
      case "timer.set":
        setTimer(m, sleepTimer(entry.task, entry.key), entry.until)
        park(m, liveTask(m, entry.task), entry.key, { kind: "timer", until: entry.until })
        break
      case "timer.fired":
        fireTimer(m, entry)
        break
      case "call.started":
        park(m, liveTask(m, entry.task), entry.key, { kind: "call", workflow: entry.workflow })
        break
      case "call.finished":
        endWait(m, liveTask(m, entry.task), entry.key, entry.outcome)
        break
      case "state.reduced":
        acceptReduction(m, entry)
        break
      case "run.failed":
        finishRun(m, "failed", entry.error)
        break
      case "run.cancelled":
        finishRun(m, "cancelled", cancelled(entry.reason))
        break
    }
    return effects
  }

  /** The state as plain data: the same entries give the same bytes. */
  snapshot(): MachineSnapshot {
    return snapshotOf(this.#m)
  }

  /** What to do after a restore: every task that is not over starts (again), every timer is set. */
  resume(): Effect[] {
    const m = this.#m
    const effects: Effect[] = []
    for (const [timer, at] of m.timers) effects.push({ type: "timer", timer, at })
    for (const task of m.tasks.values()) {
      if (task.status === "running" || task.status === "parked") effects.push({ type: "start", task })
    }
    m.out = effects
    for (const [key, writes] of m.reducing) askForReduction(m, key, writes)
    return effects
  }

  /** From now on events are made, not only counted. */
  observe(observed: boolean): void {
    this.#m.observed = observed
  }

  /** How many events the entries so far gave. */
  get eventCount(): number {
    return this.#m.events
  }
  get graph(): Graph {
    return this.#m.graph
  }
  get runId(): RunId {
    return this.#m.runId
  }
  get status(): RunStatus {
    return this.#m.status
  }
  get error(): ErrorData | undefined {
    return this.#m.error
  }
  get superstep(): number {
    return this.#m.superstep
  }
  get usage(): Usage {
    return this.#m.usage
  }
  get outputs(): readonly Json[] {
    return this.#m.outputs
  }
  get undelivered(): readonly Undelivered[] {
    return this.#m.undelivered
  }
  /** Why no further task or paid call may start, or undefined. */
  get overBudget(): ErrorData | undefined {
    return overBudget(this.#m)
  }

  /** Whether tasks are at work; else the run is over or waits for something outside. */
  isBusy(): boolean {
    return this.#m.open > 0
  }
  isOver(): boolean {
    return this.#m.status !== "running" && this.#m.status !== "waiting"
  }
  /** Whether a result of this attempt still counts. */
  accepts(task: TaskId, attempt: number): boolean {
    return this.#m.tasks.get(task)?.attempt === attempt && !this.isOver()
  }
  /** Whether this failure is followed by another attempt. */
  willRetry(task: TaskId, error: ErrorData): boolean {
    const found = this.#m.tasks.get(task)
    return found !== undefined && delayBeforeRetry(this.#m, found, error) !== undefined
  }
  task(id: TaskId): Task | undefined {
    return this.#m.tasks.get(id)
  }
  /** Tasks that are not over. */
  tasks(): Iterable<Task> {
    return this.#m.tasks.values()
  }
  isWaitingFor(task: TaskId, key: string): Wait | undefined {
    return this.#m.tasks.get(task)?.waits?.get(key)
  }
  hasTimer(timer: TimerId): boolean {
    return this.#m.timers.has(timer)
  }

  /** The committed value of a channel. What is handed out is never written to again. */
  state(key: string): Json | undefined {
    this.#m.lent.add(key)
    return this.#m.shared.get(key)
  }
  allState(): { [key: string]: Json } {
    for (const key of this.#m.shared.keys()) this.#m.lent.add(key)
    return Object.fromEntries(this.#m.shared)
  }
  local(node: GraphNode, key: string): Json | undefined {
    const local = this.#m.nodes[node.index]?.local
    return local !== undefined && Object.hasOwn(local, key) ? local[key] : undefined
  }

  requests(): OpenRequest[] {
    return [...this.#m.requests.values()]
  }
  request(id: RequestId): OpenRequest | undefined {
    return this.#m.requests.get(id)
  }
  wasAnswered(id: RequestId): boolean {
    return this.#m.answered.has(id)
  }
  /** How often a counted edge was taken. */
  passes(from: GraphNode, to: NodeId): number {
    const edge = from.counted.get(to)
    return edge === undefined ? 0 : (this.#m.passes[edge.index] ?? 0)
  }
}

function liveTask(m: MachineState, id: TaskId): Task {
  const task = m.tasks.get(id)
  if (task === undefined) {
    throw new SuperstepError(
      "TASK_NOT_LIVE",
      `Task ${id} is over or never was; its run's journal cannot take this entry (M1).`,
    )
  }
  return task
}

function startRun(m: MachineState, entry: RunStarted): void {
  if (m.runId !== "") throw new SuperstepError("RUN_STARTED", `Run "${entry.runId}" was started before.`)
  m.runId = entry.runId
  m.startedAt = entry.at
  m.limits = { ...m.graph.spec.limits, ...entry.limits }
  m.budget = entry.budget
  for (const { key, initial } of m.graph.channels.values())
    if (initial !== undefined) m.shared.set(key, ownCopy(initial))
  for (const [key, value] of Object.entries(entry.state ?? {}))
    if (value !== undefined) m.shared.set(key, ownCopy(value))
  if (watched(m)) emit(m, { type: "run.started", workflow: entry.workflow, input: entry.input })
  if (entry.deadline !== undefined) setTimer(m, "run", entry.deadline)
  const node = m.graph.nodes[m.graph.start] as GraphNode
  const task = new Task(m.nextTask++, node, entry.input, undefined, 1)
  if (entry.trace !== undefined) task.traces = [entry.trace]
  visit(m, node)
  m.tasks.set(task.id, task)
  m.open++
  startNext(m, [task])
}

function finishTask(m: MachineState, task: Task, entry: TaskFinished): void {
  if (entry.usage !== undefined) addTo(m, task, entry.usage)
  if (entry.local !== undefined) {
    const node = nodeState(m, task.node)
    node.local ??= Object.create(null) as { [key: string]: Json }
    for (const [key, value] of entry.local) node.local[key] = value
  }
  if (watched(m)) {
    const settled = entry.settled === undefined ? {} : { settled: entry.settled }
    emit(m, { type: "task.finished", task: task.id, node: task.node.id, sends: entry.sends, ...settled })
  }
  for (const request of entry.requests ?? []) openRequest(m, task, request)
  endTask(m, task, entry.sends, entry.writes, entry.trace)
}

/** The task is over, one way or another: it leaves the live tasks, and what it sent waits for the commit. */
function endTask(
  m: MachineState,
  task: Task,
  sends: readonly Send[],
  writes?: TaskFinished["writes"],
  trace?: string,
): void {
  withdrawWaits(m, task)
  m.tasks.delete(task.id)
  if (task.status === "parked") m.parked--
  else m.open--
  m.finished.push({
    task: task.id,
    node: task.node,
    superstep: m.graph.schedule === "flow" ? task.superstep : m.superstep,
    sends,
    writes,
    map: task.map,
    item: task.item,
    trace,
  } satisfies FinishedTask)
  stopWaiting(m)
  release(m, task)
  settle(m)
}

function rejectTask(m: MachineState, task: Task, reason: string): void {
  reportUndelivered(m, { from: task.from, to: task.node.id, reason, value: task.message })
  endTask(m, task, [])
}

function failTask(m: MachineState, task: Task, entry: TaskFailed): void {
  if (task.attempt !== entry.attempt) {
    throw new SuperstepError(
      "ATTEMPT_OVER",
      `Attempt ${entry.attempt} of task ${task.id} is over; attempt ${task.attempt} counts.`,
    )
  }
  const error = { ...entry.error, node: task.node.id, attempt: entry.attempt }
  if (entry.usage !== undefined) addTo(m, task, entry.usage)
  const delay = delayBeforeRetry(m, task, entry.error)
  if (watched(m)) {
    const retryAt = delay === undefined ? {} : { retryAt: entry.at + delay }
    emit(m, {
      type: "task.failed",
      task: task.id,
      node: task.node.id,
      attempt: entry.attempt,
      error,
      ...retryAt,
    })
  }
  if (delay !== undefined) return retry(m, task, delay)
  const sends = error.fatal ? undefined : failureRoute(task, error)
  if (sends === undefined) finishRun(m, "failed", error)
  else endTask(m, task, sends, undefined, entry.trace)
}

function delayBeforeRetry(m: MachineState, task: Task, error: ErrorData): number | undefined {
  return retryDelay(task.node.spec.retry, task.attempt, error, `${m.runId}:${task.id}`)
}

/** The task keeps its place at its node, and what its steps recorded. */
function retry(m: MachineState, task: Task, delay: number): void {
  withdrawWaits(m, task)
  if (task.status === "parked") {
    m.parked--
    m.open++
    stopWaiting(m)
  }
  leaveRun(m, task)
  task.attempt++
  task.status = "backoff"
  if (delay === 0) admitToRun(m, task)
  else setTimer(m, `retry:${task.id}`, m.now + delay)
}

/** Where a final failure goes: the node's error edge, else the joins that settle; undefined: it fails the run. */
function failureRoute(task: Task, error: ErrorData): Send[] | undefined {
  const { node } = task
  const { onError } = node
  if (onError !== undefined) {
    const value = { node: node.id, error, input: task.message } as unknown as Json
    return [{ value, route: { nodes: [onError] } }]
  }
  if (node.settles.length === 0) return undefined
  return [{ value: asFailed(error), route: { joins: node.settles.map((join) => join.id), failed: true } }]
}

function record(m: MachineState, task: Task, key: string, value: Json, usage: Usage | undefined): void {
  if (task.memo?.has(key))
    throw new SuperstepError("STEP_RECORDED", `Step "${key}" of task ${task.id} is on record already.`)
  task.memo ??= new Map()
  task.memo.set(key, value)
  if (watched(m)) emit(m, { type: "step.recorded", task: task.id, node: task.node.id, key, value })
  if (usage !== undefined) addTo(m, task, usage)
}

function addTo(m: MachineState, task: Task, usage: Usage): void {
  m.usage = addUsage(m.usage, usage)
  if (watched(m)) emit(m, { type: "usage.recorded", task: task.id, node: task.node.id, usage })
}

/** A sub-workflow may be in the middle of its work: it stops at once when the budget is used up. */
function addFromBelow(m: MachineState, task: Task, usage: Usage): void {
  addTo(m, task, usage)
  const breach = overBudget(m)
  if (breach === undefined) return
  const route = reachLimit(m, breach)
  if (route !== undefined) startNext(m, [route])
}

/** A task that waits leaves its superstep: the others go on. */
function park(m: MachineState, task: Task, key: string, wait: Wait): void {
  task.waits ??= new Map()
  task.waits.set(key, wait)
  if (watched(m)) emit(m, { type: "task.parked", task: task.id, node: task.node.id, wait })
  if (task.status === "parked") return
  leaveRun(m, task)
  task.status = "parked"
  m.open--
  m.parked++
  settle(m)
}

/** What a task waited for is there. It counts as running again when it waits for nothing else. */
function endWait(m: MachineState, task: Task, key: string, outcome: WaitOutcome): void {
  task.waits?.delete(key)
  if (outcome.ok) {
    task.memo ??= new Map()
    task.memo.set(key, outcome.value)
  }
  m.out.push({ type: "resume", task, key, outcome })
  if (task.status !== "parked" || (task.waits?.size ?? 0) > 0) return
  stopWaiting(m)
  task.status = "running"
  m.parked--
  m.open++
  // It was let in before: it goes on at once, even where the run is full.
  m.running++
  if (watched(m)) emit(m, { type: "task.resumed", task: task.id, node: task.node.id })
}

/** An attempt that is over waits for nothing any more. */
function withdrawWaits(m: MachineState, task: Task): void {
  if (task.waits === undefined) return
  for (const [key, wait] of task.waits) {
    if (wait.kind === "timer") clearTimer(m, sleepTimer(task.id, key))
    if (wait.kind === "request") closeRequest(m, wait.request, "withdrawn")
  }
  task.waits = undefined
}

function openInline(m: MachineState, task: Task, key: string, spec: RequestSpec): void {
  const request = openRequest(m, task, spec)
  park(m, task, key, { kind: "request", request })
}

function openRequest(m: MachineState, task: Task, spec: RequestSpec): RequestId {
  const id: RequestId = `r${m.nextRequest++}`
  const request: OpenRequest = { id, node: task.node.id, task: task.id, openedAt: m.now, ...spec }
  m.requests.set(id, request)
  if (spec.deadline !== undefined) setTimer(m, requestTimer(id), spec.deadline)
  if (watched(m)) emit(m, { type: "request.opened", request })
  return id
}

function closeRequest(m: MachineState, id: RequestId, reason: "expired" | "withdrawn"): void {
  if (!m.requests.delete(id)) return
  clearTimer(m, requestTimer(id))
  if (watched(m)) emit(m, { type: "request.closed", request: id, reason })
}

function answer(m: MachineState, entry: RequestAnswered): void {
  const request = m.requests.get(entry.request)
  if (request === undefined) {
    throw new SuperstepError("REQUEST_NOT_OPEN", `Request "${entry.request}" is not open (M7).`)
  }
  m.requests.delete(request.id)
  m.answered.add(request.id)
  clearTimer(m, requestTimer(request.id))
  const by = entry.by === undefined ? {} : { by: entry.by }
  if (watched(m)) emit(m, { type: "request.answered", request: request.id, value: entry.value, ...by })
  const waiting = waitingFor(m, request)
  if (waiting === undefined) deliverAnswer(m, request, entry.value)
  else endWait(m, waiting.task, waiting.key, { ok: true, value: entry.value })
}

/** The task that waits inline for the request, and under which key. */
function waitingFor(m: MachineState, request: OpenRequest): { task: Task; key: string } | undefined {
  const task = m.tasks.get(request.task)
  for (const [key, wait] of task?.waits ?? []) {
    if (wait.kind === "request" && wait.request === request.id) return { task: task as Task, key }
  }
  return undefined
}

/** The task that asked is over: the answer comes back to its node as a message. */
function deliverAnswer(m: MachineState, request: OpenRequest, value: Json): void {
  const node = m.graph.nodes[m.graph.index.get(request.node) as number] as GraphNode
  stopWaiting(m)
  const message = outsideMessage(m, node, [{ value, route: { nodes: [node.id] } }])
  m.finished.push({ ...message, answers: request.id })
  settle(m)
}

function fireTimer(m: MachineState, { timer }: TimerFired): void {
  if (!m.timers.delete(timer)) {
    throw new SuperstepError("TIMER_NOT_SET", `Timer "${timer}" is not set.`)
  }
  const [kind, rest = ""] = split(timer)
  if (kind === "run") {
    const task = reachLimit(m, { code: "RUN_TIMEOUT", message: "The run's time is up." })
    if (task !== undefined) startNext(m, [task])
  } else if (kind === "retry") {
    admitToRun(m, m.tasks.get(Number(rest)) as Task)
  } else if (kind === "sleep") {
    const [id, key = ""] = split(rest)
    endWait(m, m.tasks.get(Number(id)) as Task, key, { ok: true, value: null })
  } else if (kind === "request") {
    expire(m, m.requests.get(rest) as OpenRequest)
  } else {
    joinTimeUp(m, rest)
  }
}

function split(text: string): [string, string | undefined] {
  const at = text.indexOf(":")
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/** The deadline passed: the default is the answer; without one the request is closed. */
function expire(m: MachineState, request: OpenRequest): void {
  if (request.default !== undefined) {
    return answer(m, {
      type: "request.answered",
      at: m.now,
      request: request.id,
      value: request.default,
      by: "deadline",
    })
  }
  const waiting = waitingFor(m, request)
  closeRequest(m, request.id, "expired")
  const error = {
    code: "REQUEST_EXPIRED",
    message: `Nobody answered "${request.prompt}" before its deadline.`,
    retryable: false,
  }
  if (waiting !== undefined) return endWait(m, waiting.task, waiting.key, { ok: false, error })
  finishRun(m, "failed", { ...error, node: request.node })
}

function joinTimeUp(m: MachineState, rest: string): void {
  const at = rest.lastIndexOf(":")
  const join = m.graph.joinIndex.get(rest.slice(0, at))
  const round = join && m.joins[join.index]?.rounds.get(Number(rest.slice(at + 1)))
  if (join === undefined || round === undefined) return
  if (join.group.join.kind === "settle") {
    stopWaiting(m)
    fireEarly(m, join, round)
    return settle(m)
  }
  const missing = missingSources(join, round).map((id) => `"${id}"`)
  const message = `The join of "${join.group.to}" waited ${join.group.timeout} ms; ${missing.join(", ")} did not send.`
  finishRun(m, "failed", { code: "JOIN_TIMEOUT", message, node: join.group.to })
}

function acceptReduction(m: MachineState, { key, value }: StateReduced): void {
  const writes = m.reducing.get(key)
  if (writes === undefined)
    throw new SuperstepError("NOT_REDUCING", `Channel "${key}" waits for no reduction.`)
  m.reducing.delete(key)
  m.shared.set(key, value)
  const last = m.committing.findLast((task) =>
    task.writes?.some(([written]) => written === key),
  ) as FinishedTask
  if (watched(m)) {
    emit(m, { type: "state.written", task: last.task, node: last.node.id, key, reducer: "replace", value })
  }
  if (m.reducing.size > 0) return
  completeCommit(m)
  settle(m)
}

function cancelled(reason: string | undefined): ErrorData {
  return { code: "CANCELLED", message: reason ?? "The run was cancelled." }
}

function sleepTimer(task: TaskId, key: string): TimerId {
  return `sleep:${task}:${key}`
}

function requestTimer(id: RequestId): TimerId {
  return `request:${id}`
}
