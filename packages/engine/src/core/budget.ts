/** Whether a run may still start something that costs. */
import type { ErrorData } from "./errors.ts"
import type { GraphNode } from "./graph.ts"
import type { MachineState } from "./state.ts"
import { exhausted } from "./usage.ts"

/** What is used up, or undefined. Once the run is on its limit route the budget no longer holds it back. */
export function overBudget(m: MachineState): ErrorData | undefined {
  if (m.budget === undefined || m.graceUntil !== undefined) return undefined
  const parts = exhausted(m.budget, m.usage)
  if (parts.length === 0) return undefined
  return { code: "BUDGET_EXCEEDED", message: `Budget exceeded: ${parts.join(", ")}` }
}

/** The same for one node, over all its tasks. */
export function nodeOverBudget(m: MachineState, { index, id, spec }: GraphNode): ErrorData | undefined {
  const usage = spec.budget === undefined ? undefined : m.nodes[index]?.usage
  if (usage === undefined || m.graceUntil !== undefined) return undefined
  const parts = exhausted(spec.budget ?? {}, usage)
  if (parts.length === 0) return undefined
  return {
    code: "BUDGET_EXCEEDED",
    message: `Budget of node "${id}" exceeded: ${parts.join(", ")}`,
    node: id,
  }
}
