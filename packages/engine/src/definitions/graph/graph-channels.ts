/** The state of a run. What a node leaves is written once, here; messages say only where it is. */
import { conversation } from "../../agents/index.ts"
import type { Json, NodeId } from "../../core/index.ts"
import { add, append, type Channel, channel, merge, replace } from "../../runtime/index.ts"

/** What the run was asked. */
export const GOAL: Channel<string | undefined, string> = channel("goal", replace<string>())

type Values = Readonly<Record<string, Json>>

/** What nodes have left, by node; where a node is on several ways at once, by node and way. */
export const OUTPUTS: Channel<Values, Values> = channel("outputs", merge<Values>({}))

/** What nodes have written down, by path: two that write at the same time lose nothing of each other. */
export const VALUES: Channel<Values, Values> = channel("state", merge<Values>({}))

/** Node visits so far, those included that are about to begin. */
export const STEPS: Channel<number, number> = channel("steps", add())

/** Ways that are not at an end: a fan-out adds to them, a merge takes some away. */
export const WAYS: Channel<number, number> = channel("ways", add(1))

/** Goes on from run to run of a thread. */
export const MESSAGES: ReturnType<typeof conversation> = conversation()

export const NEXT: Channel<string | null, string | null> = channel("next", replace<string | null>(null))
export const LAST_CALLER: Channel<NodeId | null, NodeId | null> = channel(
  "lastCaller",
  replace<NodeId | null>(null),
)
export const LAST_TOOL: Channel<string | null, string | null> = channel(
  "lastTool",
  replace<string | null>(null),
)

/** A node that was visited, and a digest of what it brought. */
export interface Footprint {
  readonly node: string
  readonly print: string
}

export const TRAIL: Channel<readonly Footprint[], readonly Footprint[]> = channel(
  "trail",
  append<Footprint>(),
)

export function graphChannels(): readonly Channel<unknown, never>[] {
  return [GOAL, OUTPUTS, VALUES, STEPS, WAYS]
}

/** Where agents share a conversation. */
export function chatChannels(): readonly Channel<unknown, never>[] {
  return [MESSAGES, NEXT, LAST_CALLER, LAST_TOOL, TRAIL, ...graphChannels()]
}
