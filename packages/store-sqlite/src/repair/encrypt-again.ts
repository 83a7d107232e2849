/**
 * Writes every value of a store that was not written with the newest key again, some at a time, with pauses in which other
 * processes write. What was done before it was interrupted stays done. A damaged value is STORE_CORRUPT, and stays as it is.
 */
import { type KeyRing, placesKind, ringOf, VALUE, type ValueCodec } from "@superstep/engine/stores"
import { check as checkSum, checksum, recordChecksum } from "../file/checksum.ts"
import type { Database, Value } from "../file/driver.ts"
import { corrupt } from "../file/errors.ts"
import type { Transactions } from "../file/transactions.ts"
import { sealFailuresAgain } from "../runs/subscriptions.ts"

/** What one transaction writes at most. */
const ROWS_AT_ONCE = 50

const later = setTimeout

/** Columns as text: damage is found by the checksum. */
interface SealedRow {
  readonly id: number
  readonly [column: string]: string | number | null
}

interface SealedColumn {
  readonly name: string
  readonly kind: string
  readonly owner: string
  readonly part?: string | undefined
}

interface SealedTable {
  readonly table: string
  readonly id: string
  /** Columns of a SELECT from the table, called `t`. */
  readonly columns: string
  readonly join?: string | undefined
  readonly sealed: readonly SealedColumn[]
  /** The columns that have checksums, and what they are of. */
  readonly sums: { readonly [column: string]: (row: SealedRow) => number | null }
}

const text = (value: unknown) => (value === null ? null : String(value))

const RUN = "JOIN runs ON runs.id = t.run"

/** Each with what its reader checks. */
const TABLES: readonly SealedTable[] = [
  {
    table: "journal",
    id: "rowid",
    columns: "runs.run_id, t.seq, t.frame, t.events, t.body, t.blobs, t.sum",
    join: RUN,
    sealed: [
      { name: "body", kind: "record", owner: "run_id", part: "seq" },
      { name: "blobs", kind: placesKind("record"), owner: "run_id", part: "seq" },
    ],
    sums: {
      sum: ({ run_id, seq, frame, events, blobs, body }) =>
        recordChecksum(`${run_id}`, Number(seq), `${frame}`, Number(events), text(blobs), `${body}`),
    },
  },
  {
    table: "snapshots",
    id: "run",
    columns: "runs.run_id, t.seq, t.body, t.blobs, t.sum",
    join: RUN,
    sealed: [
      { name: "body", kind: "snapshot", owner: "run_id", part: "seq" },
      { name: "blobs", kind: placesKind("snapshot"), owner: "run_id", part: "seq" },
    ],
    sums: {
      sum: ({ run_id, seq, blobs, body }) => checksum([`${run_id}`, Number(seq), text(blobs)], `${body}`),
    },
  },
  {
    table: "blobs",
    id: "id",
    columns: "t.hash, t.body",
    sealed: [{ name: "body", kind: VALUE, owner: "hash" }],
    sums: {},
  },
  {
    table: "requests",
    id: "id",
    columns: "runs.run_id, t.request_id, t.workflow, t.recipient, t.body, t.sum",
    join: RUN,
    sealed: [{ name: "body", kind: "request", owner: "run_id", part: "request_id" }],
    sums: {
      sum: ({ run_id, request_id, workflow, recipient, body }) =>
        checksum([`${run_id}`, `${request_id}`, `${workflow}`, text(recipient)], `${body}`),
    },
  },
  {
    table: "thread_writes",
    id: "rowid",
    columns: "threads.thread AS name, t.version, t.key, t.kind, t.value, t.sum",
    join: "JOIN threads ON threads.id = t.thread",
    sealed: [{ name: "value", kind: "thread", owner: "key" }],
    sums: {
      sum: ({ name, version, key, kind, value }) =>
        checksum([`${name}`, Number(version), `${key}`, `${kind}`], `${value}`),
    },
  },
  {
    table: "schedules",
    id: "rowid",
    columns: "t.id AS name, t.workflow, t.next_at, t.version, t.body, t.sum",
    sealed: [{ name: "body", kind: "schedule", owner: "name" }],
    sums: {
      sum: ({ name, workflow, next_at, version, body }) =>
        checksum([`${name}`, `${workflow}`, next_at as number | null, `${version}`], `${body}`),
    },
  },
  {
    table: "mail",
    id: "id",
    columns: "t.mail_id, t.run_id, t.at, t.wish, t.sum, t.outcome, t.outcome_sum",
    sealed: [
      { name: "wish", kind: "mail", owner: "mail_id", part: "run_id" },
      { name: "outcome", kind: "outcome", owner: "mail_id" },
    ],
    sums: {
      sum: ({ mail_id, run_id, at, wish }) => checksum([`${mail_id}`, `${run_id}`, Number(at)], `${wish}`),
      outcome_sum: ({ mail_id, outcome }) =>
        outcome === null ? null : checksum([`${mail_id}`], `${outcome}`),
    },
  },
  {
    table: "records",
    id: "rowid",
    columns: "t.kind, t.id AS name, t.version, t.value, t.sum",
    sealed: [{ name: "value", kind: "document", owner: "kind", part: "name" }],
    sums: {
      sum: ({ kind, name, version, value }) => checksum([`${kind}`, `${name}`, Number(version)], `${value}`),
    },
  },
  {
    table: "runs",
    id: "id",
    columns: "t.run_id, t.error, t.error_sum",
    sealed: [{ name: "error", kind: "error", owner: "run_id" }],
    sums: { error_sum: ({ run_id, error }) => (error === null ? null : checksum([`${run_id}`], `${error}`)) },
  },
]

