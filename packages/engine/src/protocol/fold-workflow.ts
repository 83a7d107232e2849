/** What an event changes in the workflow that it belongs to. The run as a whole is `fold-event.ts`. */
import { addUsage, type Usage } from "../core/index.ts"
import { type Draft, emptyRecord, type Owned } from "./draft.ts"
import type { DurableEvent } from "./events.ts"
import { writeState } from "./fold-state.ts"
import { endTask, foldTask, isOver, ownSuperstep, ownTask } from "./fold-task.ts"
import { pagedValues } from "./paged.ts"
import type { WorkflowView } from "./run-view.ts"

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
      workflow.status = "running"
      break
    case "run.finished":
      workflow.resting = false
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
      // The run's: people see one list.
      break
    case "step.recorded":
    case "join.waiting":
      // Told for the record; nothing that a view shows.
      break
  }
}

/** Takes the place of `totals`. */
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

/** A fork goes on as if it were still then. */
function moveTimers(draft: Draft, workflow: Workflow, later: number, at: number): void {
  for (const { id, node, retryAt, waits } of pagedValues(workflow.tasks)) {
    if (retryAt === undefined && !waits.some(({ kind }) => kind === "timer")) continue
    const task = ownTask(draft, workflow, id, node, at)
    if (retryAt !== undefined) task.retryAt = retryAt + later
    task.waits = waits.map((wait) => (wait.kind === "timer" ? { ...wait, until: wait.until + later } : wait))
  }
}

/** What called it is over, and with it this workflow, whose end nobody tells. */
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
