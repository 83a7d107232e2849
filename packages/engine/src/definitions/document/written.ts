/**
 * Data as it is written: every value with the offsets of its text. Both readers (YAML, JSON) make this, the
 * data and all places come from it. Depth and size count what aliases bring in, so that a reader can refuse a
 * small text that means a huge value before anybody walks through it.
 */
import type { Json } from "../../core/index.ts"

interface Range {
  /** Offset of the first character. */
  readonly start: number
  /** Offset behind the last. */
  readonly end: number
}

interface Extent {
  /** Levels of lists and mappings, itself included. */
  readonly depth: number
  /** Values, itself included, long texts for several. */
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
/** A long text counts as several values: brought in often enough, it is as bad as many. */
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
 * The plain data, as JSON.parse would have made it: `__proto__` is a key like any other. Nothing is shared
 * between aliases. The reader has bounded depth and size.
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
        const item = dataOf(entry.value)
        // Assigned, it would be the object's prototype.
        if (key === "__proto__") {
          Object.defineProperty(data, key, {
            value: item,
            enumerable: true,
            configurable: true,
            writable: true,
          })
        } else data[key] = item
      }
      return data
    }
  }
}
