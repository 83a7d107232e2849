/**
 * Writes every value of a store that was not written with the newest key again, some at a time. What was done before it was
 * interrupted stays done. Tables are read page by page, so that one pass reads each row once; a row that another process
 * writes to meanwhile is left to the next pass.
 */
import { type KeyRing, placesKind, ringOf, VALUE } from "@superstep/engine/stores"
import type { Database, Statement } from "./database.ts"
import { corrupt } from "./errors.ts"

/** Pages of a table that one statement reads. */
const PAGES_AT_ONCE = 8

interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly kind: string
  /** Of the table, called `t`, or of the row of its run, called `r`. */
  readonly owner: string
  readonly part?: string | undefined
}

const COLUMNS: readonly SealedColumn[] = [
  { table: "journal", column: "body", kind: "record", owner: "r.run_id", part: "t.seq" },
  { table: "journal", column: "places", kind: placesKind("record"), owner: "r.run_id", part: "t.seq" },
  { table: "snapshots", column: "body", kind: "snapshot", owner: "r.run_id", part: "t.seq" },
  { table: "snapshots", column: "places", kind: placesKind("snapshot"), owner: "r.run_id", part: "t.seq" },
  { table: "blobs", column: "body", kind: VALUE, owner: "t.hash" },
  { table: "requests", column: "body", kind: "request", owner: "r.run_id", part: "t.request_id" },
  { table: "thread_writes", column: "value", kind: "thread", owner: "t.key" },
  { table: "mail", column: "command", kind: "mail", owner: "t.mail_id", part: "t.run_id" },
  { table: "mail", column: "outcome", kind: "outcome", owner: "t.mail_id" },
  { table: "records", column: "value", kind: "document", owner: "t.kind", part: "t.id" },
  { table: "live", column: "error", kind: "error", owner: "r.run_id" },
  { table: "ended", column: "error", kind: "error", owner: "r.run_id" },
  { table: "schedules", column: "body", kind: "schedule", owner: "t.id" },
  { table: "consumers", column: "failure", kind: "failure", owner: "t.consumer" },
]

interface Found {
  readonly place: string
  readonly value: string
  readonly owner: string
  readonly part: string
}

const FORGET: Statement = { text: "DELETE FROM $.keys WHERE id <> $1" }

/** How many values were written again. */
export async function encryptAgain(
  database: Database,
  onProgress: (values: number) => void,
): Promise<number> {
  const ring = ringOf(database.codec)
  let values = 0
  // Until nothing is left: other processes may still write with an older key.
  for (let found = -1; found !== 0; values += found) {
    found = 0
    for (const column of COLUMNS) {
      for await (const batch of sealed(database, ring, column)) {
        found += batch
        onProgress(values + found)
      }
    }
  }
  await database.write("The list of keys", FORGET, [ring.writes])
  return values
}

/** Yields how many values of some pages were written again. */
async function* sealed(database: Database, ring: KeyRing, of: SealedColumn): AsyncGenerator<number> {
  const { table, column, kind, owner, part = "''" } = of
  const subject = `Table ${table}`
  const pages: Statement = {
    text: `SELECT pg_relation_size('$.${table}') / current_setting('block_size')::bigint AS pages`,
  }
  const find: Statement = {
    text: `SELECT t.ctid::text AS place, t.${column} AS value, ${owner} AS owner, (${part})::text AS part
      FROM $.${table} AS t ${owner.startsWith("r.") ? "JOIN $.runs AS r ON r.id = t.run" : ""}
      WHERE t.ctid >= $1::tid AND t.ctid < $2::tid AND left(t.${column}, $3) <> $4`,
  }
  const update: Statement = {
    text: `UPDATE $.${table} AS t SET ${column} = u.sealed
      FROM unnest($1::tid[], $2::text[], $3::text[]) AS u(place, value, sealed)
      WHERE t.ctid = u.place AND t.${column} = u.value RETURNING 1 AS one`,
  }
  const [size] = await database.read<{ pages: number }>(subject, pages)
  for (let page = 0; page < (size?.pages ?? 0); page += PAGES_AT_ONCE) {
    const range = [`(${page},0)`, `(${page + PAGES_AT_ONCE},0)`]
    const rows = await database.read<Found>(subject, find, [...range, ring.prefix.length, ring.prefix])
    if (rows.length === 0) continue
    const texts = rows.map((row) => {
      const damaged = (what: string, cause?: unknown) =>
        corrupt(() => `A value in table ${table} is damaged`, what, cause)
      return ring.sealAgain(row.value, damaged, kind, row.owner, row.part)
    })
    const values = [rows.map(({ place }) => place), rows.map(({ value }) => value), texts]
    yield (await database.write("The encryption of values", update, values)).length
  }
}
