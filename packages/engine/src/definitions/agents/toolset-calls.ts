/** Plans a toolset of a definition as the call that creates it. */
import type { Json } from "../../core/index.ts"
import { nearest, type Path } from "../../document/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import { type Arg, type ArgObject, type Call, call, callWith } from "../plan/index.ts"
import {
  type AgentData,
  type PermissionsData,
  type ToolsetData,
  type ToolsetOf,
  toolsetShape,
} from "./agent-shape.ts"

export interface ToolsetContext {
  readonly report: DocumentReport
  readonly path: Path
  /** A path in the definition's folder, relative to the working directory. A path outside of the folder is reported. */
  beside(file: string, path: Path): string
  /** The file's `mcps`, which toolsets name by `ref`. */
  readonly mcps?: Readonly<Record<string, Json>> | undefined
}

const NOT_SUPPORTED = ["model", "toon", "defer", "config", "version"] as const

/** Undefined for a toolset that is omitted. The omission is reported. */
export function toolsetCall(data: ToolsetData, at: ToolsetContext): Call | undefined {
  const made = base(data, at)
  if (made === undefined) return undefined
  for (const field of NOT_SUPPORTED) if (field in data) ignored(at, field)
  if (data.type !== "mcp" && "name" in data) ignored(at, "name")
  const { tools, instruction } = data as ToolsetOf<"think">
  if (tools === undefined && instruction === undefined) return made
  return call("toolsetWith", made, { tools: tools?.map(ourToolName), instructions: instruction })
}

function base(data: ToolsetData, at: ToolsetContext): Call | undefined {
  switch (data.type) {
    case "think":
      if (data.shared !== undefined) ignored(at, "shared")
      return call("think")
    case "todo":
      return data.shared === undefined ? call("todo") : call("todo", { shared: data.shared })
    case "memory":
      return memoryCall(data, at)
    case "filesystem":
      return filesystemCall(data, at)
    case "shell":
      return shellCall(data, at)
    case "script":
      return scriptCall(data, at)
    case "fetch":
      return fetchCall(data, at)
    case "api":
      return apiCall(data, at)
    case "openapi":
      return openapiCall(data, at)
    case "provider":
      return call("providerTool", { type: "provider", id: data.id, args: data.args })
    case "mcp":
      return mcpCall(data, at)
    default: {
      const message = `The toolset "${data.type}" is not supported and is left out.`
      at.report.warning("NOT_SUPPORTED", message, [...at.path, "type"])
      return undefined
    }
  }
}

function memoryCall({ path, scope, embeddings }: ToolsetOf<"memory">, at: ToolsetContext): Call {
  const beside = (otherwise: string) => at.beside(path ?? otherwise, [...at.path, "path"])
  if (scope === undefined) {
    if (embeddings !== undefined) ignored(at, "embeddings")
    return call("memory", { file: beside(".superstep/memory.jsonl") })
  }
  return call("memory", {
    index: callWith("memoryIndex", [beside(".superstep/memories")], { embeddings }),
    scope,
  })
}

function filesystemCall(data: ToolsetOf<"filesystem">, at: ToolsetContext): Call {
  const { root = ".", readonly, ignore_vcs, deny_list = [] } = data
  if (data.post_edit !== undefined) ignored(at, "post_edit")
  if (data.allow_list !== undefined) refused("allow_list", "remove it and set `root` to the folder", at)
  const vcs = ignore_vcs === false ? [] : ["**/.git/**"]
  const deny = ignore_vcs === undefined && deny_list.length === 0 ? undefined : [...vcs, ...deny_list]
  return call("filesystem", { root, readOnly: readonly, deny })
}

function shellCall(data: ToolsetOf<"shell">, at: ToolsetContext): Call {
  const { allow, deny, env, secrets, timeout, shell } = data
  if (data.sandbox !== undefined) refused("sandbox", "commands would run outside of it", at)
  if (shell !== undefined) {
    for (const field of ["allow", "deny", "secrets", "timeout"] as const) {
      if (data[field] !== undefined) ignored(at, field)
    }
    return scriptCall({ type: "script", shell, env }, at)
  }
  const which: ArgObject =
    allow === undefined ? { allow: ["*"], shellStrings: true } : { allow, shellStrings: false }
  return call("shell", {
    enabled: true,
    root: ".",
    ...which,
    deny,
    env,
    secrets,
    timeout: milliseconds(timeout),
  })
}

