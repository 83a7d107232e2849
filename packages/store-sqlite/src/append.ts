/**
 * One append: records, the run's row, and whatever else changes with them. Every check comes before the first change,
 * so that a refused append has changed nothing (S3). Strings are made when the append is handed over, not while the file
 * is locked for it.
 */

import {
  hasEnded,
  type JournalRecord,
  type Lease,
  type RunChange,
  type RunCreated,
  type StoredStatus,
  type SuperstepError,
  storeErrors,
} from "@superstep/engine"
import type { BlobTable, Body } from "./blobs.ts"
import { checksum, SUM_AFTER_APPEND, SUM_AFTER_INTENT } from "./checksum.ts"
import {
  decodeText,
  type JsonBytes,
  jsonBytes,
  type Row,
  selected,
  shownName,
  toText,
  toTextOrNull,
} from "./columns.ts"
import type { Database } from "./driver.ts"
import { type Subject, writeFailed } from "./errors.ts"
import { type GraphTable, type GraphText, toGraphText } from "./graphs.ts"
import type { JournalTable, RecordBody, SnapshotTable } from "./journals.ts"
import type { MailTable } from "./mail.ts"
import { type RequestTable, type RequestText, toRequestText } from "./requests.ts"
import { IN_FLIGHT, type RunIdentity, runChecksum } from "./run-rows.ts"
import { type ThreadTable, type ThreadText, toThreadText } from "./threads.ts"

export interface Append {
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
}

const STANDING = {
  head: "integer",
  token: "integer",
  status: "text",
  workflow: "text",
  thread: "text?",
  updated_at: "time",
} as const

type StandingRow = { readonly id: number } & Row<typeof STANDING>

