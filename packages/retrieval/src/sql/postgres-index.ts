/** A table of PostgreSQL with a column of vectors (pgvector), searched by meaning. The table is the user's own, and only read. */

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
    /** Of type `vector` or `halfvec`, made with the same embeddings. */
    readonly vector: string
    /** What a row can be cited by. */
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
/** Whole documents may be in the table: results are not to be left out for their length. */
const MAX_BYTES = 32_000_000

/** By cosine distance (`<=>`): an index of the table with vector_cosine_ops is used. */
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
      // The server gives those that are as near in any order.
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
  // Numbers alone, so that it can stand in the query. The cast is left to the column's own type.
  const distance = `${sqlName(vector)} <=> '[${Array.from(to).join(",")}]'`
  const titled = title === undefined ? "NULL" : sqlName(title)
  const from = table.split(".").map(sqlName).join(".")
  return (
    `SELECT ${sqlName(text)}, ${sqlName(source)}, ${titled}, 1 - (${distance}) FROM ${from} ` +
    `WHERE ${sqlName(vector)} IS NOT NULL ORDER BY ${distance} LIMIT ${limit}`
  )
}
