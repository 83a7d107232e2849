/** The tables of the memory store: rows that change in place, and their indexes. They are never returned to callers. */
import type { Json, OpenRequest, RequestId, RunId, RunStatus } from "../core/index.ts"
import { freezeData } from "../core/internal.ts"
import {
  type ClosedRequest,
  type ConsumerFailure,
  type Holder,
  type JournalRecord,
  type LaneLimit,
  type Lease,
  type Mail,
  type MailOutcome,
  type RequestQuery,
  type RunCreated,
  type RunFailure,
  type RunQuery,
  type Snapshot,
  type StoredEvent,
  type StoredRequest,
  type StoredRun,
  type StoredStatus,
  storeErrors,
  type ThreadWrite,
  type TimeRange,
} from "../runtime/index.ts"

export interface Row {
  readonly runId: RunId
  readonly created: RunCreated
  /** The run whose records precede its own, and how many. */
  readonly parent: Row | undefined
  readonly base: number
  /** Its own records. */
  readonly journal: JournalRecord[]
  readonly requests: Map<RequestId, RequestRow>
  /** Hashes of the graphs that it stored or names. */
  readonly graphs: Set<string>
  graph: string
  status: StoredStatus
  /** The status of a quarantined run before the quarantine. */
  statusBefore: RunStatus
  createdAt: number
  updatedAt: number
  token: number
  holder: string | undefined
  wakeAt: number | undefined
  executing: boolean
  takeovers: number
  blamed: boolean
  trials: number
  /** Its place among queued runs: lower is earlier. */
  readonly score: number
  /** Of a queued run that takes further input. */
  group: string | undefined
  /** The holder whose death was counted last. */
  diedWith: string | undefined
  pinned: boolean
  error: RunFailure | undefined
  /** The number of forks of this run. */
  forks: number
  snapshot: Snapshot | undefined
  snapshotBytes: number
  /** The number of records whose size is known: sizes are computed on demand. */
  measured: number
  measuredBytes: number
}

interface HolderRow {
  readonly holder: Holder
  readonly beat: number
  /** A run was taken from it since its last heartbeat. */
  taken: boolean
}

export interface RequestRow {
  readonly row: Row
  request: OpenRequest
  outcome: StoredRequest["outcome"]
  closedAt: number | undefined
  by: ClosedRequest["by"]
}

export interface QueueState {
  readonly limits: Map<string, LaneLimit>
  /** The names of the limits of each workflow. */
  readonly limitsOf: Map<string, readonly string[]>
  /** By lane: until when its starts are paid for. */
  readonly paid: Map<string, number>
  /** By tenant: which claim was its last. */
  readonly served: Map<string, number>
  claims: number
}

export interface EventLog {
  /** In order. */
  kept: StoredEvent[]
  /** The position of the newest. */
  last: number
  readonly consumers: Map<string, ConsumerRow>
}

export interface ConsumerRow {
  position: number
  failure: ConsumerFailure | undefined
  missed: number
  holder: string | undefined
  token: number
}

export interface Tables {
  /** In the order of their creation; so are the requests. */
  readonly runs: Map<RunId, Row>
  readonly requests: Set<RequestRow>
  readonly inFlight: Set<Row>
  readonly keys: Map<string, Row>
  /** The run in flight of each thread. */
  readonly busy: Map<string, Row>
  readonly graphs: Map<string, Json>
  /** How many runs use each graph. */
  readonly graphUses: Map<string, number>
  readonly holders: Map<string, HolderRow>
  /** Mail without an outcome, in the order it was posted. */
  readonly mail: Map<string, Mail>
  /** Outcomes that their senders have not read, with the mail. */
  readonly outcomes: Map<string, { readonly mail: Mail; readonly outcome: MailOutcome }>
  readonly threads: Map<string, ThreadWrite[]>
  /** The queued run of each group. */
  readonly groups: Map<string, Row>
  readonly queue: QueueState
  readonly log: EventLog
}

export function emptyTables(): Tables {
  return {
    runs: new Map(),
    requests: new Set(),
    inFlight: new Set(),
    keys: new Map(),
    busy: new Map(),
    graphs: new Map(),
    graphUses: new Map(),
    holders: new Map(),
    mail: new Map(),
    outcomes: new Map(),
    threads: new Map(),
    groups: new Map(),
    queue: { limits: new Map(), limitsOf: new Map(), paid: new Map(), served: new Map(), claims: 0 },
    log: { kept: [], last: 0, consumers: new Map() },
  }
}

export function enterGroup(tables: Tables, row: Row): void {
  if (row.group !== undefined) tables.groups.set(row.group, row)
}

/** A run that is no longer queued takes no further input. */
export function leaveGroup(tables: Tables, row: Row): void {
  if (row.group !== undefined && tables.groups.get(row.group) === row) tables.groups.delete(row.group)
  row.group = undefined
}

export function endOf(row: Row): number {
  return row.base + row.journal.length
}

export function useGraph(tables: Tables, row: Row, hash: string): void {
  if (row.graphs.has(hash)) return
  row.graphs.add(hash)
  tables.graphUses.set(hash, (tables.graphUses.get(hash) ?? 0) + 1)
}

/** Deletes the graphs of a deleted row that no other row uses. */
export function releaseGraphs(tables: Tables, row: Row): void {
  for (const hash of row.graphs) {
    const left = (tables.graphUses.get(hash) ?? 1) - 1
    if (left > 0) tables.graphUses.set(hash, left)
    else {
      tables.graphUses.delete(hash)
      tables.graphs.delete(hash)
    }
  }
}

