/**
 * Folds events into the view of a run. `fold-workflow.ts` folds a single workflow; this module folds what concerns the whole
 * run: order, requests, the overall status, live events.
 *
 * Invariants:
 * V1 a published view never changes.
 * V2 an event costs its own size, however long the run is; each published view costs the parts that change next.
 * V3 a repeated event changes nothing: a stream can be rejoined from any number.
 * V4 every prefix of a run's events yields a view; the whole stream yields the run's result.
 */
import { type OpenRequest, type RequestId, type RunStatus, SuperstepError, type Wait } from "../core/index.ts"
import type { RunEvent } from "./events.ts"
import { endWithItsCaller, foldWorkflow, ownTask } from "./fold-workflow.ts"
import {
  callerIn,
  Draft,
  type DurableEvent,
  emptyView,
  emptyWorkflow,
  isLive,
  isPassing,
  type LogEvent,
  lastCall,
  type Owned,
  type RequestView,
  type RunView,
  taskOf,
  tasksOf,
  type WorkflowView,
} from "./run-view.ts"

const MAX_LOG = 1_000

/** Folds events one by one and has the view ready at any time: for following a stream. */
export class RunFold {
  readonly #draft: Draft
  #view: RunView

  /** `onCopy` receives every part that is copied: what views cost. */
  constructor(view: RunView = emptyView(), onCopy?: (part: object) => void) {
    this.#view = view
    this.#draft = new Draft(onCopy)
  }

  /** The view so far. It belongs to the reader: later events copy the parts that they change (V1). */
  get view(): RunView {
    this.#draft.release()
    return this.#view
  }

