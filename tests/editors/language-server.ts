/** Starts the YAML language server, which editors use, and speaks its protocol. */
import { type ChildProcess, spawn } from "node:child_process"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

export interface Position {
  readonly line: number
  readonly character: number
}

export interface EditorProblem {
  readonly message: string
  readonly range: { readonly start: Position; readonly end: Position }
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

export class YamlLanguageServer {
  readonly #process: ChildProcess
  readonly #replies = new Map<number, (message: Message) => void>()
  readonly #problems = new Map<string, (found: readonly EditorProblem[]) => void>()
  #schemas: unknown
  #received = Buffer.alloc(0)
  #sent = 0

  private constructor() {
    const server = createRequire(import.meta.url).resolve("yaml-language-server/bin/yaml-language-server")
    this.#process = spawn(process.execPath, [server, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] })
    this.#process.stdout?.on("data", (chunk: Buffer) => this.#receive(chunk))
  }

  /** `schemas` has the file patterns of each schema file. */
  static async start(folder: string, schemas: Readonly<Record<string, readonly string[]>>) {
    const server = new YamlLanguageServer()
    const entries = Object.entries(schemas).map(([file, patterns]) => [pathToFileURL(file).href, patterns])
    server.#schemas = Object.fromEntries(entries)
    const markdown = { documentationFormat: ["markdown", "plaintext"] }
    await server.#request("initialize", {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: {
        textDocument: { completion: { completionItem: markdown }, hover: { contentFormat: ["markdown"] } },
        workspace: { configuration: true },
      },
    })
    server.#notify("initialized", {})
    return server
  }

  /** Opens a document and waits for its problems. */
  async open(uri: string, text: string): Promise<readonly EditorProblem[]> {
    const found = new Promise<readonly EditorProblem[]>((resolve) => this.#problems.set(uri, resolve))
    this.#notify("textDocument/didOpen", { textDocument: { uri, languageId: "yaml", version: 1, text } })
    return await found
  }

  async complete(uri: string, position: Position) {
    const { items } = (await this.#request("textDocument/completion", {
      textDocument: { uri },
      position,
    })) as { readonly items: readonly { readonly label: string; readonly documentation?: unknown }[] }
    return items
  }

  async hover(uri: string, position: Position): Promise<string> {
    const found = await this.#request("textDocument/hover", { textDocument: { uri }, position })
    return (found as { readonly contents: { readonly value: string } } | null)?.contents.value ?? ""
  }

  async stop(): Promise<void> {
    await this.#request("shutdown", null)
    const ended = new Promise((resolve) => this.#process.once("exit", resolve))
    this.#notify("exit", null)
    await ended
  }

  async #request(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#sent
    const reply = new Promise<Message>((resolve) => this.#replies.set(id, resolve))
    this.#send({ id, method, params })
    const { result, error } = await reply
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }

  #notify(method: string, params: unknown): void {
    this.#send({ method, params })
  }

  #send(message: Message): void {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message })
    this.#process.stdin?.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    for (;;) {
      const start = this.#received.indexOf("\r\n\r\n")
      if (start < 0) return
      const length = Number(/Content-Length: (\d+)/i.exec(this.#received.toString("utf8", 0, start))?.[1])
      const end = start + 4 + length
      if (this.#received.length < end) return
      const body = this.#received.toString("utf8", start + 4, end)
      this.#received = this.#received.subarray(end)
      this.#handle(JSON.parse(body) as Message)
    }
  }

  #handle(message: Message): void {
    const { id, method, params } = message
    if (method === undefined) {
      if (id !== undefined) this.#replies.get(id)?.(message)
    } else if (method === "textDocument/publishDiagnostics") {
      const { uri, diagnostics } = params as { uri: string; diagnostics: readonly EditorProblem[] }
      this.#problems.get(uri)?.(diagnostics)
    } else if (id !== undefined) this.#send({ id, result: this.#answer(method, params) })
  }

  #answer(method: string, params: unknown): unknown {
    if (method !== "workspace/configuration") return null
    const settings: Record<string, unknown> = {
      yaml: {
        schemas: this.#schemas,
        validate: true,
        completion: true,
        hover: true,
        schemaStore: { enable: false },
        // The server opens documents in any order; the settings are the same for all.
        keyOrdering: false,
      },
    }
    const { items } = params as { readonly items: readonly { readonly section: string }[] }
    return items.map(({ section }) => settings[section] ?? {})
  }
}
