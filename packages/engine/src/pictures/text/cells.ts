/**
 * Text in the cells of a terminal. A grapheme takes one cell, or two where a terminal shows it wide. What would
 * take none, or turn the direction of the line around, is not let through by itself.
 */
import { labelLines } from "../label-lines.ts"
import { graphemes, wrap } from "../wrap.ts"

const WIDE =
  /^[\u1100-\u115f\u231a\u231b\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f1e6}-\u{1f1ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u
const TURNS_OR_HIDES = /[\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/gu
const NO_CELL = /^[\p{Mn}\p{Me}\p{Cf}]+$/u

export function cellsOf(grapheme: string): 0 | 1 | 2 {
  if (WIDE.test(grapheme)) return 2
  return NO_CELL.test(grapheme) ? 0 : 1
}

export function cellWidth(text: string): number {
  return graphemes(text).reduce((sum, one) => sum + cellsOf(one), 0)
}

/** A label as lines of at most so many cells: in ASCII alone if asked for. Empty where there is nothing to show. */
export function textLines(label: string, most: number, ascii: boolean): string[] {
  return labelLines(label)
    .map((line) => (ascii ? inAscii(line) : line.replace(TURNS_OR_HIDES, "\ufffd")))
    .flatMap((line) => wrap(line, most, cellWidth))
}

function inAscii(text: string): string {
  return text
    .replace(/×/g, "x")
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^ -~]/gu, "?")
}
