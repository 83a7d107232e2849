/**
 * A stand-in for a model: a server on this machine with OpenAI's chat interface.
 *
 * It makes the calls that the user's message lists, one in each turn (`CALL think {"thought":"…"}`), then answers with the last
 * message. An answer with a JSON Schema is the smallest value that the schema allows.
 */
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

type Data = { readonly [name: string]: unknown }

export interface StandIn {
  readonly url: string
  /** The bodies of the requests so far. */
  readonly requests: readonly Data[]
  close(): Promise<void>
}

/** `choose` names calls for a message without any: for files whose prompts nobody wrote for this server. */
export async function standInServer(
  choose: (tools: readonly OfferedTool[]) => readonly PlannedCall[] = () => [],
): Promise<StandIn> {
  const requests: Data[] = []
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString() || "{}") as Data
    requests.push(body)
    send(response, body, replyTo(body, choose))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

export interface OfferedTool {
  readonly name: string
  readonly parameters: unknown
}

export interface PlannedCall {
  readonly name: string
  readonly args: string
}

interface Reply {
  readonly text?: string
  readonly call?: PlannedCall & { readonly id: string }
}

function replyTo(body: Data, choose: (tools: readonly OfferedTool[]) => readonly PlannedCall[]): Reply {
  const messages = (body.messages ?? []) as readonly Data[]
  const offered = ((body.tools ?? []) as readonly { function: OfferedTool }[]).map((one) => one.function)
  const from = messages.findLastIndex(({ role }) => role === "user")
  const asked = textOf(messages[from])
  const listed = [...asked.matchAll(/^CALL (\w[\w-]*) ?(.*)$/gm)].map(([, name = "", args = ""]) => ({
    name,
    args: args === "" ? "{}" : args,
  }))
  const calls = listed.length > 0 ? listed : choose(offered)
  const done = messages.slice(from + 1).filter(({ role }) => role === "assistant").length
  const next = calls[done]
  if (next !== undefined && offered.length > 0) return { call: { ...next, id: `call_${done + 1}` } }
  const format = body.response_format as { json_schema?: { schema?: unknown } } | undefined
  const schema = format?.json_schema?.schema
  if (schema !== undefined) return { text: JSON.stringify(smallest(schema)) }
  return { text: `Done: ${textOf(messages.at(-1))}` }
}

function textOf(message: Data | undefined): string {
  const { content } = message ?? {}
  if (typeof content === "string") return content
  return Array.isArray(content) ? content.map((part: Data) => String(part.text ?? "")).join("") : ""
}

/** The smallest value that a JSON Schema allows, as far as definitions use it. */
export function smallest(schema: unknown): unknown {
  const {
    type,
    enum: values,
    properties = {},
    required = [],
    anyOf,
    items,
    minimum = 1,
    minItems = 0,
  } = Object(schema) as { [name: string]: never } & { minimum?: number; minItems?: number }
  if (Array.isArray(values)) return (values as readonly unknown[])[0]
  if (Array.isArray(anyOf)) return smallest((anyOf as readonly unknown[])[0])
  const kind = Array.isArray(type) ? (type as readonly unknown[])[0] : type
  switch (kind) {
    case "object": {
      const names = required as readonly string[]
      return Object.fromEntries(names.map((name) => [name, smallest((properties as Data)[name])]))
    }
    case "array":
      return Array.from({ length: minItems }, () => smallest(items))
    case "integer":
    case "number":
      return minimum
    case "boolean":
      return true
    case "null":
      return null
    default:
      return "tea"
  }
}

const HEAD = { id: "chatcmpl-1", created: 1_750_000_000, model: "stand-in" }
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

function send(response: ServerResponse, body: Data, { text, call }: Reply): void {
  const finish_reason = call === undefined ? "stop" : "tool_calls"
  const tool_calls = call && [
    { index: 0, id: call.id, type: "function", function: { name: call.name, arguments: call.args } },
  ]
  const message = { role: "assistant", content: text ?? null, ...(tool_calls && { tool_calls }) }
  if (body.stream !== true) {
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ ...HEAD, choices: [{ index: 0, message, finish_reason }], usage: USAGE }))
    return
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  const chunk = (data: Data) => response.write(`data: ${JSON.stringify({ ...HEAD, ...data })}\n\n`)
  chunk({ choices: [{ index: 0, delta: message, finish_reason: null }] })
  chunk({ choices: [{ index: 0, delta: {}, finish_reason }], usage: USAGE })
  response.end("data: [DONE]\n\n")
}
