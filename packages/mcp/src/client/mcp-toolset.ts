/**
 * `mcpToolset(…)`: the tools of an MCP server, for agents.
 *
 * T1 Nothing is started until an agent needs it; all tasks share one connection, which is restored after a failure.
 * T2 A server's failure during a call is a result for the model. Before the first model call it fails the task, which may be
 *    retried; for an `optional` server it is a warning, and the agent runs without its tools.
 * T3 What the server sends is untrusted: names are adapted, schemas are checked, sizes are limited, and hints about what a
 *    tool does are ignored unless `trustHints` is set.
 */
import type {
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
} from "@modelcontextprotocol/sdk/types.js"
import { type Context, SuperstepError } from "@superstep/engine"
import { type Approval, checkApproval, type Tool, type Toolset } from "@superstep/engine/tools"
import { McpServer, type McpServerOptions } from "./mcp-server.ts"
import { mcpTool } from "./mcp-tool.ts"
import {
  getPrompt,
  listPrompts,
  listResources,
  promptTools,
  type ReadOptions,
  readResource,
  resourceTools,
} from "./prompts-and-resources.ts"
import { checkAddress, type McpServerAddress } from "./server-address.ts"
import {
  CachedToolList,
  idlePatterns,
  type ToolFilter,
  type ToolList,
  toolFilter,
  toolNames,
} from "./tool-list.ts"

export interface McpToolsetOptions extends McpServerOptions {
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
  const server = new McpServer(address, options)
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
