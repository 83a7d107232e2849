/**
 * Replays a recorded run against the current workflow, offline. Handlers and conditions run for real. Steps and questions
 * return their recorded results; timers fire when they did. Anything a handler does outside steps happens again: put
 * model calls, requests and other non-deterministic work into `ctx.step`.
 *
 * The input of a step is not recorded: a replay does not notice changed instructions, messages or tools of an agent, as
 * its model calls are answered from the record. The report says how many.
 *
 * The time at which a handler read state is not recorded. If others change it meanwhile (in flow mode; a node's own
 * state, with deliveries that overlap) and the process died or the store was slow, a replay may show it an earlier value.
 */
import {
  type Entry,
  type Json,
  type RunId,
  type RunStatus,
  SuperstepError,
  type Usage,
} from "../core/index.ts"
import { canonicalJson, isRecord, usageWithout } from "../core/internal.ts"
import {
  type Callable,
  type JournalRecord,
  type Labels,
  labelsProblem,
  type Store,
} from "../runtime/index.ts"
import { type ChangedChannel, isSame, stateDifference } from "./checkpoints.ts"
import {
  type Divergence,
  type FrameSummary,
  firstDivergence,
  type RunSummary,
  summarize,
} from "./divergence.ts"
import { type Journal, openJournal, readJournal } from "./journal-walk.ts"
import { ReplayedRun, type ReplayOptions } from "./replayed-run.ts"

export interface ReplayReport {
  /** Whether the workflow still behaves as recorded: every task, the state, the outputs, the usage, the end. */
  readonly same: boolean
  readonly runId: RunId
  readonly workflow: string
  /** The first task that differs. */
  readonly divergence?: Divergence | undefined
  /** The nodes of all tasks, in task order; those of a sub-workflow after their caller, as `caller > node`. */
  readonly path: BeforeAndAfter<readonly string[]>
  /** Channels whose values differ. */
  readonly state: readonly ChangedChannel[]
  readonly outputs: BeforeAndAfter<readonly Json[]>
  readonly usage: BeforeAndAfter<Usage> & {
    /** The change in usage, part by part; only the parts that differ. */
    readonly difference: Usage
  }
  /** A replay that waits for an answer that is not recorded is `waiting`; one that was cut short is `running`. */
  readonly status: BeforeAndAfter<RunStatus>
  /**
   * Model calls that are answered from the recording. Their prompts are not compared: changed instructions, messages and
   * tools do not show.
   */
  readonly recordedModelCalls: number
  /** Why the run failed. */
  readonly error?: Partial<BeforeAndAfter<string>> | undefined
}

interface BeforeAndAfter<T> {
  readonly before: T
  readonly after: T
}

export async function replay<In, Out>(
  recording: Recording | Json,
  workflow: Callable<In, Out>,
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  const { recording: recorded, journal } = await openRecording(recording)
  let before: RunSummary
  let run: ReplayedRun
  try {
    before = summarize(journal)
    const again = (await openRecording(recorded as unknown as Json)).journal
    run = new ReplayedRun(again, options, recorded.labels)
  } catch (cause) {
    throw invalid("its records are inconsistent", cause)
  }
  const { records, store } = await run.play(workflow.program)
  const after = summarize(await openJournal(store, recorded.runId, records))
  return report(recorded, before, after, run.notes)
}

function report(
  { runId, workflow, records }: Recording,
  before: RunSummary,
  after: RunSummary,
  notes: ReadonlyMap<string, string>,
): ReplayReport {
  const divergence = firstDivergence(before.root, after.root, notes)
  const state = stateDifference(before.state, after.state)
  const difference = usageDifference(settledOf(before), settledOf(after))
  const same =
    divergence === undefined &&
    state.length === 0 &&
    Object.keys(difference).length === 0 &&
    before.status === after.status &&
    before.error?.code === after.error?.code &&
    isSame(before.outputs, after.outputs)
  const error = { ...errorText("before", before), ...errorText("after", after) }
  return {
    same,
    runId,
    workflow,
    ...(divergence === undefined ? {} : { divergence }),
    path: { before: pathOf(before.root), after: pathOf(after.root) },
    state,
    outputs: { before: before.outputs, after: after.outputs },
    usage: { before: before.usage, after: after.usage, difference },
    status: { before: before.status, after: after.status },
    recordedModelCalls: records.filter(isModelCall).length,
    ...(Object.keys(error).length === 0 ? {} : { error }),
  }
}

