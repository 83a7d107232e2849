/** Records as rows, and back. What does not come back whole is STORE_CORRUPT. */
import type { JournalRecord } from "@superstep/engine"
import { corrupt, writeFailed } from "./errors.ts"

type Entry = JournalRecord["entry"]

export interface Row {
  readonly head: number
  /** Null where the run has no record that was asked for. */
  readonly seq: number | null
  readonly frame: string
  readonly events: number
  readonly body: string
}

/** The entries as text; an error for records that do not follow `expectedSeq`, or that JSON cannot hold. */
export function toBodies(runId: string, expectedSeq: number, records: readonly JournalRecord[]): string[] {
  return records.map(({ seq, entry }, i) => {
    if (seq !== expectedSeq + 1 + i) {
      throw writeFailed(`Record ${seq} of run "${runId}" was not written: ${expectedSeq + 1 + i} is next`)
    }
    try {
      return JSON.stringify(entry)
    } catch (error) {
      throw writeFailed(`Record ${seq} of run "${runId}" cannot be written as JSON`, error)
    }
  })
}

/** The records of the rows after `afterSeq`: all of them without a gap, or an error that says where (S4). */
export function toRecords(runId: string, afterSeq: number, rows: readonly Row[]): JournalRecord[] {
  const records: JournalRecord[] = []
  let next = afterSeq + 1
  for (const row of rows) {
    const { seq } = row
    if (seq === null) break
    if (seq !== next) throw corrupt(runId, next, `the record is missing, and there is one at ${seq}`)
    records.push(toRecord(runId, row, seq))
    next += 1
  }
  const end = rows[0]?.head ?? 0
  if (end >= next) throw corrupt(runId, next, `the record is missing, and the journal ends at ${end}`)
  if (records.length > 0 && end < next - 1) {
    throw corrupt(runId, end + 1, `there is a record, and the journal ends at ${end}`)
  }
  return records
}

function toRecord(runId: string, { frame, events, body }: Row, seq: number): JournalRecord {
  let parts: { frame: string; entry: Entry }
  try {
    parts = { frame: JSON.parse(`"${frame}"`), entry: JSON.parse(body) }
  } catch (error) {
    throw corrupt(runId, seq, "the record is not JSON", error)
  }
  if (typeof parts.entry?.type !== "string") throw corrupt(runId, seq, "the record is not an entry")
  return { seq, frame: parts.frame, entry: parts.entry, events }
}

/** Text as it stands between JSON's quotes. */
export function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
