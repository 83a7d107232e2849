/** The last snapshot of each run. */
import { type Lease, runTaken, type Snapshot, type SuperstepError } from "@superstep/engine"
import { type BlobTable, type Body, toBody } from "./blobs.ts"
import { check, checksum } from "./checksum.ts"
import type { Database } from "./driver.ts"
import { writeFailed } from "./errors.ts"
import { decodeTextOrNull, type JsonBytes, selected } from "./json-column.ts"
import { toText } from "./text.ts"

export interface SnapshotTable {
  /** Replaces an earlier one; the size of the one that is there then, and of the journal. Or why it may not. */
  save(lease: Lease, seq: number, body: Body): { bytes: number; journal: number } | SuperstepError
  /** To be called within a transaction, so that all it reads is of one moment. */
  find(runId: string): Snapshot | undefined
  /** Its blobs go with the run's others. */
  remove(run: number): void
}

interface SnapshotRow {
  readonly seq: number
  readonly blobs: JsonBytes | null
  readonly body: JsonBytes
  readonly sum: number | null
}

/** The data as text; an error for what JSON cannot hold. */
export function toSnapshotBody(runId: string, data: Snapshot["data"]): Body {
  try {
    return toBody(data)
  } catch (error) {
    throw writeFailed(`The snapshot of run "${runId}" cannot be written as JSON`, error)
  }
}

export function snapshotTable(database: Database, blobs: BlobTable): SnapshotTable {
  const findRun = database.prepare("SELECT id, bytes FROM runs WHERE run_id = ? AND token = ?")
  const findSize = database.prepare("SELECT seq, bytes FROM snapshots WHERE run = ?")
  const save = database.prepare(
    "INSERT OR REPLACE INTO snapshots (run, seq, bytes, blobs, body, sum) VALUES (?, ?, ?, ?, ?, ?)",
  )
  const find = database.prepare(
    `SELECT ${selected("snapshots", { seq: "integer", blobs: "text", body: "text", sum: "integer" })}
     FROM runs CROSS JOIN snapshots ON snapshots.run = runs.id WHERE runs.run_id = ?`,
  )
  const remove = database.prepare("DELETE FROM snapshots WHERE run = ?")

  return {
    save({ runId, token }, seq, body) {
      const [run] = findRun.all(toText(runId), token) as { id: number; bytes: number }[]
      if (run === undefined) return runTaken(runId)
      const [before] = findSize.all(run.id) as { seq: number; bytes: number }[]
      if (before !== undefined && before.seq >= seq) return { bytes: before.bytes, journal: run.bytes }
      const sum = checksum([toText(runId), seq, body.places], body.text)
      save.run(run.id, seq, body.bytes, body.places, body.text, sum)
      // First those of the new one: what both have stays.
      blobs.keep(run.id, -seq, body)
      if (before !== undefined) blobs.release(run.id, -before.seq)
      return { bytes: body.bytes, journal: run.bytes }
    },
    find(runId) {
      const [row] = find.all(toText(runId)) as SnapshotRow[]
      if (row === undefined) return undefined
      const place = () => `The snapshot of run "${runId}" is damaged at ${row.seq}`
      const places = decodeTextOrNull(row.blobs, place)
      const data = blobs.reader()(row.body, places, place) as Snapshot["data"]
      check(row.sum, () => checksum([toText(runId), row.seq, places], row.body), place)
      return { seq: row.seq, data }
    },
    remove: (run) => void remove.run(run),
  }
}
