/**
 * What became of a run: its state at any superstep, what changed, by which task; who answered what. It is read from the
 * store alone, so it is there when the workflow's code is gone or has changed.
 */
import {
  type ErrorData,
  type Json,
  type NodeId,
  type OpenRequest,
  type RunId,
  type RunStatus,
  SuperstepError,
  type TaskId,
  type TaskStatus,
  type Usage,
  type Wait,
} from "../core/index.ts"
import type { RunCreated, Store } from "../runtime/index.ts"
import { requestsOf } from "../runtime/run-result.ts"
import { type AskedRequest, AskedRequests } from "./asked-requests.ts"
import { type Checkpoint, Checkpoints } from "./checkpoints.ts"
import { type Journal, JournalWalk, readJournal, type WalkedFrame } from "./journal-walk.ts"
import { standingOf } from "./standing.ts"

export interface HistoryOptions {
  /** A sub-workflow, as events name it: `["node#task"]`. Of one that was called again by a retry, the last call. */
  readonly path?: readonly string[] | undefined
}

export interface RunHistory {
  readonly runId: RunId
  readonly workflow: string
  readonly path: readonly string[]
  readonly status: RunStatus
  readonly error?: ErrorData | undefined
  /** The run whose past it has, and up to which record. */
  readonly forkOf?: RunCreated["forkOf"]
  readonly checkpoints: readonly Checkpoint[]
  /** Its questions and those of its sub-workflows, in the order in which they were asked. */
  readonly requests: readonly AskedRequest[]
  /** Every sub-workflow below it, in the order in which they were called. */
  readonly subWorkflows: readonly { readonly path: readonly string[]; readonly workflow: string }[]
  /** The state after any record, or after the last commit of a superstep. */
  stateAt(point: { readonly superstep: number } | { readonly seq: number }): Promise<StateAt>
}

export interface StateAt {
  readonly seq: number
  readonly at: number
  readonly superstep: number
  readonly status: RunStatus
  readonly error?: ErrorData | undefined
  readonly state: { readonly [key: string]: Json }
  /** Tasks that were not over. */
  readonly tasks: readonly PendingTask[]
  /** Open questions, those of sub-workflows included. */
  readonly requests: readonly OpenRequest[]
  readonly outputs: readonly Json[]
  readonly usage: Usage
}

export interface PendingTask {
  readonly task: TaskId
  readonly node: NodeId
  readonly input: Json
  readonly from?: NodeId | undefined
  readonly superstep: number
  readonly status: TaskStatus
  readonly attempt: number
  readonly waits: readonly Wait[]
}

/** Rejects with RUN_UNKNOWN, and with PATH_UNKNOWN where the run has no such sub-workflow. */
export async function history(store: Store, runId: RunId, options: HistoryOptions = {}): Promise<RunHistory> {
  const journal = await readJournal(store, runId)
  const row = await store.run(runId)
  const { frame, ...told } = tell(journal, options.path ?? [])
  const { key, machine, workflow, path } = frame
  const { checkpoints } = told
  const first = checkpoints[0] as Checkpoint
  const span = { from: first.seq, to: journal.records.length }
  return {
    runId,
    workflow,
    path,
    ...(machine.error === undefined ? {} : { error: machine.error }),
    ...(row?.forkOf === undefined ? {} : { forkOf: row.forkOf }),
    ...told,
    stateAt: async (point) => {
      const seq =
        "seq" in point ? checkSeq(runId, point.seq, span) : seqOf(runId, checkpoints, point.superstep)
      return stateAfter(await readJournal(store, runId, seq), key)
    },
  }
}

interface Told extends Pick<RunHistory, "status" | "checkpoints" | "requests" | "subWorkflows"> {
  readonly frame: WalkedFrame
}

