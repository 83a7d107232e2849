/** The index of documents that a command works with: opened with the embeddings that it was made with, closed at the end. */
import { existsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { DocumentIndex, Embeddings } from "@superstep/retrieval"
import type { Command } from "commander"
import type { Cli } from "./cli.ts"
import { leaveOutOfGit } from "./open-store.ts"
import { usageError } from "./usage-error.ts"

export interface IndexFlags {
  readonly file?: string | undefined
  readonly embeddings?: string | undefined
}

const DEFAULT_FILE = join(".superstep", "index.db")

export function indexFlags(command: Command): Command {
  return command.option("--file <path>", `the index (default: ${DEFAULT_FILE})`)
}

export function embeddingsFlag(command: Command): Command {
  return command.option(
    "--embeddings <name>",
    "to find by meaning too: offline, openai/MODEL, ollama/MODEL; an index keeps to those it began with",
  )
}

export interface UseIndexOptions extends IndexFlags {
  /** It is made where there is none. */
  readonly make?: boolean | undefined
  /** Nothing is embedded: only what is in the index is looked at, or removed. */
  readonly plain?: boolean | undefined
}

export async function useIndex(
  cli: Cli,
  { file, embeddings, make = false, plain = false }: UseIndexOptions,
  work: (index: DocumentIndex) => Promise<void>,
): Promise<void> {
  const { cwd, env } = cli.io
  const path = resolve(cwd, file ?? DEFAULT_FILE)
  if (!make && !existsSync(path)) {
    throw usageError(`There is no index ${file ?? DEFAULT_FILE}: superstep index add PATH makes one.`)
  }
  const { documentIndex, namedEmbeddings } = await import("@superstep/retrieval")
  if (file === undefined) leaveOutOfGit(dirname(path))
  let opened: Embeddings | undefined
  let index = documentIndex(path, { root: cwd })
  try {
    const name = embeddings ?? (plain ? undefined : (await index.report()).embeddings?.name)
    if (name !== undefined) {
      opened = await namedEmbeddings(name, { env })
      await index.close()
      index = documentIndex(path, { root: cwd, embeddings: opened })
    }
    await work(index)
  } finally {
    await index.close()
    await opened?.close?.()
  }
}
