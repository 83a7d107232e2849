/**
 * A run as self-contained data: its journal with the graphs and the thread state that it needs, independent of its store. As
 * a file it is a fixture: a test replays it against the current workflow.
 */
import { type Entry, type Json, type RunId, SuperstepError } from "../core/index.ts"
import { canonicalJson, isRecord } from "../core/internal.ts"
import { type JournalRecord, type Labels, labelsProblem, type Store } from "../runtime/index.ts"
import { type Journal, openJournal, readJournal } from "./journal-walk.ts"

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

/** The run so far. Rejects with RUN_UNKNOWN. */
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

/**
 * Save it as a file: `JSON.stringify(await toFixture(store, runId), null, 1)`. It contains everything in the run's journal.
 */
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
  "signal.received": true,
  "signal.awaited": true,
  "signal.taken": true,
  "signal.replied": true,
  "timer.set": true,
  "timer.fired": true,
  "call.started": true,
  "call.finished": true,
  "state.reduced": true,
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

export function invalid(why: string, cause?: unknown): SuperstepError {
  const because = cause instanceof Error ? `: ${cause.message}` : ""
  return new SuperstepError("FIXTURE_INVALID", `This is not a recording of a run: ${why}${because}.`, {
    cause,
  })
}
