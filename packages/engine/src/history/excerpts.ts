/** Parts of texts that are too long to show. */
import { isInPair } from "../text/index.ts"

/** Two strings that differ, cut to the part around the first difference. */
export function excerpts(before: string, after: string, most: number): [before: string, after: string] {
  if (before.length <= most && after.length <= most) return [before, after]
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  const from = Math.max(0, same - Math.floor(most / 3))
  return [excerpt(before, from, most), excerpt(after, from, most)]
}

export function excerpt(text: string, from: number, most: number): string {
  const start = isInPair(text, from) ? from - 1 : from
  const end = isInPair(text, from + most) ? from + most - 1 : from + most
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`
}
