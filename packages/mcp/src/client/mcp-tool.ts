/** One tool of a server as a tool of an agent. */
import {
  CallToolResultSchema,
  type Tool as ListedTool,
  type Progress,
} from "@modelcontextprotocol/sdk/types.js"
import { isSuperstepError, type Json, type Schema, SuperstepError } from "@superstep/engine"
import { type Approval, jsonSchema, type Tool, type ToolCallContext, tool } from "@superstep/engine/tools"
import type { McpServer } from "./mcp-server.ts"
import { failureText, toolValue } from "./tool-value.ts"

export interface McpToolPolicies {
  readonly approval?: Approval | undefined
  readonly trustHints?: boolean | undefined
}

/** Every model call pays for it. */
const MAX_DESCRIPTION = 10_000

export function mcpTool(
  server: McpServer,
  listed: ListedTool,
  name: string,
  policies: McpToolPolicies,
): Tool {
  const { description, title, inputSchema, annotations = {} } = listed
  // What a server says about itself is believed where the user says so.
  const isRepeatable = annotations.readOnlyHint === true || annotations.idempotentHint === true
  return tool({
    name,
    description: textOr(
      description,
      textOr(title, `"${listed.name}" of the MCP server "${server.name}".`),
    ).slice(0, MAX_DESCRIPTION),
    input: tolerant(inputSchema as Json),
    parameters: inputSchema as Json,
    approval: policies.approval,
    idempotent: policies.trustHints === true && isRepeatable ? true : undefined,
    run: (args: Readonly<Record<string, unknown>>, call) => callMcpTool(server, listed.name, args, call),
  })
}

function textOr(text: string | undefined, otherwise: string): string {
  return text === undefined || text.trim() === "" ? otherwise : text
}

/**
 * A schema that cannot be used here is left to the server, which checks the arguments itself; and so are its patterns: one
 * that a stranger wrote can take for ever.
 */
function tolerant(schema: Json): Schema<Readonly<Record<string, unknown>>> {
  const strict = jsonSchema<Readonly<Record<string, unknown>>>(checkable(schema))["~standard"]
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

/** For each schema once: it is compiled as often as it is made. */
const known = new WeakMap<object, Json>()

function checkable(schema: Json): Json {
  if (typeof schema !== "object" || schema === null) return schema
  const made = known.get(schema) ?? withoutPatterns(schema)
  known.set(schema, made)
  return made
}

function withoutPatterns(schema: Json): Json {
  if (typeof schema !== "object" || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(withoutPatterns)
  const entries = Object.entries(schema).flatMap(([key, item]): [string, Json][] => {
    if (item === undefined || (key === "pattern" && typeof item === "string")) return []
    // Without them their properties would count as additional ones.
    if (key === "additionalProperties" && "patternProperties" in schema) return []
    if (key === "patternProperties") return []
    return [[key, DATA.has(key) ? item : NAMED.has(key) ? ofEach(item) : withoutPatterns(item)]]
  })
  return Object.fromEntries(entries)
}

const DATA = new Set(["const", "enum", "default", "examples"])
/** Keywords whose own keys are names. */
const NAMED = new Set(["properties", "$defs", "definitions", "dependentSchemas"])

function ofEach(schemas: Json): Json {
  if (typeof schemas !== "object" || schemas === null || Array.isArray(schemas)) return schemas
  return Object.fromEntries(
    Object.entries(schemas).flatMap(([name, one]) =>
      one === undefined ? [] : [[name, withoutPatterns(one)]],
    ),
  )
}

async function callMcpTool(
  server: McpServer,
  name: string,
  args: Readonly<Record<string, unknown>>,
  { signal, ctx, tool: shownAs, idempotencyKey }: ToolCallContext,
): Promise<Json> {
  const params = { name, arguments: args, _meta: { "superstep/idempotency-key": idempotencyKey } }
  const onProgress = (progress: Progress) =>
    ctx.log("info", server.hidden.text(`${shownAs}: ${said(progress)}`), numbers(progress))
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
    // The tool did run and say no: the model reads why. Running it again as it is gives the same.
    throw new SuperstepError("MCP_TOOL_FAILED", server.hidden.text(failureText(result)), { retryable: false })
  }
  return server.hidden.json(toolValue(result))
}

function said({ progress, total, message }: Progress): string {
  return message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)
}

function numbers({ progress, total }: Progress): Json {
  return total === undefined ? { progress } : { progress, total }
}
