/**
 * Loads a run from its store: the latest snapshot and the records after it. Also decides when to save snapshots: after a
 * number of entries, if the journal grew by at least twice the size of the state since the last one. All snapshots together
 * are thus a fraction of the journal, and a state that only grows costs none. A run that begins to wait may be loaded soon:
 * it is saved if the journal grew by the size of its state.
 */
import {
  type Graph,
  graphData,
  type Json,
  Machine,
  type MachineSnapshot,
  type RequestId,
  type RunId,
  SuperstepError,
} from "../../core/index.ts"
import { freezeData, jsonSize } from "../../core/internal.ts"
import { outerId } from "../ports/events.ts"
import { isPromise } from "../ports/maybe-promise.ts"
import type { Snapshot, Store } from "../ports/store.ts"
import type { JournalRecord, Lease } from "../ports/stored.ts"
import { childKey, type FrameStart, GraphCache, JournalFold, prepareRecord } from "./journal-fold.ts"

export interface LoadedFrame {
  readonly started: FrameStart
  readonly machine: Machine
}

export interface LoadedRun {
  readonly runId: RunId
  readonly seq: number
  /** The record after which it was last saved; 0 if never. */
  readonly savedSeq: number
  /** Time of its last entry. */
  readonly at: number
  readonly events: number
  /** The run itself, under the empty key, and the sub-workflows that it waits for. */
  readonly frames: ReadonlyMap<string, LoadedFrame>
  /** Answered requests of sub-workflows that have ended. */
  readonly answered: readonly RequestId[]
}

/** The state of a run after one record of its journal, as the store keeps it. */
export interface RunSnapshot {
  readonly version: 1
  readonly at: number
  readonly events: number
  readonly frames: readonly SavedFrame[]
  readonly answered: readonly RequestId[]
}

interface SavedFrame {
  readonly key: string
  readonly graph: string
  readonly started: FrameStart
  readonly machine: MachineSnapshot
}

/** The run with these frames, after its last record. */
export function snapshotOf(
  at: number,
  events: number,
  frames: readonly (readonly [string, LoadedFrame])[],
  answered: readonly RequestId[],
): RunSnapshot {
  const saved = frames.map(([key, { started, machine }]) => {
    return { key, graph: graphData(machine.graph).hash, started, machine: machine.snapshot() }
  })
  return { version: 1, at, events, frames: saved, answered }
}

/**
 * `known` graphs are not read again; `seq`, the end of the journal as the run's row has it, shows whether a snapshot is worth looking for;
 * `records` are all of the run's, if they have been read already. Returns undefined if the store does not know the run.
 */
export async function loadRun(
  store: Store,
  runId: RunId,
  known?: Graph,
  seq = Number.POSITIVE_INFINITY,
  records?: readonly JournalRecord[],
): Promise<LoadedRun | undefined> {
  if (records !== undefined) return fold(store, runId, undefined, records, known)
  const isShort = seq < (intervals.get(store) ?? EVERY)
  const saved = isShort ? undefined : await store.snapshot(runId)
  return fold(store, runId, saved, await store.read(runId, saved?.seq ?? 0), known)
}

/** The state of the run after these records, which begin with its first. */
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
  const graphs = new GraphCache(store, known)
  const journal = new JournalFold(runId, graphs, false)
  const snapshot = saved === undefined ? undefined : freezeData(checkVersion(runId, saved.data))
  const answered = new Set(snapshot?.answered)
  for (const { key, graph, started, machine } of snapshot?.frames ?? []) {
    const restored = Machine.restore(await graphs.get(graph), machine)
    journal.restore(key, started, restored)
    if (key !== "") for (const id of restored.answered()) answered.add(outerId(key, id))
  }
  for (const record of records) {
    const prepared = prepareRecord(store, graphs, record)
    const { frame: key, entry } = record
    journal.add(isPromise(prepared) ? await prepared : prepared)
    if (entry.type === "request.answered" && key !== "") answered.add(outerId(key, entry.request))
  }
  return {
    runId,
    seq: last?.seq ?? saved?.seq ?? 0,
    savedSeq: saved?.seq ?? 0,
    at: last?.entry.at ?? snapshot?.at ?? 0,
    events: last?.events ?? snapshot?.events ?? 0,
    frames: waitedFor(journal.frames),
    answered: [...answered],
  }
}

