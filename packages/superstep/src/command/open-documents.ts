/** `--docs`: documents in an index of their own, brought up to date before they are searched. */
import { createHash } from "node:crypto"
import { existsSync, statSync } from "node:fs"
import { dirname, extname, relative, resolve } from "node:path"
import type { ResearchTool, TextEmbeddings } from "@superstep/engine/patterns"
import type { DocumentIndex, Embeddings } from "@superstep/retrieval"
import type { Cli } from "./cli.ts"
import { counted } from "./figures.ts"
import { leaveOutOfGit } from "./open-store.ts"
import { progressBar } from "./progress-bar.ts"
import { foreignLine } from "./terminal.ts"
import { usageError } from "./usage-error.ts"

export interface DocumentSettings {
  /** Files and folders; or one index that is there already. */
  readonly docs?: readonly string[] | undefined
  readonly embeddings?: string | undefined
}

export interface OpenedDocuments {
  /** None without documents. */
  readonly tools: readonly ResearchTool[]
  readonly embeddings?: TextEmbeddings | undefined
  close(): Promise<void>
}

const FOLDER = ".superstep"

export async function openDocuments(
  { docs = [], embeddings: name }: DocumentSettings,
  cli: Cli,
  isQuiet: boolean,
): Promise<OpenedDocuments> {
  if (docs.length === 0) return { tools: [], close: async () => undefined }
  const missing = docs.find((path) => !existsSync(path))
  const { cwd, env } = cli.io
  if (missing !== undefined) {
    throw usageError(`Cannot read ${relative(cwd, missing)}: there is no such file or folder.`)
  }
  const ready = indexAmong(docs)
  const { documentIndex, namedEmbeddings } = await import("@superstep/retrieval")
  const path = ready ?? ownIndex(docs, cwd)
  let embeddings: Embeddings | undefined
  let index = documentIndex(path, { root: cwd })
  const close = async () => {
    await index.close()
    await embeddings?.close?.()
  }
  try {
    const wanted = name ?? (await index.report()).embeddings?.name
    if (wanted !== undefined) {
      embeddings = await namedEmbeddings(wanted, { env })
      await index.close()
      index = documentIndex(path, { root: cwd, embeddings })
    }
    if (ready === undefined) await bringUpToDate(index, docs, cli, isQuiet)
    const { documentsTool } = await import("@superstep/engine/patterns")
    return { tools: [documentsTool(index)], embeddings, close }
  } catch (error) {
    await close()
    throw error
  }
}

function indexAmong(docs: readonly string[]): string | undefined {
  const [only] = docs
  if (docs.length !== 1 || only === undefined) return undefined
  return extname(only) === ".db" && statSync(only).isFile() ? only : undefined
}

/** The same documents have the same index, from run to run. */
function ownIndex(docs: readonly string[], cwd: string): string {
  const name = createHash("sha256")
    .update(JSON.stringify([...docs].sort()))
    .digest("hex")
    .slice(0, 12)
  const path = resolve(cwd, FOLDER, `research-${name}.db`)
  leaveOutOfGit(dirname(path))
  return path
}

async function bringUpToDate(
  index: DocumentIndex,
  docs: readonly string[],
  { err, io }: Cli,
  isQuiet: boolean,
): Promise<void> {
  const stop = new AbortController()
  const listened = io.onInterrupt(() =>
    stop.abort(usageError("Stopped. The same command goes on from here.")),
  )
  const bar = progressBar(err)
  try {
    const { problems } = await index.add(docs, {
      prune: true,
      signal: stop.signal,
      onProgress({ source, documents, bytes }) {
        const share = bytes.total === 0 ? documents.done / documents.total : bytes.done / bytes.total
        if (!isQuiet) bar.show(share, `${documents.done}/${documents.total} · ${source}`)
      },
    })
    bar.clear()
    for (const { source, reason } of isQuiet ? [] : problems) {
      err.line(err.paint.dim(foreignLine(`${source} is left out: ${reason}.`)))
    }
  } finally {
    bar.clear()
    listened()
  }
  const { documents } = await index.report()
  if (documents === 0) throw usageError("There is nothing that can be read in what --docs names.")
  if (!isQuiet) err.line(err.paint.dim(`${counted(documents, "document")} to search.`))
}
