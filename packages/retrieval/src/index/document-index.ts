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
  /** Without embeddings, search is by words only. */
  readonly embeddings?: Embeddings | undefined
  readonly chunk?: ChunkOptions | undefined
  /** For a new index: the folder that sources are relative to. Default: the working directory. */
  readonly root?: string | undefined
  /** Reorders the results of a search, for example with a reranking model. */
  readonly rerank?: Rerank | undefined
  /** Milliseconds to wait for another process that is writing. Default 10,000. */
  readonly lockTimeout?: number | undefined
}

/**
 * Receives more results than are wanted, the best first. Returns them in a new order, optionally with new scores. Results
 * that it omits are dropped.
 */
export type Rerank = (
  query: string,
  found: readonly Found[],
  options: AskOptions,
) => readonly Found[] | Promise<readonly Found[]>

export interface AddOptions {
  readonly onProgress?: ((progress: AddProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Removes documents that no longer exist in the added folders. */
  readonly prune?: boolean | undefined
}

export interface IndexSearchOptions extends SearchOptions {
  /** Default "merged": by words and by meaning, if the index has both. */
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
  /** The size of the file. */
  readonly bytes: number
  /** The embeddings of its vectors. */
  readonly embeddings?: EmbeddedWith | undefined
  readonly vectorSearch: boolean
  /** Why the index cannot be searched by meaning, and how to fix it. */
  readonly reason?: string | undefined
}

export interface DocumentIndex extends Retriever {
  /** Adds files, folders with all readable files in them, or texts. Unchanged documents are skipped. */
  add(what: readonly string[] | readonly TextDocument[], options?: AddOptions): Promise<AddResult>
  search(query: string, options?: IndexSearchOptions): Promise<readonly Found[]>
  /** The number of documents, and the titles of some. */
  describe(options?: AskOptions): Promise<string>
  list(): Promise<readonly IndexedDocument[]>
  /** Removes a source, or the files at a path. Returns the number of removed documents. */
  remove(source: string): Promise<number>
  report(): Promise<IndexReport>
  /** Does not close the embeddings, which others may share. */
  close(): Promise<void>
}

function describeIndex({ documents, chunks }: Pick<IndexReport, "documents" | "chunks">): string {
  const [one, many] = [documents === 1 ? "document" : "documents", chunks === 1 ? "passage" : "passages"]
  return `${documents} ${one}, ${chunks} ${many}`
}

const MAX_FOUND = 1_000
/** Candidates for reranking per wanted result. */
const RERANKED = 4
const MAX_TITLES = 20
const MAX_TITLE = 60

export function documentIndex(path: string, options: DocumentIndexOptions = {}): DocumentIndex {
  const { name = "documents", chunk = {}, root = process.cwd(), lockTimeout = 10_000, rerank } = options
  checkChunk(chunk)
  const file = openIndexFile(path, resolve(root), lockTimeout)
  const { vectorProblem } = file
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
  /** Vectors are not created if they cannot be searched. */
  const embeddings = vectorProblem === undefined ? options.embeddings : undefined

  async function sweep(signal?: AbortSignal): Promise<void> {
    while (documents.sweep() || documents.releasePages()) {
      signal?.throwIfAborted()
      await new Promise((next) => setImmediate(next))
    }
  }

  /** Why the index cannot be searched by meaning. */
  function reason(known: EmbeddedWith | undefined): string | undefined {
    if (vectorProblem !== undefined) return vectorProblem
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
      // If texts have the same source, the last one counts.
      const texts = new Map(
        what.flatMap((one) => (typeof one === "string" ? [] : [[one.source, itemOf(one)] as const])),
      )
      const items: Item[] = [...found.files, ...texts.values()]
      const result = await addDocuments(items, { file, documents, embeddings, chunk, onProgress, signal })
      const removed = prune ? documents.leave(missingFrom(found)) : 0
      await sweep(signal)
      return { ...result, removed, others: found.others, problems: [...closed, ...result.problems] }
    },

    async search(query, { limit = 10, mode = "merged", signal } = {}) {
      wholeNumber("limit", limit, 1, MAX_FOUND)
      if (query.trim() === "") return []
      const known = file.read(() => embeddedWith(file))
      const problem = reason(known)
      if (mode === "vector" && problem !== undefined) {
        throw invalidOption(`The index ${file.path} cannot be searched by meaning: ${problem}.`)
      }
      const [vector] =
        mode === "text" || problem !== undefined || embeddings === undefined
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
      // A source may not be a path. If it is one, it may be relative to the working directory or to the index's root.
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

  /** Files of the folders that are in the index, and no longer on disk. Unreadable folders are skipped. */
  function missingFrom({ folders, files, closed }: FoundFiles): string[] {
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

/** Both paths are absolute. */
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
