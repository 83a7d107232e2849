/**
 * Reads files as text, in pieces: their encoding, and their lines. Memory does not depend on the length of a file or a
 * line.
 */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { TextDecoder } from "node:util"
import { SuperstepError } from "@superstep/engine"

export interface Line {
  /** Without its line break. */
  readonly text: string
  /** From 1. */
  readonly line: number
  /** The line exceeds the maximum length, and its rest follows. */
  readonly isTruncated: boolean
}

/** The source of text: a file, or a string. */
export interface TextSource {
  pieces(signal?: AbortSignal): AsyncIterable<string>
}

const PIECE = 64 * 1_024
const MAX_LINE_LENGTH = 16 * 1_024

/** Fails if the file changed since it was examined. */
export function fileText(path: string, contents: Pick<Contents, "hash">, encoding: Encoding): TextSource {
  return {
    async *pieces(signal) {
      const hash = createHash("sha256")
      const decoder = new TextDecoder(encoding)
      for await (const piece of createReadStream(path, { highWaterMark: PIECE, signal })) {
        hash.update(piece)
        yield decoder.decode(piece, { stream: true })
      }
      yield decoder.decode()
      if (hash.digest("hex") !== contents.hash) throw changed()
    },
  }
}

export function changed(): SuperstepError {
  return new SuperstepError("DOCUMENT_CHANGED", "it changed while being read: add it again")
}

export function textSource(text: string): TextSource {
  return {
    async *pieces() {
      for (let at = 0; at < text.length; at += PIECE) yield text.slice(at, at + PIECE)
    },
  }
}

export async function* linesOf(source: TextSource, signal?: AbortSignal): AsyncGenerator<Line> {
  let rest = ""
  let line = 1
  for await (const piece of source.pieces(signal)) {
    rest += piece
    let start = 0
    for (;;) {
      const end = rest.indexOf("\n", start)
      if (end < 0) break
      yield { text: withoutReturn(rest.slice(start, end)), line, isTruncated: false }
      line += 1
      start = end + 1
    }
    rest = rest.slice(start)
    while (rest.length > MAX_LINE_LENGTH) {
      const at = breakBefore(rest, MAX_LINE_LENGTH)
      yield { text: rest.slice(0, at), line, isTruncated: true }
      rest = rest.slice(at)
    }
  }
  if (rest !== "") yield { text: withoutReturn(rest), line, isTruncated: false }
}

function withoutReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text
}

function breakBefore(text: string, longest: number): number {
  const space = text.lastIndexOf(" ", longest - 1)
  if (space > longest / 2) return space + 1
  return /[\uD800-\uDBFF]/.test(text[longest - 1] as string) ? longest - 1 : longest
}

export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252"

export interface Contents {
  /** SHA-256 of the bytes. */
  readonly hash: string
  readonly bytes: number
  /** Undefined: the file is not text. */
  readonly encoding: Encoding | undefined
  /** The first bytes, for readers that look for declarations there. At most 4 KB. */
  readonly head: Buffer
}

const LARGE_PIECE = 256 * 1_024
const HEAD = 4_096

export async function examine(path: string, signal?: AbortSignal): Promise<Contents> {
  const pieces = createReadStream(path, { highWaterMark: LARGE_PIECE, signal })
  return await examinePieces(pieces)
}

export async function examinePieces(pieces: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<Contents> {
  const hash = createHash("sha256")
  const strict = new TextDecoder("utf-8", { fatal: true })
  let head = Buffer.alloc(0)
  let [bytes, zeros, isUtf8] = [0, 0, true]
  for await (const piece of pieces) {
    hash.update(piece)
    if (bytes < HEAD) head = Buffer.concat([head, piece.subarray(0, HEAD - bytes)])
    bytes += piece.length
    // A file that is certainly not text is not examined further.
    if (zeros < HEAD) for (let at = piece.indexOf(0); at >= 0; at = piece.indexOf(0, at + 1)) zeros++
    if (isUtf8) isUtf8 = decodes(strict, piece)
  }
  isUtf8 &&= decodes(strict, undefined)
  return { hash: hash.digest("hex"), bytes, encoding: encodingOf(head, isUtf8, zeros), head }
}

function decodes(decoder: TextDecoder, piece: Buffer | undefined): boolean {
  try {
    decoder.decode(piece, { stream: piece !== undefined })
    return true
  } catch {
    return false
  }
}

/** Whether more than one byte in fifty is a control character, as in compressed data. */
function hasControls(head: Buffer): boolean {
  let count = 0
  for (const byte of head) if (byte < 0x20 && !(byte >= 0x08 && byte <= 0x0d) && byte !== 0x1b) count++
  return count > head.length / 50
}

function encodingOf(head: Buffer, isUtf8: boolean, zeros: number): Encoding | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le"
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be"
  if (zeros === 0) {
    if (isUtf8) return "utf-8"
    return hasControls(head) ? undefined : "windows-1252"
  }
  // In UTF-16, Latin text has a zero in every second byte, always on the same side.
  let [even, odd] = [0, 0]
  for (let at = 0; at < head.length; at++) {
    if (head[at] !== 0) continue
    if (at % 2 === 0) even++
    else odd++
  }
  const most = head.length / 4
  if (odd > most && even < odd / 10) return "utf-16le"
  if (even > most && odd < even / 10) return "utf-16be"
  return undefined
}
