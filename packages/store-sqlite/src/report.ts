/** How much there is, from the rows of runs: journals are not read for it. */
import type { Amount, RunStatus, StorageReport } from "@superstep/engine"
import type { Database } from "./driver.ts"
import { decodeText, type JsonBytes, jsonBytes } from "./json-column.ts"
import { shownName } from "./text.ts"

interface RunsRow {
  readonly workflow: string
  readonly status: RunStatus
  readonly runs: number
  readonly records: number
  readonly bytes: number
  readonly blob_bytes: number
}

interface SnapshotsRow extends Amount {
  readonly workflow: string
  /** Without their blobs. */
  readonly own: number
}

/** To be called within a transaction, so that its figures are of one moment. */
export function reporter(database: Database): () => StorageReport {
  const findRuns = database.prepare(
    `SELECT ${jsonBytes("workflow")} AS workflow, ${jsonBytes("status")} AS status, count(*) AS runs, sum(head - fork_seq) AS records, sum(bytes) AS bytes,
       sum(blob_bytes) AS blob_bytes
     FROM runs GROUP BY runs.workflow, runs.status`,
  )
  const findSnapshots = database.prepare(
    `SELECT ${jsonBytes("runs.workflow")} AS workflow, count(*) AS count, sum(snapshots.bytes) AS bytes,
       sum(octet_length(snapshots.body)) AS own
     FROM snapshots CROSS JOIN runs ON runs.id = snapshots.run GROUP BY runs.workflow`,
  )
  const findBlobs = database.prepare("SELECT count(*) AS count, sum(octet_length(body)) AS bytes FROM blobs")
  const findThreads = database.prepare("SELECT count(*) AS count, sum(bytes) AS bytes FROM threads")
  const [pageSize, pageCount, freePages] = ["page_size", "page_count", "freelist_count"].map((name) => {
    const statement = database.prepare(`PRAGMA ${name}`)
    return () => (statement.all() as [Record<string, number>])[0][name] as number
  }) as [() => number, () => number, () => number]

  return () => {
    const runs = findRuns.all().map(decoded) as RunsRow[]
    const snapshots = findSnapshots.all().map(decoded) as SnapshotsRow[]
    return {
      runs: sums(runs.map(({ status, runs: count }) => [status, count])),
      journal: {
        count: sum(runs.map(({ records }) => records)),
        bytes: sum(runs.map(({ bytes, blob_bytes }) => bytes - blob_bytes)),
      },
      snapshots: {
        count: sum(snapshots.map(({ count }) => count)),
        bytes: sum(snapshots.map(({ own }) => own)),
      },
      blobs: toAmount(findBlobs.all()),
      threads: toAmount(findThreads.all()),
      workflows: byWorkflow(runs, snapshots),
      disk: { bytes: pageCount() * pageSize(), free: freePages() * pageSize() },
    }
  }
}

/** With the texts, which are read as bytes. */
function decoded(row: unknown): unknown {
  const place = () => "A run is damaged at its workflow or status"
  const { workflow, status } = row as { workflow: JsonBytes; status?: JsonBytes }
  return {
    ...(row as object),
    workflow: decodeText(workflow, place),
    ...(status === undefined ? {} : { status: decodeText(status, place) }),
  }
}

/** The largest first, with all that their runs have. */
function byWorkflow(
  runs: readonly RunsRow[],
  snapshots: readonly SnapshotsRow[],
): StorageReport["workflows"] {
  const counts = sums(runs.map(({ workflow, runs: count }) => [workflow, count]))
  const bytes = sums([...runs, ...snapshots].map((row) => [row.workflow, row.bytes]))
  return Object.entries(bytes)
    .map(([name, size]) => ({ workflow: shownName(name), runs: counts[name] ?? 0, bytes: size }))
    .sort((a, b) => b.bytes - a.bytes)
}

function sums(pairs: readonly (readonly [name: string, amount: number])[]): { [name: string]: number } {
  const result = new Map<string, number>()
  for (const [name, amount] of pairs) result.set(name, (result.get(name) ?? 0) + amount)
  return Object.fromEntries(result)
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}

/** Sums over no rows are null. */
function toAmount(rows: readonly unknown[]): Amount {
  const [{ count, bytes }] = rows as [{ count: number; bytes: number | null }]
  return { count, bytes: bytes ?? 0 }
}
