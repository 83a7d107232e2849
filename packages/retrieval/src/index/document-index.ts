/**
 * An index of documents in one SQLite file, searched by words (FTS5) and, with embeddings and sqlite-vec, by meaning.
 * `index-file.ts` has the file and its schema, `documents.ts` and `add-documents.ts` add and remove documents, and `search.ts`
 * searches them.
 */

import { statSync } from "node:fs"
import { resolve, sep } from "node:path"
import type { AskOptions, Found, Retriever, SearchOptions } from "@superstep/engine/patterns"
import { clipped } from "@superstep/engine/text"
import { fatal, invalidOption, wholeNumber } from "../errors.ts"
import {
  type AddProgress,
  type AddResult,
  addDocuments,
  type Item,
  isFile,
  itemOf,
  problemOf,
  type TextDocument,
} from "./add-documents.ts"
import { CHUNK_SIZE, type ChunkOptions } from "./chunks.ts"
import { type DocumentRow, documentTable } from "./documents.ts"
import { type Embeddings, embedAll } from "./embeddings/embeddings.ts"
import { INDEX_VERSION, openIndexFile } from "./index-file.ts"
import { type FoundFiles, findFiles } from "./readers/read-document.ts"
import { searcher } from "./search.ts"
import { type EmbeddedWith, embeddedWith, mustMatch } from "./vectors.ts"

export interface DocumentIndexOptions {
  /** Default "documents". */
  readonly name?: string | undefined
  /** Without them, search is by words alone. */
  readonly embeddings?: Embeddings | undefined
  readonly chunk?: ChunkOptions | undefined
  /** For an index that is made now: the folder whose files are known by their path in it. Default: the working folder. */
  readonly root?: string | undefined
  /** Puts what a search found into a better order, by a model for that, for instance. */
  readonly rerank?: Rerank | undefined
  /** Milliseconds to wait for another process that is writing. Default 10,000. */
  readonly lockTimeout?: number | undefined
}

/**
 * Given more than is wanted, the best first: gives them in its own order, with its own scores if it has any. What it leaves out
 * is not found.
 */
export type Rerank = (
  query: string,
  found: readonly Found[],
  options: AskOptions,
) => readonly Found[] | Promise<readonly Found[]>

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
  add(what: readonly string[] | readonly TextDocument[], options?: AddOptions): Promise<AddResult>
  search(query: string, options?: IndexSearchOptions): Promise<readonly Found[]>
  /** How many documents it has, and the titles of some. */
  describe(options?: AskOptions): Promise<string>
  list(): Promise<readonly IndexedDocument[]>
  /** A source, or the path of a file or of a folder. How many documents that were. */
  remove(source: string): Promise<number>
  report(): Promise<IndexReport>
  /** Does not close the embeddings: they may be others' too. */
  close(): Promise<void>
}

function describeIndex({ documents, chunks }: Pick<IndexReport, "documents" | "chunks">): string {
  const [one, many] = [documents === 1 ? "document" : "documents", chunks === 1 ? "passage" : "passages"]
  return `${documents} ${one}, ${chunks} ${many}`
}

const MAX_FOUND = 1_000
/** How many are reranked for each one that is wanted. */
const RERANKED = 4
const MAX_TITLES = 20
const MAX_TITLE = 60

export function documentIndex(path: string, options: DocumentIndexOptions = {}): DocumentIndex {
  const { name = "documents", chunk = {}, root = process.cwd(), lockTimeout = 10_000, rerank } = options
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
    return known === undefined ? "it has no vectors yet" : undefined
  }

  return {
    name,

    async add(what, { onProgress, signal, prune = false } = {}) {
      signal?.throwIfAborted()
      const known = file.read(() => embeddedWith(file))
      if (known !== undefined && embeddings === undefined) {
        throw fatal(
          "INDEX_EMBEDDINGS_OTHER",
          `The index ${file.path} has vectors of "${known.name}", and new documents need them too: ${reason(known)}.`,
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
        what.flatMap((one) => (typeof one === "string" ? [] : [[one.source, itemOf(one)] as const])),
      )
      const items: Item[] = [...found.files, ...texts.values()]
      const result = await addDocuments(items, { file, documents, embeddings, chunk, onProgress, signal })
      const removed = prune ? documents.leave(goneFrom(found)) : 0
      await sweep(signal)
      return { ...result, removed, others: found.others, problems: [...closed, ...result.problems] }
    },

    async search(query, { limit = 10, mode = "merged", signal } = {}) {
      wholeNumber("limit", limit, 1, MAX_FOUND)
      if (query.trim() === "") return []
      const known = file.read(() => embeddedWith(file))
      const trouble = reason(known)
      if (mode === "vector" && trouble !== undefined) {
        throw invalidOption(`The index ${file.path} cannot be searched by meaning: ${trouble}.`)
      }
      const [vector] =
        mode === "text" || trouble !== undefined || embeddings === undefined
          ? []
          : await embedAll(embeddings, [query], known?.dimensions, signal)
      signal?.throwIfAborted()
      const point = vector && known && { vector, centre: known.centre }
      const wanted = { query, vector: point, mode: mode === "vector" ? mode : ("merged" as const) }
      if (rerank === undefined) return search({ ...wanted, limit })
      const found = search({ ...wanted, limit: Math.min(MAX_FOUND, RERANKED * limit) })
      const ordered = await rerank(query, found, { signal })
      signal?.throwIfAborted()
      if (!Array.isArray(ordered) || !ordered.every(isFound)) {
        throw invalidOption(
          `The reranking of the index ${file.path} returned something other than search results.`,
        )
      }
      return ordered.slice(0, limit)
    },

    async describe() {
      const list = documents.list()
      const chunks = list.reduce((sum, one) => sum + one.chunks, 0)
      const counts = describeIndex({ documents: list.length, chunks })
      if (list.length === 0) return counts
      const titles = documents.titles(MAX_TITLES).map((title) => clipped(title, MAX_TITLE))
      return `${counts}: ${titles.join("; ")}${list.length > titles.length ? "; …" : ""}`
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

function isFound(one: unknown): one is Found {
  const { text, source, score } = (one ?? {}) as Partial<Found>
  return typeof text === "string" && typeof source === "string" && Number.isFinite(score)
}

/** Both absolute. */
function isIn(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

function checkChunk({ size = CHUNK_SIZE, overlap = 0 }: ChunkOptions): void {
  const isSize = Number.isInteger(size) && size >= 50 && size <= 20_000
  if (isSize && Number.isInteger(overlap) && overlap >= 0 && overlap <= size / 2) return
  const text =
    "chunk.size must be a whole number from 50 to 20,000, and chunk.overlap one from 0 to half of it."
  throw invalidOption(`Invalid index option: ${text}`)
}
