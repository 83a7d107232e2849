/**
 * Adds new and changed documents to the index, in batches, so that no file is ever in memory as a whole. Interrupted work
 * continues the next time.
 */

import { createHash, randomUUID } from "node:crypto"
import { setImmediate as nextTurn } from "node:timers/promises"
import { isSuperstepError } from "@superstep/engine"
import { invalidOption } from "../errors.ts"
import {
  CHUNK_OVERLAP,
  CHUNK_SIZE,
  type Chunk,
  type ChunkOptions,
  chunksOf,
  type DocumentFacts,
  type DocumentPart,
  type Part,
} from "./chunks.ts"
import type { ChunkVectors, Documents, NewDocument } from "./documents.ts"
import { type Embeddings, embedAll } from "./embeddings/embeddings.ts"
import type { IndexFile } from "./index-file.ts"
import { type DocumentType, readFileParts, readTextParts } from "./readers/read-document.ts"
import { examine } from "./readers/text-file.ts"
import { embeddedWith, remember } from "./vectors.ts"

export interface TextDocument {
  /** The name for citations. */
  readonly source: string
  readonly text: string
  /** Default "text". */
  readonly type?: Exclude<DocumentType, "pdf"> | undefined
}

export interface AddProgress {
  /** The source that is being read. */
  readonly source: string
  readonly documents: { readonly done: number; readonly total: number }
  readonly bytes: { readonly done: number; readonly total: number }
  /** Written so far. */
  readonly chunks: number
}

export interface AddResult {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  readonly removed: number
  readonly chunks: number
  /** Documents that another process was adding at the same time, and that were left to it. */
  readonly left: number
  /** Files of unsupported types. */
  readonly others: number
  /** Documents and folders that could not be read, and why. The index keeps their earlier content. */
  readonly problems: readonly { readonly source: string; readonly reason: string }[]
}

/** A document as text, or a file. */
export type Item = (TextDocument | { readonly path: string }) & { readonly bytes: number }

