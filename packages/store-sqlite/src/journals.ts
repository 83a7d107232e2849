/**
 * The records of runs. A fork has its own only; before them come those of the run that it was forked from, up to
 * where it was forked, and so on.
 *
 * S4 A read gives every record up to the journal's end, or an error; never fewer.
 */
import type { JournalRecord } from "@superstep/engine"
import type { BlobTable, Body } from "./blobs.ts"
import type { Database } from "./driver.ts"
import { corrupt } from "./errors.ts"
import { type JournalRow, toRecords } from "./journal-rows.ts"
import { jsonBytes } from "./json-column.ts"
import { fromText, toText } from "./text.ts"

export interface JournalTable {
  /** `runId` as the file has it. */
  add(runId: string, records: readonly JournalRecord[], bodies: readonly Body[]): void
  /** To be called within a transaction, so that all it reads is of one moment. */
  read(runId: string, afterSeq: number): readonly JournalRecord[]
  /** Removes at most so many records of a run that is gone; how many there were. */
  removeSome(run: number, most: number): number
}

interface HeadRow {
  readonly id: number
  readonly run_id: string
  readonly head: number
  readonly fork_run: number | null
  readonly fork_seq: number
}

export function journalTable(database: Database, blobs: BlobTable): JournalTable {
  const add = database.prepare(
    `INSERT INTO journal (run, seq, frame, events, body, blobs)
     VALUES ((SELECT id FROM runs WHERE run_id = ?), ?, ?, ?, ?, ?)`,
  )
  const columns = "id, run_id, head, fork_run, fork_seq"
  const findHead = database.prepare(`SELECT ${columns} FROM runs WHERE run_id = ?`)
  const findPast = database.prepare(`SELECT ${columns} FROM runs WHERE id = ?`)
  const find = database.prepare(
    `SELECT seq, frame, events, ${jsonBytes("body")} AS body, blobs
     FROM journal WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq`,
  )
  const removeSome = database.prepare(
    "DELETE FROM journal WHERE rowid IN (SELECT rowid FROM journal WHERE run = ? LIMIT ?)",
  )

  function pastOf({ run_id, fork_run, fork_seq }: HeadRow): HeadRow | undefined {
    if (fork_run === null) return undefined
    const [past] = findPast.all(fork_run) as HeadRow[]
    if (past !== undefined) return past
    const runId = fromText(run_id)
    throw corrupt(
      () => `The journal of run "${runId}" is damaged at ${fork_seq}`,
      "the run before its fork is missing",
    )
  }

  return {
    add(runId, records, bodies) {
      for (let i = 0; i < records.length; i++) {
        const { seq, frame, events } = records[i] as JournalRecord
        const { text, places } = bodies[i] as Body
        add.run(runId, seq, frame === "" ? frame : toText(frame), events, text, places)
      }
    },
    read(runId, afterSeq) {
      const read = blobs.reader()
      const parts: JournalRecord[][] = []
      let [run] = findHead.all(toText(runId)) as (HeadRow | undefined)[]
      // A run's own end is not asked of the rows: one past it would be damage, and is to be seen.
      let upTo = Number.MAX_SAFE_INTEGER
      while (run !== undefined) {
        const after = Math.max(afterSeq, run.fork_seq)
        if (after < upTo) {
          const rows = find.all(run.id, after, upTo) as JournalRow[]
          parts.push(toRecords(fromText(run.run_id), after, Math.min(upTo, run.head), rows, read))
        }
        if (after === afterSeq) break
        upTo = Math.min(upTo, run.fork_seq)
        run = pastOf(run)
      }
      return parts.length === 1 ? (parts[0] as JournalRecord[]) : parts.reverse().flat()
    },
    removeSome: (run, most) => Number(removeSome.run(run, most).changes),
  }
}
