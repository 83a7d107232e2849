/** One tool of a server as a tool of an agent, and its results as data that a model can read. */
import {
  type CallToolResult,
  CallToolResultSchema,
  type ContentBlock,
  type Tool as ListedTool,
  type Progress,
} from "@modelcontextprotocol/sdk/types.js"
import { isSuperstepError, type Json, type Schema, SuperstepError } from "@superstep/engine"
import { clipped, cutText } from "@superstep/engine/text"
import {
  type Approval,
  jsonSchema,
  type Tool,
  type ToolCallContext,
  tool,
  withoutUncheckedPatterns,
} from "@superstep/engine/tools"
import type { McpServer } from "./mcp-server.ts"

export interface McpToolPolicies {
  readonly approval?: Approval | undefined
  readonly trustHints?: boolean | undefined
}

/** The maximum length of a description: every model call pays for it. */
const MAX_DESCRIPTION = 10_000

export function mcpTool(
  server: McpServer,
  listed: ListedTool,
  name: string,
  policies: McpToolPolicies,
): Tool {
  const { description, title, inputSchema, annotations = {} } = listed
  // The hints of a server are trusted only if the user opts in.
  const isRepeatable = annotations.readOnlyHint === true || annotations.idempotentHint === true
  return tool({
    name,
    description: cutText(
      textOr(description, textOr(title, `"${listed.name}" of the MCP server "${server.name}".`)),
      MAX_DESCRIPTION,
    ),
    input: tolerant(inputSchema as Json),
    parameters: inputSchema as Json,
    approval: policies.approval,
    idempotent: policies.trustHints === true && isRepeatable ? true : undefined,
    run: (args: Readonly<Record<string, unknown>>, call) => {
      const { unchecked } = checkable(inputSchema as Json)
      if (unchecked.length > 0) {
        const text = `Arguments of "${name}" are sent to the MCP server "${server.name}" without a check of patterns that cannot be matched in linear time. The server checks them.`
        call.ctx.log("warn", text, { patterns: unchecked.map((pattern) => clipped(pattern, 200)) })
      }
      return callMcpTool(server, listed.name, args, call)
    },
  })
}

function textOr(text: string | undefined, otherwise: string): string {
  return text === undefined || text.trim() === "" ? otherwise : text
}

/**
 * A schema that is unusable here is left to the server, which checks the arguments itself; so are patterns that cannot be
 * matched in linear time, with a warning at each call.
 */
function tolerant(schema: Json): Schema<Readonly<Record<string, unknown>>> {
  const strict = strictest(checkable(schema).schema)["~standard"]
  const validate = async (value: unknown) => {
    try {
      return await strict.validate(value)
    } catch (error) {
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
      if (!isSuperstepError(error, "SCHEMA_INVALID") || !isObject) throw error
      return { value: value as Readonly<Record<string, unknown>> }
    }
  }
  return { "~standard": { ...strict, validate } }
}

function strictest(schema: Json): Schema<Readonly<Record<string, unknown>>> {
  try {
    return jsonSchema(schema)
  } catch (error) {
    if (!isSuperstepError(error, "SCHEMA_INVALID")) throw error
    return jsonSchema({ type: "object" })
  }
}

type Checkable = ReturnType<typeof withoutUncheckedPatterns>

/** Once for each schema object. */
const known = new WeakMap<object, Checkable>()

function checkable(schema: Json): Checkable {
  if (typeof schema !== "object" || schema === null) return { schema, unchecked: [] }
  const made = known.get(schema) ?? withoutUncheckedPatterns(schema)
  known.set(schema, made)
  return made
}

async function callMcpTool(
  server: McpServer,
  name: string,
  args: Readonly<Record<string, unknown>>,
  { signal, ctx, tool: shownAs, idempotencyKey }: ToolCallContext,
): Promise<Json> {
  const params = { name, arguments: args, _meta: { "superstep/idempotency-key": idempotencyKey } }
  const onProgress = (progress: Progress) =>
    ctx.log("info", server.hidden.text(`${shownAs}: ${progressText(progress)}`), numbers(progress))
  const result = await server.request(
    `the call of "${name}"`,
    (connection, limited) =>
      connection.request({ method: "tools/call", params }, CallToolResultSchema, {
        signal: limited,
        onProgress,
      }),
    { signal },
  )
  if (result.isError === true) {
    // The tool failed: the model reads why. Repeating the same call would fail again.
    throw new SuperstepError("MCP_TOOL_FAILED", server.hidden.text(failureText(result)), { retryable: false })
  }
  return server.hidden.json(toolValue(result))
}

function progressText({ progress, total, message }: Progress): string {
  return message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)
}

function numbers({ progress, total }: Progress): Json {
  return total === undefined ? { progress } : { progress, total }
}

/**
 * Structured content unchanged, text as text, several blocks as a list. Servers repeat structured content as text for older
 * clients: that copy is dropped. Images are files that a model sees; audio and other files are described, not included.
 */
export function toolValue({ content, structuredContent }: CallToolResult): Json {
  const shown = (content ?? []).map(blockOf)
  if (structuredContent === undefined) return together(shown)
  const structured = structuredContent as Json
  const others = shown.filter((block) => !repeats(block, structured))
  return others.length === 0 ? structured : { structured, content: together(others) }
}

/** Why a call failed. */
export function failureText(result: CallToolResult): string {
  const value = toolValue(result)
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return text.trim() === "" ? "The tool failed without a reason." : text
}

function together(blocks: readonly Json[]): Json {
  if (blocks.every((block) => typeof block === "string")) return blocks.join("\n")
  return blocks.length === 1 ? (blocks[0] as Json) : blocks
}

function blockOf(block: ContentBlock): Json {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
      return { type: "file", mediaType: block.mimeType, data: block.data }
    case "audio":
      return { type: block.type, mimeType: block.mimeType, bytes: bytesOf(block.data) }
    case "resource":
      return resourceOf(block.resource)
    case "resource_link": {
      const { type, uri, name, description, mimeType } = block
      return compact({ type, uri, name, description, mimeType })
    }
  }
}

export function resourceOf(
  resource: { uri: string; mimeType?: string | undefined } & Partial<Contents>,
): Json {
  const { uri, mimeType, text, blob } = resource
  if (text !== undefined) return compact({ type: "resource", uri, mimeType, text })
  return compact({ type: "resource", uri, mimeType, bytes: bytesOf(blob ?? "") })
}

interface Contents {
  readonly text: string
  readonly blob: string
}

/** Whether the block is the structured content as JSON, or one of its strings. */
function repeats(block: Json, structured: Json): boolean {
  if (typeof block !== "string") return false
  if (hasText(structured, block)) return true
  try {
    return JSON.stringify(JSON.parse(block)) === JSON.stringify(structured)
  } catch {
    return false
  }
}

function hasText(value: Json, text: string): boolean {
  if (typeof value !== "object" || value === null) return value === text
  return Object.values(value).some((item) => item !== undefined && hasText(item, text))
}

/** The size of base64 data, without decoding it. */
function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/(?<!=)=+$/, "").length * 3) / 4)
}

function compact(value: { readonly [key: string]: Json | undefined }): Json {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Json
}