/** Agents name the model with the usage of a call. */
function isModelCall({ entry }: JournalRecord): boolean {
  return entry.type === "step.recorded" && entry.source?.model !== undefined
}

function errorText<Key extends string>(key: Key, { error }: RunSummary): { [K in Key]?: string } {
  return error === undefined ? {} : ({ [key]: `${error.code}: ${error.message}` } as { [K in Key]: string })
}

function pathOf({ tasks }: FrameSummary, above = ""): string[] {
  return tasks.flatMap(({ node, calls }) => {
    const name = `${above}${node}`
    const below = [...calls.values()].flatMap((frame) =>
      frame === undefined ? [] : pathOf(frame, `${name} > `),
    )
    return [name, ...below]
  })
}

/** Without calls that were interrupted by a crash or a stop: a replay does not repeat these. */
function settledOf({ usage, lost }: RunSummary): Usage {
  return usageWithout(usage, lost)
}

function usageDifference(before: Usage, after: Usage): Usage {
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof Usage)[]
  const differing = parts.map((part) => [part, (after[part] ?? 0) - (before[part] ?? 0)] as const)
  return Object.fromEntries(differing.filter(([, difference]) => difference !== 0))
}

// A run as self-contained data: its journal with the graphs and the thread state that it needs, independent of its store. As
// a file it is a fixture: a test replays it against the current workflow.

const RECORDING_VERSION = 1

export interface Recording {
  readonly version: typeof RECORDING_VERSION
  readonly workflow: string
  readonly runId: RunId
  /** Set if the run has labels: its handlers can read them. */
  readonly labels?: Labels | undefined
  readonly records: readonly JournalRecord[]
  /** By hash: every graph that the journal names. */
  readonly graphs: { readonly [hash: string]: Json }
}

/** A recording for a file: equal runs have equal text. */
export type Fixture = Recording

export async function recordingOf(store: Store, runId: RunId): Promise<Recording> {
  const { records } = await readJournal(store, runId)
  const graphs: { [hash: string]: Json } = {}
  for (const { entry } of records) {
    // Reading the journal has loaded all of them.
    if (namesGraph(entry)) graphs[entry.graph] = (await store.graph(entry.graph)) as Json
  }
  const alone = records.map((record) => ({ ...record, entry: withoutContext(record.entry) }))
  const [first] = alone as [JournalRecord]
  const { workflow } = first.entry as Extract<Entry, { type: "run.started" }>
  const labels = (await store.run(runId))?.labels
  const labelled = labels === undefined ? {} : { labels }
  return { version: RECORDING_VERSION, workflow, runId, ...labelled, records: alone, graphs }
}

export async function toFixture(store: Store, runId: RunId): Promise<Fixture> {
  const { records, graphs, ...about } = await recordingOf(store, runId)
  const ordered = (value: unknown) => JSON.parse(canonicalJson(value as Json))
  return { ...about, records: ordered(records), graphs: ordered(graphs) }
}

/** The first entry already contains the thread's state, and a replay does not need spans. */
function withoutContext(entry: Entry): Entry {
  const { trace: _, thread: __, ...rest } = entry as Entry & { trace?: unknown; thread?: unknown }
  return rest as Entry
}

function namesGraph(entry: Entry): entry is Extract<Entry, { type: "run.started" | "graph.changed" }> {
  return entry.type === "run.started" || entry.type === "graph.changed"
}

/**
 * A copy of a recording, which may come from a file, and its journal, so that handlers may change its values. Rejects with
 * FIXTURE_INVALID or FIXTURE_VERSION.
 */
