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
import type { Database, Value } from "../file/driver.ts"
import { corrupt, type Subject, writeFailed } from "../file/errors.ts"
import { IS_CURRENT } from "../file/schema.ts"
import type { MailTable } from "../lease/mail.ts"
import type { ClaimedRun, QueueTable } from "../lease/queue.ts"
import { type RequestTable, type RequestText, toRequestText } from "../runs/requests.ts"
import type { LabelTable } from "../runs/run-labels.ts"
import type { NameIndex } from "../runs/run-names.ts"
import { END_COLUMNS, type EndRow, IN_FLIGHT, type RunIdentity, runChecksum } from "../runs/run-rows.ts"
import type { SubscriptionTable } from "../runs/subscriptions.ts"
import type { BlobTable } from "./blobs.ts"
import { type GraphTable, type GraphText, toGraphText } from "./graphs.ts"
import { IS_OPEN, isEndSound, WITH_END } from "./journal-end.ts"
import type { JournalTable, RecordBody, SnapshotTable } from "./journals.ts"
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

type StandingRow = { readonly id: number; readonly is_sound: number; readonly is_open: number } & EndRow &
  Row<typeof STANDING>

/** A run that an append writes to. */
interface Target {
  readonly id: number
  /** As the file has them. */
  readonly workflow: string
  readonly thread: string | null
  /** Whether a process executed it before the append (S6). */
  readonly isOpen: boolean
  /** Whether it may have requests. */
  readonly mayAsk: boolean
  /** Where its journal ends. */
  readonly head: number
  readonly bytes: number
  readonly at: number
}

export interface Appender {
  /** Why the append is refused, or undefined when it is made. */
  make(append: Append): SuperstepError | undefined
  /**
   * Makes the first of these appends of records only, without reading anything. Returns how many it has made, or undefined
   * when it has made only a part of what it tried.
   */
  follow(appends: readonly Append[]): number | undefined
  /** The run begins or ceases to be executed, without an append. */
  setOpen(runId: string, isOpen: boolean): void
  /** Nobody holds the run any more: the next process to claim it gets another token. */
  setReleased(runId: string): void
  /** The run was claimed within this transaction. */
  setClaimed(claimed: ClaimedRun): void
  /** A transaction was rolled back: forgets the journal ends that it wrote. */
  forget(): void
}

/** The end of a journal: nobody else writes to it as long as the run has this token. */
interface KnownEnd extends Target {
  readonly token: number
  isOpen: boolean
  /** Whether it may be under suspicion: `follow` would refuse its records, and those beside them. */
  readonly isSuspect: boolean
  head: number
  bytes: number
  at: number
}

const MAX_KNOWN = 10_000

