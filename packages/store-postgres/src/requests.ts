/** The questions of all runs: opened and closed with the records that say so, and found without reading those. */
import type { OpenRequest, RequestQuery, StoredRequest } from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import type { Database } from "./database.ts"
import { parseName, parseSealed, toText } from "./names.ts"

interface RequestRow {
  readonly run_id: string
  readonly request_id: string
  readonly workflow: string
  readonly outcome: StoredRequest["outcome"]
  readonly closed_at: number | null
  readonly closed_by: string | null
  readonly body: string
}

/** Oldest first. */
export async function listRequests(
  database: Database,
  query: RequestQuery,
): Promise<readonly StoredRequest[]> {
  const { text, values } = toSql(query)
  return (await database.read<RequestRow>("The list of requests", { text }, values)).map((row) =>
    toStoredRequest(row, database.codec),
  )
}

function toSql(query: RequestQuery): { text: string; values: unknown[] } {
  const { runId, workflow, to, outcome = ["open"], after, limit } = query
  const values: unknown[] = [limit ?? null]
  const value = (one: string) => `$${values.push(one)}::text`
  const conditions: string[] = []
  if (runId !== undefined) {
    conditions.push(`q.run = (SELECT id FROM $.runs WHERE run_id = ${value(toText(runId))})`)
  }
  // A run's own requests are few: what else is asked of them is no reason to look elsewhere.
  const isOfRun = runId !== undefined
  const equals = (column: string, one: string) =>
    isOfRun ? `${column} || '' = ${value(one)}` : `${column} = ${value(one)}`
  const order: string[] = []
  if (workflow !== undefined) {
    conditions.push(equals("q.workflow", toText(workflow)))
    if (to === undefined) order.push("q.workflow")
  }
  if (to !== undefined) {
    conditions.push(equals("q.recipient", toText(to)))
    order.push("q.recipient")
  }
  if (after !== undefined) {
    conditions.push(`q.id > (
      SELECT a.id FROM $.requests AS a JOIN $.runs AS r ON r.id = a.run
      WHERE r.run_id = ${value(toText(after.runId))} AND a.request_id = ${value(toText(after.id))})`)
  }
  // A page of each outcome, and the first of them: within one outcome the index has the requests in order.
  const branches = [...new Set(outcome)].map((one) => {
    const all = [...conditions, equals("q.outcome", one)].join(" AND ")
    const by = isOfRun ? ["q.id"] : [...order, "q.outcome", "q.id"]
    return `(SELECT q.id FROM $.requests AS q WHERE ${all} ORDER BY ${by.join(", ")} LIMIT $1::bigint)`
  })
  if (branches.length === 0) branches.push("SELECT NULL::bigint AS id WHERE false")
  const text = `
    SELECT r.run_id, q.request_id, q.workflow, q.outcome, q.closed_at, q.closed_by, q.body
    FROM (${branches.join(" UNION ALL ")}) AS page
    JOIN $.requests AS q ON q.id = page.id JOIN $.runs AS r ON r.id = q.run
    ORDER BY q.id LIMIT $1::bigint`
  return { text, values }
}

function toStoredRequest(row: RequestRow, codec: ValueCodec): StoredRequest {
  const subject = () => `Request "${row.request_id}" of run "${row.run_id}" is damaged`
  return {
    ...(parseSealed(codec, row.body, subject, "request", row.run_id, row.request_id) as OpenRequest),
    runId: parseName(row.run_id, subject),
    workflow: parseName(row.workflow, subject),
    outcome: row.outcome,
    ...(row.closed_at === null ? {} : { closedAt: row.closed_at }),
    ...(row.closed_by === null ? {} : { by: parseName(row.closed_by, subject) }),
  }
}
