/** Whether a run may still start something that costs. */
import type { ErrorData } from "./errors.ts"
import type { GraphNode } from "./graph.ts"
import type { MachineState, Reservation, Task } from "./state.ts"
import {
  addUsage,
  amountOf,
  type Budget,
  type BudgetPart,
  exhausted,
  misfits,
  remaining,
  type Usage,
} from "./usage.ts"

/** What is used up, or undefined. Once the run is on its limit route the budget no longer holds it back. */
export function overBudget(m: MachineState): ErrorData | undefined {
  if (m.budget === undefined || m.graceUntil !== undefined) return undefined
  const parts = exhausted(m.budget, m.usage)
  return parts.length === 0 ? undefined : exceeded("Budget exceeded", parts)
}

/** The same for one node, over all its tasks. */
export function nodeOverBudget(m: MachineState, node: GraphNode): ErrorData | undefined {
  const { index, spec } = node
  const usage = spec.budget === undefined ? undefined : m.nodes[index]?.usage
  if (usage === undefined || m.graceUntil !== undefined) return undefined
  const parts = exhausted(spec.budget ?? {}, usage)
  return parts.length === 0 ? undefined : nodeExceeded(node, parts)
}

/**
 * Why a call of a task may not be made that reserves so much, or undefined. What other calls have reserved counts in the
 * parts that this one needs (R1), and so does what an earlier start of it has reserved; with a key, this start's own
 * reservation is about to be replaced, and does not.
 */
export function reservationProblem(
  m: MachineState,
  call: { readonly task: Task; readonly key: string | undefined },
  needed: Usage,
): ErrorData | undefined {
  if (m.graceUntil !== undefined) return undefined
  const over = overBudget(m) ?? nodeOverBudget(m, call.task.node)
  if (over !== undefined) return over
  const unpriced = unpricedProblem(m.budget, needed) ?? unpricedProblem(call.task.node.spec.budget, needed)
  if (unpriced !== undefined) return unpriced
  if (m.budget !== undefined) {
    const taken = claimed(m, m.usage, () => true, call)
    const parts = misfits(m.budget, taken, needed)
    if (parts.length > 0)
      return { ...exceeded("Budget exceeded", parts), cause: lacking(m.budget, taken, needed, parts) }
  }
  const { node } = call.task
  const { budget } = node.spec
  if (budget === undefined) return undefined
  const taken = claimed(m, m.nodes[node.index]?.usage ?? {}, ({ task }) => task.node === node, call)
  const parts = misfits(budget, taken, needed)
  if (parts.length === 0) return undefined
  return { ...nodeExceeded(node, parts), cause: lacking(budget, taken, needed, parts) }
}

/** A budget in dollars cannot bound a call whose price nobody knows. */
function unpricedProblem(budget: Budget | undefined, needed: Usage): ErrorData | undefined {
  if (budget?.usd === undefined || budget.allowUnpriced || !needed.unpricedCalls) return undefined
  const message = `The budget of ${budget.usd} US dollars cannot be kept: the price of the model is not known`
  return { code: "BUDGET_UNPRICED", message, retryable: false, fatal: true }
}

/** What is used and reserved, but for the reservation of one call, which is about to change. */
export function claimed(
  m: MachineState,
  used: Usage,
  counts: (reservation: Reservation) => boolean,
  except?: { readonly task: Task; readonly key: string | undefined },
): Usage {
  if (m.reservations.size === 0) return used
  let total = used
  for (const reservation of m.reservations.values()) {
    if (reservation.task === except?.task && reservation.key === except.key) continue
    if (counts(reservation)) total = addUsage(total, reservation.usage)
  }
  return total
}

function lacking(budget: Budget, taken: Usage, needed: Usage, parts: readonly BudgetPart[]): ErrorData {
  const left = remaining(budget, taken)
  const amounts = parts.map(
    (part) => `${rounded(amountOf(part, needed))} ${part} with ${rounded(left[part] ?? 0)} left`,
  )
  const message = `The next call may need ${amounts.join(", ")}. Raise the budget, or lower maxOutputTokens.`
  return { code: "BUDGET_EXCEEDED", message }
}

/** Money has fractions; more digits say nothing. */
function rounded(value: number): string {
  return String(Number(value.toPrecision(6)))
}

function exceeded(what: string, parts: readonly string[]): ErrorData {
  return { code: "BUDGET_EXCEEDED", message: `${what}: ${parts.join(", ")}` }
}

function nodeExceeded({ id }: GraphNode, parts: readonly string[]): ErrorData {
  return { ...exceeded(`Budget of node "${id}" exceeded`, parts), node: id }
}
