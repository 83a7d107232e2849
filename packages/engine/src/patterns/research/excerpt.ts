/** The part of a long text that has to do with a question. */
import { isInPair } from "../../text/index.ts"
import { scoresOf } from "../../tools/words.ts"

/** Paragraphs that fit the query best, in their own order; a text that is short enough is left whole. */
export function excerptOf(text: string, query: string, most: number): string {
  const whole = text.trim()
  if (whole.length <= most) return whole
  const paragraphs = whole.split(/\n{2,}/).flatMap((one) => pieces(one.trim(), most))
  const scores = scoresOf(query, paragraphs)
  const best = paragraphs.map((_, i) => i).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
  const chosen: number[] = []
  let length = 0
  for (const i of best) {
    const size = (paragraphs[i]?.length ?? 0) + 2
    if (length + size > most) continue
    chosen.push(i)
    length += size
  }
  return chosen
    .sort((a, b) => a - b)
    .map((i) => paragraphs[i])
    .join("\n\n")
}

/** A paragraph in pieces, each short enough to leave room for others. */
function pieces(paragraph: string, most: number): string[] {
  const size = Math.max(1, Math.floor(most / 3))
  const parts: string[] = []
  for (let at = 0; at < paragraph.length; ) {
    const end = at + size + (isInPair(paragraph, at + size) ? 1 : 0)
    parts.push(paragraph.slice(at, end))
    at = end
  }
  return parts
}
