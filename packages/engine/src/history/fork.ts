/** New runs that share another one's past by reference: their own journals begin where they were forked. */

import { given } from "../core/given.ts"
import {
  graphData,
  type Json,
  jsonProblem,
  Machine,
  type NodeId,
  printJsonProblem,
  type RequestId,
  type RunForked,
  type RunId,
  type RunStarted,
  SuperstepError,
  signatureOf,
  type TaskId,
  writeProblem,
} from "../core/index.ts"
import { checkSize } from "../runtime/check-json.ts"
import {
  type Clock,
  foldRecords,
  type Labels,
  type LoadedFrame,
  type LoadedRun,
  labelsProblem,
  type Store,
  systemClock,
} from "../runtime/index.ts"
import { newRunId } from "../runtime/run-id.ts"
import { requestsOf } from "../runtime/run-result.ts"
import { checkBounds, type RunBounds } from "../runtime/start.ts"
import { supersteps, tell } from "./history.ts"
import { type Journal, readJournal } from "./journal-walk.ts"
import { NewRun } from "./new-run.ts"
import {
  type Point,
  seqBeforeFailure,
  seqBeforeLimit,
  seqBeforeNode,
  seqBeforeSuperstep,
  seqOfPoint,
  seqWithOpen,
  wholeRecords,
} from "./points.ts"

/** How far the new run may go, where that is not as far as the old one: what the past has used counts. */
interface ForkBounds extends Pick<RunBounds, "limits" | "budget"> {
  /** Milliseconds from now on. */
  readonly timeout?: number | undefined
}

export interface ForkOptions extends ForkBounds {
  /**
   * Where from. Default: with answers, the last record at which those questions were open; for a run that ended at a
   * limit, right before it did; else the last checkpoint at which the run was not over.
   */
  readonly at?: Point | undefined
  /** Values of shared state that are to be other ones, by channel key. */
  readonly state?: { readonly [key: string]: unknown } | undefined
  /** Another input: the workflow from its start, with the first state, limits and budget that the run had. */
  readonly input?: unknown
  /** Answers to questions that are open there, by request id. What they must fit is checked when the run goes on. */
  readonly answers?: { readonly [request: RequestId]: unknown } | undefined
  /** Who answers. */
  readonly by?: string | undefined
  /** A name for the new run; made up when absent. */
  readonly runId?: RunId | undefined
  /** Default: those of the run that it comes from. */
  readonly labels?: Labels | undefined
  readonly clock?: Pick<Clock, "now"> | undefined
}

export interface RerunOptions extends ForkBounds, Pick<ForkOptions, "runId" | "labels" | "clock"> {
  /**
   * What is to run again: from a superstep on, from a task on, or from the last task of a node. Default: what failed, or
   * came to a limit.
   */
  readonly from?:
    | { readonly superstep: number }
    | { readonly task: TaskId; readonly path?: readonly string[] | undefined }
    | { readonly node: NodeId }
    | undefined
}

/**
 * Makes a new run with the past of another one, and gives its id. Nobody holds it: `workflow.resume` or any runtime goes
 * on with it. Its time goes on as if it were still then, and it belongs to no thread.
 */
export async function fork(store: Store, runId: RunId, options: ForkOptions = {}): Promise<RunId> {
  const journal = await readJournal(store, runId)
  if (options.input !== undefined) return restart(store, journal, options)
  return forkAfter(store, journal, pointOf(journal, options), options)
}

/** A fork right before a part of the run, which so runs again. */
export async function rerun(store: Store, runId: RunId, options: RerunOptions = {}): Promise<RunId> {
  const journal = await readJournal(store, runId)
  return forkAfter(store, journal, seqBefore(journal, options.from), options)
}

function seqBefore(journal: Journal, from: RerunOptions["from"]): number {
  if (from === undefined) {
    // A run that failed on its limit route failed there.
    const isFailed = tell(journal, []).frame.machine.status === "failed"
    return (isFailed ? undefined : seqBeforeLimit(journal)) ?? seqBeforeFailure(journal)
  }
  if ("node" in from) return seqBeforeNode(journal, from.node)
  if ("superstep" in from) return seqBeforeSuperstep(journal, from.superstep)
  return seqOfPoint(journal, from)
}

function pointOf(journal: Journal, { at, answers = {} }: ForkOptions): number {
  if (at !== undefined) return seqOfPoint(journal, at)
  const ids = Object.keys(answers)
  if (ids.length > 0) return seqWithOpen(journal, ids)
  const { frame, checkpoints } = tell(journal, [])
  const limit = frame.machine.status === "limit" ? seqBeforeLimit(journal) : undefined
  if (limit !== undefined) return limit
  // The last one of a run that is over is its end.
  const last = frame.machine.isOver() ? checkpoints.at(-2) : checkpoints.at(-1)
  return wholeRecords(journal.records, last?.seq ?? 1)
}