function scriptCall({ shell, env, inherit }: ToolsetOf<"script">, at: ToolsetContext): Call {
  for (const [name, { args }] of Object.entries(shell)) checkArgs(args, name, ["shell", name, "args"], at)
  const tools = Object.fromEntries(Object.entries(shell).map(([name, tool]) => [name, tool as Arg]))
  return call("script", { tools, env, inherit, approval: "always" })
}

function fetchCall(data: ToolsetOf<"fetch">, at: ToolsetContext): Call {
  const { timeout, allowed_domains, blocked_domains, allow_private_ips } = data
  if (data.headers !== undefined) ignored(at, "headers")
  return callWith("webFetch", [], {
    timeout: milliseconds(timeout),
    allowHosts: allowed_domains?.flatMap(hosts),
    denyHosts: blocked_domains?.flatMap(hosts),
    allowPrivate: allow_private_ips,
  })
}

/** A domain includes its subdomains. */
function hosts(domain: string): string[] {
  if (domain.startsWith("*.")) return [domain]
  return domain.startsWith(".") ? [`*${domain}`] : [domain, `*.${domain}`]
}

function apiCall({ api_config }: ToolsetOf<"api">, at: ToolsetContext): Call {
  if (api_config.output_schema !== undefined) ignored(at, "api_config", "output_schema")
  const { name, instruction, endpoint, method, headers, args, required } = api_config
  checkArgs(args, name, ["api_config", "args"], at)
  return call("api", {
    name,
    description: instruction,
    endpoint,
    method,
    headers,
    args: args as Arg,
    required,
  })
}

/** The schemas of a tool's arguments. */
function checkArgs(
  args: Readonly<Record<string, Json>> | undefined,
  tool: string,
  path: Path,
  at: ToolsetContext,
): void {
  for (const [name, schema] of Object.entries(args ?? {})) {
    const what = `the argument "${name}" of the tool "${tool}"`
    at.report.checkSchema(schema, what, [...at.path, ...path, name])
  }
}

function openapiCall({ url, headers, timeout, server }: ToolsetOf<"openapi">, at: ToolsetContext): Call {
  const document = /^https?:/i.test(url) ? { url } : { file: at.beside(url, [...at.path, "url"]) }
  return call("openapi", { document, headers, timeout: milliseconds(timeout), server })
}

function mcpCall(data: ToolsetOf<"mcp">, at: ToolsetContext): Call | undefined {
  const { command, args, env, working_dir, remote, ref, name } = data
  if ([command, remote, ref].filter((one) => one !== undefined).length !== 1) {
    const message = "An mcp toolset needs exactly one of `command`, `remote` and `ref`."
    at.report.error("TOOLSET_INVALID", message, at.path)
    return undefined
  }
  const options = { approval: "always" }
  if (remote !== undefined) {
    const { url, transport_type, headers, allow_private: allowPrivate } = remote
    if (remote.oauth !== undefined) ignored(at, "remote", "oauth")
    const transport = transport_type === "sse" ? "sse" : undefined
    return call(
      "mcpToolset",
      { name: name ?? serverName(url), url, transport, headers, allowPrivate },
      options,
    )
  }
  if (ref !== undefined && at.mcps !== undefined && Object.hasOwn(at.mcps, ref)) {
    return namedMcpCall(data, ref, at)
  }
  if (ref !== undefined) {
    const server = ref.replace(/^docker:/, "")
    const gateway = ["mcp", "gateway", "run", "--servers", server]
    return call("mcpToolset", { name: name ?? server, command: "docker", args: gateway }, options)
  }
  return call("mcpToolset", { name: name ?? command ?? "mcp", command, args, env, cwd: working_dir }, options)
}

/** A server under `mcps`. The toolset's own fields override it. */
function namedMcpCall(data: ToolsetOf<"mcp">, name: string, at: ToolsetContext): Call | undefined {
  const { ref: _, ...own } = data
  const described = at.mcps?.[name]
  const isRecord = typeof described === "object" && described !== null && !Array.isArray(described)
  const merged = toolsetShape.safeParse({ name, ...(isRecord && described), ...own, type: "mcp" })
  const { mcps: _mcps, ...rest } = at
  if (isRecord && merged.success) return mcpCall(merged.data as ToolsetOf<"mcp">, rest)
  const problem = merged.error?.issues[0]?.message ?? "it is not a mapping"
  const message = `The MCP server "${name}" in \`mcps\` is invalid: ${problem}.`
  at.report.error("TOOLSET_INVALID", message, ["mcps", name])
  return undefined
}

