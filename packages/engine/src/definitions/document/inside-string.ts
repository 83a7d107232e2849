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

/** The source of every character of a value: as it stands there, or one by one. */
type Source = { readonly offset: number } | { readonly starts: Int32Array; readonly ends: Int32Array }

/** A long text may have many problems: its source is gone through once. */
const known = new WeakMap<WrittenScalar, Source | "unknown">()

/** The source of the characters `from` to `to` of a text's value, or undefined when it cannot be told. */
export function insideString(
  text: string,
  scalar: WrittenScalar,
  from: number,
  to: number,
): Range | undefined {
  const { value } = scalar
  if (typeof value !== "string" || from < 0 || from > value.length || to < from) return undefined
  const source = known.get(scalar) ?? sourceOf(text, scalar, value) ?? "unknown"
  known.set(scalar, source)
  if (source === "unknown") return undefined
  if (from === value.length) return { start: scalar.end, end: scalar.end }
  const last = Math.min(to, value.length) - 1
  if ("offset" in source) {
    return { start: source.offset + from, end: source.offset + Math.max(from, last) + 1 }
  }
  const { starts, ends } = source
  return { start: starts[from] ?? 0, end: Math.max(ends[from] ?? 0, ends[last] ?? 0) }
}

function sourceOf(text: string, scalar: WrittenScalar, value: string): Source | undefined {
  const offset = bodyStart(text, scalar)
  if (scalar.style !== "block" && text.startsWith(value, offset) && offset + value.length <= scalar.end) {
    return { offset }
  }
  return pair(text, scalar, value)
}

function pair(text: string, scalar: WrittenScalar, value: string): Source | undefined {
  const starts = new Int32Array(value.length)
  const ends = new Int32Array(value.length)
  let at = 0
  const push = ({ start, end }: Range) => {
    starts[at] = start
    ends[at] = end
    at++
  }
  let after = bodyStart(text, scalar)
  for (const sign of signsOf(text, scalar)) {
    const first = at
    const { end, lastBreak } = gapAt(value, at)
    // White space on the line of the next sign lies right before it; other, right behind the sign before.
    while (at < end) {
      const isSameLine = at > lastBreak
      push(
        isSameLine ? clipped(sign.start - (end - at), sign.start) : clipped(after + at - first, sign.start),
      )
    }
    if (value[at] !== sign.unit) return undefined
    push(sign)
    after = sign.end
  }
  if (gapAt(value, at).end !== value.length) return undefined
  for (const first = at; at < value.length; ) push(clipped(after + at - first, scalar.end))
  return { starts, ends }
}

/** Where the white space ends that begins here, and where its last line break is. */
function gapAt(value: string, index: number): { readonly end: number; readonly lastBreak: number } {
  let end = index
  let lastBreak = -1
  for (; end < value.length && isSpace(value[end]); end++) if (value[end] === "\n") lastBreak = end
  return { end, lastBreak }
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
