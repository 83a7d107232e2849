/**
 * What tools a server has. The list is kept until the server says that it changed, or goes away; one that changes while it
 * is being read is read again by whoever asks next. A tool that does not follow the protocol is left out, the others stay.
 */
import { type Tool as ListedTool, ResultSchema, ToolSchema } from "@modelcontextprotocol/sdk/types.js"
import type { Connection } from "./connection.ts"
import { everyPage } from "./every-page.ts"

export interface ToolList {
  readonly tools: readonly ListedTool[]
  /** Why tools were left out. */
  readonly problems: readonly string[]
}

export class KeptToolList {
  #connection: Connection | undefined
  #kept: ToolList | undefined
  #changes = 0

  async get(connection: Connection, signal: AbortSignal): Promise<ToolList> {
    if (this.#connection !== connection) {
      this.#connection = connection
      this.#changed()
      connection.onToolsChanged(() => this.#changed())
    }
    if (this.#kept !== undefined) return this.#kept
    const before = this.#changes
    const list = await readTools(connection, signal)
    if (this.#changes === before) this.#kept = list
    return list
  }

  #changed(): void {
    this.#kept = undefined
    this.#changes += 1
  }
}

async function readTools(connection: Connection, signal: AbortSignal): Promise<ToolList> {
  if (connection.capabilities.tools === undefined) return { tools: [], problems: [] }
  // Not the SDK's own schema of the whole: for that one bad tool spoils the list.
  const raw = await everyPage("tools", signal, (cursor) =>
    connection.request(
      { method: "tools/list", params: cursor === undefined ? {} : { cursor } },
      ResultSchema,
      { signal },
    ),
  )
  const tools = new Map<string, ListedTool>()
  const problems: string[] = []
  for (const one of raw) {
    const parsed = ToolSchema.safeParse(one)
    if (!parsed.success) problems.push(`${nameIn(one)} does not follow the protocol`)
    else if (tools.has(parsed.data.name)) problems.push(`"${parsed.data.name}" is there twice`)
    else tools.set(parsed.data.name, parsed.data)
  }
  return { tools: [...tools.values()], problems }
}

function nameIn(one: unknown): string {
  const { name } = (one ?? {}) as { name?: unknown }
  return typeof name === "string" ? `"${name}"` : "a tool without a name"
}
