/** The tools of a server as tools of an agent: their list, their names and their schemas. */
import { createHash } from "node:crypto"
import { type Tool as ListedTool, specTypeSchemas } from "@modelcontextprotocol/client"
import { isSuperstepError, type Json, type Schema, SuperstepError } from "@superstep/engine"
import { clipped, cutText } from "@superstep/engine/text"
import {
  type Approval,
  jsonSchema,
  matchesWord,
  type Tool,
  tool,
  withoutUncheckedPatterns,
} from "@superstep/engine/tools"
import type { Connection } from "./connection.ts"
import type { McpServer } from "./mcp-server.ts"
import { callMcpTool, type InteractionOptions } from "./tool-rounds.ts"

export interface McpToolPolicies extends InteractionOptions {
  readonly approval?: Approval | undefined
  readonly trustHints?: boolean | undefined
}

/** The maximum length of a description: every model call pays for it. */
const MAX_DESCRIPTION = 10_000

export function mcpTool(
  server: McpServer,
  listed: ListedTool,
  name: string,
  policies: McpToolPolicies,
): Tool {
  const { description, title, inputSchema, annotations = {} } = listed
  // The hints of a server are trusted only if the user opts in.
  const isRepeatable = annotations.readOnlyHint === true || annotations.idempotentHint === true
  return tool({
    name,
    description: cutText(
      textOr(description, textOr(title, `"${listed.name}" of the MCP server "${server.name}".`)),
      MAX_DESCRIPTION,
    ),
    input: tolerant(inputSchema as Json),
    parameters: inputSchema as Json,
    approval: policies.approval,
    idempotent: policies.trustHints === true && isRepeatable ? true : undefined,
    durable: true,
    run: (args: Readonly<Record<string, unknown>>, call) => {
      const { unchecked } = checkable(inputSchema as Json)
      if (unchecked.length > 0) {
        const text = `Arguments of "${name}" are sent to the MCP server "${server.name}" without a check of patterns that cannot be matched in linear time. The server checks them.`
        call.ctx.log("warn", text, { patterns: unchecked.map((pattern) => clipped(pattern, 200)) })
      }
      return callMcpTool(server, listed.name, args, call, policies)
    },
  })
}

function textOr(text: string | undefined, otherwise: string): string {
  return text === undefined || text.trim() === "" ? otherwise : text
}

/**
 * A schema that is unusable here is left to the server, which checks the arguments itself; so are patterns that cannot be
 * matched in linear time, with a warning at each call.
 */
