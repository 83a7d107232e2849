/**
 * The records of runs, and the last snapshot of each run. A fork has its own records only; before them come those of the
 * run that it was forked from, up to the fork, and so on. A row that cannot be read whole is STORE_CORRUPT.
 *
 * S4 A read gives every record up to the journal's end, or up to its limit, or an error; never fewer.
 */

import {
  type JournalRecord,
  type Lease,
  type Snapshot,
  type SuperstepError,
  storeErrors,
} from "@superstep/engine"
import { type StoredBody, toStoredBody, type ValueCodec } from "@superstep/engine/stores"
import { check, checksum, recordChecksum } from "../file/checksum.ts"
import {
  decodeText,
  decodeTextOrNull,
  EACH_RUN,
  parseName,
  type Row,
  type RunNumbers,
  selected,
  shownName,
  toRunNumbers,
  toText,
} from "../file/columns.ts"
import type { Database, Value } from "../file/driver.ts"
import { corrupt, type Subject, writeFailed } from "../file/errors.ts"
import { IS_CURRENT } from "../file/schema.ts"
import { runHeads } from "../runs/runs.ts"
import type { BlobTable, BodyReader } from "./blobs.ts"
import { BYTES, endSum, IS_OPEN, isEndSound, WITH_END } from "./journal-end.ts"

const RECORD = {
  seq: "integer",
  frame: "text",
  events: "integer",
  body: "text",
  blobs: "text?",
  sum: "integer?",
} as const

/** The columns of a SELECT from `journal`. */
export const RECORD_COLUMNS = `${selected("journal", RECORD)}, ${isEndSound("journal")} AS is_sound`

export interface JournalRow extends Row<typeof RECORD> {
  readonly is_sound: number
}

/** The end of a journal, as the run's row has it or will have it. */
interface JournalEnd {
  readonly bytes: number
  readonly at: number
}

/** Records of a journal that is read together with others: the rows of all of them are in memory at once. */
const SHORT = 20

export interface JournalTable {
  /** Adds records after `end`; returns the new end. */
  add(
    run: number,
    end: JournalEnd,
    records: readonly JournalRecord[],
    bodies: readonly RecordBody[],
  ): JournalEnd
  /**
   * Adds records, each after an end that is known, if its run is executed under its token and under no suspicion. The values
   * are those of FOLLOWING for each record, one after another. Returns how many records these are, and how many it has added:
   * fewer when that is not so, or a newer version of the package has brought the file up to date. The rows of the runs stay
   * as they are (S6).
   */
  follow(values: readonly Value[]): { readonly rows: number; readonly added: number }
  /** To be called within a transaction, so that all it reads is of one moment. */
  read(runId: string, afterSeq: number, limit?: number): readonly JournalRecord[]
  /**
   * The whole journals of runs, by their names as the file has them. Forks and long journals are left out. Throws if any of
   * them is damaged. To be called within a transaction.
   */
  readShort(names: readonly string[]): Map<string, readonly JournalRecord[]>
  /** Removes the records of runs that have few. */
  removeAll(runs: RunNumbers): void
  /** Deletes at most `most` records of a removed run; returns how many it deleted. */
  removeSome(run: number, most: number): number
}

