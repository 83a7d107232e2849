/** Labels as lines of cells. What takes no cell, or turns the direction of the line around, is not let through by itself. */
import { cellWidth } from "../../text/index.ts"
import { labelLines } from "../label-lines.ts"
import { wrap } from "../wrap.ts"

const TURNS_OR_HIDES = /[\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/gu

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