/** How many rows were written again. */
export async function encryptAgain(
  database: Database,
  transactions: Transactions,
  codec: ValueCodec,
  onProgress: (rows: number) => void,
): Promise<number> {
  const ring = ringOf(codec)
  let rows = 0
  // What is replaced leaves nothing behind in free pages.
  database.exec("PRAGMA secure_delete = ON")
  // Until nothing is left: other processes may still write with an older key.
  for (let found = -1; found !== 0; ) {
    found = 0
    for (const table of TABLES) {
      const next = batches(database, table, ring)
      for (let batch = await next.in(transactions); batch > 0; batch = await next.in(transactions)) {
        found += batch
        onProgress(rows + found)
      }
    }
    found += await transactions.write("The encryption of values", () => sealFailuresAgain(database, ring))
    rows += found
  }
  await transactions.write("The list of keys", () => {
    database.prepare("DELETE FROM keys WHERE id <> ?").run(ring.writes)
  })
  return rows
}

function batches(
  database: Database,
  { table, id, columns, join = "", sealed, sums }: SealedTable,
  ring: KeyRing,
) {
  const isOld = sealed.map(({ name }) => `substr(t.${name}, 1, ?2) <> ?3`).join(" OR ")
  const find = database.prepare(
    `SELECT t.${id} AS id, ${columns} FROM ${table} AS t ${join} WHERE t.${id} > ?1 AND (${isOld})
     ORDER BY t.${id} LIMIT ${ROWS_AT_ONCE}`,
  )
  const written = [...sealed.map(({ name }) => name), ...Object.keys(sums)]
  const update = database.prepare(
    `UPDATE ${table} SET ${written.map((name) => `${name} = ?`).join(", ")} WHERE ${id} = ?`,
  )
  let last = 0

  function again(row: SealedRow): void {
    const subject = () => `A value in table ${table} is damaged at ${row.id}`
    for (const [name, sum] of Object.entries(sums)) {
      checkSum(row[name] as number | null, () => sum(row) ?? 0, subject)
    }
    const damaged = (what: string, cause?: unknown) => corrupt(subject, what, cause)
    const changed: Record<string, string | number | null> = { ...row }
    for (const { name, kind, owner, part } of sealed) {
      const value = row[name]
      if (typeof value !== "string") continue
      const place = part === undefined ? undefined : (row[part] as string | number)
      changed[name] = ring.sealAgain(value, damaged, kind, `${row[owner]}`, place)
    }
    for (const [name, sum] of Object.entries(sums)) changed[name] = sum(changed as SealedRow)
    update.run(...written.map((name) => changed[name] as Value), row.id)
  }

  return {
    /** How many rows it wrote: 0 when there are no more. */
    async in(transactions: Transactions): Promise<number> {
      let took = 0
      const count = await transactions.write("The encryption of values", () => {
        const began = performance.now()
        const rows = find.all(last, ring.prefix.length, ring.prefix) as SealedRow[]
        for (const row of rows) again(row)
        last = rows.at(-1)?.id ?? last
        took = performance.now() - began
        return rows.length
      })
      if (count > 0) await new Promise<void>((resume) => later(resume, Math.ceil(took / 2)))
      return count
    },
  }
}
