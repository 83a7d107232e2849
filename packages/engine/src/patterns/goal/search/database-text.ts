/** Renders tables and rows as text for a prompt, within size limits. */
import type { Json } from "../../../core/index.ts"
import { clipped } from "../../../text/index.ts"
import { spaced, tellingWords } from "../../../text/internal.ts"
import type { QueryResult, Table } from "../../ports.ts"

const MAX_TABLES = 60
const MAX_COLUMNS = 80
const MAX_DESCRIPTION = 200

/** Maximum characters of keys, values and sample rows, over all tables. */
const MAX_DETAILS = 24_000
const MAX_VALUES = 12
const MAX_VALUE = 40
const MAX_SAMPLES = 2
const MAX_SAMPLE = 300

export interface SchemaTextOptions {
  /** Includes values of the data, which are only for a model's prompt. */
  readonly hasValues?: boolean | undefined
}

/** Tables with words of the goal are first; the limit for details applies in that order. */
export function schemaText(
  tables: readonly Table[],
  goal: string,
  { hasValues = false }: SchemaTextOptions = {},
): string {
  const ranked = bestFirst(tables, goal)
  const shown = tables.length <= MAX_TABLES ? tables : ranked.slice(0, MAX_TABLES)
  const details = detailsOf(ranked.slice(0, MAX_TABLES), hasValues)
  const lines = shown.flatMap((table) => [tableLine(table), ...(details.get(table) ?? [])])
  if (tables.length > MAX_TABLES) lines.push(`… and ${tables.length - MAX_TABLES} more tables`)
  return lines.join("\n")
}

function bestFirst(tables: readonly Table[], goal: string): readonly Table[] {
  const words = new Set(tellingWords(goal))
  const fits = tables.map((table) => {
    const names = [table.name, table.description ?? "", ...table.columns.map(({ name }) => name)]
    return {
      table,
      fit: names.flatMap((name) => tellingWords(spaced(name))).filter((word) => words.has(word)).length,
    }
  })
  return fits.sort((one, other) => other.fit - one.fit).map(({ table }) => table)
}

function tableLine({ name, columns, description, rowCount }: Table): string {
  const shown = columns.slice(0, MAX_COLUMNS).map((column) => `${column.name} ${column.type}`)
  if (columns.length > MAX_COLUMNS) shown.push("…")
  const size = rowCount === undefined ? "" : `, about ${rowCount} rows`
  return `${name} (${shown.join(", ")})${size}${remark(description)}`
}

function remark(description: string | undefined): string {
  return description === undefined || description.trim() === ""
    ? ""
    : ` -- ${clipped(description.replace(/\s+/g, " ").trim(), MAX_DESCRIPTION)}`
}

/** Keys first, because a query is wrong without them. Then values, then rows. */
function detailsOf(tables: readonly Table[], hasValues: boolean): ReadonlyMap<Table, readonly string[]> {
  const details = new Map<Table, string[]>()
  let room = MAX_DETAILS
  for (const linesOf of [keyLines, columnLines, ...(hasValues ? [valueLines, sampleLines] : [])]) {
    for (const table of tables) {
      const lines = linesOf(table).map((line) => `  ${line}`)
      room -= lines.join("\n").length
      if (room < 0) return details
      details.set(table, [...(details.get(table) ?? []), ...lines])
    }
  }
  return details
}

function keyLines({ primaryKey = [], foreignKeys = [] }: Table): string[] {
  return [
    ...(primaryKey.length === 0 ? [] : [`primary key: ${primaryKey.join(", ")}`]),
    ...foreignKeys.map(
      ({ columns, table, references }) =>
        `${columns.join(", ")} refers to ${table} (${references.join(", ")})`,
    ),
  ]
}

function columnLines({ columns }: Table): string[] {
  const described = columns.slice(0, MAX_COLUMNS).filter(({ description = "" }) => description.trim() !== "")
  return described.map(({ name, description }) => `${name}${remark(description)}`)
}

function valueLines({ columns }: Table): string[] {
  return columns.slice(0, MAX_COLUMNS).flatMap(({ name, values = [], distinct, range }) => {
    if (range !== undefined) return [`${name}: from ${literal(range[0])} to ${literal(range[1])}`]
    if (values.length === 0) return []
    const shown = values.slice(0, MAX_VALUES).map(literal).join(", ")
    const isAll = values.length <= MAX_VALUES && distinct === values.length
    return [isAll ? `${name} is one of ${shown}` : `${name} is for example ${shown}`]
  })
}

function sampleLines({ columns, sample = [] }: Table): string[] {
  return sample.slice(0, MAX_SAMPLES).map((row) => {
    const values = columns.flatMap(({ name }) =>
      Object.hasOwn(row, name) ? [`${name} = ${literal(row[name] ?? null)}`] : [],
    )
    return clipped(`a row: ${values.join(", ")}`, MAX_SAMPLE)
  })
}

/** As SQL writes it, on one line. */
function literal(value: Json): string {
  if (value === null) return "NULL"
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return `'${clipped(text.replace(/\s+/g, " "), MAX_VALUE).replaceAll("'", "''")}'`
}

export interface FormatOptions {
  /** Maximum rows. Default 20. */
  readonly rows?: number | undefined
  /** Maximum characters of a value. Default 200. */
  readonly characters?: number | undefined
}

export function formatRows(result: QueryResult, options: FormatOptions = {}): string {
  const { rows: most = 20, characters = 200 } = options
  const { columns, rows, isTruncated } = result
  if (rows.length === 0) return isTruncated ? "The result is too large to be shown." : "No rows."
  const line = (values: readonly Json[]) => values.map((value) => cell(value, characters)).join(" | ")
  const shown = rows.slice(0, most)
  const note = isTruncated
    ? [`(the first ${shown.length === 1 ? "row" : `${shown.length} rows`}; there are more)`]
    : shown.length < rows.length
      ? [`(${shown.length} of ${rows.length} rows)`]
      : []
  return [line(columns), ...shown.map(line), ...note].join("\n")
}

function cell(value: Json, most: number): string {
  const text = value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value)
  // Keeps a value on its line and in its column.
  return clipped(text.replace(/\s+/g, " "), most).replaceAll("|", "\\|")
}
