/** The flow options of a workflow, as a runtime evaluates them: which lanes a run has, whose it is, and what it is merged with. */
import { type Json, SuperstepError } from "../../core/index.ts"
import type { Channel } from "./channel.ts"
import type { Lane, LaneLimit, LaneRate, RunFlow } from "./run-flow.ts"
import type { SlotLane } from "./slots.ts"
import type { Labels } from "./stored.ts"

/** A function of the input; for a node, of its message and of what it sees of the run. */
export type FlowKey = (input: never, run: never) => unknown

/** What keys of a node see of the run, besides the message. */
export interface NodeFlowRun {
  readonly labels: Labels
  readonly state: { get<T>(channel: Channel<T, never>): T }
}

export interface ProgramFlow {
  /** The limits of its lanes. */
  readonly limits: readonly LaneLimit[]
  /** The lanes of its runs. `option` names the key in messages. */
  readonly lanes: readonly {
    readonly limit: string
    readonly option: string
    readonly key?: FlowKey | undefined
  }[]
  readonly tenant?: FlowKey | undefined
  readonly priority?: number | FlowKey | undefined
  readonly throttle?: { readonly period: number; readonly key?: FlowKey | undefined } | undefined
  readonly debounce?:
    | { readonly period: number; readonly timeout?: number | undefined; readonly key?: FlowKey | undefined }
    | undefined
  readonly batch?:
    | { readonly maxSize: number; readonly timeout: number; readonly key?: FlowKey | undefined }
    | undefined
}

/** Evaluates the flow options of a workflow for an input. Throws FLOW_KEY_INVALID if a key is invalid. */
export function flowOf(
  workflow: string,
  flow: ProgramFlow | undefined,
  input: Json,
): Pick<RunFlow, "lanes" | "tenant" | "priority"> {
  if (flow === undefined) return {}
  const lanes = flow.lanes.map(
    ({ limit, option, key }): Lane => ({ limit, key: flowKey(`workflow "${workflow}"`, option, key, input) }),
  )
  return {
    ...(lanes.length === 0 ? {} : { lanes }),
    ...(flow.tenant === undefined
      ? {}
      : { tenant: flowKey(`workflow "${workflow}"`, "tenant", flow.tenant, input) }),
    ...(flow.priority === undefined
      ? {}
      : { priority: priorityOf(`workflow "${workflow}"`, flow.priority, input) }),
  }
}

/** The key of an input, as a string; the empty one where an option has no key. `owner` is the workflow or node that has the option. */
export function flowKey(
  owner: string,
  option: string,
  key: FlowKey | undefined,
  input: Json,
  run?: NodeFlowRun,
): string {
  if (key === undefined) return ""
  const value = evaluate(owner, option, key, input, run)
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return String(value)
  throw keyInvalid(owner, option, `is ${JSON.stringify(value)}; it must be a string, a number or a boolean`)
}

function priorityOf(owner: string, priority: number | FlowKey, input: Json, run?: NodeFlowRun): number {
  const value = typeof priority === "number" ? priority : evaluate(owner, "priority", priority, input, run)
  if (typeof value === "number" && Number.isFinite(value)) return value
  throw keyInvalid(owner, "priority", `is ${JSON.stringify(value)}; it must be a number`)
}

function evaluate(
  owner: string,
  option: string,
  key: FlowKey,
  input: Json,
  run: NodeFlowRun | undefined,
): unknown {
  try {
    return key(input as never, run as never)
  } catch (error) {
    throw keyInvalid(owner, option, `could not be evaluated: ${(error as Error)?.message ?? error}`, error)
  }
}

function keyInvalid(owner: string, option: string, problem: string, cause?: unknown): SuperstepError {
  const text = `flow.${option} of ${owner} ${problem}.`
  return new SuperstepError("FLOW_KEY_INVALID", text, cause === undefined ? {} : { cause })
}

/** The flow options of a node, as its tasks evaluate them. */
export interface NodeFlow {
  /** Those with a key first: a key that is full holds up no other. */
  readonly lanes: readonly {
    readonly option: string
    readonly key?: FlowKey | undefined
    readonly max?: number | undefined
    readonly rate?: LaneRate | undefined
  }[]
  readonly priority?: number | FlowKey | undefined
}

/** The lanes of a task. One that has started before counts against no rate. Throws FLOW_KEY_INVALID. */
export function slotLanes(
  node: string,
  flow: NodeFlow,
  message: Json,
  run: NodeFlowRun,
  hasStarted: boolean,
): SlotLane[] {
  return flow.lanes.flatMap(({ option, key, max, rate }) => {
    if (hasStarted && max === undefined) return []
    const of = flowKey(`node "${node}"`, `${option}.key`, key, message, run)
    return [{ name: key === undefined ? option : `${option} ${of}`, max, ...(hasStarted ? {} : { rate }) }]
  })
}

export function slotPriority(
  node: string,
  { priority = 0 }: NodeFlow,
  message: Json,
  run: NodeFlowRun,
): number {
  return priorityOf(`node "${node}"`, priority, message, run)
}