export interface Adding {
  readonly file: IndexFile
  readonly documents: Documents
  readonly embeddings: Embeddings | undefined
  readonly chunk: ChunkOptions
  readonly onProgress?: ((progress: AddProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

type Outcome = "added" | "changed" | "unchanged" | "left"

/**
 * Chunks per transaction. Large without embeddings, because each transaction has a cost; small with embeddings, so that
 * slow results are stored immediately.
 */
const BATCH = 1_000
const EMBEDDED_BATCH = 64
/** Concurrent documents, while others wait for their vectors. */
const PARALLEL = 4
/** Increase it when a reader or the chunking changes: documents are then read again. */
const READERS = 3
/** The prefix of the settings of a document that is not a file. */
const NOT_A_FILE = "given|"

export const isFile = ({ settings }: Pick<NewDocument, "settings">) => !settings.startsWith(NOT_A_FILE)

export async function addDocuments(
  items: readonly Item[],
  adding: Adding,
): Promise<Omit<AddResult, "removed" | "others">> {
  const counts = { added: 0, changed: 0, unchanged: 0, left: 0, chunks: 0 }
  const problems: { source: string; reason: string }[] = []
  const total = items.reduce((sum, { bytes }) => sum + bytes, 0)
  let [done, bytes, next] = [0, 0, 0]
  const failure = new AbortController()
  const signal = AbortSignal.any([failure.signal, ...(adding.signal === undefined ? [] : [adding.signal])])
  const tell = (source: string) =>
    adding.onProgress?.({
      source,
      documents: { done, total: items.length },
      bytes: { done: bytes, total },
      chunks: counts.chunks,
    })

  async function work(): Promise<void> {
    while (next < items.length) {
      const item = items[next++] as Item
      const source = "path" in item ? adding.file.sourceOf(item.path) : item.source
      tell(source)
      // An estimate: chunks overlap, and may be shorter than their source.
      let about = 0
      const written = (count: number, characters: number) => {
        counts.chunks += count
        const more = Math.min(characters, item.bytes - about)
        about += more
        bytes += more
        tell(source)
      }
      try {
        counts[await addOne(item, source, { ...adding, signal }, written)] += 1
      } catch (error) {
        signal.throwIfAborted()
        const reason = problemOf(error)
        if (reason === undefined) throw error
        problems.push({ source, reason })
      }
      done += 1
      bytes += item.bytes - about
      tell(source)
    }
  }

  const workers = Array.from({ length: adding.embeddings === undefined ? 1 : PARALLEL }, work)
  try {
    await Promise.all(workers)
  } catch (error) {
    failure.abort(error)
    await Promise.allSettled(workers)
    adding.signal?.throwIfAborted()
    throw error
  }
  return { ...counts, problems }
}

async function addOne(
  item: Item,
  source: string,
  adding: Adding,
  written: (chunks: number, characters: number) => void,
): Promise<Outcome> {
  const { documents, embeddings, signal, chunk } = adding
  const { document, parts } = await opened(item, source, adding)
  const before = documents.ready(source)
  if (before?.hash === document.hash && before.settings === document.settings) return "unchanged"
  const writing = documents.begin(document, randomUUID())
  if (writing === undefined) return "unchanged"
  let count = 0
  try {
    for await (const batch of batches(
      chunksOf(
        textOf(parts(), (facts) => documents.describe(writing, facts)),
        chunk,
      ),
      embeddings === undefined ? BATCH : EMBEDDED_BATCH,
    )) {
      signal?.throwIfAborted()
      const fresh = batch.slice(Math.max(0, writing.chunks - count))
      const from = count + batch.length - fresh.length
      count += batch.length
      const characters = batch.reduce((sum, { text }) => sum + text.length, 0)
      if (fresh.length === 0) {
        written(0, characters)
        continue
      }
      const vectors = embeddings && (await embed(fresh, embeddings, adding))
      if (!documents.append(writing, from, fresh, vectors)) return "left"
      written(fresh.length, characters)
      await nextTurn()
    }
  } catch (error) {
    // A problem of the document itself will not be gone the next time.
    if (!signal?.aborted && problemOf(error) !== undefined) documents.abandon(writing)
    throw error
  }
  if (!documents.finish(writing, source)) return "left"
  return before === undefined ? "added" : "changed"
}

/** The text of a document. Facts about it are recorded. */
async function* textOf(
  parts: AsyncIterable<DocumentPart>,
  note: (facts: DocumentFacts) => void,
): AsyncGenerator<Part> {
  for await (const part of parts) {
    if (!("facts" in part)) yield part
    else if (part.facts.author !== undefined || part.facts.date !== undefined) note(part.facts)
  }
}

async function opened(
  item: Item,
  source: string,
  { embeddings, chunk, signal }: Adding,
): Promise<{ document: NewDocument; parts: () => AsyncIterable<DocumentPart> }> {
  const { size = CHUNK_SIZE, overlap = CHUNK_OVERLAP } = chunk
  const settings = [READERS, size, overlap, embeddings?.name ?? ""].join("|")
  if ("path" in item) {
    const contents = await examine(item.path, signal)
    const { hash, bytes } = contents
    return {
      document: { source, hash, settings, bytes },
      parts: () => readFileParts(item.path, contents, signal),
    }
  }
  const { text, type = "text", bytes } = item
  const hash = createHash("sha256").update(`${type}\n${text}`).digest("hex")
  return {
    document: { source, hash, settings: `${NOT_A_FILE}${settings}`, bytes },
    parts: () => readTextParts(text, type, signal),
  }
}

async function embed(
  chunks: readonly Chunk[],
  embeddings: Embeddings,
  { file, signal }: Adding,
): Promise<ChunkVectors> {
  const known = file.read(() => embeddedWith(file))
  const texts = chunks.map(({ title, text }) => (title === undefined ? text : `${title}\n${text}`))
  const vectors = await embedAll(embeddings, texts, known?.dimensions ?? embeddings.dimensions, signal)
  const { centre } = known ?? remember(file, embeddings, vectors)
  return { vectors, centre }
}

async function* batches<T>(all: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const one of all) {
    batch.push(one)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** The problem of this document. Undefined: adding cannot continue. */
export function problemOf(error: unknown): string | undefined {
  if (isSuperstepError(error)) {
    return /^DOCUMENT_/.test(error.code) || error.code === "PACKAGE_MISSING" ? error.message : undefined
  }
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (syscall === undefined && !/^E[A-Z]+$/.test(code ?? "")) return undefined
  if (code === "ENOENT") return "it no longer exists"
  if (code === "EACCES" || code === "EPERM") return "it is not readable: check its permissions"
  return message
}

export function itemOf(document: TextDocument): Item {
  const { source, text } = document
  if (typeof source !== "string" || source.trim() === "" || typeof text !== "string") {
    throw invalidOption("A document needs a non-empty source, and text that is a string.")
  }
  return { ...document, bytes: Buffer.byteLength(text) }
}
