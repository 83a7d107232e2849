/**
 * An index of documents in one SQLite file: found by words (FTS5) and, where there are embeddings and sqlite-vec, by meaning.
 * What is in the file is index-schema.ts's, how a document gets in and out documents.ts's and add-documents.ts's, how it is
 * found search.ts's.
 */
import { statSync } from "node:fs"
import { resolve, sep } from "node:path"
import { SuperstepError } from "@superstep/engine"
import type { Found, Retriever, SearchOptions } from "@superstep/engine/patterns"
import {
  type AddProgress,
  type AddResult,
  addDocuments,
  type GivenDocument,
  given,
  type Item,
  isFile,
  problemOf,
} from "./add-documents.ts"
import type { ChunkOptions } from "./chunks.ts"
import { type DocumentRow, documentTable } from "./documents.ts"
import { type EmbeddedWith, embeddedWith, mustMatch } from "./embedded-with.ts"
import { type Embeddings, embedAll } from "./embeddings/embeddings.ts"
import { type FoundFiles, findFiles } from "./find-files.ts"
import { openIndexFile } from "./index-file.ts"
import { INDEX_VERSION } from "./index-schema.ts"
import { searcher } from "./search.ts"

export interface DocumentIndexOptions {
  /** Default "documents". */
  readonly name?: string | undefined
  /** Without them, search is by words alone. */
  readonly embeddings?: Embeddings | undefined
  readonly chunk?: ChunkOptions | undefined
  /** For an index that is made now: the folder whose files are known by their path in it. Default: the working folder. */
  readonly root?: string | undefined
  /** Milliseconds to wait for another process that is writing. Default 10,000. */
  readonly lockTimeout?: number | undefined
}

