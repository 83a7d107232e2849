/**
 * One connection to an MCP server, from its greeting to its end. Making another one is for `SharedConnection`.
 *
 * K1 A call under way when the server goes away fails at once, with MCP_DISCONNECTED.
 * K2 A call whose signal is aborted is cancelled at the server, and rejects with the signal's reason.
 * K3 An error says which server, and what that wrote to its error output; never a header or a secret variable.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { SseError } from "@modelcontextprotocol/sdk/client/sse.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { AnySchema, SchemaOutput } from "@modelcontextprotocol/sdk/server/zod-compat.js"
import {
  type JSONRPCMessage,
  type Progress,
  ProgressNotificationSchema,
  type ServerCapabilities,
} from "@modelcontextprotocol/sdk/types.js"
import type { SuperstepError } from "@superstep/engine"
import type { Masking, Resolve } from "@superstep/engine/tools"
import { VERSION } from "../version.ts"
import { disconnected, explain, isLost, misfitIn, notSent } from "./connection-errors.ts"
import { tooLarge } from "./guarded-fetch.ts"
import { hiddenValues } from "./hidden-values.ts"
import { type McpTransport, makeTransport } from "./open-transport.ts"
import { type McpServerAddress, nameOf } from "./server-address.ts"

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export interface ConnectionOptions {
  readonly maxMessage: number
  readonly resolve?: Resolve | undefined
}

/** The SDK has a limit of its own for every request; ours are on our clock. */
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
    this.server = nameOf(address)
    this.hidden = hiddenValues(address)
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
      // Without its own fetching of the list: that stops at the first page.
      {
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#onToolsChanged?.() },
        },
      },
    )
    this.#transport.onmessage = (message) => this.#onMessage(message)
    this.#client.onclose = () => this.#end(disconnected(this.#told()))
    this.#client.onerror = (error) => this.#onError(error)
    if (this.#transport instanceof StdioClientTransport) {
      this.#transport.stderr?.on("data", (chunk) => {
        this.#stderr = (this.#stderr + String(chunk)).slice(-2 * MAX_STDERR)
      })
    }
  }

  /** Meets the server. Rejects with what is wrong; the connection is closed then. */
  async open(): Promise<void> {
    try {
      await this.#client.connect(this.#transport, { timeout: NO_LIMIT })
    } catch (error) {
      const reason = this.#refused ?? explain(error, this.#told())
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

  /** What is known of the server, for an error. */
  #told() {
    const { server, hidden } = this
    const said = hidden.ending(this.#stderr).trim()
    return { server, hidden, stderr: hidden.ending(said.slice(-MAX_STDERR)), badLine: this.#badLine }
  }

  /** Said when a call took too long: why the server may not have answered. */
  get complaint(): string {
    return this.#badLine === undefined
      ? ""
      : ` It wrote lines that are no MCP messages, the last: ${this.#badLine}`
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
    if (this.#gone !== undefined) throw notSent(this.#told())
    signal?.throwIfAborted()
    // One of its own: the SDK never takes its listener off the signal it is given.
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
      const reason = explain(error, this.#told())
      // Other calls may have been with the server: theirs is another error.
      if (isLost(reason)) this.#end(disconnected(this.#told()))
      throw reason
    } finally {
      this.#underWay.delete(call)
      this.#progress.delete(progressToken)
      signal?.removeEventListener("abort", onAbort)
    }
  }

  /** Progress in the order it came: the SDK takes an answer first that comes right behind it, and drops the rest. */
  #onMessage(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/progress") return
    const { success, data } = ProgressNotificationSchema.safeParse(message)
    if (!success || typeof data.params.progressToken !== "string") return
    this.#progress.get(data.params.progressToken)?.(data.params)
  }

  #onError(error: Error): void {
    if (/exceeded maximum size/.test(error.message) && this.#transport instanceof StdioClientTransport) {
      // The transport closes itself, and takes its time to.
      this.#end(tooLarge(this.server, this.#maxMessage))
    } else if (error instanceof SseError) {
      this.#end(disconnected(this.#told()))
    } else if (error instanceof SyntaxError || misfitIn(error) !== undefined) {
      const why = misfitIn(error) ?? error.message
      this.#badLine = this.hidden.text(why).slice(0, 200)
    }
  }

  #end(error: Error): void {
    if (this.#gone !== undefined) return
    this.#gone = error
    for (const call of this.#underWay) call.abort(error)
    this.#client.close().catch(() => undefined)
    this.#onGone?.(error)
  }

  /** Says goodbye. Calls under way fail. */
  async close(): Promise<void> {
    this.#onGone = undefined
    if (this.#gone === undefined && this.#transport instanceof StreamableHTTPClientTransport) {
      await endSession(this.#transport)
    }
    await this.#client.close()
    this.#end(disconnected(this.#told()))
  }
}

/** A server that does not answer to that is not waited for. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, 1_000)
  })
  await Promise.race([transport.terminateSession().catch(() => undefined), patience])
  clearTimeout(timer)
}