export async function openRecording(data: unknown): Promise<{ recording: Recording; journal: Journal }> {
  const recording = checkRecording(data)
  const { runId, records, graphs } = recording
  const shelf = {
    graph: (hash: string) => graphs[hash],
    thread: () => ({ version: 0, state: {} }),
  }
  try {
    return { recording, journal: await openJournal(shelf, runId, records) }
  } catch (cause) {
    throw invalid("one of its graphs cannot be read", cause)
  }
}

/** Distinguishes an entry of a later version from a broken one. The type keeps the list complete. */
const ENTRY_TYPES: { readonly [type in Entry["type"]]: true } = {
  "run.started": true,
  "run.forked": true,
  "graph.changed": true,
  "task.finished": true,
  "task.failed": true,
  "task.rejected": true,
  "step.started": true,
  "step.recorded": true,
  "usage.recorded": true,
  "usage.reserved": true,
  "request.opened": true,
  "request.answered": true,
  "answer.kept": true,
  "request.escalated": true,
  "signal.received": true,
  "signal.awaited": true,
  "signal.taken": true,
  "signal.replied": true,
  "timer.set": true,
  "timer.fired": true,
  "call.started": true,
  "call.finished": true,
  "state.reduced": true,
  "run.paused": true,
  "run.resumed": true,
  "run.failed": true,
  "run.cancelled": true,
}

function checkRecording(data: unknown): Recording {
  const parsed = parse(typeof data === "string" ? data : (JSON.stringify(data) ?? "null"))
  if (!isRecord(parsed as Json) || !("version" in (parsed as object))) {
    throw invalid("it has no version; create one with toFixture(store, runId)")
  }
  const { version, workflow, runId, labels, records, graphs } = parsed as { readonly [key: string]: Json }
  if (!Number.isInteger(version)) throw invalid("its version is not a whole number")
  if (version !== RECORDING_VERSION) {
    const text = `This fixture has version ${version}; this library reads version ${RECORDING_VERSION}. Use a newer library, or record the run again.`
    throw new SuperstepError("FIXTURE_VERSION", text)
  }
  if (typeof workflow !== "string") throw invalid('"workflow" is not a string')
  if (typeof runId !== "string") throw invalid('"runId" is not a string')
  const badLabels = labels === undefined ? undefined : labelsProblem(labels)
  if (badLabels !== undefined) throw invalid(badLabels)
  if (!isRecord(graphs)) throw invalid('"graphs" is not an object')
  if (!Array.isArray(records) || records.length === 0) throw invalid('"records" is not a non-empty list')
  for (const [i, record] of records.entries()) {
    const problem = recordProblem(record as Json, i)
    if (problem !== undefined) throw invalid(`records[${i}]${problem}`)
    const entry = (record as JournalRecord).entry as Entry
    if (namesGraph(entry) && !Object.hasOwn(graphs, entry.graph)) {
      throw invalid(`records[${i}] names the graph ${entry.graph}, which is not among its graphs`)
    }
  }
  const first = records[0] as JournalRecord
  if (first.frame !== "" || first.entry.type !== "run.started")
    throw invalid("it does not begin with the start of a run")
  return parsed as unknown as Recording
}

function recordProblem(record: Json, index: number): string | undefined {
  if (!isRecord(record)) return " is not an object"
  if (record.seq !== index + 1) return `.seq is not ${index + 1}: a record is missing or out of place`
  if (typeof record.frame !== "string") return ".frame is not a string"
  const { entry } = record
  if (!isRecord(entry)) return ".entry is not an object"
  if (typeof entry.type !== "string" || !Object.hasOwn(ENTRY_TYPES, entry.type)) {
    return `.entry has the unknown type ${JSON.stringify(entry.type)}`
  }
  return typeof entry.at === "number" ? undefined : ".entry.at is not a number"
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid("it is not JSON", cause)
  }
}

function invalid(why: string, cause?: unknown): SuperstepError {
  const because = cause instanceof Error ? `: ${cause.message}` : ""
  return new SuperstepError("FIXTURE_INVALID", `This is not a recording of a run: ${why}${because}.`, {
    cause,
  })
}
