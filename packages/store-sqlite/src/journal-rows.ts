/** Records as rows, and back. What does not come back whole is STORE_CORRUPT. */
import type { JournalRecord } from "@superstep/engine"
import { type Body, type BodyReader, toBody } from "./blobs.ts"
import { check, recordChecksum } from "./checksum.ts"
import { corrupt, type Place, writeFailed } from "./errors.ts"
import { decodeText, decodeTextOrNull, type JsonBytes, parseName } from "./json-column.ts"
import { shownName, toText } from "./text.ts"

type Entry = JournalRecord["entry"]

export interface JournalRow {
  readonly seq: number
  readonly frame: JsonBytes
  readonly events: number
  readonly body: JsonBytes
  readonly blobs: JsonBytes | null
  readonly sum: number | null
}

/** A record as its row has it. */
export interface RecordBody extends Body {
  readonly frame: string
  readonly sum: number
}

/** The entries as text; an error for records that do not follow `expectedSeq`, or that JSON cannot hold. */
export function toBodies(
  runId: string,
  expectedSeq: number,
  records: readonly JournalRecord[],
): RecordBody[] {
  const name = toText(runId)
  return records.map(({ seq, frame: given, entry, events }, i) => {
    if (seq !== expectedSeq + 1 + i) {
      throw writeFailed(`Record ${seq} of run "${runId}" was not written: ${expectedSeq + 1 + i} is next`)
    }
    try {
      const { text, places, blobs, bytes } = toBody(entry)
      const frame = given === "" ? given : toText(given)
      const sum = recordChecksum(name, seq, frame, events, places, text)
      return { text, places, blobs, bytes, frame, sum }
    } catch (error) {
      throw writeFailed(`Record ${seq} of run "${runId}" cannot be written as JSON`, error)
    }
  })
}

/**
 * The records of the rows after `afterSeq` up to `end`: all of them without a gap, or an error that says where (S4).
 * `name` is the run's, as the file has it.
 */
export function toRecords(
  name: string,
  afterSeq: number,
  end: number,
  rows: readonly JournalRow[],
  read: BodyReader,
): JournalRecord[] {
  const damagedAt = damaged(name)
  const records: JournalRecord[] = []
  let next = afterSeq + 1
  for (const row of rows) {
    if (row.seq !== next) {
      throw corrupt(damagedAt(next), `the record is missing, and there is one at ${row.seq}`)
    }
    records.push(toRecord(name, row, damagedAt(next), read))
    next += 1
  }
  if (end >= next) throw corrupt(damagedAt(next), `the record is missing, and the journal ends at ${end}`)
  if (records.length > 0 && end < next - 1) {
    throw corrupt(damagedAt(end + 1), `there is a record, and the journal ends at ${end}`)
  }
  return records
}

export function toRecord(name: string, row: JournalRow, place: Place, read: BodyReader): JournalRecord {
  const { seq, events, body } = row
  const frame = decodeText(row.frame, place)
  const places = decodeTextOrNull(row.blobs, place)
  // What is wrong with it says more than that something is.
  const entry = read(body, places, place) as Entry | null
  if (typeof entry?.type !== "string") throw corrupt(place, "the record is not an entry")
  check(row.sum, () => recordChecksum(name, seq, frame, events, places, body), place)
  return { seq, frame: frame === "" ? frame : parseName(frame, place), entry, events }
}

/** `name` as the file has it. */
export function damaged(name: string): (seq: number) => Place {
  return (seq) => () => `The journal of run "${shownName(name)}" is damaged at ${seq}`
}
