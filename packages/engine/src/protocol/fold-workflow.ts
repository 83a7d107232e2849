/** What an event changes in its workflow, task and superstep. `fold-event.ts` folds the run as a whole. */
import {
  addUsage,
  type BuiltInReducer,
  isBuiltInReducer,
  type Json,
  type NodeId,
  reduce,
  type TaskId,
  type Usage,
  type Wait,
  writeProblem,
} from "../core/index.ts"
import { movedWait } from "../core/internal.ts"
import {
  type Draft,
  type DurableEvent,
  emptyRecord,
  getPaged,
  type Owned,
  pagedValues,
  putPaged,
  type SuperstepView,
  type TaskView,
  type WorkflowView,
} from "./run-view.ts"

type Workflow = Owned<WorkflowView>

export function foldWorkflow(draft: Draft, workflow: Workflow, event: DurableEvent): void {
  switch (event.type) {
    case "run.started":
      workflow.workflow = event.workflow
      workflow.input = event.input
      if (event.state !== undefined) workflow.state = draft.made({ ...emptyRecord(), ...event.state })
      workflow.startedAt = event.at
      break
    case "run.forked":
      if (event.state !== undefined) {
        workflow.state = draft.made({ ...emptyRecord(), ...workflow.state, ...event.state })
      }
      moveTimers(draft, workflow, event.later, event.at)
      break
    case "run.waiting":
      workflow.resting = true
      workflow.status = "waiting"
      break
    case "run.resumed":
      workflow.resting = false
      workflow.pause = undefined
      workflow.status = "running"
      break
    case "run.paused": {
      const { at, reason, by } = event
      workflow.resting = false
      workflow.pause = draft.made({
        at,
        ...(reason === undefined ? {} : { reason }),
        ...(by === undefined ? {} : { by }),
      })
      workflow.status = "paused"
      break
    }
    case "run.finished":
      workflow.resting = false
      workflow.pause = undefined
      workflow.status = event.status
      workflow.error = event.error
      workflow.finishedAt = event.at
      break
    case "limit.reached":
      workflow.limit = event.error
      break
    case "superstep.started":
      workflow.superstep = event.superstep
      ownSuperstep(draft, workflow, event.superstep, event.at).size = event.tasks
      break
    case "superstep.committed":
      ownSuperstep(draft, workflow, event.superstep, event.at).committedAt = event.at
      break
    case "task.started":
    case "task.finished":
    case "task.failed":
    case "task.parked":
    case "task.resumed":
    case "task.rejected":
    case "task.cancelled":
      foldTask(draft, workflow, event)
      break
    case "state.written":
      workflow.state = writeState(draft, workflow.state, event)
      break
    case "output": {
      const outputs = draft.own(workflow.outputs)
      outputs.push(event.value)
      workflow.outputs = outputs
      break
    }
    case "message.undelivered": {
      const { from, to, reason, value } = event
      const undelivered = draft.own(workflow.undelivered)
      undelivered.push({
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        reason,
        value,
      })
      workflow.undelivered = undelivered
      break
    }
    case "usage.recorded": {
      const { node, usage, source } = event
      workflow.usageByNode = counted(draft, workflow.usageByNode, node, usage)
      workflow.usageByAgent = counted(draft, workflow.usageByAgent, source?.agent, usage)
      workflow.usageByModel = counted(draft, workflow.usageByModel, source?.model, usage)
      workflow.usage = addUsage(workflow.usage, usage)
      break
    }
    case "request.answered":
    case "request.closed":
    case "request.escalated":
    case "request.opened":
      // Part of the run: people see one list.
      break
    case "signal.taken":
      endSignalWait(draft, workflow, event)
      break
    case "signal.received":
    case "signal.replied":
    case "step.recorded":
    case "join.waiting":
      // A view does not show these.
      break
  }
}

/** Replaces `totals`. */
function counted(
  draft: Draft,
  totals: WorkflowView["usageByNode"],
  name: string | undefined,
  usage: Usage,
): WorkflowView["usageByNode"] {
  if (name === undefined) return totals
  const owned = draft.own(totals)
  owned[name] = addUsage(owned[name] ?? {}, usage)
  return owned
}

/** The task may still wait for other things: a separate event reports that it resumes. */
function endSignalWait(
  draft: Draft,
  workflow: Workflow,
  { task: id, node, name, at }: Extract<DurableEvent, { type: "signal.taken" }>,
): void {
  const task = ownTask(draft, workflow, id, node, at)
  const isFor = (wait: Wait) => wait.kind === "signal" && wait.name === name
  const [oldest] = task.waits.filter(isFor).sort((a, b) => orderOf(a) - orderOf(b))
  task.waits = task.waits.filter((wait) => wait !== oldest)
}

function orderOf(wait: Wait): number {
  return wait.kind === "signal" ? wait.order : 0
}

/** A fork continues as if no time had passed since its point. */
function moveTimers(draft: Draft, workflow: Workflow, later: number, at: number): void {
  for (const { id, node, retryAt, waits } of pagedValues(workflow.tasks)) {
    if (retryAt === undefined && !waits.some(isTimed)) continue
    const task = ownTask(draft, workflow, id, node, at)
    if (retryAt !== undefined) task.retryAt = retryAt + later
    task.waits = waits.map((wait) => movedWait(wait, later))
  }
}

function isTimed(wait: Wait): boolean {
  return wait.kind === "timer" || (wait.kind === "signal" && wait.deadline !== undefined)
}