/** The run, and the sub-workflows that their callers still wait for. */
export function waitedFor<F extends Pick<LoadedFrame, "machine">>(
  frames: ReadonlyMap<string, F>,
): Map<string, F> {
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

function checkVersion(runId: RunId, data: Json): RunSnapshot {
  const snapshot = data as unknown as RunSnapshot
  if (snapshot.version === 1) return snapshot
  const text = `The snapshot of run "${runId}" has version ${snapshot.version}; this library reads version 1. Use a newer library.`
  throw new SuperstepError("SNAPSHOT_VERSION", text)
}

/** Minimum number of entries between snapshots: a shorter journal is read as a whole. */
export const EVERY = 250
/**
 * The journal must have grown by this many times the size of the snapshot: loading it must be cheaper than folding the
 * records.
 */
const SHARE = 2
/** The same for a run that waits. */
const SHARE_AT_REST = 1

const intervals = new WeakMap<Store, number>()

/** For recovery tests: saves the runs of this store after this many entries, whatever it costs. */
export function saveEvery(store: Store, entries: number): void {
  intervals.set(store, entries)
}

export class Snapshots {
  readonly #store: Store
  readonly #every: number
  readonly #isAlways: boolean
  /** The last snapshot: its record, and the size of the journal then, if known. */
  #last = { seq: 0, journal: 0 }
  #next: number
  #nextAtRest: number
  #saving = false

  constructor(store: Store) {
    const interval = intervals.get(store)
    this.#store = store
    this.#every = interval ?? EVERY
    this.#isAlways = interval !== undefined
    this.#next = this.#every
    this.#nextAtRest = this.#every
  }

  /** The run was saved after this record; 0 if never. */
  resumeFrom(seq: number): void {
    this.#last = { seq, journal: 0 }
    this.#next = seq + this.#every
    this.#nextAtRest = this.#next
  }

  isDue(seq: number, isAtRest: boolean): boolean {
    return seq >= (isAtRest ? this.#nextAtRest : this.#next) && !this.#saving
  }

  /**
   * Saves the state after the record `seq`, once the record is durable, if it is worth it. A failed save is retried later.
   */
  save(
    lease: Lease,
    seq: number,
    snapshot: RunSnapshot,
    isAtRest: boolean,
    afterDurable: (then: () => void) => void,
  ): void {
    this.#saving = true
    this.#next = seq + this.#every
    this.#nextAtRest = this.#next
    afterDurable(() => {
      this.#write(lease, seq, snapshot, isAtRest ? SHARE_AT_REST : SHARE)
        .catch(() => undefined)
        .finally(() => {
          this.#saving = false
        })
    })
  }

  async #write(lease: Lease, seq: number, snapshot: RunSnapshot, share: number): Promise<void> {
    const size = this.#isAlways ? 0 : jsonSize(snapshot)
    const run = size === 0 ? undefined : await this.#store.run(lease.runId)
    const grown = (run?.bytes ?? 0) - this.#last.journal
    const { seq: before } = this.#last
    const perRecord = grown / Math.max(seq - before, 1)
    if (size * share > grown) return this.#wait(seq, before, size, perRecord)
    const { journal } = await this.#store.saveSnapshot(lease, { seq, data: snapshot as unknown as Json })
    this.#last = { seq, journal }
    this.#wait(seq, seq, size, perRecord)
  }

  /** Waits until the journal has grown by `size` since `from`, estimated from the average record. */
  #wait(seq: number, from: number, size: number, perRecord: number): void {
    const needed = (share: number) => (perRecord > 0 ? Math.ceil((size * share) / perRecord) : 0)
    this.#next = Math.max(seq + this.#every, from + needed(SHARE))
    this.#nextAtRest = Math.max(from + this.#every, from + needed(SHARE_AT_REST))
  }
}
