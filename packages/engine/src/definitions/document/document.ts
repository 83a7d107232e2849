/** A definition's source: its data, and where each part of it is written. */
import type { Json } from "../../core/index.ts"
import { insideString } from "./inside-string.ts"
import type { Lines, Part, Path, Place } from "./place.ts"
import { dataOf, throughAlias, type Written, type WrittenEntry } from "./written.ts"

export interface Document {
  readonly file: string
  /** Without a byte order mark. */
  readonly text: string
  readonly format: "yaml" | "json"
  readonly data: Json
  /**
   * Where a value is written, or its key, or a range of characters in a text. What is not written, as a missing
   * field, has the place of what it is missing from.
   */
  place(path: Path, part?: Part): Place
}

export function documentOf(
  source: { readonly file: string; readonly text: string; readonly format: "yaml" | "json" },
  root: Written,
  lines: Lines,
): Document {
  const { file, text, format } = source
  return {
    file,
    text,
    format,
    data: dataOf(root),
    place(path, part = "value") {
      const found = find(root, path)
      const { entry, value } = found
      if (entry !== undefined && (part === "key" || !found.whole)) {
        return lines.place(entry.key.start, entry.key.end)
      }
      if (typeof part === "object" && found.whole) {
        const scalar = throughAlias(value)
        const range = scalar.kind === "scalar" ? insideString(text, scalar, part.from, part.to) : undefined
        if (range !== undefined) return lines.place(range.start, range.end)
      }
      return lines.place(value.start, value.end)
    },
  }
}

interface Found {
  readonly value: Written
  /** The entry of a mapping whose value it is; none in a list and at the root. */
  readonly entry: WrittenEntry | undefined
  /** False when the path leads further than what is written. */
  readonly whole: boolean
}

function find(root: Written, path: Path): Found {
  let value = root
  let entry: WrittenEntry | undefined
  for (const part of path) {
    const inside = throughAlias(value)
    if (inside.kind === "map") {
      const next = inside.entries.get(String(part))
      if (next === undefined) return { value, entry, whole: false }
      entry = next
      value = next.value
    } else {
      const item = inside.kind === "list" ? inside.items[Number(part)] : undefined
      if (item === undefined) return { value, entry, whole: false }
      entry = undefined
      value = item
    }
  }
  return { value, entry, whole: true }
}
