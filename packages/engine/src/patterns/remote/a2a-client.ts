/** Speaks A2A over JSON-RPC with one agent, in one task of a run. */
import type { Json } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { withTimeLimit } from "../../tools/index.ts"
import type { A2aAgentOptions } from "./a2a-agent.ts"
import type { A2aPlace } from "./a2a-card.ts"
import { TaskReader } from "./a2a-task.ts"
import { type A2aMethod, METHODS, type Outgoing, readResult, sendParams, type TaskState } from "./a2a-wire.ts"
import { eventData } from "./event-stream.ts"
import { bearer } from "./remote-agent.ts"
import {
  fault,
  parseJson,
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

export class A2aClient {
  readonly #place: A2aPlace
  readonly #options: A2aAgentOptions
  readonly #ctx: Context
  /** The stream that began with what was sent. It is lost with the process, and then the task is looked at. */
  #stream: AsyncIterator<Json> | undefined
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
    if (!this.#place.streams) return this.#sent(readResult(await this.#call("send", params)))
    const stream = await this.#open(params)
    try {
      const first = await this.#first(stream)
      if (first === undefined)
        throw fault("REMOTE_INVALID", "The agent's stream ended before it began.", true)
      this.#stream = stream
      return this.#sent(readResult(first))
    } catch (error) {
      leave(stream)
      throw error
    }
  }

  #sent(result: ReturnType<typeof readResult>): Sent {
    if (result.kind === "message") return { answer: result.text }
    if (result.kind !== "task") throw fault("REMOTE_INVALID", "The agent did not begin with a task.", false)
    this.#reader = new TaskReader(result, this.#tell())
    return { id: result.id }
  }

  /** Tells those who watch what the agent writes, as it comes. */
  #tell(): (text: string, offset: number) => void {
    const { name: agent } = this.#options
    return (text, offset) => {
      if (text !== "") this.#ctx.delta({ call: "step:task", kind: "text", text, offset, agent })
    }
  }

  /** To the end of the stream; undefined when there is none, or it broke off before the task's end. */
  async follow({ until, what }: { until: number; what: string }): Promise<TaskView | undefined> {
    const reader = this.#reader
    const stream = this.#stream
    if (reader === undefined) return undefined
    this.#reader = undefined
    this.#stream = undefined
    const { clock, signal } = this.#ctx
    if (stream === undefined) return reader.end()
    const timedOut = () => fault("REMOTE_TIME_UP", `${what} took too long, and was cancelled.`, false)
    const milliseconds = Math.max(0, until - clock.now())
    try {
      return await withTimeLimit({ clock, milliseconds, signal, timedOut }, () => readAll(stream, reader))
    } finally {
      leave(stream)
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

  async #call(method: A2aMethod, params: Json, signal?: AbortSignal): Promise<Json> {
    return resultOf(await requestJson(await this.#request(method, params, signal)))
  }

  async #request(method: A2aMethod, params: Json, signal = this.#ctx.signal): Promise<RemoteRequest> {
    const { endpoint, version } = this.#place
    const { headers, ...request } = await requestOf(endpoint, this.#options, this.#ctx)
    const versioned = version === "1" ? { "A2A-Version": "1.0", ...headers } : headers
    const body = { jsonrpc: "2.0", id: method, method: METHODS[version][method], params }
    return { ...request, headers: versioned, body, signal }
  }

  async #open(params: Json): Promise<AsyncIterator<Json>> {
    const request = await this.#request("stream", params)
    const headers = { accept: "text/event-stream", ...request.headers }
    const response = await requestStream({ ...request, headers })
    return results(response, request)
  }

  async #first(stream: AsyncIterator<Json>): Promise<Json | undefined> {
    const { clock, signal } = this.#ctx
    const { requestTimeout: milliseconds = 30_000 } = this.#options
    const text = `The agent's stream did not begin within ${milliseconds} ms.`
    const timedOut = () => fault("REMOTE_TIMEOUT", text, true)
    const next = async () => (await stream.next()).value as Json | undefined
    return await withTimeLimit({ clock, milliseconds, signal, timedOut }, next)
  }
}

/** Reads no further, and waits for nothing. */
function leave(stream: AsyncIterator<Json>): void {
  void Promise.resolve(stream.return?.()).catch(() => undefined)
}

async function readAll(stream: AsyncIterator<Json>, reader: TaskReader): Promise<TaskView | undefined> {
  while (reader.end() === undefined) {
    try {
      const { done, value } = await stream.next()
      if (done) return undefined
      reader.take(readResult(value))
    } catch (error) {
      // A stream that broke off says nothing about the task; what the agent itself says wrong does.
      if (error instanceof TypeError || (error as { code?: unknown }).code === "UND_ERR_SOCKET")
        return undefined
      throw error
    }
  }
  return reader.end()
}

async function* results(response: Response, request: RemoteRequest): AsyncGenerator<Json> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream")
  // One that cannot stream after all may answer at once.
  if (isStream !== true) return yield resultOf(parseJson(request, await readText(request, response)))
  for await (const data of eventData(response, request)) yield resultOf(parseJson(request, data))
}

async function requestOf(url: string, options: A2aAgentOptions, ctx: Context) {
  const { token, headers, requestTimeout: timeout = 30_000, maxBytes = 2_000_000 } = options
  const { clock, signal } = ctx
  return { url, headers: { ...headers, ...(await bearer(token)) }, timeout, maxBytes, clock, signal }
}

function resultOf(answer: Json): Json {
  const { result, error } = (answer ?? {}) as { result?: Json; error?: { code?: unknown; message?: unknown } }
  if (error !== undefined && error !== null) {
    const text = `The agent answered with error ${String(error.code)}: ${String(error.message)}`
    throw fault("REMOTE_REFUSED", text, false)
  }
  if (result === undefined) throw fault("REMOTE_INVALID", "The agent's answer is not JSON-RPC.", false)
  return result
}
