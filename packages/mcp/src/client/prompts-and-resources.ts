/** The prompts and resources of a server: read by programs, and optionally by the agent itself. */

import type { AnySchema, SchemaOutput } from "@modelcontextprotocol/sdk/server/zod-compat.js"
import {
  type GetPromptResult,
  GetPromptResultSchema,
  type Prompt,
  PromptSchema,
  type ReadResourceResult,
  ReadResourceResultSchema,
  type Resource,
  ResourceSchema,
} from "@modelcontextprotocol/sdk/types.js"
import { type Json, SuperstepError } from "@superstep/engine"
import { type Approval, type Tool, tool } from "@superstep/engine/tools"
import type { Connection } from "./connection.ts"
import type { McpServer } from "./mcp-server.ts"
import { resourceOf, toolValue } from "./mcp-tool.ts"
import { everyPage } from "./tool-list.ts"

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined
}

/** Empty if the server has no prompts. */
export async function listPrompts(server: McpServer, options?: ReadOptions): Promise<readonly Prompt[]> {
  const items = await list(server, "prompts", options)
  return items.flatMap((item) => PromptSchema.safeParse(item).data ?? [])
}

export async function getPrompt(
  server: McpServer,
  name: string,
  args: Readonly<Record<string, string>> = {},
  options?: ReadOptions,
): Promise<GetPromptResult> {
  const request = { method: "prompts/get", params: { name, arguments: args } }
  return await ask(server, "prompts", `the prompt "${name}"`, request, GetPromptResultSchema, options)
}

/** Empty if the server has no resources. */
export async function listResources(server: McpServer, options?: ReadOptions): Promise<readonly Resource[]> {
  const items = await list(server, "resources", options)
  return items.flatMap((item) => ResourceSchema.safeParse(item).data ?? [])
}

export async function readResource(
  server: McpServer,
  uri: string,
  options?: ReadOptions,
): Promise<ReadResourceResult> {
  const request = { method: "resources/read", params: { uri } }
  return await ask(server, "resources", `the resource "${uri}"`, request, ReadResourceResultSchema, options)
}

type Kind = "prompts" | "resources"

function list(server: McpServer, kind: Kind, options: ReadOptions | undefined): Promise<unknown[]> {
  return server.request(
    `its list of ${kind}`,
    (connection, signal) => everyPage(connection, kind, signal),
    options,
  )
}

/** Throws if the server lacks the capability. */
function ask<S extends AnySchema>(
  server: McpServer,
  kind: Kind,
  what: string,
  request: { readonly method: string; readonly params: Record<string, unknown> },
  schema: S,
  options: ReadOptions | undefined,
): Promise<SchemaOutput<S>> {
  const send = (connection: Connection, signal: AbortSignal) => {
    if (connection.capabilities[kind] !== undefined) return connection.request(request, schema, { signal })
    const text = `The MCP server "${server.name}" has no ${kind}.`
    throw new SuperstepError("MCP_REFUSED", text, { retryable: false })
  }
  return server.request(what, send, options)
}

/** The name of an extra tool, which must differ from those of the server. */
type NameFor = (name: string) => string

export function promptTools(server: McpServer, nameFor: NameFor, approval: Approval | undefined): Tool[] {
  return [
    tool({
      name: nameFor("list_prompts"),
      description: `Lists the prompts of the MCP server "${server.name}", with their arguments.`,
      approval,
      idempotent: true,
      run: async (_, { signal }) =>
        server.hidden.json((await listPrompts(server, { signal })) as unknown as Json),
    }),
    tool({
      name: nameFor("get_prompt"),
      description: `Returns a prompt of the MCP server "${server.name}", filled in.`,
      input: {
        jsonSchema: {
          type: "object",
          properties: {
            name: { type: "string" },
            arguments: { type: "object", additionalProperties: { type: "string" } },
          },
          required: ["name"],
          additionalProperties: false,
        },
      },
      approval,
      idempotent: true,
      run: async (args: { name: string; arguments?: Readonly<Record<string, string>> }, { signal }) => {
        const { messages } = await getPrompt(server, args.name, args.arguments, { signal })
        return server.hidden.json(
          messages.map(({ role, content }) => ({ role, content: toolValue({ content: [content] }) })),
        )
      },
    }),
  ]
}

export function resourceTools(server: McpServer, nameFor: NameFor, approval: Approval | undefined): Tool[] {
  return [
    tool({
      name: nameFor("list_resources"),
      description: `Lists the resources (documents, data) of the MCP server "${server.name}", with their URIs.`,
      approval,
      idempotent: true,
      run: async (_, { signal }) =>
        server.hidden.json((await listResources(server, { signal })) as unknown as Json),
    }),
    tool({
      name: nameFor("read_resource"),
      description: `Reads a resource of the MCP server "${server.name}" by its URI.`,
      input: {
        jsonSchema: {
          type: "object",
          properties: { uri: { type: "string" } },
          required: ["uri"],
          additionalProperties: false,
        },
      },
      approval,
      idempotent: true,
      run: async ({ uri }: { uri: string }, { signal }) => {
        const { contents } = await readResource(server, uri, { signal })
        return server.hidden.json(
          contents.length === 1 ? resourceOf(contents[0] as never) : contents.map(resourceOf),
        )
      },
    }),
  ]
}
