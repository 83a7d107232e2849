/**
 * The filesystem toolset: files under one directory. What keeps it there is in filesystem-root.ts; here is what
 * the model gets to see. Tools that write ask a person unless `approval` says otherwise.
 */
import { SuperstepError } from "../core/index.ts"
import { argsSchema } from "./args-schema.ts"
import { tool } from "./define-tool.ts"
import { readBytes, writeBytes } from "./filesystem-file.ts"
import { type ConfinedRoot, confinedRoot } from "./filesystem-root.ts"
import { findPaths, findText, listEntries, type WalkLimits } from "./filesystem-search.ts"
import { decodeText, type Edit, editText, linesOf } from "./filesystem-text.ts"
import type { Approval, Tool, Toolset } from "./tool.ts"

export interface FilesystemOptions {
  /** The directory; nothing outside of it is read or written. */
  readonly root: string
  /** No tools that write. */
  readonly readOnly?: boolean | undefined
  /** Globs of files and directories that are neither shown, read nor written: `*.env`, `docs/drafts`. Default: `.git`. */
  readonly deny?: readonly string[] | undefined
  /** The largest file that is read or written, in bytes. Default 2,000,000. */
  readonly maxFileBytes?: number | undefined
  /** The most characters that one call gives back. Default 50,000. */
  readonly maxChars?: number | undefined
  /** The most entries or matches that one call gives back. Default 200. */
  readonly maxResults?: number | undefined
  /** For the tools that write. Default "always": a person is asked. */
  readonly approval?: Approval | undefined
}

interface Limits {
  readonly maxFileBytes: number
  readonly maxChars: number
  readonly maxResults: number
}

/** Hooks and settings in there run programs as soon as somebody uses git. */
const DENY = [".git"]
const MAX_ENTRIES = 50_000
const MAX_DEPTH = 32

const path = { type: "string", description: "Relative to the root." }

export function filesystem(options: FilesystemOptions): Toolset {
  const root = confinedRoot(options.root, { deny: options.deny ?? DENY })
  const limits: Limits = {
    maxFileBytes: options.maxFileBytes ?? 2_000_000,
    maxChars: options.maxChars ?? 50_000,
    maxResults: options.maxResults ?? 200,
  }
  const tools = [
    ...readingTools(root, limits),
    ...(options.readOnly === true ? [] : writingTools(root, limits, options.approval ?? "always")),
  ]
  return { name: "filesystem", tools: () => tools }
}

function readingTools(root: ConfinedRoot, limits: Limits): readonly Tool[] {
  const walk = (signal: AbortSignal, depth = MAX_DEPTH): WalkLimits => ({
    depth: Math.min(depth, MAX_DEPTH),
    entries: MAX_ENTRIES,
    results: limits.maxResults,
    signal,
  })
  return [
    tool({
      name: "read_file",
      description: "Reads a text file, or some of its lines.",
      input: {
        jsonSchema: argsSchema(
          {
            path,
            from_line: { type: "integer", minimum: 1, description: "The first line. Default 1." },
            lines: { type: "integer", minimum: 1, description: "How many lines. Default: all that fit." },
          },
          ["path"],
        ),
      },
      approval: "never",
      idempotent: true,
      async run(args: { path: string; from_line?: number; lines?: number }) {
        const place = await root.locate(args.path)
        const text = decodeText(await readBytes(root, place, limits.maxFileBytes), args.path)
        return {
          path: place.path,
          ...linesOf(text, args.from_line ?? 1, args.lines ?? Infinity, limits.maxChars),
        }
      },
    }),
    tool({
      name: "list_directory",
      description: "Lists what is in a directory.",
      input: {
        jsonSchema: argsSchema(
          {
            path: { ...path, description: "Relative to the root. Default: the root." },
            depth: { type: "integer", minimum: 1, description: "How many levels. Default 1." },
          },
          [],
        ),
      },
      approval: "never",
      idempotent: true,
      run: async (args: { path?: string; depth?: number }, call) =>
        listEntries(root, await root.locate(args.path ?? ""), walk(call.signal, args.depth ?? 1)),
    }),
    tool({
      name: "search_files",
      description: "Finds files by name. The pattern is a glob like *.ts or docs/**/*.md.",
      input: {
        jsonSchema: argsSchema({ pattern: { type: "string", minLength: 1 }, path }, ["pattern"]),
      },
      approval: "never",
      idempotent: true,
      run: async (args: { pattern: string; path?: string }, call) =>
        findPaths(root, await root.locate(args.path ?? ""), args.pattern, walk(call.signal)),
    }),
    tool({
      name: "search_files_content",
      description: "Finds the lines of files that contain a text (as it is, not a regular expression).",
      input: {
        jsonSchema: argsSchema(
          {
            text: { type: "string", minLength: 1 },
            path,
            files: { type: "string", description: "Only in files that fit this glob. Default *." },
            ignore_case: { type: "boolean" },
          },
          ["text"],
        ),
      },
      approval: "never",
      idempotent: true,
      run: async (args: { text: string; path?: string; files?: string; ignore_case?: boolean }, call) =>
        findText(
          root,
          await root.locate(args.path ?? ""),
          {
            text: args.text,
            files: args.files ?? "*",
            ignoreCase: args.ignore_case === true,
            maxBytes: limits.maxFileBytes,
          },
          walk(call.signal),
        ),
    }),
  ]
}

function writingTools(root: ConfinedRoot, limits: Limits, approval: Approval): readonly Tool[] {
  const inTurn = turns()
  const write = async (place: Parameters<typeof writeBytes>[1], text: string) => {
    const bytes = Buffer.from(text, "utf8")
    if (bytes.length > limits.maxFileBytes) {
      throw new SuperstepError(
        "FILE_TOO_LARGE",
        `"${place.path}" would have ${bytes.length} bytes; the limit is ${limits.maxFileBytes}.`,
        { retryable: false },
      )
    }
    return { path: place.path, result: await writeBytes(root, place, bytes), bytes: bytes.length }
  }
  return [
    tool({
      name: "write_file",
      description: "Writes a whole file. Replaces it if it is there, and makes the directories on the way.",
      input: { jsonSchema: argsSchema({ path, content: { type: "string" } }, ["path", "content"]) },
      approval,
      idempotent: true,
      run: async (args: { path: string; content: string }) => {
        const place = await root.locate(args.path)
        return inTurn(place.path, () => write(place, args.content))
      },
    }),
    tool({
      name: "edit_file",
      description: "Replaces pieces of a text file. Every old_text has to be in the file exactly once.",
      input: {
        jsonSchema: argsSchema(
          {
            path,
            edits: {
              type: "array",
              minItems: 1,
              items: argsSchema(
                {
                  old_text: { type: "string" },
                  new_text: { type: "string" },
                  replace_all: { type: "boolean", description: "Replaces every place." },
                },
                ["old_text", "new_text"],
              ),
            },
          },
          ["path", "edits"],
        ),
      },
      approval,
      run: async (args: { path: string; edits: readonly Edit[] }) => {
        const place = await root.locate(args.path)
        return inTurn(place.path, async () => {
          const text = decodeText(await readBytes(root, place, limits.maxFileBytes), args.path)
          return write(place, editText(text, args.edits, args.path))
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
