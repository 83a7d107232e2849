/**
 * Memories of many owners in document indexes, one file per owner.
 *
 * O1 A search opens the file of one owner. No query finds the memories of another, and scores do not depend on them
 *    either. The file name is a hash of the owner, so an owner cannot name a path.
 * O2 A memory is stored in one transaction, once per id and once per text, before `remember` returns.
 * O3 A forgotten memory is in no table, no free page and no log of the file. Its id stays, so that a call that is
 *    repeated after a crash does not restore it.
 */
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { MemoryIndex, OwnedMemories, OwnedMemory, Remembered } from "@superstep/engine/tools"
import { preparedOnce } from "@superstep/store-sqlite/internal"
import { makePrivateFolder } from "../cache-file.ts"
import { fatal, invalidOption, messageOf } from "../errors.ts"
import { insertChunk, insertVector } from "../index/documents.ts"
import {
  type Embeddings,
  embedAll,
  hasOfflineEmbeddings,
  offlineEmbeddings,
} from "../index/embeddings/embeddings.ts"
import { namedEmbeddings } from "../index/embeddings/named-embeddings.ts"
import { type IndexFile, MAX_CHUNKS, openIndexFile, SIGNS } from "../index/index-file.ts"
import { searcher } from "../index/search.ts"
import { embeddedWith, remember, type Space } from "../index/vectors.ts"

export interface MemoryIndexOptions {
  /**
   * Embeddings, or their name (`offline`, `provider/model`). False searches memories by words only. Default: the offline
   * model, if its packages are installed.
   */
  readonly embeddings?: Embeddings | string | false | undefined
  /** The environment with the keys of embedding models. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Milliseconds to wait for another process that is writing. Default 10,000. */
  readonly lockTimeout?: number | undefined
}

export interface OwnerMemoryIndex extends MemoryIndex {
  /** Deletes the file of an owner, with all memories. */
  erase(owner: string): Promise<void>
  close(): Promise<void>
}

/** The folder is created with the first memory. */
export function memoryIndex(folder: string, options: MemoryIndexOptions = {}): OwnerMemoryIndex {
  if (typeof folder !== "string" || folder === "") throw invalidOption("A memory index needs a folder.")
  const { lockTimeout = 10_000 } = options
  const place = resolve(folder)
  const pathOf = (owner: string) =>
    join(place, `${createHash("sha256").update(owner).digest("hex").slice(0, 32)}.db`)
  let loading: Promise<Embeddings | undefined> | undefined
  const embeddings = () => {
    loading ??= embeddingsOf(options)
    return loading
  }

  /** Opens the owner's file for one operation, so that neither the file nor its log stays open. */
  async function using<T>(path: string, work: (file: OpenedMemories) => T | Promise<T>): Promise<T> {
    const file = openIndexFile(path, place, lockTimeout)
    try {
      file.database.exec("PRAGMA secure_delete = ON")
      const made = file.vectorProblem === undefined ? await embeddings() : undefined
      return await work({ table: memoryTable(file), search: searcher(file).search, embeddings: made })
    } finally {
      file.close()
    }
  }

  return {
    of: (owner) => ownedMemories(pathOf(owner), () => makePrivateFolder(place), using),
    async erase(owner) {
      for (const end of ["", "-wal", "-shm", "-journal"]) await rm(`${pathOf(owner)}${end}`, { force: true })
    },
    async close() {
      const made = await loading?.catch(() => undefined)
      loading = undefined
      // Embeddings that the caller passed may be shared.
      if (typeof options.embeddings !== "object") await made?.close?.()
    },
  }
}

interface OpenedMemories {
  readonly table: MemoryTable
  readonly search: ReturnType<typeof searcher>["search"]
  readonly embeddings: Embeddings | undefined
}

