import type { Send } from "./entries.ts"
import type { ErrorData } from "./errors.ts"
import { asFailed } from "./joins.ts"
import type { Json } from "./json.ts"
import type { Task } from "./state.ts"

/** Where a final failure goes: the node's error edge, else the joins that settle; undefined: it fails the run. */
export function failureRoute(
  { node, message }: Pick<Task, "node" | "message">,
  error: ErrorData,
): Send[] | undefined {
  if (node.onError !== undefined) {
    const value = { node: node.id, error, input: message } as unknown as Json
    return [{ value, route: { nodes: [node.onError] } }]
  }
  if (node.settles.length === 0) return undefined
  return [{ value: asFailed(error), route: { joins: node.settles.map((join) => join.id), failed: true } }]
}