async function forkAfter(store: Store, journal: Journal, seq: number, options: ForkOptions): Promise<RunId> {
  const { runId: parent, records } = journal
  const { runId = newRunId(), clock = systemClock, answers = {}, by } = options
  checkBounds(options)
  const past = (await foldRecords(store, parent, records.slice(0, seq))) as LoadedRun
  const { machine: root, started } = past.frames.get("") as LoadedFrame
  if (root.isOver()) throw runOver(journal, seq)
  const at = clock.now()
  const from = { runId: parent, seq }
  const state = checkState(root, options)
  const made = new NewRun(store, machinesOf(past), past)
  for (const key of past.frames.keys()) {
    const changed = key === "" ? given({ state, ...boundsAt(at, options) }) : {}
    made.add(key, { type: "run.forked", at, runId, from, ...changed, later: Math.max(0, at - past.at) })
  }
  for (const [id, answer] of Object.entries(answers)) {
    const { key, request } = findOpen(past, id)
    const value = checkJson(answer, `answers["${id}"]`, options.limits?.valueBytes ?? root.valueBytes)
    made.add(key, { type: "request.answered", at, request, value, ...(by === undefined ? {} : { by }) })
  }
  const { workflow } = started
  const labels = await labelsOf(store, parent, options)
  await made.write(runId, { workflow, graph: graphData(root.graph).hash, forkOf: from, labels })
  return runId
}

async function labelsOf(
  store: Store,
  origin: RunId,
  { labels }: Pick<ForkOptions, "labels">,
): Promise<Labels | undefined> {
  if (labels === undefined) return (await store.run(origin))?.labels
  const problem = labelsProblem(labels)
  if (problem !== undefined) throw optionInvalid(problem)
  return { ...labels }
}

function machinesOf({ frames }: LoadedRun): Map<string, Machine> {
  return new Map([...frames].map(([key, { machine }]) => [key, machine]))
}

/** The workflow from its start. Nothing is shared; that the run comes from another one is in its row. */
async function restart(store: Store, journal: Journal, options: ForkOptions): Promise<RunId> {
  const { runId = newRunId(), clock = systemClock } = options
  checkBounds(options)
  if (options.answers !== undefined || (options.at !== undefined && seqOfPoint(journal, options.at) !== 1)) {
    throw optionInvalid("another input is for a run from its start: leave out `at` and `answers`")
  }
  const { machine: last } = tell(journal, []).frame
  const { graph } = last
  const { thread: _, trace: __, ...first } = firstEntry(journal)
  const at = clock.now()
  const entry: RunStarted = {
    ...first,
    at,
    runId,
    signature: signatureOf(graph).hash,
    graph: graphData(graph).hash,
    input: checkJson(options.input, "input", options.limits?.valueBytes ?? last.valueBytes),
    state: { ...first.state, ...checkState(last, options) },
    limits: { ...first.limits, ...given(options.limits) },
    budget: { ...first.budget, ...given(options.budget) },
    deadline: first.deadline === undefined ? undefined : at + first.deadline - first.at,
    ...given({ deadline: boundsAt(at, options).deadline }),
  }
  const { machine, effects } = Machine.start(graph, entry)
  const made = new NewRun(store, new Map([["", machine]]), { seq: 0, events: 0 })
  made.addStart(machine, entry, effects)
  const { workflow, graph: hash } = entry
  const labels = await labelsOf(store, journal.runId, options)
  await made.write(runId, { workflow, graph: hash, forkOf: { runId: journal.runId, seq: 0 }, labels })
  return runId
}

/** As the journal has them. */
function boundsAt(at: number, { limits, budget, timeout }: ForkBounds) {
  return { limits, budget, deadline: timeout === undefined ? undefined : at + timeout }
}

function firstEntry({ records }: Journal): RunStarted {
  return (records[0] as Journal["records"][number]).entry as RunStarted
}

function findOpen(past: LoadedRun, id: RequestId): { key: string; request: RequestId } {
  const slash = id.lastIndexOf("/")
  const key = slash < 0 ? "" : id.slice(0, slash)
  const request = id.slice(slash + 1)
  if (past.frames.get(key)?.machine.request(request) !== undefined) return { key, request }
  const open = requestsOf(past.frames).map((one) => `"${one.id}"`)
  const text = `Run "${past.runId}" has no open request "${id}" at record ${past.seq}. Open: ${open.join(", ") || "none"}.`
  throw new SuperstepError("REQUEST_UNKNOWN", text, { run: past.runId })
}

function checkState(
  { graph, valueBytes }: Machine,
  { state, limits }: Pick<ForkOptions, "state" | "limits">,
): RunForked["state"] {
  for (const [key, given] of Object.entries(state ?? {})) {
    const channel = graph.channels.get(key)
    if (channel === undefined) {
      throw optionInvalid(`state has "${key}", which is no channel of workflow "${graph.name}"`)
    }
    const misfit = writeProblem(
      channel.reducer,
      checkJson(given, `state.${key}`, limits?.valueBytes ?? valueBytes),
    )
    if (misfit !== undefined) throw optionInvalid(`state.${key}: ${misfit}`)
  }
  return state as RunForked["state"]
}

function checkJson(value: unknown, what: string, valueBytes: number): Json {
  const problem = jsonProblem(value, valueBytes)
  if (problem === undefined) return value as Json
  checkSize(problem, valueBytes, () => `The fork option ${what}`)
  throw optionInvalid(`${what} cannot be stored: ${printJsonProblem(problem)}`)
}

function optionInvalid(message: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `Bad fork option: ${message}.`)
}

function runOver(journal: Journal, seq: number): SuperstepError {
  const { runId } = journal
  const earlier = tell(journal, []).checkpoints.filter((checkpoint) => checkpoint.seq < seq)
  const text = `Run "${runId}" is over at record ${seq}. Choose an earlier place: superstep ${supersteps(earlier)}.`
  return new SuperstepError("RUN_OVER", text, { run: runId })
}
