/** Which events of a run somebody wants to read. One test for servers, which read them, and for pages, which receive new ones. */
import type { TaskId } from "../core/index.ts"
import type { RunEvent } from "./events.ts"

export interface EventFilter {
  readonly types?: ReadonlySet<string> | undefined
  /** Contained in the event as JSON, whatever its case. */
  readonly text?: string | undefined
  readonly task?: { readonly path: readonly string[]; readonly id: TaskId } | undefined
}

export function matchesEvent(event: RunEvent, { types, text, task }: EventFilter): boolean {
  if (types !== undefined && !types.has(event.type)) return false
  if (task !== undefined && !isOf(event, task)) return false
  return text === undefined || text === "" || JSON.stringify(event).toLowerCase().includes(text.toLowerCase())
}

/** Questions of the task count too; what happens in the workflows that it calls does not. */
function isOf(event: RunEvent, { path, id }: NonNullable<EventFilter["task"]>): boolean {
  const own = "task" in event ? event.task : event.type === "request.opened" ? event.request.task : undefined
  return own === id && path.length === event.path.length && path.every((part, i) => event.path[i] === part)
}
