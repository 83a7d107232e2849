/** Replays the events of a run from its journal, for watchers that join late or reconnect. */
import { type Entry, type Graph, graphData, type RunId, SuperstepError } from "../../core/index.ts"
import { freezeData, NO_ITEMS, pushSized } from "../../core/internal.ts"
import { type RunEvent, withOuterIds } from "../ports/events.ts"
import { isPromise } from "../ports/maybe-promise.ts"
import type { Store } from "../ports/store.ts"
import type { JournalRecord } from "../ports/stored.ts"
import { GraphCache, JournalFold, prepareRecord } from "./journal-fold.ts"

/** Events numbered above `after`. The store has the graphs; `known` graphs are not read again. */
export function replayEvents(
  store: Pick<Store, "graph" | "thread">,
  records: readonly JournalRecord[],
  after: number,
  known?: Graph,
): Promise<RunEvent[]> {
  return new EventReplay(store, known).add(records, after)
}

/** Replays the events of a growing journal: each record is folded once. */
export class EventReplay {
  readonly #store: Pick<Store, "graph" | "thread">
  readonly #graphs: GraphCache
  #journal: JournalFold | undefined
  #runId: RunId | undefined
  #seq = 0

  constructor(store: Pick<Store, "graph" | "thread">, known?: Graph) {
    this.#store = store
    this.#graphs = new GraphCache(store, known)
  }

  /** The number of the last event of the records so far. */
  get seq(): number {
    return this.#seq
  }

  /** How many frames it holds: the run, and the sub-workflows that are still called. */
  get frameCount(): number {
    return this.#journal?.frames.size ?? 0
  }

  /** The events of the next records; the first call starts with the first record. */
  async add(records: readonly JournalRecord[], after: number): Promise<RunEvent[]> {
    const events: RunEvent[] = []
    this.#runId ??= runIdOf(records)
    this.#journal ??= new JournalFold(this.#runId, this.#graphs, true)
    const runId = this.#runId
    for (const record of records) {
      const prepared = prepareRecord(this.#store, this.#graphs, record)
      const { frame, effects } = this.#journal.add(isPromise(prepared) ? await prepared : prepared)
      const { key, path } = frame
      for (const effect of effects) {
        if (effect.type !== "emit" || ++this.#seq <= after) continue
        const { at } = record.entry
        const event = { runId, seq: this.#seq, at, path, ...withOuterIds(key, effect.event) }
        events.push(freezeData(event))
      }
      this.#seq = record.events
    }
    return events
  }
}

/** A fork's past has the fork's own id. */
function runIdOf(records: readonly JournalRecord[]): RunId {
  for (let i = records.length - 1; i >= 0; i--) {
    const { entry } = records[i] as JournalRecord
    if (entry.type === "run.forked" || (entry.type === "run.started" && i === 0)) return entry.runId
  }
  return ""
}

const MAX_RECORDS = 1_000

/**
 * The first records of a run without a store: code that iterates the run a little later gets every event. They cost memory,
 * so a run that is awaited and not iterated drops them.
 */
export class EarlyRecords {
  #records: readonly JournalRecord[] | undefined = NO_ITEMS
  /** Of sub-workflows. */
  #graphs: readonly Graph[] = NO_ITEMS
  #isRead = false
  #isAwaited = false

  /** False once the records are dropped. */
  add(frame: string, entry: Entry, events: number): boolean {
    if (this.#records === undefined) return false
    // Code that awaits the run and iterates it in the same turn begins to read before the next record arrives.
    if (this.#isAwaited) this.drop()
    if (this.#records?.length === MAX_RECORDS) this.#forget()
    if (this.#records === undefined) return false
    this.#records = pushSized(this.#records, { seq: this.#records.length + 1, frame, entry, events })
    return true
  }

  /** The run's result was delivered: the records are dropped unless they are being read. True if they are gone. */
  drop(): boolean {
    if (!this.#isRead) this.#forget()
    return this.#records === undefined
  }

  #forget(): void {
    this.#records = undefined
    this.#graphs = NO_ITEMS
  }

  /** A sub-workflow of the run has this graph. */
  addGraph(graph: Graph): void {
    if (this.#records !== undefined && !this.#graphs.includes(graph))
      this.#graphs = pushSized(this.#graphs, graph)
  }

  /** Somebody awaits the run. */
  await(): void {
    this.#isAwaited = true
  }

  /** Somebody iterates the run. */
  read(): void {
    this.#isRead = true
  }

  /** `graph` is the one of the run itself. */
  async events(runId: string, graph: Graph): Promise<RunEvent[]> {
    if (this.#records === undefined) throw eventsGone(runId)
    const graphs = new Map([graph, ...this.#graphs].map(graphData).map(({ hash, data }) => [hash, data]))
    const store = { graph: (hash: string) => graphs.get(hash), thread: () => ({ version: 0, state: {} }) }
    return await new EventReplay(store).add([...this.#records], 0)
  }
}

export function eventsGone(runId: string): SuperstepError {
  const text = `Run ${runId} keeps no journal, and its first events are gone: it was awaited before it was iterated, or has written more than ${MAX_RECORDS} records since. Iterate it first, start it with stream(), or with a store.`
  return new SuperstepError("NO_STORE", text, { run: runId })
}
