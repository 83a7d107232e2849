/**
 * `mcpToolset(…)`: the tools of an MCP server, for agents.
 *
 * T1 Nothing is started until an agent needs it; all tasks share one connection, which is restored after a failure.
 * T2 A server's failure during a call is a result for the model. Before the first model call it fails the task, which may be
 *    retried; for an `optional` server it is a warning, and the agent runs without its tools.
 * T3 What the server sends is untrusted: names are adapted, schemas are checked, sizes are limited, and hints about what a
 *    tool does are ignored unless `trustHints` is set.
 */
import {
  type GetPromptResult,
  isSpecType,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  type StandardSchemaV1,
  specTypeSchemas,
} from "@modelcontextprotocol/client"
import { type Context, type Json, SuperstepError } from "@superstep/engine"
import { type Approval, checkApproval, type Tool, type Toolset, tool } from "@superstep/engine/tools"
import type { Connection } from "./connection.ts"
import { McpServer, type McpServerOptions } from "./mcp-server.ts"
import {
  CachedToolList,
  everyPage,
  idlePatterns,
  mcpTool,
  type ToolFilter,
  type ToolList,
  toolFilter,
  toolNames,
} from "./mcp-tool.ts"
import { checkAddress, type McpServerAddress } from "./server-address.ts"
import { resourceOf, toolValue } from "./tool-content.ts"
import type { InteractionOptions } from "./tool-rounds.ts"

export interface McpToolsetOptions extends McpServerOptions, InteractionOptions {
  /** Which tools the agent gets. Default: all. */
  readonly tools?: ToolFilter | undefined
  /** Prefix of every tool's name: `github_`. */
  readonly prefix?: string | undefined
  readonly approval?: Approval | undefined
  /** Trust the server's hints on which tools are read-only or idempotent: those are called again after a crash. */
  readonly trustHints?: boolean | undefined
  /** Continue without the tools if the server is unreachable. */
  readonly optional?: boolean | undefined
  /** Offers prompts and resources as tools: `list_prompts` and `get_prompt`, `list_resources` and `read_resource`. */
  readonly asTools?:
    | { readonly prompts?: boolean | undefined; readonly resources?: boolean | undefined }
    | undefined
  /** Instructions for the agent. Default: those of the server. */
  readonly instructions?: string | undefined
}

export interface McpToolset extends Toolset {
  listPrompts(options?: ReadOptions): Promise<readonly Prompt[]>
  getPrompt(
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: ReadOptions,
  ): Promise<GetPromptResult>
  listResources(options?: ReadOptions): Promise<readonly Resource[]>
  readResource(uri: string, options?: ReadOptions): Promise<ReadResourceResult>
  /** Ends the connection, and the server's program. The next use starts it again. */
  close(): Promise<void>
}

export function mcpToolset(address: McpServerAddress, options: McpToolsetOptions = {}): McpToolset {
  checkAddress(address)
  checkOptions(options)
  const { elicitation = true, sampling = false } = options
  const server = new McpServer(address, options, { elicitation, sampling: sampling !== false })
  const list = new CachedToolList()
  return {
    name: server.name,
    get instructions() {
      return options.instructions ?? server.instructions
    },
    async tools(ctx) {
      try {
        const listed = await server.request(
          "its list of tools",
          (connection, signal) => list.get(connection, signal),
          { signal: ctx.signal },
        )
        return toolsOf(server, listed, options, ctx)
      } catch (error) {
        ctx.signal?.throwIfAborted()
        if (options.optional !== true) throw error
        const reason = error instanceof Error ? error.message : String(error)
        ctx.log("warn", `Continuing without the tools of "${server.name}": ${reason}`)
        return []
      }
    },
    listPrompts: (read) => listPrompts(server, read),
    getPrompt: (name, args, read) => getPrompt(server, name, args, read),
    listResources: (read) => listResources(server, read),
    readResource: (uri, read) => readResource(server, uri, read),
    close: () => server.close(),
  }
}

