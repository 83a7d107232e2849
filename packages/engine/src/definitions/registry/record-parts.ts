/**
 * How a record of a document becomes a row and comes back from it. A field that has a column, under one of its
 * spellings, goes there if its value fits; every other one goes to `config` as it is.
 *
 * R1 What comes back is the record that went in, with its keys in their order: where that does not follow from the row
 *    itself, `config` has the keys under `$keys`.
 * R2 A field that is in `config` comes from there, whatever the columns say.
 * R3 A column that somebody has filled since is written too.
 */
import type { Json } from "../../core/index.ts"
import { isRecord } from "../../core/reducers.ts"
import { isPlainText } from "../../text/index.ts"

export interface JsonRecord {
  readonly [key: string]: Json | undefined
}

export interface Column {
  readonly name: string
  /** Other names that documents have for it. */
  readonly spellings?: readonly string[]
  readonly fits: (value: Json) => boolean
  /** May be empty. `written`: documents say so with a null; `absent`: they leave the field out. */
  readonly empty?: "written" | "absent"
}

export type Row = { readonly [column: string]: Json }

export const isText = (value: Json): boolean => typeof value === "string" && isPlainText(value)
export const isTextOrNull = (value: Json): boolean => value === null || isText(value)

const KEYS = "$keys"

/** `complete` gives a value to every column that the record has none for, but for those that may be empty. */
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
  const expected = keysOf(
    row,
    columns,
    more.map(([key]) => key),
  )
  const layout: [string, Json][] = sameList(keys, expected) ? [] : [[KEYS, keys]]
  const config = [...more.map(([key, value]): [string, Json] => [escaped(key), value as Json]), ...layout]
  return { row, config: config.length === 0 ? null : Object.fromEntries(config) }
}

export function putTogether(row: Row, config: Json, columns: readonly Column[]): JsonRecord {
  const { [KEYS]: keys, ...more } = isRecord(config) ? config : {}
  const own = new Map(Object.entries(more).map(([key, value]) => [unescaped(key), value as Json]))
  const order = Array.isArray(keys) ? (keys as string[]) : keysOf(row, columns, [...own.keys()])
  const record: [string, Json][] = []
  const said = new Set<string>()
  for (const key of order) {
    const column = columns.find(({ name, spellings = [] }) => name === key || spellings.includes(key))
    if (own.has(key)) record.push([key, own.get(key) as Json])
    else if (column !== undefined) {
      said.add(column.name)
      record.push([key, row[column.name] ?? null])
    }
  }
  for (const { name, empty } of columns) {
    if (empty === undefined || said.has(name) || (row[name] ?? null) === null) continue
    if (!own.has(name)) record.push([name, row[name] as Json])
  }
  return Object.fromEntries(record)
}

/** As they are where nothing says otherwise: the columns in order, then what is beyond them. */
function keysOf(row: Row, columns: readonly Column[], more: readonly string[]): string[] {
  const beyond = new Set(more)
  const written = columns.filter(
    ({ name, empty }) => !beyond.has(name) && (empty !== "absent" || (row[name] ?? null) !== null),
  )
  return orderOf([...written.map(({ name }) => name), ...more])
}

/** The order that an object gives to such keys: JavaScript moves whole numbers to the front. */
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

/** A document may have fields of the names that are ours. */
const OURS = /^\$+(keys|agents)$/

function escaped(key: string): string {
  return OURS.test(key) ? `$${key}` : key
}

function unescaped(key: string): string {
  return OURS.test(key) ? key.slice(1) : key
}