/** The story of one frame of a journal. */
export function tell(journal: Journal, path: readonly string[]): Told {
  const asked = new AskedRequests()
  const subWorkflows: Told["subWorkflows"][number][] = []
  let frame: WalkedFrame | undefined
  let checkpoints = new Checkpoints()
  const walk = new JournalWalk(journal)
  for (const walked of walk) {
    asked.take(walked)
    if (walked.record.entry.type === "run.started") {
      const { path: reached, workflow } = walked.frame
      if (isSame(reached, path)) {
        frame = walked.frame
        checkpoints = new Checkpoints()
      }
      if (reached.length > 0) subWorkflows.push({ path: reached, workflow })
    }
    if (walked.frame === frame) checkpoints.take(walked)
  }
  if (frame === undefined) throw pathUnknown(journal.runId, path, subWorkflows)
  const below = subWorkflows.filter(
    (one) => one.path.length > path.length && isSame(one.path.slice(0, path.length), path),
  )
  const live = [...walk.frames].filter(([key]) => isWithin(key, frame.key)).map(([, one]) => one.machine)
  return {
    frame,
    status: standingOf([frame.machine, ...live]),
    checkpoints: checkpoints.list,
    requests: asked.below(frame.key),
    subWorkflows: below,
  }
}

/** A frame, or one below it. */
function isWithin(key: string, frame: string): boolean {
  return frame === "" || key === frame || key.startsWith(`${frame}/`)
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i])
}

/** The state of a frame at the end of a journal. */
function stateAfter(journal: Journal, key: string): StateAt {
  const walk = new JournalWalk(journal)
  let frame: WalkedFrame | undefined
  // A sub-workflow that is over is no longer among those that are live, and still has its last state.
  for (const walked of walk) if (walked.frame.key === key) frame = walked.frame
  const { machine } = frame as WalkedFrame
  const { seq, entry } = journal.records.at(-1) as Journal["records"][number]
  const live = [...walk.frames].filter(([one]) => isWithin(one, key))
  return {
    seq,
    at: entry.at,
    superstep: machine.superstep,
    status: standingOf([machine, ...live.map(([, one]) => one.machine)]),
    ...(machine.error === undefined ? {} : { error: machine.error }),
    state: machine.allState(),
    tasks: [...machine.tasks()].map((task) => ({
      task: task.id,
      node: task.node.id,
      input: task.message,
      ...(task.from === undefined ? {} : { from: task.from }),
      superstep: task.superstep,
      status: task.status,
      attempt: task.attempt,
      waits: [...(task.waits?.values() ?? [])],
    })),
    requests: requestsOf(live),
    outputs: [...machine.outputs],
    usage: machine.usage,
  }
}

/** The last checkpoint of a superstep: a task that had waited may have been committed in it after the others. */
export function seqOf(runId: RunId, checkpoints: readonly Checkpoint[], superstep: number): number {
  const found = checkpoints.findLast((one) => one.superstep === superstep)
  if (found !== undefined) return found.seq
  const text = `Run "${runId}" has no checkpoint of superstep ${superstep}; it has those of ${supersteps(checkpoints)}.`
  throw new SuperstepError("SUPERSTEP_UNKNOWN", text, { run: runId })
}

export function checkSeq(runId: RunId, seq: number, { from, to }: { from: number; to: number }): number {
  if (Number.isInteger(seq) && seq >= from && seq <= to) return seq
  const text = `Run "${runId}" has nothing at record ${seq}; its records go from ${from} to ${to}.`
  throw new SuperstepError("SEQ_UNKNOWN", text, { run: runId })
}

/** Those that there are: `0 to 3, 5`. */
export function supersteps(checkpoints: readonly Checkpoint[]): string {
  const there = [...new Set(checkpoints.map((one) => one.superstep))].sort((a, b) => a - b)
  const parts: [number, number][] = []
  for (const one of there) {
    const last = parts.at(-1)
    if (last !== undefined && last[1] === one - 1) last[1] = one
    else parts.push([one, one])
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`)).join(", ")
}

function pathUnknown(runId: RunId, path: readonly string[], there: Told["subWorkflows"]): SuperstepError {
  const names = there.slice(0, 20).map((one) => JSON.stringify(one.path))
  const text = `Run "${runId}" has no sub-workflow ${JSON.stringify(path)}. It has ${names.join(", ") || "none"}.`
  return new SuperstepError("PATH_UNKNOWN", text, { run: runId })
}
