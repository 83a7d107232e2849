/**
 * One append: records, the run's row, and whatever else changes with them. Every check comes before the first change,
 * so that a refused append has changed nothing (S3). Strings are built when the append is called, not while the file is
 * locked.
 */

import {
  eventsOf,
  hasEnded,
  isSuperstepError,
  type JournalRecord,
  type Lease,
  type RunChange,
  type RunCreated,
  type StoredStatus,
  type SuperstepError,
  storeErrors,
} from "@superstep/engine"
import type { StoredBody, ValueCodec } from "@superstep/engine/stores"
import {
  checksum,
  MADE_STATE,
  MADE_SUM,
  STATE_AFTER_END,
  SUM_AFTER_APPEND,
  SUM_AFTER_END,
  SUM_AFTER_INTENT,
} from "../file/checksum.ts"
import {
  decodeText,
  decodeTextOrNull,
  type JsonBytes,
  jsonBytes,
  type Row,
  selected,
  shownName,
  toText,
  toTextOrNull,
} from "../file/columns.ts"
import type { Database } from "../file/driver.ts"
import { corrupt, type Subject, writeFailed } from "../file/errors.ts"
import type { MailTable } from "../lease/mail.ts"
import type { QueueTable } from "../lease/queue.ts"
import { type RequestTable, type RequestText, toRequestText } from "../runs/requests.ts"
import type { LabelTable } from "../runs/run-labels.ts"
import type { NameIndex } from "../runs/run-names.ts"
import { END_COLUMNS, type EndRow, IN_FLIGHT, type RunIdentity, runChecksum } from "../runs/run-rows.ts"
import type { SubscriptionTable } from "../runs/subscriptions.ts"
import type { BlobTable } from "./blobs.ts"
import { type GraphTable, type GraphText, toGraphText } from "./graphs.ts"
import { isEndSound, WITH_END } from "./journal-end.ts"
import type { JournalEnd, JournalTable, RecordBody, SnapshotTable } from "./journals.ts"
import { type ThreadTable, type ThreadText, toThreadText } from "./threads.ts"

interface Append {
  readonly lease: Lease
  readonly expectedSeq: number
  readonly records: readonly JournalRecord[]
  readonly bodies: readonly RecordBody[]
  readonly change: RunChange | undefined
  readonly texts: ChangeTexts
}

export interface ChangeTexts {
  readonly graphs: readonly GraphText[]
  readonly opened: readonly RequestText[]
  readonly thread: readonly ThreadText[]
  readonly error: string | null
  /** Approximate. */
  readonly bytes: number
}

export interface Tables {
  readonly journals: JournalTable
  readonly snapshots: SnapshotTable
  readonly blobs: BlobTable
  readonly graphs: GraphTable
  readonly requests: RequestTable
  readonly threads: ThreadTable
  readonly mail: MailTable
  readonly labels: LabelTable
  readonly names: NameIndex
  readonly queue: Pick<QueueTable, "findGroup" | "enter">
  readonly subscriptions: Pick<SubscriptionTable, "addEvents">
}

const STANDING = { token: "integer", status: "text", workflow: "text", thread: "text?" } as const

type StandingRow = { readonly id: number; readonly is_sound: number } & EndRow & Row<typeof STANDING>

/** A run that an append writes to. */
interface Target {
  readonly id: number
  /** As the file has them. */
  readonly workflow: string
  readonly thread: string | null
  /** Where its journal ends now. */
  readonly end: JournalEnd & { readonly head: number }
}

export interface Appender {
  /** Why the append is refused, or undefined when it is made. */
  make(append: Append): SuperstepError | undefined
  /** Makes an append of records only, without reading anything first; false when it has changed nothing. */
  follow(append: Append): boolean
  /** A transaction was rolled back: forgets the journal ends that it wrote. */
  forget(): void
}

/** Where a journal ends: nobody else writes to it as long as the run has this token. */
interface KnownEnd {
  readonly run: number
  readonly token: number
  head: number
  bytes: number
  at: number
}

const MAX_KNOWN = 10_000