/** The row's records after `afterSeq`, with those that it shares. */
export function recordsOf(
  row: Row,
  afterSeq: number,
  limit = Number.POSITIVE_INFINITY,
): readonly JournalRecord[] {
  let upTo = afterSeq + limit
  if (afterSeq >= row.base) return row.journal.slice(afterSeq - row.base, upTo - row.base)
  const parts: (readonly JournalRecord[])[] = []
  for (let one: Row | undefined = row; one !== undefined; one = one.parent) {
    if (upTo > one.base) {
      parts.push(one.journal.slice(Math.max(afterSeq - one.base, 0), upTo - one.base))
      upTo = one.base
    }
    if (afterSeq >= one.base) break
  }
  return parts.reverse().flat()
}

/** The size of the row's own records, up to the one with `seq`. */
export function journalBytes(row: Row, seq = endOf(row)): number {
  const count = seq - row.base
  if (count < row.measured) return bytesOf(row.journal.slice(0, count))
  row.measuredBytes += bytesOf(row.journal.slice(row.measured, count))
  row.measured = count
  return row.measuredBytes
}

function bytesOf(records: readonly JournalRecord[]): number {
  let bytes = 0
  for (const { entry } of records) bytes += JSON.stringify(entry).length
  return bytes
}

export function storedRun(row: Row): StoredRun {
  const seq = endOf(row)
  const { queued: _, threadVersion: __, flow, ...created } = row.created
  return {
    ...created,
    ...(flow === undefined ? {} : { flow: flow.group === row.group ? flow : { ...flow, group: undefined } }),
    runId: row.runId,
    graph: row.graph,
    status: row.status,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    seq,
    get bytes() {
      return journalBytes(row, seq)
    },
    token: row.token,
    holder: row.holder,
    wakeAt: row.wakeAt,
    executing: row.executing,
    takeovers: row.takeovers,
    blamed: row.blamed,
    trials: row.trials,
    pinned: row.pinned,
    ...(row.error === undefined ? {} : { error: row.error }),
  }
}

// Queries of the memory store for runs and requests.

export function runs(tables: Tables, query: RunQuery): readonly StoredRun[] {
  const rows = query.key === undefined ? [...tables.runs.values()].reverse() : withKey(tables, query.key)
  const found: StoredRun[] = []
  let within = query.before === undefined
  for (const row of rows) {
    if (found.length >= (query.limit ?? Number.POSITIVE_INFINITY)) break
    if (within && matches(row, query)) found.push(storedRun(row))
    if (row.runId === query.before) within = true
  }
  return found
}

function withKey(tables: Tables, key: string): readonly Row[] {
  const row = tables.keys.get(key)
  return row === undefined ? [] : [row]
}

function isWithin(time: number, { from, until }: TimeRange = {}): boolean {
  return (from === undefined || time >= from) && (until === undefined || time < until)
}

function matches(row: Row, query: RunQuery): boolean {
  const { runId, created, status } = row
  if (query.workflow !== undefined && query.workflow !== created.workflow) return false
  if (query.status !== undefined && !query.status.includes(status)) return false
  if (query.thread !== undefined && query.thread !== created.thread) return false
  if (!isWithin(row.createdAt, query.created) || !isWithin(row.updatedAt, query.updated)) return false
  const { text, labels = {} } = query
  for (const [name, value] of Object.entries(labels)) {
    if (created.labels === undefined || !Object.hasOwn(created.labels, name)) return false
    if (created.labels[name] !== value) return false
  }
  if (text === undefined) return true
  return runId.includes(text) || created.workflow.includes(text) || created.key?.includes(text) === true
}

export function requests(tables: Tables, query: RequestQuery): readonly StoredRequest[] {
  const { runId, workflow, to, outcome = ["open"], after, limit = Number.POSITIVE_INFINITY } = query
  const found: StoredRequest[] = []
  let within = after === undefined
  for (const one of tables.requests) {
    if (found.length >= limit) break
    const { row, request } = one
    if (
      within &&
      outcome.includes(one.outcome) &&
      (runId === undefined || row.runId === runId) &&
      (workflow === undefined || row.created.workflow === workflow) &&
      (to === undefined || request.to === to)
    ) {
      found.push(storedRequest(one))
    }
    if (request.id === after?.id && row.runId === after?.runId) within = true
  }
  return found
}

function storedRequest({ row, request, outcome, closedAt, by }: RequestRow): StoredRequest {
  return { ...request, runId: row.runId, workflow: row.created.workflow, outcome, closedAt, by }
}

export function saveSnapshot(
  tables: Tables,
  lease: Lease,
  snapshot: Snapshot,
): { readonly bytes: number; readonly journal: number } {
  const row = tables.runs.get(lease.runId)
  if (row === undefined || row.token !== lease.token) throw storeErrors.runTaken(lease.runId)
  if (row.snapshot === undefined || row.snapshot.seq < snapshot.seq) {
    row.snapshot = freezeData(snapshot)
    row.snapshotBytes = JSON.stringify(snapshot.data).length
  }
  return { bytes: row.snapshotBytes, journal: journalBytes(row) }
}

/** The state of a thread, folded from its writes. */
export function threadState(
  writes: readonly ThreadWrite[],
  version = writes.length,
): { readonly version: number; readonly state: { readonly [key: string]: Json } } {
  const state = new Map<string, Json>()
  /** Lists that were created here and may grow in place. */
  const own = new Map<string, Json[]>()
  const first = writes.slice(0, version)
  for (const { key, kind, value } of first) {
    if (kind === "set") {
      own.delete(key)
      state.set(key, value)
      continue
    }
    let list = own.get(key)
    if (list === undefined) {
      const before = state.get(key)
      list = Array.isArray(before) ? [...before] : []
      own.set(key, list)
      state.set(key, list)
    }
    if (Array.isArray(value)) for (const item of value) list.push(item)
    else list.push(value)
  }
  return { version: first.length, state: Object.fromEntries(state) }
}
