/** How a sub-workflow is named: within its run's journal, and on the way that events show. */
import type { NodeId, TaskId } from "../core/index.ts"

/** A retried task calls again under a key of its own. */
export function childKey(parent: string, task: TaskId, attempt: number, key: string): string {
  const own = `${task}.${attempt}:${key.replaceAll("/", "%2F")}`
  return parent === "" ? own : `${parent}/${own}`
}

/** `node#task`, and for a further call of the same attempt `node#task.2`. */
export function pathPart(node: NodeId, task: TaskId, call: number): string {
  return `${node}#${task}${call === 1 ? "" : `.${call}`}`
}
