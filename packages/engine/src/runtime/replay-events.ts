/** The events of a run once more, from its journal: for those who join late or come back. */
import {
  type Effect,
  type Entry,
  type Graph,
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
export async function replayEvents(
  store: Pick<Store, "graph" | "thread">,
  records: readonly JournalRecord[],
  after: number,
  known?: Graph,
): Promise<RunEvent[]> {
  const graphs = new GraphShelf(store, known)
  const frames = new Map<string, Replayed>()
  const events: RunEvent[] = []
  const runId = runIdOf(records)
  let seq = 0
  for (const { frame: key, entry, events: until } of records) {
    let effects: Effect[] = []
    let frame = frames.get(key)
    if (frame === undefined) {
      const graph = await graphs.get((entry as RunStarted).graph)
      const started = Machine.start(graph, await withThreadState(store, graph, entry as RunStarted), true)
      frame = { machine: started.machine, path: pathOf(key, frames), calls: new Map() }
      effects = started.effects
      frames.set(key, frame)
    } else if (entry.type === "graph.changed") {
      await graphs.get(entry.graph)
      frame.machine = foldEntry(frame.machine, entry, graphs)
      frame.machine.observe(true)
    } else {
      noteCall(frame, key, entry)
      effects = frame.machine.apply(entry)
    }
    for (const effect of effects) {
      if (effect.type !== "emit" || ++seq <= after) continue
      events.push({ runId, seq, at: entry.at, path: frame.path, ...withOuterIds(key, effect.event) })
    }
    seq = until
  }
  return events
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
