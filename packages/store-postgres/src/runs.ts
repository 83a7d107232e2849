/**
 * Finds runs, newest first. Every page is a walk along one index, from where the page before ended: a page costs what is on
 * it, except for text or labels that few runs have in common with the rest of the query.
 *
 * The statements are not prepared: a generic plan takes hundreds of milliseconds where a plan for the actual values takes
 * one.
 */
import { createHash } from "node:crypto"
import {
  IN_FLIGHT,
  type RunFailure,
  type RunFlow,
  type RunQuery,
  type StoredRun,
  type StoredStatus,
  type TimeRange,
} from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import type { Database, Statement } from "./database.ts"
import type { Subject } from "./errors.ts"
import { parseJson, parseName, parseSealed, toText } from "./names.ts"
import { STATE_COLUMNS } from "./tables.ts"

/** Where each run stands: in one of two tables. */
export const STATE_TABLES = "LEFT JOIN $.live ON live.run = r.id LEFT JOIN $.ended ON ended.run = r.id"

/** The columns of a SELECT from RUN_TABLES. */
export const RUN_COLUMNS = `r.id, r.run_id, r.workflow, r.graph, r.key, r.thread, r.labels, r.flow, past.run_id AS fork_of, r.fork_seq,
  r.pinned, r.created_at, live.holder, live.wake_at, live.flow_group, ended.error, coalesce(live.status, ended.status) AS status,
  ${STATE_COLUMNS.replace(/\w+/g, "coalesce(live.$&, ended.$&) AS $&")}`

/** `r` is the run, `past` the one that it is a fork of. */
export const RUN_TABLES = `$.runs AS r ${STATE_TABLES} LEFT JOIN $.runs AS past ON past.id = r.fork_run`

const FIND: Statement = {
  name: "run",
  text: `SELECT ${RUN_COLUMNS} FROM ${RUN_TABLES} WHERE r.run_id = $1`,
}
const ALL_STATUS: readonly StoredStatus[] = [...IN_FLIGHT, "completed", "failed", "cancelled", "limit"]
const PIN: Statement = { text: "UPDATE $.runs SET pinned = $2 WHERE run_id = $1 RETURNING 1 AS one" }

export async function findRun(database: Database, runId: string): Promise<StoredRun | undefined> {
  const [row] = await database.read<RunRow>(`Run "${runId}"`, FIND, [toText(runId)])
  return row && toStoredRun(row, database.codec)
}

export async function listRuns(database: Database, query: RunQuery): Promise<readonly StoredRun[]> {
  const { text, values } = toSql(query)
  return (await database.read<RunRow>("The list of runs", { text }, values)).map((row) =>
    toStoredRun(row, database.codec),
  )
}

/** False when there is no such run. */
export async function pinRun(database: Database, runId: string, pinned: boolean): Promise<boolean> {
  return (await database.write(`The pin of run "${runId}"`, PIN, [toText(runId), pinned])).length > 0
}

/** Values of a statement, numbered as they are added. */
class Values {
  readonly list: unknown[] = []
  add(value: unknown, type: string): string {
    this.list.push(value)
    return `$${this.list.length}::${type}`
  }
}

function toSql(query: RunQuery): { text: string; values: unknown[] } {
  const values = new Values()
  const limit = values.add(query.limit ?? null, "bigint")
  const page = pageSql(query, values, limit)
  const text = `SELECT ${RUN_COLUMNS}
    FROM (${page}) AS page JOIN ${RUN_TABLES.replace("AS r", "AS r ON r.id = page.id")}
    ORDER BY page.id DESC LIMIT ${limit}`
  return { text, values: values.list }
}

/** The ids of a page, as a statement. */
function pageSql(query: RunQuery, values: Values, limit: string): string {
  const { workflow, status, key, thread, labels = {}, text, before } = query
  const [label, ...moreLabels] = Object.entries(labels).map(([name, value]) =>
    values.add(hashOf(name, value), "uuid"),
  )
  const name = workflow === undefined ? undefined : values.add(toText(workflow), "text")
  const past =
    before === undefined
      ? undefined
      : `(SELECT id FROM $.runs WHERE run_id = ${values.add(toText(before), "text")})`
  const filters = moreLabels.map(
    (one) => `EXISTS (SELECT 1 FROM $.run_labels AS l WHERE l.label = ${one} AND l.run = r.id)`,
  )
  if (text !== undefined) {
    const part = values.add(toText(text), "text")
    filters.push(
      `(position(${part} IN r.run_id) > 0 OR position(${part} IN r.workflow) > 0 OR position(${part} IN r.key) > 0)`,
    )
  }
  const bounds = createdBounds(query.created, values)
  filters.push(...within("r.created_at", query.created, values))
  const older = (column: string) =>
    [...(past === undefined ? [] : [`< ${past}`]), ...bounds].map((bound) => `${column} ${bound}`)
  const updated = (column: string) => within(column, query.updated, values)
  const few = [
    ...(key === undefined ? [] : [`r.key = ${values.add(toText(key), "text")}`]),
    ...(thread === undefined ? [] : [`r.thread = ${values.add(toText(thread), "text")}`]),
  ]
  const isFew = few.length > 0 || label !== undefined
  if ((status === undefined && query.updated === undefined) || isFew) {
    const statuses = status && values.add([...new Set(status)], "text[]")
    const own = [
      ...few,
      ...filters,
      ...(name !== undefined && isFew ? [`r.workflow = ${name}`] : []),
      ...(statuses === undefined ? [] : [`coalesce(live.status, ended.status) = ANY (${statuses})`]),
      ...updated("coalesce(live.updated_at, ended.updated_at)"),
    ]
    const state = statuses === undefined && query.updated === undefined ? "" : STATE_TABLES
    if (label !== undefined) {
      return `SELECT l.run AS id FROM $.run_labels AS l JOIN $.runs AS r ON r.id = l.run ${state}
        WHERE ${[`l.label = ${label}`, ...older("l.run"), ...own].join(" AND ")} ORDER BY l.run DESC LIMIT ${limit}`
    }
    if (name !== undefined && !isFew) {
      // Ordered by both: PostgreSQL would else walk along the ids of all workflows.
      return `SELECT r.id FROM $.runs AS r
        WHERE ${[`r.workflow = ${name}`, ...older("r.id"), ...own].join(" AND ")}
        ORDER BY r.workflow DESC, r.id DESC LIMIT ${limit}`
    }
    return `SELECT r.id FROM $.runs AS r ${state} ${where([...older("r.id"), ...own])} ORDER BY r.id DESC LIMIT ${limit}`
  }
  const statuses: readonly StoredStatus[] = [...new Set(status ?? ALL_STATUS)]
  const branches = statuses.map((one) => {
    const table = (IN_FLIGHT as readonly StoredStatus[]).includes(one) ? "live" : "ended"
    const conditions = [
      `s.status = ${values.add(one, "text")}`,
      ...older("s.run"),
      ...updated("s.updated_at"),
      ...filters,
    ]
    const join = filters.length === 0 ? "" : "JOIN $.runs AS r ON r.id = s.run"
    // Within one status the index has the runs in order.
    const [by, order] = name === undefined ? [[], ""] : [[`s.workflow = ${name}`], "s.workflow DESC, "]
    return `(SELECT s.run AS id FROM $.${table} AS s ${join} ${where([...by, ...conditions])}
      ORDER BY ${order}s.status DESC, s.run DESC LIMIT ${limit})`
  })
  return branches.length === 0 ? "SELECT NULL::bigint AS id WHERE false" : branches.join(" UNION ALL ")
}

