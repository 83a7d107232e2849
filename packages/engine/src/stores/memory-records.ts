/** Records in the memory store. */
import { freezeData } from "../core/internal.ts"
import type { RecordStore, StoredRecord } from "../runtime/index.ts"
import { toStoredName } from "./stored-values.ts"

interface Row extends StoredRecord {
  /** What lists are sorted by. */
  readonly order: Buffer
}

export function memoryRecords(): RecordStore {
  const kinds = new Map<string, Map<string, Row>>()
  const rowsOf = (kind: string) => kinds.get(kind) ?? new Map<string, Row>()
  const toRecord = ({ kind, id, value, version }: Row): StoredRecord => ({ kind, id, value, version })
  return {
    get(kind, id) {
      const row = rowsOf(kind).get(id)
      return row && toRecord(row)
    },
    list(kind, { prefix = "", after, limit } = {}) {
      const from = after === undefined ? undefined : orderOf(after)
      return [...rowsOf(kind).values()]
        .filter(({ id, order }) => id.startsWith(prefix) && (from === undefined || order.compare(from) > 0))
        .sort((a, b) => a.order.compare(b.order))
        .slice(0, limit)
        .map(toRecord)
    },
    put(kind, id, value, expected) {
      const rows = rowsOf(kind)
      if ((rows.get(id)?.version ?? null) !== expected) return false
      const own = freezeData(structuredClone(value))
      rows.set(id, { kind, id, value: own, version: (expected ?? 0) + 1, order: orderOf(id) })
      kinds.set(kind, rows)
      return true
    },
    remove(kind, id, expected) {
      const rows = rowsOf(kind)
      if (expected !== undefined && rows.get(id)?.version !== expected) return false
      return rows.delete(id)
    },
  }
}

/** As the stores with columns of text sort it. */
function orderOf(id: string): Buffer {
  return Buffer.from(toStoredName(id))
}
