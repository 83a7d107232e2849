/**
 * Runs one query on one connection of MySQL or MariaDB, after a guard has checked it.
 *
 * M1 The driver sends one statement (multipleStatements is off), which the guard has parsed as one SELECT.
 * M2 It runs in a read-only transaction that is rolled back, with an sql_mode that the guard knows.
 * M3 The server stops it at the time limit; if it does not, the connection is destroyed.
 * M4 Rows are read one by one. When the limits are exceeded, the connection is destroyed.
 */
import type { Json } from "@superstep/engine"
import type { QueryResult } from "@superstep/engine/patterns"
import { timedOut } from "./queries.ts"
import { BoundedRows, exactNumber, type KnownLimits } from "./rows.ts"
import { checkStrictSelect, SelectRefused, type StrictDialect } from "./strict-select.ts"

/** The part of `mysql2/promise` that is used here. */
export interface Driver {
  createConnection(config: object): Promise<Connection>
}

export interface Connection {
  query(options: { readonly sql: string; readonly rowsAsArray?: boolean }): Promise<[unknown[], unknown]>
  on(event: "error", listener: (error: Error) => void): unknown
  destroy(): void
  /** The same connection without promises, which can stream. */
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
  /** The type's number in the protocol. */
  readonly columnType?: number | undefined
}

/** Milliseconds that the server gets to stop a query by itself. */
const GRACE = 500
const MODE = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO'"

/** For built-in queries. */
export async function readOnly<Row>(connection: Connection, sql: string, timeout: number): Promise<Row[]> {
  await begin(connection, timeout)
  const [rows] = await connection.query({ sql })
  await connection.query({ sql: "ROLLBACK" })
  return rows as Row[]
}

async function begin(connection: Connection, timeout: number): Promise<void> {
  await connection.query({ sql: MODE })
  // MySQL takes milliseconds, MariaDB seconds. Each rejects the other's setting.
  const limits = [
    `SET SESSION max_execution_time = ${timeout}`,
    `SET SESSION max_statement_time = ${timeout / 1_000}`,
  ]
  const set = await Promise.all(limits.map((sql) => connection.query({ sql }).then(Boolean, () => false)))
  if (!set.includes(true)) throw new Error("The server does not support query timeouts.")
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
    if (!result.isTruncated) await connection.query({ sql: "ROLLBACK" })
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
      resolve({
        columns: fields.map(({ name }) => name),
        rows: bounded.rows,
        isTruncated: bounded.isTruncated,
      })
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

// The guard accepts one SELECT without variables, files and locks, which calls only listed functions. Stored functions
// and functions of plug-ins are not listed.

const FUNCTIONS: ReadonlySet<string> = new Set(
  (
    "abs acos adddate addtime aes_decrypt any_value ascii asin atan atan2 avg bin bit_and bit_count bit_length bit_or bit_xor " +
    "cast ceil ceiling char char_length character_length charset coalesce coercibility collation concat concat_ws conv convert " +
    "convert_tz cos cot count crc32 cume_dist curdate current_date current_time current_timestamp curtime database date date_add " +
    "date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear degrees dense_rank elt exp export_set extract " +
    "field find_in_set first_value floor format from_base64 from_days from_unixtime get_format greatest group_concat grouping " +
    "hex hour if ifnull inet_aton inet_ntoa inet6_aton inet6_ntoa insert instr interval isnull json_array json_arrayagg " +
    "json_contains json_contains_path json_depth json_extract json_keys json_length json_object json_objectagg json_overlaps " +
    "json_quote json_search json_table json_type json_unquote json_valid json_value lag last_day last_value lcase lead least left " +
    "length ln localtime localtimestamp locate log log10 log2 lower lpad ltrim make_set makedate maketime match max md5 median " +
    "microsecond mid min minute mod month monthname nth_value ntile nullif now oct octet_length ord percent_rank percentile_cont " +
    "percentile_disc period_add period_diff pi position pow power quarter quote radians rand rank regexp_instr regexp_like " +
    "regexp_replace regexp_substr repeat replace reverse right round row_number rpad rtrim sec_to_time second sha sha1 sha2 sign " +
    "sin soundex space sqrt st_area st_astext st_contains st_distance st_geomfromtext st_intersects st_length st_within st_x st_y " +
    "std stddev stddev_pop stddev_samp str_to_date strcmp subdate substr substring substring_index subtime sum tan time " +
    "time_format time_to_sec timediff timestamp timestampadd timestampdiff to_base64 to_char to_days to_seconds trim truncate ucase " +
    "unhex unix_timestamp upper utc_date utc_time utc_timestamp var_pop var_samp variance version week weekday weekofyear weight_string year yearweek"
  ).split(" "),
)

/** A SELECT that only reads needs none of them. A column with such a name is written in backquotes. */
const REFUSED_WORDS: ReadonlySet<string> = new Set(
  "into outfile dumpfile lock procedure handler call execute prepare load_file sleep benchmark get_lock for".split(
    " ",
  ),
)

const DIALECT: StrictDialect = {
  // Matches the session's sql_mode: neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES.
  strings: "'\"",
  names: { "`": "`" },
  hasEscapes: true,
  refusedSymbols: "?:@#{}\\$",
  functions: FUNCTIONS,
  refusedWords: REFUSED_WORDS,
}

/** Databases of the server itself: sessions, running queries, and password hashes. */
const SERVER = new Set(["mysql", "performance_schema", "sys"])

export function checkMysqlSelect(sql: string): void {
  const tokens = checkStrictSelect(sql, DIALECT)
  for (const [i, { kind, text }] of tokens.entries()) {
    const next = tokens[i + 1]
    const isName = kind === "name" || kind === "quoted name"
    if (isName && SERVER.has(text) && next?.kind === "symbol" && next.text === ".") {
      throw new SelectRefused(`the database ${text} is not allowed: it is a system database`)
    }
  }
}