export interface AddOptions {
  readonly onProgress?: ((progress: AddProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Removes from the index what is no longer in the folders that are added. */
  readonly prune?: boolean | undefined
}

export interface IndexSearchOptions extends SearchOptions {
  /** Default "merged": by words and by meaning, as far as the index has both. */
  readonly mode?: "merged" | "text" | "vector" | undefined
}

export interface IndexedDocument {
  readonly source: string
  readonly chunks: number
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly addedAt: number
}

export interface IndexReport {
  readonly file: string
  readonly version: number
  readonly documents: number
  readonly chunks: number
  /** Of the file. */
  readonly bytes: number
  /** The embeddings that its vectors are of. */
  readonly embeddings?: EmbeddedWith | undefined
  readonly vectorSearch: boolean
  /** Why there is no search by meaning, and what to do about it. */
  readonly reason?: string | undefined
}

export interface DocumentIndex extends Retriever {
  /** Files, folders with all that can be read in them, or texts. What has not changed is left alone. */
  add(what: readonly string[] | readonly GivenDocument[], options?: AddOptions): Promise<AddResult>
  search(query: string, options?: IndexSearchOptions): Promise<readonly Found[]>
  list(): Promise<readonly IndexedDocument[]>
  /** A source, or the path of a file or of a folder. How many documents that were. */
  remove(source: string): Promise<number>
  report(): Promise<IndexReport>
  /** Does not close the embeddings: they may be others' too. */
  close(): Promise<void>
}

const MOST_FOUND = 1_000

export function documentIndex(path: string, options: DocumentIndexOptions = {}): DocumentIndex {
  const { name = "documents", chunk = {}, root = process.cwd(), lockTimeout = 10_000 } = options
  checkChunk(chunk)
  const file = openIndexFile(path, resolve(root), lockTimeout)
  const { vectorTrouble } = file
  const documents = documentTable(file)
  const { search } = searcher(file)
  try {
    mustMatch(
      file.path,
      file.read(() => embeddedWith(file)),
      options.embeddings,
    )
  } catch (error) {
    file.close()
    throw error
  }
  /** Vectors that cannot be searched are not made. */
  const embeddings = vectorTrouble === undefined ? options.embeddings : undefined

  async function sweep(signal?: AbortSignal): Promise<void> {
    while (documents.sweep() || documents.giveBack()) {
      signal?.throwIfAborted()
      await new Promise((next) => setImmediate(next))
    }
  }

  /** Why there is no search by meaning. */
  function reason(known: EmbeddedWith | undefined): string | undefined {
    if (vectorTrouble !== undefined) return vectorTrouble
    if (embeddings === undefined) {
      return known === undefined
        ? "there are no embeddings"
        : `it was opened without its embeddings, "${known.name}"`
    }
    return known === undefined ? "there are no vectors in it yet" : undefined
  }

  return {
    name,

    async add(what, { onProgress, signal, prune = false } = {}) {
      signal?.throwIfAborted()
      const known = file.read(() => embeddedWith(file))
      if (known !== undefined && embeddings === undefined) {
        throw new SuperstepError(
          "INDEX_EMBEDDINGS_OTHER",
          `The index ${file.path} has vectors of "${known.name}", and what is added needs them too: ${reason(known)}.`,
          { retryable: false },
        )
      }
      const paths = what.filter((one) => typeof one === "string")
      const found = await findFiles(paths, process.cwd(), signal)
      const closed = found.closed.map(({ path, error }) => {
        const reason = problemOf(error)
        if (reason === undefined) throw error
        return { source: file.sourceOf(path), reason }
      })
      // Of texts with the same source the last one counts.
      const texts = new Map(
        what.flatMap((one) => (typeof one === "string" ? [] : [[one.source, given(one)] as const])),
      )
      const items: Item[] = [...found.files, ...texts.values()]
      const result = await addDocuments(items, { file, documents, embeddings, chunk, onProgress, signal })
      const removed = prune ? documents.leave(goneFrom(found)) : 0
      await sweep(signal)
      return { ...result, removed, others: found.others, problems: [...closed, ...result.problems] }
    },

    async search(query, { limit = 10, mode = "merged", signal } = {}) {
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= MOST_FOUND)) {
        throw new SuperstepError(
          "OPTION_INVALID",
          `limit is a whole number from 1 to ${MOST_FOUND}, not ${limit}.`,
        )
      }
      if (query.trim() === "") return []
      const known = file.read(() => embeddedWith(file))
      const trouble = reason(known)
      if (mode === "vector" && trouble !== undefined) {
        throw new SuperstepError(
          "OPTION_INVALID",
          `The index ${file.path} cannot be searched by meaning: ${trouble}.`,
        )
      }
      const [vector] =
        mode === "text" || trouble !== undefined || embeddings === undefined
          ? []
          : await embedAll(embeddings, [query], known?.dimensions, signal)
      signal?.throwIfAborted()
      const point = vector && known && { vector, centre: known.centre }
      return search({ query: mode === "vector" ? undefined : query, vector: point, limit })
    },

    async list() {
      return documents.list().map(({ source, chunks, bytes, added_at }: DocumentRow) => ({
        source,
        chunks,
        bytes,
        addedAt: added_at,
      }))
    },

    async remove(source) {
      if (source === "") return 0
      // A source need not be a path; if it is one, it may be written from the working folder or from the index's.
      const folders = [resolve(source), file.pathOf(source)]
      const wanted = documents
        .known()
        .filter(
          (one) =>
            one.source === source ||
            one.source.startsWith(source.endsWith("/") ? source : `${source}/`) ||
            (isFile(one) && folders.some((folder) => isIn(folder, file.pathOf(one.source)))),
        )
      const removed = documents.leave(wanted.map((one) => one.source))
      await sweep()
      return removed
    },

    async report() {
      const known = file.read(() => embeddedWith(file))
      const list = documents.list()
      const why = reason(known)
      return {
        file: file.path,
        version: INDEX_VERSION,
        documents: list.length,
        chunks: list.reduce((sum, { chunks }) => sum + chunks, 0),
        bytes: statSync(file.path).size,
        ...(known && { embeddings: { name: known.name, dimensions: known.dimensions } }),
        vectorSearch: why === undefined,
        ...(why !== undefined && { reason: why }),
      }
    },

    async close() {
      file.close()
    },
  }

  /** Sources of files that the index has of the folders, and that are no longer in them, as far as can be seen. */
  function goneFrom({ folders, files, closed }: FoundFiles): string[] {
    const there = new Set(files.map(({ path }) => path))
    return documents
      .known()
      .filter(isFile)
      .map(({ source }) => ({ source, path: file.pathOf(source) }))
      .filter(({ path }) => !there.has(path) && folders.some((folder) => isIn(folder, path)))
      .filter(({ path }) => !closed.some((folder) => isIn(folder.path, path)))
      .map(({ source }) => source)
  }
}

/** Both absolute. */
function isIn(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

function checkChunk({ size, overlap }: ChunkOptions): void {
  const isSize = size === undefined || (Number.isInteger(size) && size >= 50 && size <= 20_000)
  const isOverlap =
    overlap === undefined || (Number.isInteger(overlap) && overlap >= 0 && overlap <= (size ?? 800) / 2)
  if (isSize && isOverlap) return
  const text = "chunk.size is a whole number from 50 to 20,000, and chunk.overlap one from 0 to half of it."
  throw new SuperstepError("OPTION_INVALID", `Bad index option: ${text}`)
}
