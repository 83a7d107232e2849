/** Replies as servers with OpenAI's chat interface give them, the good and the bad. */
import type { ServedReply } from "./model-server.ts"

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }

type Data = Record<string, unknown>

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly args: string
}

const HEAD = { id: "chatcmpl-1", created: 1_750_000_000, model: "m1" }

export function json(data: unknown, status = 200, headers: Record<string, string> = {}): ServedReply {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(JSON.stringify(data))
  }
}

function completion(message: Data, finish: string, usage: unknown = USAGE): ServedReply {
  const choice = { index: 0, message: { role: "assistant", ...message }, finish_reason: finish }
  return json({ ...HEAD, object: "chat.completion", choices: [choice], usage })
}

export const text = (content: string, usage?: unknown): ServedReply => completion({ content }, "stop", usage)

export function toolCalls(...calls: ToolCall[]): ServedReply {
  const tool_calls = calls.map(({ id, name, args }) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  }))
  return completion({ content: null, tool_calls }, "tool_calls")
}

export function refused(status: number, message: string, headers: Record<string, string> = {}): ServedReply {
  return json({ error: { message, type: "error", code: null } }, status, headers)
}

/** Not JSON at all, with a status that says that all is well. */
export const garbage: ServedReply = (response) => {
  response.writeHead(200, { "content-type": "application/json" })
  response.end("<html>\u0000 Bad gateway")
}

/** JSON, but not of this interface. */
export const wrongShape: ServedReply = json({ choices: "none", usage: [] })

/** Takes the request and says nothing. */
export const silence: ServedReply = () => undefined

/** Says that a stream begins, and then nothing. */
export const slowFirstByte: ServedReply = (response) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.flushHeaders()
}

export const hangUp: ServedReply = (response) => {
  response.destroy()
}

// Streams

export const piece = (delta: Data): string =>
  event({ ...HEAD, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: null }] })
export const says = (content: string): string => piece({ role: "assistant", content })
export const toolPiece = (index: number, call: Data): string => piece({ tool_calls: [{ index, ...call }] })
export const ends = (reason: string): string =>
  event({
    ...HEAD,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: {}, finish_reason: reason }],
  })
export const used: string = event({ ...HEAD, object: "chat.completion.chunk", choices: [], usage: USAGE })
export const DONE = "data: [DONE]\n\n"

export function event(data: unknown): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`
}

/** Events as they are; each is written by itself. */
export function stream(...events: string[]): ServedReply {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const one of events) response.write(one)
    response.end()
  }
}

/** Some events, and then the connection is gone in the middle of one. */
export function brokenStream(...events: string[]): ServedReply {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const one of events) response.write(one)
    response.write('data: {"choices":[{"del', () => response.destroy())
  }
}

/** Some events, and then nothing more. */
export function stuckStream(...events: string[]): ServedReply {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const one of events) response.write(one)
  }
}
