/** Search by words, by meaning, or both: the two orders are merged by rank, as their scores cannot be compared. */
import type { Found } from "@superstep/engine/patterns"
import { preparedOnce } from "@superstep/store-sqlite/shared"
import type { Place } from "./chunks.ts"
import { corrupt } from "./errors.ts"
import type { IndexFile } from "./index-file.ts"
import { MOST_CHUNKS } from "./index-schema.ts"
import { likeness, signBits } from "./near.ts"
import { onlyReady } from "./ready.ts"
import { signsOf } from "./signs.ts"
import { queryWords } from "./words.ts"

export interface Hit {
  readonly id: number
  readonly score: number
}

/** What is looked for by meaning. */
export interface Point {
  readonly vector: Float32Array
  readonly centre: Float32Array
}

/** How much the first places count more than those behind them: the usual number. */
const RANK_CONSTANT = 60
/** How many are looked at by their bits for each one that is wanted, and at the least. */
const CANDIDATES = 20
const FEWEST_CANDIDATES = 800
/** A word that is in more chunks tells little, and takes long: it is left out when there are others. */
const TOO_COMMON = 10_000

type Bytes = ArrayBuffer | Uint8Array

export function searcher(file: IndexFile) {
  const { path, database, read } = file
  const sql = preparedOnce(database)
  const signs = signsOf(file)
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

  function isCommon(word: string): boolean {
    const count = sql("SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)")
    const [row] = count.all(word, TOO_COMMON + 1) as { count: number }[]
    return (row?.count ?? 0) > TOO_COMMON
  }

  function byWords(query: string, limit: number): Hit[] {
    const words = queryWords(query)
    if (words.length === 0) return []
    const rare = words.filter((word) => !isCommon(word))
    const match = (rare.length > 0 ? rare : words).join(" OR ")
    const rows = sql(
      // By rank alone FTS5 would put all of them in order, and not only find the first.
      `SELECT rowid AS id, rank AS score FROM words WHERE words MATCH ? AND ${onlyReady(sql, "rowid")} ORDER BY rank, rowid LIMIT ?`,
    ).all(match, limit) as Hit[]
    // SQLite's is better the lower it is.
    return rows.map(({ id, score }) => ({ id, score: -score }))
  }

  function byVector({ vector, centre }: Point, limit: number): Hit[] {
    const near = signs.nearest(signBits(vector, centre), Math.max(FEWEST_CANDIDATES, CANDIDATES * limit))
    const rows = sql("SELECT id, scale, steps FROM vectors WHERE id IN (SELECT value FROM json_each(?))").all(
      JSON.stringify(near),
    ) as { id: number; scale: number; steps: Bytes }[]
    return rows
      .map(({ id, scale, steps }) => ({ id, score: likeness(vector, { scale, steps: int8(steps) }) }))
      .sort((a, b) => b.score - a.score || a.id - b.id)
      .slice(0, limit)
  }

  function found(hits: readonly Hit[]): Found[] {
    const rows = sql(
      `SELECT chunks.id, line, page, CAST(title AS BLOB) AS title, CAST(text AS BLOB) AS text, CAST(source AS BLOB) AS source
      FROM json_each(?) AS wanted
      JOIN chunks ON chunks.id = wanted.value
      JOIN documents ON documents.id = chunks.id / ${MOST_CHUNKS}`,
    ).all(JSON.stringify(hits.map(({ id }) => id))) as ChunkRow[]
    const byId = new Map(rows.map((row) => [row.id, row]))
    return hits.map(({ id, score }) => {
      const row = byId.get(id)
      // There are words or bits of a chunk that is not there.
      if (row === undefined) throw corrupt(path)
      const title = row.title === null ? undefined : decoded(row.title)
      const source = cited(decoded(row.source), row)
      return { text: decoded(row.text), score, source, ...(title !== undefined && { title }) }
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
    /** Without a vector by words alone, without a query by meaning alone. */
    search({
      query,
      vector,
      limit,
    }: {
      query?: string | undefined
      vector?: Point | undefined
      limit: number
    }): Found[] {
      return read(() => {
        if (query === undefined) return vector === undefined ? [] : found(byVector(vector, limit))
        if (vector === undefined) return found(byWords(query, limit))
        // Further down than what is wanted: what is middling in both orders may be best in sum.
        const depth = Math.max(50, 5 * limit)
        return found(mergeByRank([byWords(query, depth), byVector(vector, depth)]).slice(0, limit))
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
}

/** Reciprocal rank fusion: the sum of 1 / (60 + rank) over the orders. */
export function mergeByRank(orders: readonly (readonly Hit[])[]): Hit[] {
  const sums = new Map<number, number>()
  for (const order of orders) {
    for (const [rank, { id }] of order.entries()) {
      sums.set(id, (sums.get(id) ?? 0) + 1 / (RANK_CONSTANT + rank + 1))
    }
  }
  return [...sums].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score || a.id - b.id)
}

function cited(source: string, { line, page }: { [Key in keyof Place]: number | null }): string {
  if (line != null) return `${source}:${line}`
  return page == null ? source : `${source}#${page}`
}

function int8(bytes: Bytes): Int8Array {
  if (bytes instanceof ArrayBuffer) return new Int8Array(bytes)
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
