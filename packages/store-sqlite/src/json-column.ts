/**
 * Columns as they are selected and read. Texts are read as bytes: libsql ends the process over a text that is not
 * UTF-8, as damage makes it. Numbers are cast, as damage makes texts of them too.
 */
import { corrupt, type Place } from "./errors.ts"
import { fromText } from "./text.ts"

/** What the drivers give for `jsonBytes`. */
export type JsonBytes = ArrayBuffer | Uint8Array

/** To be selected. */
export function jsonBytes(column: string): string {
  return `CAST(${column} AS BLOB)`
}

/** To be selected from the table: each column under its own name, a text as bytes, a number as a number. */
export function selected(table: string, columns: Readonly<Record<string, "integer" | "text">>): string {
  return Object.entries(columns)
    .map(([name, kind]) => `CAST(${table}.${name} AS ${kind === "text" ? "BLOB" : "INTEGER"}) AS ${name}`)
    .join(", ")
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export function decodeText(bytes: JsonBytes, place: Place): string {
  try {
    return decoder.decode(bytes)
  } catch (error) {
    throw corrupt(place, "it is no text", error)
  }
}

export function decodeTextOrNull(bytes: JsonBytes | null, place: Place): string | null {
  return bytes === null ? null : decodeText(bytes, place)
}

/** A name, as it is kept (text.ts). */
export function decodeName(bytes: JsonBytes, place: Place): string {
  return parseName(decodeText(bytes, place), place)
}

export function parseName(text: string, place: Place): string {
  try {
    return fromText(text)
  } catch (error) {
    throw corrupt(place, "it is no name", error)
  }
}

export function parseJson(bytes: JsonBytes, place: Place): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch (error) {
    throw corrupt(place, "it is not JSON", error)
  }
}
