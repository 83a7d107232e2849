/** The questions of all runs: opened and closed with the records that say so, and found without reading those. */
import type { ClosedRequest, OpenRequest, RequestQuery, StoredRequest } from "@superstep/engine"
import { type Database, preparedOnce, type Value } from "./driver.ts"
import { type JsonBytes, jsonBytes, parseJson } from "./json-column.ts"
import { fromText, toText, toTextOrNull } from "./text.ts"

export interface RequestTable {
  /** One that is opened again keeps its place. */
  open(run: number, workflow: string, request: OpenRequest): void
  close(run: number, request: ClosedRequest): void
  withdrawAll(run: number, at: number): void
  removeAll(run: number): void
  /** Oldest first: in the order in which they came into this file. */
  list(query: RequestQuery): readonly StoredRequest[]
}

interface RequestRow {
  readonly run_id: string
  readonly request_id: string
  readonly workflow: string
  readonly outcome: StoredRequest["outcome"]
  readonly closed_at: number | null
  readonly closed_by: string | null
  readonly body: JsonBytes
}

export function requestTable(database: Database): RequestTable {
  const prepare = preparedOnce(database)
  const open = database.prepare(
    `INSERT INTO requests (run, request_id, workflow, recipient, outcome, body) VALUES (?, ?, ?, ?, 'open', ?)
     ON CONFLICT (run, request_id) DO UPDATE SET recipient = excluded.recipient, outcome = 'open',
       closed_at = NULL, closed_by = NULL, body = excluded.body`,
  )
  const close = database.prepare(
    "UPDATE requests SET outcome = ?, closed_at = ?, closed_by = ? WHERE run = ? AND request_id = ?",
  )
  const withdrawAll = database.prepare(
    "UPDATE requests SET outcome = 'withdrawn', closed_at = ? WHERE run = ? AND +outcome = 'open'",
  )
  const removeAll = database.prepare("DELETE FROM requests WHERE run = ?")

  return {
    open(run, workflow, request) {
      open.run(run, toText(request.id), workflow, toTextOrNull(request.to), JSON.stringify(request))
    },
    close(run, { id, outcome, at, by }) {
      close.run(outcome, at, toTextOrNull(by), run, toText(id))
    },
    withdrawAll: (run, at) => void withdrawAll.run(at, run),
    removeAll: (run) => void removeAll.run(run),
    list(query) {
      const { sql, values } = toSql(query)
      return (prepare(sql).all(...values) as RequestRow[]).map(toStoredRequest)
    },
  }
}

function toSql(query: RequestQuery): { sql: string; values: Value[] } {
  const { runId, workflow, to, outcome = ["open"], after, limit = -1 } = query
  const conditions: string[] = []
  const values: Value[] = []
  const add = (condition: string, ...of: string[]) => {
    conditions.push(condition)
    values.push(...of.map(toText))
  }
  if (runId !== undefined) add("run = (SELECT id FROM runs WHERE run_id = ?)", runId)
  if (workflow !== undefined) add(`${indexed(runId === undefined)}workflow = ?`, workflow)
  if (to !== undefined) add(`${indexed(runId === undefined)}recipient = ?`, to)
  if (after !== undefined) {
    const place = "SELECT requests.id FROM requests JOIN runs ON runs.id = requests.run"
    add(`id > (${place} WHERE runs.run_id = ? AND requests.request_id = ?)`, after.runId, after.id)
  }
  conditions.push(`${indexed(runId === undefined)}outcome = wanted.value`)
  // A page of each outcome, and the first of them: within one outcome the index has the requests in order.
  const sql = `
    SELECT runs.run_id, requests.request_id, requests.workflow, requests.outcome, requests.closed_at,
      requests.closed_by, ${jsonBytes("requests.body")} AS body
    FROM json_each(?) AS wanted CROSS JOIN requests CROSS JOIN runs ON runs.id = requests.run
    WHERE requests.id IN (SELECT id FROM requests WHERE ${conditions.join(" AND ")} ORDER BY id LIMIT ?)
    ORDER BY requests.id LIMIT ?`
  return { sql, values: [JSON.stringify([...new Set(outcome)]), ...values, limit, limit] }
}

/** SQLite looks for what has no plus before it; a run's own requests are fewest. */
function indexed(is: boolean): "" | "+" {
  return is ? "" : "+"
}

function toStoredRequest(row: RequestRow): StoredRequest {
  const [runId, id] = [fromText(row.run_id), fromText(row.request_id)]
  const request = parseJson(row.body, () => `Request "${id}" of run "${runId}" is damaged`) as OpenRequest
  return {
    ...request,
    runId,
    workflow: fromText(row.workflow),
    outcome: row.outcome,
    ...(row.closed_at === null ? {} : { closedAt: row.closed_at }),
    ...(row.closed_by === null ? {} : { by: fromText(row.closed_by) }),
  }
}