/** The caller has ended, and this workflow with it; no event reports that. */
export function endWithItsCaller(draft: Draft, workflow: Workflow, at: number): void {
  for (const known of pagedValues(workflow.tasks)) {
    if (isOver(known) && known.calls.length === 0) continue
    const task = ownTask(draft, workflow, known.id, known.node, at)
    if (!isOver(task)) endTask(task, "cancelled", at)
    task.calls = task.calls.map((call) => {
      const owned = draft.own(call)
      endWithItsCaller(draft, owned, at)
      return owned
    })
  }
  workflow.atWork = 0
  workflow.resting = false
  if (workflow.finishedAt !== undefined) return
  workflow.status = "cancelled"
  workflow.finishedAt = at
}

/** The state after the write, computed with the machine's own reducers. Replaces `state`. */
function writeState(
  draft: Draft,
  state: WorkflowView["state"],
  { key, reducer, value }: { readonly key: string; readonly reducer: string; readonly value: Json },
): WorkflowView["state"] {
  const owned = draft.own(state)
  owned[key] = reduced(draft, isBuiltInReducer(reducer) ? reducer : "replace", owned[key], value)
  return owned
}

/**
 * Reducers write into the list or record that they receive. It must be the draft's own, before and after:
 * neither an older view nor the event with the value may see it grow.
 */
function reduced(draft: Draft, reducer: BuiltInReducer, current: Json | undefined, write: Json): Json {
  if (reducer === "replace") return write
  const fits = current !== undefined && writeProblem(reducer, current) === undefined
  return ownJson(draft, reduce(reducer, fits ? ownJson(draft, current) : undefined, write))
}

function ownJson(draft: Draft, value: Json): Json {
  return typeof value === "object" && value !== null ? (draft.own(value) as Json) : value
}

type TaskEvent = Extract<DurableEvent, { type: `task.${string}` }>

function foldTask(draft: Draft, workflow: Workflow, event: TaskEvent): void {
  const task = ownTask(draft, workflow, event.task, event.node, event.at)
  const before = isAtWork(task)
  switch (event.type) {
    case "task.started":
      task.status = "running"
      task.attempt = event.attempt
      task.retryAt = undefined
      task.superstep = event.superstep
      if (event.superstep > workflow.superstep) workflow.superstep = event.superstep
      addToSuperstep(draft, workflow, event.superstep, task.id, event.at)
      break
    case "task.finished":
      endTask(task, event.settled === undefined ? "finished" : "failed", event.at)
      task.error = event.settled
      break
    case "task.failed":
      task.attempt = event.attempt
      task.error = event.error
      task.waits = []
      task.retryAt = event.retryAt
      if (event.retryAt === undefined) endTask(task, "failed", event.at)
      else task.status = event.retryAt > event.at ? "backoff" : "queued"
      break
    case "task.parked": {
      const waits = draft.own(task.waits)
      waits.push(event.wait)
      task.waits = waits
      task.status = "parked"
      break
    }
    case "task.resumed":
      task.status = "running"
      task.waits = []
      break
    case "task.rejected":
      endTask(task, "rejected", event.at)
      break
    case "task.cancelled":
      endTask(task, "cancelled", event.at)
      break
  }
  workflow.atWork += Number(isAtWork(task)) - Number(before)
}

function endTask(
  task: Owned<TaskView>,
  status: "finished" | "failed" | "rejected" | "cancelled",
  at: number,
): void {
  task.status = status
  task.finishedAt = at
  task.retryAt = undefined
  task.waits = []
}

function isAtWork({ status }: Pick<TaskView, "status">): boolean {
  return status === "running" || status === "queued" || status === "backoff"
}

function isOver({ status }: Pick<TaskView, "status">): boolean {
  return status === "finished" || status === "failed" || status === "rejected" || status === "cancelled"
}

/** A stream joined in the middle has tasks whose start was not seen. */
export function ownTask(
  draft: Draft,
  workflow: Workflow,
  id: TaskId,
  node: NodeId,
  at: number,
): Owned<TaskView> {
  const known = getPaged(workflow.tasks, id)
  if (known !== undefined) {
    const task = draft.own(known)
    if (task !== known) workflow.tasks = putPaged(draft, workflow.tasks, id, task)
    return task
  }
  const task: Owned<TaskView> = draft.made({
    id,
    node,
    path: workflow.path,
    superstep: workflow.superstep,
    attempt: 1,
    status: "parked",
    startedAt: at,
    finishedAt: undefined,
    retryAt: undefined,
    error: undefined,
    waits: [],
    calls: [],
  })
  workflow.tasks = putPaged(draft, workflow.tasks, id, task)
  return task
}

function ownSuperstep(draft: Draft, workflow: Workflow, superstep: number, at: number): Owned<SuperstepView> {
  const known = getPaged(workflow.supersteps, superstep)
  const owned =
    known === undefined
      ? draft.made({ superstep, size: undefined, tasks: {}, startedAt: at, committedAt: undefined })
      : draft.own(known)
  if (owned !== known) workflow.supersteps = putPaged(draft, workflow.supersteps, superstep, owned)
  return owned
}

function addToSuperstep(draft: Draft, workflow: Workflow, superstep: number, id: TaskId, at: number): void {
  const owned = ownSuperstep(draft, workflow, superstep, at)
  owned.tasks = putPaged(draft, owned.tasks, id, id)
}
