/** Searches by words, by meaning, or both. The two orders are merged by rank, because their scores are not comparable. */
import type { Found } from "@superstep/engine/patterns"
import { mergeByRank } from "@superstep/engine/text"
import { preparedOnce } from "@superstep/store-sqlite/internal"
import { queryWords } from "../words.ts"
import type { ChunkPosition } from "./chunks.ts"
import { corrupt, type IndexFile, MAX_CHUNKS, onlyReady } from "./index-file.ts"
import { type Point, signBitIndex, signBits, similarity } from "./vectors.ts"

interface Hit {
  readonly id: number
  readonly score: number
}

export interface IndexSearch {
  readonly query: string
  readonly vector?: Point | undefined
  readonly limit: number
  /** By meaning only, or by both if the index has both (the default). */
  readonly mode?: "vector" | "merged" | undefined
}

/** Candidates by sign bits per wanted result, and the minimum. */
const CANDIDATES = 20
const MIN_CANDIDATES = 800
/** A word in more chunks than this is slow and not selective. It is ignored if there are others. */
const MAX_COMMON = 10_000

type Bytes = ArrayBuffer | Uint8Array

export function searcher(file: IndexFile) {
  const { path, database, read } = file
  const sql = preparedOnce(database)
  const signIndex = signBitIndex(file)
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

  function isCommon(word: string): boolean {
    const count = sql("SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)")
    const [row] = count.all(word, MAX_COMMON + 1) as { count: number }[]
    return (row?.count ?? 0) > MAX_COMMON
  }

  function byWords(query: string, limit: number): Hit[] {
    const words = queryWords(query)
    if (words.length === 0) return []
    const rare = words.filter((word) => !isCommon(word))
    const match = (rare.length > 0 ? rare : words).join(" OR ")
    const rows = sql(
      // With `ORDER BY rank` alone, FTS5 would sort all matches instead of finding the first ones.
      `SELECT rowid AS id, rank AS score FROM words WHERE words MATCH ? AND ${onlyReady(sql, "rowid")} ORDER BY rank, rowid LIMIT ?`,
    ).all(match, limit) as Hit[]
    // In SQLite a lower rank is better.
    return rows.map(({ id, score }) => ({ id, score: -score }))
  }

  function vectorsOf(ids: readonly number[]): Map<number, ChunkVector> {
    const rows = sql("SELECT id, scale, steps FROM vectors WHERE id IN (SELECT value FROM json_each(?))").all(
      JSON.stringify(ids),
    ) as { id: number; scale: number; steps: Bytes }[]
    return new Map(rows.map(({ id, scale, steps }) => [id, { scale, steps: int8(steps) }]))
  }

  function byVector({ vector, centre }: Point, limit: number): Hit[] {
    const near = signIndex.nearest(signBits(vector, centre), Math.max(MIN_CANDIDATES, CANDIDATES * limit))
    return [...vectorsOf(near)]
      .map(([id, chunk]) => ({ id, score: similarity(vector, chunk) }))
      .sort((a, b) => b.score - a.score || a.id - b.id)
      .slice(0, limit)
  }

  function found(hits: readonly Hit[], question: string, point: Point | undefined): Found[] {
    const ids = hits.map(({ id }) => id)
    const relevance = relevanceOf(sql, question, ids, point && { point, vectors: vectorsOf(ids) })
    const rows = sql(
      `SELECT chunks.id, line, page, CAST(title AS BLOB) AS title, CAST(text AS BLOB) AS text, CAST(source AS BLOB) AS source,
        CAST(author AS BLOB) AS author, date
      FROM json_each(?) AS wanted
      JOIN chunks ON chunks.id = wanted.value
      JOIN documents ON documents.id = chunks.id / ${MAX_CHUNKS}`,
    ).all(JSON.stringify(ids)) as ChunkRow[]
    const byId = new Map(rows.map((row) => [row.id, row]))
    return hits.map(({ id, score }) => {
      const row = byId.get(id)
      // The words or the sign bits refer to a missing chunk.
      if (row === undefined) throw corrupt(path)
      const title = row.title === null ? undefined : decoded(row.title)
      const source = cited(decoded(row.source), row)
      return {
        text: decoded(row.text),
        score,
        relevance: relevance.get(id) ?? 0,
        source,
        ...(title !== undefined && { title }),
        ...(row.author !== null && { author: decoded(row.author) }),
        ...(row.date !== null && { date: row.date }),
      }
    })
  }

  function decoded(bytes: Bytes): string {
    try {
      return decoder.decode(bytes)
    } catch (error) {
      throw corrupt(path, error)
    }
  }

  return {
    /** Searches by words only if there is no vector. */
    search({ query, vector, limit, mode }: IndexSearch): Found[] {
      return read(() => {
        const hits = () => {
          if (vector === undefined) return mode === "vector" ? [] : byWords(query, limit)
          if (mode === "vector") return byVector(vector, limit)
          // Deeper than the wanted number: a result that is average in both orders may be the best in total.
          const depth = Math.max(50, 5 * limit)
          return mergeByRank([byWords(query, depth), byVector(vector, depth)], ({ id }) => id)
            .slice(0, limit)
            .map(({ item: { id }, score }) => ({ id, score }))
        }
        return found(hits(), query, vector)
      })
    },
  }
}

interface ChunkRow {
  readonly id: number
  readonly line: number | null
  readonly page: number | null
  readonly title: Bytes | null
  readonly text: Bytes
  readonly source: Bytes
  readonly author: Bytes | null
  readonly date: string | null
}

function cited(source: string, { line, page }: { [Key in keyof ChunkPosition]: number | null }): string {
  if (line != null) return `${source}:${line}`
  return page == null ? source : `${source}#${page}`
}

function int8(bytes: Bytes): Int8Array {
  if (bytes instanceof ArrayBuffer) return new Int8Array(bytes)
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

// Estimates whether a chunk is relevant to a question at all. A search always returns the nearest chunks; its scores only
// define an order.
//
// By words: the share of the question's words that the chunk contains, weighted by rarity. By meaning: the cosine of
// question and chunk, relative to the centre of the index. The vectors of a model share a common direction; relative to
// the centre, unrelated texts are orthogonal, whatever the model. The two are added, because each misses what the other
// finds.
//
// The limits were set with the offline embeddings on two collections (16 and about 400 chunks), with 28 questions that
// they answer, 10 of them in other words, and 32 that they do not. By both: 27 of 28 are above the limit, and none of 32.
// By words only: 24 of 28, and 5 of 32.

/** Limits for words and meaning together, for many words alone, and for words in an index without vectors. */
const LIMIT = { both: 0.45, manyWords: 0.55, onlyWords: 0.3 } as const
const WEIGHT_OF_WORDS = 0.5
/** Maximum chunks to count. */
const MAX_COUNTED = 10_000

type Sql = ReturnType<typeof preparedOnce>

interface ChunkVector {
  readonly scale: number
  readonly steps: Int8Array
}

/** Relevance by chunk id, 0 to 1. The limit is at 0.5. */
function relevanceOf(
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
