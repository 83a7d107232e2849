/**
 * Checksums of what is stored, so that damage is found where it is read: CRC-32, which finds every change of up to four
 * bytes in a row. What is written once has the checksum of its own columns and of whose it is, made here. What SQL
 * changes in place (where a run stands, what became of a request) is checked by SQL: see row-checks.ts.
 *
 * Rows that were written before there were checksums have null, and are taken as they are.
 */
import { crc32 } from "node:zlib"
import { corrupt, type Place } from "./errors.ts"
import type { JsonBytes } from "./json-column.ts"

/** Names as text.ts has them, JSON, numbers: none of them contains a line break. */
type Part = string | number | null

export function checksum(parts: readonly Part[], body: string | JsonBytes = ""): number {
  return signed(body, crc32(`${parts.join("\n")}\n`))
}

/** Of a record; apart from the others, as it is made for each of them. */
export function recordChecksum(
  runId: string,
  seq: number,
  frame: string,
  events: number,
  places: string | null,
  body: string | JsonBytes,
): number {
  const head = crc32(`${runId}\n${seq}\n${frame}\n${events}\n${places ?? ""}\n`)
  return signed(body, head)
}

/** As a signed number of 32 bits: the drivers hand over larger ones at more cost. */
function signed(body: string | JsonBytes, head: number): number {
  return crc32(body instanceof ArrayBuffer ? new Uint8Array(body) : body, head) | 0
}

export function check(stored: number | null, found: () => number, place: Place): void {
  if (stored !== null && stored !== found())
    throw corrupt(place, "its checksum is another than the stored one")
}
