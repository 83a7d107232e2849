/** JSON or text in a column, read as bytes: libsql ends the process over a text that is not UTF-8, as damage makes it. */
import { corrupt, type Place } from "./errors.ts"

/** What the drivers give for `jsonBytes`. */
export type JsonBytes = ArrayBuffer | Uint8Array

/** To be selected. */
export function jsonBytes(column: string): string {
  return `CAST(${column} AS BLOB)`
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export function decodeText(bytes: JsonBytes, place: Place): string {
  try {
    return decoder.decode(bytes)
  } catch (error) {
    throw corrupt(place, "it is no text", error)
  }
}

export function parseJson(bytes: JsonBytes, place: Place): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch (error) {
    throw corrupt(place, "it is not JSON", error)
  }
}
