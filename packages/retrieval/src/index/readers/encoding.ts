/**
 * What a file's bytes are: looked at once, in pieces, before anything is read as text. The encoding is what the file
 * begins with, else UTF-8 if all of it is, else UTF-16 if it looks so, else the one of Windows for western languages.
 */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { TextDecoder } from "node:util"

export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252"

export interface Contents {
  /** SHA-256 of the bytes. */
  readonly hash: string
  readonly bytes: number
  /** Undefined: it is no text. */
  readonly encoding: Encoding | undefined
  /** What it begins with, for readers that look there: at most 4 KB. */
  readonly head: Buffer
}

const PIECE = 256 * 1_024
const HEAD = 4_096

export async function examine(path: string, signal?: AbortSignal): Promise<Contents> {
  const pieces = createReadStream(path, { highWaterMark: PIECE, signal })
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
    // One that is certain not to be text need not be looked at further.
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

/** Whether more than one in fifty is a sign that no text has: what is compressed has them all over. */
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
  // Text in Latin letters has a zero in every second byte of UTF-16, always on the same side.
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
