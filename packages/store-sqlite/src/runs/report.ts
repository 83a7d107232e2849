/** The size of a store, from the rows of its runs: no journal is read. */
import type { Amount, StorageReport } from "@superstep/engine"
import { decodeText, type JsonBytes, jsonBytes, shownName } from "../file/columns.ts"
import type { Database } from "../file/driver.ts"
import { BYTES, HEAD, WITH_END } from "../journal/journal-end.ts"

/** To be called within a transaction, so that its figures are of one moment. */
export function reporter(database: Database): () => StorageReport {
  const amount = (sql: string): (() => Amount) => {
    const statement = database.prepare(sql)
    return () => {
      // Sums over no rows are null.
      const [row] = statement.all() as [{ [Field in keyof Amount]: number | null }]
      return { count: row.count ?? 0, bytes: row.bytes ?? 0 }
    }
  }
  const journal = amount(
    `SELECT sum(${HEAD} - runs.fork_seq) AS count, sum(${BYTES} - runs.blob_bytes) AS bytes
     FROM runs NOT INDEXED ${WITH_END}`,
  )
  const snapshots = amount("SELECT count(*) AS count, sum(octet_length(body)) AS bytes FROM snapshots")
  const blobs = amount("SELECT count(*) AS count, sum(octet_length(body)) AS bytes FROM blobs")
  const threads = amount("SELECT count(*) AS count, sum(bytes) AS bytes FROM threads")
  const byStatus = database.prepare(
    `SELECT ${jsonBytes("status")} AS name, count(*) AS runs FROM runs GROUP BY runs.status`,
  )
  const byWorkflow = database.prepare(
    `SELECT ${jsonBytes("workflow")} AS name, count(*) AS runs, sum(${BYTES} + coalesce(snapshots.bytes, 0)) AS bytes
     FROM runs ${WITH_END} LEFT JOIN snapshots ON snapshots.run = runs.id GROUP BY runs.workflow ORDER BY 3 DESC`,
  )
  const [pageSize, pageCount, freePages] = ["page_size", "page_count", "freelist_count"].map((name) => {
    const statement = database.prepare(`PRAGMA ${name}`)
    return () => (statement.all() as [Record<string, number>])[0][name] as number
  }) as [() => number, () => number, () => number]

  return () => ({
    runs: Object.fromEntries((byStatus.all() as NamedRow[]).map(({ name, runs }) => [readName(name), runs])),
    journal: journal(),
    snapshots: snapshots(),
    blobs: blobs(),
    threads: threads(),
    // The largest first.
    workflows: (byWorkflow.all() as (NamedRow & { bytes: number })[]).map(({ name, runs, bytes }) => ({
      workflow: shownName(readName(name)),
      runs,
      bytes,
    })),
    disk: { bytes: pageCount() * pageSize(), free: freePages() * pageSize() },
  })
}

interface NamedRow {
  readonly name: JsonBytes
  readonly runs: number
}

function readName(name: JsonBytes): string {
  return decodeText(name, () => "A run is damaged at its workflow or status")
}
