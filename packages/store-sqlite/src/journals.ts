/**
 * The records of runs. A fork has its own only; before them come those of the run that it was forked from, up to
 * where it was forked, and so on.
 *
 * S4 A read gives every record up to the journal's end, or an error; never fewer.
 */
import type { JournalRecord } from "@superstep/engine"
import type { BlobTable } from "./blobs.ts"
import type { Database } from "./driver.ts"
import { type JournalRow, type RecordBody, toRecords } from "./journal-rows.ts"
import { selected } from "./json-column.ts"
import { runHeads } from "./run-heads.ts"
import { toText } from "./text.ts"

/** To be selected from `journal`. */
export const RECORD_COLUMNS = selected("journal", {
  seq: "integer",
  frame: "text",
  events: "integer",
  body: "text",
  blobs: "text",
  sum: "integer",
})

export interface JournalTable {
  /** `runId` as the file has it. */
  add(runId: string, records: readonly JournalRecord[], bodies: readonly RecordBody[]): void
  /** To be called within a transaction, so that all it reads is of one moment. */
  read(runId: string, afterSeq: number): readonly JournalRecord[]
  /** Removes at most so many records of a run that is gone; how many there were. */
  removeSome(run: number, most: number): number
}

export function journalTable(database: Database, blobs: BlobTable): JournalTable {
  const add = database.prepare(
    `INSERT INTO journal (run, seq, frame, events, body, blobs, sum)
     VALUES ((SELECT id FROM runs WHERE run_id = ?), ?, ?, ?, ?, ?, ?)`,
  )
  const heads = runHeads(database)
  const find = database.prepare(
    `SELECT ${RECORD_COLUMNS} FROM journal WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq`,
  )
  const removeSome = database.prepare(
    "DELETE FROM journal WHERE rowid IN (SELECT rowid FROM journal WHERE run = ? LIMIT ?)",
  )

  return {
    add(runId, records, bodies) {
      for (let i = 0; i < records.length; i++) {
        const { seq, events } = records[i] as JournalRecord
        const { frame, text, places, sum } = bodies[i] as RecordBody
        add.run(runId, seq, frame, events, text, places, sum)
      }
    },
    read(runId, afterSeq) {
      const read = blobs.reader()
      const parts: JournalRecord[][] = []
      let run = heads.find(toText(runId))
      // A run's own end is not asked of the rows: one past it would be damage, and is to be seen.
      let upTo = Number.MAX_SAFE_INTEGER
      while (run !== undefined) {
        const after = Math.max(afterSeq, run.forkSeq)
        if (after < upTo) {
          const rows = find.all(run.id, after, upTo) as JournalRow[]
          parts.push(toRecords(run.name, after, Math.min(upTo, run.head), rows, read))
        }
        if (after === afterSeq) break
        upTo = Math.min(upTo, run.forkSeq)
        run = heads.pastOf(run)
      }
      return parts.length === 1 ? (parts[0] as JournalRecord[]) : parts.reverse().flat()
    },
    removeSome: (run, most) => Number(removeSome.run(run, most).changes),
  }
}
