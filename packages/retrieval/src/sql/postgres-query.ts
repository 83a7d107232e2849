/**
 * Runs one query on one connection, with limits on both sides.
 *
 * P1 The text reaches the server by the extended protocol, as the query of a cursor: one statement, and a SELECT.
 * P2 It runs in a read-only transaction that has already read, so that the query cannot make it writable, and that is
 *    always rolled back. State that outlives it (locks, settings, listeners) is discarded.
 * P3 One time limit covers all its pages. The server enforces it, and so does the client, because a query can change the
 *    server's limit.
 * P4 A bounded number of bytes is received, even if a single row is larger.
 */
import { isSuperstepError, type Json, SuperstepError } from "@superstep/engine"
import type { QueryResult } from "@superstep/engine/patterns"
import type { Client, QueryConfig } from "pg"
import { messageOf } from "../errors.ts"
import { failed, refused, timedOut } from "./queries.ts"
import { BoundedRows, exactNumber, type KnownLimits } from "./rows.ts"

export interface Line {
  readonly client: Client
  /** Cancels the client's query over another connection. This connection may be unusable afterwards. */
  readonly cancel: () => void
  readonly newQuery: (config: QueryConfig) => Submitted
}

/** The part of `pg.Query` that is used here: rows one by one, and the end. */
interface Submitted {
  on(event: "row", listener: (row: Json[]) => void): this
  on(event: "end", listener: () => void): this
  on(event: "error", listener: (error: Error) => void): this
  submit: (connection: never) => void
}

const PAGE = 500
const CURSOR = "DECLARE superstep_query NO SCROLL CURSOR FOR "
/** Allows for the overhead of the protocol, and for rows that are shorter as JSON. */
const slackOf = (bytes: number) => bytes * 2 + 256_000
/** Milliseconds that the server's own timeout gets first, because it leaves the connection usable. */
const GRACE = 500

/** `check` runs in the transaction before the server sees the query, and throws if it must not run. */
export async function runReadOnly(
  line: Line,
  sql: string,
  limits: KnownLimits,
  check?: (client: Client) => Promise<void>,
): Promise<QueryResult> {
  const { client } = line
  const deadline = performance.now() + limits.timeout
  const left = () => Math.max(1, Math.ceil(deadline - performance.now()))
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    line.cancel()
  }, limits.timeout + GRACE)
  try {
    await client.query(
      `BEGIN READ ONLY; SET LOCAL statement_timeout = ${left()}; SET LOCAL lock_timeout = ${left()}; ` +
        `SET LOCAL idle_in_transaction_session_timeout = ${limits.timeout + 10_000}; ` +
        "SET LOCAL standard_conforming_strings = on; SET LOCAL DateStyle = 'ISO'; SELECT 1",
    )
    await check?.(client)
    await client.query({ text: CURSOR + sql, queryMode: "extended" } as QueryConfig)
    return await fetchAll(line, limits, left)
  } catch (error) {
    throw isLate ? timedOut(limits.timeout, error) : error
  } finally {
    clearTimeout(timer)
  }
}

async function fetchAll(line: Line, limits: KnownLimits, left: () => number): Promise<QueryResult> {
  const { client } = line
  const { fields } = await client.query("FETCH 0 FROM superstep_query")
  const bounded = new BoundedRows(limits)
  for (;;) {
    await client.query(`SET LOCAL statement_timeout = ${left()}`)
    const count = Math.min(PAGE, limits.rows + 1 - bounded.rows.length)
    const taken = await fetchPage(line, count, bounded, limits)
    if (!bounded.isTruncated && taken === count) continue
    return { columns: fields.map(({ name }) => name), rows: bounded.rows, isTruncated: bounded.isTruncated }
  }
}

/** Returns the number of rows. */
function fetchPage(line: Line, count: number, bounded: BoundedRows, limits: KnownLimits): Promise<number> {
  // The socket is not in the driver's types. An incomplete row is visible only there.
  const { stream } = (
    line.client as unknown as { connection: { stream: NodeJS.ReadableStream & { destroy(): void } } }
  ).connection
  const text = `FETCH ${count} FROM superstep_query`
  const config = { text, rowMode: "array", types: jsonValues, queryMode: "extended" }
  const query = line.newQuery(config as unknown as QueryConfig)
  let bytes = 0
  let taken = 0
  const watch = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= slackOf(limits.bytes)) return
    bounded.isTruncated = true
    stream.destroy()
  }
  return new Promise<number>((resolve, reject) => {
    query.on("row", (row) => {
      taken += 1
      bounded.add(row)
    })
    query.on("end", () => resolve(taken))
    query.on("error", (error) => (bounded.isTruncated ? resolve(taken) : reject(error)))
    stream.on("data", watch)
    line.client.query(query as never)
  }).finally(() => stream.off("data", watch))
}

/** Resets the connection. Throws if that fails; then it must not be used again. */
export async function cleanUp(client: Client): Promise<void> {
  await client.query("ROLLBACK")
  await client.query("DISCARD ALL")
}

