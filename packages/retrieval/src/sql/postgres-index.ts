/**
 * Searches a PostgreSQL table with a vector column (pgvector) by meaning. The table belongs to the user, and is only
 * read.
 */

import type { Found, Retriever } from "@superstep/engine/patterns"
import { wholeNumber } from "../errors.ts"
import { type Embeddings, embedAll } from "../index/embeddings/embeddings.ts"
import { type PostgresOptions, postgresDatabase } from "./postgres.ts"
import { sqlName } from "./rows.ts"

export interface PostgresIndexOptions extends Omit<PostgresOptions, "schemas"> {
  /** `chunks`, or `docs.chunks` with its schema. */
  readonly table: string
  readonly columns: {
    readonly text: string
    /** A column of type `vector` or `halfvec`, created with the same embeddings. */
    readonly vector: string
    /** The column for citations. */
    readonly source: string
    readonly title?: string | undefined
  }
  readonly embeddings: Embeddings
}

export interface PostgresIndex extends Retriever {
  close(): Promise<void>
}

const RESULTS = 10
const MAX_RESULTS = 1_000
/** Large, because the table may contain whole documents, and no result must be dropped for its length. */
const MAX_BYTES = 32_000_000

/** Uses the cosine distance (`<=>`), and an index of the table with vector_cosine_ops. */
export function postgresIndex(options: PostgresIndexOptions): PostgresIndex {
  const { table, columns, embeddings, ...connection } = options
  const database = postgresDatabase(connection)
  return {
    name: database.name,
    async search(query, { limit = RESULTS, signal } = {}): Promise<readonly Found[]> {
      wholeNumber("limit", limit, 1, MAX_RESULTS)
      if (query.trim() === "") return []
      const [vector] = await embedAll(embeddings, [query], embeddings.dimensions, signal)
      const sql = nearest(table, columns, vector as Float32Array, limit)
      const bytes = options.limits?.bytes ?? MAX_BYTES
      const { rows } = await database.query(sql, { rows: limit, bytes, signal })
      const found = rows.map(([text, source, title, score]) => ({
        text: String(text ?? ""),
        score: Number(score),
        source: String(source ?? ""),
        ...(title !== null && { title: String(title) }),
      }))
      // The server returns equal distances in any order.
      return found.sort((one, other) => other.score - one.score || (one.source < other.source ? -1 : 1))
    },
    close: async () => database.close?.(),
  }
}

function nearest(
  table: string,
  { text, vector, source, title }: PostgresIndexOptions["columns"],
  to: Float32Array,
  limit: number,
): string {
  // Only numbers, so it is safe in the query. The type of the column determines the cast.
  const distance = `${sqlName(vector)} <=> '[${Array.from(to).join(",")}]'`
  const titled = title === undefined ? "NULL" : sqlName(title)
  const from = table.split(".").map(sqlName).join(".")
  return (
    `SELECT ${sqlName(text)}, ${sqlName(source)}, ${titled}, 1 - (${distance}) FROM ${from} ` +
    `WHERE ${sqlName(vector)} IS NOT NULL ORDER BY ${distance} LIMIT ${limit}`
  )
}
