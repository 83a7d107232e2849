/**
 * Memories of many owners on document indexes, one file for each owner.
 *
 * O1 A search opens the file of one owner. No query finds anything of another, and not even scores depend on what others have
 *    stored. A file is named by a hash of its owner: no owner names a path.
 * O2 A memory is stored in one transaction, once for each id and once for each text, before `remember` returns.
 * O3 What is forgotten is in no table, no free page and no log of the file. Its id stays, so that a call which is repeated after
 *    a crash does not bring it back.
 */
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { MemoryIndex, OwnedMemories } from "@superstep/engine/tools"
import { makeOwnFolder } from "../cache-file.ts"
import { fatal, invalidOption, messageOf } from "../errors.ts"
import { type Embeddings, embedAll } from "../index/embeddings/embeddings.ts"
import { namedEmbeddings } from "../index/embeddings/named-embeddings.ts"
import { hasOfflineEmbeddings, offlineEmbeddings } from "../index/embeddings/offline-embeddings.ts"
import { openIndexFile } from "../index/index-file.ts"
import { searcher } from "../index/search.ts"
import { type MemoryTable, memoryTable } from "./memory-table.ts"

export interface MemoryIndexOptions {
  /**
   * Embeddings, or their name (`offline`, `provider/model`); false: memories are found by words alone. Default: the offline
   * ones, where their packages are installed.
   */
  readonly embeddings?: Embeddings | string | false | undefined
  /** Where keys of embedding models are. Default: the process's environment. */
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

  /** Opens the owner's file for one operation, so that nothing stays open and no log stays behind. */
  async function using<T>(path: string, work: (file: OpenedMemories) => T | Promise<T>): Promise<T> {
    const file = openIndexFile(path, place, lockTimeout)
    try {
      file.database.exec("PRAGMA secure_delete = ON")
      const made = file.vectorTrouble === undefined ? await embeddings() : undefined
      return await work({ table: memoryTable(file), search: searcher(file).search, embeddings: made })
    } finally {
      file.close()
    }
  }

  return {
    of: (owner) => ownedMemories(pathOf(owner), () => makeOwnFolder(place), using),
    async erase(owner) {
      for (const end of ["", "-wal", "-shm", "-journal"]) await rm(`${pathOf(owner)}${end}`, { force: true })
    },
    async close() {
      const made = await loading?.catch(() => undefined)
      loading = undefined
      // Those that were passed may be others' too.
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

/** Embeddings that fail cost a search by meaning, not the memory. */
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
