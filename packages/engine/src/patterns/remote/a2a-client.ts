/** Speaks A2A over JSON-RPC with one agent, in one task of a run. */
import { isSuperstepError, type Json } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { withTimeLimit } from "../../tools/index.ts"
import type { A2aAgentOptions } from "./a2a-agent.ts"
import type { A2aPlace } from "./a2a-card.ts"
import { TaskReader } from "./a2a-task.ts"
import {
  type A2aMethod,
  METHODS,
  type Outgoing,
  type Params,
  readResult,
  sendParams,
  type TaskState,
  taskBegun,
} from "./a2a-wire.ts"
import { eventData } from "./event-stream.ts"
import { bearer, timeUp } from "./remote-agent.ts"
import {
  fault,
  parseJson,
  quoted,
  type RemoteRequest,
  readText,
  requestJson,
  requestStream,
} from "./remote-request.ts"

/** Where a task is. */
export interface TaskView {
  readonly id: string
  readonly contextId?: string | undefined
  readonly state: TaskState
  /** What the agent says about its state: its question, or why it failed. */
  readonly note: string
  readonly answer: string
}

/** An answer at once, or a task that is under way or over. */
export type Sent = { readonly answer: string } | { readonly id: string }

/** How long a task may take, and what it is called when it takes longer. */
interface Following {
  readonly until: number
  readonly what: string
}

interface ResultStream {
  next(): Promise<IteratorResult<Json, undefined>>
  /** Reads no further, and waits for nothing. */
  close(): void
}

export class A2aClient {
  readonly #place: A2aPlace
  readonly #options: A2aAgentOptions
  readonly #ctx: Context
  /** The stream that began with what was sent. It is lost with the process, and then the task is looked at. */
  #stream: ResultStream | undefined
  #reader: TaskReader | undefined

  constructor(place: A2aPlace, options: A2aAgentOptions, ctx: Context) {
    this.#place = place
    this.#options = options
    this.#ctx = ctx
  }

  static async get(url: string, options: A2aAgentOptions, ctx: Context): Promise<Json> {
    return await requestJson({ method: "GET", ...(await requestOf(url, options, ctx)) })
  }

  async send(message: Outgoing): Promise<Sent> {
    const params = sendParams(this.#place.version, message)
    this.#reader = undefined
    if (!this.#place.streams) return this.#sent(await this.#call("send", params))
    const stream = await this.#open("stream", params)
    try {
      const sent = this.#sent(await this.#first(stream))
      if ("id" in sent) this.#stream = stream
      else stream.close()
      return sent
    } catch (error) {
      stream.close()
      throw error
    }
  }

  #sent(given: Json): Sent {
    const result = readResult(given)
    if (result.kind === "message") return { answer: result.text }
    const task = taskBegun(result)
    this.#reader = new TaskReader(task, this.#tell())
    this.#reader.take(result)
    return { id: task.id }
  }

  /** Tells those who watch what the agent writes, as it comes. */
  #tell(): (text: string, offset: number) => void {
    const { name: agent } = this.#options
    return (text, offset) => {
      if (text !== "") this.#ctx.delta({ call: "step:task", kind: "text", text, offset, agent })
    }
  }

  /** To the end of its stream; undefined when there is none, or it broke off before the task's end. */
  async follow(id: string, following: Following): Promise<TaskView | undefined> {
    const reader = this.#reader
    const stream = this.#stream
    this.#reader = undefined
    this.#stream = undefined
    const ended = stream === undefined ? undefined : await this.#read(stream, reader, following)
    const view = ended ?? reader?.end()
    if (view === undefined && this.#place.streams) await this.#rejoin(id, following)
    return view
  }

  /**
   * Listens again to a task that is under way: after a crash, or when the stream broke off. What came in between may be
   * missing, so the task is looked at in the end; an agent that cannot do this is looked at all the while.
   */
  async #rejoin(id: string, following: Following): Promise<void> {
    try {
      await this.#read(await this.#open("subscribe", { id }), undefined, following)
    } catch (error) {
      const isRemote = isSuperstepError(error) && error.code.startsWith("REMOTE_")
      if (!isRemote || error.code === "REMOTE_TIME_UP") throw error
    }
  }

