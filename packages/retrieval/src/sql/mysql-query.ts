/**
 * Runs one query on one connection of MySQL or MariaDB, after a guard has checked it.
 *
 * M1 The driver sends one statement (multipleStatements is off), which the guard has parsed as one SELECT.
 * M2 It runs in a read-only transaction that is rolled back, with an sql_mode that the guard knows.
 * M3 The server stops it at the time limit; if it does not, the connection is destroyed.
 * M4 Rows are read one by one. When the limits are exceeded, the connection is destroyed.
 */
import type { Json } from "@superstep/engine"
import type { ForeignKey, QueryResult, Table } from "@superstep/engine/patterns"
import { fatal } from "../errors.ts"
import { timedOut, UNSAFE_ROLE_ADVICE } from "./queries.ts"
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

// The catalog of a MySQL or MariaDB server: the rights of a user, and the tables.

/** Rights of a user who can only read. */
const READING: ReadonlySet<string> = new Set(["USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES"])

/** The excess rights in the lines of SHOW GRANTS, as phrases for a message. */
export function faultsOf(grants: readonly string[]): string[] {
  const faults: string[] = []
  for (const grant of grants) {
    const [, rights, place] =
      /^GRANT (.+?) ON (?:TABLE |FUNCTION |PROCEDURE |PACKAGE |PACKAGE BODY )?(\S+) TO /is.exec(grant) ?? []
    // A granted role. If it is active, its rights have their own lines.
    if (rights === undefined) continue
    const names = rights
      .replace(/\([^)]*\)/g, "")
      .split(",")
      .map((right) => right.trim().toUpperCase())
    const more = names.filter((name) => !READING.has(name))
    if (more.length > 0) faults.push(`may ${more.join(", ")} on ${place}`)
    if (/WITH .*GRANT OPTION/i.test(grant)) faults.push(`may grant its rights on ${place} to others`)
  }
  return [...new Set(faults)]
}

const MAX_FAULTS = 5

export function unsafeUser(id: string, user: string, database: string, faults: readonly string[]) {
  const more = faults.length > MAX_FAULTS ? `; and ${faults.length - MAX_FAULTS} more` : ""
  const schema = `\`${database.replaceAll("`", "``")}\``
  const message =
    `The user ${user} of the database ${id} can do more than read: it ${faults.slice(0, MAX_FAULTS).join("; it ")}${more}. ` +
    "Queries that a model writes must run as a user who can only read. To create one:\n\n" +
    `CREATE USER 'reader'@'%' IDENTIFIED BY '…';\nGRANT SELECT ON ${schema}.* TO 'reader'@'%';\n\n` +
    `Then log in as that user. ${UNSAFE_ROLE_ADVICE}`
  return fatal("DATABASE_ROLE_UNSAFE", message)
}

export const TABLES = `SELECT t.TABLE_NAME AS name, t.TABLE_COMMENT AS comment, t.TABLE_TYPE AS type, t.TABLE_ROWS AS total
  FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = DATABASE() ORDER BY t.TABLE_NAME`
export const COLUMNS = `SELECT TABLE_NAME AS tableName, COLUMN_NAME AS name, COLUMN_TYPE AS type, COLUMN_COMMENT AS comment,
  COLUMN_KEY AS columnKey FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION`
export const KEYS = `SELECT CONSTRAINT_NAME AS constraintName, TABLE_NAME AS tableName, COLUMN_NAME AS name,
  REFERENCED_TABLE_NAME AS otherTable, REFERENCED_COLUMN_NAME AS otherName FROM information_schema.KEY_COLUMN_USAGE
  WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`

export interface TableRow {
  readonly name: string
  readonly comment: string
  readonly type: string
  readonly total: number | null
}

export interface ColumnRow {
  readonly tableName: string
  readonly name: string
  readonly type: string
  readonly comment: string
  readonly columnKey: string
}

export interface KeyRow {
  readonly constraintName: string
  readonly tableName: string
  readonly name: string
  readonly otherTable: string
  readonly otherName: string
}

export interface Catalog {
  readonly tables: readonly TableRow[]
  readonly columns: readonly ColumnRow[]
  readonly keys: readonly KeyRow[]
}

/** The tables, named as queries write them. */
export function tablesOf({ tables, columns, keys }: Catalog): Table[] {
  return tables.map(({ name, comment, type, total }) => {
    const own = columns.filter((column) => column.tableName === name)
    const primaryKey = own
      .filter(({ columnKey }) => columnKey === "PRI")
      .map((column) => asWritten(column.name))
    const foreignKeys = foreignKeysOf(keys.filter((key) => key.tableName === name))
    // MySQL stores "VIEW" as the comment of a view.
    const isView = type !== "BASE TABLE"
    return {
      name: asWritten(name),
      columns: own.map((column) => ({
        name: asWritten(column.name),
        type: column.type,
        ...(column.comment !== "" && { description: column.comment }),
      })),
      ...(comment !== "" && !isView && { description: comment }),
      ...(primaryKey.length > 0 && { primaryKey }),
      ...(foreignKeys.length > 0 && { foreignKeys }),
      ...(total !== null && !isView && { rowCount: Number(total) }),
    }
  })
}

function foreignKeysOf(keys: readonly KeyRow[]): ForeignKey[] {
  const byName = new Map<string, { columns: string[]; table: string; references: string[] }>()
  for (const { constraintName, name, otherTable, otherName } of keys) {
    const key = byName.get(constraintName) ?? { columns: [], table: asWritten(otherTable), references: [] }
    key.columns.push(asWritten(name))
    key.references.push(asWritten(otherName))
    byName.set(constraintName, key)
  }
  return [...byName.values()]
}

function asWritten(name: string): string {
  return /^[a-z_]\w*$/i.test(name) && !RESERVED.has(name.toLowerCase())
    ? name
    : `\`${name.replaceAll("`", "``")}\``
}

const RESERVED: ReadonlySet<string> = new Set(
  (
    "accessible add all alter analyze and as asc asensitive before between bigint binary blob both by call cascade case change " +
    "char character check collate column condition constraint continue convert create cross cube cume_dist current_date " +
    "current_role current_time current_timestamp current_user cursor database databases day_hour day_microsecond day_minute " +
    "day_second dec decimal declare default delayed delete dense_rank desc describe deterministic distinct distinctrow div " +
    "double drop dual each else elseif empty enclosed escaped except exists exit explain false fetch first_value float for " +
    "force foreign from fulltext function generated get grant group grouping groups having high_priority hour_minute if ignore " +
    "in index infile inner inout insensitive insert int integer intersect interval into is iterate join json_table key keys " +
    "kill lag last_value lateral lead leading leave left like limit linear lines load localtime lock long longblob longtext " +
    "loop low_priority match maxvalue mediumblob mediumint mediumtext mod modifies natural not nth_value ntile null numeric of " +
    "offset on optimize option optionally or order out outer outfile over partition percent_rank precision primary procedure " +
    "purge range rank read reads real recursive references regexp release rename repeat replace require resignal restrict " +
    "return returning revoke right rlike row row_number rows schema schemas select sensitive separator set show signal smallint " +
    "spatial specific sql ssl starting stored straight_join system table terminated then tinyblob tinyint tinytext to trailing " +
    "trigger true undo union unique unlock unsigned update usage use using utc_date utc_time utc_timestamp values varbinary " +
    "varchar varying virtual when where while window with write xor year_month zerofill"
  ).split(" "),
)