function ownedMemories(
  path: string,
  prepare: () => void,
  using: <T>(path: string, work: (file: OpenedMemories) => T | Promise<T>) => Promise<T>,
): OwnedMemories {
  return {
    async remember({ id, text }, { max, signal, warn }) {
      prepare()
      return await using(path, async ({ table, embeddings }) => {
        const vector = await trying(
          warn,
          async () => {
            if (embeddings === undefined) return undefined
            await table.align(embeddings, signal)
            return (await embedAll(embeddings, [text], table.space()?.dimensions, signal))[0]
          },
          signal,
        )
        const stored = table.put({ id, text, vector, embeddings: vector && embeddings }, max)
        if (stored === "full") {
          throw fatal(
            "MEMORY_FULL",
            `The memory is full: it holds ${max} entries. Forget some that are no longer needed.`,
          )
        }
        return stored
      })
    },

    async recall(query = "", { limit, signal, warn }) {
      if (!existsSync(path)) return []
      return await using(path, async ({ table, search, embeddings }) => {
        if (query.trim() === "") return table.newest(limit)
        const vector = await trying(
          warn,
          async () => {
            if (embeddings === undefined) return undefined
            await table.align(embeddings, signal)
            const space = table.space()
            if (space === undefined) return undefined
            const [made] = await embedAll(embeddings, [query], space.dimensions, signal)
            return made && { vector: made, centre: space.centre }
          },
          signal,
        )
        return table.dated(search({ query, vector, limit }))
      })
    },

    async forget(id) {
      if (!existsSync(path)) return false
      return await using(path, ({ table }) => table.remove(id))
    },
  }
}

/** If the embeddings fail, memories are searched by words only. */
async function trying<T>(
  warn: ((message: string) => void) | undefined,
  work: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    signal?.throwIfAborted()
    warn?.(`Memories are searched by words alone: ${messageOf(error)}`)
    return undefined
  }
}

async function embeddingsOf({ embeddings, env }: MemoryIndexOptions): Promise<Embeddings | undefined> {
  if (embeddings === false) return undefined
  if (embeddings === undefined) return hasOfflineEmbeddings() ? offlineEmbeddings() : undefined
  return typeof embeddings === "string" ? await namedEmbeddings(embeddings, { env }) : embeddings
}

/** The memories in one owner's file: each is a document of one chunk, whose source is its id. */

interface NewMemory {
  readonly id: string
  readonly text: string
  readonly vector: Float32Array | undefined
  /** The embeddings of the vector. */
  readonly embeddings: Embeddings | undefined
}

interface Row {
  readonly id: number
  readonly source: string
  readonly text: string
  readonly added_at: number
}

/** Ids of forgotten memories. Beyond this number, the oldest are dropped. */
const MAX_FORGOTTEN = 10_000
const BATCH = 32

type MemoryTable = ReturnType<typeof memoryTable>

function memoryTable(file: IndexFile) {
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
      const space = vector && embeddings && zeroCentre(file, embeddings, vector.length)
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

    /** Adds the date to the results of a search. */
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
        // FTS5 only marks deleted text until it merges its segments.
        sql("INSERT INTO words (words) VALUES ('optimize')").run()
        for (const table of ["chunks", SIGNS, "vectors"]) sql(`DELETE FROM ${table} WHERE id = ?`).run(chunk)
        sql("DELETE FROM documents WHERE id = ?").run(row.id)
        if (!isForgotten(id)) sql("INSERT INTO forgotten (id) VALUES (?)").run(id)
        sql("DELETE FROM forgotten WHERE number <= (SELECT max(number) FROM forgotten) - ?").run(
          MAX_FORGOTTEN,
        )
        return true
      })
      // The log may still contain the old page.
      if (isRemoved) database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      return isRemoved
    },

    /** Embeds memories without a vector of these embeddings: they were stored without any, or with others. */
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
        const { centre } = known ?? zeroCentre(file, embeddings, vectors[0]?.length ?? 0)
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

/**
 * The centre of an index is near its first vectors, and would preserve them after they are forgotten. Here it is zero.
 */
function zeroCentre(file: IndexFile, embeddings: Embeddings, dimensions: number): Space {
  return remember(file, embeddings, [new Float32Array(dimensions)])
}

/** The same for texts that differ only in case or spaces. */
function hashOf(text: string): string {
  const plain = text.normalize("NFC").replace(/\s+/gu, " ").trim().toLowerCase()
  return createHash("sha256").update(plain).digest("hex")
}