/** `outdated` says why nothing may be changed: the statements that make the usual appends only check that it may be. */
export function appender(
  database: Database,
  tables: Tables,
  outdated: () => SuperstepError | undefined,
): Appender {
  const ends = new Map<string, KnownEnd>()
  const headMover = (sum: string, cleared: string) =>
    database.prepare(
      `UPDATE runs SET head = ?1, bytes = ?2, updated_at = ?3, state_sum = ${sum}${cleared}
       WHERE id = ?4 AND ${isStillOpen("?5")}`,
    )
  const moveHead = headMover(SUM_AFTER_APPEND, ", takeovers = 0, blamed = 0, trials = 0, died_with = NULL")
  const moveHeadForIntent = headMover(SUM_AFTER_INTENT, "")
  const columns = `run_id, head, bytes, workflow, graph, key, thread, labels, fork_run, fork_seq, token, holder, created_at,
    updated_at, rested_at, sum, status, blob_bytes, wake_at, takeovers, pinned, executing, blamed, trials`
  // With the sums that the trigger would otherwise add by a second update. ?17 whether the graph must be there.
  const insert = database.prepare(
    `WITH NEW (${columns}) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', 0, NULL, 0, 0, 1, 0, 0))
     INSERT INTO runs (${columns}, state_sum, state) SELECT ${columns}, ${MADE_SUM}, ${MADE_STATE} FROM NEW
     WHERE ${IS_CURRENT} AND (? = 0 OR EXISTS (SELECT 1 FROM graphs WHERE hash = NEW.graph))
     ON CONFLICT DO NOTHING`,
  )
  const findStanding = database.prepare(
    `SELECT runs.id, ${END_COLUMNS}, ${selected("runs", STANDING)}, ${isEndSound("last")} AS is_sound, ${IS_OPEN} AS is_open
     FROM runs ${WITH_END} WHERE runs.run_id = ?`,
  )
  const findByKey = database.prepare(`SELECT ${jsonBytes("run_id")} AS run_id FROM runs WHERE key = ?`)
  const findInThread = database.prepare(
    `SELECT ${jsonBytes("run_id")} AS run_id FROM runs WHERE thread = ? AND ${IN_FLIGHT}`,
  )
  const setStatus = database.prepare(
    "UPDATE runs SET status = ?, error = NULL, error_sum = NULL WHERE id = ?",
  )
  // ?1 head, ?2 bytes, ?3 time, ?4 run, ?5 status, ?6 error, ?7 its sum, ?8 whether it executes, or null, ?9 token, or null
  const end = database.prepare(
    `UPDATE runs SET head = ?1, bytes = ?2, updated_at = ?3, rested_at = ?3, status = ?5, error = ?6, error_sum = ?7,
       holder = NULL, wake_at = NULL, executing = coalesce(?8, executing),
       takeovers = 0, blamed = 0, trials = 0, died_with = NULL, state_sum = ${SUM_AFTER_END}, state = ${STATE_AFTER_END}
     WHERE id = ?4 AND ${isStillOpen("?9")}`,
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
    { lease, expectedSeq, records, bodies, change, texts }: Append,
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
    const add = (needsGraph: boolean) =>
      insert.run(
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
        needsGraph ? 1 : 0,
      )
    // Most often the graph of a run is there: one statement does what two would.
    const isKnown = tables.graphs.wasStored(created.graph)
    let made = add(isKnown)
    if (isKnown && made.changes !== 0) tables.graphs.confirm(created.graph)
    else if (isKnown) made = add(false)
    if (made.changes === 0) {
      return outdated() ?? obstacle(lease, created) ?? storeErrors.runExists(lease.runId)
    }
    const id = Number(made.lastInsertRowid)
    tables.journals.add(id, { bytes: 0, at }, records, bodies)
    if (created.labels !== undefined) tables.labels.add(id, created.labels)
    if (run.flow !== null) {
      const { wakeAt } = (change?.idle || undefined) ?? {}
      tables.queue.enter(id, created, { holder: lease.holder, at: run.createdAt, wakeAt })
    }
    return {
      id,
      workflow: run.workflow,
      thread: run.thread,
      isOpen: run.flow === null,
      mayAsk: texts.opened.length > 0,
      head: expectedSeq + records.length,
      bytes: sizeOf(bodies),
      at,
    }
  }

  /** Adds the records, and writes the new end of the journal into the run's row. */
  function move(append: Append, runId: string): Target | SuperstepError {
    const { lease, expectedSeq, change } = append
    const known = knownEnd(append)
    const moved = known && moveFrom(known, append, runId, lease.token)
    if (moved !== undefined) return moved
    const run = standing(runId)
    const refused = outdated() ?? refusal(lease, expectedSeq, run)
    if (run === undefined || refused !== undefined) {
      return refused ?? storeErrors.journalConflict(lease.runId, expectedSeq, 0)
    }
    const thread = decodeTextOrNull(run.thread, damagedRun(runId))
    // Another record would hide the damage.
    if (run.is_sound !== 1) throw corrupt(damagedRun(runId), "its state does not match the stored one")
    const busy = thread === null ? undefined : threadTaken(run, runId, thread, change)
    if (busy !== undefined) return busy
    const { id, head, bytes, updated_at: at } = run
    const workflow = decodeText(run.workflow, damagedRun(runId))
    const target = { id, workflow, thread, isOpen: run.is_open === 1, mayAsk: true, head, bytes, at }
    return moveFrom(target, append, runId, null) as Target
  }

  /** With a token, only if the run is still executed under it: undefined when it is not, and nothing has changed. */
  function moveFrom(
    run: Target,
    { records, bodies, change, texts }: Append,
    runId: string,
    token: number | null,
  ): Target | undefined {
    const head = run.head + records.length
    const bytes = run.bytes + sizeOf(bodies)
    const at = records.findLast(({ entry }) => Number.isFinite(entry.at))?.entry.at ?? run.at
    const { id, workflow, thread, isOpen } = run
    const mayAsk = run.mayAsk || texts.opened.length > 0
    const moved = { id, workflow, thread, isOpen, mayAsk, head, bytes, at }
    const statement = change?.intent === true ? moveHeadForIntent : moveHead
    const { changes } = endsRun(change)
      ? endRun(runId, moved, change, texts.error, token)
      : statement.run(head, bytes, at, id, token)
    if (changes === 0 && token !== null) return undefined
    tables.journals.add(id, run, records, bodies)
    return moved
  }

  /** Writes all of its row at once. */
  function endRun(
    runId: string,
    { id, head, bytes, at }: Target,
    { status, idle }: RunEnd,
    error: string | null,
    token: number | null,
  ) {
    const sum = error === null ? null : checksum([runId], error)
    const executing = idle === undefined ? null : idle === false ? 1 : 0
    return end.run(head, bytes, at, id, status, error, sum, executing, token)
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

  /** Of a run that is executed under the lease. */
  function knownEnd({ lease, expectedSeq }: Append): KnownEnd | undefined {
    const known = ends.get(lease.runId)
    if (known?.token !== lease.token || known.head !== expectedSeq || !known.isOpen) return undefined
    return known
  }

  /** The usual appends: a row for each record, and nothing else. */
  function follow(appends: readonly Append[]): number | undefined {
    const values: Value[] = []
    let made = 0
    for (const append of appends) {
      const known = knownEnd(append)
      if (known === undefined || known.isSuspect) break
      addRows(values, known, append)
      made += 1
    }
    const { rows, added } = tables.journals.follow(values)
    if (added === rows) return made
    for (const { lease } of appends.slice(0, made)) ends.delete(lease.runId)
    return added === 0 ? 0 : undefined
  }

  function addRows(values: Value[], known: KnownEnd, { records, bodies }: Append): void {
    for (let i = 0; i < records.length; i++) {
      const { seq, events, entry } = records[i] as JournalRecord
      const { frame, text, sum, bytes } = bodies[i] as RecordBody
      known.head = seq
      known.bytes += bytes
      known.at = entry.at
      values.push(known.id, known.token, seq, frame, events, entry.at, known.bytes, text, sum)
    }
  }

  function know(runId: string, end: KnownEnd): void {
    if (ends.size >= MAX_KNOWN) ends.clear()
    ends.set(runId, end)
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
      if (change.created !== undefined && endsRun(change)) endRun(runId, run, change, texts.error, null)
      if (run.mayAsk) tables.requests.withdrawAll(run.id, run.at)
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
      const run = change?.created === undefined ? move(append, runId) : create(append, change.created)
      if (isSuperstepError(run)) return run
      if (endsRun(change)) ends.delete(lease.runId)
      else {
        const { token } = lease
        const isOpen = isOpenAfter(run, change)
        // An intent leaves the run under suspicion, if it is.
        const isSuspect = change?.intent === true
        const { id, workflow, thread, mayAsk, head, bytes, at } = run
        know(lease.runId, { id, workflow, thread, isOpen, isSuspect, mayAsk, head, bytes, at, token })
      }
      keepBlobs(run.id, append)
      if (change === undefined) return undefined
      apply(runId, run, change, texts)
      tables.subscriptions.addEvents({ runId, workflow: run.workflow }, eventsOf(change, append.records))
      return undefined
    },
    follow,
    setOpen(runId, isOpen) {
      const known = ends.get(runId)
      if (known !== undefined) known.isOpen = isOpen
    },
    setReleased: (runId) => void ends.delete(runId),
    setClaimed({ id, mayAsk, run }) {
      const { runId, token, status, seq: head, bytes, updatedAt: at } = run
      if (status !== "running") return
      const workflow = toText(run.workflow)
      const thread = toTextOrNull(run.thread)
      know(runId, { id, workflow, thread, isOpen: true, isSuspect: true, mayAsk, head, bytes, at, token })
    },
    forget: () => ends.clear(),
  }
}