export function appender(database: Database, tables: Tables): Appender {
  const ends = new Map<string, KnownEnd>()
  const headMover = (sum: string, cleared: string) =>
    database.prepare(
      `UPDATE runs SET head = ?1, bytes = ?2, updated_at = ?3, state_sum = ${sum}${cleared} WHERE id = ?4`,
    )
  const moveHead = headMover(SUM_AFTER_APPEND, ", takeovers = 0, blamed = 0, trials = 0, died_with = NULL")
  const moveHeadForIntent = headMover(SUM_AFTER_INTENT, "")
  const columns = `run_id, head, bytes, workflow, graph, key, thread, labels, fork_run, fork_seq, token, holder, created_at,
    updated_at, rested_at, sum, status, blob_bytes, wake_at, takeovers, pinned, executing, blamed, trials`
  // With the sums that the trigger would otherwise add by a second update.
  const insert = database.prepare(
    `WITH NEW (${columns}) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', 0, NULL, 0, 0, 1, 0, 0))
     INSERT INTO runs (${columns}, state_sum, state) SELECT ${columns}, ${MADE_SUM}, ${MADE_STATE} FROM NEW WHERE true
     ON CONFLICT DO NOTHING RETURNING id`,
  )
  const findStanding = database.prepare(
    `SELECT runs.id, ${END_COLUMNS}, ${selected("runs", STANDING)}, ${isEndSound("last")} AS is_sound
     FROM runs ${WITH_END} WHERE runs.run_id = ?`,
  )
  const findByKey = database.prepare(`SELECT ${jsonBytes("run_id")} AS run_id FROM runs WHERE key = ?`)
  const findInThread = database.prepare(
    `SELECT ${jsonBytes("run_id")} AS run_id FROM runs WHERE thread = ? AND ${IN_FLIGHT}`,
  )
  const setStatus = database.prepare(
    "UPDATE runs SET status = ?, error = NULL, error_sum = NULL WHERE id = ?",
  )
  // ?1 head, ?2 bytes, ?3 time, ?4 run, ?5 status, ?6 error, ?7 its sum, ?8 whether it executes, or null
  const end = database.prepare(
    `UPDATE runs SET head = ?1, bytes = ?2, updated_at = ?3, rested_at = ?3, status = ?5, error = ?6, error_sum = ?7,
       holder = NULL, wake_at = NULL, executing = coalesce(?8, executing),
       takeovers = 0, blamed = 0, trials = 0, died_with = NULL, state_sum = ${SUM_AFTER_END}, state = ${STATE_AFTER_END}
     WHERE id = ?4`,
  )
  const setIdle = database.prepare("UPDATE runs SET executing = ?, wake_at = ? WHERE id = ?")
  const setGraph = database.prepare("UPDATE runs SET graph = ? WHERE id = ?")
  const addBlobBytes = database.prepare("UPDATE runs SET blob_bytes = blob_bytes + ? WHERE id = ?")

  function standing(runId: string): StandingRow | undefined {
    return (findStanding.all(runId) as StandingRow[])[0]
  }

  function other(runs: readonly unknown[], runId?: string): string | undefined {
    const [run] = runs as { run_id: JsonBytes }[]
    if (run === undefined) return undefined
    const name = decodeText(run.run_id, () => "A run is damaged at its id")
    return name === runId ? undefined : shownName(name)
  }

  /** Why the lease may not append after this record. */
  function refusal({ runId, token }: Lease, expectedSeq: number, run: StandingRow | undefined) {
    if (run === undefined) return storeErrors.journalConflict(runId, expectedSeq, 0)
    if (run.token !== token) return storeErrors.runTaken(runId)
    return run.head === expectedSeq ? undefined : storeErrors.journalConflict(runId, expectedSeq, run.head)
  }

  /** Why a run cannot be created. */
  function obstacle({ runId }: Lease, { key, thread }: RunCreated): SuperstepError | undefined {
    if (standing(toText(runId)) !== undefined) return storeErrors.runExists(runId)
    const sameKey = key === undefined ? undefined : other(findByKey.all(toText(key)))
    if (sameKey !== undefined) return storeErrors.keyTaken(key as string, sameKey)
    const busy = thread === undefined ? undefined : other(findInThread.all(toText(thread)))
    return busy === undefined ? undefined : storeErrors.threadBusy(thread as string, busy)
  }

  function create(
    { lease, expectedSeq, records, bodies, change }: Append,
    created: RunCreated,
  ): Target | SuperstepError {
    const { forkOf, thread, threadVersion, flow, queued } = created
    const grouped = flow?.group === undefined ? undefined : tables.queue.findGroup(flow.group)
    if (grouped !== undefined) {
      return obstacle(lease, created) ?? storeErrors.groupTaken(flow?.group as string, grouped)
    }
    if (
      thread !== undefined &&
      threadVersion !== undefined &&
      tables.threads.version(thread) !== threadVersion
    ) {
      return obstacle(lease, created) ?? storeErrors.threadMoved(thread)
    }
    const past = forkOf && standing(toText(forkOf.runId))
    const base = Math.min(forkOf?.seq ?? 0, past?.head ?? 0)
    if (expectedSeq !== base || base !== (forkOf?.seq ?? 0)) {
      return obstacle(lease, created) ?? storeErrors.journalConflict(lease.runId, expectedSeq, base)
    }
    const at = records.at(-1)?.entry.at ?? 0
    const run: RunIdentity = {
      name: toText(lease.runId),
      workflow: toText(created.workflow),
      key: toTextOrNull(created.key),
      thread: toTextOrNull(created.thread),
      labels: created.labels === undefined ? null : JSON.stringify(created.labels),
      flow: flow === undefined && !queued ? null : JSON.stringify(flow ?? {}),
      forkOf: past === undefined ? null : toTextOrNull(forkOf?.runId),
      forkSeq: expectedSeq,
      createdAt: records[0]?.entry.at ?? 0,
    }
    const [made] = insert.all(
      run.name,
      expectedSeq + records.length,
      sizeOf(bodies),
      run.workflow,
      toText(created.graph),
      run.key,
      run.thread,
      run.labels,
      past?.id ?? null,
      run.forkSeq,
      lease.token,
      toText(lease.holder),
      run.createdAt,
      at,
      at,
      runChecksum(run),
    ) as { id: number }[]
    if (made === undefined) return obstacle(lease, created) ?? storeErrors.runExists(lease.runId)
    const end = tables.journals.add(made.id, { bytes: 0, at }, records, bodies)
    if (created.labels !== undefined) tables.labels.add(made.id, created.labels)
    if (run.flow !== null) {
      const { wakeAt } = (change?.idle || undefined) ?? {}
      tables.queue.enter(made.id, created, { holder: lease.holder, at: run.createdAt, wakeAt })
    }
    const head = expectedSeq + records.length
    return { id: made.id, workflow: run.workflow, thread: run.thread, end: { ...end, head } }
  }

  /** Adds the records, and writes the new end of the journal into the run's row. */
  function move(append: Append, runId: string): Target | SuperstepError {
    const { lease, expectedSeq, records, bodies, change } = append
    const run = standing(runId)
    const refused = refusal(lease, expectedSeq, run)
    if (run === undefined || refused !== undefined) {
      return refused ?? storeErrors.journalConflict(lease.runId, expectedSeq, 0)
    }
    const thread = decodeTextOrNull(run.thread, damagedRun(runId))
    // Another record would hide the damage.
    if (run.is_sound !== 1) throw corrupt(damagedRun(runId), "its state does not match the stored one")
    const busy = thread === null ? undefined : threadTaken(run, runId, thread, change)
    if (busy !== undefined) return busy
    const before = { bytes: run.bytes, at: run.updated_at }
    const after = tables.journals.add(run.id, before, records, bodies)
    const statement = change?.intent === true ? moveHeadForIntent : moveHead
    // An append that ends the run writes all of its row at once.
    if (!endsRun(change)) statement.run(expectedSeq + records.length, after.bytes, after.at, run.id)
    return {
      id: run.id,
      workflow: decodeText(run.workflow, damagedRun(runId)),
      thread,
      end: { ...after, head: expectedSeq + records.length },
    }
  }

  /** Another run may have taken the thread of a run that ended and is resumed. */
  function threadTaken(
    run: StandingRow,
    runId: string,
    thread: string,
    change: RunChange | undefined,
  ): SuperstepError | undefined {
    const status = change?.status
    if (status === undefined || hasEnded({ status })) return undefined
    if (!hasEnded({ status: decodeText(run.status, damagedRun(runId)) as StoredStatus })) return undefined
    const busy = other(findInThread.all(thread), runId)
    return busy === undefined ? undefined : storeErrors.threadBusy(shownName(thread), busy)
  }

  /**
   * The usual append: a row for each record, and nothing else. False when the append changes more, or the end of the journal
   * is not known here.
   */
  function follow({ lease, expectedSeq, records, bodies }: Append): boolean {
    const known = ends.get(lease.runId)
    if (known === undefined || known.token !== lease.token || known.head !== expectedSeq) return false
    for (let i = 0; i < records.length; i++) {
      const record = records[i] as JournalRecord
      const body = bodies[i] as RecordBody
      if (tables.journals.follow(known.run, known.token, known, record, body)) {
        known.head = record.seq
        known.bytes += body.bytes
        known.at = record.entry.at
        continue
      }
      ends.delete(lease.runId)
      if (i === 0) return false
      // Only a damaged file has records after the first one: the transaction is rolled back.
      throw corrupt(damagedRun(toText(lease.runId)), "its journal has records after its end")
    }
    return true
  }

  function know({ runId, token }: Lease, run: Target): void {
    if (ends.size >= MAX_KNOWN) ends.clear()
    ends.set(runId, { run: run.id, token, ...run.end })
  }

  function apply(runId: string, run: Target, change: RunChange, texts: ChangeTexts): void {
    for (const graph of texts.graphs) tables.graphs.add(run.id, graph, change.created?.graph)
    if (change.graph !== undefined) {
      tables.graphs.use(run.id)
      setGraph.run(toText(change.graph), run.id)
    }
    if (change.idle !== undefined && !endsRun(change)) {
      const wakeAt = change.idle === false ? null : (change.idle.wakeAt ?? null)
      setIdle.run(change.idle === false ? 1 : 0, wakeAt, run.id)
    }
    for (const id of change.mail ?? []) tables.mail.settle(id, { ok: true })
    const { id, workflow } = run
    for (const request of texts.opened) tables.requests.open({ id, name: runId, workflow }, request)
    for (const request of change.closed ?? []) tables.requests.close(run.id, request)
    if (texts.thread.length > 0 && run.thread !== null) tables.threads.add(run.thread, texts.thread)
    if (change.status === undefined) return
    if (!hasEnded({ status: change.status })) setStatus.run(change.status, run.id)
    else {
      const { error } = texts
      const { head, bytes, at } = run.end
      const sum = error === null ? null : checksum([runId], error)
      const executing = change.idle === undefined ? null : change.idle === false ? 1 : 0
      end.run(head, bytes, at, run.id, change.status, error, sum, executing)
      tables.requests.withdrawAll(run.id, at)
    }
  }

  function keepBlobs(run: number, { records, bodies }: Append): void {
    let bytes = 0
    bodies.forEach((body, i) => {
      if (body.places === null) return
      tables.blobs.keep(run, (records[i] as JournalRecord).seq, body)
      bytes += body.largeBytes
    })
    if (bytes > 0) addBlobBytes.run(bytes, run)
  }

  return {
    make(append) {
      const { change, texts, lease } = append
      const runId = toText(lease.runId)
      if (hasRecordsOnly(append) && follow(append)) return undefined
      const run = change?.created === undefined ? move(append, runId) : create(append, change.created)
      if (isSuperstepError(run)) return run
      if (endsRun(change)) ends.delete(lease.runId)
      else know(lease, run)
      keepBlobs(run.id, append)
      if (change === undefined) return undefined
      apply(runId, run, change, texts)
      tables.subscriptions.addEvents({ runId, workflow: run.workflow }, eventsOf(change, append.records))
      return undefined
    },
    follow: (append) => hasRecordsOnly(append) && follow(append),
    forget: () => ends.clear(),
  }
}

