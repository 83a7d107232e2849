/**
 * Reads the records of runs, their snapshots and their threads. A fork has its own records only; before them come those of the run that
 * it was forked from, up to the fork, and so on. One statement reads them all, with their large values: they are of one
 * moment, whatever is removed meanwhile.
 *
 * S4 A read gives every record up to the journal's end, or up to its limit, or an error; never fewer.
 */

import {
  type JournalRecord,
  type Json,
  type Lease,
  type RecordQuery,
  type Snapshot,
  storeErrors,
  type ThreadWrite,
} from "@superstep/engine"
import {
  type BodyPlace,
  foldThread,
  fromStoredBody,
  type StoredBody,
  toStoredBody,
} from "@superstep/engine/stores"
import type { Database, Statement } from "./database.ts"
import { corrupt, type Subject, writeFailed } from "./errors.ts"
import { parseJson, parseName, parseSealed, toText, toTextOrNull } from "./names.ts"
import { STATE_TABLES } from "./runs.ts"

/** $1 the run, $2 the record before the first, $3 the last. The journal's end comes first, the large values last. */
const READ: Statement = {
  name: "read",
  text: `
    WITH RECURSIVE chain AS (
      SELECT r.id, r.run_id, r.fork_run, r.fork_seq, $3::int AS upto, coalesce(live.head, ended.head) AS head
      FROM $.runs AS r ${STATE_TABLES} WHERE r.run_id = $1
      UNION ALL
      SELECT r.id, r.run_id, r.fork_run, r.fork_seq, least(chain.upto, chain.fork_seq), chain.head
      FROM chain JOIN $.runs AS r ON r.id = chain.fork_run WHERE chain.fork_seq > $2
    )
    SELECT 0 AS kind, head AS seq, 0::bigint AS events, '' AS frame, '' AS body, NULL AS places, '' AS owner
    FROM (SELECT head FROM chain LIMIT 1) AS own
    UNION ALL
    SELECT 1, j.seq, j.events, j.frame, j.body, j.places, chain.run_id
    FROM chain JOIN $.journal AS j ON j.run = chain.id
      AND j.seq > greatest($2, chain.fork_seq) AND j.seq <= chain.upto
    UNION ALL
    SELECT 2, 0, 0, b.hash, b.body, NULL, ''
    FROM $.blobs AS b WHERE b.id IN (
      SELECT u.blob FROM chain JOIN $.blob_uses AS u ON u.run = chain.id
        AND u.place > greatest($2, chain.fork_seq) AND u.place <= chain.upto
    )
    ORDER BY kind, seq`,
}
const SNAPSHOT: Statement = {
  text: `
    WITH own AS (SELECT s.* FROM $.runs AS r JOIN $.snapshots AS s ON s.run = r.id WHERE r.run_id = $1)
    SELECT 1 AS kind, seq, '' AS frame, body, places FROM own
    UNION ALL
    SELECT 2, 0, b.hash, b.body, NULL
    FROM own JOIN $.blob_uses AS u ON u.run = own.run AND u.place = -own.seq JOIN $.blobs AS b ON b.id = u.blob
    ORDER BY kind`,
}
const SAVE: Statement = { text: "SELECT * FROM $.save_snapshot_1($1, $2, $3, $4, $5, $6, $7, $8)" }
const GRAPH: Statement = { text: "SELECT body FROM $.graphs WHERE hash = $1" }

interface BodyRow {
  /** 0 the journal's end, 1 a record, 2 a large value. */
  readonly kind: number
  readonly seq: number
  /** Of a large value: its hash. */
  readonly frame: string
  readonly body: string
  readonly places: string | null
}

interface ReadRow extends BodyRow {
  /** The run whose record it is. */
  readonly owner: string
  readonly events: number
}

/** More records than any run has. */
const ALL = 2_147_483_647

export async function readJournal(
  database: Database,
  runId: string,
  afterSeq: number,
  limit: number | undefined,
): Promise<readonly JournalRecord[]> {
  const upTo = Math.min(limit === undefined ? ALL : afterSeq + limit, ALL)
  const values = [toText(runId), afterSeq, upTo]
  const rows = await database.read<ReadRow>(`The journal of run "${runId}"`, READ, values)
  const large = largeValues(rows)
  const end = Math.min(upTo, rows[0]?.seq ?? 0)
  const damaged = (seq: number) => () => `The journal of run "${runId}" is damaged at ${seq}`
  const records: JournalRecord[] = []
  let next = afterSeq + 1
  for (const row of rows) {
    if (row.kind !== 1) continue
    if (row.seq !== next)
      throw corrupt(damaged(next), `the record is missing, and there is one at ${row.seq}`)
    const place = { codec: database.codec, kind: "record", owner: row.owner, seq: row.seq } as const
    const entry = readBody(row, place, large, damaged(next)) as JournalRecord["entry"]
    const frame = row.frame === "" ? "" : parseName(row.frame, damaged(next))
    records.push({ seq: row.seq, frame, entry, events: row.events })
    next += 1
  }
  if (end >= next) throw corrupt(damaged(next), `the record is missing, and the journal ends at ${end}`)
  return records
}

