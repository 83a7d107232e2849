/**
 * The history of a run: its state at any superstep, what changed, by which task; who answered what. It is read from the
 * store alone, so it does not need the workflow's code.
 */
import {
  type ErrorData,
  type Json,
  type Machine,
  type NodeId,
  type OpenRequest,
  type RequestId,
  type RunId,
  type RunStatus,
  SuperstepError,
  type TaskId,
  type TaskStatus,
  type Usage,
  type Wait,
} from "../core/index.ts"
import { hasSameItems } from "../core/internal.ts"
import {
  type ClosedRequest,
  type RunCreated,
  type RunEvent,
  replayEvents,
  runUnknown,
  type Store,
} from "../runtime/index.ts"
import { type FoldedFrame, type FoldedRecord, outerId, requestsOf } from "../runtime/internal.ts"
import {
  type ChangedChannel,
  type Checkpoint,
  Checkpoints,
  type FinishedTask,
  stateDifference,
} from "./checkpoints.ts"
import { eventsOf, type Journal, JournalWalk, readJournal } from "./journal-walk.ts"

export interface HistoryOptions {
  /** A sub-workflow, as events name it: `["node#task"]`. If a retry called it again, the last call. */
  readonly path?: readonly string[] | undefined
}

export interface RunHistory {
  readonly runId: RunId
  readonly workflow: string
  readonly path: readonly string[]
  readonly status: RunStatus
  readonly error?: ErrorData | undefined
  /** The run whose past it shares, and up to which record. */
  readonly forkOf?: RunCreated["forkOf"]
  readonly checkpoints: readonly Checkpoint[]
  /** Its questions and those of its sub-workflows, in the order in which they were asked. */
  readonly requests: readonly AskedRequest[]
  /** Every sub-workflow below it, in the order in which they were called. */
  readonly subWorkflows: readonly { readonly path: readonly string[]; readonly workflow: string }[]
  /** The state after any record, or after the last commit of a superstep. */
  stateAt(point: StatePoint): Promise<StateAt>
  /** What changed from one point to another, and which tasks ended in between. */
  diff(from: StatePoint, to: StatePoint): Promise<StateDiff>
}

type StatePoint = { readonly superstep: number } | { readonly seq: number }

export interface StateDiff {
  readonly from: Pick<StateAt, "seq" | "at">
  readonly to: Pick<StateAt, "seq" | "at">
  /** Channels whose values differ. */
  readonly changes: readonly ChangedChannel[]
  /** The tasks that ended in between, in order; none if `to` is before `from`. */
  readonly finished: readonly FinishedTask[]
}