const BOOL = 16
const INT8 = 20
const INT2 = 21
const INT4 = 23
const JSON_TYPE = 114
const FLOAT4 = 700
const FLOAT8 = 701
const NUMERIC = 1700
const JSONB = 3802

/** In the format that `pg` expects. */
const jsonValues = {
  getTypeParser: (type: number) => parsers[type] ?? ((text: string): Json => text),
}

const parsers: Readonly<Record<number, (text: string) => Json>> = {
  [BOOL]: (text) => text === "t",
  [INT2]: Number,
  [INT4]: Number,
  [INT8]: exactNumber,
  [NUMERIC]: exactNumber,
  [FLOAT4]: finiteNumber,
  [FLOAT8]: finiteNumber,
  [JSON_TYPE]: jsonOf,
  [JSONB]: jsonOf,
}

/** Deeper JSON stays text: recursive code would overflow the stack. */
const MAX_DEPTH = 100

function jsonOf(text: string): Json {
  return isShallowAndExact(text) ? (JSON.parse(text) as Json) : text
}

const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y

function isShallowAndExact(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string
    if (char === "[" || char === "{") depth += 1
    else if (char === "]" || char === "}") depth -= 1
    else if (char === '"') at = endOfString(text, at)
    NUMBER.lastIndex = at
    const [number, , exponent] = NUMBER.exec(text) ?? []
    if (number !== undefined) at += number.length - 1
    if (depth > MAX_DEPTH || (number !== undefined && !isExact(number, exponent))) return false
  }
  return true
}

function isExact(number: string, exponent: string | undefined): boolean {
  if (exponent !== undefined) return Number.isFinite(Number(number))
  return number.length <= 15 || typeof exactNumber(number) === "number"
}

function endOfString(text: string, at: number): number {
  let end = at + 1
  while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1
  return end
}

function finiteNumber(text: string): Json {
  const value = Number(text)
  return Number.isFinite(value) ? value : text
}

// Translates PostgreSQL's errors to messages that a person or a model can act on, without the password.

interface ServerError {
  readonly code?: string
  readonly message: string
  readonly detail?: string
  readonly hint?: string
  readonly position?: string
}

/** The query has parameters such as `$1`, and no values are sent. */
const PROTOCOL_VIOLATION = "08P01"
const REFUSALS = new Set(["25006", "42501", "0A000"])

export function queryError(error: unknown, timeout: number): unknown {
  if (isSuperstepError(error) || !(error instanceof Error)) return error
  const { code, message, detail, hint, position } = error as ServerError
  if (code === "57014" || code === "55P03") return timedOut(timeout, error)
  if (code !== undefined && REFUSALS.has(code)) return refused(message, error)
  if (code === "42601" && message.includes("multiple commands")) {
    return refused("only one statement is allowed", error)
  }
  if (code === PROTOCOL_VIOLATION && message.includes("parameters")) {
    return refused("it has parameters: write literal values", error)
  }
  const at = Number(position) - CURSOR.length
  const place = at > 0 ? ` (at character ${at})` : ""
  return failed([`${message}${place}.`, detail, hint].filter(Boolean).join(" "), error)
}

/** Whether the connection was lost, which is not the query's fault. */
export function isConnectionLost(error: unknown): boolean {
  if (isSuperstepError(error) || !(error instanceof Error)) return false
  const { code, message } = error as ServerError
  if (code !== undefined) return /^(?:080..|57P0[1-3]|ECONNRESET|EPIPE|ETIMEDOUT)$/.test(code)
  return /^Connection terminated|is not queryable/.test(message)
}

export interface Address {
  readonly host: string
  readonly port: number
  readonly database?: string | undefined
}

const NO_SUCH_DATABASE = "3D000"

/** The server was not reached, or refused the login. */
export function unreachable(id: string, address: Address, error: unknown): SuperstepError {
  // Several addresses of one name fail as one error without a message.
  const causes = error instanceof AggregateError ? error.errors : [error]
  const reasons = [...new Set(causes.map(messageOf))]
  const code = (error as ServerError).code ?? ""
  const place = `${address.host}:${address.port}${address.database ? `/${address.database}` : ""}`
  const { what, advice, retryable } = reasonOf(code)
  const message = `The database ${id} at ${place} ${what}: ${reasons.join("; ")}. ${advice}`
  return new SuperstepError("DATABASE_UNREACHABLE", message, { cause: error, retryable })
}

function reasonOf(code: string): { what: string; advice: string; retryable: boolean } {
  // Class 28: the server was reached, but does not know the role or its password.
  if (code.startsWith("28")) {
    return { what: "rejected the role", advice: "Check the role and its password.", retryable: false }
  }
  if (code === NO_SUCH_DATABASE) {
    return { what: "does not exist", advice: "Check the name of the database.", retryable: false }
  }
  const advice =
    "Check the address, and that the server is running and accepts connections from this machine."
  return { what: "is unreachable", advice, retryable: true }
}