export function journalTable(database: Database, blobs: BlobTable): JournalTable {
  const columns = "run, seq, frame, events, at, bytes, end_sum, body, blobs, sum"
  const add = database.prepare(
    `INSERT INTO journal (${columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ${endSum("?2", "?6", "?5")}, ?7, ?8, ?9)`,
  )
  // Many at once: the drivers take more time for a call than SQLite takes for a row.
  const follow = [20, 5, 1].map((size) => ({ size, statement: database.prepare(followingRecords(size)) }))
  const heads = runHeads(database)
  const find = database.prepare(
    `SELECT ${RECORD_COLUMNS} FROM journal WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq`,
  )
  const findAll = database.prepare(
    `SELECT CAST(journal.run AS INTEGER) AS run, ${RECORD_COLUMNS} FROM journal
     WHERE run IN ${EACH_RUN} ORDER BY run, seq`,
  )
  const removeAll = database.prepare(`DELETE FROM journal WHERE run IN ${EACH_RUN}`)
  const removeSome = database.prepare(
    "DELETE FROM journal WHERE rowid IN (SELECT rowid FROM journal WHERE run = ? LIMIT ?)",
  )

  return {
    add(run, end, records, bodies) {
      let { bytes, at } = end
      for (let i = 0; i < records.length; i++) {
        const { seq, events, entry } = records[i] as JournalRecord
        const { frame, text, places, sum, bytes: size } = bodies[i] as RecordBody
        bytes += size
        if (Number.isFinite(entry.at)) at = entry.at
        add.run(run, seq, frame, events, at, bytes, text, places, sum)
      }
      return { bytes, at }
    },
    follow(values) {
      const rows = values.length / FOLLOWING.length
      let added = 0
      for (const { size, statement } of follow) {
        while (rows - added >= size) {
          const from = added * FOLLOWING.length
          const { changes } = statement.run(...values.slice(from, from + size * FOLLOWING.length))
          added += Number(changes)
          if (Number(changes) < size) return { rows, added }
        }
      }
      return { rows, added }
    },
    read(runId, afterSeq, limit) {
      const read = blobs.reader()
      const parts: JournalRecord[][] = []
      let run = heads.find(toText(runId))
      // Not limited to the run's own end: a record after it is damage, which is to be reported.
      let upTo = limit === undefined ? Number.MAX_SAFE_INTEGER : afterSeq + limit
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
    readShort(names) {
      const short = heads.findAll(names).filter(({ forkRun, head }) => forkRun === null && head <= SHORT)
      const rows = new Map<number, JournalRow[]>(short.map(({ id }) => [id, []]))
      const all = findAll.all(toRunNumbers([...rows.keys()])) as (JournalRow & { run: number })[]
      for (const row of all) rows.get(row.run)?.push(row)
      return new Map(
        short.map(({ id, name, head }) => [
          name,
          toRecords(name, 0, head, rows.get(id) ?? [], blobs.reader()),
        ]),
      )
    },
    removeAll: (runs) => void removeAll.run(runs),
    removeSome: (run, most) => Number(removeSome.run(run, most).changes),
  }
}

/** A record that follows a known end; `bytes` is the size of the journal with it. */
const FOLLOWING = ["run", "token", "seq", "frame", "events", "at", "bytes", "body", "sum"] as const

/** A statement that adds so many records. An existing record stays as it is. */
function followingRecords(rows: number): string {
  const row = `(${FOLLOWING.map(() => "?").join(", ")})`
  const values = new Array<string>(rows).fill(row).join(", ")
  return `WITH new (${FOLLOWING.join(", ")}) AS (VALUES ${values})
    INSERT OR IGNORE INTO journal (run, seq, frame, events, at, bytes, end_sum, body, blobs, sum)
    SELECT new.run, new.seq, new.frame, new.events, new.at, new.bytes, ${endSum("new.seq", "new.bytes", "new.at")},
      new.body, NULL, new.sum
    FROM new CROSS JOIN runs ON runs.id = new.run
    WHERE runs.token = new.token AND ${IS_OPEN} AND ${IS_CURRENT}
      AND runs.takeovers = 0 AND runs.blamed = 0 AND runs.trials = 0 AND runs.died_with IS NULL`
}

type Entry = JournalRecord["entry"]

/** A record as its row has it. */
export interface RecordBody extends StoredBody {
  readonly frame: string
  readonly sum: number
}

/** Throws STORE_WRITE_FAILED for records that do not follow `expectedSeq`, or that JSON cannot hold. */
export function toBodies(
  runId: string,
  expectedSeq: number,
  records: readonly JournalRecord[],
  codec: ValueCodec,
): RecordBody[] {
  const name = toText(runId)
  return records.map(({ seq, frame: path, entry, events }, i) => {
    if (seq !== expectedSeq + 1 + i) {
      throw writeFailed(
        `Record ${seq} of run "${runId}" was not written: expected record ${expectedSeq + 1 + i}`,
      )
    }
    try {
      const body = toStoredBody(entry, { codec, kind: "record", owner: name, seq })
      const { text, places, values, bytes, largeBytes } = body
      const frame = path === "" ? path : toText(path)
      const sum = recordChecksum(name, seq, frame, events, places, text)
      return { text, places, values, bytes, largeBytes, frame, sum }
    } catch (error) {
      throw writeFailed(`Record ${seq} of run "${runId}" cannot be written as JSON`, error)
    }
  })
}

/**
 * The records of the rows after `afterSeq` up to `end`: all of them without a gap, or an error that says where (S4).
 * `name` is the run's, as the file has it.
 */
function toRecords(
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
      throw corrupt(damagedAt(next), `the record is missing, but record ${row.seq} exists`)
    }
    records.push(toRecord(name, row, damagedAt(next), read))
    next += 1
  }
  if (end >= next) throw corrupt(damagedAt(next), `the record is missing, but the journal ends at ${end}`)
  if (records.length > 0 && end < next - 1) {
    throw corrupt(damagedAt(end + 1), `the record exists, but the journal ends at ${end}`)
  }
  return records
}

