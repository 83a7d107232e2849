/** Citations in Markdown: `[1]`, `[1][3]`, also as a model may write them: `[1, 3]`, `[2-4]`, `[^1]`. */
import { outsideCode } from "../markdown/markdown-parts.ts"

const MARK = String.raw`\[\^?(?:\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\]`
const MARKS = new RegExp(`( ?)(${MARK}(?: ?${MARK})*)`, "g")
const IN_BRACKETS = /\[\^?([\d,;–^\s-]+)\]/g
const MAX_IN_RANGE = 50

/** Replaces every citation number with the result of `change`, and removes it where that is undefined. */
export function mapCitations(
  text: string,
  change: (number: number) => number | undefined,
  written: (number: number) => string = (number) => `[${number}]`,
): string {
  return outsideCode(text, (plain) =>
    plain.replace(MARKS, (_, space: string, marks: string) => {
      const lists = [...marks.matchAll(IN_BRACKETS)].map(([, list = ""]) => list)
      const numbers = lists.flatMap(numbersIn).flatMap((number) => change(number) ?? [])
      const together = [...new Set(numbers)].map(written).join("")
      return together === "" ? "" : `${space}${together}`
    }),
  )
}

/** The numbers in the order in which they first occur. */
export function citedIn(text: string): number[] {
  return [...citationCounts(text).keys()]
}

/** How often each number is cited, in the order in which they first occur. */
export function citationCounts(text: string): Map<number, number> {
  const counts = new Map<number, number>()
  mapCitations(text, (number) => {
    counts.set(number, (counts.get(number) ?? 0) + 1)
    return number
  })
  return counts
}

function numbersIn(list: string): number[] {
  return list.split(/[,;]/).flatMap((part) => {
    const [from, to] = part.split(/[–-]/).map((text) => Number(text.replace("^", "").trim()))
    if (from === undefined) return []
    if (to === undefined) return [from]
    if (to < from || to - from > MAX_IN_RANGE) return [from, to]
    return Array.from({ length: to - from + 1 }, (_, i) => from + i)
  })
}
