/** A stored journal, and one pass over it: every record, with the effects that followed from it. */
import type { MachineEvent, RunId } from "../core/index.ts"
import { type JournalRecord, runUnknown, type Store } from "../runtime/index.ts"
import {
  type FoldedFrame,
  type FoldedRecord,
  GraphCache,
  JournalFold,
  prepareRecord,
} from "../runtime/internal.ts"

/** A journal with everything that a walk needs. */
export interface Journal {
  readonly runId: RunId
  readonly records: readonly JournalRecord[]
  readonly graphs: Pick<GraphCache, "known">
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
  stored: readonly JournalRecord[],
): Promise<Journal> {
  const graphs = new GraphCache(store)
  const records: JournalRecord[] = []
  for (const record of stored) records.push(await prepareRecord(store, graphs, record))
  return { runId, records, graphs }
}

export class JournalWalk implements Iterable<FoldedRecord> {
  readonly #records: readonly JournalRecord[]
  readonly #fold: JournalFold

  constructor({ runId, records, graphs }: Journal) {
    this.#records = records
    this.#fold = new JournalFold(runId, graphs, true)
  }

  /** The frames that are live after the last record; always includes the run itself. */
  get frames(): ReadonlyMap<string, FoldedFrame> {
    return this.#fold.frames
  }

  *[Symbol.iterator](): Generator<FoldedRecord, void, undefined> {
    for (const record of this.#records) yield this.#fold.add(record)
  }
}

/** The events that watchers received. */
export function* eventsOf({
  effects,
}: Pick<FoldedRecord, "effects">): Generator<MachineEvent, void, undefined> {
  for (const effect of effects) if (effect.type === "emit") yield effect.event
}
