/** An A2A client over JSON-RPC for one agent, in one task of a run. */

import { z } from "zod"
import { isSuperstepError, type Json } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { pause, withTimeLimit } from "../../tools/index.ts"
import {
  type A2aMethod,
  type A2aVersion,
  hasMessage,
  isEnded,
  METHODS,
  type Outgoing,
  type Params,
  readResult,
  sendParams,
  type TaskNews,
  TaskReader,
  type TaskView,
  taskWithMessage,
} from "./a2a-wire.ts"
import {
  eventData,
  fault,
  maskedExcerpt,
  parseJson,
  placeOf,
  type RemoteOptions,
  type RemoteRequest,
  type RemoteToken,
  readText,
  requestJson,
  requestStream,
  requestTo,
  timeUp,
} from "./remote-agent.ts"

export interface A2aAgentOptions extends RemoteOptions {
  /** The address of the agent, or of its card. */
  readonly url: string
  /** The agent's endpoint. Its card is not fetched. */
  readonly endpoint?: string | undefined
  /** The protocol version at `endpoint`: `1` for 1.x, `0` for 0.2 and 0.3. Default `1`. */
  readonly version?: A2aVersion | undefined
  readonly token?: RemoteToken | undefined
  /** Sent with every request, for example other kinds of credentials. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** False: the agent is polled even if it can stream. */
  readonly stream?: boolean | undefined
  /** The recipient of its questions, as named in your inbox. */
  readonly to?: string | undefined
}

/** An immediate answer, or a task that is running or finished. */
export type Sent = { readonly answer: string } | { readonly id: string }

/** The time limit of a task, and its name in the error. */
interface Following {
  readonly until: number
  readonly what: string
  /** The status of the task that was answered last. */
  readonly answered?: TaskView | undefined
}

/** Search limits for a message: the newest tasks, and the newest messages of each. */
const LISTED = 50
const HISTORY = 100

/** A task with an open stream is polled this many times less often. */
const POLLS_PER_LOOK = 30

export class A2aClient {
  readonly #place: A2aPlace
  readonly #options: A2aAgentOptions
  readonly #ctx: Context
  /** The stream that the sent message opened. It is lost with the process; then the task is polled. */
  #stream: ResultStream | undefined
  #reader: TaskReader | undefined

  constructor(place: A2aPlace, options: A2aAgentOptions, ctx: Context) {
    this.#place = place
    this.#options = options
    this.#ctx = ctx
  }

  static async get(url: string, options: A2aAgentOptions, ctx: Context): Promise<Json> {
    return await requestJson({ method: "GET", ...(await requestTo(url, options, ctx)) })
  }

