/** Records as rows, and back. What does not come back whole is STORE_CORRUPT. */
import type { JournalRecord } from "@superstep/engine"
import { type Body, type BodyReader, toBody } from "./blobs.ts"
import { corrupt, type Place, writeFailed } from "./errors.ts"
import type { JsonBytes } from "./json-column.ts"
import { fromText } from "./text.ts"

type Entry = JournalRecord["entry"]

export interface JournalRow {
  readonly seq: number
  readonly frame: string
  readonly events: number
  readonly body: JsonBytes
  readonly blobs: string | null
}

/** The entries as text; an error for records that do not follow `expectedSeq`, or that JSON cannot hold. */
export function toBodies(runId: string, expectedSeq: number, records: readonly JournalRecord[]): Body[] {
  return records.map(({ seq, entry }, i) => {
    if (seq !== expectedSeq + 1 + i) {
      throw writeFailed(`Record ${seq} of run "${runId}" was not written: ${expectedSeq + 1 + i} is next`)
    }
    try {
      return toBody(entry)
    } catch (error) {
      throw writeFailed(`Record ${seq} of run "${runId}" cannot be written as JSON`, error)
    }
  })
}

/** The records of the rows after `afterSeq` up to `end`: all of them without a gap, or an error that says where (S4). */
export function toRecords(
  runId: string,
  afterSeq: number,
  end: number,
  rows: readonly JournalRow[],
  read: BodyReader,
): JournalRecord[] {
  const records: JournalRecord[] = []
  let next = afterSeq + 1
  for (const row of rows) {
    if (row.seq !== next) {
      throw corrupt(damaged(runId, next), `the record is missing, and there is one at ${row.seq}`)
    }
    records.push(toRecord(row, damaged(runId, next), read))
    next += 1
  }
  if (end >= next)
    throw corrupt(damaged(runId, next), `the record is missing, and the journal ends at ${end}`)
  if (records.length > 0 && end < next - 1) {
    throw corrupt(damaged(runId, end + 1), `there is a record, and the journal ends at ${end}`)
  }
  return records
}

function toRecord(row: JournalRow, place: Place, read: BodyReader): JournalRecord {
  const entry = read(row.body, row.blobs, place) as Entry | null
  if (typeof entry?.type !== "string") throw corrupt(place, "the record is not an entry")
  return { seq: row.seq, frame: toFrame(row.frame, place), entry, events: row.events }
}

function toFrame(text: string, place: Place): string {
  if (text === "") return text
  try {
    return fromText(text)
  } catch (error) {
    throw corrupt(place, "its frame is not JSON", error)
  }
}

function damaged(runId: string, seq: number): Place {
  return () => `The journal of run "${runId}" is damaged at ${seq}`
}
