/**
 * Everything that a definition can reach outside of itself with, as one table: what it reaches, where it is written, and
 * what of it is refused in a file that is not trusted. Toolsets are the other way round: a type is refused unless the
 * table knows it. `docs/security.md` has the same list for people.
 */
import type { Json } from "../../core/index.ts"
import { isObject } from "../data-in-text.ts"
import type { Path } from "../document/index.ts"
import { isPublicAddress } from "./public-address.ts"
import type { Site, SiteKind } from "./sites.ts"

export interface TrustContext {
  /** What a model's provider is spoken to as, once the file's own `providers` are looked up. */
  providerOf(name: Json | undefined): string
  isInside(path: string): boolean
  /** As above, from the working directory. */
  isInsideFromHere(path: string): boolean
}

export interface Capability {
  readonly name: string
  readonly at: SiteKind
  /** What it does, as the beginning of a sentence. */
  readonly does: string
  /** Where in the site it is; undefined where the site does not use it. */
  find(value: Site["value"], context: TrustContext): Path | undefined
}

/** Types of toolsets that can be used in a file that is not trusted, as far as the rows below let them. */
const KNOWN_TOOLSETS = ["think", "todo", "memory", "filesystem", "fetch", "api", "openapi", "mcp"]
const PROGRAM_TOOLSETS = ["shell", "script"]
const KNOWN_RESEARCH_TOOLS = ["web_search", "page"]

/** Where a provider's own key may go, and the variable that has it. Azure's resources are anybody's. */
const OWN_ADDRESS: Readonly<Record<string, string>> = {
  openai: "api.openai.com",
  anthropic: "api.anthropic.com",
}
const OWN_VARIABLE: Readonly<Record<string, string>> = {
  openai: "OPENAI_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
  azure: "AZURE_API_KEY",
}

export const CAPABILITIES: readonly Capability[] = [
  {
    name: "program",
    at: "toolset",
    does: "Runs programs on this machine",
    find: ({ type }) => (PROGRAM_TOOLSETS.includes(String(type)) ? ["type"] : undefined),
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
    name: "unknown toolset",
    at: "toolset",
    does: "Has tools of a type that is not known to be harmless",
    find: ({ type }) =>
      [...KNOWN_TOOLSETS, ...PROGRAM_TOOLSETS].includes(String(type)) ? undefined : ["type"],
  },
  {
    name: "filesystem",
    at: "toolset",
    does: "Reads and writes files outside of the definition's folder",
    find: ({ type, root = "." }, { isInsideFromHere }) =>
      type === "filesystem" && !isInsideFromHere(String(root)) ? ["root"] : undefined,
  },
  {
    name: "private address",
    at: "toolset",
    does: "Reaches an address that is not of the public internet",
    find: (toolset, { isInside }) => addressOf(toolset, isInside),
  },
  {
    name: "private addresses",
    at: "toolset",
    does: "Lets tools reach private addresses",
    find: ({ allow_private_ips, remote }) => {
      if (isGranted(allow_private_ips)) return ["allow_private_ips"]
      return isObject(remote) && isGranted(remote.allow_private) ? ["remote", "allow_private"] : undefined
    },
  },
  {
    name: "consent",
    at: "permissions",
    does: "Lets tools run without asking",
    find: ({ allow }) => {
      const isNone = !isGranted(allow) || (Array.isArray(allow) && allow.length === 0)
      return isNone ? undefined : ["allow"]
    },
  },
  {
    name: "model address",
    at: "model",
    does: "Sends prompts, and maybe a key, to a server other than the provider's own",
    find: ({ provider, base_url }, context) => foreignAddress(context.providerOf(provider), base_url),
  },
  {
    name: "model key",
    at: "model",
    does: "Takes a key from the environment that is not the provider's own",
    find: ({ provider, token_key }, context) => foreignKey(context.providerOf(provider), token_key),
  },
  {
    name: "provider address",
    at: "provider",
    does: "Sends prompts, and maybe a key, to a server other than the provider's own",
    find: ({ provider, base_url }) => foreignAddress(String(provider ?? ""), base_url),
  },
  {
    name: "provider key",
    at: "provider",
    does: "Takes a key from the environment that is not the provider's own",
    find: ({ provider, token_key }) => foreignKey(String(provider ?? ""), token_key),
  },
  {
    name: "environment",
    at: "text",
    does: "Reads the environment",
    // Spaces may stand in a template; a text about `$env` is refused too.
    find: ({ text }) => (/\$\{\s*env\b|\$\s*env\b/.test(String(text)) ? [] : undefined),
  },
  {
    name: "environment info",
    at: "agent",
    does: "Tells the model about this machine",
    find: ({ add_environment_info: is }) => (isGranted(is) ? ["add_environment_info"] : undefined),
  },
  {
    name: "documents",
    at: "research tool",
    does: "Indexes documents with code of another package",
    find: ({ type }) => (KNOWN_RESEARCH_TOOLS.includes(String(type)) ? undefined : ["type"]),
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

/** The address of a toolset that is refused: private, without a host that is written out, or a file outside. */
function addressOf(toolset: Site["value"], isInside: TrustContext["isInside"]): Path | undefined {
  const { type, api_config, remote, url, server } = toolset
  if (type === "api" && isObject(api_config))
    return isPublicAddress(api_config.endpoint) ? undefined : ["api_config", "endpoint"]
  if (type === "mcp" && isObject(remote)) return isPublicAddress(remote.url) ? undefined : ["remote", "url"]
  if (type !== "openapi") return undefined
  const isFile = typeof url === "string" && !/^[a-z][a-z0-9+.-]*:/i.test(url)
  if (isFile ? !isInside(url) : !isPublicAddress(url)) return ["url"]
  return server === undefined || isPublicAddress(server) ? undefined : ["server"]
}

function foreignAddress(provider: string, url: Json | undefined): Path | undefined {
  if (url === undefined || url === null) return undefined
  const own = Object.hasOwn(OWN_ADDRESS, provider) ? OWN_ADDRESS[provider] : undefined
  const isOwn = typeof url === "string" && URL.canParse(url) && new URL(url).origin === `https://${own ?? ""}`
  return isOwn ? undefined : ["base_url"]
}

function foreignKey(provider: string, variable: Json | undefined): Path | undefined {
  if (variable === undefined || variable === null) return undefined
  const own = Object.hasOwn(OWN_VARIABLE, provider) ? OWN_VARIABLE[provider] : undefined
  return variable === own ? undefined : ["token_key"]
}
