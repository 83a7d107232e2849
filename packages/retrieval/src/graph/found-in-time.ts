import { isSuperstepError } from "@superstep/engine"
import type { GraphFindOptions, GraphNode } from "./graph-database.ts"

/**
 * What is found in the parts of a graph, by their names. A part that is not ready in time is left out and told of, as long
 * as something is found in another: nothing found would be a wrong answer.
 */
export async function foundInTime(
  parts: readonly (readonly [part: string, find: () => Promise<readonly GraphNode[]>])[],
  { onLate }: Pick<GraphFindOptions, "onLate">,
): Promise<GraphNode[]> {
  const searches = parts.map(async ([part, find]) => {
    try {
      return { part, found: await find() }
    } catch (error) {
      return { part, error }
    }
  })
  const found = new Map<string, GraphNode>()
  const late: { part: string; error: unknown }[] = []
  for (const search of await Promise.all(searches)) {
    if ("found" in search) for (const node of search.found) found.set(node.id, node)
    else if (isLate(search.error)) late.push(search)
    else throw search.error
  }
  if (found.size === 0 && late[0] !== undefined) throw late[0].error
  for (const { part } of late) onLate?.(part)
  return [...found.values()]
}

function isLate(error: unknown): boolean {
  return isSuperstepError(error) && error.code === "QUERY_TIMEOUT"
}
