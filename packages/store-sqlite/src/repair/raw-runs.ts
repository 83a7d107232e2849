/** Runs of a file that may be damaged: each part is read by itself, so that damage to one hides no other. */

import type { JournalRecord, StoredRequest, StoredRun } from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import type { Database } from "../file/driver.ts"
import { corrupt, readFailed } from "../file/errors.ts"
import { type BlobTable, type BodyReader, blobTable } from "../journal/blobs.ts"
import { WITH_END } from "../journal/journal-end.ts"
import { damaged, type JournalRow, RECORD_COLUMNS, toRecord } from "../journal/journals.ts"
import { REQUEST_COLUMNS, type RequestRow, toStoredRequest } from "../runs/requests.ts"
import { labelTable } from "../runs/run-labels.ts"
import { RUN_COLUMNS, toStoredRuns } from "../runs/run-rows.ts"

export interface RawRun {
  readonly id: number
  readonly forkRun: number | null
  readonly forkSeq: number
  readonly run: StoredRun
}

export interface RawRuns {
  /** In the order of creation: all runs that the table or its index still lead to. */
  ids(): readonly number[]
  /** Undefined: there is none. Throws STORE_CORRUPT, as all of these. */
  run(id: number): RawRun | undefined
  record(name: string, run: number, seq: number, read: BodyReader): JournalRecord
  /** Whether the run has a record after this one. */
  hasRecordAfter(run: number, seq: number): boolean
  /** The labels that the run is found by, in their order as text. */
  labels(run: number): readonly string[]
  /** With the ids of their rows. */
  requests(run: number): readonly { readonly id: number; readonly request: StoredRequest }[]
  readonly blobs: BlobTable
}

const PAGE = 1_000

export function rawRuns(database: Database, codec: ValueCodec): RawRuns {
  const blobs = blobTable(database, codec)
  const labels = labelTable(database)
  const byTable = database.prepare("SELECT id FROM runs NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?")
  const byIndex = database.prepare(
    "SELECT id FROM runs INDEXED BY runs_run_id WHERE run_id >= '' ORDER BY run_id, id LIMIT ? OFFSET ?",
  )
  const findRun = database.prepare(
    `SELECT runs.id, CAST(runs.fork_run AS INTEGER) AS fork_run, ${RUN_COLUMNS} FROM runs ${WITH_END} WHERE runs.id = ?`,
  )
  const findRecord = database.prepare(`SELECT ${RECORD_COLUMNS} FROM journal WHERE run = ? AND seq = ?`)
  const findLater = database.prepare("SELECT 1 FROM journal WHERE run = ? AND seq > ? LIMIT 1")
  const findRequests = database.prepare("SELECT id FROM requests WHERE run = ? ORDER BY id")
  const findRequest = database.prepare(
    `SELECT ${REQUEST_COLUMNS} FROM requests CROSS JOIN runs ON runs.id = requests.run WHERE requests.id = ?`,
  )

  function* pages(read: (last: number, count: number) => unknown[]): Generator<number> {
    let [last, count] = [0, 0]
    for (;;) {
      let rows: { id: number }[]
      try {
        rows = read(last, count) as { id: number }[]
      } catch {
        return
      }
      for (const { id } of rows) yield id
      if (rows.length < PAGE) return
      last = rows.at(-1)?.id ?? last
      count += rows.length
    }
  }

  return {
    blobs,
    ids() {
      const ids = new Set([
        ...pages((last) => byTable.all(last, PAGE)),
        ...pages((_, count) => byIndex.all(PAGE, count)),
      ])
      return [...ids].sort((a, b) => a - b)
    },
    run(id) {
      return reading(`Run number ${id}`, () => {
        const [row] = findRun.all(id) as { id: number; fork_run: number | null; fork_seq: number }[]
        if (row === undefined) return undefined
        const [run] = toStoredRuns([row], codec) as [StoredRun]
        return { id, forkRun: row.fork_run, forkSeq: row.fork_seq, run }
      })
    },
    record(name, run, seq, read) {
      const subject = damaged(name)(seq)
      return reading(subject(), () => {
        const [row] = findRecord.all(run, seq) as JournalRow[]
        if (row === undefined) throw corrupt(subject, "the record is missing")
        return toRecord(name, row, subject, read)
      })
    },
    hasRecordAfter: (run, seq) => reading("The journal", () => findLater.all(run, seq).length > 0),
    labels: (run) => reading("The list of labels", () => [...labels.of(run)].sort()),
    requests(run) {
      const ids = reading("The list of requests", () => findRequests.all(run)) as { id: number }[]
      return ids.flatMap(({ id }) =>
        reading("A request", () =>
          (findRequest.all(id) as RequestRow[]).map((row) => ({ id, request: toStoredRequest(row, codec) })),
        ),
      )
    },
  }
}

/** Every error of the driver is damage here: the file is open, and no process writes to it. */
export function reading<T>(subject: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw readFailed(subject, error)
  }
}
