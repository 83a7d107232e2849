/** A toolset of a definition as the call that makes it. */
import { relative } from "node:path"
import type { Json } from "../../core/index.ts"
import { checkSchema } from "../check-schema.ts"
import type { Path, Place, Report } from "../document/index.ts"
import { type Arg, type ArgObject, type Call, call, callWith } from "../plan/index.ts"
import { ourToolName } from "./tool-names.ts"
import type { ToolsetData, ToolsetOf } from "./toolset-shape.ts"

export interface ToolsetPlace {
  readonly report: Report
  /** A path of the definition's folder, absolute; one that leads out of it is reported at its place. */
  beside(file: string, path: Path): string
  readonly path: Path
  place(path: Path): Place
}

const NOT_SUPPORTED = ["toon", "defer", "config", "version"] as const

/** Undefined for one that is left out; what is wrong is reported. */
export function toolsetCall(data: ToolsetData, at: ToolsetPlace): Call | undefined {
  const made = base(data, at)
  if (made === undefined) return undefined
  for (const field of NOT_SUPPORTED) if (field in data) ignored(at, field)
  if (data.type !== "mcp" && "name" in data) ignored(at, "name")
  const { tools, instruction } = data as ToolsetOf<"think">
  if (tools === undefined && instruction === undefined) return made
  return call("toolsetWith", made, { tools: tools?.map(ourToolName), instructions: instruction })
}

function base(data: ToolsetData, at: ToolsetPlace): Call | undefined {
  switch (data.type) {
    case "think":
      if (data.shared !== undefined) ignored(at, "shared")
      return call("think")
    case "todo":
      return data.shared === undefined ? call("todo") : call("todo", { shared: data.shared })
    case "memory":
      return call("memory", { file: fileArg(at, data.path ?? ".superstep/memory.jsonl", "path") })
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
    case "mcp":
      return mcpCall(data, at)
    default:
      at.report.warning(
        "NOT_SUPPORTED",
        `The toolset "${data.type}" is not supported here, and is left out.`,
        at.place([...at.path, "type"]),
      )
      return undefined
  }
}

function filesystemCall(data: ToolsetOf<"filesystem">, at: ToolsetPlace): Call {
  const { root = ".", readonly, ignore_vcs, deny_list = [] } = data
  if (data.post_edit !== undefined) ignored(at, "post_edit")
  if (data.allow_list !== undefined) refused("allow_list", "leave it out, and set `root` to the folder", at)
  const vcs = ignore_vcs === false ? [] : ["**/.git/**"]
  const deny = ignore_vcs === undefined && deny_list.length === 0 ? undefined : [...vcs, ...deny_list]
  return call("filesystem", { root, readOnly: readonly, deny })
}

function shellCall(data: ToolsetOf<"shell">, at: ToolsetPlace): Call {
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

function scriptCall({ shell, env, inherit }: ToolsetOf<"script">, at: ToolsetPlace): Call {
  for (const [name, { args }] of Object.entries(shell)) checkArgs(args, name, ["shell", name, "args"], at)
  const tools = Object.fromEntries(Object.entries(shell).map(([name, tool]) => [name, tool as Arg]))
  return call("script", { tools, env, inherit, approval: "always" })
}

function fetchCall(data: ToolsetOf<"fetch">, at: ToolsetPlace): Call {
  const { timeout, allowed_domains, blocked_domains, allow_private_ips } = data
  if (data.headers !== undefined) ignored(at, "headers")
  return callWith("webFetch", [], {
    timeout: milliseconds(timeout),
    allowHosts: allowed_domains?.flatMap(hosts),
    denyHosts: blocked_domains?.flatMap(hosts),
    allowPrivate: allow_private_ips,
  })
}

/** A domain stands for its subdomains too. */
function hosts(domain: string): string[] {
  if (domain.startsWith("*.")) return [domain]
  return domain.startsWith(".") ? [`*${domain}`] : [domain, `*.${domain}`]
}

function apiCall({ api_config }: ToolsetOf<"api">, at: ToolsetPlace): Call {
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
  at: ToolsetPlace,
): void {
  for (const [name, schema] of Object.entries(args ?? {})) {
    const what = `the argument "${name}" of the tool "${tool}"`
    checkSchema(schema, what, { ...at, path: [...at.path, ...path, name] })
  }
}

function openapiCall({ url, headers, timeout, server }: ToolsetOf<"openapi">, at: ToolsetPlace): Call {
  const document = /^https?:/i.test(url) ? { url } : { file: fileArg(at, url, "url") }
  return call("openapi", { document, headers, timeout: milliseconds(timeout), server })
}

function mcpCall(data: ToolsetOf<"mcp">, at: ToolsetPlace): Call | undefined {
  const { command, args, env, working_dir, remote, ref, name } = data
  const given = [command, remote, ref].filter((one) => one !== undefined)
  if (given.length !== 1) {
    at.report.error(
      "TOOLSET_INVALID",
      "An mcp toolset has one of `command`, `remote` and `ref`.",
      at.place(at.path),
    )
    return undefined
  }
  const options = { approval: "always" }
  if (remote !== undefined) {
    const { url, transport_type, headers, allow_private: allowPrivate } = remote
    if (remote.oauth !== undefined) ignored(at, "remote", "oauth")
    const transport = transport_type === "sse" ? "sse" : undefined
    return call("mcpToolset", { name: name ?? hostOf(url), url, transport, headers, allowPrivate }, options)
  }
  if (ref !== undefined) {
    const server = ref.replace(/^docker:/, "")
    const gateway = ["mcp", "gateway", "run", "--servers", server]
    return call("mcpToolset", { name: name ?? server, command: "docker", args: gateway }, options)
  }
  return call("mcpToolset", { name: name ?? command ?? "mcp", command, args, env, cwd: working_dir }, options)
}

function hostOf(url: string): string {
  try {
    return new URL(url).hostname
  } catch {
    return "mcp"
  }
}

/** A path in the definition's folder, as the working directory sees it. */
function fileArg({ beside, path }: ToolsetPlace, file: string, field: string): string {
  return relative(process.cwd(), beside(file, [...path, field])) || "."
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1_000)
}

function ignored({ report, place, path }: ToolsetPlace, ...field: readonly string[]): void {
  const text = `"${field.join(".")}" of a toolset is not supported here, and does nothing.`
  report.warning("NOT_SUPPORTED", text, place([...path, ...field]))
}

/** What limits an agent must not be passed over. */
function refused(field: string, reason: string, { report, place, path }: ToolsetPlace): void {
  report.error("NOT_SUPPORTED", `"${field}" is not supported here: ${reason}.`, place([...path, field]))
}
