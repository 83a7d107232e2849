/** The lsp toolset: what a language server knows about the code in a folder. It reads; it changes nothing. */

import { extname, join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { Json } from "../../core/index.ts"
import { isRecord, terminalError } from "../../core/internal.ts"
import { isWithin } from "../../files/index.ts"
import { confinedRoot } from "../filesystem/confined-root.ts"
import { decodeText, readBytes } from "../filesystem/file.ts"
import { pause } from "../time-limit.ts"
import { objectInput, type Tool, type ToolCallContext, type Toolset, tool } from "../tool.ts"
import { LanguageServer, type ServerOptions } from "./language-server.ts"

export interface LspOptions extends ServerOptions {
  /** The folder of the project; nothing outside of it is sent to the server. */
  readonly root: string
  /** Endings of the files that the server knows, such as `.go`. Default: all. */
  readonly fileTypes?: readonly string[] | undefined
}

/** The names of its tools. */
export const LSP_TOOLS = [
  "lsp_hover",
  "lsp_definition",
  "lsp_implementations",
  "lsp_references",
  "lsp_document_symbols",
  "lsp_workspace_symbols",
  "lsp_diagnostics",
]

const MAX_FILE = 2_000_000
const MAX_RESULTS = 200
const TIMEOUT = 60_000
/** Milliseconds to wait for diagnostics that a server sends by itself. */
const DIAGNOSTICS_WAIT = 5_000

const PATH = { type: "string", minLength: 1, description: "The file, relative to the root." }
const LINE = { type: "integer", minimum: 1, description: "From 1." }
const COLUMN = { type: "integer", minimum: 1, description: "From 1." }

interface At {
  readonly path: string
  readonly line: number
  readonly column: number
}

export function lsp(options: LspOptions): Toolset {
  const project = new Project(options)
  const at = (
    name: string,
    description: string,
    run: (args: At, call: ToolCallContext) => Promise<unknown>,
  ) =>
    reading(
      name,
      description,
      objectInput({ path: PATH, line: LINE, column: COLUMN }, ["path", "line", "column"]),
      run,
    )
  const located = (name: string, method: string, description: string, more: Json = {}) =>
    at(name, description, async (args, call) => {
      const found = await project.ask(method, args, call, more)
      return project.locations(found)
    })
  const tools: readonly Tool[] = [
    at(
      "lsp_hover",
      "Describes what is at a position of a file: its type and documentation.",
      async (args, call) => {
        const found = await project.ask("textDocument/hover", args, call)
        return isRecord(found) ? hoverText(found.contents) : "Nothing is known about this position."
      },
    ),
    located("lsp_definition", "textDocument/definition", "Finds where the name at a position is defined."),
    located(
      "lsp_implementations",
      "textDocument/implementation",
      "Finds what implements the name at a position.",
    ),
    located("lsp_references", "textDocument/references", "Finds every use of the name at a position.", {
      context: { includeDeclaration: true },
    }),
    reading(
      "lsp_document_symbols",
      "Lists the functions, types and variables of a file.",
      objectInput({ path: PATH }, ["path"]),
      async ({ path }: { path: string }, call) => {
        const { server, uri } = await project.open(path, call)
        const found = await server.request(
          "textDocument/documentSymbol",
          { textDocument: { uri } },
          call.signal,
        )
        return limited(symbolsIn(found))
      },
    ),
    reading(
      "lsp_workspace_symbols",
      "Finds functions, types and variables of the project by name.",
      objectInput({ query: { type: "string", minLength: 1 } }, ["query"]),
      async ({ query }: { query: string }, call) => {
        const server = await project.server(call)
        const found = await server.request("workspace/symbol", { query }, call.signal)
        const symbols = listOf(found).filter(isRecord)
        return limited(symbols.map((one) => ({ name: String(one.name), ...project.place(one.location) })))
      },
    ),
    reading(
      "lsp_diagnostics",
      "Lists the errors and warnings of a file.",
      objectInput({ path: PATH }, ["path"]),
      ({ path }: { path: string }, call) => project.diagnostics(path, call),
    ),
  ]
  return {
    name: "lsp",
    instructions:
      "The lsp tools know the code of the project as its compiler does: use them to find definitions and uses, and check a file with lsp_diagnostics after you changed it.",
    tools: () => tools,
    close: () => project.close(),
  }
}

function reading<Args>(
  name: string,
  description: string,
  input: ReturnType<typeof objectInput>,
  run: (args: Args, call: ToolCallContext) => Promise<unknown>,
): Tool {
  return tool({ name, description, input, approval: "never", idempotent: true, timeout: TIMEOUT, run })
}

interface OpenFile {
  readonly version: number
  readonly text: string
}

/** The files of a folder and the server that knows them. */
class Project {
  readonly #options: LspOptions
  readonly #root
  readonly #files = new Map<string, OpenFile>()
  readonly #diagnostics = new Map<string, Json>()
  readonly #onDiagnostics = new Set<(uri: string) => void>()
  #starting: Promise<LanguageServer> | undefined
  #folder = ""

  constructor(options: LspOptions) {
    this.#options = options
    this.#root = confinedRoot(options.root, { deny: [] })
  }

  /** The running server. One that has exited is started again. */
  async server(call: ToolCallContext): Promise<LanguageServer> {
    for (;;) {
      const known = this.#starting
      if (known === undefined) return await this.#start(call.signal)
      const server = await known.catch(() => undefined)
      if (server?.isRunning) return server
      if (this.#starting === known) this.#starting = undefined
    }
  }

  #start(signal: AbortSignal): Promise<LanguageServer> {
    const notified = (method: string, params: Json) => {
      if (method !== "textDocument/publishDiagnostics" || !isRecord(params)) return
      this.#diagnostics.set(String(params.uri), params.diagnostics ?? [])
      for (const listener of this.#onDiagnostics) listener(String(params.uri))
    }
    this.#files.clear()
    this.#diagnostics.clear()
    this.#starting = this.#root.directory().then((folder) => {
      this.#folder = folder
      return LanguageServer.start(this.#options, folder, notified, signal)
    })
    return this.#starting
  }

  /** Sends the file to the server as it is now. */
  async open(path: string, call: ToolCallContext): Promise<{ server: LanguageServer; uri: string }> {
    const { fileTypes } = this.#options
    if (fileTypes !== undefined && !fileTypes.includes(extname(path))) {
      throw terminalError(
        "LSP_FILE_TYPE",
        `The language server knows files that end with ${fileTypes.join(", ")}.`,
      )
    }
    const target = await this.#root.locate(path)
    const text = decodeText(await readBytes(this.#root, target, MAX_FILE), path)
    const server = await this.server(call)
    const uri = pathToFileURL(join(this.#folder, ...target.parts)).href
    const known = this.#files.get(uri)
    if (known?.text === text) return { server, uri }
    const version = (known?.version ?? 0) + 1
    this.#files.set(uri, { version, text })
    this.#diagnostics.delete(uri)
    if (known === undefined) {
      const languageId = extname(path).slice(1) || "plaintext"
      server.notify("textDocument/didOpen", { textDocument: { uri, languageId, version, text } })
    } else {
      server.notify("textDocument/didChange", { textDocument: { uri, version }, contentChanges: [{ text }] })
    }
    return { server, uri }
  }

  async ask(
    method: string,
    { path, line, column }: At,
    call: ToolCallContext,
    more: Json = {},
  ): Promise<Json> {
    const { server, uri } = await this.open(path, call)
    const position = { line: line - 1, character: column - 1 }
    const params = { textDocument: { uri }, position, ...(isRecord(more) ? more : {}) } as Json
    return await server.request(method, params, call.signal)
  }

  async diagnostics(path: string, call: ToolCallContext): Promise<Json> {
    const { server, uri } = await this.open(path, call)
    if (server.capabilities.diagnosticProvider !== undefined) {
      const found = await server.request("textDocument/diagnostic", { textDocument: { uri } }, call.signal)
      return limited(listOf(isRecord(found) ? found.items : null).map(problemOf))
    }
    if (!this.#diagnostics.has(uri)) await this.#published(uri, call)
    return limited(listOf(this.#diagnostics.get(uri) ?? null).map(problemOf))
  }

  /** Waits until the server has sent diagnostics of a file, or for some seconds. */
  async #published(uri: string, { ctx, signal }: ToolCallContext): Promise<void> {
    let listener = (_: string) => {}
    const sent = new Promise<void>((resolve) => {
      listener = (of) => {
        if (of === uri) resolve()
      }
      this.#onDiagnostics.add(listener)
    })
    const waited = new AbortController()
    try {
      await Promise.race([sent, pause(ctx.clock, DIAGNOSTICS_WAIT, AbortSignal.any([signal, waited.signal]))])
    } finally {
      this.#onDiagnostics.delete(listener)
      waited.abort()
    }
  }

  locations(found: Json): Json {
    const list = isRecord(found) ? [found] : listOf(found)
    return limited(list.map((one) => this.place(one)))
  }

  /** A location, or the target of a link to one. A file outside of the root keeps its address. */
  place(location: Json | undefined): { path: string; line: number; column: number } {
    const { uri, range, targetUri, targetSelectionRange } = isRecord(location) ? location : {}
    const start = startOf(targetSelectionRange ?? range)
    return { path: this.#shown(String(targetUri ?? uri)), ...start }
  }

  #shown(uri: string): string {
    if (!uri.startsWith("file:")) return uri
    const path = fileURLToPath(uri)
    return isWithin(this.#folder, path) ? relative(this.#folder, path).replaceAll("\\", "/") : uri
  }

  async close(): Promise<void> {
    const server = await this.#starting?.catch(() => undefined)
    server?.close()
  }
}

function startOf(range: Json | undefined): { line: number; column: number } {
  const start = isRecord(range) && isRecord(range.start) ? range.start : {}
  return { line: Number(start.line ?? 0) + 1, column: Number(start.character ?? 0) + 1 }
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function limited(results: readonly Json[]): Json {
  return { results: results.slice(0, MAX_RESULTS), truncated: results.length > MAX_RESULTS }
}

/** Symbols with those inside of them, one per line of the list. */
function symbolsIn(found: Json, within = ""): Json[] {
  return listOf(found)
    .filter(isRecord)
    .flatMap((symbol) => {
      const name = within === "" ? String(symbol.name) : `${within}.${String(symbol.name)}`
      const { range } = isRecord(symbol.location) ? symbol.location : symbol
      return [
        { name, ...startOf(symbol.selectionRange ?? range) },
        ...symbolsIn(symbol.children ?? null, name),
      ]
    })
}

const SEVERITIES = ["error", "warning", "information", "hint"]

function problemOf(one: Json): Json {
  const { severity, message, range } = isRecord(one) ? one : {}
  return {
    severity: SEVERITIES[Number(severity ?? 1) - 1] ?? "error",
    message: String(message),
    ...startOf(range),
  }
}

/** Markdown, plain text, or a list of either. */
function hoverText(contents: Json | undefined): string {
  if (typeof contents === "string") return contents
  if (Array.isArray(contents)) return contents.map(hoverText).join("\n\n")
  return isRecord(contents) && typeof contents.value === "string" ? contents.value : ""
}
