/** The memories in one owner's file: each is a document of one chunk, whose source is its id. */
import { createHash } from "node:crypto"
import type { OwnedMemory, Remembered } from "@superstep/engine/tools"
import { preparedOnce } from "@superstep/store-sqlite/internal"
import { insertChunk, insertVector } from "../index/documents.ts"
import { type Embeddings, embedAll } from "../index/embeddings/embeddings.ts"
import { type IndexFile, MAX_CHUNKS, SIGNS } from "../index/index-file.ts"
import { embeddedWith, remember, type Space } from "../index/vectors.ts"

interface NewMemory {
  readonly id: string
  readonly text: string
  readonly vector: Float32Array | undefined
  /** What the vector is of. */
  readonly embeddings: Embeddings | undefined
}

interface Row {
  readonly id: number
  readonly source: string
  readonly text: string
  readonly added_at: number
}

/** Ids of memories that were forgotten; the oldest beyond this many are dropped. */
const MAX_FORGOTTEN = 10_000
const BATCH = 32

export type MemoryTable = ReturnType<typeof memoryTable>

export function memoryTable(file: IndexFile) {
  const { database, read, write } = file
  const sql = preparedOnce(database)
  const forgotten =
    "CREATE TABLE IF NOT EXISTS forgotten (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)"

  const sourceOf = (hash: string) =>
    (sql("SELECT source FROM documents WHERE hash = ? AND state = 'ready'").all(hash) as Row[])[0]?.source
  const rowOf = (id: string) =>
    (sql("SELECT id FROM documents WHERE source = ? AND state = 'ready'").all(id) as Row[])[0]
  const count = () =>
    (sql("SELECT count(*) AS count FROM documents").all() as { count: number }[])[0]?.count ?? 0
  const isForgotten = (id: string) => {
    database.exec(forgotten)
    return sql("SELECT 1 FROM forgotten WHERE id = ?").all(id).length > 0
  }

  return {
    space: (): Space | undefined => read(() => embeddedWith(file)),

    put({ id, text, vector, embeddings }: NewMemory, max: number): Remembered | "full" {
      const space = vector && embeddings && neutral(file, embeddings, vector.length)
      return write(() => {
        if (isForgotten(id)) return { id, forgotten: true }
        if (rowOf(id) !== undefined) return { id }
        const hash = hashOf(text)
        const same = sourceOf(hash)
        if (same !== undefined) return { id: same, known: true }
        if (count() >= max) return "full"
        const [made] = sql(
          `INSERT INTO documents (source, state, hash, settings, bytes, chunks, added_at)
          VALUES (?, 'ready', ?, ?, ?, 1, ?) RETURNING id`,
        ).all(id, hash, embeddings?.name ?? "", Buffer.byteLength(text), Date.now()) as { id: number }[]
        const chunk = (made as { id: number }).id * MAX_CHUNKS
        insertChunk(sql, chunk, { text })
        if (vector !== undefined && space !== undefined) insertVector(sql, chunk, vector, space.centre)
        return { id }
      })
    },

    newest: (limit: number): OwnedMemory[] =>
      read(() =>
        (
          sql(
            `SELECT source, text, added_at FROM documents JOIN chunks ON chunks.id = documents.id * ${MAX_CHUNKS}
            WHERE state = 'ready' ORDER BY added_at DESC, documents.id DESC LIMIT ?`,
          ).all(limit) as Row[]
        ).map(({ source, text, added_at }) => ({ id: source, text, at: added_at })),
      ),

    /** What a search found, with when it was remembered. */
    dated: (found: readonly { readonly source: string; readonly text: string }[]): OwnedMemory[] =>
      read(() => {
        const rows = sql(
          "SELECT source, added_at FROM documents WHERE source IN (SELECT value FROM json_each(?))",
        ).all(JSON.stringify(found.map(({ source }) => source))) as Row[]
        const times = new Map(rows.map(({ source, added_at }) => [source, added_at]))
        return found.map(({ source, text }) => ({ id: source, text, at: times.get(source) ?? 0 }))
      }),

    remove(id: string): boolean {
      const isRemoved = write(() => {
        const row = rowOf(id)
        if (row === undefined) return false
        const chunk = row.id * MAX_CHUNKS
        sql("DELETE FROM words WHERE rowid = CAST(? AS INTEGER)").run(chunk)
        // FTS5 only marks what is deleted, until it merges its segments.
        sql("INSERT INTO words (words) VALUES ('optimize')").run()
        for (const table of ["chunks", SIGNS, "vectors"]) sql(`DELETE FROM ${table} WHERE id = ?`).run(chunk)
        sql("DELETE FROM documents WHERE id = ?").run(row.id)
        if (!isForgotten(id)) sql("INSERT INTO forgotten (id) VALUES (?)").run(id)
        sql("DELETE FROM forgotten WHERE number <= (SELECT max(number) FROM forgotten) - ?").run(
          MAX_FORGOTTEN,
        )
        return true
      })
      // The log may have the page as it was.
      if (isRemoved) database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      return isRemoved
    },

    /** Embeds what has no vector of these embeddings: it was stored without any, or with others. */
    async align(embeddings: Embeddings, signal: AbortSignal | undefined): Promise<void> {
      const { name } = embeddings
      const before = read(() => embeddedWith(file))
      if (before !== undefined && before.name !== name) dropVectors()
      const rows = read(
        () =>
          sql(
            `SELECT documents.id, text FROM documents JOIN chunks ON chunks.id = documents.id * ${MAX_CHUNKS}
            WHERE settings <> ?`,
          ).all(name) as Row[],
      )
      for (let at = 0; at < rows.length; at += BATCH) {
        const batch = rows.slice(at, at + BATCH)
        const texts = batch.map(({ text }) => text)
        const known = read(() => embeddedWith(file))
        const vectors = await embedAll(embeddings, texts, known?.dimensions ?? embeddings.dimensions, signal)
        const { centre } = known ?? neutral(file, embeddings, vectors[0]?.length ?? 0)
        write(() => {
          for (const [i, { id }] of batch.entries()) {
            const isThere = sql("UPDATE documents SET settings = ? WHERE id = ?").run(name, id).changes > 0
            const chunk = id * MAX_CHUNKS
            for (const table of [SIGNS, "vectors"]) sql(`DELETE FROM ${table} WHERE id = ?`).run(chunk)
            if (isThere) insertVector(sql, chunk, vectors[i] as Float32Array, centre)
          }
        })
      }
    },
  }

  /** Vectors of one model cannot be compared with those of another. */
  function dropVectors(): void {
    write(() => {
      for (const table of [SIGNS, "vectors"]) database.exec(`DELETE FROM ${table}`)
      database.exec("UPDATE meta SET embedding = NULL, dimensions = NULL, centre = NULL")
      database.exec("UPDATE documents SET settings = ''")
    })
  }
}

/** The centre of an index is near its first vectors, and would keep them when they are forgotten: here it is zero. */
function neutral(file: IndexFile, embeddings: Embeddings, dimensions: number): Space {
  return remember(file, embeddings, [new Float32Array(dimensions)])
}

/** The same for texts that differ in case or in spaces alone. */
function hashOf(text: string): string {
  const plain = text.normalize("NFC").replace(/\s+/gu, " ").trim().toLowerCase()
  return createHash("sha256").update(plain).digest("hex")
}