  /** `answered` is the status of the task that the message answers. */
  async send(message: Outgoing, answered?: TaskView): Promise<Sent> {
    const params = sendParams(this.#place.version, message)
    this.#reader = undefined
    if (!this.#place.streams) return this.#sent(await this.#call("send", params), answered)
    const stream = await this.#open("stream", params)
    try {
      const sent = this.#sent(await this.#first(stream), answered)
      if ("id" in sent) this.#stream = stream
      else stream.close()
      return sent
    } catch (error) {
      stream.close()
      throw error
    }
  }

  #sent(json: Json, answered: TaskView | undefined): Sent {
    const result = readResult(json)
    if (result.kind === "message") return { answer: result.text }
    this.#reader = TaskReader.from(result, this.#textStreamer(), answered)
    return { id: this.#reader.view.id }
  }

  /**
   * Finds a message that may have been sent before: with its task, or, since version 1.0, among the newest tasks.
   * Undefined if it is missing, or if the agent does not support this.
   */
  async find({ taskId, messageId }: Outgoing): Promise<Sent | undefined> {
    try {
      if (taskId !== undefined) {
        const task = await this.#call("get", { id: taskId, historyLength: HISTORY })
        return hasMessage(task, messageId) ? { id: taskId } : undefined
      }
      if (this.#place.version === "0") return undefined
      const listed = await this.#call("list", { pageSize: LISTED, historyLength: HISTORY })
      const id = taskWithMessage(listed, messageId)
      return id === undefined ? undefined : { id }
    } catch (error) {
      if (!isSuperstepError(error) || error.retryable === true) throw error
      return undefined
    }
  }

  /** Streams the agent's text to observers. */
  #textStreamer(): (text: string, offset: number) => void {
    const { name: agent } = this.#options
    return (text, offset) => {
      if (text !== "") this.#ctx.delta({ call: "step:task", kind: "text", text, offset, agent })
    }
  }

  /** Reads the stream to its end. Undefined if there is none, or if it broke before the task ended. */
  async follow(id: string, following: Following): Promise<TaskView | undefined> {
    const reader = this.#reader
    const stream = this.#stream
    this.#reader = undefined
    this.#stream = undefined
    const ended = stream === undefined ? undefined : await this.#read(id, stream, reader, following)
    const view = ended ?? reader?.end()
    if (view === undefined && this.#place.streams) await this.#rejoin(id, following)
    return view
  }

  /**
   * Subscribes again to a running task after a crash or a broken stream. Events in between may be missing, so the task is
   * fetched at the end. An agent that does not support this is polled instead.
   */
  async #rejoin(id: string, following: Following): Promise<void> {
    try {
      await this.#read(id, await this.#open("subscribe", { id }), undefined, following)
    } catch (error) {
      const isRemote = isSuperstepError(error) && error.code.startsWith("REMOTE_")
      if (!isRemote || error.code === "REMOTE_TIME_UP") throw error
    }
  }

  async #read(
    id: string,
    stream: ResultStream,
    begun: TaskReader | undefined,
    { until, what, answered }: Following,
  ): Promise<TaskView | undefined> {
    const { clock, signal } = this.#ctx
    const timedOut = () => timeUp(what)
    const milliseconds = Math.max(0, until - clock.now())
    const begin = (incoming: TaskNews) => TaskReader.from(incoming, this.#textStreamer(), answered)
    const over = new AbortController()
    try {
      return await withTimeLimit({ clock, milliseconds, signal, timedOut }, () =>
        Promise.race([readAll(stream, begun, begin), this.#watch(id, answered, over.signal)]),
      )
    } finally {
      over.abort()
      stream.close()
    }
  }

  /** Polls the task occasionally: a stream may miss its end, or be dead without an error. */
  async #watch(id: string, answered: TaskView | undefined, over: AbortSignal): Promise<TaskView> {
    const { pollEvery = 1_000 } = this.#options
    const { clock } = this.#ctx
    for (;;) {
      await pause(clock, pollEvery * POLLS_PER_LOOK, over)
      const view = await this.task(id).catch(() => undefined)
      if (view !== undefined && isEnded(view, answered)) return view
    }
  }

  async task(id: string): Promise<TaskView> {
    const result = readResult(await this.#call("get", { id }))
    if (result.kind !== "task") throw fault("REMOTE_INVALID", "The agent did not return the task.", false)
    return TaskReader.from(result, () => undefined).view
  }

  async cancel(id: string, signal: AbortSignal): Promise<void> {
    await this.#call("cancel", { id }, signal)
  }

  async #call(method: A2aMethod, params: Params, signal?: AbortSignal): Promise<Json> {
    const request = await this.#request(method, params, signal)
    return resultOf(request, await requestJson(request))
  }

  async #request(method: A2aMethod, base: Params, signal = this.#ctx.signal): Promise<RemoteRequest> {
    const { endpoint, version, tenant } = this.#place
    const params = tenant === undefined ? base : { ...base, tenant }
    const { headers, ...request } = await requestTo(endpoint, this.#options, this.#ctx)
    const versioned = version === "1" ? { "A2A-Version": "1.0", ...headers } : headers
    const body = { jsonrpc: "2.0", id: method, method: METHODS[version][method], params }
    return { ...request, headers: versioned, body, signal }
  }

  async #open(method: "stream" | "subscribe", params: Params): Promise<ResultStream> {
    return await openResults(await this.#request(method, params))
  }

  async #first(stream: ResultStream): Promise<Json> {
    const { clock, signal } = this.#ctx
    const { requestTimeout: milliseconds = 30_000 } = this.#options
    const text = `The agent's stream did not start within ${milliseconds} ms.`
    const timedOut = () => fault("REMOTE_TIMEOUT", text, true)
    const { done, value } = await withTimeLimit({ clock, milliseconds, signal, timedOut }, () =>
      stream.next(),
    )
    if (done) throw fault("REMOTE_INVALID", "The agent's stream ended before its first event.", true)
    return value
  }
}

// Reads the result of a JSON-RPC call, single or streamed, and a task from its stream.

interface ResultStream {
  next(): Promise<IteratorResult<Json, undefined>>
  /** Stops reading, without waiting. */
  close(): void
}

/** Reads until the task ends. Undefined if the stream breaks first. */
async function readAll(
  stream: ResultStream,
  begun: TaskReader | undefined,
  begin: (incoming: TaskNews) => TaskReader,
): Promise<TaskView | undefined> {
  let reader = begun
  while (reader?.end() === undefined) {
    try {
      const { done, value } = await stream.next()
      if (done) return undefined
      const incoming = readResult(value)
      if (reader !== undefined) reader.take(incoming)
      else if (incoming.kind !== "message") reader = begin(incoming)
    } catch (error) {
      // A broken stream reveals nothing about the task; an invalid message does.
      if (error instanceof TypeError || (error as { code?: unknown }).code === "UND_ERR_SOCKET")
        return undefined
      throw error
    }
  }
  return reader.end()
}

/** Opens a stream of results. */
async function openResults(request: RemoteRequest): Promise<ResultStream> {
  const headers = { accept: "text/event-stream", ...request.headers }
  const { response, close } = await requestStream({ ...request, headers })
  const stream = results(response, request)
  return { next: () => stream.next(), close }
}

async function* results(response: Response, request: RemoteRequest): AsyncGenerator<Json, undefined> {
  const read = (text: string) => resultOf(request, parseJson(request, text))
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream")
  // An agent that does not stream after all may answer directly.
  if (isStream !== true) return yield read(await readText(request, response))
  for await (const data of eventData(request, response)) yield read(data)
}

/** Like HTTP status 500: a retry may succeed. */
const INTERNAL_ERROR = -32603

function resultOf(request: RemoteRequest, answer: Json): Json {
  const { result, error } = (answer ?? {}) as { result?: Json; error?: { code?: unknown; message?: unknown } }
  if (error !== undefined && error !== null) {
    const said = maskedExcerpt(request, String(error.message))
    const text = `The agent answered with error ${String(error.code)}: ${said}`
    throw fault("REMOTE_REFUSED", text, error.code === INTERNAL_ERROR)
  }
  if (result === undefined) throw fault("REMOTE_INVALID", "The agent's answer is not JSON-RPC.", false)
  return result
}

/** Reads an agent card: the endpoint, the protocol version, and whether the agent streams. */

export interface A2aPlace {
  readonly endpoint: string
  readonly version: A2aVersion
  readonly streams: boolean
  /** The tenant, if several share one address. */
  readonly tenant?: string | undefined
}

const card = z.object({
  url: z.string().optional(),
  preferredTransport: z.string().optional(),
  additionalInterfaces: z.array(z.object({ url: z.string(), transport: z.string() })).optional(),
  supportedInterfaces: z
    .array(
      z.object({
        url: z.string(),
        protocolBinding: z.string(),
        protocolVersion: z.string().optional(),
        tenant: z.string().optional(),
      }),
    )
    .optional(),
  capabilities: z.object({ streaming: z.boolean().nullish() }).nullish(),
})

const PATHS = ["/.well-known/agent-card.json", "/.well-known/agent.json"]

/** The card's own address, or that of the agent it belongs to. */
export async function findCard(url: string, get: (address: string) => Promise<Json>): Promise<A2aPlace> {
  for (const address of addressesOf(url)) {
    try {
      return readCard(await get(address), url)
    } catch (error) {
      if (!isSuperstepError(error, "REMOTE_STATUS_404")) throw error
    }
  }
  const text = `There is no agent card at ${placeOf(url)}. Pass the card's URL as url, or the agent's URL as endpoint.`
  throw fault("REMOTE_NO_CARD", text, false)
}

function addressesOf(url: string): readonly string[] {
  const { pathname } = new URL(url)
  if (pathname.endsWith(".json")) return [url]
  return PATHS.map((path) => {
    const address = new URL(url)
    address.pathname = pathname.replace(/(?<!\/)\/+$/, "") + path
    return address.href
  })
}

function readCard(json: Json, url: string): A2aPlace {
  const read = card.safeParse(json)
  if (!read.success) {
    const reason = z.prettifyError(read.error).replace(/\s+/g, " ")
    throw fault("REMOTE_INVALID", `The agent card at ${placeOf(url)} is unreadable: ${reason}`, false)
  }
  const { capabilities, supportedInterfaces = [] } = read.data
  const streams = capabilities?.streaming === true
  const isOurs = (binding: string) => binding.toUpperCase() === "JSONRPC"
  const current = supportedInterfaces.filter(({ protocolBinding }) => isOurs(protocolBinding))
  const newest = current.find(({ protocolVersion = "1" }) => protocolVersion.startsWith("1")) ?? current[0]
  if (newest !== undefined) {
    const version = newest.protocolVersion?.startsWith("0") ? "0" : "1"
    const tenant = newest.tenant ? { tenant: newest.tenant } : {}
    return { endpoint: sameOrigin(newest.url, url), version, streams, ...tenant }
  }
  const endpoint = oldEndpoint(read.data, isOurs)
  if (endpoint === undefined) {
    throw fault(
      "REMOTE_UNSUPPORTED",
      `The agent at ${placeOf(url)} does not support JSON-RPC, according to its card.`,
      false,
    )
  }
  return { endpoint: sameOrigin(endpoint, url), version: "0", streams }
}

/** Before 1.0: the main address, unless it uses another transport. */
function oldEndpoint(parsed: z.infer<typeof card>, isOurs: (binding: string) => boolean): string | undefined {
  const { url, preferredTransport = "JSONRPC", additionalInterfaces = [] } = parsed
  if (url !== undefined && isOurs(preferredTransport)) return url
  return additionalInterfaces.find(({ transport }) => isOurs(transport))?.url
}

/** Keys are sent only to the origin that the user named, whatever the card contains. */
function sameOrigin(endpoint: string, url: string): string {
  const found = URL.canParse(endpoint, url) ? new URL(endpoint, url) : undefined
  if (found?.origin === new URL(url).origin) return found.href
  const text = `The card at ${placeOf(url)} names another endpoint: ${endpoint}. Pass it as endpoint if you trust it.`
  throw fault("REMOTE_ELSEWHERE", text, false)
}
