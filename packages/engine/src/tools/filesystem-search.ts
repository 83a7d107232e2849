/** Going through a confined root: lists, names, text. Links are shown and never followed. */
import type { Dirent } from "node:fs"
import { lstat, opendir } from "node:fs/promises"
import { isSuperstepError } from "../core/index.ts"
import { fileError } from "./filesystem-errors.ts"
import { readIn } from "./filesystem-file.ts"
import type { ConfinedRoot, EnteredDirectory, Place } from "./filesystem-root.ts"
import { decodeText } from "./filesystem-text.ts"
import { namesGlob } from "./path-glob.ts"

export interface WalkLimits {
  /** How deep below the first directory. */
  readonly depth: number
  /** Entries looked at, over all directories. */
  readonly entries: number
  /** Entries given back. */
  readonly results: number
  readonly signal: AbortSignal
}

export interface Found<T> {
  readonly results: readonly T[]
  /** True when a limit was reached: there may be more. */
  readonly truncated: boolean
}

export interface ListedEntry {
  readonly path: string
  readonly kind: "file" | "directory" | "link" | "other"
  readonly bytes?: number
}

type Visit<T> = (entry: Dirent, path: string, directory: EnteredDirectory) => Promise<readonly T[]>

export async function listEntries(
  root: ConfinedRoot,
  place: Place,
  limits: WalkLimits,
): Promise<Found<ListedEntry>> {
  return walk<ListedEntry>(root, place, limits, async (entry, path, directory) => {
    const kind = kindOf(entry)
    if (kind !== "file") return [{ path, kind }]
    // It may be gone by now.
    const stats = await lstat(directory.at(entry.name)).catch(() => undefined)
    return stats === undefined ? [] : [{ path, kind, bytes: stats.size }]
  })
}

/** A pattern without `/` is one of names in any directory. */
export async function findPaths(
  root: ConfinedRoot,
  place: Place,
  pattern: string,
  limits: WalkLimits,
): Promise<Found<string>> {
  const matches = below(place, pattern)
  return walk(root, place, limits, async (entry, path) =>
    kindOf(entry) === "file" && matches(path) ? [path] : [],
  )
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

export async function findText(
  root: ConfinedRoot,
  place: Place,
  query: TextQuery,
  limits: WalkLimits,
): Promise<Found<TextMatch>> {
  const matches = below(place, query.files)
  const fold = (text: string) => (query.ignoreCase ? text.toLowerCase() : text)
  const wanted = fold(query.text)
  return walk(root, place, limits, async (entry, path, directory) => {
    if (kindOf(entry) !== "file" || !matches(path)) return []
    const text = await textOf(directory, entry.name, path, query.maxBytes)
    if (text === undefined || !fold(text).includes(wanted)) return []
    return text
      .split("\n")
      .map((line, index) => ({ path, line: index + 1, text: line }))
      .filter(({ text: line }) => fold(line).includes(wanted))
      .map((match) => ({ ...match, text: match.text.trimEnd().slice(0, MAX_LINE) }))
  })
}

/** Files that are too large, not text, or gone in the meantime are passed over. */
async function textOf(
  directory: EnteredDirectory,
  name: string,
  path: string,
  maxBytes: number,
): Promise<string | undefined> {
  try {
    return decodeText(await readIn(directory, name, path, maxBytes), path)
  } catch (error) {
    if (isSuperstepError(error)) return undefined
    throw error
  }
}

async function walk<T>(
  root: ConfinedRoot,
  place: Place,
  limits: WalkLimits,
  visit: Visit<T>,
): Promise<Found<T>> {
  const results: T[] = []
  let left = limits.entries
  let truncated = false

  const go = async (directory: EnteredDirectory, depth: number): Promise<void> => {
    const entries = await entriesOf(directory, left).catch((error) => {
      // Only the directory that was asked for must be readable.
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
      if (inner !== undefined) await go(inner, depth + 1).finally(() => inner.close())
    }
  }

  const start = await root.enter(place.parts)
  await go(start, 1).finally(() => start.close())
  if (results.length > limits.results) truncated = true
  return { results: results.slice(0, limits.results), truncated }
}

/** By name, so that the same tree gives the same answer. One more than `most`, to tell that there are more. */
async function entriesOf(directory: EnteredDirectory, most: number): Promise<readonly Dirent[]> {
  const entries: Dirent[] = []
  try {
    for await (const entry of await opendir(directory.self)) {
      entries.push(entry)
      if (entries.length > most) break
    }
  } catch (error) {
    throw fileError(error, directory.path)
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function below(place: Place, pattern: string): (path: string) => boolean {
  const prefix = place.path === "" ? 0 : place.path.length + 1
  const matches = namesGlob(pattern)
  return (path) => matches(path.slice(prefix))
}

function kindOf(entry: Dirent): ListedEntry["kind"] {
  if (entry.isSymbolicLink()) return "link"
  if (entry.isDirectory()) return "directory"
  return entry.isFile() ? "file" : "other"
}
