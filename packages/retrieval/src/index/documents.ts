/**
 * Documents and their chunks.
 *
 * D1 What is searched are the chunks of `ready` documents, and a document becomes ready with all its chunks, in the same
 *    transaction in which the one that it replaces stops to be so. Half a document is never found.
 * D2 A document that is `writing` belongs to its writer, who may be dead. Whoever adds the same contents takes it over, with
 *    the chunks that it has; the one before finds that out with its next write, and leaves it alone.
 * D3 What is `leaving` is found by nobody and removed bit by bit.
 */
import { toUSVString } from "node:util"
import { SuperstepError } from "@superstep/engine"
import { preparedOnce, type Statement } from "@superstep/store-sqlite/shared"
import type { Chunk } from "./chunks.ts"
import type { IndexFile } from "./index-file.ts"
import { MOST_CHUNKS } from "./index-schema.ts"
import { signBits, toSteps } from "./near.ts"
import { spaced } from "./words.ts"

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

/** A document that is being written, by whom. */
export interface Writing {
  readonly id: number
  readonly writer: string
}

/** One for each chunk, and what their signs are taken against. */
export interface ChunkVectors {
  readonly vectors: readonly Float32Array[]
  readonly centre: Float32Array
}

const COLUMNS = "id, source, hash, settings, bytes, chunks, added_at"
const SWEPT = 2_000
const GIVEN_BACK = 2_000

export type Documents = ReturnType<typeof documentTable>

export function documentTable({ database, read, write }: IndexFile) {
  const sql = preparedOnce(database)
  const rows = (statement: Statement, ...values: (string | number)[]) =>
    statement.all(...values) as DocumentRow[]

  /** The chunks that it has, or undefined: it is somebody else's now, or gone. */
  function held({ id, writer }: Writing): number | undefined {
    const find = sql("SELECT chunks FROM documents WHERE id = ? AND writer = ? AND state = 'writing'")
    return (find.all(id, writer) as { chunks: number }[])[0]?.chunks
  }

  function insert(id: number, { text, title, line, page }: Chunk): void {
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

  function insertVector(id: number, vector: Float32Array, centre: Float32Array): void {
    const { scale, steps } = toSteps(vector)
    sql("INSERT INTO signs (id, bits) VALUES (?, ?)").run(id, signBits(vector, centre))
    sql("INSERT INTO vectors (id, scale, steps) VALUES (?, ?, ?)").run(
      id,
      scale,
      new Uint8Array(steps.buffer),
    )
  }

  return {
    ready: (source: string): DocumentRow | undefined =>
      read(
        () => rows(sql(`SELECT ${COLUMNS} FROM documents WHERE source = ? AND state = 'ready'`), source)[0],
      ),

    list: (): DocumentRow[] =>
      read(() => rows(sql(`SELECT ${COLUMNS} FROM documents WHERE state = 'ready' ORDER BY source`))),

    /** All but what is leaving: what is half written too, whose writer may be dead. */
    known: (): Pick<DocumentRow, "source" | "settings">[] =>
      read(() =>
        rows(sql("SELECT source, settings FROM documents WHERE state <> 'leaving' ORDER BY source")),
      ),

    /**
     * Takes up what was left of the same contents, else begins anew; and how many chunks there are already. Undefined: it is
     * ready as it is, perhaps since somebody else has just been done with it.
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

    /** False: it is no longer the writer's. `from` is the number of the first of the chunks. */
    append(
      document: Writing,
      from: number,
      chunks: readonly Chunk[],
      embedded: ChunkVectors | undefined,
    ): boolean {
      return write(() => {
        if (held(document) !== from) return false
        if (from + chunks.length > MOST_CHUNKS) {
          throw new SuperstepError("DOCUMENT_UNREADABLE", "it is too large for one document: split it", {
            retryable: false,
          })
        }
        for (const [at, chunk] of chunks.entries()) {
          const id = document.id * MOST_CHUNKS + from + at
          insert(id, chunk)
          const vector = embedded?.vectors[at]
          if (embedded !== undefined && vector !== undefined) insertVector(id, vector, embedded.centre)
        }
        sql("UPDATE documents SET chunks = ? WHERE id = ?").run(from + chunks.length, document.id)
        return true
      })
    },

    /** The document takes the place of the one of the same source. False: it is no longer the writer's. */
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

    /** Those of the sources, and what was being written of them. How many were ready. */
    leave(sources: readonly string[]): number {
      return write(() => {
        const given = JSON.stringify(sources)
        const among = "source IN (SELECT value FROM json_each(?))"
        const ready = sql(`UPDATE documents SET state = 'leaving' WHERE state = 'ready' AND ${among}`).run(
          given,
        )
        sql(`UPDATE documents SET state = 'leaving' WHERE state = 'writing' AND ${among}`).run(given)
        return Number(ready.changes)
      })
    },

    /** Removes some of what is leaving. False: nothing is left of it. */
    sweep(): boolean {
      return write(() => {
        const [one] = sql(
          "SELECT id, chunks FROM documents WHERE state = 'leaving' LIMIT 1",
        ).all() as DocumentRow[]
        if (one === undefined) return false
        const rest = Math.max(0, one.chunks - SWEPT)
        const [first, last] = [one.id * MOST_CHUNKS + rest, (one.id + 1) * MOST_CHUNKS - 1]
        sql("DELETE FROM words WHERE rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)").run(
          first,
          last,
        )
        for (const table of ["chunks", "signs", "vectors"]) {
          sql(`DELETE FROM ${table} WHERE id BETWEEN ? AND ?`).run(first, last)
        }
        if (rest > 0) sql("UPDATE documents SET chunks = ? WHERE id = ?").run(rest, one.id)
        else sql("DELETE FROM documents WHERE id = ?").run(one.id)
        return true
      })
    },

    /** Some of the file's free pages, when they are a quarter of it: a few are for what is added next. False: no more. */
    giveBack(): boolean {
      const count = (what: "freelist_count" | "page_count") =>
        (sql(`PRAGMA ${what}`).all() as Record<typeof what, number>[])[0]?.[what] ?? 0
      return write(() => {
        const free = count("freelist_count")
        if (free < count("page_count") / 4) return false
        sql(`PRAGMA incremental_vacuum(${GIVEN_BACK})`).all()
        return count("freelist_count") < free
      })
    },
  }
}

/** SQLite's text holds neither a NUL nor half a pair of surrogates. */
function storable(text: string): string {
  return toUSVString(text).replaceAll("\0", " ")
}
