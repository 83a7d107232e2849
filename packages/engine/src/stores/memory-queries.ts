/** Queries of the memory store for runs and requests. */

import type { Json } from "../core/index.ts"
import { freezeData } from "../core/internal.ts"
import {
  type Lease,
  type RequestQuery,
  type RunQuery,
  type Snapshot,
  type StoredRequest,
  type StoredRun,
  storeErrors,
  type ThreadWrite,
  type TimeRange,
} from "../runtime/index.ts"
import { journalBytes, type RequestRow, type Row, storedRun, type Tables } from "./memory-rows.ts"

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
