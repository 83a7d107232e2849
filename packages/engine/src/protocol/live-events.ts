/** Which events are live. Apart from the schemas, so that a fold in a browser does not load those. */
import type { RunEvent } from "./events.ts"

/** An event that is not journaled: it has the number of the event before it. */
export type LiveEvent = Extract<RunEvent, { readonly type: "custom" | "log" | Passing }>

/** Events that show work in progress: a view keeps neither them nor gaps. */
type Passing = "model.delta" | "output.partial" | "tool.progress" | "slot.waiting" | "live.gap"

const PASSING: ReadonlySet<string> = new Set<Passing>([
  "model.delta",
  "output.partial",
  "tool.progress",
  "slot.waiting",
  "live.gap",
])

/** The live events that a view keeps. */
export type LogEvent = Exclude<LiveEvent, { readonly type: Passing }>

export function isPassing(event: RunEvent): event is Extract<RunEvent, { readonly type: Passing }> {
  return PASSING.has(event.type)
}

/** An event that follows from the journal: numbered, and identical in every replay. */
export type DurableEvent = Exclude<RunEvent, LiveEvent>

export function isLive(event: RunEvent): event is LiveEvent {
  return event.type === "custom" || event.type === "log" || isPassing(event)
}
