/** Records: see `RecordStore` in the engine. `written` names the call that wrote a version, which recognises itself when repeated. */
import { randomUUID } from "node:crypto"
import type { Json, RecordStore, StoredRecord } from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import type { Database, Statement } from "./database.ts"
import { parseName, parseSealed, toText, toTextOrNull } from "./names.ts"
import type { Promised } from "./registry.ts"

export const RECORDS_TABLE = `
CREATE TABLE $.records (
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version int NOT NULL,
  written uuid NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (kind, id)
);
`

const COLUMNS = "kind, id, version, value"
const GET: Statement = {
  name: "record",
  text: `SELECT ${COLUMNS} FROM $.records WHERE kind = $1 AND id = $2`,
}
const LIST: Statement = {
  text: `SELECT ${COLUMNS} FROM $.records
    WHERE kind = $1 AND id >= $2 AND ($3::text IS NULL OR id > $3) AND starts_with(id, $2) ORDER BY id LIMIT $4`,
}
const IS_WRITTEN = `SELECT EXISTS (SELECT 1 FROM put)
  OR EXISTS (SELECT 1 FROM $.records WHERE kind = $1 AND id = $2 AND written = $4) AS is_written`
const ADD: Statement = {
  text: `WITH put AS (
      INSERT INTO $.records (kind, id, version, value, written) VALUES ($1, $2, 1, $3, $4)
      ON CONFLICT DO NOTHING RETURNING 1
    ) ${IS_WRITTEN}`,
}
const REPLACE: Statement = {
  text: `WITH put AS (
      UPDATE $.records SET version = version + 1, value = $3, written = $4
      WHERE kind = $1 AND id = $2 AND version = $5 RETURNING 1
    ) ${IS_WRITTEN}`,
}
const REMOVE: Statement = {
  text: `DELETE FROM $.records WHERE kind = $1 AND id = $2 AND ($3::int IS NULL OR version = $3) RETURNING 1`,
}

interface RecordRow {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly value: string
}

export function recordsOn(database: Database): Promised<RecordStore> {
  const { codec } = database
  const toRecord = (row: RecordRow) => recordOf(row, codec)
  return {
    async get(kind, id) {
      const rows = await database.read<RecordRow>(`Record "${id}"`, GET, [toText(kind), toText(id)])
      return rows.map(toRecord)[0]
    },
    async list(kind, { prefix = "", after, limit } = {}) {
      const values = [toText(kind), toText(prefix), toTextOrNull(after), limit ?? null]
      return (await database.read<RecordRow>("The list of records", LIST, values)).map(toRecord)
    },
    async put(kind, id, value, expected) {
      const place = [toText(kind), toText(id)] as const
      const values = [...place, codec.seal(JSON.stringify(value), "document", ...place), randomUUID()]
      const [row] = await database.write<{ is_written: boolean }>(
        `Record "${id}"`,
        expected === null ? ADD : REPLACE,
        expected === null ? values : [...values, expected],
      )
      return row?.is_written === true
    },
    async remove(kind, id, expected) {
      const place = [toText(kind), toText(id)]
      const subject = `The removal of record "${id}" was not written`
      return await database.ask({ subject, isWrite: true }, async (isRepeated) => {
        const removed = await database.query(REMOVE, [...place, expected ?? null])
        if (removed.length > 0 || !isRepeated) return removed.length > 0
        return (await database.query(GET, place)).length === 0
      })
    },
  }
}

function recordOf(row: RecordRow, codec: ValueCodec): StoredRecord {
  const subject = () => `The record "${row.id}" of kind "${row.kind}" is damaged`
  return {
    kind: parseName(row.kind, subject),
    id: parseName(row.id, subject),
    value: parseSealed(codec, row.value, subject, "document", row.kind, row.id) as Json,
    version: row.version,
  }
}
