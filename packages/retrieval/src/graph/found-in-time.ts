import { isSuperstepError } from "@superstep/engine"
import type { GraphNode } from "./graph-database.ts"

/** Searches that were not ready in time are left out, as long as one was. */
export async function foundInTime(searches: readonly Promise<readonly GraphNode[]>[]): Promise<GraphNode[]> {
  const results = await Promise.allSettled(searches)
  const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []))
  const isLate = (error: unknown) => isSuperstepError(error) && error.code === "QUERY_TIMEOUT"
  const worst = failures.find((error) => !isLate(error)) ?? failures[0]
  if (worst !== undefined && (!isLate(worst) || failures.length === results.length)) throw worst
  const nodes = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []))
  return [...new Map(nodes.map((node) => [node.id, node])).values()]
}
