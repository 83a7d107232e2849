/** The events of a run once more, from its journal: for those who join late or come back. */
import { type Effect, type Entry, type Graph, Machine, type RunStarted, type TaskId } from "../core/index.ts"
import { type RunEvent, withOuterIds } from "./events.ts"
import { childKey, pathPart } from "./frame.ts"
import type { JournalRecord } from "./store.ts"

interface Replayed {
  readonly machine: Machine
  readonly path: readonly string[]
  /** Per task: the calls of its attempt so far, by the key of their frame. */
  readonly calls: Map<TaskId, string[]>
}

/**
 * Events numbered above `after`. `called` has the workflows that handlers call, by name; the events of one that is
 * neither there nor drawn as a node are left out.
 */
export function replayEvents(
  graph: Graph,
  called: { get(name: string): Graph | undefined },
  records: readonly JournalRecord[],
  after: number,
): RunEvent[] {
  const frames = new Map<string, Replayed>()
  const events: RunEvent[] = []
  let seq = 0
  for (const { frame: key, entry, events: until } of records) {
    let effects: Effect[] = []
    let frame = frames.get(key)
    if (frame !== undefined) {
      noteCall(frame, key, entry)
      effects = frame.machine.apply(entry)
    } else {
      const place = placeOf(graph, called, key, entry as RunStarted, frames)
      if (place !== undefined) {
        const started = Machine.start(place.graph, entry as RunStarted, true)
        frame = { machine: started.machine, path: place.path, calls: new Map() }
        effects = started.effects
        frames.set(key, frame)
      }
    }
    for (const effect of effects) {
      if (effect.type !== "emit" || ++seq <= after) continue
      const runId = frames.get("")?.machine.runId ?? ""
      events.push({ runId, seq, at: entry.at, path: frame?.path ?? [], ...withOuterIds(key, effect.event) })
    }
    seq = until
  }
  return events
}

/** Which graph a frame runs: that of the node whose task called it, or of the workflow that was called by name. */
function placeOf(
  root: Graph,
  called: { get(name: string): Graph | undefined },
  key: string,
  { workflow }: RunStarted,
  frames: ReadonlyMap<string, Replayed>,
): { graph: Graph; path: readonly string[] } | undefined {
  if (key === "") return { graph: root, path: [] }
  const slash = key.lastIndexOf("/")
  const parent = frames.get(slash < 0 ? "" : key.slice(0, slash))
  const task = parent?.machine.task(Number.parseInt(key.slice(slash + 1), 10))
  const graph = task?.node.spec.nested ?? called.get(workflow)
  if (parent === undefined || task === undefined || graph === undefined) return undefined
  const call = (parent.calls.get(task.id)?.indexOf(key) ?? 0) + 1
  return { graph, path: [...parent.path, pathPart(task.node.id, task.id, call)] }
}

/** Calls are numbered within an attempt, as the driver numbers them. */
function noteCall({ machine, calls }: Replayed, key: string, entry: Entry): void {
  if (entry.type === "task.failed") calls.delete(entry.task)
  if (entry.type !== "call.started") return
  const child = childKey(key, entry.task, machine.task(entry.task)?.attempt ?? 1, entry.key)
  calls.set(entry.task, [...(calls.get(entry.task) ?? []), child])
}
