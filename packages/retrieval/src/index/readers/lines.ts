/** A file as lines of text, read in pieces: however long a file or a line is, little of it is held. */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { SuperstepError } from "@superstep/engine"
import type { Contents, Encoding } from "./encoding.ts"

export interface Line {
  /** Without its line break. */
  readonly text: string
  /** From 1. */
  readonly line: number
  /** The rest of the line follows: it is longer than anything should be. */
  readonly isCut: boolean
}

/** Where text comes from: a file's bytes, or a text that was given. */
export interface TextSource {
  pieces(signal?: AbortSignal): AsyncIterable<string>
}

const PIECE = 64 * 1_024
const LONGEST_LINE = 16 * 1_024

/** Fails when the file is not the one that was examined. */
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
  return new SuperstepError("DOCUMENT_CHANGED", "it changed while it was read: add it again")
}

export function givenText(text: string): TextSource {
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
      yield { text: withoutReturn(rest.slice(start, end)), line, isCut: false }
      line += 1
      start = end + 1
    }
    rest = rest.slice(start)
    while (rest.length > LONGEST_LINE) {
      const at = breakBefore(rest, LONGEST_LINE)
      yield { text: rest.slice(0, at), line, isCut: true }
      rest = rest.slice(at)
    }
  }
  if (rest !== "") yield { text: withoutReturn(rest), line, isCut: false }
}

function withoutReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text
}

function breakBefore(text: string, longest: number): number {
  const space = text.lastIndexOf(" ", longest - 1)
  if (space > longest / 2) return space + 1
  return /[\uD800-\uDBFF]/.test(text[longest - 1] as string) ? longest - 1 : longest
}
