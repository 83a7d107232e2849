/** Plans a toolset of a definition as the call that creates it. */
import type { Json } from "../../core/index.ts"
import type { Path } from "../../document/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import { type Arg, type ArgObject, type Call, call, callWith, definedArgs } from "../plan/index.ts"
import { type ToolsetData, type ToolsetOf, toolsetShape } from "./agent-shape.ts"
import { type RagContext, ragCall } from "./rag.ts"
import { a2aToolName, ourToolName } from "./tool-names.ts"

export interface ToolsetContext {
  readonly report: DocumentReport
  readonly path: Path
  /** A path in the definition's folder, relative to the working directory. A path outside of the folder is reported. */
  beside(file: string, path: Path): string
  /** The file's `mcps`, which toolsets name by `ref`. */
  readonly mcps?: Readonly<Record<string, Json>> | undefined
  /** The agents of `sub_agents`; undefined if there are none. */
  readonly subAgents: Arg
  /** Makes a model available to the agent under this name. */
  useModel(name: string, path: Path): void
  readonly rag: Pick<RagContext, "sources" | "dataFrom" | "embeddingsOf">
}

const NOT_SUPPORTED = ["toon", "config", "version", "lifecycle"] as const

/** Undefined for a toolset that is omitted. The omission is reported. */
export function toolsetCall(data: ToolsetData, at: ToolsetContext): Call | undefined {
  const made = base(data, at)
  if (made === undefined) return undefined
  for (const field of NOT_SUPPORTED) if (field in data) ignored(at, field)
  if (!NAMED.has(data.type) && "name" in data) ignored(at, "name")
  const { tools, instruction, model, defer } = data as ToolsetOf<"think">
  if (model !== undefined) at.useModel(model, [...at.path, "model"])
  const changes = definedArgs({
    tools: tools?.map(ourToolName),
    instructions: instruction,
    defer: Array.isArray(defer) ? defer.map(ourToolName) : defer || undefined,
    model,
  })
  return changes === undefined ? made : call("toolsetWith", made, changes)
}

/** Toolsets whose `name` has a meaning. */
const NAMED: ReadonlySet<string> = new Set(["mcp", "a2a", "rag"])

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
    case "tasks":
      return call("tasks", { file: at.beside(data.path ?? ".superstep/tasks.jsonl", [...at.path, "path"]) })
    case "user_prompt":
      return callWith("userPrompt", [], { to: data.to })
    case "model_picker":
      for (const [i, name] of data.models.entries()) at.useModel(name, [...at.path, "models", i])
      return call("modelPicker", data.models)
    case "background_agents":
      return backgroundCall(at)
    case "a2a":
      return a2aCall(data)
    case "lsp":
      return lspCall(data)
    case "rag":
      return ragCall(data, { ...at.rag, report: at.report, path: at.path })
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
  const { readonly, ignore_vcs, deny_list = [] } = data
  const root =
    data.allow_list === undefined ? (data.root ?? ".") : allowedFolder(data.allow_list, data.root, at)
  const vcs = ignore_vcs === false ? [] : ["**/.git/**"]
  const deny = ignore_vcs === undefined && deny_list.length === 0 ? undefined : [...vcs, ...deny_list]
  const afterEdit = data.post_edit?.map(({ path, cmd }) => ({ path, cmd }))
  return call("filesystem", { root, readOnly: readonly, deny, afterEdit })
}

/** The tools are confined to one folder: an allow_list must name it, and other folders stay out of reach. */
function allowedFolder(list: readonly string[], root: string | undefined, at: ToolsetContext): string {
  const isOutside = (entry: string) => /^(?:[/~$\\]|[A-Za-z]:|\.\.(?:[/\\]|$))/.test(entry)
  const inside = [
    ...new Set(list.filter((entry) => !isOutside(entry)).map((entry) => entry.replace(/\/+$/, ""))),
  ]
  const folder = inside.includes(".") ? "." : inside[0]
  if (root !== undefined || folder === undefined || (folder !== "." && inside.length > 1)) {
    refused("allow_list", "remove it and set `root` to the folder", at)
    return "."
  }
  for (const [i, entry] of list.entries()) {
    if (!isOutside(entry)) continue
    const message = `"${entry}" in allow_list has no effect: the tools reach files in ${folder === "." ? "the working directory" : `"${folder}"`} only.`
    at.report.warning("NOT_SUPPORTED", message, [...at.path, "allow_list", i])
  }
  return folder
}

function backgroundCall(at: ToolsetContext): Call | undefined {
  if (at.subAgents !== undefined) return call("backgroundAgents", at.subAgents)
  const message = "background_agents has no agents to start: list them in `sub_agents` of the agent."
  at.report.error("TOOLSET_INVALID", message, at.path)
  return undefined
}

function a2aCall({ url, name, headers, description, timeout }: ToolsetOf<"a2a">): Call {
  const about = { name: a2aToolName({ name, url }), description, headers, timeout: milliseconds(timeout) }
  return call("a2aTool", { url, ...about })
}

function lspCall({ command, args, env, file_types, working_dir }: ToolsetOf<"lsp">): Call {
  return call("lsp", { command, args, env, fileTypes: file_types, root: working_dir ?? "." })
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
  const { name, instruction, endpoint, method, headers, args, required, output_schema } = api_config
  checkArgs(args, name, ["api_config", "args"], at)
  if (output_schema !== undefined) {
    const path = [...at.path, "api_config", "output_schema"]
    at.report.checkSchema(output_schema, `the output of the tool "${name}"`, path)
  }
  return call("api", {
    name,
    description: instruction,
    endpoint,
    method,
    headers,
    args: args as Arg,
    required,
    output: output_schema as Arg,
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
  const options = { approval: "always", ...mcpQuestions(data, at) }
  if (remote !== undefined) {
    const { url, transport_type, headers, allow_private: allowPrivate } = remote
    const { callbackRedirectURL, ...known } = remote.oauth ?? {}
    if (callbackRedirectURL !== undefined) ignored(at, "remote", "oauth", "callbackRedirectURL")
    const oauth = remote.oauth && known
    const transport = transport_type === "sse" ? "sse" : undefined
    return call(
      "mcpToolset",
      { name: name ?? serverName(url), url, transport, headers, allowPrivate, oauth },
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

/** What a server may ask for. Absent fields stay absent: ejected code has only what the file says. */
function mcpQuestions(data: ToolsetOf<"mcp">, at: ToolsetContext): ArgObject {
  const { elicitation, sampling, roots, revision } = data
  const folders = Array.isArray(roots)
    ? roots.map((folder, i) => at.beside(folder, [...at.path, "roots", i]))
    : undefined
  return {
    elicitation,
    sampling:
      typeof sampling === "object"
        ? { approval: sampling.approval, maxTokens: sampling.max_tokens }
        : sampling,
    roots: roots === true ? ["."] : folders,
    revision,
  }
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