export function toRecord(name: string, row: JournalRow, subject: Subject, read: BodyReader): JournalRecord {
  const { seq, events, body } = row
  const frame = decodeText(row.frame, subject)
  const places = decodeTextOrNull(row.blobs, subject)
  // Before the checksum: what is wrong says more than that something is.
  const entry = read(body, places, { kind: "record", owner: name, seq }, subject) as Entry | null
  if (typeof entry?.type !== "string") throw corrupt(subject, "the record is not a journal entry")
  check(row.sum, () => recordChecksum(name, seq, frame, events, places, body), subject)
  if (row.is_sound !== 1) throw corrupt(subject, "its size or time does not match the stored one")
  return { seq, frame: frame === "" ? frame : parseName(frame, subject), entry, events }
}

/** `name` as the file has it. */
export function damaged(name: string): (seq: number) => Subject {
  return (seq) => () => `The journal of run "${shownName(name)}" is damaged at ${seq}`
}

export interface SnapshotTable {
  /** Replaces an earlier one. Returns the size of the snapshot and of the journal, or why it may not be saved. */
  save(lease: Lease, seq: number, body: StoredBody): { bytes: number; journal: number } | SuperstepError
  /** To be called within a transaction, so that all it reads is of one moment. */
  find(runId: string): Snapshot | undefined
  /** Their blobs are released with the others of the runs. */
  removeAll(runs: RunNumbers): void
}

const SNAPSHOT = { seq: "integer", blobs: "text?", body: "text", sum: "integer?" } as const

/** Throws STORE_WRITE_FAILED for data that JSON cannot hold. */
export function toSnapshotBody(runId: string, { seq, data }: Snapshot, codec: ValueCodec): StoredBody {
  try {
    return toStoredBody(data, { codec, kind: "snapshot", owner: toText(runId), seq })
  } catch (error) {
    throw writeFailed(`The snapshot of run "${runId}" cannot be written as JSON`, error)
  }
}

export function snapshotTable(database: Database, blobs: BlobTable): SnapshotTable {
  const findRun = database.prepare(
    `SELECT runs.id, ${BYTES} AS bytes FROM runs ${WITH_END} WHERE runs.run_id = ? AND runs.token = ?`,
  )
  const findSize = database.prepare("SELECT seq, bytes FROM snapshots WHERE run = ?")
  const save = database.prepare(
    "INSERT OR REPLACE INTO snapshots (run, seq, bytes, blobs, body, sum) VALUES (?, ?, ?, ?, ?, ?)",
  )
  const find = database.prepare(
    `SELECT ${selected("snapshots", SNAPSHOT)}
     FROM runs CROSS JOIN snapshots ON snapshots.run = runs.id WHERE runs.run_id = ?`,
  )
  const removeAll = database.prepare(`DELETE FROM snapshots WHERE run IN ${EACH_RUN}`)

  return {
    save({ runId, token }, seq, body) {
      const [run] = findRun.all(toText(runId), token) as { id: number; bytes: number }[]
      if (run === undefined) return storeErrors.runTaken(runId)
      const [before] = findSize.all(run.id) as { seq: number; bytes: number }[]
      if (before !== undefined && before.seq >= seq) return { bytes: before.bytes, journal: run.bytes }
      const sum = checksum([toText(runId), seq, body.places], body.text)
      save.run(run.id, seq, body.bytes, body.places, body.text, sum)
      // Before the release, so that blobs of both snapshots stay.
      blobs.keep(run.id, -seq, body)
      if (before !== undefined) blobs.release(run.id, -before.seq)
      return { bytes: body.bytes, journal: run.bytes }
    },
    find(runId) {
      const [row] = find.all(toText(runId)) as Row<typeof SNAPSHOT>[]
      if (row === undefined) return undefined
      const subject = () => `The snapshot of run "${runId}" is damaged at ${row.seq}`
      const places = decodeTextOrNull(row.blobs, subject)
      const place = { kind: "snapshot", owner: toText(runId), seq: row.seq } as const
      const data = blobs.reader()(row.body, places, place, subject) as Snapshot["data"]
      check(row.sum, () => checksum([toText(runId), row.seq, places], row.body), subject)
      return { seq: row.seq, data }
    },
    removeAll: (runs) => void removeAll.run(runs),
  }
}
