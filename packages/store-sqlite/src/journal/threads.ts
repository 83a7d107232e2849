/** State that lasts from run to run, as numbered writes: it can be read as it was after each of them. */

import type { Json, RecordQuery, ThreadWrite } from "@superstep/engine"
import { foldThread, plainCodec, type StoredThreadWrite, type ValueCodec } from "@superstep/engine/stores"
import { check, checksum } from "../file/checksum.ts"
import {
  decodeName,
  decodeText,
  type JsonBytes,
  jsonBytes,
  parseName,
  parseSealed,
  type Row,
  selected,
  toText,
  toTextOrNull,
} from "../file/columns.ts"
import type { Database } from "../file/driver.ts"
import { corrupt, type Subject } from "../file/errors.ts"
import { IN_FLIGHT } from "../runs/run-rows.ts"

export interface ThreadTable {
  /** `thread` as the file has it. */
  add(thread: string, writes: readonly ThreadText[]): void
  /** How many writes it has. */
  version(id: string): number
  state(id: string, version?: number): ThreadState
  list(query?: RecordQuery): readonly string[]
  remove(id: string): void
}

interface ThreadState {
  readonly version: number
  readonly state: { readonly [key: string]: Json }
}

/** As the file has it. */
export interface ThreadText {
  readonly key: string
  readonly kind: ThreadWrite["kind"]
  readonly value: string
}

export function toThreadText({ key, kind, value }: ThreadWrite, codec: ValueCodec): ThreadText {
  const name = toText(key)
  return { key: name, kind, value: codec.seal(JSON.stringify(value), "thread", name) }
}

const WRITE = { version: "integer", key: "text", kind: "text", value: "text", sum: "integer?" } as const

type WriteRow = Row<typeof WRITE>

export function threadTable(database: Database, codec: ValueCodec = plainCodec): ThreadTable {
  const grow = database.prepare(
    `INSERT INTO threads (thread, version, bytes) VALUES (?, ?, ?)
     ON CONFLICT (thread) DO UPDATE SET version = version + excluded.version, bytes = bytes + excluded.bytes
     RETURNING id, version`,
  )
  const add = database.prepare(
    "INSERT INTO thread_writes (thread, version, key, kind, value, sum) VALUES (?, ?, ?, ?, ?, ?)",
  )
  // One statement, so that the end and the writes are of the same moment.
  const find = database.prepare(
    `SELECT CAST(threads.version AS INTEGER) AS last, ${selected("thread_writes", WRITE)}
     FROM threads LEFT JOIN thread_writes ON thread_writes.thread = threads.id AND thread_writes.version <= ?
     WHERE threads.thread = ? ORDER BY thread_writes.version`,
  )
  const findVersion = database.prepare("SELECT version FROM threads WHERE thread = ?")
  // Distinguishes a thread that does not exist from one that damage hides.
  const findAgain = database.prepare("SELECT 1 FROM threads INDEXED BY threads_thread WHERE thread = ?")
  const removeWrites = database.prepare(
    "DELETE FROM thread_writes WHERE thread = (SELECT id FROM threads WHERE thread = ?)",
  )
  const remove = database.prepare("DELETE FROM threads WHERE thread = ?")
  const after = "thread >= ?1 AND (?2 IS NULL OR thread > ?2) AND substr(thread, 1, length(?1)) = ?1"
  const page = (where: string) =>
    `SELECT thread FROM (SELECT thread FROM ${where} AND ${after} ORDER BY thread LIMIT ?3)`
  const list = database.prepare(
    `SELECT ${jsonBytes("thread")} AS thread FROM (
      ${page("threads WHERE true")} UNION ${page(`runs WHERE thread IS NOT NULL AND ${IN_FLIGHT}`)}
    ) ORDER BY 1 LIMIT ?3`,
  )

  return {
    add(thread, rows) {
      const bytes = rows.reduce(
        (sum, { key, value }) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
        0,
      )
      const [grown] = grow.all(thread, rows.length, bytes) as [{ id: number; version: number }]
      rows.forEach(({ key, kind, value }, i) => {
        const version = grown.version - rows.length + 1 + i
        add.run(grown.id, version, key, kind, value, checksum([thread, version, key, kind], value))
      })
    },
    version(id) {
      const [row] = findVersion.all(toText(id)) as { version: number }[]
      return row?.version ?? 0
    },
    state(id, version = Number.MAX_SAFE_INTEGER) {
      const rows = find.all(version, toText(id)) as (WriteRow & { last: number })[]
      if (rows.length === 0 && findAgain.all(toText(id)).length > 0) {
        throw corrupt(() => `Thread "${id}" is damaged`, "it is not found by its id")
      }
      const writes = rows.filter((row) => row.version !== null)
      return fold(id, codec, writes, Math.min(version, rows[0]?.last ?? 0))
    },
    list: ({ prefix = "", after: last, limit } = {}) => {
      const rows = list.all(toText(prefix), toTextOrNull(last), limit ?? -1) as { thread: JsonBytes }[]
      return rows.map(({ thread }) => decodeName(thread, () => "The name of a thread is damaged"))
    },
    remove(id) {
      removeWrites.run(toText(id))
      remove.run(toText(id))
    },
  }
}

function fold(id: string, codec: ValueCodec, rows: readonly WriteRow[], end: number): ThreadState {
  const { state, next } = foldThread(rows.map((row) => toWrite(id, codec, row)))
  if (next !== end + 1) throw corrupt(damaged(id, next), "the write is missing")
  const named = [...state].map(([key, value]) => [parseName(key, damaged(id, end)), value])
  return { version: end, state: Object.fromEntries(named) }
}

function toWrite(id: string, codec: ValueCodec, row: WriteRow): StoredThreadWrite {
  const { version, value, sum } = row
  const subject = damaged(id, version)
  const [key, kind] = [decodeText(row.key, subject), decodeText(row.kind, subject)]
  check(sum, () => checksum([toText(id), version, key, kind], value), subject)
  return {
    version,
    key,
    kind: kind as ThreadWrite["kind"],
    value: () => parseSealed(codec, value, subject, "thread", key) as Json,
  }
}

function damaged(id: string, version: number): Subject {
  return () => `Thread "${id}" is damaged at ${version}`
}