  async #read(
    stream: ResultStream,
    begun: TaskReader | undefined,
    { until, what }: Following,
  ): Promise<TaskView | undefined> {
    const { clock, signal } = this.#ctx
    const timedOut = () => timeUp(what)
    const milliseconds = Math.max(0, until - clock.now())
    try {
      return await withTimeLimit({ clock, milliseconds, signal, timedOut }, () =>
        readAll(stream, begun, this.#tell()),
      )
    } finally {
      stream.close()
    }
  }

  async task(id: string): Promise<TaskView> {
    const result = readResult(await this.#call("get", { id }))
    if (result.kind !== "task")
      throw fault("REMOTE_INVALID", "The agent did not answer with the task.", false)
    return new TaskReader(result, () => undefined).view
  }

  async cancel(id: string, signal: AbortSignal): Promise<void> {
    await this.#call("cancel", { id }, signal)
  }

  async #call(method: A2aMethod, params: Params, signal?: AbortSignal): Promise<Json> {
    const request = await this.#request(method, params, signal)
    return resultOf(request, await requestJson(request))
  }

  async #request(method: A2aMethod, given: Params, signal = this.#ctx.signal): Promise<RemoteRequest> {
    const { endpoint, version, tenant } = this.#place
    const params = tenant === undefined ? given : { ...given, tenant }
    const { headers, ...request } = await requestOf(endpoint, this.#options, this.#ctx)
    const versioned = version === "1" ? { "A2A-Version": "1.0", ...headers } : headers
    const body = { jsonrpc: "2.0", id: method, method: METHODS[version][method], params }
    return { ...request, headers: versioned, body, signal }
  }

  async #open(method: "stream" | "subscribe", params: Params): Promise<ResultStream> {
    const request = await this.#request(method, params)
    const headers = { accept: "text/event-stream", ...request.headers }
    const { response, close } = await requestStream({ ...request, headers })
    const given = results(response, request)
    return { next: () => given.next(), close }
  }

  async #first(stream: ResultStream): Promise<Json> {
    const { clock, signal } = this.#ctx
    const { requestTimeout: milliseconds = 30_000 } = this.#options
    const text = `The agent's stream did not begin within ${milliseconds} ms.`
    const timedOut = () => fault("REMOTE_TIMEOUT", text, true)
    const { done, value } = await withTimeLimit({ clock, milliseconds, signal, timedOut }, () =>
      stream.next(),
    )
    if (done) throw fault("REMOTE_INVALID", "The agent's stream ended before it began.", true)
    return value
  }
}

async function readAll(
  stream: ResultStream,
  begun: TaskReader | undefined,
  tell: (text: string, offset: number) => void,
): Promise<TaskView | undefined> {
  let reader = begun
  while (reader?.end() === undefined) {
    try {
      const { done, value } = await stream.next()
      if (done) return undefined
      const incoming = readResult(value)
      if (reader === undefined && incoming.kind !== "message") {
        reader = new TaskReader(taskBegun(incoming), tell)
      }
      reader?.take(incoming)
    } catch (error) {
      // A stream that broke off says nothing about the task; what the agent itself says wrong does.
      if (error instanceof TypeError || (error as { code?: unknown }).code === "UND_ERR_SOCKET")
        return undefined
      throw error
    }
  }
  return reader.end()
}

async function* results(response: Response, request: RemoteRequest): AsyncGenerator<Json, undefined> {
  const read = (text: string) => resultOf(request, parseJson(request, text))
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream")
  // One that cannot stream after all may answer at once.
  if (isStream !== true) return yield read(await readText(request, response))
  for await (const data of eventData(response, request)) yield read(data)
}

async function requestOf(url: string, options: A2aAgentOptions, ctx: Context) {
  const { token, headers, requestTimeout: timeout = 30_000, maxBytes = 2_000_000 } = options
  const { clock, signal } = ctx
  return { url, headers: { ...headers, ...(await bearer(token)) }, timeout, maxBytes, clock, signal }
}

/** As a status of 500: it may go better the next time. */
const INTERNAL_ERROR = -32603

function resultOf(request: RemoteRequest, answer: Json): Json {
  const { result, error } = (answer ?? {}) as { result?: Json; error?: { code?: unknown; message?: unknown } }
  if (error !== undefined && error !== null) {
    const said = quoted(request, String(error.message))
    const text = `The agent answered with error ${String(error.code)}: ${said}`
    throw fault("REMOTE_REFUSED", text, error.code === INTERNAL_ERROR)
  }
  if (result === undefined) throw fault("REMOTE_INVALID", "The agent's answer is not JSON-RPC.", false)
  return result
}
