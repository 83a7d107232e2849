/** Creates runs that share another run's past by reference: their own journals begin at the fork. */
import {
  type AgentChanges,
  type Entry,
  type ErrorData,
  graphData,
  isSuperstepError,
  type Json,
  Machine,
  type NodeId,
  type RequestId,
  type RunForked,
  type RunId,
  type RunStarted,
  SuperstepError,
  signatureOf,
  type TaskFailed,
  type TaskId,
  writeProblem,
} from "../core/index.ts"
import { loadModule, omitUndefined } from "../core/internal.ts"
import {
  foldRecords,
  type JournalRecord,
  type LoadedFrame,
  type LoadedRun,
  labelsProblem,
  type RunCreated,
  type RunFlow,
  type Store,
  type StoredRun,
  systemClock,
} from "../runtime/index.ts"
import { checkBounds, childKey, NewRun, newRunId, requestsOf } from "../runtime/internal.ts"
import { checkAgents } from "./fork-agents.ts"
import {
  type ForkBounds,
  type ForkOptions,
  optionInvalid,
  ownOption,
  type Point,
  type RerunOptions,
} from "./fork-options.ts"
import { AskedRequests, checkSeq, overallStatus, seqOf, summarizeFrame, supersteps } from "./history.ts"
import { eventsOf, type Journal, JournalWalk, readJournal } from "./journal-walk.ts"

export async function fork(store: Store, runId: RunId, options: ForkOptions): Promise<RunId> {
  const journal = await readJournal(store, runId)
  if (options.agents !== undefined) checkAgents(journal, options.agents)
  if (options.input !== undefined) return restart(store, journal, options)
  return forkAfter(store, journal, pointOf(journal, options), options)
}

export async function rerun(store: Store, runId: RunId, options: RerunOptions): Promise<RunId> {
  const journal = await readJournal(store, runId)
  return forkAfter(store, journal, seqBefore(journal, options.from), options)
}

