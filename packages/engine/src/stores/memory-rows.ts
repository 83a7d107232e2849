/** The tables of the memory store: rows that change in place, and their indexes. They are never returned to callers. */
import type { Json, OpenRequest, RequestId, RunId, RunStatus } from "../core/index.ts"
import type {
  ClosedRequest,
  ConsumerFailure,
  Holder,
  JournalRecord,
  LaneLimit,
  Mail,
  MailOutcome,
  RunCreated,
  RunFailure,
  Snapshot,
  StoredEvent,
  StoredRequest,
  StoredRun,
  StoredStatus,
  ThreadWrite,
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
