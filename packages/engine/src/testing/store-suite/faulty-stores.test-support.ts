/** Stores with one mistake each, around the memory store. */
import type { JournalRecord, RunChange, Store, StoredRun } from "../../runtime/index.ts"
import { memoryStore } from "../../stores/index.ts"

export interface SplitOptions {
  readonly order: "records first" | "row first"
  /** Called between the two writes. Default: nothing. */
  readonly between?: (() => Promise<unknown>) | undefined
  /** Serializes values late, after the first write. */
  readonly writesLate?: boolean | undefined
}

/** What outlives the process. */
interface Medium {
  readonly rows: Store
  /** Records without a row, by run; and the end of the records according to the row. */
  readonly ahead: Map<string, readonly JournalRecord[]>
  readonly behind: Map<string, number>
}

export interface SplitStore extends Store {
  readonly medium: Medium
  /** How many writes reach the medium. */
  left: number
}

/**
 * Writes records and row one after the other. A rejected append leaves nothing: only a reader between the writes notices.
 */
export function splitStore(options: SplitOptions, medium = emptyMedium()): SplitStore {
  const { order, between, writesLate = false } = options
  const { rows, ahead, behind } = medium
  const write = (act: () => void) => {
    if (store.left === 0) throw new Error("The process is dead.")
    store.left--
    act()
  }

  const recordsFirst: Store["append"] = (lease, expectedSeq, records, change) => {
    const { runId } = lease
    const last = rows.run(runId) as StoredRun | undefined
    const fits = (last?.seq ?? 0) === expectedSeq && (last === undefined) === (change?.created !== undefined)
    if (fits) write(() => ahead.set(runId, records))
    const writeRow = () => {
      if (writesLate) JSON.stringify(change)
      write(() => {
        ahead.delete(runId)
        rows.append(lease, expectedSeq, records, change)
      })
    }
    if (between === undefined) return void writeRow()
    return between().then(writeRow)
  }

  const rowFirst: Store["append"] = (lease, expectedSeq, records, change) => {
    const { runId } = lease
    const writeRecords = () => {
      if (writesLate) JSON.stringify(records)
      write(() => behind.delete(runId))
    }
    write(() => {
      rows.append(lease, expectedSeq, records, change)
      behind.set(runId, expectedSeq)
    })
    if (between === undefined) return void writeRecords()
    return between().then(writeRecords)
  }

  const store: SplitStore = {
    ...rows,
    medium,
    left: Number.POSITIVE_INFINITY,
    append: order === "records first" ? recordsFirst : rowFirst,
    read(runId, afterSeq, limit) {
      const stored = rows.read(runId, afterSeq) as readonly JournalRecord[]
      const end = behind.get(runId) ?? Number.POSITIVE_INFINITY
      const all = [...stored, ...(ahead.get(runId) ?? [])]
      return all.filter(({ seq }) => seq <= end && seq > afterSeq).slice(0, limit)
    },
  }
  return store
}

function emptyMedium(): Medium {
  return { rows: memoryStore(), ahead: new Map(), behind: new Map() }
}

/** Returns the same record objects that were passed to it. */
export function referringStore(): Store {
  const inner = memoryStore()
  const appended = new Map<number, JournalRecord>()
  return {
    ...inner,
    append(lease, expectedSeq, records, change?: RunChange) {
      inner.append(lease, expectedSeq, structuredClone(records), structuredClone(change))
      for (const record of records) appended.set(record.seq, record)
      return undefined
    },
    read: (runId, afterSeq, limit) =>
      (inner.read(runId, afterSeq, limit) as readonly JournalRecord[]).map(
        (one) => appended.get(one.seq) ?? one,
      ),
  }
}

/** Caches the last run that was read, and returns the same object to the next caller. */
export function cachingStore(): Store {
  const inner = memoryStore()
  const cache = new Map<string, { readonly of: string; readonly run: StoredRun }>()
  return {
    ...inner,
    run(runId) {
      const stored = inner.run(runId) as StoredRun | undefined
      if (stored === undefined) return undefined
      const { bytes: _, ...fields } = Object.getOwnPropertyDescriptors(stored)
      const of = JSON.stringify(fields)
      const known = cache.get(runId)
      if (known?.of === of) return known.run
      cache.set(runId, { of, run: stored })
      return stored
    },
  }
}

/** Returns its live row, which later writes change. */
export function liveStore(): Store {
  const inner = memoryStore()
  const rows = new Map<string, object>()
  return {
    ...inner,
    run(runId) {
      const stored = inner.run(runId) as StoredRun | undefined
      if (stored === undefined) return undefined
      const row = rows.get(runId) ?? {}
      rows.set(runId, row)
      return Object.assign(row, stored)
    },
    append(lease, expectedSeq, records, change) {
      inner.append(lease, expectedSeq, records, change)
      const row = rows.get(lease.runId)
      if (row !== undefined) Object.assign(row, inner.run(lease.runId))
      return undefined
    },
  }
}
