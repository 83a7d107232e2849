/**
 * How values stand in columns, and how columns are selected and read.
 *
 * A name (an id, a workflow, a key …) is stored as `toStoredName` writes it. Text is read as bytes, because libsql ends the
 * process over text that is not UTF-8, which damage produces. Numbers are cast, because damage turns them into text too.
 */
import type { ValueCodec } from "@superstep/engine/stores"
import { fromStoredName, toStoredName } from "@superstep/engine/stores"
import { corrupt, type Subject } from "./errors.ts"

export { toStoredName as toText }

export function toTextOrNull(name: string | undefined): string | null {
  return name === undefined ? null : toStoredName(name)
}

/** For `json_each(?)`. */
export function toTextList(names: readonly string[]): string {
  return JSON.stringify([...new Set(names)].map(toStoredName))
}

/** Numbers of runs, as JSON: a statement takes them all at once. */
export type RunNumbers = string & { readonly runs: never }

export function toRunNumbers(runs: readonly number[]): RunNumbers {
  return JSON.stringify(runs) as RunNumbers
}

/** Follows `IN`. */
export const EACH_RUN = "(SELECT value FROM json_each(?))"

/** For messages: a damaged name is shown as it is stored. */
export function shownName(text: string): string {
  try {
    return fromStoredName(text)
  } catch {
    return text
  }
}

/** What the drivers return for `jsonBytes`. */
export type JsonBytes = ArrayBuffer | Uint8Array

/** A column of a SELECT. */
export function jsonBytes(column: string): string {
  return `CAST(${column} AS BLOB)`
}

/** The kinds of columns. A time is a number that may have a fraction. A question mark: the column may be null. */
type Kind = "text" | "integer" | "time" | "text?" | "integer?" | "time?"
type Columns = { readonly [name: string]: Kind }

const TYPES: { readonly [kind: string]: string } = { text: "BLOB", integer: "INTEGER", time: "NUMERIC" }

/** The columns of a SELECT from the table, each under its own name. */
export function selected(table: string, columns: Columns): string {
  return Object.entries(columns)
    .map(([name, kind]) => `CAST(${table}.${name} AS ${TYPES[kind.replace("?", "")]}) AS ${name}`)
    .join(", ")
}

type ValueOf<K extends Kind> = K extends `${infer Type}?`
  ? (Type extends "text" ? JsonBytes : number) | null
  : K extends "text"
    ? JsonBytes
    : number

/** A row that `selected` selects. */
export type Row<C extends Columns> = { readonly [Name in keyof C]: ValueOf<C[Name]> }

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export function decodeText(bytes: JsonBytes, subject: Subject): string {
  return readable(() => decoder.decode(bytes), subject, "it is not text")
}

export function decodeTextOrNull(bytes: JsonBytes | null, subject: Subject): string | null {
  return bytes === null ? null : decodeText(bytes, subject)
}

export function decodeName(bytes: JsonBytes, subject: Subject): string {
  return parseName(decodeText(bytes, subject), subject)
}

export function parseName(text: string, subject: Subject): string {
  return readable(() => fromStoredName(text), subject, "it is not a name")
}

export function parseJson(bytes: JsonBytes, subject: Subject): unknown {
  return readable(() => JSON.parse(decoder.decode(bytes)), subject, "it is not JSON")
}

/** JSON that may be sealed for this place. */
export function parseSealed(
  codec: ValueCodec,
  bytes: JsonBytes,
  subject: Subject,
  kind: string,
  owner: string,
  part?: string | number,
): unknown {
  const damaged = (what: string, cause?: unknown) => corrupt(subject, what, cause)
  const text = codec.open(decodeText(bytes, subject), damaged, kind, owner, part)
  return readable(() => JSON.parse(text), subject, "it is not JSON")
}

function readable<T>(read: () => T, subject: Subject, problem: string): T {
  try {
    return read()
  } catch (error) {
    throw corrupt(subject, problem, error)
  }
}
