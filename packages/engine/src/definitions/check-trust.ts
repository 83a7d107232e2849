/** Reports everything that an untrusted file must not use. */

import { isIP } from "node:net"
import { resolve } from "node:path"
import type { Json } from "../core/index.ts"
import { isRecord } from "../core/internal.ts"
import { type Document, type Path, type Report, textsIn } from "../document/index.ts"
import { MODEL_PROVIDERS, type ModelProvider } from "../packages/index.ts"
import { api, openapi } from "../tools/index.ts"
import { addressKind, hostOf } from "../tools/internal.ts"
import { type DefinitionPaths, TRUST_CAPABILITIES } from "./definition.ts"
import type { PlanFunction, PlanFunctions } from "./plan/index.ts"

/** `allow`: the names of capabilities that the file may use nevertheless. */
export function checkTrust(
  document: Document,
  paths: DefinitionPaths,
  report: Report,
  cwd = "",
  allow: readonly string[] = [],
): void {
  const { data, file } = document
  const context: TrustContext = {
    providerOf: (name) => providerOf(data, name),
    isInside: (path) => paths.isInside(file, path),
    isInsideFromHere: (path) => paths.isInside(file, resolve(cwd, path)),
  }
  for (const { kind, value, path } of sitesIn(data)) {
    for (const { at, name, does, find } of CAPABILITIES) {
      const found = at === kind && !allow.includes(name) ? find(value, context) : undefined
      if (found === undefined) continue
      report.error("UNTRUSTED", `${does}: ${refusal(name)}`, document.place([...path, ...found]))
    }
  }
}

/** What to do depends on who loads the definition: its user, or the operator of a server that received it. */
function refusal(name: string): string {
  const canBeAllowed = (TRUST_CAPABILITIES as readonly string[]).includes(name)
  const or = canBeAllowed ? ", or allow this capability" : ""
  return `refused, because the definition is untrusted (${name}). To permit it, review the definition, then trust it${or}.`
}

function providerOf(data: Json, name: Json | undefined): string {
  const own = isRecord(data) && isRecord(data.providers) ? data.providers[String(name)] : undefined
  return isRecord(own) ? String(own.provider ?? "openai-compatible") : String(name)
}

/** Functions that access external resources, and are safe once their arguments have passed the table of capabilities. */
const SAFE_TOOLS: ReadonlySet<string> = new Set([
  "agent",
  "agentText",
  "api",
  "backgroundAgents",
  "conversation",
  "expressionGuardrail",
  "filesystem",
  "jsonSchema",
  "judge",
  "lastItems",
  "mcpToolset",
  "memory",
  "modelPicker",
  "openapi",
  "patternGuardrail",
  "pickedModel",
  "rotateModels",
  "routeModels",
  "skills",
  "tasks",
  "think",
  "todo",
  "toolsetWith",
  "userPrompt",
  "webFetch",
])

/**
 * The second line of defense: an untrusted plan is linked with these functions only. `control` are the functions of the
 * dialects; `others` are tools and the functions of the caller.
 */
export function trustedFunctions(
  control: PlanFunctions,
  others: PlanFunctions,
  allow: readonly string[] = [],
): PlanFunctions {
  const isSafe = (name: string) =>
    SAFE_TOOLS.has(name) ||
    ([...PROGRAM_TOOLSETS, "commandHooks"].includes(name) && allow.includes("program"))
  const safe = Object.entries(others).filter(([name]) => isSafe(name))
  const withoutEnv = <Options extends object>(from: string, make: (options: Options) => unknown) =>
    ({ from, make: (options: Options) => make({ ...options, env: {} }) }) as PlanFunction
  return {
    ...control,
    ...Object.fromEntries(safe),
    api: withoutEnv("superstep/tools", api),
    openapi: withoutEnv("superstep/tools", openapi),
  }
}

