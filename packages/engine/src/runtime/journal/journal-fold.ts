/**
 * Folds the records of a journal into one machine per frame: the run, and each sub-workflow under the key of the task that
 * called it. Loading a run, replaying its events and its history are this fold. It runs no handler and needs no workflow:
 * the graphs are stored with the run. A sub-workflow is dropped when its caller has the outcome or has ended, so a fold
 * needs memory only for live frames. What a store returns is frozen like what entered the run (V1).
 */
import {
  type Effect,
  type Entry,
  type Graph,
  graphData,
  Machine,
  type NodeId,
  parseGraph,
  type RunId,
  type RunStarted,
  SuperstepError,
  type Task,
  type TaskId,
} from "../../core/index.ts"
import { freezeData } from "../../core/internal.ts"
import type { MaybePromise } from "../ports/maybe-promise.ts"
import type { Store } from "../ports/store.ts"
import type { JournalRecord } from "../ports/stored.ts"
import { lastingState } from "./thread.ts"

/** The key of a sub-workflow within its run's journal. A retried task calls again under another key. */
export function childKey(parent: string, task: TaskId, attempt: number, key: string): string {
  return joinKey(parent, callPart(task, attempt, key))
}

/** The last part of the key of a sub-workflow: it names the call within the workflow that makes it. */
export function callPart(task: TaskId, attempt: number, key: string): string {
  return `${task}.${attempt}:${key.replaceAll("/", "%2F")}`
}

export function joinKey(parent: string, part: string): string {
  return parent === "" ? part : `${parent}/${part}`
}

/** How events show the call: `node#task`, and for a further call of the same attempt `node#task.2`. */
export function pathPart(node: NodeId, task: TaskId, call: number): string {
  return `${node}#${task}${call === 1 ? "" : `.${call}`}`
}

/** The part of a frame's start that is needed after its first entry is folded. */
export type FrameStart = Pick<RunStarted, "at" | "workflow" | "trace" | "thread" | "context">

export function startedAs({ at, workflow, trace, thread, context }: RunStarted): FrameStart {
  return context === undefined ? { at, workflow, trace, thread } : { at, workflow, trace, thread, context }
}

export interface FoldedFrame {
  readonly key: string
  /** The tasks that called the frame: `node#task`; empty for the run itself. */
  readonly path: readonly string[]
  readonly started: FrameStart
  readonly machine: Machine
}

export interface FoldedRecord {
  readonly record: JournalRecord
  readonly frame: FoldedFrame
  readonly effects: readonly Effect[]
  /** The task that the entry belongs to, and the attempt. */
  readonly task: Task | undefined
  readonly attempt: number
  /** Sub-workflows that ended with the attempt that called them. */
  readonly abandoned: readonly FoldedFrame[]
  /** The machine that the frame had before its graph changed. */
  readonly replaced?: Machine | undefined
}

interface LiveFrame extends FoldedFrame {
  machine: Machine
  /** By task: the numbers of the calls of its attempt so far, by the key of their frame. */
  readonly calls: Map<TaskId, Map<string, number>>
}

const NOTHING: readonly never[] = Object.freeze([])

export class JournalFold {
  readonly #runId: RunId
  readonly #graphs: Pick<GraphCache, "known">
  /** Whether effects include the events. */
  readonly #observed: boolean
  readonly #frames = new Map<string, LiveFrame>()

  constructor(runId: RunId, graphs: Pick<GraphCache, "known">, observed: boolean) {
    this.#runId = runId
    this.#graphs = graphs
    this.#observed = observed
  }

  /** The frames that are live after the last record; the run itself always. */
  get frames(): ReadonlyMap<string, FoldedFrame> {
    return this.#frames
  }

  /** A frame from a snapshot, which the next records continue. */
  restore(key: string, started: FrameStart, machine: Machine): void {
    this.#frames.set(key, { key, path: NOTHING, started, machine, calls: new Map() })
  }