export async function findSnapshot(database: Database, runId: string): Promise<Snapshot | undefined> {
  const rows = await database.read<BodyRow>(`The snapshot of run "${runId}"`, SNAPSHOT, [toText(runId)])
  const row = rows.find(({ kind }) => kind === 1)
  if (row === undefined) return undefined
  const subject = () => `The snapshot of run "${runId}" is damaged at ${row.seq}`
  const place = snapshotPlace(database, runId, row.seq)
  return { seq: row.seq, data: readBody(row, place, largeValues(rows), subject) as Json }
}

/** By their hashes. */
function largeValues(rows: readonly BodyRow[]): ReadonlyMap<string, string> {
  return new Map(rows.flatMap(({ kind, frame, body }) => (kind === 2 ? [[frame, body]] : [])))
}

function snapshotPlace({ codec }: Database, runId: string, seq: number): BodyPlace {
  return { codec, kind: "snapshot", owner: toText(runId), seq }
}

function readBody(
  { body, places }: BodyRow,
  place: BodyPlace,
  values: ReadonlyMap<string, string>,
  subject: Subject,
): unknown {
  return fromStoredBody(body, places, place, {
    find: (hash) => values.get(hash),
    damaged: (what, cause) => corrupt(subject, what, cause),
  })
}

/** The size of the snapshot and of the journal. Throws RUN_TAKEN. */
export async function saveSnapshot(
  database: Database,
  { runId, token }: Lease,
  { seq, data }: Snapshot,
): Promise<{ readonly bytes: number; readonly journal: number }> {
  const { text, places, values: large, bytes } = toSnapshotBody(database, runId, seq, data)
  const hashes = large.map(({ hash }) => hash)
  const values = [toText(runId), token, seq, bytes, text, places, hashes, large.map((one) => one.text)]
  const subject = `The snapshot of run "${runId}"`
  const [saved] = await database.write<{ bytes: number; journal: number }>(subject, SAVE, values)
  if (saved === undefined) throw storeErrors.runTaken(runId)
  return saved
}

function toSnapshotBody(database: Database, runId: string, seq: number, data: Json): StoredBody {
  try {
    return toStoredBody(data, snapshotPlace(database, runId, seq))
  } catch (error) {
    throw writeFailed(`The snapshot of run "${runId}" cannot be written as JSON`, error)
  }
}

export async function findGraph(database: Database, hash: string): Promise<Json | undefined> {
  const [row] = await database.read<{ body: string }>(`Graph "${hash}"`, GRAPH, [toText(hash)])
  return row && (parseJson(row.body, () => `Graph "${hash}" is damaged`) as Json)
}

// One statement, so that the end and the writes are of the same moment.
const FIND: Statement = {
  text: `
    SELECT t.version AS last, w.version, w.key, w.kind, w.value
    FROM $.threads AS t LEFT JOIN $.thread_writes AS w ON w.thread = t.id AND w.version <= $2
    WHERE t.thread = $1 ORDER BY w.version`,
}
const REMOVE: Statement = {
  text: `
    WITH gone AS (DELETE FROM $.threads WHERE thread = $1 RETURNING id)
    DELETE FROM $.thread_writes USING gone WHERE thread_writes.thread = gone.id`,
}

const AFTER = "thread >= $1 AND ($2::text IS NULL OR thread > $2) AND starts_with(thread, $1)"
const LIST: Statement = {
  text: `
    (SELECT thread FROM $.threads WHERE ${AFTER} ORDER BY thread LIMIT $3)
    UNION
    (SELECT thread FROM $.live WHERE thread IS NOT NULL AND ${AFTER} ORDER BY thread LIMIT $3)
    ORDER BY thread LIMIT $3`,
}

interface WriteRow {
  readonly last: number
  readonly version: number | null
  readonly key: string
  readonly kind: ThreadWrite["kind"]
  readonly value: string
}

export interface ThreadState {
  readonly version: number
  readonly state: { readonly [key: string]: Json }
}

/** More writes than any thread has. */
const ALL_WRITES = 2_147_483_647

export async function threadState(
  database: Database,
  id: string,
  version = ALL_WRITES,
): Promise<ThreadState> {
  const rows = await database.read<WriteRow>(`Thread "${id}"`, FIND, [
    toText(id),
    Math.min(version, ALL_WRITES),
  ])
  const { codec } = database
  const damaged = (at: number) => () => `Thread "${id}" is damaged at ${at}`
  const writes = rows.flatMap(({ version: at, key, kind, value }) =>
    at === null
      ? []
      : [
          {
            version: at,
            key,
            kind,
            value: () => parseSealed(codec, value, damaged(at), "thread", key) as Json,
          },
        ],
  )
  const end = Math.min(version, rows[0]?.last ?? 0)
  const { state, next } = foldThread(writes)
  if (next !== end + 1) throw corrupt(damaged(next), "the write is missing")
  const named = [...state].map(([key, value]) => [parseName(key, damaged(end)), value])
  return { version: end, state: Object.fromEntries(named) }
}

export async function listThreads(
  database: Database,
  { prefix = "", after, limit }: RecordQuery = {},
): Promise<readonly string[]> {
  const values = [toText(prefix), toTextOrNull(after), limit ?? null]
  const rows = await database.read<{ thread: string }>("The list of threads", LIST, values)
  return rows.map(({ thread }) => parseName(thread, () => "The name of a thread is damaged"))
}

export async function removeThread(database: Database, id: string): Promise<void> {
  await database.write(`The removal of thread "${id}"`, REMOVE, [toText(id)])
}
