/** Records: see `RecordStore` in the engine. */
import type { Json, RecordQuery, StoredRecord } from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import { check, checksum } from "./file/checksum.ts"
import {
  decodeText,
  parseName,
  parseSealed,
  type Row,
  selected,
  shownName,
  toText,
  toTextOrNull,
} from "./file/columns.ts"
import type { Database } from "./file/driver.ts"

export interface RecordTable {
  get(kind: string, id: string): StoredRecord | undefined
  list(kind: string, query?: RecordQuery): readonly StoredRecord[]
  /** `text` is the value as JSON. */
  put(kind: string, id: string, text: string, expected: number | null): boolean
  remove(kind: string, id: string, expected: number | undefined): boolean
}

const COLUMNS = { kind: "text", id: "text", version: "integer", value: "text", sum: "integer" } as const

export const RECORD_COLUMNS = Object.keys(COLUMNS).join(", ")
const SELECTED = selected("records", COLUMNS)
type RecordRow = Row<typeof COLUMNS>

export function recordTable(database: Database, codec: ValueCodec): RecordTable {
  const get = database.prepare(`SELECT ${SELECTED} FROM records WHERE kind = ? AND id = ?`)
  const list = database.prepare(
    `SELECT ${SELECTED} FROM records
     WHERE kind = ?1 AND id >= ?2 AND (?3 IS NULL OR id > ?3) AND substr(id, 1, length(?2)) = ?2 ORDER BY id LIMIT ?4`,
  )
  const add = database.prepare(
    `INSERT INTO records (${RECORD_COLUMNS}) VALUES (?, ?, 1, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const replace = database.prepare(
    "UPDATE records SET version = ?, value = ?, sum = ? WHERE kind = ? AND id = ? AND version = ?",
  )
  const remove = database.prepare(
    "DELETE FROM records WHERE kind = ?1 AND id = ?2 AND (?3 IS NULL OR version = ?3)",
  )
  const all = (rows: unknown[]) => (rows as RecordRow[]).map((row) => toRecord(row, codec))

  return {
    get: (kind, id) => all(get.all(toText(kind), toText(id)))[0],
    list: (kind, { prefix = "", after, limit } = {}) =>
      all(list.all(toText(kind), toText(prefix), toTextOrNull(after), limit ?? -1)),
    put(kind, id, text, expected) {
      const place = [toText(kind), toText(id)] as const
      const version = (expected ?? 0) + 1
      const sealed = codec.seal(text, "document", ...place)
      const sum = checksum([...place, version], sealed)
      const { changes } =
        expected === null
          ? add.run(...place, sealed, sum)
          : replace.run(version, sealed, sum, ...place, expected)
      return Number(changes) > 0
    },
    remove: (kind, id, expected) =>
      Number(remove.run(toText(kind), toText(id), expected ?? null).changes) > 0,
  }
}

function toRecord(row: RecordRow, codec: ValueCodec): StoredRecord {
  const kind = decodeText(row.kind, () => "A record is damaged at its kind")
  const id = decodeText(row.id, () => "A record is damaged at its id")
  const subject = () => `The record "${shownName(id)}" of kind "${shownName(kind)}" is damaged`
  check(row.sum, () => checksum([kind, id, row.version], row.value), subject)
  return {
    kind: parseName(kind, subject),
    id: parseName(id, subject),
    value: parseSealed(codec, row.value, subject, "document", kind, id) as Json,
    version: row.version,
  }
}
