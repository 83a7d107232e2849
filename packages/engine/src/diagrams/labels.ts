/** Labels as lines that a drawing can show. Names are arbitrary, so characters that no drawing can contain are replaced. */
import { cellWidth, graphemes } from "../text/index.ts"

const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/
/** Control characters and halves of surrogate pairs: no diagram's text may contain them. */
const NOT_TEXT = /[\p{Cc}\p{Cs}]/gu

/** The lines of a label, with white space collapsed. Empty if there is nothing to show. */
export function labelLines(label: string): string[] {
  return label
    .split(LINE_BREAK)
    .map((line) => line.replace(/\s+/g, " ").trim().replace(NOT_TEXT, "\uFFFD"))
    .filter((line) => line !== "")
}

/** Breaks after spaces and symbols inside names, or anywhere if there are none. */
export function wrap(line: string, maxWidth: number, measure: (text: string) => number): string[] {
  const lines: string[] = []
  let current = ""
  for (const piece of line.split(/(?<=[\s\-_/.:,])/u).flatMap((word) => split(word, maxWidth, measure))) {
    if (current !== "" && measure((current + piece).trimEnd()) > maxWidth) {
      lines.push(current.trimEnd())
      current = ""
    }
    current += piece
  }
  return [...lines, current.trimEnd()]
}

function split(word: string, maxWidth: number, measure: (text: string) => number): string[] {
  if (measure(word.trimEnd()) <= maxWidth) return [word]
  const pieces: string[] = []
  let current = ""
  for (const grapheme of graphemes(word)) {
    if (current !== "" && measure(current + grapheme) > maxWidth) {
      pieces.push(current)
      current = ""
    }
    current += grapheme
  }
  return [...pieces, current]
}

const TURNS_OR_HIDES = /[\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/gu

/** A label as lines of limited width, in ASCII only if asked for. Empty if there is nothing to show. */
export function textLines(label: string, maxWidth: number, ascii: boolean): string[] {
  return labelLines(label)
    .map((line) => (ascii ? inAscii(line) : line.replace(TURNS_OR_HIDES, "\ufffd")))
    .flatMap((line) => wrap(line, maxWidth, cellWidth))
}

function inAscii(text: string): string {
  return text
    .replace(/×/g, "x")
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^ -~]/gu, "?")
}
