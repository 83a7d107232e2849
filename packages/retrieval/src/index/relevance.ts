/**
 * Estimates whether a chunk is relevant to a question at all. A search always returns the nearest chunks; its scores only
 * define an order.
 *
 * By words: the share of the question's words that the chunk contains, weighted by rarity. By meaning: the cosine of
 * question and chunk, relative to the centre of the index. The vectors of a model share a common direction; relative to
 * the centre, unrelated texts are orthogonal, whatever the model. The two are added, because each misses what the other
 * finds.
 *
 * The limits were set with the offline embeddings on two collections (16 and about 400 chunks), with 28 questions that
 * they answer, 10 of them in other words, and 32 that they do not. By both: 27 of 28 are above the limit, and none of 32.
 * By words only: 24 of 28, and 5 of 32.
 */
import type { preparedOnce } from "@superstep/store-sqlite/internal"
import { queryWords } from "../words.ts"
import { type Point, similarity } from "./vectors.ts"

/** Limits for words and meaning together, for many words alone, and for words in an index without vectors. */
const LIMIT = { both: 0.45, manyWords: 0.55, onlyWords: 0.3 } as const
const WEIGHT_OF_WORDS = 0.5
/** Maximum chunks to count. */
const MAX_COUNTED = 10_000

type Sql = ReturnType<typeof preparedOnce>

export interface ChunkVector {
  readonly scale: number
  readonly steps: Int8Array
}

/** Relevance by chunk id, 0 to 1. The limit is at 0.5. */
export function relevanceOf(
  sql: Sql,
  question: string,
  ids: readonly number[],
  meaning: { readonly point: Point; readonly vectors: ReadonlyMap<number, ChunkVector> } | undefined,
): ReadonlyMap<number, number> {
  const shares = sharesOf(sql, question, ids)
  const relevance = ids.map((id): readonly [number, number] => {
    const share = shares.get(id) ?? 0
    const vector = meaning?.vectors.get(id)
    if (meaning === undefined || vector === undefined) return [id, scaledRelevance(share, LIMIT.onlyWords)]
    const sum = Math.max(0, centredCosine(meaning.point, vector)) + WEIGHT_OF_WORDS * share
    return [id, Math.max(scaledRelevance(sum, LIMIT.both), scaledRelevance(share, LIMIT.manyWords))]
  })
  return new Map(relevance)
}

/** The share of the question's words that each chunk contains, as the index stems them. */
function sharesOf(sql: Sql, question: string, ids: readonly number[]): ReadonlyMap<number, number> {
  const shares = new Map<number, number>()
  const counted = (row: unknown) => (row as { count: number } | undefined)?.count ?? 0
  const [all] = sql("SELECT count(*) AS count FROM (SELECT 1 FROM chunks LIMIT ?)").all(MAX_COUNTED)
  let total = 0
  for (const word of queryWords(question)) {
    const [having] = sql(
      "SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)",
    ).all(word, MAX_COUNTED)
    const weight = Math.log(1 + counted(all) / Math.max(1, counted(having)))
    total += weight
    const rows = sql(
      "SELECT rowid AS id FROM words WHERE words MATCH ? AND rowid IN (SELECT value FROM json_each(?))",
    ).all(word, JSON.stringify(ids)) as { id: number }[]
    for (const { id } of rows) shares.set(id, (shares.get(id) ?? 0) + weight)
  }
  return new Map([...shares].map(([id, weight]) => [id, weight / total]))
}

/** Vectors have a length of 1. */
function centredCosine({ vector, centre }: Point, chunk: ChunkVector): number {
  const [own, other, middle] = [dot(vector, centre), similarity(centre, chunk), dot(centre, centre)]
  const lengths = (1 - 2 * own + middle) * (1 - 2 * other + middle)
  return lengths <= 0 ? 0 : (similarity(vector, chunk) - own - other + middle) / Math.sqrt(lengths)
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number)
  return sum
}

/** Scales relevance to the range of `Found`: 0 to 1, with 0.5 at the limit. */
export function scaledRelevance(value: number, limit: number): number {
  const share = value < limit ? (0.5 * value) / limit : 0.5 + (0.5 * (value - limit)) / (1 - limit)
  return Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 1_000
}
