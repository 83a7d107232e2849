/**
 * One connection to an MCP server, from the handshake to its end. `SharedConnection` replaces a lost one.
 *
 * K1 A pending call fails with MCP_DISCONNECTED as soon as the server disconnects.
 * K2 A call whose signal is aborted is cancelled at the server, and rejects with the signal's reason.
 * K3 An error names the server and has its stderr, but never a header or a secret variable.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { SSEClientTransport, SseError } from "@modelcontextprotocol/sdk/client/sse.js"
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { AnySchema, SchemaOutput } from "@modelcontextprotocol/sdk/server/zod-compat.js"
import {
  type JSONRPCMessage,
  type Progress,
  ProgressNotificationSchema,
  type ServerCapabilities,
} from "@modelcontextprotocol/sdk/types.js"
import type { SuperstepError } from "@superstep/engine"
import { cutText } from "@superstep/engine/text"
import { type Masking, namedPrivate, type Resolve } from "@superstep/engine/tools"
import { VERSION } from "../version.ts"
import { disconnected, explain, isLost, issueIn, notSent } from "./connection-errors.ts"
import { guardedFetch, tooLarge } from "./guarded-fetch.ts"
import { isProgram, type McpProgram, type McpServerAddress, secretsOf, serverName } from "./server-address.ts"

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export interface ConnectionOptions {
  readonly maxMessage: number
  readonly resolve?: Resolve | undefined
}

/** Disables the timeouts of the SDK: ours use our clock. */
const NO_LIMIT = 2 ** 31 - 1
const MAX_STDERR = 2_000

export class Connection {
  readonly server: string
  readonly hidden: Masking
  readonly #client: Client
  readonly #transport: McpTransport
  readonly #maxMessage: number
  readonly #underWay = new Set<AbortController>()
  readonly #progress = new Map<string, (progress: Progress) => void>()
  #calls = 0
  #stderr = ""
  #badLine: string | undefined
  #gone: Error | undefined
  #refused: SuperstepError | undefined
  #onGone: ((error: Error) => void) | undefined
  #onToolsChanged: (() => void) | undefined