function* sitesIn(data: Json): Generator<Site> {
  for (const [path, text] of textsIn(data, [])) yield { kind: "text", value: { text }, path }
  if (!isRecord(data)) return
  yield* entries("model", data.models, ["models"])
  yield* entries("provider", data.providers, ["providers"])
  if (isRecord(data.permissions))
    yield { kind: "permissions", value: data.permissions, path: ["permissions"] }
  for (const agent of entries("agent", data.agents, ["agents"])) yield* agentSites(agent)
  // Steps nest; graphs have tools in their nodes.
  yield* toolSites(data.workflow, ["workflow"])
  yield* toolSites(data.nodes, ["nodes"])
  yield* entries("schedule", data.schedules, ["schedules"])
  if (!isRecord(data.search)) return
  yield* entries("search backend", data.search.databases, ["search", "databases"])
  for (const name of ["vector", "graph"]) {
    const value = data.search[name]
    if (isRecord(value)) yield { kind: "search backend", value, path: ["search", name] }
  }
}

function* agentSites(agent: Site): Generator<Site> {
  yield agent
  const { value, path } = agent
  if (isRecord(value.permissions)) {
    yield { kind: "permissions", value: value.permissions, path: [...path, "permissions"] }
  }
  yield* entries("model", value.models, [...path, "models"])
  yield* entries("provider", value.providers, [...path, "providers"])
  for (const field of ["toolsets", "tools"]) yield* toolsets(value[field], [...path, field])
}

/** Agents of a graph may name a toolset by its type. */
function* toolsets(list: Json | undefined, path: Path): Generator<Site> {
  if (!Array.isArray(list)) return
  for (const [i, one] of list.entries()) {
    const value = typeof one === "string" ? { type: one } : one
    if (isRecord(value)) yield { kind: "toolset", value, path: [...path, i] }
  }
}

function* toolSites(value: Json | undefined, path: Path): Generator<Site> {
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries()) yield* toolSites(one, [...path, i])
    return
  }
  if (!isRecord(value)) return
  if (isRecord(value.toolset)) yield { kind: "toolset", value: value.toolset, path: [...path, "toolset"] }
  if (value.module !== undefined) yield { kind: "module", value, path }
  if (value.type === "research") yield* entries("research tool", value.tools, [...path, "tools"])
  for (const [name, one] of Object.entries(value)) {
    if (name !== "toolset" && typeof one === "object") yield* toolSites(one, [...path, name])
  }
}

function* entries(kind: SiteKind, list: Json | undefined, path: Path): Generator<Site> {
  if (Array.isArray(list)) {
    for (const [i, value] of list.entries()) if (isRecord(value)) yield { kind, value, path: [...path, i] }
  } else if (isRecord(list)) {
    for (const [name, value] of Object.entries(list))
      if (isRecord(value)) yield { kind, value, path: [...path, name] }
  }
}

/**
 * A table of everything in a definition that accesses external resources, and the parts that an untrusted file must not
 * use. Toolset types that the table does not list are refused. `docs/security.md` has the same list.
 */

type JsonObject = { readonly [name: string]: Json | undefined }

type SiteKind =
  | "agent"
  | "toolset"
  | "model"
  | "module"
  | "provider"
  | "permissions"
  | "research tool"
  | "schedule"
  | "search backend"
  | "text"

interface Site {
  readonly kind: SiteKind
  /** A string is `{ text }`. */
  readonly value: JsonObject
  readonly path: Path
}

interface TrustContext {
  /** The provider of a name, after looking it up in the file's `providers`. */
  providerOf(name: Json | undefined): string
  isInside(path: string): boolean
  /** Relative to the working directory. */
  isInsideFromHere(path: string): boolean
}

interface Capability {
  readonly name: string
  readonly at: SiteKind
  /** The beginning of the message. */
  readonly does: string
  /** The path within the site. Undefined if the site does not use the capability. */
  find(value: Site["value"], context: TrustContext): Path | undefined
}

/** Toolsets that an untrusted file may use, within the rules below. */
const KNOWN_TOOLSETS = [
  "think",
  "todo",
  "memory",
  "filesystem",
  "fetch",
  "api",
  "openapi",
  "mcp",
  "tasks",
  "user_prompt",
  "model_picker",
  "background_agents",
]
const PROGRAM_TOOLSETS = ["shell", "script", "lsp"]
const KNOWN_RESEARCH_TOOLS = ["web_search", "page"]