function within(column: string, { from, until }: TimeRange = {}, values: Values): string[] {
  return [
    ...(from === undefined ? [] : [`${column} >= ${values.add(from, "float8")}`]),
    ...(until === undefined ? [] : [`${column} < ${values.add(until, "float8")}`]),
  ]
}

/** Runs whose times are read to find where a range of times begins and ends among the ids. */
const NEAR = 1_000

/**
 * Where runs of a range of times are among the ids, which every index has: without that, a page of old runs would walk along
 * all newer ones. Ids follow the times, except for differences between the clocks of processes: a run is found unless NEAR
 * other runs are between its time and its id.
 */
function createdBounds({ from, until }: TimeRange = {}, values: Values): string[] {
  const end = (sign: string, time: number, direction: "ASC" | "DESC") =>
    `(SELECT ${direction === "ASC" ? "min" : "max"}(near.id) FROM (
      SELECT id FROM $.runs WHERE created_at ${sign} ${values.add(time, "float8")}
      ORDER BY created_at ${direction}, id ${direction} LIMIT ${NEAR}) AS near)`
  return [
    ...(from === undefined ? [] : [`>= ${end(">=", from, "ASC")}`]),
    ...(until === undefined ? [] : [`<= ${end("<", until, "DESC")}`]),
  ]
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`
}

// The rows of runs, as a store's callers see them.

export interface RunRow {
  readonly id: number
  readonly run_id: string
  readonly workflow: string
  readonly graph: string
  readonly status: StoredStatus
  readonly key: string | null
  readonly thread: string | null
  readonly labels: string | null
  readonly flow: string | null
  readonly flow_group: string | null
  readonly fork_of: string | null
  readonly fork_seq: number
  readonly pinned: boolean
  readonly created_at: number
  readonly error: string | null
  readonly holder: string | null
  readonly wake_at: number | null
  readonly head: number
  readonly bytes: number
  readonly token: number
  readonly executing: boolean
  readonly takeovers: number
  readonly blamed: boolean
  readonly trials: number
  readonly updated_at: number
}

export function toStoredRun(row: RunRow, codec: ValueCodec): StoredRun {
  const subject = () => `Run "${row.run_id}" is damaged`
  const name = (text: string) => parseName(text, subject)
  return {
    runId: name(row.run_id),
    workflow: name(row.workflow),
    graph: name(row.graph),
    ...(row.key === null ? {} : { key: name(row.key) }),
    ...(row.thread === null ? {} : { thread: name(row.thread) }),
    ...(row.labels === null
      ? {}
      : { labels: parseJson(row.labels, subject) as NonNullable<StoredRun["labels"]> }),
    ...(row.flow === null ? {} : { flow: toFlow(row.flow, row.flow_group !== null, subject) }),
    ...(row.fork_of === null ? {} : { forkOf: { runId: name(row.fork_of), seq: row.fork_seq } }),
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    seq: row.head,
    bytes: row.bytes,
    token: row.token,
    ...(row.holder === null ? {} : { holder: name(row.holder) }),
    ...(row.wake_at === null ? {} : { wakeAt: row.wake_at }),
    executing: row.executing,
    takeovers: row.takeovers,
    blamed: row.blamed,
    trials: row.trials,
    pinned: row.pinned,
    ...(row.error === null
      ? {}
      : { error: parseSealed(codec, row.error, subject, "error", row.run_id) as RunFailure }),
  }
}

/** A run that is no longer queued, or takes no further input, has no group. */
function toFlow(text: string, hasGroup: boolean, subject: Subject): RunFlow {
  const { group, ...flow } = parseJson(text, subject) as RunFlow
  return hasGroup ? { ...flow, group } : flow
}

/** What tables have instead of names that may be longer than an index takes, in the form of a UUID. */
export function hashOf(...parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)
}
