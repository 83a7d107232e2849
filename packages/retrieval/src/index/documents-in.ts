/** Files and folders that are searched, with an index of their own that is brought up to date when they are first asked. */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { SuperstepError } from "@superstep/engine"
import type { Retriever } from "@superstep/engine/patterns"
import { type DocumentIndex, documentIndex } from "./document-index.ts"
import type { Embeddings } from "./embeddings/embeddings.ts"
import { namedEmbeddings } from "./embeddings/named-embeddings.ts"

export interface DocumentsInOptions {
  /** The folder that relative paths are in. Default: the working folder. */
  readonly root?: string | undefined
  /** The index's file. Default: one in `.superstep`, the same for the same paths. */
  readonly index?: string | undefined
  /** Their name, `offline` or `provider/model`: found by meaning too. Default: by words alone. */
  readonly embeddings?: string | undefined
  /** Where keys of embedding models are. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

export interface Documents extends Retriever {
  close(): Promise<void>
}

interface Opened {
  readonly index: DocumentIndex
  readonly embeddings?: Embeddings | undefined
}

/** What is missing is told at once; nothing is opened before it is asked. */
export function documentsIn(paths: readonly string[], options: DocumentsInOptions = {}): Documents {
  const { root = process.cwd() } = options
  const places = paths.map((path) => resolve(root, path))
  for (const [i, path] of places.entries()) {
    if (existsSync(path)) continue
    const text = `Cannot read ${paths[i]}: there is no such file or folder.`
    throw new SuperstepError("DOCUMENTS_MISSING", text, { retryable: false })
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
        // One that failed is tried anew; and at once, if only whoever began with it does not want it any longer.
        if (opening === now) opening = undefined
        if (now.by === signal || now.by?.aborted !== true) throw error
      }
    }
  }
  return {
    name: "documents",
    async search(query, asked) {
      const { index } = await open(asked?.signal)
      return await index.search(query, asked)
    },
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
  { index: file, embeddings: name, env }: DocumentsInOptions,
  signal: AbortSignal | undefined,
): Promise<Opened> {
  const path = file === undefined ? ownFile(places, name, root) : resolve(root, file)
  const embeddings = name === undefined ? undefined : await namedEmbeddings(name, { env })
  const opened = { index: documentIndex(path, { root, embeddings }), embeddings }
  try {
    const { problems } = await opened.index.add(places, { prune: true, signal })
    const [first] = problems
    if (first !== undefined && (await opened.index.list()).length === 0) {
      const text = `None of the documents can be read. ${first.source}: ${first.reason}.`
      throw new SuperstepError("DOCUMENTS_UNREADABLE", text, { retryable: false })
    }
    return opened
  } catch (error) {
    await closeIndex(opened)
    throw error
  }
}

async function closeIndex({ index, embeddings }: Opened): Promise<void> {
  await index.close()
  await embeddings?.close?.()
}

const FOLDER = ".superstep"

function ownFile(places: readonly string[], embeddings: string | undefined, root: string): string {
  const key = JSON.stringify([[...places].sort(), embeddings ?? null])
  const name = createHash("sha256").update(key).digest("hex").slice(0, 12)
  const path = resolve(root, FOLDER, `documents-${name}.db`)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // It is nobody's source.
    writeFileSync(join(dirname(path), ".gitignore"), "*\n", { flag: "wx" })
  } catch {
    // It is there, or the index itself says what is in the way.
  }
  return path
}
