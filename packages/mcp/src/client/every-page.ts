/** Lists that a server gives page by page. A server that never ends its list is not followed for ever. */
import { SuperstepError } from "@superstep/engine"

const MOST_PAGES = 1_000

export async function everyPage(
  key: string,
  signal: AbortSignal | undefined,
  read: (cursor: string | undefined) => Promise<Readonly<Record<string, unknown>>>,
): Promise<unknown[]> {
  const items: unknown[] = []
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    signal?.throwIfAborted()
    const page = await read(cursor)
    const part = page[key]
    if (!Array.isArray(part)) throw invalid(key, "gave none")
    items.push(...part)
    cursor = typeof page.nextCursor === "string" ? page.nextCursor : undefined
    if (cursor !== undefined && (seen.has(cursor) || seen.size >= MOST_PAGES))
      throw invalid(key, "never ends it")
    if (cursor !== undefined) seen.add(cursor)
  } while (cursor !== undefined)
  return items
}

function invalid(key: string, what: string): SuperstepError {
  const text = `The MCP server was asked for its list of ${key} and ${what}.`
  return new SuperstepError("MCP_ANSWER_INVALID", text, { retryable: false })
}
