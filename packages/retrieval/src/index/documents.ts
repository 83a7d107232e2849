/**
 * Documents and their chunks.
 *
 * D1 A search covers the chunks of `ready` documents. A document becomes ready with all its chunks, in the transaction
 *    that retires the document it replaces. A search never finds a part of a document.
 * D2 A document in state `writing` belongs to its writer, which may be dead. A process that adds the same contents takes
 *    it over, with its chunks; the previous writer notices at its next write, and stops.
 * D3 A document in state `leaving` is not found by searches, and is removed in small steps.
 */

import { toUSVString } from "node:util"
import { preparedOnce, type Statement } from "@superstep/store-sqlite/internal"
import { fatal } from "../errors.ts"
import { spaced } from "../words.ts"
import type { Chunk, DocumentFacts } from "./chunks.ts"
import { type IndexFile, MAX_CHUNKS, SIGNS } from "./index-file.ts"
import { signBits, toSteps } from "./vectors.ts"

export interface DocumentRow {
  readonly id: number
  readonly source: string
  readonly hash: string
  readonly settings: string
  readonly bytes: number
  readonly chunks: number
  readonly added_at: number
}

export interface NewDocument {
  readonly source: string
  readonly hash: string
  readonly settings: string
  readonly bytes: number
}

/** A document that is being written, and its writer. */
export interface Writing {
  readonly id: number
  readonly writer: string
}

/** One vector per chunk, and the centre that their sign bits are relative to. */
export interface ChunkVectors {
  readonly vectors: readonly Float32Array[]
  readonly centre: Float32Array
}

const COLUMNS = "id, source, hash, settings, bytes, chunks, added_at"
const SWEPT = 2_000
const RELEASED_PAGES = 2_000

type Sql = ReturnType<typeof preparedOnce>

export type Documents = ReturnType<typeof documentTable>