function toolsOf(
  server: McpServer,
  { tools, problems }: ToolList,
  options: McpToolsetOptions,
  ctx: Context,
): readonly Tool[] {
  const { prefix = "", asTools = {} } = options
  const allowed = toolFilter(options.tools)
  const chosen = tools.filter(({ name }) => allowed(name))
  for (const problem of problems) ctx.log("warn", `Skipped a tool of "${server.name}": ${problem}.`)
  const known = tools.map(({ name }) => name)
  for (const pattern of idlePatterns(options.tools, known)) {
    ctx.log(
      "warn",
      `"${pattern}" matches no tool of "${server.name}". It has: ${known.join(", ") || "none"}.`,
    )
  }
  const chosenNames = chosen.map(({ name }) => name)
  const names = toolNames(chosenNames, prefix)
  const taken = new Set(names.values())
  const nameFor = (name: string) => (taken.has(prefix + name) ? `${prefix}mcp_${name}` : prefix + name)
  return [
    ...chosen.map((one) => mcpTool(server, one, names.get(one.name) ?? one.name, options)),
    ...(asTools.prompts === true ? promptTools(server, nameFor, options.approval) : []),
    ...(asTools.resources === true ? resourceTools(server, nameFor, options.approval) : []),
  ]
}

const DURATIONS = ["timeout", "connectTimeout", "maxMessage"] as const

function checkOptions(options: McpToolsetOptions): void {
  for (const name of DURATIONS) {
    const value = options[name]
    if (value !== undefined && !(Number.isFinite(value) && value > 0)) {
      throw invalid(`${name} must be a number above 0, not ${value}.`)
    }
  }
  const { prefix, approval, reconnect } = options
  if (prefix !== undefined && !/^[A-Za-z0-9_-]{0,32}$/.test(prefix)) {
    throw invalid('prefix must be at most 32 letters, digits, "_" and "-".')
  }
  const problem = approval === undefined ? undefined : checkApproval(approval)
  if (problem !== undefined) throw invalid(problem)
  const attempts = reconnect?.attempts
  if (attempts !== undefined && !(Number.isInteger(attempts) && attempts >= 1)) {
    throw invalid(`reconnect.attempts must be a whole number of at least 1, not ${attempts}.`)
  }
}

function invalid(reason: string): SuperstepError {
  return new SuperstepError("MCP_SERVER_INVALID", `MCP toolset: ${reason}`, { retryable: false })
}

// The prompts and resources of a server: read by programs, and optionally by the agent itself.

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined
}

/** Empty if the server has no prompts. */
async function listPrompts(server: McpServer, options?: ReadOptions): Promise<readonly Prompt[]> {
  const items = await list(server, "prompts", options)
  return items.filter(isSpecType.Prompt)
}

async function getPrompt(
  server: McpServer,
  name: string,
  args: Readonly<Record<string, string>> = {},
  options?: ReadOptions,
): Promise<GetPromptResult> {
  const request = { method: "prompts/get", params: { name, arguments: args } }
  return await ask(
    server,
    "prompts",
    `the prompt "${name}"`,
    request,
    specTypeSchemas.GetPromptResult,
    options,
  )
}

/** Empty if the server has no resources. */
async function listResources(server: McpServer, options?: ReadOptions): Promise<readonly Resource[]> {
  const items = await list(server, "resources", options)
  return items.filter(isSpecType.Resource)
}

async function readResource(
  server: McpServer,
  uri: string,
  options?: ReadOptions,
): Promise<ReadResourceResult> {
  const request = { method: "resources/read", params: { uri } }
  return await ask(
    server,
    "resources",
    `the resource "${uri}"`,
    request,
    specTypeSchemas.ReadResourceResult,
    options,
  )
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
function ask<S extends StandardSchemaV1>(
  server: McpServer,
  kind: Kind,
  what: string,
  request: { readonly method: string; readonly params: Record<string, unknown> },
  schema: S,
  options: ReadOptions | undefined,
): Promise<StandardSchemaV1.InferOutput<S>> {
  const send = (connection: Connection, signal: AbortSignal) => {
    if (connection.capabilities[kind] !== undefined) return connection.request(request, schema, { signal })
    const text = `The MCP server "${server.name}" has no ${kind}.`
    throw new SuperstepError("MCP_REFUSED", text, { retryable: false })
  }
  return server.request(what, send, options)
}

/** The name of an extra tool, which must differ from those of the server. */
type NameFor = (name: string) => string

function promptTools(server: McpServer, nameFor: NameFor, approval: Approval | undefined): Tool[] {
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

function resourceTools(server: McpServer, nameFor: NameFor, approval: Approval | undefined): Tool[] {
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
