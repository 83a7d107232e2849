/** What an event changes in one task, and in the superstep that it belongs to. */
import type { NodeId, TaskId } from "../core/index.ts"
import type { Draft, Owned } from "./draft.ts"
import type { DurableEvent } from "./events.ts"
import { getPaged, putPaged } from "./paged.ts"
import type { SuperstepView, TaskView, WorkflowView } from "./run-view.ts"

type Workflow = Owned<WorkflowView>

type TaskEvent = Extract<DurableEvent, { type: `task.${string}` }>

export function foldTask(draft: Draft, workflow: Workflow, event: TaskEvent): void {
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

export function endTask(
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

export function isOver({ status }: Pick<TaskView, "status">): boolean {
  return status === "finished" || status === "failed" || status === "rejected" || status === "cancelled"
}

/** A stream that is joined in the middle tells of tasks whose start was not seen. */
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

export function ownSuperstep(
  draft: Draft,
  workflow: Workflow,
  superstep: number,
  at: number,
): Owned<SuperstepView> {
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
