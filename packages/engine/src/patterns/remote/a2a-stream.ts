/** Results of JSON-RPC, one or a stream of them, and a task read from such a stream. */
import type { Json } from "../../core/index.ts"
import { readResult, type TaskNews, type TaskReader, type TaskView } from "./a2a-wire.ts"
import {
  eventData,
  fault,
  maskedExcerpt,
  parseJson,
  type RemoteRequest,
  readText,
  requestStream,
} from "./remote-request.ts"

export interface ResultStream {
  next(): Promise<IteratorResult<Json, undefined>>
  /** Stops reading, without waiting. */
  close(): void
}

/** Reads until the task ends. Undefined if the stream breaks off before. */
export async function readAll(
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
      // A broken stream says nothing about the task; an invalid message from the agent does.
      if (error instanceof TypeError || (error as { code?: unknown }).code === "UND_ERR_SOCKET")
        return undefined
      throw error
    }
  }
  return reader.end()
}

/** Opens a stream of results. */
export async function openResults(request: RemoteRequest): Promise<ResultStream> {
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

export function resultOf(request: RemoteRequest, answer: Json): Json {
  const { result, error } = (answer ?? {}) as { result?: Json; error?: { code?: unknown; message?: unknown } }
  if (error !== undefined && error !== null) {
    const said = maskedExcerpt(request, String(error.message))
    const text = `The agent answered with error ${String(error.code)}: ${said}`
    throw fault("REMOTE_REFUSED", text, error.code === INTERNAL_ERROR)
  }
  if (result === undefined) throw fault("REMOTE_INVALID", "The agent's answer is not JSON-RPC.", false)
  return result
}
