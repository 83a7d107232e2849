/** Walks a confined root: entries, names, text. Links are shown and never followed. */
import type { Dirent } from "node:fs"
import { lstat, opendir } from "node:fs/promises"
import { isSuperstepError } from "../../core/index.ts"
import { cutText } from "../../text/index.ts"
import { namesGlob } from "../glob.ts"
import { type ConfinedRoot, type EnteredDirectory, fileError, type LocatedPath } from "./confined-root.ts"
import { decodeText, readIn } from "./file.ts"

export interface Walk {
  readonly root: ConfinedRoot
  /** The first directory. */
  readonly start: LocatedPath
  /** How deep below the first directory. */
  readonly depth: number
  /** Entries to visit, over all directories. */
  readonly entries: number
  /** Results to return. */
  readonly results: number
  readonly signal: AbortSignal
}

export interface Found<T> {
  readonly results: readonly T[]
  /** Whether a limit was reached: there may be more. */
  readonly truncated: boolean
}

export interface ListedEntry {
  readonly path: string
  readonly kind: "file" | "directory" | "link" | "other"
  readonly bytes?: number
}

export async function listEntries(walk: Walk): Promise<Found<ListedEntry>> {
  return visitEntries<ListedEntry>(walk, async (entry, path, directory) => {
    const kind = kindOf(entry)
    if (kind !== "file") return [{ path, kind }]
    // It may be gone by now.
    const stats = await lstat(directory.at(entry.name)).catch(() => undefined)
    return stats === undefined ? [] : [{ path, kind, bytes: stats.size }]
  })
}

/** A pattern without `/` matches names in any directory. */
export async function findPaths(walk: Walk, pattern: string): Promise<Found<string>> {
  const matches = below(walk.start, pattern)
  return visitEntries(walk, async (entry, path) => (entry.isFile() && matches(path) ? [path] : []))
}

export interface TextQuery {
  readonly text: string
  readonly ignoreCase: boolean
  readonly files: string
  readonly maxBytes: number
}

export interface TextMatch {
  readonly path: string
  readonly line: number
  readonly text: string
}

const MAX_LINE = 300

export async function findText(walk: Walk, query: TextQuery): Promise<Found<TextMatch>> {
  const matches = below(walk.start, query.files)
  const fold = (text: string) => (query.ignoreCase ? text.toLowerCase() : text)
  const wanted = fold(query.text)
  return visitEntries(walk, async (entry, path, directory) => {
    if (!entry.isFile() || !matches(path)) return []
    const text = await readIn(directory, entry.name, path, query.maxBytes)
      .then((bytes) => decodeText(bytes, path))
      .catch(skipUnreadable)
    if (!fold(text).includes(wanted)) return []
    return text.split("\n").flatMap((line, index) => {
      if (!fold(line).includes(wanted)) return []
      return { path, line: index + 1, text: cutText(line.trimEnd(), MAX_LINE) }
    })
  })
}

/** A file that is too large, not text, or gone in the meantime contains nothing. */
function skipUnreadable(error: unknown): string {
  if (isSuperstepError(error)) return ""
  throw error
}

async function visitEntries<T>(
  { root, start, ...limits }: Walk,
  visit: (entry: Dirent, path: string, directory: EnteredDirectory) => Promise<readonly T[]>,
): Promise<Found<T>> {
  const results: T[] = []
  let left = limits.entries
  let truncated = false

  const visitAll = async (directory: EnteredDirectory, depth: number): Promise<void> => {
    const entries = await entriesOf(directory, left).catch((error) => {
      // Only the first directory must be readable.
      if (depth === 1) throw error
      return []
    })
    for (const entry of entries) {
      limits.signal.throwIfAborted()
      if (--left < 0 || results.length >= limits.results) {
        truncated = true
        return
      }
      const path = directory.path === "" ? entry.name : `${directory.path}/${entry.name}`
      if (root.denied(path)) continue
      for (const result of await visit(entry, path, directory)) results.push(result)
      if (!entry.isDirectory() || depth >= limits.depth) continue
      // It may be gone, or a link by now: then there is nothing to see in it.
      const inner = await directory.enter(entry.name).catch(() => undefined)
      if (inner !== undefined) await visitAll(inner, depth + 1).finally(() => inner.close())
    }
  }

  const first = await root.enter(start.parts)
  await visitAll(first, 1).finally(() => first.close())
  if (results.length > limits.results) truncated = true
  return { results: results.slice(0, limits.results), truncated }
}

/** By name, so that the same tree gives the same answer. Up to `max` + 1, to show that there are more. */
async function entriesOf(directory: EnteredDirectory, max: number): Promise<readonly Dirent[]> {
  const entries: Dirent[] = []
  try {
    for await (const entry of await opendir(directory.self)) {
      entries.push(entry)
      if (entries.length > max) break
    }
  } catch (error) {
    throw fileError(error, directory.path)
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function below(start: LocatedPath, pattern: string): (path: string) => boolean {
  const prefix = start.path === "" ? 0 : start.path.length + 1
  const matches = namesGlob(pattern)
  return (path) => matches(path.slice(prefix))
}

function kindOf(entry: Dirent): ListedEntry["kind"] {
  if (entry.isSymbolicLink()) return "link"
  if (entry.isDirectory()) return "directory"
  return entry.isFile() ? "file" : "other"
}
