/**
 * Data with the offsets of every value in the source. Both readers (YAML, JSON) produce it; the data and all source
 * ranges are derived from it. Depth and size include aliased values, so that a reader can refuse a small file that
 * expands to a huge value before any code walks through it.
 */
import type { Json } from "../core/index.ts"

export interface ReadResult {
  /** Undefined if the file contains no value. */
  readonly root: Written | undefined
  /** False after mistakes that may have broken the structure. */
  readonly sound: boolean
}

export interface Range {
  /** Offset of the first character. */
  readonly start: number
  /** Offset after the last. */
  readonly end: number
}

interface Extent {
  /** Levels of lists and mappings, itself included. */
  readonly depth: number
  /** Values, itself included; a long string counts as several. */
  readonly size: number
}

export interface WrittenScalar extends Range {
  readonly kind: "scalar"
  readonly style: "plain" | "block" | "single" | "double"
  readonly value: null | boolean | number | string
}

export interface WrittenList extends Range, Extent {
  readonly kind: "list"
  readonly items: readonly Written[]
}

export interface WrittenEntry {
  readonly key: Range
  readonly value: Written
}

export interface WrittenMap extends Range, Extent {
  readonly kind: "map"
  readonly entries: ReadonlyMap<string, WrittenEntry>
}

/** `*name`: the value of `&name`. */
export interface WrittenAlias extends Range {
  readonly kind: "alias"
  readonly target: Exclude<Written, WrittenAlias>
}

export type Written = WrittenScalar | WrittenList | WrittenMap | WrittenAlias

export const MAX_DEPTH = 200
/** A long string that is aliased often is as bad as many values. */
export const CHARACTERS_PER_VALUE = 100
export const MAX_VALUES = 500_000

export function writtenList(start: number, end: number, items: readonly Written[]): WrittenList {
  return { kind: "list", start, end, items, ...extentOf(items) }
}

export function writtenMap(start: number, end: number, entries: Map<string, WrittenEntry>): WrittenMap {
  const values: Written[] = []
  for (const entry of entries.values()) values.push(entry.value)
  return { kind: "map", start, end, entries, ...extentOf(values) }
}

export function depthOf(written: Written): number {
  const value = throughAlias(written)
  return value.kind === "scalar" ? 0 : value.depth
}

export function sizeOf(written: Written): number {
  const value = throughAlias(written)
  if (value.kind !== "scalar") return value.size
  return 1 + (typeof value.value === "string" ? Math.floor(value.value.length / CHARACTERS_PER_VALUE) : 0)
}

function extentOf(values: readonly Written[]): Extent {
  let depth = 0
  let size = 1
  for (const value of values) {
    depth = Math.max(depth, depthOf(value))
    size += sizeOf(value)
  }
  return { depth: depth + 1, size }
}

export function throughAlias(written: Written): Exclude<Written, WrittenAlias> {
  return written.kind === "alias" ? written.target : written
}

/**
 * The plain data, like JSON.parse: `__proto__` is an ordinary key. Nothing is shared between aliases. The reader has
 * limited depth and size.
 */
export function dataOf(written: Written): Json {
  const value = throughAlias(written)
  switch (value.kind) {
    case "scalar":
      return value.value
    case "list":
      return value.items.map(dataOf)
    case "map": {
      const data: Record<string, Json> = {}
      for (const [key, entry] of value.entries) {
        // An assignment of `__proto__` would set the object's prototype.
        if (key === "__proto__") Object.defineProperty(data, key, { ...FIELD, value: dataOf(entry.value) })
        else data[key] = dataOf(entry.value)
      }
      return data
    }
  }
}

const FIELD = { writable: true, enumerable: true, configurable: true }

/** The source positions of a value's characters: one offset, or one position per character. */
type Source = { readonly offset: number } | { readonly starts: Int32Array; readonly ends: Int32Array }

/** A long string may have many problems, so its source is searched once. */
const known = new WeakMap<WrittenScalar, Source | "unknown">()

/**
 * The source of the characters `from` to `to` of a string. Undefined if it cannot be found. Quotes, escapes, indentation
 * and folded lines do not change the order of the characters that are not white space, so those are matched one by one,
 * and the white space is assumed to be between them.
 */
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
  for (const found of charactersOf(text, scalar)) {
    const first = at
    const { end, lastBreak } = gapAt(value, at)
    // White space on the line of the next character is directly before it; other white space is directly after the
    // previous character.
    while (at < end) {
      const isSameLine = at > lastBreak
      const start = isSameLine ? found.start - (end - at) : after + at - first
      push(clipped(start, found.start))
    }
    if (value[at] !== found.unit) return undefined
    push(found)
    after = found.end
  }
  if (gapAt(value, at).end !== value.length) return undefined
  for (const first = at; at < value.length; ) push(clipped(after + at - first, scalar.end))
  return { starts, ends }
}

/** The end of the white space that begins here, and its last line break. */
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

/** The decoded characters of the source that are not white space. */
function* charactersOf(text: string, scalar: WrittenScalar): Generator<Range & { readonly unit: string }> {
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
    for (const unit of decoded.split("")) if (!isSpace(unit)) yield { unit, start, end: at }
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

/** White space for YAML's folding and for the escapes above. */
function isSpace(unit: string | undefined): boolean {
  return unit !== undefined && /[\s\x85]/.test(unit)
}
