/** What an event changes in the workflow that it belongs to. The run as a whole is `fold-event.ts`. */
import { addUsage, type TaskId } from "../core/index.ts"
import type { Draft, Owned } from "./draft.ts"
import type { DurableEvent } from "./events.ts"
import { writeState } from "./fold-state.ts"
import { endTask, foldTask, isAtWork, isOver, ownSuperstep, ownTask } from "./fold-task.ts"
import { getPaged, pagedValues } from "./paged.ts"
import type { WorkflowView } from "./run-view.ts"

type Workflow = Owned<WorkflowView>

export function foldWorkflow(draft: Draft, workflow: Workflow, event: DurableEvent): void {
  switch (event.type) {
    case "run.started":
      workflow.workflow = event.workflow
      workflow.input = event.input
      workflow.startedAt = event.at
      break
    case "run.waiting":
      endRejected(draft, workflow, event.at)
      workflow.resting = true
      workflow.status = "waiting"
      break
    case "run.resumed":
      workflow.resting = false
      workflow.status = "running"
      break
    case "run.finished":
      endRejected(draft, workflow, event.at)
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
      endRejected(draft, workflow, event.at)
      ownSuperstep(draft, workflow, event.superstep, event.at).committedAt = event.at
      break
    case "task.started":
    case "task.finished":
    case "task.failed":
    case "task.parked":
    case "task.resumed":
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
      const byNode = draft.own(workflow.usageByNode)
      byNode[event.node] = addUsage(byNode[event.node] ?? {}, event.usage)
      workflow.usageByNode = byNode
      workflow.usage = addUsage(workflow.usage, event.usage)
      break
    }
    case "request.answered":
    case "request.closed":
    case "request.opened":
      // The run's: people see one list.
      break
    case "step.recorded":
    case "join.waiting":
      // Told for the record; nothing that a view shows.
      break
  }
}

/**
 * A task whose message no handler takes ends without an event of its own. When its workflow commits, waits or is
 * over, nothing in it is at work: what still seems to be has ended that way.
 */
function endRejected(draft: Draft, workflow: Workflow, at: number): void {
  if (workflow.atWork === 0) return
  const current = getPaged(workflow.supersteps, workflow.superstep)
  for (const id of pagedValues(current?.tasks ?? {})) endIfAtWork(draft, workflow, id, at)
  if (workflow.atWork === 0) return
  for (const { id } of pagedValues(workflow.tasks)) endIfAtWork(draft, workflow, id, at)
}

function endIfAtWork(draft: Draft, workflow: Workflow, id: TaskId, at: number): void {
  const known = getPaged(workflow.tasks, id)
  if (known === undefined || !isAtWork(known)) return
  endTask(ownTask(draft, workflow, id, known.node, at), "finished", at)
  workflow.atWork--
}

/** The run is over, and with it a workflow below whose end nobody told any more. */
export function endWithTheRun(draft: Draft, workflow: Workflow, at: number): void {
  for (const known of pagedValues(workflow.tasks)) {
    if (isOver(known) && known.calls.length === 0) continue
    const task = ownTask(draft, workflow, known.id, known.node, at)
    if (!isOver(task)) endTask(task, "cancelled", at)
    task.calls = task.calls.map((call) => {
      const owned = draft.own(call)
      endWithTheRun(draft, owned, at)
      return owned
    })
  }
  workflow.atWork = 0
  workflow.resting = false
  if (workflow.finishedAt !== undefined) return
  workflow.status = "cancelled"
  workflow.finishedAt = at
}