export interface StateAt {
  readonly seq: number
  readonly at: number
  readonly superstep: number
  readonly status: RunStatus
  readonly error?: ErrorData | undefined
  readonly state: { readonly [key: string]: Json }
  /** Tasks that had not ended. */
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

export async function history(store: Store, runId: RunId, options: HistoryOptions = {}): Promise<RunHistory> {
  const journal = await readJournal(store, runId)
  const row = await store.run(runId)
  const { frame, ...summary } = summarizeFrame(journal, options.path ?? [])
  const { key, machine, started, path } = frame
  const { checkpoints } = summary
  const first = checkpoints[0] as Checkpoint
  const span = { from: first.seq, to: journal.records.length }
  const stateAt = async (point: StatePoint) => {
    const seq = "seq" in point ? checkSeq(runId, point.seq, span) : seqOf(runId, checkpoints, point.superstep)
    return stateAfter(await readJournal(store, runId, seq), key)
  }
  return {
    runId,
    workflow: started.workflow,
    path,
    ...(machine.error === undefined ? {} : { error: machine.error }),
    ...(row?.forkOf === undefined ? {} : { forkOf: row.forkOf }),
    ...summary,
    stateAt,
    diff: async (from, to) => diffOf(checkpoints, await stateAt(from), await stateAt(to)),
  }
}

function diffOf(checkpoints: readonly Checkpoint[], from: StateAt, to: StateAt): StateDiff {
  const between = checkpoints.filter(({ seq }) => seq > from.seq && seq <= to.seq)
  return {
    from: { seq: from.seq, at: from.at },
    to: { seq: to.seq, at: to.at },
    changes: stateDifference(from.state, to.state),
    finished: between.flatMap(({ finished }) => finished),
  }
}

interface FrameSummary extends Pick<RunHistory, "status" | "checkpoints" | "requests" | "subWorkflows"> {
  readonly frame: FoldedFrame
}

/** The history of one frame of a journal. */
export function summarizeFrame(journal: Journal, path: readonly string[]): FrameSummary {
  const asked = new AskedRequests()
  const subWorkflows: FrameSummary["subWorkflows"][number][] = []
  let frame: FoldedFrame | undefined
  let checkpoints = new Checkpoints()
  const walk = new JournalWalk(journal)
  for (const walked of walk) {
    asked.take(walked)
    if (walked.record.entry.type === "run.started") {
      const { path: reached, started } = walked.frame
      if (hasSameItems(reached, path)) {
        frame = walked.frame
        checkpoints = new Checkpoints()
      }
      if (reached.length > 0) subWorkflows.push({ path: reached, workflow: started.workflow })
    }
    if (walked.frame === frame) checkpoints.take(walked)
  }
  if (frame === undefined) throw pathUnknown(journal.runId, path, subWorkflows)
  const below = subWorkflows.filter(
    (one) => one.path.length > path.length && hasSameItems(one.path.slice(0, path.length), path),
  )
  const live = [...walk.frames].filter(([key]) => isWithin(key, frame.key)).map(([, one]) => one.machine)
  return {
    frame,
    status: overallStatus([frame.machine, ...live]),
    checkpoints: checkpoints.list,
    requests: asked.below(frame.key),
    subWorkflows: below,
  }
}

/** Whether `key` is the frame or one below it. */
function isWithin(key: string, frame: string): boolean {
  return frame === "" || key === frame || key.startsWith(`${frame}/`)
}

/** The state of a frame at the end of a journal. */
function stateAfter(journal: Journal, key: string): StateAt {
  const walk = new JournalWalk(journal)
  let frame: FoldedFrame | undefined
  // A sub-workflow that has ended is no longer live but still has its last state.
  for (const walked of walk) if (walked.frame.key === key) frame = walked.frame
  const { machine } = frame as FoldedFrame
  const { seq, entry } = journal.records.at(-1) as Journal["records"][number]
  const live = [...walk.frames].filter(([one]) => isWithin(one, key))
  return {
    seq,
    at: entry.at,
    superstep: machine.superstep,
    status: overallStatus([machine, ...live.map(([, one]) => one.machine)]),
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

/** The last checkpoint of a superstep: a task that waited may have been committed after the others. */
export function seqOf(runId: RunId, checkpoints: readonly Checkpoint[], superstep: number): number {
  const found = checkpoints.findLast((one) => one.superstep === superstep)
  if (found !== undefined) return found.seq
  const text = `Run "${runId}" has no checkpoint of superstep ${superstep}; it has checkpoints of ${supersteps(checkpoints)}.`
  throw new SuperstepError("SUPERSTEP_UNKNOWN", text, { run: runId })
}

export function checkSeq(runId: RunId, seq: number, { from, to }: { from: number; to: number }): number {
  if (Number.isInteger(seq) && seq >= from && seq <= to) return seq
  const text = `Run "${runId}" has no state at record ${seq}; its records range from ${from} to ${to}.`
  throw new SuperstepError("SEQ_UNKNOWN", text, { run: runId })
}

/** The existing supersteps: `0 to 3, 5`. */
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

function pathUnknown(
  runId: RunId,
  path: readonly string[],
  there: FrameSummary["subWorkflows"],
): SuperstepError {
  const names = there.slice(0, 20).map((one) => JSON.stringify(one.path))
  const text = `Run "${runId}" has no sub-workflow ${JSON.stringify(path)}. It has ${names.join(", ") || "none"}.`
  return new SuperstepError("PATH_UNKNOWN", text, { run: runId })
}

export interface AskedRequest {
  readonly id: RequestId
  /** The sub-workflow that asked; empty for the run itself. */
  readonly path: readonly string[]
  readonly node: NodeId
  readonly task: TaskId
  readonly prompt: string
  /** The last assignee. */
  readonly to?: string | undefined
  readonly openedAt: number
  readonly outcome: "open" | ClosedRequest["outcome"]
  readonly closedAt?: number | undefined
  readonly answer?: Json | undefined
  /** Who answered, as passed to `respond`; `deadline` if nobody did and the default was taken. */
  readonly by?: string | undefined
}

/** Collects the questions of a run: what was asked, and who answered when. */
export class AskedRequests {
  readonly #all = new Map<RequestId, AskedRequest>()

  /** Call it with every record of the run. */
  take(walked: FoldedRecord): void {
    const { key, path } = walked.frame
    const { at } = walked.record.entry
    for (const event of eventsOf(walked)) {
      if (event.type === "request.opened") this.#open(outerId(key, event.request.id), path, event.request)
      else if (event.type === "request.escalated")
        this.#change(outerId(key, event.request.id), { to: event.request.to })
      else if (event.type === "request.answered") {
        const { value: answer, by } = event
        this.#change(outerId(key, event.request), { outcome: "answered", closedAt: at, answer, by })
      } else if (event.type === "request.closed") {
        this.#change(outerId(key, event.request), { outcome: event.reason, closedAt: at })
      }
    }
    for (const { key: below, machine } of walked.abandoned) {
      for (const { id } of machine.requests()) {
        this.#change(outerId(below, id), { outcome: "withdrawn", closedAt: at })
      }
    }
  }

  isOpen(id: RequestId): boolean {
    return this.#all.get(id)?.outcome === "open"
  }
  ids(): RequestId[] {
    return [...this.#all.keys()]
  }

  /** The requests of a frame and of everything below it. */
  below(frame: string): AskedRequest[] {
    if (frame === "") return [...this.#all.values()]
    return [...this.#all.values()].filter(({ id }) => id.startsWith(`${frame}/`))
  }

  #open(id: RequestId, path: readonly string[], { node, task, prompt, to, openedAt }: OpenRequest): void {
    const whom = to === undefined ? {} : { to }
    this.#all.set(id, { id, path, node, task, prompt, ...whom, openedAt, outcome: "open" })
  }

  #change(id: RequestId, change: Partial<AskedRequest>): void {
    const request = this.#all.get(id)
    if (request !== undefined) this.#all.set(id, { ...request, ...change })
  }
}

export async function pastEvents(
  store: Pick<Store, "read" | "graph" | "thread">,
  runId: RunId,
  after = 0,
): Promise<readonly RunEvent[]> {
  const records = await store.read(runId, 0)
  if (records.length === 0) throw runUnknown(runId)
  return replayEvents(store, records, after)
}

/** The status of a run with all its sub-workflows, from their machines; the run's own comes first. */
export function overallStatus(machines: readonly Machine[]): RunStatus {
  const [root] = machines as [Machine]
  if (root.isOver() || root.pause !== undefined) return root.status
  if (machines.some((machine) => machine.isBusy())) return "running"
  return machines.some(({ status }) => status === "waiting") ? "waiting" : "running"
}
