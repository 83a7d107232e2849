/** One tool of a server as a tool of an agent. */
import {
  CallToolResultSchema,
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
import { failureText, toolValue } from "./tool-value.ts"

export interface McpToolPolicies {
  readonly approval?: Approval | undefined
  readonly trustHints?: boolean | undefined
}

/** Every model call pays for the description. */
const MAX_DESCRIPTION = 10_000

export function mcpTool(
  server: McpServer,
  listed: ListedTool,
  name: string,
  policies: McpToolPolicies,
): Tool {
  const { description, title, inputSchema, annotations = {} } = listed
  // The hints of a server are trusted only if the user says so.
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
