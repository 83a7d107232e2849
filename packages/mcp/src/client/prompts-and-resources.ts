/** The prompts and resources of a server: read by programs, and on wish by the agent itself. */
import {
  type GetPromptResult,
  GetPromptResultSchema,
  type Prompt,
  PromptSchema,
  type ReadResourceResult,
  ReadResourceResultSchema,
  type Resource,
  ResourceSchema,
  ResultSchema,
} from "@modelcontextprotocol/sdk/types.js"
import { type Json, SuperstepError } from "@superstep/engine"
import { type Approval, type Tool, tool } from "@superstep/engine/tools"
import type { Connection } from "./connection.ts"
import { everyPage } from "./every-page.ts"
import type { McpServer } from "./mcp-server.ts"
import { resourceOf, toolValue } from "./tool-value.ts"

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined
}

/** Nothing, where the server has no prompts. */
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
  return await server.request(
    `the prompt "${name}"`,
    (connection, signal) => {
      demand(connection, server, "prompts")
      return connection.request(request, GetPromptResultSchema, { signal })
    },
    options,
  )
}

/** Nothing, where the server has no resources. */
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
  return await server.request(
    `the resource "${uri}"`,
    (connection, signal) => {
      demand(connection, server, "resources")
      return connection.request(request, ReadResourceResultSchema, { signal })
    },
    options,
  )
}

type Kind = "prompts" | "resources"

function list(server: McpServer, kind: Kind, options: ReadOptions | undefined): Promise<unknown[]> {
  return server.request(
    `its list of ${kind}`,
    async (connection, signal) => {
      if (connection.capabilities[kind] === undefined) return []
      return await everyPage(kind, signal, (cursor) => {
        const params = cursor === undefined ? {} : { cursor }
        return connection.request({ method: `${kind}/list`, params }, ResultSchema, { signal })
      })
    },
    options,
  )
}

function demand({ capabilities }: Connection, { name }: McpServer, kind: Kind): void {
  if (capabilities[kind] !== undefined) return
  throw new SuperstepError("MCP_REFUSED", `The MCP server "${name}" has no ${kind}.`, { retryable: false })
}

/** What a tool of ours is called beside those of the server. */
type NameFor = (name: string) => string

export function promptTools(server: McpServer, nameFor: NameFor, approval: Approval | undefined): Tool[] {
  return [
    tool({
      name: nameFor("list_prompts"),
      description: `Lists the prompts that the MCP server "${server.name}" has, with their arguments.`,
      approval,
      idempotent: true,
      run: async (_, { signal }) =>
        server.hidden.json((await listPrompts(server, { signal })) as unknown as Json),
    }),
    tool({
      name: nameFor("get_prompt"),
      description: `Gives one of the prompts of the MCP server "${server.name}", filled in.`,
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
        const said = messages.map(({ role, content }) => ({
          role,
          content: toolValue({ content: [content] }),
        }))
        return server.hidden.json(said)
      },
    }),
  ]
}

export function resourceTools(server: McpServer, nameFor: NameFor, approval: Approval | undefined): Tool[] {
  return [
    tool({
      name: nameFor("list_resources"),
      description: `Lists the resources (documents, data) that the MCP server "${server.name}" has, with their URIs.`,
      approval,
      idempotent: true,
      run: async (_, { signal }) =>
        server.hidden.json((await listResources(server, { signal })) as unknown as Json),
    }),
    tool({
      name: nameFor("read_resource"),
      description: `Reads one of the resources of the MCP server "${server.name}" by its URI.`,
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