/** Whether only records are written, none with a large value or with a time that is not a number. */
export function hasRecordsOnly(
  records: readonly JournalRecord[],
  bodies: readonly RecordBody[],
  change: RunChange | undefined,
): boolean {
  return (
    records.length > 0 &&
    !changesMore(change) &&
    bodies.every(({ places }) => places === null) &&
    records.every(({ entry }) => Number.isFinite(entry.at))
  )
}

type RunEnd = RunChange & { readonly status: StoredStatus }

function endsRun(change: RunChange | undefined): change is RunEnd {
  return change?.status !== undefined && hasEnded({ status: change.status })
}

function isOpenAfter({ isOpen }: Target, { status, idle }: RunChange = {}): boolean {
  const isOpened = status === "running" && idle === false
  return (isOpen || isOpened) && !idle && (status === undefined || status === "running")
}

/** A condition that always holds for a token that is null; for another one, only in a file of this version. */
function isStillOpen(token: string): string {
  return `(${token} IS NULL OR (token = ${token} AND ${IS_OPEN} AND ${IS_CURRENT}))`
}

function damagedRun(runId: string): Subject {
  return () => `Run "${shownName(runId)}" is damaged`
}

/** Whether the change contains more than the note that the records are intents. */
function changesMore(change: RunChange | undefined): boolean {
  for (const part in change) {
    if (part !== "intent" && change[part as keyof RunChange] !== undefined) return true
  }
  return false
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