  add(event: RunEvent): this {
    const { runId } = this.#view
    if (runId !== "" && event.runId !== runId) {
      throw new SuperstepError(
        "EVENT_OF_ANOTHER_RUN",
        `An event of run "${event.runId}" cannot be folded into the view of run "${runId}"; keep a view for each.`,
      )
    }
    const view = this.#draft.own(this.#view)
    this.#view = view
    view.runId = event.runId
    if (isPassing(event)) return this
    if (isLive(event)) addLive(this.#draft, view, event)
    else if (event.seq > view.seq) addDurable(this.#draft, view, event)
    else view.place = { seq: event.seq, live: 0 }
    return this
  }
}

/** The view after the event; the previous view stays unchanged. */
export function foldEvent(view: RunView, event: RunEvent): RunView {
  return new RunFold(view).add(event).view
}

/** The view after all events: changed parts are copied once, not once per event. */
export function foldEvents(view: RunView, events: Iterable<RunEvent>): RunView {
  const fold = new RunFold(view)
  for (const event of events) fold.add(event)
  return fold.view
}

function addDurable(draft: Draft, view: Owned<RunView>, event: DurableEvent): void {
  view.seq = event.seq
  view.live = 0
  view.place = { seq: event.seq, live: 0 }
  const workflow = ownWorkflow(draft, view, event)
  const { atWork, resting } = workflow
  foldWorkflow(draft, workflow, event)
  addTotals(view, workflow.atWork - atWork, Number(workflow.resting) - Number(resting))
  foldRequest(draft, view, workflow, event)
  endAbandoned(draft, view, workflow, event)
  if (event.type === "run.finished" && event.path.length === 0) endEverything(draft, view, event.at)
  view.status = overall(view)
}

/** The workflow that the event belongs to. Each call of a task starts a separate one. */
function ownWorkflow(draft: Draft, view: Owned<RunView>, event: DurableEvent): Owned<WorkflowView> {
  let workflow: Owned<WorkflowView> = view
  for (const [depth, part] of event.path.entries()) {
    const { node, task } = callerIn(part)
    const caller = ownTask(draft, workflow, task, node, event.at)
    const calls = draft.own(caller.calls)
    const isNew = event.type === "run.started" && depth === event.path.length - 1
    const last = isNew ? undefined : lastCall(calls, part)
    const owned: Owned<WorkflowView> =
      last === undefined ? draft.made(emptyWorkflow(event.path.slice(0, depth + 1))) : draft.own(last)
    calls[last === undefined ? calls.length : calls.indexOf(last)] = owned
    caller.calls = calls
    workflow = owned
  }
  return workflow
}

function foldRequest(
  draft: Draft,
  view: Owned<RunView>,
  workflow: Owned<WorkflowView>,
  event: DurableEvent,
): void {
  if (event.type === "request.opened") {
    const { request, path } = event
    putRequest(draft, view, request.id, {
      request,
      path,
      status: "open",
      answer: undefined,
      by: undefined,
      closedAt: undefined,
    })
  } else if (event.type === "run.forked") {
    for (const [id, known] of Object.entries(view.requests)) {
      const { request, status, path } = known
      if (status !== "open" || request.deadline === undefined || path.join() !== event.path.join()) continue
      const deadline = request.deadline + event.later
      putRequest(draft, view, id, { ...known, request: { ...request, deadline } })
    }
  } else if (event.type === "request.escalated") {
    const known = view.requests[event.request.id]
    if (known !== undefined) putRequest(draft, view, event.request.id, { ...known, request: event.request })
  } else if (event.type === "request.answered" || event.type === "request.closed") {
    const known = view.requests[event.request]
    if (known === undefined) return
    const end =
      event.type === "request.answered"
        ? { status: "answered" as const, answer: event.value, by: event.by }
        : { status: event.reason }
    putRequest(draft, view, event.request, { ...known, ...end, closedAt: event.at })
    endWait(draft, workflow, known.request, event.at)
  }
}

/** The task that asked may still wait for other things: a separate event reports that it resumes. */
function endWait(
  draft: Draft,
  workflow: Owned<WorkflowView>,
  { id, node, task }: OpenRequest,
  at: number,
): void {
  const isFor = (wait: Wait) => wait.kind === "request" && wait.request === id
  if (!taskOf(workflow, task)?.waits.some(isFor)) return
  const waiting = ownTask(draft, workflow, task, node, at)
  waiting.waits = waiting.waits.filter((wait) => !isFor(wait))
}

function putRequest(draft: Draft, view: Owned<RunView>, id: RequestId, request: RequestView): void {
  const requests = draft.own(view.requests)
  const opened = Number(request.status === "open") - Number(requests[id]?.status === "open")
  requests[id] = request
  view.requests = requests
  addTotals(view, 0, 0, opened)
}

function addTotals(view: Owned<RunView>, atWork: number, resting: number, requests = 0): void {
  const { totals } = view
  view.totals = {
    atWork: totals.atWork + atWork,
    resting: totals.resting + resting,
    requests: totals.requests + requests,
  }
}

/** An attempt that ends abandons the workflows that it called; no event reports their end. */
function endAbandoned(
  draft: Draft,
  view: Owned<RunView>,
  workflow: Owned<WorkflowView>,
  event: DurableEvent,
): void {
  if (event.type !== "task.failed" && event.type !== "task.finished" && event.type !== "task.cancelled")
    return
  const { task: id, node, at } = event
  const calls = taskOf(workflow, id)?.calls ?? []
  if (calls.every((call) => call.finishedAt !== undefined)) return
  ownTask(draft, workflow, id, node, at).calls = calls.map((call) => {
    if (call.finishedAt !== undefined) return call
    const { atWork, resting } = totalsOf(call)
    addTotals(view, -atWork, -resting)
    withdrawRequests(draft, view, at, call.path)
    const owned = draft.own(call)
    endWithItsCaller(draft, owned, at)
    return owned
  })
}

/** The share of a workflow and everything below it in the run's totals. */
function totalsOf(workflow: WorkflowView): { atWork: number; resting: number } {
  let { atWork } = workflow
  let resting = Number(workflow.resting)
  for (const task of tasksOf(workflow)) {
    for (const call of task.calls) {
      const below = totalsOf(call)
      atWork += below.atWork
      resting += below.resting
    }
  }
  return { atWork, resting }
}

function withdrawRequests(draft: Draft, view: Owned<RunView>, at: number, below: readonly string[]): void {
  for (const [id, request] of Object.entries(view.requests)) {
    if (request.status !== "open" || below.some((part, i) => request.path[i] !== part)) continue
    putRequest(draft, view, id, { ...request, status: "withdrawn", closedAt: at })
  }
}

/** The end of the run ends its stream: running sub-workflows end without their own events. */
function endEverything(draft: Draft, view: Owned<RunView>, at: number): void {
  endWithItsCaller(draft, view, at)
  withdrawRequests(draft, view, at, [])
  view.totals = { atWork: 0, resting: 0, requests: 0 }
}

/** A run counts as waiting until something executes again or an event changes its status. */
function overall({ status, finishedAt, pause, totals }: RunView): RunStatus {
  if (finishedAt !== undefined) return status
  if (pause !== undefined) return "paused"
  if (totals.atWork > 0) return "running"
  return totals.requests > 0 || totals.resting > 0 ? "waiting" : status
}

/** for live events: they count by their position after the numbered event. */
function addLive(draft: Draft, view: Owned<RunView>, event: LogEvent): void {
  const { seq, live, place } = view
  if (event.seq < seq || place.seq < seq) return
  if (place.live < live && isRepeated(view.log, live - place.live, event)) {
    view.place = { seq, live: place.live + 1 }
    return
  }
  const log = draft.own(view.log)
  log.push(event)
  if (log.length > MAX_LOG) log.shift()
  view.log = log
  view.live = live + 1
  view.place = { seq, live: live + 1 }
}

/** A stream from the journal omits live events, so an event at a known position may still be new. */
function isRepeated(log: readonly LogEvent[], fromTheEnd: number, event: LogEvent): boolean {
  const known = log.at(-fromTheEnd)
  if (known === undefined) return event.at <= (log[0]?.at ?? 0)
  return textOf(known) === textOf(event)
}

function textOf(event: LogEvent): string {
  const { at, path, type, task, data } = event
  return JSON.stringify([at, path, type, task, type === "log" ? event.message : event.name, data])
}
