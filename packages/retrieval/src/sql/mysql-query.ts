/**
 * One query on one connection of MySQL or MariaDB.
 *
 * M1 The driver sends one statement (multipleStatements is off), which the guard has read as one SELECT.
 * M2 It runs in a read-only transaction that is rolled back, under an sql_mode that the guard knows.
 * M3 The server ends it at the time limit; if it does not, the connection is destroyed.
 * M4 Rows are read one by one, and no more than the limits let through: then the connection is destroyed.
 */
import type { Json } from "@superstep/engine"
import type { QueryResult } from "@superstep/engine/patterns"
import { timedOut } from "./queries.ts"
import { BoundedRows, exactNumber, type KnownLimits } from "./rows.ts"

/** The little of `mysql2/promise` that is used. */
export interface Driver {
  createConnection(config: object): Promise<Connection>
}

export interface Connection {
  query(options: { readonly sql: string; readonly rowsAsArray?: boolean }): Promise<[unknown[], unknown]>
  on(event: "error", listener: (error: Error) => void): unknown
  destroy(): void
  /** The same connection without promises: it streams. */
  readonly connection: {
    query(options: { readonly sql: string; readonly rowsAsArray: boolean }): Submitted
  }
}

interface Submitted {
  on(event: "fields", listener: (fields: readonly Field[]) => void): this
  on(event: "result", listener: (row: unknown[]) => void): this
  on(event: "error", listener: (error: Error) => void): this
  on(event: "end", listener: () => void): this
}

interface Field {
  readonly name: string
  /** The number of its type in the protocol. */
  readonly columnType?: number | undefined
}

/** What the server gets to end a query by itself. */
const GRACE = 500
const MODE = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO'"

/** For queries of ours. */
export async function readOnly<Row>(connection: Connection, sql: string, timeout: number): Promise<Row[]> {
  await begin(connection, timeout)
  const [rows] = await connection.query({ sql })
  await connection.query({ sql: "ROLLBACK" })
  return rows as Row[]
}

async function begin(connection: Connection, timeout: number): Promise<void> {
  await connection.query({ sql: MODE })
  // MySQL counts milliseconds, MariaDB seconds; each refuses the other's.
  const limits = [
    `SET SESSION max_execution_time = ${timeout}`,
    `SET SESSION max_statement_time = ${timeout / 1_000}`,
  ]
  const set = await Promise.all(limits.map((sql) => connection.query({ sql }).then(Boolean, () => false)))
  if (!set.includes(true)) throw new Error("The server has no time limit for queries.")
  await connection.query({ sql: "SET SESSION innodb_lock_wait_timeout = 1" }).catch(() => undefined)
  await connection.query({ sql: "START TRANSACTION READ ONLY" })
}

export async function runSelect(
  connection: Connection,
  sql: string,
  limits: KnownLimits,
): Promise<QueryResult> {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    connection.destroy()
  }, limits.timeout + GRACE)
  try {
    await begin(connection, limits.timeout)
    const result = await stream(connection, sql, limits)
    if (!result.isCut) await connection.query({ sql: "ROLLBACK" })
    return result
  } catch (error) {
    const { errno } = error as { errno?: unknown }
    // ER_QUERY_TIMEOUT of MySQL, ER_STATEMENT_TIMEOUT of MariaDB.
    if (isLate || errno === 3024 || errno === 1969) throw timedOut(limits.timeout, error)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function stream({ connection }: Connection, sql: string, limits: KnownLimits): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    const bounded = new BoundedRows(limits)
    let fields: readonly Field[] = []
    const done = () =>
      resolve({ columns: fields.map(({ name }) => name), rows: bounded.rows, isCut: bounded.isCut })
    connection
      .query({ sql, rowsAsArray: true })
      .on("fields", (found) => {
        fields = found ?? []
      })
      .on("result", (row) => {
        if (!Array.isArray(row)) return
        if (!bounded.add(row.map((value, i) => toJson(value, fields[i])))) done()
      })
      .on("error", reject)
      .on("end", done)
  })
}

/** DECIMAL, BIGINT and NEWDECIMAL arrive as text, so that no digits are lost. */
const NUMBERS: ReadonlySet<number | undefined> = new Set([0, 8, 246])

function toJson(value: unknown, field: Field | undefined): Json {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value)) return `\\x${value.toString("hex")}`
  if (typeof value === "bigint") return exactNumber(String(value))
  if (typeof value === "string" && NUMBERS.has(field?.columnType)) return exactNumber(value)
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : (value as Json)
}
