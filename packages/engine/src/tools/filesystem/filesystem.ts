/**
 * The filesystem toolset: tools for the files under one directory, which confined-root.ts enforces. Tools that write ask
 * a person unless `approval` allows them.
 */

import type { Dirent } from "node:fs"
import { lstat, opendir } from "node:fs/promises"
import { isSuperstepError } from "../../core/index.ts"
import { cutText } from "../../text/index.ts"
import type { Approval } from "../approval.ts"
import { namesGlob } from "../glob.ts"
import { objectInput, type Tool, type Toolset, tool } from "../tool.ts"
import {
  type ConfinedRoot,
  confinedRoot,
  type EnteredDirectory,
  fileError,
  type LocatedPath,
} from "./confined-root.ts"
import { decodeText, linesOf, readBytes, readIn } from "./file.ts"
import { type AfterEdit, writeTools } from "./write-tools.ts"

export interface FilesystemOptions {
  /** The directory; nothing outside of it is read or written. */
  readonly root: string
  /** No tools that write. */
  readonly readOnly?: boolean | undefined
  /** Globs of files and directories that are neither shown, read nor written: `*.env`, `docs/drafts`. Default: `.git`. */
  readonly deny?: readonly string[] | undefined
  /** The largest file that is read or written, in bytes. Default 2,000,000. */
  readonly maxFileBytes?: number | undefined
  /** Maximum characters that one call returns. Default 50,000. */
  readonly maxChars?: number | undefined
  /** Maximum entries or matches that one call returns. Default 200. */
  readonly maxResults?: number | undefined
  /** For the tools that write. Default "always": a person is asked. */
  readonly approval?: Approval | undefined
  /** Commands to run after a file was written, such as a formatter. They run without approval of their own. */
  readonly afterEdit?: readonly AfterEdit[] | undefined
}

/** Hooks and settings in `.git` run programs as soon as a user runs git. */
const DENY = [".git"]
const MAX_ENTRIES = 50_000
const MAX_DEPTH = 32

const NON_EMPTY = { type: "string", minLength: 1 }
const PATH = { type: "string", description: "Relative to the root." }

export function filesystem(options: FilesystemOptions): Toolset {
  const { deny = DENY, maxFileBytes = 2_000_000, maxChars = 50_000, maxResults = 200 } = options
  const root = confinedRoot(options.root, { deny })
  const readText = async (target: LocatedPath, shown: string) =>
    decodeText(await readBytes(root, target, maxFileBytes), shown)
  const tools = [
    ...readTools(root, readText, maxChars),
    ...searchTools(root, maxResults, maxFileBytes),
    ...(options.readOnly === true
      ? []
      : writeTools({
          root,
          readText,
          maxBytes: maxFileBytes,
          approval: options.approval ?? "always",
          afterEdit: options.afterEdit ?? [],
        })),
  ]
  return { name: "filesystem", tools: () => tools }
}

type ReadText = (target: LocatedPath, shown: string) => Promise<string>

function readTools(root: ConfinedRoot, readText: ReadText, maxChars: number): readonly Tool[] {
  const from_line = { type: "integer", minimum: 1, description: "The first line. Default 1." }
  const lines = { type: "integer", minimum: 1, description: "How many lines. Default: all that fit." }
  const read = async (path: string, chars: number, from = 1, count = Infinity) => {
    const target = await root.locate(path)
    return { path: target.path, ...linesOf(await readText(target, path), from, count, chars) }
  }
  return [
    tool({
      name: "read_file",
      description: "Reads a file as text, or some of its lines.",
      input: objectInput({ path: PATH, from_line, lines }, ["path"]),
      approval: "never",
      idempotent: true,
      run: (args: { path: string; from_line?: number; lines?: number }) =>
        read(args.path, maxChars, args.from_line, args.lines),
    }),
    tool({
      name: "read_multiple_files",
      description:
        "Reads several files as text. A file that cannot be read has an error in place of its text.",
      input: objectInput({ paths: { type: "array", minItems: 1, maxItems: 50, items: PATH } }, ["paths"]),
      approval: "never",
      idempotent: true,
      async run({ paths }: { paths: readonly string[] }) {
        // Shared evenly, so that one long file does not hide the others.
        const chars = Math.floor(maxChars / paths.length)
        const reading = paths.map((path) =>
          read(path, chars).catch((error) => {
            if (isSuperstepError(error)) return { path, error: error.message }
            throw error
          }),
        )
        return { files: await Promise.all(reading) }
      },
    }),
  ]
}

