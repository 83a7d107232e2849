/** Splits text into sentences, list items, table rows and headings. */

/** Lines longer than this count as wrapped: their sentence continues on the next line. */
const WRAPPED = 50
const BLOCK_START = /^\s*(?:[-*+•#>|[]|\d{1,3}[.)]\s)/
/** A line that is complete: it ends like one, or it is data. */
const LINE_END = /[.!?:;}\])]\s*$|->|[{|]/
/** `- name: value, …`: a row of a table, or an item with a label. */
const ROW = /^- [^:]{1,60}: /
/** The end of a sentence, with the numbers of its sources. */
const SENTENCE_END = /[.!?]["'”’»)\]]{0,3}(?:[ \t]{0,2}\[\d{1,3}\]){0,9}(?=\s|$)|[。！？]/g
const ABBREVIATION =
  /(?:^|[\s(])(?:[A-Z]|e\.g|i\.e|etc|vs|cf|approx|no|nr|mr|mrs|ms|dr|prof|st|inc|ltd|jr|sr|fig|sec)\.$/i

export function sentencesIn(text: string): string[] {
  return unwrapped(text).flatMap((line) => {
    if (ROW.test(line)) return [line.trim()]
    const found: string[] = []
    let from = 0
    for (const end of line.matchAll(SENTENCE_END)) {
      const to = end.index + end[0].length
      const isOpen = /^\s+\p{Ll}/u.test(line.slice(to, to + 4))
      if (isOpen || ABBREVIATION.test(line.slice(Math.max(0, to - 9), to))) continue
      found.push(line.slice(from, to))
      from = to
    }
    return [...found, line.slice(from)]
      .map((sentence) => sentence.trim())
      .filter((sentence) => sentence !== "")
  })
}

function unwrapped(text: string): string[] {
  const lines: string[] = []
  let open: string[] = []
  const close = () => {
    if (open.length > 0) lines.push(open.join(" "))
    open = []
  }
  for (const line of text.split("\n")) {
    const last = open.at(-1)
    const isWrapped =
      last !== undefined &&
      !BLOCK_START.test(line) &&
      !isHeading(last) &&
      (/^\s*\p{Ll}/u.test(line) ? !/[.!?]\s*$/.test(last) : last.length > WRAPPED && !LINE_END.test(last))
    if (!isWrapped) close()
    if (line.trim() === "") close()
    else open.push(line)
  }
  close()
  return lines
}

export function isHeading(sentence: string): boolean {
  return /^#{1,6}\s/.test(sentence) || (sentence.length < 60 && /^[^.!?]*:$/.test(sentence))
}
