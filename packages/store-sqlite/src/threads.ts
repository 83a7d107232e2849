/** State that lasts from run to run: the writes to it, by number, so that it is known as it was after each of them. */
import type { Json, ThreadWrite } from "@superstep/engine"
import type { Database } from "./driver.ts"
import { corrupt, type Place } from "./errors.ts"
import { type JsonBytes, jsonBytes, parseJson } from "./json-column.ts"
import { fromText, toText } from "./text.ts"

export interface ThreadTable {
  /** `thread` as the file has it. */
  add(thread: string, writes: readonly ThreadWrite[]): void
  /** How many writes it has. */
  version(id: string): number
  state(id: string, version?: number): ThreadState
  remove(id: string): void
}

interface ThreadState {
  readonly version: number
  readonly state: { readonly [key: string]: Json }
}

interface WriteRow {
  readonly version: number
  readonly key: string
  readonly kind: ThreadWrite["kind"]
  readonly value: JsonBytes
}

export function threadTable(database: Database): ThreadTable {
  const grow = database.prepare(
    `INSERT INTO threads (thread, version, bytes) VALUES (?, ?, ?)
     ON CONFLICT (thread) DO UPDATE SET version = version + excluded.version, bytes = bytes + excluded.bytes
     RETURNING id, version`,
  )
  const add = database.prepare(
    "INSERT INTO thread_writes (thread, version, key, kind, value) VALUES (?, ?, ?, ?, ?)",
  )
  // One statement, so that the end and the writes are of the same moment.
  const find = database.prepare(
    `SELECT threads.version AS last, thread_writes.version, key, kind, ${jsonBytes("value")} AS value
     FROM threads LEFT JOIN thread_writes ON thread_writes.thread = threads.id AND thread_writes.version <= ?
     WHERE threads.thread = ? ORDER BY thread_writes.version`,
  )
  const findVersion = database.prepare("SELECT version FROM threads WHERE thread = ?")
  const removeWrites = database.prepare(
    "DELETE FROM thread_writes WHERE thread = (SELECT id FROM threads WHERE thread = ?)",
  )
  const remove = database.prepare("DELETE FROM threads WHERE thread = ?")

  return {
    add(thread, writes) {
      const rows = writes.map(({ key, kind, value }) => ({
        key: toText(key),
        kind,
        value: JSON.stringify(value),
      }))
      const bytes = rows.reduce(
        (sum, { key, value }) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
        0,
      )
      const [grown] = grow.all(thread, rows.length, bytes) as [{ id: number; version: number }]
      rows.forEach(({ key, kind, value }, i) => {
        add.run(grown.id, grown.version - rows.length + 1 + i, key, kind, value)
      })
    },
    version(id) {
      const [row] = findVersion.all(toText(id)) as { version: number }[]
      return row?.version ?? 0
    },
    state(id, version = Number.MAX_SAFE_INTEGER) {
      const rows = find.all(version, toText(id)) as (WriteRow & { last: number })[]
      const writes = rows.filter((row) => row.version !== null)
      return fold(id, writes, Math.min(version, rows[0]?.last ?? 0))
    },
    remove(id) {
      removeWrites.run(toText(id))
      remove.run(toText(id))
    },
  }
}

/** What comes before the last "set" of a key is not looked at. */
function fold(id: string, rows: readonly WriteRow[], end: number): ThreadState {
  const lastSet = new Map<string, number>()
  for (const { kind, key, version } of rows) if (kind === "set") lastSet.set(key, version)
  const state = new Map<string, Json>()
  let next = 1
  for (const { version, key, kind, value } of rows) {
    if (version !== next) break
    next += 1
    if (version < (lastSet.get(key) ?? 0)) continue
    const now = parseJson(value, damaged(id, version)) as Json
    if (kind === "set") {
      state.set(key, now)
      continue
    }
    const before = state.get(key)
    const list = Array.isArray(before) ? before : []
    for (const item of Array.isArray(now) ? now : [now]) list.push(item)
    state.set(key, list)
  }
  if (next !== end + 1) throw corrupt(damaged(id, next), "the write is missing")
  return { version: end, state: Object.fromEntries([...state].map(([key, value]) => [fromText(key), value])) }
}

function damaged(id: string, version: number): Place {
  return () => `Thread "${id}" is damaged at ${version}`
}
