/**
 * The filesystem toolset: files under one directory. confined-root.ts keeps it there; this is what the model sees. Tools that
 * write ask a person unless `approval` says otherwise.
 */
import { terminalError } from "../../core/internal.ts"
import type { Approval } from "../approval.ts"
import { objectInput, type Tool, type Toolset, tool } from "../tool.ts"
import { type ConfinedRoot, confinedRoot, type LocatedPath } from "./confined-root.ts"
import { decodeText, type Edit, editText, linesOf, readBytes, writeBytes } from "./file.ts"
import { findPaths, findText, listEntries, type Walk } from "./search.ts"

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
}

/** Hooks and settings in there run programs as soon as a user runs git. */
const DENY = [".git"]
const MAX_ENTRIES = 50_000
const MAX_DEPTH = 32

const TEXT = { type: "string" }
const NON_EMPTY = { type: "string", minLength: 1 }
const PATH = { type: "string", description: "Relative to the root." }

export function filesystem(options: FilesystemOptions): Toolset {
  const { deny = DENY, maxFileBytes = 2_000_000, maxChars = 50_000, maxResults = 200 } = options
  const root = confinedRoot(options.root, { deny })
  const readText = async (target: LocatedPath, shown: string) =>
    decodeText(await readBytes(root, target, maxFileBytes), shown)
  const tools = [
    readTool(root, readText, maxChars),
    ...searchTools(root, maxResults, maxFileBytes),
    ...(options.readOnly === true
      ? []
      : writeTools(root, readText, maxFileBytes, options.approval ?? "always")),
  ]
  return { name: "filesystem", tools: () => tools }
}

type ReadText = (target: LocatedPath, shown: string) => Promise<string>

function readTool(root: ConfinedRoot, readText: ReadText, maxChars: number): Tool {
  const from_line = { type: "integer", minimum: 1, description: "The first line. Default 1." }
  const lines = { type: "integer", minimum: 1, description: "How many lines. Default: all that fit." }
  return tool({
    name: "read_file",
    description: "Reads a file as text, or some of its lines.",
    input: objectInput({ path: PATH, from_line, lines }, ["path"]),
    approval: "never",
    idempotent: true,
    async run(args: { path: string; from_line?: number; lines?: number }) {
      const target = await root.locate(args.path)
      const text = await readText(target, args.path)
      return { path: target.path, ...linesOf(text, args.from_line ?? 1, args.lines ?? Infinity, maxChars) }
    },
  })
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
      description: "Finds the lines of files that contain a string (as it is, not a regular expression).",
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

function writeTools(
  root: ConfinedRoot,
  readText: ReadText,
  maxBytes: number,
  approval: Approval,
): readonly Tool[] {
  const inTurn = turns()
  const write = async (target: LocatedPath, text: string) => {
    const bytes = Buffer.from(text, "utf8")
    if (bytes.length > maxBytes) {
      const problem = `"${target.path}" would have ${bytes.length} bytes; the limit is ${maxBytes}.`
      throw terminalError("FILE_TOO_LARGE", problem)
    }
    return { path: target.path, result: await writeBytes(root, target, bytes), bytes: bytes.length }
  }
  const replace_all = { type: "boolean", description: "Replaces every occurrence." }
  const edit = objectInput({ old_text: TEXT, new_text: TEXT, replace_all }, ["old_text", "new_text"])
  return [
    tool({
      name: "write_file",
      description: "Writes a whole file. Replaces an existing one, and makes the directories on the way.",
      input: objectInput({ path: PATH, content: TEXT }, ["path", "content"]),
      approval,
      idempotent: true,
      run: async ({ path, content }: { path: string; content: string }) => {
        const target = await root.locate(path)
        return inTurn(target.path, () => write(target, content))
      },
    }),
    tool({
      name: "edit_file",
      description: "Replaces pieces of text in a file. Every old_text must occur in the file exactly once.",
      input: objectInput({ path: PATH, edits: { type: "array", minItems: 1, items: edit.jsonSchema } }, [
        "path",
        "edits",
      ]),
      approval,
      run: async ({ path, edits }: { path: string; edits: readonly Edit[] }) => {
        const target = await root.locate(path)
        return inTurn(target.path, async () => {
          return write(target, editText(await readText(target, path), edits, path))
        })
      },
    }),
  ]
}

/** One after the other for each file: two edits that a model asks for at once must both be in it. */
function turns(): <T>(key: string, act: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return (key, act) => {
    const done = (last.get(key) ?? Promise.resolve()).then(act)
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (last.get(key) === settled) last.delete(key)
      })
    last.set(key, settled)
    return done
  }
}