/** Why the append is refused, or undefined when it is made. */
export function appender(database: Database, tables: Tables): (append: Append) => SuperstepError | undefined {
  const headMover = (sum: string, cleared: string) =>
    database.prepare(
      `UPDATE runs SET head = ?1, bytes = bytes + ?2, updated_at = coalesce(?3, updated_at), state_sum = ${sum}${cleared}
       WHERE run_id = ?4 AND token = ?5 AND head = ?6`,
    )
  const moveHead = headMover(SUM_AFTER_APPEND, ", takeovers = 0, blamed = 0, trials = 0, died_with = NULL")
  const moveHeadForIntent = headMover(SUM_AFTER_INTENT, "")
  const create = database.prepare(
    `INSERT INTO runs (run_id, head, bytes, workflow, graph, status, key, thread, labels, fork_run, fork_seq,
       token, holder, created_at, updated_at, rested_at, sum)
     VALUES (?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const findStanding = database.prepare(`SELECT id, ${selected("runs", STANDING)} FROM runs WHERE run_id = ?`)
  const findByKey = database.prepare(`SELECT ${jsonBytes("run_id")} AS run_id FROM runs WHERE key = ?`)
  const findInThread = database.prepare(
    `SELECT ${jsonBytes("run_id")} AS run_id FROM runs WHERE thread = ? AND ${IN_FLIGHT}`,
  )
  const setStatus = database.prepare(
    "UPDATE runs SET status = ?, error = NULL, error_sum = NULL WHERE id = ?",
  )
  const end = database.prepare(
    `UPDATE runs SET status = ?, error = ?, error_sum = ?, holder = NULL, wake_at = NULL, rested_at = updated_at
     WHERE id = ?`,
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

  /** Why the lease may not write after this record. */
  function refusal({ runId, token }: Lease, expectedSeq: number, run: StandingRow | undefined) {
    if (run === undefined) return storeErrors.journalConflict(runId, expectedSeq, 0)
    if (run.token !== token) return storeErrors.runTaken(runId)
    return run.head === expectedSeq ? undefined : storeErrors.journalConflict(runId, expectedSeq, run.head)
  }

  /** Why a run could not be made. */
  function obstacle({ runId }: Lease, { key, thread }: RunCreated): SuperstepError | undefined {
    if (standing(toText(runId)) !== undefined) return storeErrors.runExists(runId)
    const sameKey = key === undefined ? undefined : other(findByKey.all(toText(key)))
    if (sameKey !== undefined) return storeErrors.keyTaken(key as string, sameKey)
    const busy = thread === undefined ? undefined : other(findInThread.all(toText(thread)))
    return busy === undefined ? undefined : storeErrors.threadBusy(thread as string, busy)
  }

  function make(
    { lease, expectedSeq, records, bodies }: Append,
    created: RunCreated,
  ): SuperstepError | undefined {
    const { forkOf, thread, threadVersion } = created
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
      forkOf: past === undefined ? null : toTextOrNull(forkOf?.runId),
      forkSeq: expectedSeq,
      createdAt: records[0]?.entry.at ?? 0,
    }
    const { changes } = create.run(
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
    )
    return changes === 0 ? obstacle(lease, created) : undefined
  }

  /** The usual append: one row is changed, and one made for each record. */
  function move(append: Append, runId: string): SuperstepError | undefined {
    const { lease, expectedSeq, records, bodies, change } = append
    const at = records.at(-1)?.entry.at ?? null
    const head = expectedSeq + records.length
    const statement = change?.intent === true ? moveHeadForIntent : moveHead
    const { changes } = statement.run(head, sizeOf(bodies), at, runId, lease.token, expectedSeq)
    return changes === 0 ? refusal(lease, expectedSeq, standing(runId)) : undefined
  }

  /** Another run may have taken the thread of a run that ended and is resumed. */
  function threadTaken({ lease, expectedSeq, change }: Append, runId: string): SuperstepError | undefined {
    const status = change?.status
    if (status === undefined || hasEnded({ status })) return undefined
    const run = standing(runId)
    if (
      run === undefined ||
      run.thread === null ||
      !hasEnded({ status: decodeText(run.status, damagedRun(runId)) as StoredStatus })
    ) {
      return undefined
    }
    const thread = decodeText(run.thread, damagedRun(runId))
    const busy = other(findInThread.all(thread), runId)
    if (busy === undefined) return undefined
    return refusal(lease, expectedSeq, run) ?? storeErrors.threadBusy(shownName(thread), busy)
  }

  function apply(runId: string, run: StandingRow, change: RunChange, texts: ChangeTexts): void {
    for (const graph of texts.graphs) tables.graphs.add(run.id, graph)
    if (change.graph !== undefined) setGraph.run(toText(change.graph), run.id)
    if (change.idle !== undefined) {
      const wakeAt = change.idle === false ? null : (change.idle.wakeAt ?? null)
      setIdle.run(change.idle === false ? 1 : 0, wakeAt, run.id)
    }
    for (const id of change.mail ?? []) tables.mail.settle(id, { ok: true })
    if (texts.opened.length > 0) {
      const workflow = decodeText(run.workflow, damagedRun(runId))
      for (const request of texts.opened) tables.requests.open({ id: run.id, name: runId, workflow }, request)
    }
    for (const request of change.closed ?? []) tables.requests.close(run.id, request)
    if (texts.thread.length > 0 && run.thread !== null) {
      tables.threads.add(decodeText(run.thread, damagedRun(runId)), texts.thread)
    }
    if (change.status === undefined) return
    if (!hasEnded({ status: change.status })) setStatus.run(change.status, run.id)
    else {
      const { error } = texts
      end.run(change.status, error, error === null ? null : checksum([runId], error), run.id)
      tables.requests.withdrawAll(run.id, run.updated_at)
    }
  }

  function keepBlobs(run: number, { records, bodies }: Append): void {
    let bytes = 0
    bodies.forEach((body, i) => {
      if (body.places === null) return
      tables.blobs.keep(run, (records[i] as JournalRecord).seq, body)
      bytes += body.bytes - Buffer.byteLength(body.text)
    })
    if (bytes > 0) addBlobBytes.run(bytes, run)
  }

  return (append) => {
    const { change, records, bodies, texts } = append
    const runId = toText(append.lease.runId)
    const refused = change?.created
      ? make(append, change.created)
      : (threadTaken(append, runId) ?? move(append, runId))
    if (refused !== undefined) return refused
    tables.journals.add(runId, records, bodies)
    if (!changesMore(change) && bodies.every(({ places }) => places === null)) return undefined
    const run = standing(runId) as StandingRow
    keepBlobs(run.id, append)
    if (change !== undefined) apply(runId, run, change, texts)
    return undefined
  }
}

function damagedRun(runId: string): Subject {
  return () => `Run "${shownName(runId)}" is damaged`
}

/** Whether the change has more than the creation of the run. */
function changesMore(change: RunChange | undefined): boolean {
  if (change === undefined) return false
  const { created: _, ...more } = change
  return Object.values(more).some((part) => part !== undefined)
}

function sizeOf(bodies: readonly Body[]): number {
  return bodies.reduce((sum, { bytes }) => sum + bytes, 0)
}

const NONE: ChangeTexts = { graphs: [], opened: [], thread: [], error: null, bytes: 0 }

/** Throws STORE_WRITE_FAILED for a value that JSON cannot hold. */
export function toChangeTexts(runId: string, change: RunChange | undefined): ChangeTexts {
  if (change === undefined) return NONE
  try {
    const graphs = (change.graphs ?? []).map(({ hash, graph }) => toGraphText(hash, graph))
    const opened = (change.opened ?? []).map(toRequestText)
    const thread = (change.thread ?? []).map(toThreadText)
    const error = change.error === undefined ? null : JSON.stringify(change.error)
    const texts = [
      ...graphs.map(({ body }) => body),
      ...opened.map(({ body }) => body),
      ...thread.map(({ value }) => value),
      ...(error === null ? [] : [error]),
    ]
    return { graphs, opened, thread, error, bytes: texts.reduce((sum, text) => sum + text.length, 0) }
  } catch (error) {
    throw writeFailed(`What changes with the journal of run "${runId}" cannot be written as JSON`, error)
  }
}
