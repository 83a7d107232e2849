/**
 * Converts a record of a document to a row, and back. A field goes to the column of one of its spellings if its value fits;
 * every other field goes to `config` unchanged.
 *
 * R1 The result is the original record with its keys in order. If the order does not follow from the row, `config` has it
 *    under `$keys`.
 * R2 A field in `config` takes precedence over the columns.
 * R3 A column that was filled later is included too.
 */
import type { Json } from "../../core/index.ts"
import { isRecord } from "../../core/internal.ts"
import { isPlainText } from "../../text/index.ts"

export interface JsonRecord {
  readonly [key: string]: Json | undefined
}

export interface Column {
  readonly name: string
  /** Other names in documents. */
  readonly spellings?: readonly string[]
  readonly fits: (value: Json) => boolean
  /** May be empty. `written`: documents have null; `absent`: they leave the field out. */
  readonly empty?: "written" | "absent"
}

export type Row = { readonly [column: string]: Json }

export const isText = (value: Json): boolean => typeof value === "string" && isPlainText(value)
export const isTextOrNull = (value: Json): boolean => value === null || isText(value)

const KEYS = "$keys"

/** `complete` provides the values of required columns that the record lacks. */
export function takeApart(
  record: JsonRecord,
  columns: readonly Column[],
  complete: (found: Row) => Row,
): { readonly row: Row; readonly config: JsonRecord | null } {
  const found: [string, Json][] = []
  const used = new Set<string>()
  for (const { name, spellings = [], fits } of columns) {
    const key = [name, ...spellings].find((key) => {
      const value = Object.hasOwn(record, key) ? record[key] : undefined
      return value !== undefined && !used.has(key) && fits(value)
    })
    if (key === undefined) continue
    used.add(key)
    found.push([name, record[key] as Json])
  }
  const row = { ...empty(columns), ...complete(Object.fromEntries(found)), ...Object.fromEntries(found) }
  const written = Object.entries(record).filter(([, value]) => value !== undefined)
  const more = written.filter(([key]) => !used.has(key))
  const keys = written.map(([key]) => key)
  const others = more.map(([key]) => key)
  const layout: [string, Json][] = sameList(keys, keysOf(row, columns, others)) ? [] : [[KEYS, keys]]
  const config = [...more.map(([key, value]): [string, Json] => [escaped(key), value as Json]), ...layout]
  return { row, config: config.length === 0 ? null : Object.fromEntries(config) }
}

export function putTogether(row: Row, config: Json, columns: readonly Column[]): JsonRecord {
  const { [KEYS]: keys, ...more } = isRecord(config) ? config : {}
  const own = new Map(Object.entries(more).map(([key, value]) => [unescaped(key), value as Json]))
  const order = Array.isArray(keys) ? (keys as string[]) : keysOf(row, columns, [...own.keys()])
  const record: [string, Json][] = []
  const included = new Set<string>()
  for (const key of order) {
    const column = columns.find(({ name, spellings = [] }) => name === key || spellings.includes(key))
    if (own.has(key)) record.push([key, own.get(key) as Json])
    else if (column !== undefined) {
      included.add(column.name)
      record.push([key, row[column.name] ?? null])
    }
  }
  for (const { name, empty } of columns) {
    if (empty === undefined || included.has(name) || (row[name] ?? null) === null) continue
    if (!own.has(name)) record.push([name, row[name] as Json])
  }
  return Object.fromEntries(record)
}

/** The default order: the columns, then the other fields. */
function keysOf(row: Row, columns: readonly Column[], more: readonly string[]): string[] {
  const beyond = new Set(more)
  const written = columns.filter(
    ({ name, empty }) => !beyond.has(name) && (empty !== "absent" || (row[name] ?? null) !== null),
  )
  return orderOf([...written.map(({ name }) => name), ...more])
}

/** The order of keys in an object: JavaScript moves integers to the front. */
function orderOf(keys: readonly string[]): string[] {
  return Object.keys(Object.fromEntries(keys.map((key) => [key, 0])))
}

function empty(columns: readonly Column[]): Row {
  return Object.fromEntries(
    columns.filter(({ empty }) => empty !== undefined).map(({ name }) => [name, null]),
  )
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, i) => key === b[i])
}

/** Documents may contain fields with our reserved names. */
const OURS = /^\$+(keys|agents)$/

function escaped(key: string): string {
  return OURS.test(key) ? `$${key}` : key
}

function unescaped(key: string): string {
  return OURS.test(key) ? key.slice(1) : key
}
