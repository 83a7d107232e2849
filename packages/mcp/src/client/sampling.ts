/**
 * A server that wants the agent's model to write something (sampling). The call is a recorded step of the agent: it counts
 * against the budget of the run and the limits of the agent. The model sees what the server sends, and nothing else of the
 * conversation.
 */
import type { CreateMessageRequest } from "@modelcontextprotocol/client"
import { type Json, SuperstepError } from "@superstep/engine"
import { cutText } from "@superstep/engine/text"
import { type GenerateRequest, jsonSchema, type ToolCallContext } from "@superstep/engine/tools"
import type { McpServer } from "./mcp-server.ts"

export interface SamplingOptions {
  /** `always`, the default: a person approves each use. `never`: the budget alone limits it. */
  readonly approval?: "always" | "never" | undefined
  /** Maximum tokens of one reply. Default 1,000. */
  readonly maxTokens?: number | undefined
}

type Params = CreateMessageRequest["params"]
type Message = GenerateRequest["messages"][number]

const MAX_SHOWN = 4_000

const APPROVAL: Json = {
  type: "object",
  properties: {
    approve: { type: "boolean", description: "Whether the server may use the model." },
    reason: { type: "string", description: "Shown to the agent when it may not." },
  },
  required: ["approve"],
  additionalProperties: false,
}

export async function sampled(
  server: McpServer,
  params: Params,
  call: ToolCallContext,
  { approval = "always", maxTokens = 1_000 }: SamplingOptions,
): Promise<Json> {
  const { generate } = call
  if (generate === undefined) throw refused(server, "only the tools of an agent have a model")
  if ("tools" in params && params.tools !== undefined)
    throw refused(server, "it may not give tools to the model")
  const request = requestOf(server, params, maxTokens)
  if (approval === "always") await approved(server, request, call)
  const { text, model, finish } = await generate(request)
  return {
    role: "assistant",
    content: { type: "text", text },
    model,
    stopReason: finish === "length" ? "maxTokens" : "endTurn",
  }
}

function requestOf(server: McpServer, params: Params, maxTokens: number): GenerateRequest {
  const { systemPrompt, maxTokens: wanted, temperature, stopSequences } = params
  return {
    messages: params.messages.map(({ role, content }) => ({
      role,
      content: (Array.isArray(content) ? content : [content]).map((block) => partOf(server, block)),
    })),
    maxOutputTokens: Math.max(1, Math.min(wanted, maxTokens)),
    ...(systemPrompt !== undefined && { instructions: systemPrompt }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences !== undefined && { stopSequences }),
  }
}

function partOf(
  server: McpServer,
  block: { readonly type: string; readonly [key: string]: unknown },
): Message["content"][number] {
  if (block.type === "text") return { type: "text", text: String(block.text) }
  if (block.type === "image" || block.type === "audio") {
    return { type: "file", mediaType: String(block.mimeType), data: String(block.data) }
  }
  throw refused(server, `it may not send ${block.type} to the model`)
}

async function approved(server: McpServer, request: GenerateRequest, call: ToolCallContext): Promise<void> {
  const shown = (text: string) => cutText(text, MAX_SHOWN)
  const messages = request.messages.map(({ role, content }) => ({
    role,
    text: shown(content.map((part) => (part.type === "text" ? part.text : `[${part.mediaType}]`)).join("\n")),
  }))
  const { instructions, maxOutputTokens } = request
  const { approve, reason } = await call.ctx.ask<{ approve: boolean; reason?: string }>({
    prompt: `Allow the MCP server "${server.name}" to use the model of "${call.agent}"?`,
    data: {
      kind: "mcp-sampling",
      server: server.name,
      tool: call.tool,
      messages,
      ...(instructions !== undefined && { instructions: shown(instructions) }),
      ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    } as unknown as Json,
    schema: jsonSchema(APPROVAL),
  })
  if (!approve) throw refused(server, `a person denied it${reason === undefined ? "" : `: ${reason}`}`)
}

function refused({ name }: McpServer, why: string): SuperstepError {
  const text = `The MCP server "${name}" may not use the model: ${why.replace(/\.$/, "")}.`
  return new SuperstepError("MCP_SAMPLING_REFUSED", text, { retryable: false })
}
