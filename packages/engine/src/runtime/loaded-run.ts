/**
 * A run read back from its store: the latest snapshot, and what was journaled after it, folded into one machine per
 * frame. That runs no user code and needs no workflow: the graphs that the run was made with are in the store.
 */
import {
  type Entry,
  type Graph,
  graphData,
  graphOf,
  type Json,
  Machine,
  type MachineSnapshot,
  type RequestId,
  type RunId,
  type RunStarted,
  SuperstepError,
} from "../core/index.ts"
import { outerId } from "./events.ts"
import { childKey } from "./frame-key.ts"
import type { JournalRecord, Snapshot, Store } from "./store.ts"
import { lastingState } from "./thread.ts"

/** What is still asked about a frame's start once its first entry is folded. */
export type FrameStart = Pick<RunStarted, "at" | "workflow" | "trace" | "thread">

export interface LoadedFrame {
  readonly started: FrameStart
  readonly machine: Machine
}

export interface LoadedRun {
  readonly runId: RunId
  readonly seq: number
  /** After which record it was saved last; 0: never. */
  readonly savedSeq: number
  /** When its last entry was made. */
  readonly at: number
  readonly events: number
  /** The run itself, under the empty key, and the sub-workflows that it waits for. */
  readonly frames: ReadonlyMap<string, LoadedFrame>
  /** Answered requests of sub-workflows that are over. */
  readonly answered: readonly RequestId[]
}

/** A run at one place in its journal, as the store keeps it. */
export interface RunSnapshot {
  readonly version: 1
  readonly at: number
  readonly events: number
  readonly frames: readonly SavedFrame[]
  readonly answered: readonly RequestId[]
}

export interface SavedFrame {
  readonly key: string
  readonly graph: string
  readonly started: FrameStart
  readonly machine: MachineSnapshot
}

/** Graphs that are at hand need not be read. Undefined for a run that the store does not know. */
export async function loadRun(store: Store, runId: RunId, known?: Graph): Promise<LoadedRun | undefined> {
  const saved = await store.snapshot(runId)
  return fold(store, runId, saved, await store.read(runId, saved?.seq ?? 0), known)
}

/** The run as it was after these records of it, the first one included. */
export function foldRecords(
  store: Pick<Store, "graph" | "thread">,
  runId: RunId,
  records: readonly JournalRecord[],
): Promise<LoadedRun | undefined> {
  return fold(store, runId, undefined, records, undefined)
}

async function fold(
  store: Pick<Store, "graph" | "thread">,
  runId: RunId,
  saved: Snapshot | undefined,
  records: readonly JournalRecord[],
  known: Graph | undefined,
): Promise<LoadedRun | undefined> {
  const last = records.at(-1)
  if (last === undefined && saved === undefined) return undefined
  const graphs = new GraphShelf(store, known)
  const snapshot = saved === undefined ? undefined : checkVersion(runId, saved.data)
  const frames = new Map<string, { started: FrameStart; machine: Machine }>()
  const answered = new Set(snapshot?.answered)
  for (const { key, graph, started, machine } of snapshot?.frames ?? []) {
    const restored = Machine.restore(await graphs.get(graph), machine)
    frames.set(key, { started, machine: restored })
    if (key !== "") for (const id of restored.answered()) answered.add(outerId(key, id))
  }
  for (const { frame: key, entry } of records) {
    const frame = frames.get(key)
    if (frame !== undefined) {
      if (entry.type === "graph.changed") await graphs.get(entry.graph)
      frame.machine = foldEntry(frame.machine, entry, graphs)
    } else {
      const first = startOf(runId, key, entry)
      const graph = await graphs.get(first.graph)
      const { machine } = Machine.start(graph, await withThreadState(store, graph, first))
      frames.set(key, { started: startedAs(first), machine })
    }
    if (entry.type === "request.answered" && key !== "") answered.add(outerId(key, entry.request))
  }
  return {
    runId,
    seq: last?.seq ?? saved?.seq ?? 0,
    savedSeq: saved?.seq ?? 0,
    at: last?.entry.at ?? snapshot?.at ?? 0,
    events: last?.events ?? snapshot?.events ?? 0,
    frames: waitedFor(frames),
    answered: [...answered],
  }
}

export function startedAs({ at, workflow, trace, thread }: RunStarted): FrameStart {
  return { at, workflow, trace, thread }
}

function startOf(runId: RunId, key: string, entry: Entry): RunStarted {
  if (entry.type === "run.started") return entry
  const what = key === "" ? "the run" : `sub-workflow "${key}"`
  throw new SuperstepError("JOURNAL_INVALID", `The journal of run "${runId}" has no start of ${what}.`)
}

/** The machine after an entry: another one when the graph changed. */
export function foldEntry(
  machine: Machine,
  entry: Entry,
  graphs: { known(hash: string): Graph | undefined },
): Machine {
  if (entry.type === "graph.changed") {
    return Machine.restore(graphs.known(entry.graph) as Graph, entry.snapshot ?? machine.snapshot())
  }
  machine.apply(entry)
  return machine
}

/** What a thread had when the run started is kept with the thread, not with the run. */
export async function withThreadState(
  store: Pick<Store, "thread">,
  graph: Graph,
  entry: RunStarted,
): Promise<RunStarted> {
  if (entry.thread === undefined) return entry
  const { state } = await store.thread(entry.thread.id, entry.thread.version)
  return { ...entry, state: { ...lastingState(graph, state), ...entry.state } }
}

/** The run, and those below it whose callers still wait for them. */
function waitedFor<F extends LoadedFrame>(frames: ReadonlyMap<string, F>): Map<string, F> {
  const live = new Map<string, F>()
  const add = (key: string) => {
    const frame = frames.get(key)
    if (frame === undefined) return
    live.set(key, frame)
    for (const { id, attempt, waits } of frame.machine.tasks()) {
      for (const [wait, { kind }] of waits ?? []) if (kind === "call") add(childKey(key, id, attempt, wait))
    }
  }
  add("")
  return live
}

/** Graphs by hash: those at hand, then those of the store. */
export class GraphShelf {
  readonly #store: Pick<Store, "graph">
  readonly #graphs = new Map<string, Graph>()

  constructor(store: Pick<Store, "graph">, known?: Graph) {
    this.#store = store
    if (known !== undefined) this.#add(known)
  }

  #add(graph: Graph): void {
    this.#graphs.set(graphData(graph).hash, graph)
    for (const { nested } of graph.spec.nodes) if (nested !== undefined) this.#add(nested)
  }

  known(hash: string): Graph | undefined {
    return this.#graphs.get(hash)
  }

  async get(hash: string): Promise<Graph> {
    const known = this.#graphs.get(hash)
    if (known !== undefined) return known
    const data = await this.#store.graph(hash)
    if (data === undefined) {
      const text = `The store has no graph ${hash}, which a run was made with: its journal cannot be read without it.`
      throw new SuperstepError("GRAPH_UNKNOWN", text)
    }
    const graph = graphOf(data)
    this.#graphs.set(hash, graph)
    return graph
  }
}

function checkVersion(runId: RunId, data: Json): RunSnapshot {
  const snapshot = data as unknown as RunSnapshot
  if (snapshot.version === 1) return snapshot
  const text = `The snapshot of run "${runId}" has version ${snapshot.version}; this library reads version 1. Use a newer library.`
  throw new SuperstepError("SNAPSHOT_VERSION", text)
}
