/**
 * How wide text is, about. An SVG does not know which font its reader has, so widths are those of a wide common
 * one: text then always fits.
 */
import { labelLines, wrap } from "@superstep/engine/pictures"

const NARROW = /[ijlftrI1.,:;'|!()[\]{} /\\-]/u
const BROAD = /[mwMW@%—…×]/u
const CAPITAL = /[\p{Lu}\d&#$?_<>=+~]/u
const PLAIN = /[\u0020-\u024f]/u
const NONE = /[\p{M}\p{Cf}]/u

/** In pixels. */
export function textWidth(text: string, size: number): number {
  let em = 0
  for (const sign of text) {
    if (NONE.test(sign)) continue
    if (NARROW.test(sign)) em += 0.42
    else if (BROAD.test(sign)) em += 1
    else if (CAPITAL.test(sign)) em += 0.74
    else em += PLAIN.test(sign) ? 0.62 : 1.1
  }
  return Math.ceil(em * size)
}

/** A label in lines of at most so many pixels. */
export function wrapped(label: string, most: number, size: number): string[] {
  return labelLines(label).flatMap((line) => wrap(line, most, (text) => textWidth(text, size)))
}
