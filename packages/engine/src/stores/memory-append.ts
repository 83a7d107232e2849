/** One append to the memory store: every check comes before the first change, so that it is atomic. */
import type { OpenRequest } from "../core/index.ts"
import { freezeData } from "../core/internal.ts"
import {
  type ClosedRequest,
  eventsOf,
  hasEnded,
  type JournalRecord,
  type Lease,
  queueScore,
  type RunChange,
  type RunCreated,
  storeErrors,
} from "../runtime/index.ts"
import { rest, setOutcome } from "./memory-leases.ts"
import { endOf, enterGroup, leaveGroup, type Row, type Tables, useGraph } from "./memory-rows.ts"
import { addEvents } from "./memory-subscriptions.ts"

export function append(
  tables: Tables,
  lease: Lease,
  expectedSeq: number,
  records: readonly JournalRecord[],
  change: RunChange | undefined,
): undefined {
  const created = change?.created
  let row: Row
  if (created === undefined) {
    row = rowToWrite(tables, lease)
    const end = endOf(row)
    if (end !== expectedSeq) throw storeErrors.journalConflict(lease.runId, expectedSeq, end)
    if (change?.status !== undefined && !hasEnded({ status: change.status }))
      refuseBusyThread(tables, row.created, row)
  } else {
    row = newRow(tables, lease, expectedSeq, created, records[0]?.entry.at ?? 0, change)
    insert(tables, row)
  }
  for (const record of records) row.journal.push(freezeData(record))
  const last = records.at(-1)
  if (last !== undefined) row.updatedAt = last.entry.at
  if (change?.intent !== true) {
    row.takeovers = 0
    row.blamed = false
    row.trials = 0
    row.diedWith = undefined
  }
  if (change === undefined) return
  apply(tables, row, change)
  addEvents(tables, row, eventsOf(change, records))
}

/** The row of a valid lease. */
function rowToWrite(tables: Tables, lease: Lease): Row {
  const row = tables.runs.get(lease.runId)
  if (row === undefined) throw storeErrors.journalConflict(lease.runId, 0, 0)
  if (row.token !== lease.token) throw storeErrors.runTaken(lease.runId)
  return row
}

function newRow(
  tables: Tables,
  lease: Lease,
  expectedSeq: number,
  created: RunCreated,
  at: number,
  change: RunChange | undefined,
): Row {
  const { runId } = lease
  if (tables.runs.has(runId)) throw storeErrors.runExists(runId)
  const sameKey = created.key === undefined ? undefined : tables.keys.get(created.key)
  if (sameKey !== undefined) throw storeErrors.keyTaken(created.key as string, sameKey.runId)
  const { thread, threadVersion, queued = false, flow = {} } = created
  const grouped = flow.group === undefined ? undefined : tables.groups.get(flow.group)
  if (grouped !== undefined) throw storeErrors.groupTaken(flow.group as string, grouped.runId)
  refuseBusyThread(tables, created)
  if (thread !== undefined && threadVersion !== undefined) {
    if ((tables.threads.get(thread)?.length ?? 0) !== threadVersion) throw storeErrors.threadMoved(thread)
  }
  const { forkOf } = created
  const parent = forkOf && tables.runs.get(forkOf.runId)
  const base = forkOf === undefined ? 0 : Math.min(forkOf.seq, parent === undefined ? 0 : endOf(parent))
  if (expectedSeq !== base || base !== (forkOf?.seq ?? 0))
    throw storeErrors.journalConflict(runId, expectedSeq, base)
  return {
    runId,
    created: freezeData(created),
    parent,
    base,
    journal: [],
    requests: new Map(),
    graphs: new Set(),
    graph: created.graph,
    status: queued ? "queued" : "running",
    statusBefore: "running",
    createdAt: at,
    updatedAt: at,
    token: lease.token,
    holder: queued ? undefined : lease.holder,
    wakeAt: undefined,
    executing: !queued,
    score: queueScore((change?.idle || undefined)?.wakeAt ?? at, flow),
    group: queued ? flow.group : undefined,
    takeovers: 0,
    blamed: false,
    trials: 0,
    diedWith: undefined,
    pinned: false,
    error: undefined,
    forks: 0,
    snapshot: undefined,
    snapshotBytes: 0,
    measured: 0,
    measuredBytes: 0,
  }
}

function refuseBusyThread(tables: Tables, { thread }: RunCreated, but?: Row): void {
  const other = thread === undefined ? undefined : tables.busy.get(thread)
  if (other !== undefined && other !== but) throw storeErrors.threadBusy(thread as string, other.runId)
}

function insert(tables: Tables, row: Row): void {
  tables.runs.set(row.runId, row)
  useGraph(tables, row, row.graph)
  if (row.created.key !== undefined) tables.keys.set(row.created.key, row)
  if (row.parent !== undefined) row.parent.forks++
  enterFlight(tables, row)
}

function apply(tables: Tables, row: Row, change: RunChange): void {
  if (change.graphs !== undefined) {
    for (const { hash, graph } of change.graphs) {
      if (!tables.graphs.has(hash)) tables.graphs.set(hash, freezeData(graph))
      useGraph(tables, row, hash)
    }
  }
  if (change.graph !== undefined) {
    row.graph = change.graph
    useGraph(tables, row, change.graph)
  }
  if (change.opened !== undefined) for (const request of change.opened) open(tables, row, freezeData(request))
  if (change.closed !== undefined) for (const closed of change.closed) close(row, closed)
  if (change.idle !== undefined) rest(row, change.idle)
  if (change.mail !== undefined) for (const id of change.mail) setOutcome(tables, id, { ok: true })
  if (change.thread !== undefined && row.created.thread !== undefined) {
    freezeData(change.thread)
    const writes = tables.threads.get(row.created.thread)
    if (writes === undefined) tables.threads.set(row.created.thread, [...change.thread])
    else for (const write of change.thread) writes.push(write)
  }
  if (change.status !== undefined) {
    row.status = change.status
    row.error = hasEnded({ status: change.status }) ? change.error : undefined
    if (hasEnded({ status: change.status })) leaveFlight(tables, row)
    else enterFlight(tables, row)
  }
}

function enterFlight(tables: Tables, row: Row): void {
  tables.inFlight.add(row)
  enterGroup(tables, row)
  if (row.created.thread !== undefined) tables.busy.set(row.created.thread, row)
}

function leaveFlight(tables: Tables, row: Row): void {
  tables.inFlight.delete(row)
  leaveGroup(tables, row)
  const { thread } = row.created
  if (thread !== undefined && tables.busy.get(thread) === row) tables.busy.delete(thread)
  row.holder = undefined
  row.wakeAt = undefined
  for (const request of row.requests.values()) {
    if (request.outcome !== "open" && request.outcome !== "delivering") continue
    request.outcome = "withdrawn"
    request.closedAt = row.updatedAt
  }
}

/** A request that is opened again keeps its place. */
function open(tables: Tables, row: Row, request: OpenRequest): void {
  const known = row.requests.get(request.id)
  if (known !== undefined) {
    known.request = request
    known.outcome = "open"
    known.closedAt = undefined
    known.by = undefined
    return
  }
  const added = { row, request, outcome: "open", closedAt: undefined, by: undefined } as const
  row.requests.set(request.id, added)
  tables.requests.add(added)
}

function close(row: Row, { id, outcome, at, by }: ClosedRequest): void {
  const request = row.requests.get(id)
  if (request === undefined) return
  request.outcome = outcome
  request.closedAt = at
  request.by = by
}
