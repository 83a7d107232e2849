/** The outcome of a run, task by task, for comparing two runs of a workflow. Attempts and times are ignored. */

import type {
  Entry,
  ErrorData,
  Json,
  NodeId,
  RequestSpec,
  RunStatus,
  Schedule,
  TaskFinished,
  TaskId,
  Usage,
} from "../core/index.ts"
import type { FoldedFrame, FoldedRecord } from "../runtime/internal.ts"
import { isTriedAgain } from "./checkpoints.ts"
import { type Journal, JournalWalk } from "./journal-walk.ts"
import { callOf } from "./names.ts"

export interface RunSummary {
  readonly status: RunStatus
  readonly error: ErrorData | undefined
  readonly outputs: readonly Json[]
  readonly state: { readonly [key: string]: Json }
  readonly usage: Usage
  /** The part of `usage` that was reserved and never settled. */
  readonly lost: Usage
  readonly root: FrameSummary
}

/** One workflow within the run. */
export interface FrameSummary {
  readonly key: string
  readonly path: readonly string[]
  readonly schedule: Schedule
  /** In the order of their ids; only those that started. */
  readonly tasks: readonly TaskSummary[]
}

export interface TaskSummary {
  readonly id: TaskId
  readonly node: NodeId
  readonly input: Json
  readonly steps: ReadonlyMap<string, Json>
  /** Its questions to people, by key. */
  readonly asked: ReadonlyMap<string, Json>
  /** The sub-workflows that it called, by key, once they had begun; if a retry called one again, the last. */
  readonly calls: ReadonlyMap<string, FrameSummary | undefined>
  readonly end: TaskEnd | undefined
}

export type TaskEnd =
  | ({ readonly type: "finished" } & Pick<TaskFinished, "sends" | "writes" | "local" | "settled">)
  | { readonly type: "failed"; readonly error: ErrorData }
  | { readonly type: "refused"; readonly reason: string }

interface OwnTask extends TaskSummary {
  readonly steps: Map<string, Json>
  readonly asked: Map<string, Json>
  readonly calls: Map<string, FrameSummary | undefined>
  end: TaskEnd | undefined
}

interface OwnFrame extends FrameSummary {
  readonly tasks: OwnTask[]
  readonly byId: Map<TaskId, OwnTask>
}

/** Throws the machine's error for an invalid entry. */
export function summarize(journal: Journal): RunSummary {
  const walk = new JournalWalk(journal)
  const frames = new Map<string, OwnFrame>()
  for (const walked of walk) take(walked, frames)
  for (const { tasks } of frames.values()) tasks.sort((a, b) => a.id - b.id)
  const { machine } = walk.frames.get("") as FoldedFrame
  const { status, error, outputs, usage, lost } = machine
  return { status, error, outputs, state: machine.allState(), usage, lost, root: frames.get("") as OwnFrame }
}

function take(walked: FoldedRecord, frames: Map<string, OwnFrame>): void {
  const { record, effects } = walked
  const frame = frames.get(record.frame) ?? newFrame(walked.frame, frames)
  if ("task" in record.entry) {
    const task = frame.byId.get(record.entry.task)
    if (task !== undefined) takeEntry(task, record.entry, walked)
  }
  for (const effect of effects) {
    if (effect.type !== "start" || frame.byId.has(effect.task.id)) continue
    const { id, node, message } = effect.task
    const own = { steps: new Map(), asked: new Map(), calls: new Map(), end: undefined }
    const task: OwnTask = { id, node: node.id, input: message, ...own }
    frame.byId.set(id, task)
    frame.tasks.push(task)
  }
}

function newFrame({ key, path, machine }: FoldedFrame, frames: Map<string, OwnFrame>): OwnFrame {
  const { schedule } = machine.graph
  const frame: OwnFrame = { key, path, schedule, tasks: [], byId: new Map() }
  frames.set(key, frame)
  if (key === "") return frame
  const { frame: above, task, call } = callOf(key)
  frames.get(above)?.byId.get(task)?.calls.set(call, frame)
  return frame
}

function takeEntry(task: OwnTask, entry: Entry, walked: FoldedRecord): void {
  switch (entry.type) {
    case "step.recorded":
      task.steps.set(entry.key, entry.value)
      break
    case "call.started":
      if (!task.calls.has(entry.key)) task.calls.set(entry.key, undefined)
      break
    case "request.opened":
      task.asked.set(entry.key, question(entry.request))
      break
    case "task.finished": {
      const { sends, writes, local, settled } = entry
      for (const [i, request] of (entry.requests ?? []).entries())
        task.asked.set(`request ${i + 1}`, question(request))
      task.end = { type: "finished", sends, writes, local, settled }
      break
    }
    case "task.failed":
      if (!isTriedAgain(walked)) task.end = { type: "failed", error: entry.error }
      break
    case "task.rejected":
      task.end = { type: "refused", reason: entry.reason }
      break
    default:
      break
  }
}

/** Without the deadline, which depends on the clock. */
function question({ prompt, data, to }: RequestSpec): Json {
  return { prompt, data, to }
}
