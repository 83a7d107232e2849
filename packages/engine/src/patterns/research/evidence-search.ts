/** Evidence by relevance: by meaning where there are embeddings, else by words. */
import { scoresOf } from "../../tools/words.ts"
import type { TextEmbeddings } from "./research-options.ts"
import type { Evidence } from "./research-state.ts"

export interface EvidenceSearchOptions {
  readonly embeddings?: TextEmbeddings | undefined
  /** Default: all of it, ranked. */
  readonly limit?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Places in the list, the best first: a place is what evidence is numbered by. */
export async function searchEvidence(
  evidence: readonly Evidence[],
  query: string,
  options: EvidenceSearchOptions = {},
): Promise<number[]> {
  const { embeddings, limit = evidence.length, signal } = options
  const texts = evidence.map(({ title, text }) => `${title}\n${text}`)
  const scores =
    embeddings === undefined ? scoresOf(query, texts) : await nearness(embeddings, query, texts, signal)
  return evidence
    .map((_, i) => i)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
    .slice(0, limit)
}

async function nearness(
  embeddings: TextEmbeddings,
  query: string,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<number[]> {
  if (texts.length === 0) return []
  const [asked, ...vectors] = await embeddings.embed([query, ...texts], signal)
  return vectors.map((vector) => (asked === undefined ? 0 : cosine(asked, vector)))
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, aa, bb] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0]
    dot += x * y
    aa += x * x
    bb += y * y
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb)
}