export function documentTable({ database, read, write }: IndexFile) {
  const sql = preparedOnce(database)
  const rows = (statement: Statement, ...values: (string | number)[]) =>
    statement.all(...values) as DocumentRow[]

  /** The number of its chunks. Undefined: another process is writing it, or it was removed. */
  function held({ id, writer }: Writing): number | undefined {
    const find = sql("SELECT chunks FROM documents WHERE id = ? AND writer = ? AND state = 'writing'")
    return (find.all(id, writer) as { chunks: number }[])[0]?.chunks
  }

  return {
    ready: (source: string): DocumentRow | undefined =>
      read(
        () => rows(sql(`SELECT ${COLUMNS} FROM documents WHERE source = ? AND state = 'ready'`), source)[0],
      ),

    list: (): DocumentRow[] =>
      read(() => rows(sql(`SELECT ${COLUMNS} FROM documents WHERE state = 'ready' ORDER BY source`))),

    /** The first title of each of the first documents, or their source. */
    titles: (limit: number): string[] =>
      read(() => {
        const found = sql(
          `SELECT coalesce((SELECT title FROM chunks WHERE id >= d.id * ${MAX_CHUNKS} AND id < (d.id + 1) * ${MAX_CHUNKS}
              AND title IS NOT NULL ORDER BY id LIMIT 1), d.source) AS title
            FROM documents d WHERE d.state = 'ready' ORDER BY d.source LIMIT ?`,
        ).all(limit) as { title: string }[]
        return found.map(({ title }) => title)
      }),

    /** All documents but those being removed. Includes unfinished ones, whose writer may be dead. */
    known: (): Pick<DocumentRow, "source" | "settings">[] =>
      read(() =>
        rows(sql("SELECT source, settings FROM documents WHERE state <> 'leaving' ORDER BY source")),
      ),

    /**
     * Continues an unfinished document with the same contents, or starts a new one. Returns how many chunks it has already.
     * Undefined: the document is ready, possibly because another process has just finished it.
     */
    begin(document: NewDocument, writer: string): (Writing & { readonly chunks: number }) | undefined {
      const { source, hash, settings, bytes } = document
      return write(() => {
        const same = sql(
          "SELECT id FROM documents WHERE source = ? AND state = 'ready' AND hash = ? AND settings = ?",
        ).all(source, hash, settings)
        if (same.length > 0) return undefined
        const [there] = rows(
          sql(`SELECT ${COLUMNS} FROM documents WHERE source = ? AND state = 'writing'`),
          source,
        )
        if (there !== undefined && there.hash === hash && there.settings === settings) {
          sql("UPDATE documents SET writer = ? WHERE id = ?").run(writer, there.id)
          return { id: there.id, writer, chunks: there.chunks }
        }
        if (there !== undefined) sql("UPDATE documents SET state = 'leaving' WHERE id = ?").run(there.id)
        const [made] = sql(
          `INSERT INTO documents (source, state, writer, hash, settings, bytes, chunks, added_at)
          VALUES (?, 'writing', ?, ?, ?, ?, 0, ?) RETURNING id`,
        ).all(source, writer, hash, settings, bytes, Date.now()) as { id: number }[]
        return { id: (made as { id: number }).id, writer, chunks: 0 }
      })
    },

    /** Stores the metadata of the document. */
    describe({ id, writer }: Writing, { author, date }: DocumentFacts): void {
      write(() => {
        sql(
          "UPDATE documents SET author = ?, date = ? WHERE id = ? AND writer = ? AND state = 'writing'",
        ).run(author === undefined ? null : storable(author), date ?? null, id, writer)
      })
    },

    /** Returns false if the document no longer belongs to the writer. `from` is the number of the first chunk. */
    append(
      document: Writing,
      from: number,
      chunks: readonly Chunk[],
      embedded: ChunkVectors | undefined,
    ): boolean {
      return write(() => {
        if (held(document) !== from) return false
        if (from + chunks.length > MAX_CHUNKS) {
          throw fatal("DOCUMENT_UNREADABLE", "it is too large for one document: split it")
        }
        for (const [at, chunk] of chunks.entries()) {
          const id = document.id * MAX_CHUNKS + from + at
          insertChunk(sql, id, chunk)
          const vector = embedded?.vectors[at]
          if (embedded !== undefined && vector !== undefined) insertVector(sql, id, vector, embedded.centre)
        }
        sql("UPDATE documents SET chunks = ? WHERE id = ?").run(from + chunks.length, document.id)
        return true
      })
    },

    /** Replaces the document with the same source. Returns false if the document no longer belongs to the writer. */
    finish(document: Writing, source: string): boolean {
      return write(() => {
        if (held(document) === undefined) return false
        sql("UPDATE documents SET state = 'leaving' WHERE source = ? AND state = 'ready'").run(source)
        sql("UPDATE documents SET state = 'ready', writer = NULL, added_at = ? WHERE id = ?").run(
          Date.now(),
          document.id,
        )
        return true
      })
    },

    abandon(document: Writing): void {
      write(() => {
        if (held(document) !== undefined)
          sql("UPDATE documents SET state = 'leaving' WHERE id = ?").run(document.id)
      })
    },

    /** Marks the documents of these sources for removal, unfinished ones too. Returns how many were ready. */
    leave(sources: readonly string[]): number {
      return write(() => {
        const list = JSON.stringify(sources)
        const among = "source IN (SELECT value FROM json_each(?))"
        const ready = sql(`UPDATE documents SET state = 'leaving' WHERE state = 'ready' AND ${among}`).run(
          list,
        )
        sql(`UPDATE documents SET state = 'leaving' WHERE state = 'writing' AND ${among}`).run(list)
        return Number(ready.changes)
      })
    },

    /** Deletes a part of the documents that are marked for removal. Returns false when none are left. */
    sweep(): boolean {
      return write(() => {
        const [one] = sql(
          "SELECT id, chunks FROM documents WHERE state = 'leaving' LIMIT 1",
        ).all() as DocumentRow[]
        if (one === undefined) return false
        const rest = Math.max(0, one.chunks - SWEPT)
        const [first, last] = [one.id * MAX_CHUNKS + rest, (one.id + 1) * MAX_CHUNKS - 1]
        sql("DELETE FROM words WHERE rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)").run(
          first,
          last,
        )
        for (const table of ["chunks", SIGNS, "vectors"]) {
          sql(`DELETE FROM ${table} WHERE id BETWEEN ? AND ?`).run(first, last)
        }
        if (rest > 0) sql("UPDATE documents SET chunks = ? WHERE id = ?").run(rest, one.id)
        else sql("DELETE FROM documents WHERE id = ?").run(one.id)
        return true
      })
    },

    /**
     * Releases some free pages of the file if they are at least a quarter of it; a few stay for later documents. Returns
     * false if there are no more.
     */
    releasePages(): boolean {
      const count = (what: "freelist_count" | "page_count") =>
        (sql(`PRAGMA ${what}`).all() as Record<typeof what, number>[])[0]?.[what] ?? 0
      return write(() => {
        const free = count("freelist_count")
        if (free < count("page_count") / 4) return false
        sql(`PRAGMA incremental_vacuum(${RELEASED_PAGES})`).all()
        return count("freelist_count") < free
      })
    },
  }
}

/** `id` combines the ids of its document and its number in the document. */
export function insertChunk(sql: Sql, id: number, { text, title, line, page }: Chunk): void {
  sql("INSERT INTO chunks (id, line, page, title, text) VALUES (?, ?, ?, ?, ?)").run(
    id,
    line ?? null,
    page ?? null,
    title === undefined ? null : storable(title),
    storable(text),
  )
  sql("INSERT INTO words (rowid, title, text) VALUES (CAST(? AS INTEGER), ?, ?)").run(
    id,
    spaced(storable(title ?? "")),
    spaced(storable(text)),
  )
}

export function insertVector(sql: Sql, id: number, vector: Float32Array, centre: Float32Array): void {
  const { scale, steps } = toSteps(vector)
  sql(`INSERT INTO ${SIGNS} (id, bits) VALUES (?, ?)`).run(id, signBits(vector, centre))
  sql("INSERT INTO vectors (id, scale, steps) VALUES (?, ?, ?)").run(id, scale, new Uint8Array(steps.buffer))
}

/** SQLite text can contain neither NUL nor lone surrogates. */
function storable(text: string): string {
  return toUSVString(text).replaceAll("\0", " ")
}
