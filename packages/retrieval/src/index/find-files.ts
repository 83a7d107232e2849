/** The files below folders that can be read, in a steady order. */

import { readdir, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { SuperstepError } from "@superstep/engine"
import { fatal } from "../errors.ts"
import { typeOf } from "./readers/read-document.ts"

export interface FoundFiles {
  /** Absolute, each once. */
  readonly files: readonly { readonly path: string; readonly bytes: number }[]
  /** The folders that were asked for, absolute. */
  readonly folders: readonly string[]
  /** Folders in them that could not be looked into. */
  readonly closed: readonly { readonly path: string; readonly error: unknown }[]
  /** How many files in them are of kinds that are not read. */
  readonly others: number
}

/** Folders that contain no documents. */
const SKIPPED = new Set(["node_modules", "__pycache__"])

/** A file that is named is taken whatever it is called; in folders, only those of known kinds. Links are not followed. */
export async function findFiles(
  paths: readonly string[],
  cwd: string,
  signal?: AbortSignal,
): Promise<FoundFiles> {
  const files = new Map<string, number>()
  const folders: string[] = []
  const closed = new Map<string, unknown>()
  const others = new Set<string>()

  async function walk(folder: string): Promise<void> {
    signal?.throwIfAborted()
    const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
      closed.set(folder, error)
      return []
    })
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      if (entry.name.startsWith(".") || SKIPPED.has(entry.name)) continue
      const path = join(folder, entry.name)
      if (entry.isDirectory()) await walk(path)
      else if (entry.isFile() && typeOf(path) === undefined) others.add(path)
      // A file that is gone by now is reported when it is read.
      else if (entry.isFile()) files.set(path, (await stat(path).catch(() => undefined))?.size ?? 0)
    }
  }

  for (const named of paths) {
    const path = resolve(cwd, named)
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      throw refused(named, error.code === "ENOENT" ? "there is no such file or folder" : error.message, error)
    })
    if (found.isDirectory()) {
      folders.push(path)
      await walk(path)
    } else if (found.isFile()) files.set(path, found.size)
    else throw refused(named, "it is neither a file nor a folder")
  }
  return {
    files: [...files].map(([path, bytes]) => ({ path, bytes })),
    folders,
    closed: [...closed].map(([path, error]) => ({ path, error })),
    others: others.size,
  }
}

function refused(named: string, why: string, cause?: unknown): SuperstepError {
  return fatal("OPTION_INVALID", `${named} cannot be added: ${why}.`, cause)
}
