/** The flow options of a workflow, as a runtime evaluates them: which lanes a run has, whose it is, and what it is merged with. */
import { type Json, SuperstepError } from "../../core/index.ts"
import type { Lane, LaneLimit, RunFlow } from "./run-flow.ts"

/** A function of the input. */
export type FlowKey = (input: never) => unknown

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
    ({ limit, option, key }): Lane => ({ limit, key: flowKey(workflow, option, key, input) }),
  )
  return {
    ...(lanes.length === 0 ? {} : { lanes }),
    ...(flow.tenant === undefined ? {} : { tenant: flowKey(workflow, "tenant", flow.tenant, input) }),
    ...(flow.priority === undefined ? {} : { priority: priorityOf(workflow, flow.priority, input) }),
  }
}

/** The key of an input, as a string; the empty one where an option has no key. */
export function flowKey(workflow: string, option: string, key: FlowKey | undefined, input: Json): string {
  if (key === undefined) return ""
  const value = evaluate(workflow, option, key, input)
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return String(value)
  throw keyInvalid(
    workflow,
    option,
    `is ${JSON.stringify(value)}; it must be a string, a number or a boolean`,
  )
}

function priorityOf(workflow: string, priority: number | FlowKey, input: Json): number {
  const value = typeof priority === "number" ? priority : evaluate(workflow, "priority", priority, input)
  if (typeof value === "number" && Number.isFinite(value)) return value
  throw keyInvalid(workflow, "priority", `is ${JSON.stringify(value)}; it must be a number`)
}

function evaluate(workflow: string, option: string, key: FlowKey, input: Json): unknown {
  try {
    return key(input as never)
  } catch (error) {
    throw keyInvalid(workflow, option, `could not be evaluated: ${(error as Error)?.message ?? error}`, error)
  }
}

function keyInvalid(workflow: string, option: string, problem: string, cause?: unknown): SuperstepError {
  const text = `flow.${option} of workflow "${workflow}" ${problem}.`
  return new SuperstepError("FLOW_KEY_INVALID", text, cause === undefined ? {} : { cause })
}