function searchTools(root: ConfinedRoot, maxResults: number, maxBytes: number): readonly Tool[] {
  const walkFrom = async (path: string, signal: AbortSignal, depth = MAX_DEPTH): Promise<Walk> => ({
    root,
    start: await root.locate(path),
    depth: Math.min(depth, MAX_DEPTH),
    entries: MAX_ENTRIES,
    results: maxResults,
    signal,
  })
  return [
    tool({
      name: "list_directory",
      description: "Lists what is in a directory.",
      input: objectInput({
        path: { ...PATH, description: "Relative to the root. Default: the root." },
        depth: { type: "integer", minimum: 1, description: "How many levels. Default 1." },
      }),
      approval: "never",
      idempotent: true,
      run: async ({ path = "", depth = 1 }: { path?: string; depth?: number }, { signal }) =>
        listEntries(await walkFrom(path, signal, depth)),
    }),
    tool({
      name: "directory_tree",
      description: "Shows a directory and everything in it as a tree. Directories end with a slash.",
      input: objectInput({
        path: { ...PATH, description: "Relative to the root. Default: the root." },
        depth: { type: "integer", minimum: 1, description: "How many levels. Default 4." },
      }),
      approval: "never",
      idempotent: true,
      run: async ({ path = "", depth = 4 }: { path?: string; depth?: number }, { signal }) =>
        treeOf(await walkFrom(path, signal, depth)),
    }),
    tool({
      name: "search_files",
      description: "Finds files by name. The pattern is a glob like *.ts or docs/**/*.md.",
      input: objectInput({ pattern: NON_EMPTY, path: PATH }, ["pattern"]),
      approval: "never",
      idempotent: true,
      run: async ({ pattern, path = "" }: { pattern: string; path?: string }, { signal }) =>
        findPaths(await walkFrom(path, signal), pattern),
    }),
    tool({
      name: "search_files_content",
      description: "Finds the lines of files that contain a literal string (not a regular expression).",
      input: objectInput(
        {
          text: NON_EMPTY,
          path: PATH,
          files: { type: "string", description: "Only in files that match this glob. Default *." },
          ignore_case: { type: "boolean" },
        },
        ["text"],
      ),
      approval: "never",
      idempotent: true,
      async run(args: { text: string; path?: string; files?: string; ignore_case?: boolean }, { signal }) {
        const { text, path = "", files = "*", ignore_case: ignoreCase = false } = args
        return findText(await walkFrom(path, signal), { text, files, ignoreCase, maxBytes })
      },
    }),
  ]
}

// Walks a confined root: lists entries, and finds names and text. Links are listed and never followed.

interface Walk {
  readonly root: ConfinedRoot
  /** The first directory. */
  readonly start: LocatedPath
  /** The maximum depth below the first directory. */
  readonly depth: number
  /** Entries to visit, over all directories. */
  readonly entries: number
  /** Results to return. */
  readonly results: number
  readonly signal: AbortSignal
}

interface Found<T> {
  readonly results: readonly T[]
  /** Whether a limit was reached: there may be more. */
  readonly truncated: boolean
}

interface ListedEntry {
  readonly path: string
  readonly kind: "file" | "directory" | "link" | "other"
  readonly bytes?: number
}

async function listEntries(walk: Walk): Promise<Found<ListedEntry>> {
  return visitEntries<ListedEntry>(walk, async (entry, path, directory) => {
    const kind = kindOf(entry)
    if (kind !== "file") return [{ path, kind }]
    // It may have been deleted meanwhile.
    const stats = await lstat(directory.at(entry.name)).catch(() => undefined)
    return stats === undefined ? [] : [{ path, kind, bytes: stats.size }]
  })
}

async function treeOf(walk: Walk): Promise<{ readonly tree: string; readonly truncated: boolean }> {
  const top = walk.start.parts.length
  const { results, truncated } = await visitEntries(walk, async (entry, path) => {
    const indent = "  ".repeat(path.split("/").length - top - 1)
    return [`${indent}${entry.name}${entry.isDirectory() ? "/" : ""}`]
  })
  return { tree: results.join("\n"), truncated }
}

/** A pattern without `/` matches names in any directory. */
async function findPaths(walk: Walk, pattern: string): Promise<Found<string>> {
  const matches = below(walk.start, pattern)
  return visitEntries(walk, async (entry, path) => (entry.isFile() && matches(path) ? [path] : []))
}

interface TextQuery {
  readonly text: string
  readonly ignoreCase: boolean
  readonly files: string
  readonly maxBytes: number
}

interface TextMatch {
  readonly path: string
  readonly line: number
  readonly text: string
}

const MAX_LINE = 300

async function findText(walk: Walk, query: TextQuery): Promise<Found<TextMatch>> {
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

/** A file that is too large, not text, or was deleted meanwhile has no matches. */
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
      // It may have been deleted or replaced by a link meanwhile: then it has no entries.
      const inner = await directory.enter(entry.name).catch(() => undefined)
      if (inner !== undefined) await visitAll(inner, depth + 1).finally(() => inner.close())
    }
  }

  const first = await root.enter(start.parts)
  await visitAll(first, 1).finally(() => first.close())
  if (results.length > limits.results) truncated = true
  return { results: results.slice(0, limits.results), truncated }
}

/** Sorted by name, so that the same tree gives the same answer. Up to `max` + 1, to show that there are more. */
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
