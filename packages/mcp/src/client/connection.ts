/**
 * One connection to an MCP server, from the handshake to its end. `SharedConnection` replaces a lost one.
 *
 * K1 A pending call fails with MCP_DISCONNECTED as soon as the server disconnects.
 * K2 A call whose signal is aborted is cancelled at the server, and rejects with the signal's reason.
 * K3 An error names the server and has its stderr, but never a header or a secret variable.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import {
  Client,
  type ClientCapabilities,
  type CreateMessageRequest,
  type ElicitRequest,
  type JSONRPCMessage,
  type Progress,
  ProtocolError,
  ProtocolErrorCode,
  type Root,
  type ServerCapabilities,
  SSEClientTransport,
  SseError,
  type StandardSchemaV1,
  StreamableHTTPClientTransport,
  specTypeSchemas,
} from "@modelcontextprotocol/client"
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import type { SuperstepError } from "@superstep/engine"
import { cutText } from "@superstep/engine/text"
import { type Masking, namedPrivate, type Resolve } from "@superstep/engine/tools"
import { VERSION } from "../version.ts"
import {
  disconnected,
  explain,
  guardedFetch,
  isLost,
  issueIn,
  notSent,
  tooLarge,
} from "./connection-errors.ts"
import { authProvider } from "./oauth.ts"
import {
  isProgram,
  type McpProgram,
  type McpServerAddress,
  type ServerSecrets,
  serverName,
} from "./server-address.ts"

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** Answers what the server asks during the call. Absent: it may ask nothing. */
  readonly asked?: Asked | undefined
}

/** A question of a server during a call. */
export type ServerQuestion =
  | Pick<ElicitRequest, "method" | "params">
  | Pick<CreateMessageRequest, "method" | "params">
export type Asked = (question: ServerQuestion) => Promise<Record<string, unknown>>

/** What a server may ask of its client. */
export interface Offers {
  readonly elicitation: boolean
  readonly sampling: boolean
  readonly roots: readonly Root[]
}

export type Era = "auto" | "legacy" | "modern"

export interface ConnectionOptions {
  readonly maxMessage: number
  readonly resolve?: Resolve | undefined
  readonly offers: Offers
  readonly era: Era
  /** Milliseconds to wait for a program to say which revision it speaks. */
  readonly probeTimeout: number
  readonly secrets: ServerSecrets
}

const MODERN = "2026-07-28"

/** Disables the timeouts of the SDK: ours use our clock. */
const NO_LIMIT = 2 ** 31 - 1
const MAX_STDERR = 2_000

export class Connection {
  readonly server: string
  readonly #secrets: ServerSecrets
  readonly #client: Client
  readonly #transport: McpTransport
  readonly #maxMessage: number
  readonly #underWay = new Set<AbortController>()
  readonly #progress = new Map<string, (progress: Progress) => void>()
  readonly #asked = new Set<Asked>()
  readonly #era: Era
  #calls = 0
  #stderr = ""
  #badLine: string | undefined
  #gone: Error | undefined
  #refused: SuperstepError | undefined
  #onGone: ((error: Error) => void) | undefined
  #onToolsChanged: (() => void) | undefined

