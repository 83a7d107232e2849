/**
 * A language server as a child process: JSON-RPC over its standard input and output.
 *
 * G1 It starts with the first request, gets an environment without our keys, and ends with `close` or with our process.
 * G2 A server that has exited is started again by the next request; requests in progress fail.
 * G3 Nothing that it sends is trusted: a message that is too large or not JSON ends it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { pathToFileURL } from "node:url"
import type { Json } from "../../core/index.ts"
import { isRecord, terminalError } from "../../core/internal.ts"
import { endGroup, plainEnvironment } from "../shell/run-process.ts"
import { untilAborted } from "../time-limit.ts"

export interface ServerOptions {
  readonly command: string
  readonly args?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
}

type JsonObject = { readonly [name: string]: Json | undefined }

interface Waiting {
  resolve(result: Json): void
  reject(error: unknown): void
}

const MAX_MESSAGE = 20_000_000
const SEPARATOR = "\r\n\r\n"

export class LanguageServer {
  readonly #name: string
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  readonly #notified: (method: string, params: Json) => void
  #received = Buffer.alloc(0)
  #lastId = 0
  #stderr = ""
  /** Why it no longer answers. */
  #ended: Error | undefined
  capabilities: JsonObject = {}

  private constructor(
    options: ServerOptions,
    root: string,
    notified: (method: string, params: Json) => void,
  ) {
    const { command, args = [], env } = options
    this.#name = command
    this.#notified = notified
    this.#child = spawn(command, args, {
      cwd: root,
      env: { ...plainEnvironment(), ...env },
      stdio: "pipe",
      windowsHide: true,
      // A group of its own: the command may be a script that starts the server.
      detached: true,
    })
    this.#child.once("error", (error) => this.#end(notStarted(command, error)))
    this.#child.once("exit", (code) => {
      const said = this.#stderr === "" ? "" : ` ${this.#stderr.trim()}`
      this.#end(failure(`The language server "${command}" exited with code ${code}.${said}`))
    })
    this.#child.stdin?.on("error", () => undefined)
    this.#child.stdout?.on("data", (chunk: Buffer) => this.#receive(chunk))
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = `${this.#stderr}${chunk.toString("utf8")}`.slice(-1_000)
    })
    process.once("exit", this.#kill)
  }

  /** Starts a server and shakes hands with it. */
  static async start(
    options: ServerOptions,
    root: string,
    notified: (method: string, params: Json) => void,
    signal: AbortSignal,
  ): Promise<LanguageServer> {
    const server = new LanguageServer(options, root, notified)
    try {
      const uri = pathToFileURL(root).href
      const capabilities = {
        general: { positionEncodings: ["utf-16"] },
        textDocument: {
          hover: { contentFormat: ["markdown", "plaintext"] },
          documentSymbol: { hierarchicalDocumentSymbolSupport: true },
          publishDiagnostics: {},
          diagnostic: {},
        },
        workspace: { workspaceFolders: true, configuration: true },
      }
      const folders = [{ uri, name: "root" }]
      const params = { processId: process.pid, rootUri: uri, workspaceFolders: folders, capabilities }
      const answer = await server.request("initialize", params, signal)
      if (isRecord(answer) && isRecord(answer.capabilities)) server.capabilities = answer.capabilities
      server.notify("initialized", {})
      return server
    } catch (error) {
      server.close()
      throw error
    }
  }

  get isRunning(): boolean {
    return this.#ended === undefined
  }

  async request(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    signal.throwIfAborted()
    if (this.#ended !== undefined) throw this.#ended
    const id = ++this.#lastId
    const answer = new Promise<Json>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    this.#send({ jsonrpc: "2.0", id, method, params })
    try {
      return await untilAborted(answer, signal)
    } catch (error) {
      if (signal.aborted && this.#waiting.has(id)) this.notify("$/cancelRequest", { id })
      throw error
    } finally {
      this.#waiting.delete(id)
    }
  }

  notify(method: string, params: Json): void {
    this.#send({ jsonrpc: "2.0", method, params })
  }

  close(): void {
    this.#end(failure(`The language server "${this.#name}" was closed.`))
  }

  readonly #kill = (): void => endGroup(this.#child, "SIGKILL")

  #end(reason: Error): void {
    if (this.#ended !== undefined) return
    this.#ended = reason
    process.removeListener("exit", this.#kill)
    this.#kill()
    for (const { reject } of this.#waiting.values()) reject(reason)
    this.#waiting.clear()
  }

  #send(message: JsonObject): void {
    const body = JSON.stringify(message)
    this.#child.stdin?.write(`Content-Length: ${Buffer.byteLength(body)}${SEPARATOR}${body}`)
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    for (;;) {
      const head = this.#received.indexOf(SEPARATOR)
      if (head < 0 && this.#received.length < 10_000) return
      const [, size] =
        /Content-Length: *(\d+)/i.exec(this.#received.toString("latin1", 0, Math.max(head, 0))) ?? []
      const length = Number(size ?? Number.NaN)
      if (!(length <= MAX_MESSAGE)) return this.#end(broken(this.#name))
      const start = head + SEPARATOR.length
      if (this.#received.length < start + length) return
      const body = this.#received.toString("utf8", start, start + length)
      this.#received = this.#received.subarray(start + length)
      let message: Json
      try {
        message = JSON.parse(body) as Json
      } catch {
        return this.#end(broken(this.#name))
      }
      if (isRecord(message)) this.#handle(message)
    }
  }

  #handle({ id, method, params, result, error }: JsonObject): void {
    if (typeof method === "string") {
      // Servers ask for settings and for progress bars; there are none.
      if (id === undefined) this.#notified(method, params ?? null)
      else this.#send({ jsonrpc: "2.0", id, result: answerTo(method, params) })
      return
    }
    const waiting = typeof id === "number" ? this.#waiting.get(id) : undefined
    if (waiting === undefined) return
    if (!isRecord(error)) return waiting.resolve(result ?? null)
    waiting.reject(failure(`The language server "${this.#name}" answered: ${String(error.message)}`))
  }
}

function answerTo(method: string, params: Json | undefined): Json {
  if (method !== "workspace/configuration" || !isRecord(params) || !Array.isArray(params.items)) return null
  return params.items.map(() => null)
}

function failure(message: string) {
  return terminalError("LSP_FAILED", message)
}

function broken(name: string) {
  return failure(`The language server "${name}" sent something that is not the language server protocol.`)
}

function notStarted(command: string, cause: NodeJS.ErrnoException) {
  const reason = cause.code === "ENOENT" ? "there is no such command; install it" : cause.message
  return failure(`The language server "${command}" could not be started: ${reason}.`)
}
