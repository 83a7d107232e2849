/** Chunks that a search found, as they are shown: how strong each is beside the best, and where the words of the query are. */
import type { FoundChunk } from "@superstep/client"

export interface ShownChunk extends FoundChunk {
  readonly rank: number
  /** From 0 to 1, of the best one. Scores of different searches cannot be compared. */
  readonly strength: number
  readonly parts: readonly { readonly text: string; readonly isMatch: boolean }[]
}

const MIN_WORD = 3

export function shownChunks(found: readonly FoundChunk[], query: string): readonly ShownChunk[] {
  const best = Math.max(0, ...found.map(({ score }) => score))
  return found.map((chunk, i) => ({
    ...chunk,
    rank: i + 1,
    strength: best > 0 ? Math.max(0, chunk.score) / best : 0,
    parts: marked(chunk.text, query),
  }))
}

/** The text with the words of the query apart; short words say nothing. */
export function marked(text: string, query: string): ShownChunk["parts"] {
  const words = query.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length >= MIN_WORD)
  if (words.length === 0) return [{ text, isMatch: false }]
  const pattern = new RegExp(`(${words.join("|")})`, "giu")
  return text.split(pattern).flatMap((part, i) => (part === "" ? [] : [{ text: part, isMatch: i % 2 === 1 }]))
}

/** Scores have any scale: enough digits to tell neighbours apart, of those that matter beside the best. */
export function scoreText(score: number): string {
  if (score > 0 && score < 0.001) return "< 0.001"
  return Math.abs(score) >= 100 ? score.toFixed(0) : score.toPrecision(3)
}
