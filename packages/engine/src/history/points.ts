/** Finds the point in a journal at which a fork or a rerun begins. */
import {
  type Entry,
  type ErrorData,
  type NodeId,
  type RequestId,
  type RunId,
  SuperstepError,
  type TaskFailed,
  type TaskId,
} from "../core/index.ts"
import type { JournalRecord } from "../runtime/index.ts"
import { childKey } from "../runtime/internal.ts"
import { AskedRequests, checkSeq, seqOf, summarizeFrame } from "./history.ts"
import { eventsOf, type Journal, JournalWalk } from "./journal-walk.ts"

/**
 * `superstep`: after its last commit. `seq`: after that record of the journal. `task`: before it has done anything; with
 * `path`, one of a sub-workflow.
 */
export type Point =
  | { readonly superstep: number }
  | { readonly seq: number }
  | { readonly task: TaskId; readonly path?: readonly string[] | undefined }

export function seqOfPoint(journal: Journal, point: Point): number {
  const { runId, records } = journal
  if ("superstep" in point) return seqOf(runId, summarizeFrame(journal, []).checkpoints, point.superstep)
  if ("task" in point) return seqBeforeTask(journal, point.task, point.path ?? [])
  return wholeRecords(records, checkSeq(runId, point.seq, { from: 1, to: records.length }))
}

const WRITTEN_TOGETHER: ReadonlySet<Entry["type"]> = new Set([
  "usage.recorded",
  "usage.reserved",
  "state.reduced",
])

/** Some records are written together with the previous one and are meaningless without it. */
export function wholeRecords(records: readonly JournalRecord[], seq: number): number {
  let last = seq
  for (let next = records[last]; next !== undefined; next = records[last]) {
    const { type } = next.entry
    const forking = type === "run.forked" && records[last - 1]?.entry.type === "run.forked"
    if (!WRITTEN_TOGETHER.has(type) && !forking) break
    last++
  }
  return last
}

/** Keeps everything that other tasks did before its first entry. */
function seqBeforeTask(journal: Journal, task: TaskId, path: readonly string[]): number {
  const { runId, records } = journal
  const { key } = summarizeFrame(journal, path).frame
  let started = false
  for (const walked of new JournalWalk(journal)) {
    if (walked.frame.key !== key) continue
    if (walked.task?.id === task) return walked.record.seq - 1
    for (const event of eventsOf(walked))
      if (event.type === "task.started" && event.task === task) started = true
  }
  if (started) return records.length
  throw new SuperstepError("TASK_UNKNOWN", `Run "${runId}" did not start task ${task}.`, { run: runId })
}

/** The last record at which all of these questions were open. */
export function seqWithOpen(journal: Journal, requests: readonly RequestId[]): number {
  const asked = new AskedRequests()
  let seq: number | undefined
  for (const walked of new JournalWalk(journal)) {
    asked.take(walked)
    if (requests.every((id) => asked.isOpen(id))) seq = walked.record.seq
  }
  if (seq !== undefined) return wholeRecords(journal.records, seq)
  const names = (ids: readonly RequestId[]) => ids.map((id) => `"${id}"`).join(", ") || "none"
  const text = `Run "${journal.runId}" never had ${names(requests)} open at the same time. It asked ${names(asked.ids())}.`
  throw new SuperstepError("REQUEST_UNKNOWN", text, { run: journal.runId })
}

/** Before the superstep's first task: its tasks run again. */
export function seqBeforeSuperstep(journal: Journal, superstep: number): number {
  let last = 0
  for (const walked of new JournalWalk(journal)) {
    if (walked.frame.key !== "") continue
    for (const event of eventsOf(walked)) {
      if (event.type !== "superstep.started" && event.type !== "task.started") continue
      if (event.superstep === superstep) return wholeRecords(journal.records, walked.record.seq)
      last = Math.max(last, event.superstep)
    }
  }
  const text = `Run "${journal.runId}" has no superstep ${superstep}; it has 1 to ${last}.`
  throw new SuperstepError("SUPERSTEP_UNKNOWN", text, { run: journal.runId })
}

/** Before the last task of a node. */
export function seqBeforeNode(journal: Journal, node: NodeId): number {
  const nodes = new Map<NodeId, TaskId>()
  for (const walked of new JournalWalk(journal)) {
    if (walked.frame.key !== "") continue
    for (const event of eventsOf(walked)) if (event.type === "task.started") nodes.set(event.node, event.task)
  }
  const task = nodes.get(node)
  if (task !== undefined) return seqBeforeTask(journal, task, [])
  const names = [...nodes.keys()].map((id) => `"${id}"`).join(", ")
  const text = `Run "${journal.runId}" did not run node "${node}"; it ran ${names}.`
  throw new SuperstepError("NODE_UNKNOWN", text, { run: journal.runId })
}

/** Before the failure that ended the run: in the sub-workflow that failed first, if that is what its callers failed with. */
export function seqBeforeFailure(journal: Journal): number {
  const walk = new JournalWalk(journal)
  /** By frame: the record of the failure that ended it. */
  const failures = new Map<string, number>()
  const returned = new Map<string, ReturnedFailure>()
  for (const { record, frame, attempt, effects } of walk) {
    const { entry, seq } = record
    if (entry.type === "call.finished" && !entry.outcome.ok) {
      const below = childKey(frame.key, entry.task, attempt, entry.key)
      returned.set(`${frame.key} ${entry.task}`, { error: entry.outcome.error, frame: below })
    }
    if (frame.machine.status !== "failed" || !effects.some(({ type }) => type === "finish")) continue
    const below = entry.type === "task.failed" ? causeBelow(frame.key, entry, returned) : undefined
    failures.set(frame.key, (below === undefined ? undefined : failures.get(below)) ?? seq)
  }
  const failure = failures.get("")
  if (failure !== undefined) return failure - 1
  throw notFailed(journal.runId, walk.frames.get("")?.machine.status ?? "unknown")
}

/** Before the run reached a limit. Undefined if it reached none. */
export function seqBeforeLimit(journal: Journal): number | undefined {
  for (const walked of new JournalWalk(journal)) {
    if (walked.frame.key !== "") continue
    for (const event of eventsOf(walked)) if (event.type === "limit.reached") return walked.record.seq - 1
  }
  return undefined
}

/** The failure of a task's last sub-workflow, which may have caused the task's own failure. */
interface ReturnedFailure {
  readonly error: ErrorData
  readonly frame: string
}

function causeBelow(
  frame: string,
  { task, error }: TaskFailed,
  returned: ReadonlyMap<string, ReturnedFailure>,
): string | undefined {
  const found = returned.get(`${frame} ${task}`)
  if (found === undefined) return undefined
  // The task's own error, the inner one, or one with either as its cause.
  const inside = new Set(messagesOf(found.error))
  return messagesOf(error).some((message) => inside.has(message)) ? found.frame : undefined
}

function messagesOf(error: ErrorData): string[] {
  const { message, cause } = error
  return cause === undefined ? [message] : [message, ...messagesOf(cause)]
}

function notFailed(runId: RunId, status: string): SuperstepError {
  const text = `Run "${runId}" is ${status}: it has no failure to rerun from. Pass the point as { superstep }, { task } or { node }.`
  return new SuperstepError("RUN_NOT_FAILED", text, { run: runId })
}