function tolerant(schema: Json): Schema<Readonly<Record<string, unknown>>> {
  const strict = strictest(checkable(schema).schema)["~standard"]
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

function strictest(schema: Json): Schema<Readonly<Record<string, unknown>>> {
  try {
    return jsonSchema(schema)
  } catch (error) {
    if (!isSuperstepError(error, "SCHEMA_INVALID")) throw error
    return jsonSchema({ type: "object" })
  }
}

type Checkable = ReturnType<typeof withoutUncheckedPatterns>

/** Once for each schema object. */
const known = new WeakMap<object, Checkable>()

function checkable(schema: Json): Checkable {
  if (typeof schema !== "object" || schema === null) return { schema, unchecked: [] }
  const made = known.get(schema) ?? withoutUncheckedPatterns(schema)
  known.set(schema, made)
  return made
}

// The tools of a server. The list is cached until the server reports a change or disconnects; a list that changes while it is
// being read is read again by the next caller. A tool that violates the protocol is skipped, the others stay.

export interface ToolList {
  readonly tools: readonly ListedTool[]
  /** Why tools were skipped. */
  readonly problems: readonly string[]
}

export class CachedToolList {
  #connection: Connection | undefined
  #cached: ToolList | undefined
  #changes = 0

  async get(connection: Connection, signal: AbortSignal): Promise<ToolList> {
    if (this.#connection !== connection) {
      this.#connection = connection
      this.#changed()
      connection.onToolsChanged(() => this.#changed())
    }
    if (this.#cached !== undefined) return this.#cached
    const before = this.#changes
    const list = await readTools(connection, signal)
    if (this.#changes === before) this.#cached = list
    return list
  }

  #changed(): void {
    this.#cached = undefined
    this.#changes += 1
  }
}

async function readTools(connection: Connection, signal: AbortSignal): Promise<ToolList> {
  const tools = new Map<string, ListedTool>()
  const problems: string[] = []
  // Not the SDK's schema of the whole list: one invalid tool would reject it.
  for (const one of await everyPage(connection, "tools", signal)) {
    const parsed = specTypeSchemas.Tool["~standard"].validate(one)
    if (parsed.issues !== undefined) problems.push(`${nameIn(one)} violates the protocol`)
    else if (tools.has(parsed.value.name)) problems.push(`"${parsed.value.name}" is listed twice`)
    else tools.set(parsed.value.name, parsed.value)
  }
  return { tools: [...tools.values()], problems }
}

function nameIn(one: unknown): string {
  const { name } = (one ?? {}) as { name?: unknown }
  return typeof name === "string" ? `"${name}"` : "a tool without a name"
}

const MAX_PAGES = 1_000

/** A whole list of a server, page by page; empty if the server has none. An endless list is an error. */
export async function everyPage(
  connection: Connection,
  kind: "tools" | "prompts" | "resources",
  signal: AbortSignal | undefined,
): Promise<unknown[]> {
  if (connection.capabilities[kind] === undefined) return []
  const items: unknown[] = []
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    signal?.throwIfAborted()
    const params = cursor === undefined ? {} : { cursor }
    const page = await connection.request({ method: `${kind}/list`, params }, specTypeSchemas.Result, {
      signal,
    })
    const part = (page as Readonly<Record<string, unknown>>)[kind]
    if (!Array.isArray(part)) throw invalid(`returned no list of ${kind}`)
    items.push(...part)
    cursor = typeof page.nextCursor === "string" ? page.nextCursor : undefined
    if (cursor !== undefined && (seen.has(cursor) || seen.size >= MAX_PAGES))
      throw invalid(`never ends its list of ${kind}`)
    if (cursor !== undefined) seen.add(cursor)
  } while (cursor !== undefined)
  return items
}

function invalid(what: string): SuperstepError {
  return new SuperstepError("MCP_ANSWER_INVALID", `The MCP server ${what}.`, { retryable: false })
}

// Which tools of a server an agent gets, and their names.

/** The server's names, with `*` for any characters and `?` for one. A list means `allow`. */
export type ToolFilter =
  | readonly string[]
  | { readonly allow?: readonly string[] | undefined; readonly deny?: readonly string[] | undefined }

/** `deny` wins; without `allow` everything else is allowed. */
export function toolFilter(filter: ToolFilter | undefined): (name: string) => boolean {
  const { allow, deny } = patternsOf(filter)
  return (name) => {
    if (deny.some((pattern) => matchesWord(pattern, name))) return false
    return allow === undefined || allow.some((pattern) => matchesWord(pattern, name))
  }
}

/** Patterns that match no tool: a typo, or a tool that the server no longer has. */
export function idlePatterns(filter: ToolFilter | undefined, names: readonly string[]): readonly string[] {
  const { allow = [] } = patternsOf(filter)
  return allow.filter((pattern) => !names.some((name) => matchesWord(pattern, name)))
}

function patternsOf(filter: ToolFilter = {}) {
  const { allow, deny = [] } = "length" in filter ? { allow: filter } : filter
  return { allow, deny }
}

const MAX = 64

/**
 * A name for each tool that every provider accepts: letters, digits, `_` and `-`, at most 64 characters. It depends on the
 * names only, so that a resumed run finds its tools again. A tool whose name is valid keeps it.
 */
export function toolNames(names: readonly string[], prefix = ""): ReadonlyMap<string, string> {
  const wanted = new Map(names.map((name) => [name, plain(prefix + name)]))
  const takers = new Map<string, number>()
  for (const plainName of wanted.values()) takers.set(plainName, (takers.get(plainName) ?? 0) + 1)
  return new Map(
    [...wanted].map(([name, plainName]) => {
      const isOwn = plainName === prefix + name
      return [name, isOwn || takers.get(plainName) === 1 ? plainName : marked(plainName, name)]
    }),
  )
}

function plain(name: string): string {
  const allowed = name.replace(/[^A-Za-z0-9_-]/g, "_")
  return allowed.length <= MAX && allowed !== "" ? allowed : marked(allowed, name)
}

function marked(plainName: string, name: string): string {
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 8)
  return `${plainName.slice(0, MAX - mark.length - 1)}_${mark}`
}
