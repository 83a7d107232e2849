/** The catalog of a MySQL or MariaDB server: the rights of a user, and the tables. */
import type { ForeignKey, Table } from "@superstep/engine/patterns"
import { fatal } from "../errors.ts"
import { UNSAFE_ROLE_ADVICE } from "./queries.ts"

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