  constructor(address: McpServerAddress, options: ConnectionOptions) {
    const { maxMessage, era, offers, probeTimeout } = options
    this.server = serverName(address)
    this.#secrets = options.secrets
    this.#maxMessage = maxMessage
    this.#transport = makeTransport(address, options, (error) => {
      this.#refused = error
    })
    this.#era = this.#transport instanceof SSEClientTransport ? "legacy" : era
    const probe =
      this.#transport instanceof StdioClientTransport ? { timeoutMs: probeTimeout } : { timeoutMs: NO_LIMIT }
    this.#client = new Client(
      { name: "superstep", version: VERSION },
      {
        capabilities: capabilitiesOf(offers),
        versionNegotiation: { mode: this.#era === "modern" ? { pin: MODERN } : this.#era, probe },
        // The rounds of a call are recorded by its caller.
        inputRequired: { autoFulfill: false },
        // The SDK itself would fetch the first page of the list only.
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#onToolsChanged?.() },
        },
      },
    )
    this.#answerQuestions(offers)
    this.#transport.onmessage = (message) => this.#onMessage(message)
    this.#client.onclose = () => this.#end(disconnected(this.#context()))
    this.#client.onerror = (error) => this.#onError(error)
    if (this.#transport instanceof StdioClientTransport) {
      this.#transport.stderr?.on("data", (chunk) => {
        this.#stderr = (this.#stderr + String(chunk)).slice(-2 * MAX_STDERR)
      })
    }
  }

  /** Up to revision 2025-11-25 servers ask in requests of their own, later ones in the results of calls. */
  #answerQuestions({ elicitation, sampling, roots }: Offers): void {
    const ask = (question: ServerQuestion) => this.#callInQuestion(question.method)(question)
    if (elicitation) {
      this.#client.setRequestHandler(
        "elicitation/create",
        async ({ method, params }) => (await ask({ method, params })) as never,
      )
    }
    if (sampling) {
      this.#client.setRequestHandler(
        "sampling/createMessage",
        async ({ method, params }) => (await ask({ method, params })) as never,
      )
    }
    if (roots.length > 0) this.#client.setRequestHandler("roots/list", () => ({ roots: [...roots] }))
  }

  /**
   * The call during which a server asks. Over HTTP the question arrives in the answer to the call; a program does not say,
   * so it may ask only while a single call is pending: a question must not reach another run.
   */
  #callInQuestion(method: string): Asked {
    const own = currentCall.getStore()
    if (own !== undefined && this.#asked.has(own)) return own
    const [only, another] = this.#asked
    if (only !== undefined && another === undefined) return only
    const why =
      only === undefined ? "no call is pending" : "several calls are pending, and it does not say which"
    throw new ProtocolError(ProtocolErrorCode.InvalidRequest, `${method} is refused: ${why}.`)
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

  /** Whether a program that ended may have ended because of the question which revision it speaks. */
  get mayBeLegacy(): boolean {
    return this.#era === "auto" && this.#transport instanceof StdioClientTransport
  }

  get isModern(): boolean {
    return this.#client.getProtocolEra() === "modern"
  }

  get hidden(): Masking {
    return this.#secrets.masking
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

  async request<S extends StandardSchemaV1>(
    { method, params = {} }: { readonly method: string; readonly params?: Record<string, unknown> },
    schema: S,
    { signal, onProgress, asked }: RequestOptions = {},
  ): Promise<StandardSchemaV1.InferOutput<S>> {
    if (this.#gone !== undefined) throw notSent(this.#context())
    signal?.throwIfAborted()
    // Its own controller: the SDK never removes its listener from a signal.
    const call = new AbortController()
    const onAbort = () => call.abort(signal?.reason)
    signal?.addEventListener("abort", onAbort, { once: true })
    this.#underWay.add(call)
    const progressToken = `call-${++this.#calls}`
    if (onProgress !== undefined) this.#progress.set(progressToken, onProgress)
    if (asked !== undefined) this.#asked.add(asked)
    const meta = onProgress === undefined ? {} : { _meta: { ...(params._meta as object), progressToken } }
    try {
      const options = { signal: call.signal, timeout: NO_LIMIT, allowInputRequired: asked !== undefined }
      const send = () => this.#client.request({ method, params: { ...params, ...meta } }, schema, options)
      return await (asked === undefined ? send() : currentCall.run(asked, send))
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
      if (asked !== undefined) this.#asked.delete(asked)
      this.#progress.delete(progressToken)
      signal?.removeEventListener("abort", onAbort)
    }
  }

  /** In the order of arrival: the SDK would handle an answer before the progress in front of it, and drop that. */
  #onMessage(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/progress") return
    const parsed = specTypeSchemas.ProgressNotification["~standard"].validate(message)
    if (parsed.issues !== undefined) return
    const { params } = parsed.value
    if (typeof params.progressToken === "string") this.#progress.get(params.progressToken)?.(params)
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

/** The call whose messages are being handled. */
const currentCall = new AsyncLocalStorage<Asked>()

function capabilitiesOf({ elicitation, sampling, roots }: Offers): ClientCapabilities {
  return {
    ...(elicitation && { elicitation: { form: {}, url: {} } }),
    ...(sampling && { sampling: {} }),
    ...(roots.length > 0 && { roots: {} }),
  }
}

/** Of a class of its own: the SDK would start a second process to ask which revision a `StdioClientTransport` speaks. */
class ProgramTransport extends StdioClientTransport {}

type McpTransport = StdioClientTransport | StreamableHTTPClientTransport | SSEClientTransport

function makeTransport(
  address: McpServerAddress,
  { maxMessage, resolve, secrets }: ConnectionOptions,
  onRefused: (error: SuperstepError) => void,
): McpTransport {
  if (isProgram(address)) return programTransport(address, maxMessage)
  const { transport = "streamable-http", headers = {} } = address
  const url = new URL(address.url)
  const allowPrivate = address.allowPrivate ?? namedPrivate(url)
  const network = { allowPrivate, resolve }
  const own = { url, headers }
  const options = {
    fetch: guardedFetch({ server: serverName(address), own, maxMessage, network, onRefused }),
    requestInit: { headers: { ...headers } },
    ...(address.oauth !== undefined && {
      authProvider: authProvider({ ...address, oauth: address.oauth }, secrets),
    }),
  }
  if (transport === "sse") return new SSEClientTransport(url, options)
  return new StreamableHTTPClientTransport(url, options)
}

function programTransport({ command, args = [], env, cwd }: McpProgram, maxMessage: number) {
  return new ProgramTransport({
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