function serverName(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "mcp"
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1_000)
}

function ignored({ report, path }: ToolsetContext, ...field: readonly string[]): void {
  report.unsupported(`"${field.join(".")}" of a toolset`, [...path, ...field])
}

/** A field that restricts an agent must not be ignored. */
function refused(field: string, reason: string, { report, path }: ToolsetContext): void {
  report.error("NOT_SUPPORTED", `"${field}" is not supported: ${reason}.`, [...path, field])
}

/** Tool names in `tools`, `allow`, `ask` and `deny`. One that matches no tool is reported: a typo in `deny` allows the tool. */

const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  think: ["think"],
  todo: ["todo_write", "todo_update", "todo_read"],
  memory: ["memory_add", "memory_update", "memory_remove", "memory_search", "memory_list"],
  filesystem: [
    "read_file",
    "list_directory",
    "search_files",
    "search_files_content",
    "write_file",
    "edit_file",
  ],
  shell: ["shell"],
  fetch: ["fetch"],
}

/** Undefined if only the server knows the tools. */
export function toolNames(data: ToolsetData): readonly string[] | undefined {
  if ((data.type === "script" || data.type === "shell") && data.shell !== undefined) {
    return Object.keys(data.shell)
  }
  if (data.type === "api") return [data.api_config.name]
  if (data.type === "memory" && data.scope !== undefined) return ["remember", "recall", "forget"]
  return Object.hasOwn(BUILT_IN, data.type) ? BUILT_IN[data.type] : undefined
}

/** The tools of an agent; undefined if some are known only at run time. */
export function agentToolNames(agent: AgentData): readonly string[] | undefined {
  const { toolsets = [], sub_agents = [], handoffs = [] } = agent
  const names = toolsets.map(toolNames)
  if (names.includes(undefined)) return undefined
  const transfer = sub_agents.length > 0 ? ["transfer_task"] : []
  const handoff = handoffs.length > 0 ? ["handoff"] : []
  return [...names.flatMap((one) => one ?? []), ...transfer, ...handoff]
}

/** `permissions` of an agent, or of a file for all its agents together. */
export function checkPermissions(
  permissions: PermissionsData | undefined,
  names: readonly string[] | undefined,
  whose: string,
  path: Path,
  report: DocumentReport,
): void {
  for (const kind of ["deny", "allow", "ask"] as const) {
    checkPatterns(permissions?.[kind], names, whose, [...path, kind], report)
  }
}

export function checkPatterns(
  patterns: readonly string[] | undefined,
  names: readonly string[] | undefined,
  whose: string,
  path: Path,
  report: DocumentReport,
): void {
  if (names === undefined) return
  const known = names.length === 0 ? "there are no tools" : `the tools are ${names.join(", ")}`
  for (const [i, pattern] of (patterns ?? []).entries()) {
    const [name = ""] = ourToolName(pattern).split(":")
    if (names.some((one) => matches(name, one))) continue
    const message = `"${pattern}" matches no tool of ${whose} and has no effect; ${known}.`
    report.warning("UNKNOWN_TOOL", message, [...path, i], nearest(name, names))
  }
}

/** `*` matches any characters, `?` exactly one. */
function matches(pattern: string, name: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*+/g, ".*")
    .replace(/\?/g, ".")
  return new RegExp(`^${source}$`, "i").test(name)
}

/** cagent's tool names, and the names that Superstep uses. */
const OURS: Readonly<Record<string, string>> = {
  create_todo: "todo_write",
  create_todos: "todo_write",
  update_todo: "todo_update",
  update_todos: "todo_update",
  list_todos: "todo_read",
  add_memory: "memory_add",
  get_memories: "memory_list",
  search_memories: "memory_search",
  update_memory: "memory_update",
  delete_memory: "memory_remove",
  read_multiple_files: "read_file",
  directory_tree: "list_directory",
  list_directory_with_sizes: "list_directory",
}

/** Superstep's name of the tool in a permission pattern, followed by the rest of the pattern. */
export function ourToolName(pattern: string): string {
  // `mcp:server:tool` also names the server; here tools have their own names.
  const [, bare = pattern] = /^mcp:[^:]*:(.+)$/.exec(pattern) ?? []
  const colon = bare.indexOf(":")
  const name = colon < 0 ? bare : bare.slice(0, colon)
  return (Object.hasOwn(OURS, name) ? (OURS[name] as string) : name) + (colon < 0 ? "" : bare.slice(colon))
}
