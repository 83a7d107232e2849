/** The events of a run once more, from its journal: for those who join late or come back. */
import {
  type Effect,
  type Entry,
  type Graph,
  type GraphChanged,
  Machine,
  type RunId,
  type RunStarted,
  type TaskId,
} from "../core/index.ts"
import { type RunEvent, withOuterIds } from "./events.ts"
import { childKey, pathPart } from "./frame-key.ts"
import { foldEntry, GraphShelf, withThreadState } from "./loaded-run.ts"
import type { JournalRecord, Store } from "./store.ts"

interface Replayed {
  machine: Machine
  readonly path: readonly string[]
  /** Per task: the numbers of the calls of its attempt so far, by the key of their frame. */
  readonly calls: Map<TaskId, Map<string, number>>
}

/** Events numbered above `after`. The store has the graphs; `known` need not be read. */
export function replayEvents(
  store: Pick<Store, "graph" | "thread">,
  records: readonly JournalRecord[],
  after: number,
  known?: Graph,
): Promise<RunEvent[]> {
  return new EventReplay(store, known).add(records, after)
}

/** The same of a journal that grows: each record is gone through once. */
export class EventReplay {
  readonly #store: Pick<Store, "graph" | "thread">
  readonly #graphs: GraphShelf
  readonly #frames = new Map<string, Replayed>()
  #runId: RunId | undefined
  /** The number of the last event. */
  #seq = 0

  constructor(store: Pick<Store, "graph" | "thread">, known?: Graph) {
    this.#store = store
    this.#graphs = new GraphShelf(store, known)
  }

  /** Of the records that follow on those before; the first time, those of all that a fork shares. */
  async add(records: readonly JournalRecord[], after: number): Promise<RunEvent[]> {
    const events: RunEvent[] = []
    this.#runId ??= runIdOf(records)
    for (const record of records) {
      const { frame: key, entry, events: until } = record
      const frame = this.#frames.get(key)
      const { effects, path } =
        frame === undefined || entry.type === "graph.changed"
          ? await this.#renew(frame, record)
          : follow(frame, key, entry)
      for (const effect of effects) {
        if (effect.type !== "emit" || ++this.#seq <= after) continue
        const { event } = effect
        events.push({ runId: this.#runId, seq: this.#seq, at: entry.at, path, ...withOuterIds(key, event) })
      }
      this.#seq = until
    }
    return events
  }

  /** Another graph: of a frame that begins, or goes on with a new version of it. */
  async #renew(frame: Replayed | undefined, { frame: key, entry }: JournalRecord): Promise<Told> {
    const graph = await this.#graphs.get((entry as RunStarted | GraphChanged).graph)
    if (frame !== undefined) {
      frame.machine = foldEntry(frame.machine, entry, this.#graphs)
      frame.machine.observe(true)
      return { effects: [], path: frame.path }
    }
    const first = await withThreadState(this.#store, graph, entry as RunStarted)
    const { machine, effects } = Machine.start(graph, first, true)
    const path = pathOf(key, this.#frames)
    this.#frames.set(key, { machine, path, calls: new Map() })
    return { effects, path }
  }
}

function follow(frame: Replayed, key: string, entry: Entry): Told {
  noteCall(frame, key, entry)
  return { effects: frame.machine.apply(entry), path: frame.path }
}

interface Told {
  readonly effects: readonly Effect[]
  readonly path: readonly string[]
}

/** A fork's past is told under its own id. */
function runIdOf(records: readonly JournalRecord[]): RunId {
  for (let i = records.length - 1; i >= 0; i--) {
    const { entry } = records[i] as JournalRecord
    if (entry.type === "run.forked" || (entry.type === "run.started" && i === 0)) return entry.runId
  }
  return ""
}

/** Through which tasks of which nodes the frame was reached. */
function pathOf(key: string, frames: ReadonlyMap<string, Replayed>): readonly string[] {
  if (key === "") return []
  const slash = key.lastIndexOf("/")
  const parent = frames.get(slash < 0 ? "" : key.slice(0, slash)) as Replayed
  const task = parent.machine.task(Number.parseInt(key.slice(slash + 1), 10))
  if (task === undefined) return parent.path
  const call = parent.calls.get(task.id)?.get(key) ?? 1
  return [...parent.path, pathPart(task.node.id, task.id, call)]
}

/** Calls are numbered within an attempt, as the driver numbers them. */
function noteCall({ machine, calls }: Replayed, key: string, entry: Entry): void {
  if (entry.type === "task.failed") calls.delete(entry.task)
  if (entry.type !== "call.started") return
  const child = childKey(key, entry.task, machine.task(entry.task)?.attempt ?? 1, entry.key)
  const known = calls.get(entry.task) ?? new Map<string, number>()
  calls.set(entry.task, known.set(child, entry.number ?? known.size + 1))
}
