/** Cuts a text into sentences by place, without copying: at ends of sentences, list items, headings, blank lines. */

type SeeSentence = (start: number, end: number) => void

const NEWLINE = 10
/** Longer lines than this are taken to be wrapped: the sentence goes on in the next one. */
const WRAPPED = 50
const BLOCK_START = /^\s*(?:[-*+•#>|]|\d{1,3}[.)]\s|[A-Z][\w -]{0,24}:\s)/
const ABBREVIATION =
  /(?:^|[\s(])(?:[A-Z]|e\.g|i\.e|etc|vs|cf|approx|no|nr|mr|mrs|ms|dr|prof|st|inc|ltd|jr|sr|fig|sec)$/i

export function eachSentence(text: string, see: SeeSentence): void {
  const length = text.length
  let start = 0
  let lineStart = 0
  const close = (end: number) => {
    const [from, to] = trimmed(text, start, end)
    if (to > from) see(from, to)
    start = end
  }
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code === NEWLINE) {
      if (endsLine(text, lineStart, i)) close(i + 1)
      lineStart = i + 1
    } else if (code === 46 || code === 33 || code === 63) {
      const end = sentenceEnd(text, i, code)
      if (end < 0) continue
      close(end)
      i = end - 1
    } else if (code === 0x3002 || code === 0xff01 || code === 0xff1f) {
      close(i + 1)
    }
  }
  close(length)
}

/** Where a sentence ends that has a `.`, `!` or `?` at this place, with the marks of its sources; -1: it goes on. */
function sentenceEnd(text: string, at: number, code: number): number {
  let next = at + 1
  while (next < text.length && isClosing(text.charCodeAt(next))) next++
  if (next >= text.length) return next
  if (!isGap(text.charCodeAt(next))) return -1
  const end = next
  while (next < text.length && isGap(text.charCodeAt(next))) next++
  if (text.charAt(next) === "[") {
    const marks = /^(?:\s*\[\d{1,3}\])+/.exec(text.slice(next, next + 40))
    if (marks !== null && !text.slice(end, next).includes("\n")) return next + marks[0].length
  }
  if (isSmall(text, next)) return -1
  return code === 46 && ABBREVIATION.test(text.slice(Math.max(0, at - 8), at)) ? -1 : end
}

/** How much of the next line is looked at. */
const LOOKED_AT = 40

/** Whether what stands before a line break ends with it: the next line is blank, begins a block, or does not go on. */
function endsLine(text: string, lineStart: number, at: number): boolean {
  const limit = Math.min(text.length, at + 1 + LOOKED_AT)
  let next = at + 1
  while (next < limit && isGap(text.charCodeAt(next)) && text.charCodeAt(next) !== NEWLINE) next++
  const code = next < limit ? text.charCodeAt(next) : NEWLINE
  if (code === NEWLINE) return true
  if (mayBeginBlock(code) && BLOCK_START.test(lineAt(text, at + 1, limit))) return true
  if (text.charCodeAt(lineStart) === HASH) return true
  const isLong = at - lineStart > WRAPPED
  return !isLong && !isSmall(text, next)
}

const HASH = 35

function mayBeginBlock(code: number): boolean {
  const isLetterOrMark = (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code >= 128
  return isLetterOrMark || (code < 48 && code > 32) || code === 62 || code === 124
}

function lineAt(text: string, start: number, limit: number): string {
  const line = text.slice(start, limit)
  const end = line.indexOf("\n")
  return end < 0 ? line : line.slice(0, end)
}

function trimmed(text: string, start: number, end: number): [number, number] {
  let from = start
  let to = end
  while (from < to && isGap(text.charCodeAt(from))) from++
  while (to > from && isGap(text.charCodeAt(to - 1))) to--
  return [from, to]
}

/** Quotation marks and brackets that close. */
function isClosing(code: number): boolean {
  return code < 128
    ? code === 34 || code === 39 || code === 41 || code === 93
    : code === 0xbb || code === 0x201d || code === 0x2019
}

function isSmall(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 128 ? code >= 97 && code <= 122 : /\p{Ll}/u.test(text.charAt(at))
}

function isGap(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0
}

export function isHeading(text: string): boolean {
  return /^#{1,6}\s/.test(text) || (text.length < 60 && /^[^.!?]*:$/.test(text))
}
