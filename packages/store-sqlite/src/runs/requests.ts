/** The requests of all runs, written with the records that open and close them, and found without reading journals. */

import type { ClosedRequest, OpenRequest, RequestQuery, StoredRequest } from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import { check, checksum, REQUEST_IS_SOUND } from "../file/checksum.ts"
import {
  decodeName,
  decodeText,
  decodeTextOrNull,
  EACH_RUN,
  type JsonBytes,
  jsonBytes,
  parseName,
  parseSealed,
  type Row,
  type RunNumbers,
  selected,
  shownName,
  toText,
  toTextOrNull,
} from "../file/columns.ts"
import { type Database, preparedOnce, type Value } from "../file/driver.ts"
import { corrupt } from "../file/errors.ts"

export interface RequestTable {
  /** One that is opened again keeps its place. The run's names as the file has them. */
  open(
    run: { readonly id: number; readonly name: string; readonly workflow: string },
    request: RequestText,
  ): void
  close(run: number, request: ClosedRequest): void
  withdrawAll(run: number, at: number): void
  /** An answer to an open request is in the mail; or the run has refused it. The run's name as the file has it. */
  hold(name: string, request: string): void
  reopen(name: string, request: string): void
  removeAll(runs: RunNumbers): void
  /** Oldest first: in the order in which they came into this file. */
  list(query: RequestQuery): readonly StoredRequest[]
}

/** As the file has it. */
export interface RequestText {
  readonly id: string
  readonly to: string | null
  readonly body: string
}

export function toRequestText(runId: string, request: OpenRequest, codec: ValueCodec): RequestText {
  const id = toText(request.id)
  const body = codec.seal(JSON.stringify(request), "request", toText(runId), id)
  return { id, to: toTextOrNull(request.to), body }
}

const REQUEST = {
  request_id: "text",
  workflow: "text",
  recipient: "text?",
  outcome: "text",
  closed_at: "time?",
  closed_by: "text?",
  body: "text",
  sum: "integer?",
} as const

/** The columns of a SELECT from `requests` and `runs`. */
export const REQUEST_COLUMNS = `${jsonBytes("runs.run_id")} AS run_id, ${selected("requests", REQUEST)},
  ${REQUEST_IS_SOUND} AS is_sound`

export interface RequestRow extends Row<typeof REQUEST> {
  readonly run_id: JsonBytes
  readonly is_sound: number
}

const OUTCOMES: readonly string[] = [
  "open",
  "delivering",
  "answered",
  "expired",
  "withdrawn",
] satisfies StoredRequest["outcome"][]

export function requestTable(database: Database, codec: ValueCodec): RequestTable {
  const prepare = preparedOnce(database)
  const open = database.prepare(
    `INSERT INTO requests (run, request_id, workflow, recipient, outcome, body, sum) VALUES (?, ?, ?, ?, 'open', ?, ?)
     ON CONFLICT (run, request_id) DO UPDATE SET recipient = excluded.recipient, outcome = 'open',
       closed_at = NULL, closed_by = NULL, body = excluded.body, sum = excluded.sum`,
  )
  const close = database.prepare(
    "UPDATE requests SET outcome = ?, closed_at = ?, closed_by = ? WHERE run = ? AND request_id = ?",
  )
  const withdrawAll = database.prepare(
    "UPDATE requests SET outcome = 'withdrawn', closed_at = ? WHERE run = ? AND +outcome IN ('open', 'delivering')",
  )
  const move = database.prepare(
    `UPDATE requests SET outcome = ?1
     WHERE run = (SELECT id FROM runs WHERE run_id = ?2) AND request_id = ?3 AND +outcome = ?4`,
  )
  const removeAll = database.prepare(`DELETE FROM requests WHERE run IN ${EACH_RUN}`)

  return {
    open(run, { id, to, body }) {
      const sum = checksum([run.name, id, run.workflow, to], body)
      open.run(run.id, id, run.workflow, to, body, sum)
    },
    close(run, { id, outcome, at, by }) {
      close.run(outcome, at, toTextOrNull(by), run, toText(id))
    },
    withdrawAll: (run, at) => void withdrawAll.run(at, run),
    hold: (name, request) => void move.run("delivering", name, toText(request), "open"),
    reopen: (name, request) => void move.run("open", name, toText(request), "delivering"),
    removeAll: (runs) => void removeAll.run(runs),
    list(query) {
      const { sql, values } = toSql(query)
      return (prepare(sql).all(...values) as RequestRow[]).map((row) => toStoredRequest(row, codec))
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
    const ids = "SELECT requests.id FROM requests JOIN runs ON runs.id = requests.run"
    add(`id > (${ids} WHERE runs.run_id = ? AND requests.request_id = ?)`, after.runId, after.id)
  }
  conditions.push(`${indexed(runId === undefined)}outcome = wanted.value`)
  // A page of each outcome, and the first of them: within one outcome the index has the requests in order.
  const sql = `
    SELECT ${REQUEST_COLUMNS}
    FROM json_each(?) AS wanted CROSS JOIN requests CROSS JOIN runs ON runs.id = requests.run
    WHERE requests.id IN (SELECT id FROM requests WHERE ${conditions.join(" AND ")} ORDER BY id LIMIT ?)
    ORDER BY requests.id LIMIT ?`
  return { sql, values: [JSON.stringify([...new Set(outcome)]), ...values, limit, limit] }
}

/** SQLite uses no index for a column with a plus before it; a run's own requests are fewest. */
function indexed(is: boolean): "" | "+" {
  return is ? "" : "+"
}

export function toStoredRequest(row: RequestRow, codec: ValueCodec): StoredRequest {
  const run = decodeText(row.run_id, () => "A run is damaged at its id")
  const id = decodeText(row.request_id, () => `A request of run "${shownName(run)}" is damaged at its id`)
  const subject = () => `Request "${shownName(id)}" of run "${shownName(run)}" is damaged`
  const workflow = decodeText(row.workflow, subject)
  const to = decodeTextOrNull(row.recipient, subject)
  const outcome = decodeText(row.outcome, subject)
  const request = parseSealed(codec, row.body, subject, "request", run, id) as OpenRequest
  check(row.sum, () => checksum([run, id, workflow, to], row.body), subject)
  if (row.is_sound !== 1) throw corrupt(subject, "its outcome does not match the stored one")
  if (!OUTCOMES.includes(outcome)) throw corrupt(subject, "its outcome is unknown")
  return {
    ...request,
    runId: parseName(run, subject),
    workflow: parseName(workflow, subject),
    outcome: outcome as StoredRequest["outcome"],
    ...(row.closed_at === null ? {} : { closedAt: row.closed_at }),
    ...(row.closed_by === null ? {} : { by: decodeName(row.closed_by, subject) }),
  }
}