function seqBefore(journal: Journal, from: RerunOptions["from"]): number {
  if (from === undefined) {
    // For a run that failed on its limit route, the failure counts.
    const isFailed = summarizeFrame(journal, []).frame.machine.status === "failed"
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
  const { frame, checkpoints } = summarizeFrame(journal, [])
  const limit = frame.machine.status === "limit" ? seqBeforeLimit(journal) : undefined
  if (limit !== undefined) return limit
  // The last one of a run that has ended is its end.
  const last = frame.machine.isOver() ? checkpoints.at(-2) : checkpoints.at(-1)
  return wholeRecords(journal.records, last?.seq ?? 1)
}

async function forkAfter(store: Store, journal: Journal, seq: number, options: ForkOptions): Promise<RunId> {
  const { runId: parent, records } = journal
  const { runId = newRunId(), clock = systemClock, answers = {}, by } = options
  checkBounds(options)
  const past = (await foldRecords(store, parent, records.slice(0, seq))) as LoadedRun
  const { machine: root, started } = past.frames.get("") as LoadedFrame
  if (root.isOver()) throw runHasEnded(journal, seq)
  const at = clock.now()
  const from = { runId: parent, seq }
  const state = ownState(root, options)
  const made = new NewRun(store, machinesOf(past), past)
  for (const key of past.frames.keys()) {
    const agents = options.agents as AgentChanges | undefined
    const changed = key === "" ? omitUndefined({ state, agents, ...boundsAt(at, options) }) : {}
    made.add(key, { type: "run.forked", at, runId, from, ...changed, later: Math.max(0, at - past.at) })
  }
  // A fork of a paused run is not paused.
  for (const [key, { machine }] of past.frames)
    if (machine.pause !== undefined) made.add(key, { type: "run.resumed", at })
  for (const [id, answer] of Object.entries(answers)) {
    const { key, request, schema } = findOpen(past, id)
    const value = ownOption(answer, `answers["${id}"]`, options.limits?.valueBytes ?? root.valueBytes)
    if (schema !== undefined) await checkAnswer(parent, id, schema, value)
    made.add(key, { type: "request.answered", at, request, value, ...(by === undefined ? {} : { by }) })
  }
  const { workflow } = started
  const kept = await inheritedFields(store, parent, options)
  const created = { workflow, graph: graphData(root.graph).hash, forkOf: from, key: options.key, ...kept }
  return writeOnce(store, made, runId, created)
}

/** Writes the run, or finds the one that a fork with the same key wrote. Rejects with KEY_TAKEN if that is another run. */
async function writeOnce(
  store: Store,
  made: NewRun,
  runId: RunId,
  created: RunCreated & Pick<StoredRun, "forkOf">,
): Promise<RunId> {
  try {
    await made.write(runId, created, overallStatus(made.machines))
    return runId
  } catch (error) {
    if (!isSuperstepError(error, "KEY_TAKEN") || error.run === undefined) throw error
    const found = await store.run(error.run)
    const { runId: parent, seq = 0 } = created.forkOf ?? {}
    const isSame = found?.forkOf?.runId === parent && found?.forkOf?.seq === seq
    if (!isSame || !made.isLike(await store.read(error.run, seq))) throw error
    return error.run
  }
}

/** The fields of the new run's row that are copied from the old one. */
async function inheritedFields(
  store: Store,
  origin: RunId,
  { labels }: Pick<ForkOptions, "labels">,
): Promise<Pick<StoredRun, "labels" | "flow">> {
  const row = await store.run(origin)
  const flow = flowOf(row?.flow)
  if (labels === undefined) return { labels: row?.labels, flow }
  const problem = labelsProblem(labels)
  if (problem !== undefined) throw optionInvalid(problem)
  return { labels: { ...labels }, flow }
}

/** The limits of the old run hold for the new one; it is claimed as soon as they admit it. */
function flowOf(flow: RunFlow | undefined): RunFlow | undefined {
  if (flow === undefined) return undefined
  const { expiresAt: _, group: __, ...rest } = flow
  return rest
}

function machinesOf({ frames }: LoadedRun): Map<string, Machine> {
  return new Map([...frames].map(([key, { machine }]) => [key, machine]))
}

/** Starts the workflow anew. Nothing is shared; the row of the new run names the original one. */
async function restart(store: Store, journal: Journal, options: ForkOptions): Promise<RunId> {
  const { runId = newRunId(), clock = systemClock } = options
  checkBounds(options)
  if (options.answers !== undefined || (options.at !== undefined && seqOfPoint(journal, options.at) !== 1)) {
    throw optionInvalid("another input starts the run anew: omit `at` and `answers`")
  }
  const { machine: last } = summarizeFrame(journal, []).frame
  const { graph } = last
  const { thread: _, trace: __, ...first } = firstEntry(journal)
  const at = clock.now()
  const entry: RunStarted = {
    ...first,
    at,
    runId,
    signature: signatureOf(graph).hash,
    graph: graphData(graph).hash,
    input: ownOption(options.input, "input", options.limits?.valueBytes ?? last.valueBytes),
    state: { ...first.state, ...ownState(last, options) },
    limits: { ...first.limits, ...omitUndefined(options.limits) },
    budget: { ...first.budget, ...omitUndefined(options.budget) },
    deadline: first.deadline === undefined ? undefined : at + first.deadline - first.at,
    ...omitUndefined({
      deadline: boundsAt(at, options).deadline,
      agents: options.agents as AgentChanges | undefined,
    }),
  }
  const { machine, effects } = Machine.start(graph, entry)
  const made = new NewRun(store, new Map([["", machine]]), { seq: 0, events: 0 })
  made.addStart(machine, entry, effects)
  const { workflow, graph: hash } = entry
  const kept = await inheritedFields(store, journal.runId, options)
  const created = {
    workflow,
    graph: hash,
    forkOf: { runId: journal.runId, seq: 0 },
    key: options.key,
    ...kept,
  }
  return writeOnce(store, made, runId, created)
}

/** The bounds as journaled. */
function boundsAt(at: number, { limits, budget, timeout }: ForkBounds) {
  return {
    limits: limits && { ...limits },
    budget: budget && { ...budget },
    deadline: timeout === undefined ? undefined : at + timeout,
  }
}

function firstEntry({ records }: Journal): RunStarted {
  return (records[0] as Journal["records"][number]).entry as RunStarted
}

async function checkAnswer(runId: RunId, id: RequestId, schema: Json, value: Json): Promise<void> {
  const { answerProblem } = await loadModule(() => import("../tools/index.ts"))
  const problem = await answerProblem(schema, value)
  if (problem === undefined) return
  const text = `The answer to request "${id}" of run "${runId}" does not match: ${problem}. No run was created.`
  throw new SuperstepError("REQUEST_INVALID", text, { run: runId })
}

function findOpen(
  past: LoadedRun,
  id: RequestId,
): { readonly key: string; readonly request: RequestId; readonly schema: Json | undefined } {
  const slash = id.lastIndexOf("/")
  const key = slash < 0 ? "" : id.slice(0, slash)
  const request = id.slice(slash + 1)
  const found = past.frames.get(key)?.machine.request(request)
  if (found !== undefined) return { key, request, schema: found.schema }
  const open = requestsOf(past.frames).map((one) => `"${one.id}"`)
  const text = `Run "${past.runId}" has no open request "${id}" at record ${past.seq}. Open: ${open.join(", ") || "none"}.`
  throw new SuperstepError("REQUEST_UNKNOWN", text, { run: past.runId })
}

function ownState(
  { graph, valueBytes }: Machine,
  { state, limits }: Pick<ForkOptions, "state" | "limits">,
): RunForked["state"] {
  if (state === undefined) return undefined
  const owned = Object.entries(state).map(([key, given]) => {
    const channel = graph.channels.get(key)
    if (channel === undefined) {
      throw optionInvalid(`state has "${key}", which is not a channel of workflow "${graph.name}"`)
    }
    const value = ownOption(given, `state.${key}`, limits?.valueBytes ?? valueBytes)
    const misfit = writeProblem(channel.reducer, value)
    if (misfit !== undefined) throw optionInvalid(`state.${key}: ${misfit}`)
    return [key, value] as const
  })
  return Object.fromEntries(owned)
}

function runHasEnded(journal: Journal, seq: number): SuperstepError {
  const { runId } = journal
  const earlier = summarizeFrame(journal, []).checkpoints.filter((checkpoint) => checkpoint.seq < seq)
  const text = `Run "${runId}" has ended at record ${seq}. Choose an earlier point: superstep ${supersteps(earlier)}.`
  return new SuperstepError("RUN_OVER", text, { run: runId })
}

// Finds the point in a journal at which a fork or a rerun begins.

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

/** The run and each of its sub-workflows have one. */
const OF_EVERY_FRAME: ReadonlySet<Entry["type"]> = new Set(["run.forked", "run.paused", "run.resumed"])

/** Some records are written together with the previous one and are meaningless without it. */
function wholeRecords(records: readonly JournalRecord[], seq: number): number {
  let last = seq
  for (let next = records[last]; next !== undefined; next = records[last]) {
    const { type } = next.entry
    const isRepeated = OF_EVERY_FRAME.has(type) && records[last - 1]?.entry.type === type
    if (!WRITTEN_TOGETHER.has(type) && !isRepeated) break
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
function seqWithOpen(journal: Journal, requests: readonly RequestId[]): number {
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
function seqBeforeSuperstep(journal: Journal, superstep: number): number {
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
function seqBeforeNode(journal: Journal, node: NodeId): number {
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
function seqBeforeFailure(journal: Journal): number {
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
function seqBeforeLimit(journal: Journal): number | undefined {
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
