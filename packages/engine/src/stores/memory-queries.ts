/** Runs and questions that the memory store is asked for. */
import type { RequestQuery, RunQuery, StoredRequest, StoredRun } from "../runtime/index.ts"
import { type RequestRow, type Row, storedRun, type Tables } from "./memory-rows.ts"

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

function matches({ runId, created, status }: Row, query: RunQuery): boolean {
  if (query.workflow !== undefined && query.workflow !== created.workflow) return false
  if (query.status !== undefined && !query.status.includes(status)) return false
  if (query.thread !== undefined && query.thread !== created.thread) return false
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
