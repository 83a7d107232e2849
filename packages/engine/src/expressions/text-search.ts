/**
 * Searches a string in another. JavaScript's own search is quadratic if a long part nearly matches everywhere, so it is
 * used for short parts only.
 */
import type { Work } from "./evaluation.ts"

const SHORT = 32

/** The offset of the first occurrence of `part` at or after `from`, or -1. */
export function firstOffset(text: string, part: string, from: number, work: Work): number {
  if (isShort(text, part, work)) return text.indexOf(part, from)
  for (const found of matchesOf(text, part, from)) return found
  return -1
}

/** The offset of the last occurrence of `part` at or before `from`, or -1. */
export function lastOffset(text: string, part: string, from: number, work: Work): number {
  if (isShort(text, part, work)) return text.lastIndexOf(part, from)
  let last = -1
  for (const found of matchesOf(text, part, 0)) {
    if (found > from) break
    last = found
  }
  return last
}

/** Splits text at the separators. An empty separator splits it into characters. */
export function splitBy(text: string, separator: string, work: Work): readonly string[] {
  work.spend(text.length)
  if (separator === "") return [...text]
  if (isShort(text, separator, work)) return text.split(separator)
  const parts: string[] = []
  let start = 0
  for (const found of matchesOf(text, separator, 0)) {
    if (found < start) continue
    parts.push(text.slice(start, found))
    start = found + separator.length
  }
  parts.push(text.slice(start))
  return parts
}

/** Also counts the work of the search. */
function isShort(text: string, part: string, work: Work): boolean {
  if (part.length > SHORT) {
    work.spendOnCharacters(text.length + part.length)
    return false
  }
  work.spendOnText(text.length * Math.max(1, part.length))
  return true
}

/**
 * All occurrences of `part`, including overlapping ones, by the Knuth–Morris–Pratt algorithm, which never moves back in
 * the text.
 */
function* matchesOf(text: string, part: string, from: number): Generator<number> {
  const borders = bordersOf(part)
  let matched = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = borders[matched - 1] as number
    if (part.charCodeAt(matched) === unit) matched++
    if (matched < part.length) continue
    yield at - matched + 1
    matched = borders[matched - 1] as number
  }
}

/** For each prefix of the part, the length of its longest border: what still matches if the next character does not. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length)
  let length = 0
  for (let at = 1; at < part.length; at++) {
    const unit = part.charCodeAt(at)
    while (length > 0 && part.charCodeAt(length) !== unit) length = borders[length - 1] as number
    if (part.charCodeAt(length) === unit) length++
    borders[at] = length
  }
  return borders
}
