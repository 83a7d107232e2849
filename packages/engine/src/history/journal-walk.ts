/**
 * One pass over a run's journal: every record, with what followed from it in the frame it belongs to. It runs no handler
 * and needs no workflow: the graphs are stored with the run. A sub-workflow is let go of when it or its caller is over, so
 * that a walk takes the memory of what is live at one time.
 */
import {
  type Effect,
  type Entry,
  type GraphChanged,
  Machine,
  type MachineEvent,
  type RunId,
  type RunStarted,
  SuperstepError,
  type Task,
  type TaskId,
} from "../core/index.ts"
import { childKey, pathPart } from "../runtime/frame-key.ts"
import { foldEntry, GraphShelf, type JournalRecord, runUnknown, type Store } from "../runtime/index.ts"
import { withThreadState } from "../runtime/loaded-run.ts"

/** A journal with what it needs to be walked. */
export interface Journal {
  readonly runId: RunId
  readonly records: readonly JournalRecord[]
  readonly graphs: Pick<GraphShelf, "known">
}

/** Rejects with RUN_UNKNOWN. */
export async function readJournal(store: Store, runId: RunId, upTo?: number): Promise<Journal> {
  const records = await store.read(runId, 0)
  if (records.length === 0) throw runUnknown(runId)
  return openJournal(store, runId, records.slice(0, upTo))
}

export async function openJournal(
  store: Pick<Store, "graph" | "thread">,
  runId: RunId,
  records: readonly JournalRecord[],
): Promise<Journal> {
  const graphs = new GraphShelf(store)
  for (const { entry } of records) {
    if (entry.type === "run.started" || entry.type === "graph.changed") await graphs.get(entry.graph)
  }
  const [first, ...rest] = records
  if (first?.entry.type !== "run.started" || first.entry.thread === undefined)
    return { runId, records, graphs }
  const entry = await withThreadState(store, await graphs.get(first.entry.graph), first.entry)
  return { runId, records: [{ ...first, entry }, ...rest], graphs }
}

export interface WalkedFrame {
  readonly key: string
  readonly workflow: string
  /** Through which tasks it was reached: `node#task`; empty for the run itself. */
  readonly path: readonly string[]
  readonly machine: Machine
}

export interface WalkedRecord {
  readonly record: JournalRecord
  readonly frame: WalkedFrame
  readonly effects: readonly Effect[]
  /** The task that the entry is of, and the attempt at it that it is of. */
  readonly task: Task | undefined
  readonly attempt: number
  /** Sub-workflows that ended with the attempt that called them, before they were over. */
  readonly abandoned: readonly WalkedFrame[]
  /** The machine that the frame had until the graph changed. */
  readonly replaced?: Machine | undefined
}

interface LiveFrame extends WalkedFrame {
  machine: Machine
  /** Per task at work: the numbers of the calls of its attempt so far, by the key of their frame. */
  readonly calls: Map<TaskId, Map<string, number>>
}

export class JournalWalk implements Iterable<WalkedRecord> {
  readonly #journal: Journal
  readonly #frames = new Map<string, LiveFrame>()

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Those that are live after the record that was walked last; the run itself always. */
  get frames(): ReadonlyMap<string, WalkedFrame> {
    return this.#frames
  }

  *[Symbol.iterator](): Generator<WalkedRecord, void, undefined> {
    for (const record of this.#journal.records) yield this.#take(record)
  }

  #take(record: JournalRecord): WalkedRecord {
    const { frame: key, entry } = record
    const found = this.#frames.get(key)
    if (found === undefined) {
      const { frame, effects } = this.#start(key, entry)
      return { record, frame, effects, task: undefined, attempt: 1, abandoned: [] }
    }
    const task = "task" in entry ? found.machine.task(entry.task) : undefined
    const attempt = task?.attempt ?? 1
    if (entry.type === "graph.changed") {
      const replaced = this.#changeGraph(found, entry)
      return { record, frame: found, effects: [], task, attempt, abandoned: [], replaced }
    }
    const effects = found.machine.apply(entry)
    const abandoned: WalkedFrame[] = []
    if (entry.type === "call.started") {
      const calls = found.calls.get(entry.task) ?? new Map<string, number>()
      calls.set(childKey(key, entry.task, attempt, entry.key), entry.number ?? calls.size + 1)
      found.calls.set(entry.task, calls)
    } else if (endsAttempt(entry)) this.#abandonCalls(found, entry.task, abandoned)
    for (const effect of effects) {
      if (effect.type === "abort") this.#abandonCalls(found, effect.task.id, abandoned)
      else if (effect.type === "finish" && key !== "") this.#frames.delete(key)
    }
    return { record, frame: found, effects, task, attempt, abandoned }
  }

  #start(key: string, entry: Entry): { frame: LiveFrame; effects: readonly Effect[] } {
    const { runId, graphs } = this.#journal
    if (entry.type !== "run.started") {
      const what = key === "" ? "the run" : `sub-workflow "${key}"`
      throw new SuperstepError("JOURNAL_INVALID", `The journal of run "${runId}" has no start of ${what}.`)
    }
    const { graph, workflow } = entry satisfies RunStarted
    const known = graphs.known(graph)
    if (known === undefined) throw new SuperstepError("GRAPH_UNKNOWN", `There is no graph ${graph}.`)
    const { machine, effects } = Machine.start(known, entry, true)
    const frame: LiveFrame = { key, workflow, path: this.#pathOf(key), machine, calls: new Map() }
    this.#frames.set(key, frame)
    return { frame, effects }
  }

  #changeGraph(frame: LiveFrame, entry: GraphChanged): Machine {
    const { machine } = frame
    frame.machine = foldEntry(machine, entry, this.#journal.graphs)
    frame.machine.observe(true)
    return machine
  }

  #pathOf(key: string): readonly string[] {
    if (key === "") return []
    const slash = key.lastIndexOf("/")
    const parent = this.#frames.get(slash < 0 ? "" : key.slice(0, slash))
    const task = parent?.machine.task(Number.parseInt(key.slice(slash + 1), 10))
    if (parent === undefined || task === undefined) return parent?.path ?? []
    const call = parent.calls.get(task.id)?.get(key) ?? 1
    return [...parent.path, pathPart(task.node.id, task.id, call)]
  }

  #abandonCalls(frame: LiveFrame, task: TaskId, abandoned: WalkedFrame[]): void {
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

function endsAttempt(
  entry: Entry,
): entry is Extract<Entry, { type: "task.finished" | "task.failed" | "task.rejected" }> {
  return entry.type === "task.finished" || entry.type === "task.failed" || entry.type === "task.rejected"
}

/** What those who watched were told. */
export function* eventsOf({
  effects,
}: Pick<WalkedRecord, "effects">): Generator<MachineEvent, void, undefined> {
  for (const effect of effects) if (effect.type === "emit") yield effect.event
}