/** The host that may receive a provider's key, and the key's variable. Anybody can own an Azure resource: it has no host. */
const ownOf = (provider: string): Partial<ModelProvider> =>
  MODEL_PROVIDERS.find(({ name }) => name === provider) ?? {}

const CAPABILITIES: readonly Capability[] = [
  {
    name: "program",
    at: "toolset",
    does: "Runs programs on this machine",
    find: ({ type }) => (PROGRAM_TOOLSETS.includes(String(type)) ? ["type"] : undefined),
  },
  {
    name: "program",
    at: "toolset",
    does: "Runs programs on this machine after a file was written",
    find: ({ post_edit }) => (isGranted(post_edit) ? ["post_edit"] : undefined),
  },
  {
    name: "program",
    at: "agent",
    does: "Runs programs on this machine around the work of an agent",
    find: ({ hooks }) => (isGranted(hooks) ? ["hooks"] : undefined),
  },
  {
    name: "mcp program",
    at: "toolset",
    does: "Starts a program as an MCP server",
    find: ({ type, command, ref }) => {
      if (type !== "mcp") return undefined
      return command !== undefined ? ["command"] : ref !== undefined ? ["ref"] : undefined
    },
  },
  {
    name: "mcp sampling",
    at: "toolset",
    does: "Lets an MCP server use the agent's model",
    find: ({ type, sampling }) => (type === "mcp" && isGranted(sampling) ? ["sampling"] : undefined),
  },
  {
    name: "mcp login",
    at: "toolset",
    does: "Uses a login at an MCP server",
    find: ({ type, remote }) =>
      type === "mcp" && isRecord(remote) && isGranted(remote.oauth) ? ["remote", "oauth"] : undefined,
  },
  {
    name: "mcp roots",
    at: "toolset",
    does: "Tells an MCP server about folders of this machine",
    find: ({ type, roots }) => (type === "mcp" && isGranted(roots) ? ["roots"] : undefined),
  },
  {
    name: "mcp program",
    at: "agent",
    does: "Starts a program as an MCP server",
    find: ({ use_mcps }) => (isGranted(use_mcps) ? ["use_mcps"] : undefined),
  },
  {
    name: "unknown toolset",
    at: "toolset",
    does: "Uses a toolset that is not known to be safe",
    find: ({ type }) =>
      [...KNOWN_TOOLSETS, ...PROGRAM_TOOLSETS, "rag"].includes(String(type)) ? undefined : ["type"],
  },
  {
    name: "memories",
    at: "toolset",
    does: "Reads and writes what is remembered about people",
    find: ({ type, scope }) => (type === "memory" && scope !== undefined ? ["scope"] : undefined),
  },
  {
    name: "filesystem",
    at: "toolset",
    does: "Reads and writes files outside the definition's folder",
    find: ({ type, root = "." }, { isInsideFromHere }) =>
      type === "filesystem" && !isInsideFromHere(String(root)) ? ["root"] : undefined,
  },
  {
    name: "private address",
    at: "toolset",
    does: "Connects to an address that is not public",
    find: (toolset, { isInside }) => addressOf(toolset, isInside),
  },
  {
    name: "private addresses",
    at: "toolset",
    does: "Lets tools connect to private addresses",
    find: ({ allow_private_ips, remote }) => {
      if (isGranted(allow_private_ips)) return ["allow_private_ips"]
      return isRecord(remote) && isGranted(remote.allow_private) ? ["remote", "allow_private"] : undefined
    },
  },
  {
    name: "consent",
    at: "permissions",
    does: "Lets tools run without approval",
    find: ({ allow }) => {
      const isNone = !isGranted(allow) || (Array.isArray(allow) && allow.length === 0)
      return isNone ? undefined : ["allow"]
    },
  },
  {
    name: "model address",
    at: "model",
    does: "Sends prompts, and possibly a key, to a server other than the provider's own",
    find: ({ provider, base_url }, context) => foreignAddress(context.providerOf(provider), base_url),
  },
  {
    name: "model key",
    at: "model",
    does: "Reads a key from the environment that is not the provider's own",
    find: ({ provider, token_key }, context) => foreignKey(context.providerOf(provider), token_key),
  },
  {
    name: "provider address",
    at: "provider",
    does: "Sends prompts, and possibly a key, to a server other than the provider's own",
    find: ({ provider, base_url }) => foreignAddress(String(provider ?? ""), base_url),
  },
  {
    name: "provider key",
    at: "provider",
    does: "Reads a key from the environment that is not the provider's own",
    find: ({ provider, token_key }) => foreignKey(String(provider ?? ""), token_key),
  },
  {
    name: "environment",
    at: "text",
    does: "Reads the environment",
    // Templates may contain spaces; prose about `$env` is refused too.
    find: ({ text }) => (/\$\{\s*env\b|\$\s*env\b/.test(String(text)) ? [] : undefined),
  },
  {
    name: "environment info",
    at: "agent",
    does: "Gives the model information about this machine",
    find: ({ add_environment_info: is }) => (isGranted(is) ? ["add_environment_info"] : undefined),
  },
  {
    name: "module",
    at: "module",
    does: "Runs code of a module",
    find: () => ["module"],
  },
  {
    name: "documents",
    at: "toolset",
    does: "Indexes documents with code from another package",
    find: ({ type }) => (type === "rag" ? ["type"] : undefined),
  },
  {
    name: "documents",
    at: "agent",
    does: "Indexes documents with code from another package",
    find: ({ rag }) => (isGranted(rag) ? ["rag"] : undefined),
  },
  {
    name: "documents",
    at: "research tool",
    does: "Indexes documents with code from another package",
    find: ({ type }) => (KNOWN_RESEARCH_TOOLS.includes(String(type)) ? undefined : ["type"]),
  },
  {
    name: "schedules",
    at: "schedule",
    does: "Starts runs by itself",
    find: () => [],
  },
  {
    name: "search backend",
    at: "search backend",
    does: "Opens a database, an index or a graph",
    find: () => [],
  },
]

function isGranted(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== false
}

/** The path of an address that is refused: private, with a variable host, or a file outside of the folder. */
function addressOf(toolset: Site["value"], isInside: TrustContext["isInside"]): Path | undefined {
  const { type, api_config, remote, url, server } = toolset
  if (type === "api" && isRecord(api_config))
    return isPublicAddress(api_config.endpoint) ? undefined : ["api_config", "endpoint"]
  if (type === "mcp" && isRecord(remote)) return isPublicAddress(remote.url) ? undefined : ["remote", "url"]
  if (type !== "openapi") return undefined
  const isFile = typeof url === "string" && !/^[a-z][a-z0-9+.-]*:/i.test(url)
  if (isFile ? !isInside(url) : !isPublicAddress(url)) return ["url"]
  return server === undefined || isPublicAddress(server) ? undefined : ["server"]
}

function foreignAddress(provider: string, url: Json | undefined): Path | undefined {
  if (url === undefined || url === null) return undefined
  const { host = "" } = ownOf(provider)
  const isOwn = typeof url === "string" && URL.canParse(url) && new URL(url).origin === `https://${host}`
  return isOwn ? undefined : ["base_url"]
}

function foreignKey(provider: string, variable: Json | undefined): Path | undefined {
  if (variable === undefined || variable === null) return undefined
  return variable === ownOf(provider).variable ? undefined : ["token_key"]
}

/** Names that resolve only inside of a network. */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/

/** Checks the address as written. Each request also checks the address that its name resolves to. */
export function isPublicAddress(address: Json | undefined): boolean {
  if (typeof address !== "string" || !/^https?:\/\//i.test(address)) return false
  // A host with a placeholder could be any host.
  const [, authority = ""] = /^https?:\/\/([^/?#]*)/i.exec(address) ?? []
  if (/[{}$\\]/.test(authority) || !URL.canParse(address)) return false
  const host = hostOf(new URL(address))
  if (isIP(host) !== 0) return addressKind(host) === "public"
  return host.includes(".") && !PRIVATE_NAME.test(host)
}