/** Whether only records are written, none with a large value or with a time that is not a number. */
function hasRecordsOnly({ records, bodies, change }: Append): boolean {
  return (
    records.length > 0 &&
    !changesMore(change) &&
    bodies.every(({ places }) => places === null) &&
    records.every(({ entry }) => Number.isFinite(entry.at))
  )
}

function endsRun(change: RunChange | undefined): boolean {
  return change?.status !== undefined && hasEnded({ status: change.status })
}

function damagedRun(runId: string): Subject {
  return () => `Run "${shownName(runId)}" is damaged`
}

/** Whether the change contains more than the note that the records are intents. */
function changesMore(change: RunChange | undefined): boolean {
  if (change === undefined) return false
  const { intent: _, ...more } = change
  return Object.values(more).some((part) => part !== undefined)
}

function sizeOf(bodies: readonly StoredBody[]): number {
  return bodies.reduce((sum, { bytes }) => sum + bytes, 0)
}

const NONE: ChangeTexts = { graphs: [], opened: [], thread: [], error: null, bytes: 0 }

/** Throws STORE_WRITE_FAILED for a value that JSON cannot hold. */
export function toChangeTexts(runId: string, change: RunChange | undefined, codec: ValueCodec): ChangeTexts {
  if (change === undefined) return NONE
  try {
    const graphs = (change.graphs ?? []).map(({ hash, graph }) => toGraphText(hash, graph))
    const opened = (change.opened ?? []).map((request) => toRequestText(runId, request, codec))
    const thread = (change.thread ?? []).map((write) => toThreadText(write, codec))
    const error =
      change.error === undefined ? null : codec.seal(JSON.stringify(change.error), "error", toText(runId))
    const texts = [
      ...graphs.map(({ body }) => body),
      ...opened.map(({ body }) => body),
      ...thread.map(({ value }) => value),
      ...(error === null ? [] : [error]),
    ]
    return { graphs, opened, thread, error, bytes: texts.reduce((sum, text) => sum + text.length, 0) }
  } catch (error) {
    throw writeFailed(
      `The changes that go with the journal of run "${runId}" cannot be written as JSON`,
      error,
    )
  }
}
