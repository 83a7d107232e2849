/** Numbers of sources in a text: `[1]`, `[1, 3]`, `[2-4]`, `[^1]`. What is in code is code. */
import { outsideCode } from "./markdown/markdown-code.ts"

const MARK = String.raw`\[\^?(?:\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\]`
const MARKS = new RegExp(`( ?)(${MARK}(?: ?${MARK})*)`, "g")
const IN_BRACKETS = /\[\^?([\d,;–^\s-]+)\]/g
const MOST_IN_RANGE = 50

/** Every number of a source becomes what `change` says; one for which it says undefined is taken out. */
export function mapCitations(text: string, change: (number: number) => number | undefined): string {
  return outsideCode(text, (plain) =>
    plain.replace(MARKS, (_, space: string, marks: string) => {
      const lists = [...marks.matchAll(IN_BRACKETS)].map(([, list = ""]) => list)
      const numbers = lists.flatMap(numbersIn).flatMap((number) => change(number) ?? [])
      const written = [...new Set(numbers)].map((number) => `[${number}]`).join("")
      return written === "" ? "" : `${space}${written}`
    }),
  )
}

/** The numbers in the order in which they first occur. */
export function citedIn(text: string): number[] {
  const found = new Set<number>()
  mapCitations(text, (number) => {
    found.add(number)
    return number
  })
  return [...found]
}

function numbersIn(list: string): number[] {
  return list.split(/[,;]/).flatMap((part) => {
    const [from, to] = part.split(/[–-]/).map((text) => Number(text.replace("^", "").trim()))
    if (from === undefined) return []
    if (to === undefined) return [from]
    if (to < from || to - from > MOST_IN_RANGE) return [from, to]
    return Array.from({ length: to - from + 1 }, (_, i) => from + i)
  })
}
