/** The files below folders that can be read, in a steady order. */
import { readdir, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { SuperstepError } from "@superstep/engine"
import { typeOf } from "./readers/read-document.ts"

export interface FoundFiles {
  /** Absolute, each once. */
  readonly files: readonly { readonly path: string; readonly bytes: number }[]
  /** The folders that were asked for, absolute. */
  readonly folders: readonly string[]
  /** How many files in them are of kinds that are not read. */
  readonly others: number
}

/** Nobody's documents. */
const SKIPPED = new Set(["node_modules", "__pycache__"])

/** A file that is named is taken whatever it is called; in folders, only those of known kinds. Links are not followed. */
export async function findFiles(
  paths: readonly string[],
  cwd: string,
  signal?: AbortSignal,
): Promise<FoundFiles> {
  const files = new Map<string, number>()
  const folders: string[] = []
  let others = 0
  for (const given of paths) {
    const path = resolve(cwd, given)
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      const why = error.code === "ENOENT" ? "there is no such file or folder" : error.message
      throw new SuperstepError("OPTION_INVALID", `${given} cannot be added: ${why}.`, {
        cause: error,
        retryable: false,
      })
    })
    if (!found.isDirectory()) {
      files.set(path, found.size)
      continue
    }
    folders.push(path)
    for await (const file of walk(path, signal)) {
      if (typeOf(file) === undefined) others += 1
      else files.set(file, (await stat(file)).size)
    }
  }
  return { files: [...files].map(([path, bytes]) => ({ path, bytes })), folders, others }
}

async function* walk(folder: string, signal: AbortSignal | undefined): AsyncGenerator<string> {
  signal?.throwIfAborted()
  const entries = await readdir(folder, { withFileTypes: true })
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    if (entry.name.startsWith(".") || SKIPPED.has(entry.name)) continue
    if (entry.isDirectory()) yield* walk(join(folder, entry.name), signal)
    else if (entry.isFile()) yield join(folder, entry.name)
  }
}
