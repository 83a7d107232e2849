/**
 * The document index of `superstep index`, and the one that `--docs` creates. An index is always opened with the
 * embeddings that it was created with.
 */
import { createHash } from "node:crypto"
import { existsSync, statSync } from "node:fs"
import { dirname, extname, join, relative, resolve } from "node:path"
import type { ResearchTool, TextEmbeddings } from "@superstep/engine/patterns"
import type { AddResult, DocumentIndex, Embeddings } from "@superstep/retrieval"
import type { Command } from "commander"
import type { Cli } from "../cli.ts"
import { usageError } from "../print/errors.ts"
import { counted } from "../print/figures.ts"
import { progressBar, sanitizeLine } from "../terminal/terminal.ts"
import { makeIgnoredFolder } from "./store.ts"

export interface IndexFlags {
  readonly file?: string | undefined
  readonly embeddings?: string | undefined
}

export const DEFAULT_FILE = join(".superstep", "index.db")

export function indexFlags(command: Command): Command {
  return command.option("--file <path>", `use this index (default: ${DEFAULT_FILE})`)
}

export function embeddingsFlag(command: Command): Command {
  return command.option(
    "--embeddings <name>",
    "search by meaning too: offline, openai/MODEL, ollama/MODEL, or none (default: those of the index; for a new one SUPERSTEP_EMBEDDINGS, else offline if installed)",
  )
}

interface OpenedIndex {
  readonly index: DocumentIndex
  readonly embeddings?: Embeddings | undefined
  close(): Promise<void>
}

interface OpenIndexOptions {
  /**
   * `none` searches by words only. Default: the embeddings of the index; for a new index, those that are configured or
   * installed.
   */
  readonly embeddings?: string | undefined
  /** Nothing is embedded: the index is only read, or documents are removed. */
  readonly isPlain?: boolean | undefined
}

async function openIndex(
  path: string,
  { cwd, env }: Cli["io"],
  { embeddings: name, isPlain = false }: OpenIndexOptions,
): Promise<OpenedIndex> {
  const { defaultEmbeddings, documentIndex, namedEmbeddings } = await import("@superstep/retrieval")
  const isNew = !existsSync(path)
  const index = documentIndex(path, { root: cwd })
  const usual = async () => (isNew ? defaultEmbeddings(env) : (await index.report()).embeddings?.name)
  try {
    const wanted = name === "none" ? undefined : (name ?? (isPlain ? undefined : await usual()))
    if (wanted === undefined) return { index, close: () => index.close() }
    const embeddings = await namedEmbeddings(wanted, { env })
    await index.close()
    const embedded = documentIndex(path, { root: cwd, embeddings })
    const close = async () => {
      await embedded.close()
      await embeddings.close?.()
    }
    return { index: embedded, embeddings, close }
  } catch (error) {
    await index.close()
    throw error
  }
}

export interface UseIndexOptions extends IndexFlags, Pick<OpenIndexOptions, "isPlain"> {
  /** Create the index if it is missing. */
  readonly create?: boolean | undefined
}

export async function withIndex(
  { io }: Cli,
  { file, create = false, ...options }: UseIndexOptions,
  use: (index: DocumentIndex) => Promise<void>,
): Promise<void> {
  const path = resolve(io.cwd, file ?? DEFAULT_FILE)
  if (!create && !existsSync(path)) {
    throw usageError(`There is no index ${file ?? DEFAULT_FILE}. Create it:\nsuperstep index add PATH`)
  }
  if (file === undefined) makeIgnoredFolder(dirname(path))
  const { index, close } = await openIndex(path, io, options)
  try {
    await use(index)
  } finally {
    await close()
  }
}

/** Adds documents and shows a progress bar. Returns undefined if Ctrl-C stopped it; the next call continues. */
export async function addDocuments(
  index: DocumentIndex,
  paths: readonly string[],
  { io, err }: Cli,
  { prune, isQuiet }: { readonly prune?: boolean | undefined; readonly isQuiet: boolean },
): Promise<AddResult | undefined> {
  const stop = new AbortController()
  const stopListening = io.onInterrupt(() => stop.abort())
  const bar = progressBar(err)
  try {
    return await index.add(paths, {
      prune,
      signal: stop.signal,
      onProgress({ source, documents, bytes, chunks }) {
        if (isQuiet) return
        const share = bytes.total === 0 ? documents.done / documents.total : bytes.done / bytes.total
        bar.show(share, `${documents.done}/${documents.total} · ${counted(chunks, "chunk")} · ${source}`)
      },
    })
  } catch (error) {
    if (stop.signal.aborted) return undefined
    throw error
  } finally {
    bar.clear()
    stopListening()
  }
}

export const INDEXING_STOPPED = "Stopped. Run the same command again to continue."

export interface DocumentSettings {
  /** Files and folders; or one existing index. */
  readonly docs?: readonly string[] | undefined
  readonly embeddings?: string | undefined
}

export interface OpenedDocuments {
  /** Empty if there are no documents. */
  readonly tools: readonly ResearchTool[]
  readonly embeddings?: TextEmbeddings | undefined
  /** Documents that could not be read. */
  readonly problems: readonly { readonly source: string; readonly reason: string }[]
  close(): Promise<void>
}

/** `--docs`: opens an index for these documents, and updates it before a search. */
export async function openDocuments(
  { docs = [], embeddings }: DocumentSettings,
  cli: Cli,
  isQuiet: boolean,
): Promise<OpenedDocuments> {
  if (docs.length === 0) return { tools: [], problems: [], close: async () => undefined }
  const { cwd } = cli.io
  const missing = docs.find((path) => !existsSync(path))
  if (missing !== undefined)
    throw usageError(`Cannot read ${relative(cwd, missing)}: no such file or folder.`)
  const existing = indexAmong(docs)
  const opened = await openIndex(existing ?? ownIndex(docs, cwd), cli.io, { embeddings })
  try {
    const problems = existing === undefined ? await update(opened.index, docs, cli, isQuiet) : []
    const { documentsTool } = await import("@superstep/engine/patterns")
    return { ...opened, tools: [documentsTool(opened.index)], problems }
  } catch (error) {
    await opened.close()
    throw error
  }
}

function indexAmong(docs: readonly string[]): string | undefined {
  const [only] = docs
  if (docs.length !== 1 || only === undefined) return undefined
  return extname(only) === ".db" && statSync(only).isFile() ? only : undefined
}

/** The same documents have the same index in every run. */
function ownIndex(docs: readonly string[], cwd: string): string {
  const key = JSON.stringify([...docs].sort())
  const name = createHash("sha256").update(key).digest("hex").slice(0, 12)
  const path = resolve(cwd, dirname(DEFAULT_FILE), `research-${name}.db`)
  makeIgnoredFolder(dirname(path))
  return path
}

async function update(
  index: DocumentIndex,
  docs: readonly string[],
  cli: Cli,
  isQuiet: boolean,
): Promise<OpenedDocuments["problems"]> {
  const { err } = cli
  const result = await addDocuments(index, docs, cli, { prune: true, isQuiet })
  if (result === undefined) throw usageError(INDEXING_STOPPED)
  for (const { source, reason } of isQuiet ? [] : result.problems) {
    err.line(err.paint.dim(sanitizeLine(`Skipped ${source}: ${reason}.`)))
  }
  const { documents } = await index.report()
  if (documents === 0) throw usageError("--docs matches no readable documents.")
  if (!isQuiet) err.line(err.paint.dim(`${counted(documents, "document")} to search.`))
  return result.problems.map(({ source, reason }) => ({ source, reason: `skipped: ${reason}` }))
}
