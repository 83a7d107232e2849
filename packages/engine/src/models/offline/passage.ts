/** A piece of text that can be quoted, with where it is from. */

export interface Passage {
  readonly text: string
  /** Where it is from, as the context names it. */
  readonly source?: string | undefined
  /** The number that the context gave it. */
  readonly number?: number | undefined
  /** How much it counts: what was just found more than what was said before. */
  readonly weight: number
  /** Sources that its own sentences name by number: `[1]` … `Sources:` `[1] file.md`. */
  readonly cited?: ReadonlyMap<number, string> | undefined
}

/** The list of sources that an answer ends with, looked for in its last part alone. */
const TRAILER =
  /\n(?:\*\*)?(?:Sources|References)(?:\*\*)?:[ \t]*\n((?:[ \t]*[-*]?[ \t]*\[\d{1,3}\][^\n]*(?:\n|$))+)\s*$/i
const TRAILER_REACH = 4_000

export function passage(
  text: string,
  source: string | undefined,
  number: number | undefined,
  weight: number,
): Passage {
  const tail = text.length - Math.min(text.length, TRAILER_REACH)
  const trailer = TRAILER.exec(text.slice(tail))
  if (trailer === null) return { text: text.trim(), source, number, weight }
  const cited = new Map<number, string>()
  for (const [, key, name] of (trailer[1] ?? "").matchAll(/\[(\d{1,3})\][ \t]*([^\n]+)/g)) {
    if (key !== undefined && name !== undefined) cited.set(Number(key), cleanSource(name))
  }
  return { text: text.slice(0, tail + trailer.index).trim(), source, number, weight, cited }
}

export function cleanSource(source: string): string {
  const bare = source
    .replace(/(?<!\s)\s*\((?:score|relevance)[^()]*\)\s*$/i, "")
    .replace(/^[("'*]+|(?<!["'*:,])["'*:,]+$/g, "")
    .trim()
  // `Shop (2026)` has brackets of its own.
  return bare.includes("(") ? bare : bare.replace(/(?<![)"'*:,])[)"'*:,]+$/, "")
}