  constructor(address: McpServerAddress, { maxMessage, resolve }: ConnectionOptions) {
    this.server = serverName(address)
    this.hidden = secretsOf(address)
    this.#maxMessage = maxMessage
    this.#transport = makeTransport(address, {
      maxMessage,
      resolve,
      onRefused: (error) => {
        this.#refused = error
      },
    })
    this.#client = new Client(
      { name: "superstep", version: VERSION },
      // The SDK itself would fetch the first page of the list only.
      {
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#onToolsChanged?.() },
        },
      },
    )
    this.#transport.onmessage = (message) => this.#onMessage(message)
    this.#client.onclose = () => this.#end(disconnected(this.#context()))
    this.#client.onerror = (error) => this.#onError(error)
    if (this.#transport instanceof StdioClientTransport) {
      this.#transport.stderr?.on("data", (chunk) => {
        this.#stderr = (this.#stderr + String(chunk)).slice(-2 * MAX_STDERR)
      })
    }
  }

  /** Completes the handshake. If it fails, the connection is closed. */
  async open(): Promise<void> {
    try {
      await this.#client.connect(this.#transport, { timeout: NO_LIMIT })
    } catch (error) {
      const reason = this.#refused ?? explain(error, this.#context())
      await this.close().catch(() => undefined)
      throw reason
    }
  }

  get capabilities(): ServerCapabilities {
    return this.#client.getServerCapabilities() ?? {}
  }

  get instructions(): string | undefined {
    return this.#client.getInstructions()
  }

  #context() {
    const { server, hidden } = this
    const stderr = hidden.ending(this.#stderr).trim()
    return { server, hidden, stderr: hidden.ending(stderr.slice(-MAX_STDERR)) }
  }

  /** Added to timeouts: why the server may not have answered. */
  get complaint(): string {
    return this.#badLine === undefined
      ? ""
      : ` It wrote lines that are not MCP messages. The last problem: ${this.#badLine}`
  }

  onGone(callback: (error: Error) => void): void {
    if (this.#gone === undefined) this.#onGone = callback
    else callback(this.#gone)
  }

  onToolsChanged(callback: () => void): void {
    this.#onToolsChanged = callback
  }

  async request<S extends AnySchema>(
    { method, params = {} }: { readonly method: string; readonly params?: Record<string, unknown> },
    schema: S,
    { signal, onProgress }: RequestOptions = {},
  ): Promise<SchemaOutput<S>> {
    if (this.#gone !== undefined) throw notSent(this.#context())
    signal?.throwIfAborted()
    // Its own controller: the SDK never removes its listener from a signal.
    const call = new AbortController()
    const onAbort = () => call.abort(signal?.reason)
    signal?.addEventListener("abort", onAbort, { once: true })
    this.#underWay.add(call)
    const progressToken = `call-${++this.#calls}`
    if (onProgress !== undefined) this.#progress.set(progressToken, onProgress)
    const meta = onProgress === undefined ? {} : { _meta: { ...(params._meta as object), progressToken } }
    try {
      const options = { signal: call.signal, timeout: NO_LIMIT }
      return await this.#client.request({ method, params: { ...params, ...meta } }, schema, options)
    } catch (error) {
      signal?.throwIfAborted()
      if (this.#refused !== undefined) throw this.#refused
      if (this.#gone !== undefined) throw this.#gone
      const reason = explain(error, this.#context())
      // Other calls may have reached the server: they fail with another error.
      if (isLost(reason)) this.#end(disconnected(this.#context()))
      throw reason
    } finally {
      this.#underWay.delete(call)
      this.#progress.delete(progressToken)
      signal?.removeEventListener("abort", onAbort)
    }
  }

  /** In the order of arrival: the SDK would handle an answer before the progress in front of it, and drop that. */
  #onMessage(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/progress") return
    const { success, data } = ProgressNotificationSchema.safeParse(message)
    if (!success || typeof data.params.progressToken !== "string") return
    this.#progress.get(data.params.progressToken)?.(data.params)
  }

  #onError(error: Error): void {
    if (/exceeded maximum size/.test(error.message) && this.#transport instanceof StdioClientTransport) {
      // The transport closes itself, but slowly.
      this.#end(tooLarge(this.server, this.#maxMessage))
    } else if (error instanceof SseError) {
      this.#end(disconnected(this.#context()))
    } else if (error instanceof SyntaxError || issueIn(error) !== undefined) {
      this.#badLine = cutText(this.hidden.text(issueIn(error) ?? error.message), 200)
    }
  }

  #end(error: Error): void {
    if (this.#gone !== undefined) return
    this.#gone = error
    for (const call of this.#underWay) call.abort(error)
    this.#client.close().catch(() => undefined)
    this.#onGone?.(error)
  }

  /** Ends the session. Pending calls fail. */
  async close(): Promise<void> {
    this.#onGone = undefined
    if (this.#gone === undefined && this.#transport instanceof StreamableHTTPClientTransport) {
      await endSession(this.#transport)
    }
    await this.#client.close()
    this.#end(disconnected(this.#context()))
  }
}

/** Waits for at most a second. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, 1_000)
  })
  await Promise.race([transport.terminateSession().catch(() => undefined), timeout])
  clearTimeout(timer)
}

type McpTransport = StdioClientTransport | StreamableHTTPClientTransport | SSEClientTransport

interface TransportOptions extends ConnectionOptions {
  /** Called if an address is refused. */
  readonly onRefused: (error: SuperstepError) => void
}

function makeTransport(
  address: McpServerAddress,
  { maxMessage, resolve, onRefused }: TransportOptions,
): McpTransport {
  if (isProgram(address)) return programTransport(address, maxMessage)
  const { transport = "streamable-http", headers = {} } = address
  const url = new URL(address.url)
  const allowPrivate = address.allowPrivate ?? namedPrivate(url)
  const network = { allowPrivate, resolve }
  const options = {
    fetch: guardedFetch({ server: serverName(address), maxMessage, network, onRefused }),
    requestInit: { headers: { ...headers } },
  }
  if (transport === "sse") return new SSEClientTransport(url, options)
  return new StreamableHTTPClientTransport(url, options)
}

function programTransport({ command, args = [], env, cwd }: McpProgram, maxMessage: number) {
  return new StdioClientTransport({
    command,
    args: [...args],
    env: environment(env ?? {}),
    stderr: "pipe",
    maxBufferSize: maxMessage,
    ...(cwd === undefined ? {} : { cwd }),
  })
}

/** Variables that programs need; Windows needs more. */
const INHERITED = process.platform === "win32" ? DEFAULT_INHERITED_ENV_VARS : ["PATH", "HOME"]

function environment(own: Readonly<Record<string, string>>): Record<string, string> {
  // The transport adds some variables of this process (USER, SHELL, …); undefined removes them.
  const removed = DEFAULT_INHERITED_ENV_VARS.filter((name) => !INHERITED.includes(name))
  const without = Object.fromEntries(removed.map((name) => [name, undefined]))
  return { ...without, ...own } as Record<string, string>
}
