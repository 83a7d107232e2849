/**
 * Finds a character of a text in its source. Quotes, escapes, indentation and folded lines change nothing about
 * the order of the signs that are not white space, so those are paired one by one, and the white space between
 * is taken to lie between them.
 */
import type { WrittenScalar } from "./written.ts"

interface Range {
  readonly start: number
  readonly end: number
}

/** The source of the characters `from` to `to` of a text's value, or undefined when it cannot be told. */
export function insideString(
  text: string,
  scalar: WrittenScalar,
  from: number,
  to: number,
): Range | undefined {
  if (typeof scalar.value !== "string" || from < 0 || from > scalar.value.length || to < from)
    return undefined
  const pairs = pair(text, scalar, scalar.value)
  if (pairs === undefined) return undefined
  const first = pairs[from]
  if (first === undefined) return { start: scalar.end, end: scalar.end }
  const last = pairs[Math.min(to, scalar.value.length) - 1]
  return { start: first.start, end: Math.max(first.end, last?.end ?? 0) }
}

/** For every character of the value, its source. */
function pair(text: string, scalar: WrittenScalar, value: string): Range[] | undefined {
  const pairs: Range[] = []
  let after = bodyStart(text, scalar)
  for (const sign of signsOf(text, scalar)) {
    const gap = gapAt(value, pairs.length)
    for (let i = 0; i < gap; i++) pairs.push(spaceAt(value, pairs.length, gap - i, after + i, sign.start))
    if (value[pairs.length] !== sign.unit) return undefined
    pairs.push({ start: sign.start, end: sign.end })
    after = sign.end
  }
  const rest = value.length - pairs.length
  if (gapAt(value, pairs.length) !== rest) return undefined
  for (let i = 0; i < rest; i++) pairs.push(clipped(after + i, scalar.end))
  return pairs
}

function gapAt(value: string, index: number): number {
  let end = index
  while (end < value.length && isSpace(value[end])) end++
  return end - index
}

/** White space on the line of the next sign lies right before it; other, right behind the sign before. */
function spaceAt(value: string, index: number, left: number, behind: number, next: number): Range {
  const sameLine = !value.slice(index, index + left).includes("\n")
  return sameLine ? clipped(next - left, next) : clipped(behind, next)
}

function clipped(start: number, limit: number): Range {
  const at = Math.min(start, limit)
  return { start: at, end: Math.min(at + 1, limit) }
}

function bodyStart(text: string, scalar: WrittenScalar): number {
  if (scalar.style === "plain") return scalar.start
  if (scalar.style !== "block") return scalar.start + 1
  const header = text.indexOf("\n", scalar.start)
  return header === -1 ? scalar.end : header + 1
}

interface Sign extends Range {
  readonly unit: string
}

/** The signs of the source that are not white space, decoded. */
function* signsOf(text: string, scalar: WrittenScalar): Generator<Sign> {
  const { style } = scalar
  const end = style === "single" || style === "double" ? scalar.end - 1 : scalar.end
  let at = bodyStart(text, scalar)
  while (at < end) {
    const start = at
    let decoded = text[at] ?? ""
    at++
    if (style === "single" && decoded === "'" && text[at] === "'") at++
    if (style === "double" && decoded === "\\") {
      const read = escapeAt(text, start)
      decoded = read.decoded
      at = read.end
    }
    for (let i = 0; i < decoded.length; i++) {
      const unit = decoded[i] ?? ""
      if (!isSpace(unit)) yield { unit, start, end: at }
    }
  }
}

const HEX_DIGITS: Record<string, number> = { x: 2, u: 4, U: 8 }
const NAMED: Record<string, string> = { "0": "\0", a: "\x07", b: "\b", e: "\x1B" }
const WHITE = "tnvfrN_LP"

function escapeAt(text: string, start: number): { readonly decoded: string; readonly end: number } {
  const name = text[start + 1] ?? ""
  const digits = HEX_DIGITS[name]
  if (digits !== undefined) {
    const end = start + 2 + digits
    const code = Number.parseInt(text.slice(start + 2, end), 16)
    return { decoded: code <= 0x10ffff ? String.fromCodePoint(code) : "", end }
  }
  if (WHITE.includes(name)) return { decoded: " ", end: start + 2 }
  return { decoded: NAMED[name] ?? name, end: start + 2 }
}

/** White space as both YAML's folding and the escapes above have it. */
function isSpace(unit: string | undefined): boolean {
  return unit !== undefined && /[\s\x85]/.test(unit)
}
