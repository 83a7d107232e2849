/**
 * The tools of a server. The list is cached until the server reports a change or disconnects; a list that changes while it is
 * being read is read again by the next caller. A tool that violates the protocol is skipped, the others stay.
 */
import { type Tool as ListedTool, ResultSchema, ToolSchema } from "@modelcontextprotocol/sdk/types.js"
import { SuperstepError } from "@superstep/engine"
import type { Connection } from "./connection.ts"

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
    const parsed = ToolSchema.safeParse(one)
    if (!parsed.success) problems.push(`${nameIn(one)} violates the protocol`)
    else if (tools.has(parsed.data.name)) problems.push(`"${parsed.data.name}" is listed twice`)
    else tools.set(parsed.data.name, parsed.data)
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
    const page = await connection.request({ method: `${kind}/list`, params }, ResultSchema, { signal })
    const part = page[kind]
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
