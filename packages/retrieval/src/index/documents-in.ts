/** Searches files and folders with an index of their own. The first search updates the index. */

import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type { Retriever } from "@superstep/engine/patterns"
import { makePrivateFolder } from "../cache-file.ts"
import { fatal } from "../errors.ts"
import type { AddProgress } from "./add-documents.ts"
import { type DocumentIndex, documentIndex } from "./document-index.ts"
import type { Embeddings } from "./embeddings/embeddings.ts"
import { defaultEmbeddings, NO_EMBEDDINGS, namedEmbeddings } from "./embeddings/named-embeddings.ts"

export interface DocumentsInOptions {
  /** The folder for relative paths. Default: the working directory. */
  readonly root?: string | undefined
  /** The file of the index. Default: one in `.superstep`, the same for the same paths. */
  readonly index?: string | undefined
  /**
   * The name of the embeddings for search by meaning: `offline` or `provider/model`. Default: SUPERSTEP_EMBEDDINGS, else
   * `offline` if its packages are installed. `none` searches by words only.
   */
  readonly embeddings?: string | undefined
  /** The environment with the keys of embedding models. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Called while the index is updated. */
  readonly onProgress?: ((progress: AddProgress) => void) | undefined
}

export interface Documents extends Retriever {
  close(): Promise<void>
}

interface Opened {
  readonly index: DocumentIndex
  readonly embeddings?: Embeddings | undefined
  /** Files that could not be read. */
  readonly problems: readonly { readonly source: string; readonly reason: string }[]
}

/** Throws immediately if a path is missing. Opens nothing before the first search. */
export function documentsIn(paths: readonly string[], options: DocumentsInOptions = {}): Documents {
  const { root = process.cwd() } = options
  const places = paths.map((path) => resolve(root, path))
  for (const [i, path] of places.entries()) {
    if (existsSync(path)) continue
    throw fatal("DOCUMENTS_MISSING", `Cannot read ${paths[i]}: no such file or folder.`)
  }
  let opening: { readonly opened: Promise<Opened>; readonly by: AbortSignal | undefined } | undefined
  async function open(signal: AbortSignal | undefined): Promise<Opened> {
    for (;;) {
      signal?.throwIfAborted()
      opening ??= { opened: openIndex(places, root, options, signal), by: signal }
      const now = opening
      try {
        return await now.opened
      } catch (error) {
        // The next call repeats a failed attempt. If it failed only because its caller aborted, it is repeated
        // immediately.
        if (opening === now) opening = undefined
        if (now.by === signal || now.by?.aborted !== true) throw error
      }
    }
  }
  let skipped: Opened["problems"] = []
  return {
    name: "documents",
    async search(query, asked) {
      const { index, problems } = await open(asked?.signal)
      skipped = problems
      return await index.search(query, asked)
    },
    async describe(asked) {
      const { index, problems } = await open(asked?.signal)
      skipped = problems
      return await index.describe(asked)
    },
    skipped: () => skipped,
    async close() {
      const opened = await opening?.opened.catch(() => undefined)
      opening = undefined
      if (opened !== undefined) await closeIndex(opened)
    },
  }
}

async function openIndex(
  places: readonly string[],
  root: string,
  { index: file, embeddings: wanted, env, onProgress }: DocumentsInOptions,
  signal: AbortSignal | undefined,
): Promise<Opened> {
  const usual = async () => (file && (await embeddingsOf(resolve(root, file)))) ?? defaultEmbeddings(env)
  const name = wanted === NO_EMBEDDINGS ? undefined : (wanted ?? (await usual()))
  const path = file === undefined ? ownFile(places, name, root) : resolve(root, file)
  const embeddings = name === undefined ? undefined : await namedEmbeddings(name, { env })
  const opened = { index: documentIndex(path, { root, embeddings }), embeddings }
  try {
    const { problems } = await opened.index.add(places, { prune: true, signal, onProgress })
    const [first] = problems
    if (first !== undefined && (await opened.index.list()).length === 0) {
      throw fatal(
        "DOCUMENTS_UNREADABLE",
        `None of the documents is readable. ${first.source}: ${first.reason}.`,
      )
    }
    return { ...opened, problems }
  } catch (error) {
    await closeIndex(opened)
    throw error
  }
}

/** The embeddings that an index was created with. */
async function embeddingsOf(path: string): Promise<string | undefined> {
  if (!existsSync(path)) return undefined
  const index = documentIndex(path)
  try {
    return (await index.report()).embeddings?.name
  } finally {
    await index.close()
  }
}

async function closeIndex({ index, embeddings }: Omit<Opened, "problems">): Promise<void> {
  await index.close()
  await embeddings?.close?.()
}

const FOLDER = ".superstep"

function ownFile(places: readonly string[], embeddings: string | undefined, root: string): string {
  const key = JSON.stringify([[...places].sort(), embeddings ?? null])
  const name = createHash("sha256").update(key).digest("hex").slice(0, 12)
  const path = resolve(root, FOLDER, `documents-${name}.db`)
  makePrivateFolder(dirname(path))
  return path
}
