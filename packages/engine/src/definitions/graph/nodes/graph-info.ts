/** What all nodes of a graph share: its options, and the channels of its state. */

import { conversation } from "../../../agents/index.ts"
import type { Json, NodeId } from "../../../core/index.ts"
import { add, append, type Channel, channel, merge, replace } from "../../../runtime/index.ts"
import { SecretVariables, type SecretVariablesOptions } from "../../variables.ts"

export interface GraphOptions extends SecretVariablesOptions {
  readonly maxSteps: number
  /** Its agents share one conversation and choose the next speaker. */
  readonly chat?: boolean | undefined
  /** Every agent can end the conversation. */
  readonly conversational?: boolean | undefined
  /** The node that asks a person when the run reaches a limit or repeats itself. */
  readonly handoff?: NodeId | undefined
  /** The node that chooses the result if several lanes may end, and the nodes whose outputs it prefers, in order. */
  readonly end?: { readonly node: NodeId; readonly from: readonly NodeId[] } | undefined
  /** Values of names that the state does not have. */
  readonly vars?: Readonly<Record<string, Json>> | undefined
}

export interface GraphInfo extends GraphOptions {
  readonly vars: Readonly<Record<string, Json>>
  readonly secretVars: SecretVariables
}

export function graphInfo(options: GraphOptions): GraphInfo {
  const { secretValues: _, ...known } = options
  const secretVars = new SecretVariables(options, process.env)
  return Object.freeze({ ...known, vars: { ...options.vars, ...secretVars.shown }, secretVars })
}

export const GOAL: Channel<string | undefined, string> = channel("goal", replace<string>())

type Values = Readonly<Record<string, Json>>

/** Outputs by node; of a node on several lanes, by node and lane. */
export const OUTPUTS: Channel<Values, Values> = channel("outputs", merge<Values>({}))

/** State by path, so that nodes that write at the same time keep each other's values. */
export const VALUES: Channel<Values, Values> = channel("state", merge<Values>({}))

/** Node visits so far, including those about to begin. */
export const STEPS: Channel<number, number> = channel("steps", add())

/** Open lanes: a fan-out adds some, a merge removes some. */
export const OPEN_LANES: Channel<number, number> = channel("ways", add(1))

/** Continues across the runs of a thread. */
export const MESSAGES: ReturnType<typeof conversation> = conversation()

type NullableString = Channel<string | null, string | null>

export const NEXT: NullableString = channel("next", replace<string | null>(null))
export const LAST_CALLER: NullableString = channel("lastCaller", replace<NodeId | null>(null))
export const LAST_TOOL: NullableString = channel("lastTool", replace<string | null>(null))

/** A visited node, and a digest of its result. */
export interface Footprint {
  readonly node: string
  readonly print: string
}

export const TRAIL: Channel<readonly Footprint[], readonly Footprint[]> = channel(
  "trail",
  append<Footprint>(),
)

export function graphChannels(): readonly Channel<unknown, never>[] {
  return [GOAL, OUTPUTS, VALUES, STEPS, OPEN_LANES]
}

/** For graphs whose agents share a conversation. */
export function chatChannels(): readonly Channel<unknown, never>[] {
  return [MESSAGES, NEXT, LAST_CALLER, LAST_TOOL, TRAIL, ...graphChannels()]
}