  /** The next record, as `prepareRecord` returned it. */
  add(record: JournalRecord): FoldedRecord {
    const { frame: key, entry } = record
    const found = this.#frames.get(key)
    if (found === undefined) {
      const { frame, effects } = this.#start(key, entry)
      return { record, frame, effects, task: undefined, attempt: 1, abandoned: NOTHING }
    }
    const task = "task" in entry && entry.task !== undefined ? found.machine.task(entry.task) : undefined
    const attempt = task?.attempt ?? 1
    if (entry.type === "graph.changed") {
      const replaced = found.machine
      found.machine = Machine.restore(this.#graph(entry.graph), entry.snapshot ?? replaced.snapshot())
      found.machine.observe(this.#observed)
      return { record, frame: found, effects: NOTHING, task, attempt, abandoned: NOTHING, replaced }
    }
    const effects = found.machine.apply(entry)
    const abandoned: FoldedFrame[] = []
    switch (entry.type) {
      case "call.started": {
        const calls = found.calls.get(entry.task) ?? new Map<string, number>()
        calls.set(childKey(key, entry.task, attempt, entry.key), entry.number ?? calls.size + 1)
        found.calls.set(entry.task, calls)
        break
      }
      case "call.finished":
        this.#frames.delete(childKey(key, entry.task, attempt, entry.key))
        break
      case "task.finished":
      case "task.failed":
      case "task.rejected":
        this.#abandonCalls(found, entry.task, abandoned)
        break
      default:
        break
    }
    for (const effect of effects) {
      if (effect.type === "abort") this.#abandonCalls(found, effect.task.id, abandoned)
    }
    return { record, frame: found, effects, task, attempt, abandoned }
  }

  #start(key: string, entry: Entry): { frame: LiveFrame; effects: readonly Effect[] } {
    if (entry.type !== "run.started") {
      const what = key === "" ? "the run" : `sub-workflow "${key}"`
      const text = `The journal of run "${this.#runId}" does not contain the start of ${what}.`
      throw new SuperstepError("JOURNAL_INVALID", text)
    }
    const { machine, effects } = Machine.start(this.#graph(entry.graph), entry, this.#observed)
    const frame = { key, path: this.#pathOf(key), started: startedAs(entry), machine, calls: new Map() }
    this.#frames.set(key, frame)
    return { frame, effects }
  }

  #graph(hash: string): Graph {
    const graph = this.#graphs.known(hash)
    if (graph === undefined) throw new SuperstepError("GRAPH_UNKNOWN", `Graph ${hash} does not exist.`)
    return graph
  }

  #pathOf(key: string): readonly string[] {
    if (key === "") return NOTHING
    const slash = key.lastIndexOf("/")
    const parent = this.#frames.get(slash < 0 ? "" : key.slice(0, slash))
    const task = parent?.machine.task(Number.parseInt(key.slice(slash + 1), 10))
    if (parent === undefined || task === undefined) return parent?.path ?? NOTHING
    const call = parent.calls.get(task.id)?.get(key) ?? 1
    return [...parent.path, pathPart(task.node.id, task.id, call)]
  }

  #abandonCalls(frame: LiveFrame, task: TaskId, abandoned: FoldedFrame[]): void {
    for (const key of frame.calls.get(task)?.keys() ?? []) {
      const child = this.#frames.get(key)
      if (child === undefined) continue
      this.#frames.delete(key)
      abandoned.push(child)
      for (const below of child.calls.keys()) this.#abandonCalls(child, below, abandoned)
    }
    frame.calls.delete(task)
  }
}

/** The record, frozen, once its graph is loaded; a start has the state of its thread, which the journal does not repeat. */
export function prepareRecord(
  store: Pick<Store, "thread">,
  graphs: GraphCache,
  record: JournalRecord,
): MaybePromise<JournalRecord> {
  const { entry } = record
  freezeData(entry)
  if (entry.type === "graph.changed") return graphs.get(entry.graph).then(() => record)
  return entry.type === "run.started" ? prepareStart(store, graphs, record, entry) : record
}

async function prepareStart(
  store: Pick<Store, "thread">,
  graphs: GraphCache,
  record: JournalRecord,
  entry: RunStarted,
): Promise<JournalRecord> {
  const graph = await graphs.get(entry.graph)
  if (entry.thread === undefined) return record
  const { state } = await store.thread(entry.thread.id, entry.thread.version)
  return { ...record, entry: { ...entry, state: { ...lastingState(graph, state), ...entry.state } } }
}

/** Graphs by hash: first those already loaded, then those of the store. */
export class GraphCache {
  readonly #store: Pick<Store, "graph">
  readonly #graphs = new Map<string, Graph>()

  constructor(store: Pick<Store, "graph">, known?: Graph) {
    this.#store = store
    if (known !== undefined) this.#add(known)
  }

  #add(graph: Graph): void {
    const { hash } = graphData(graph)
    if (this.#graphs.has(hash)) return
    this.#graphs.set(hash, graph)
    for (const { nested } of graph.spec.nodes) if (nested !== undefined) this.#add(nested)
  }

  known(hash: string): Graph | undefined {
    return this.#graphs.get(hash)
  }

  async get(hash: string): Promise<Graph> {
    const known = this.#graphs.get(hash)
    if (known !== undefined) return known
    const recent = recentGraphs.get(this.#store) ?? new Map<string, Graph>()
    const graph = recent.get(hash) ?? (await this.#read(hash))
    this.#add(graph)
    // An earlier version of the library may have hashed the same graph differently.
    this.#graphs.set(hash, graph)
    const [oldest] = recent.keys()
    if (recent.size >= MAX_RECENT && oldest !== undefined) recent.delete(oldest)
    recentGraphs.set(this.#store, recent.set(hash, graph))
    return graph
  }

  async #read(hash: string): Promise<Graph> {
    const data = await this.#store.graph(hash)
    if (data !== undefined) return parseGraph(data)
    const text = `The store has no graph ${hash}, which a run was started with: its journal cannot be read without it.`
    throw new SuperstepError("GRAPH_UNKNOWN", text)
  }
}

/** How many graphs of a store stay parsed: a hash stands for one graph in all versions. */
const MAX_RECENT = 32
const recentGraphs = new WeakMap<Pick<Store, "graph">, Map<string, Graph>>()
