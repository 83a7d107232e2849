/**
 * What tasks have used, what their calls in progress have reserved, and whether a run may start another call.
 *
 * A call that costs reserves before it is made, with an entry of its own, and settles when its result is recorded. So
 * every call that may have been made counts, even if the process died before its result was recorded:
 *
 * R1 a reservation counts against the budget until the call's actual usage settles it.
 * R2 a reservation that can no longer be settled (its attempt has ended, the run ended, the call starts again) is counted:
 *    by the known usage when the call was stopped, or in full if unknown. It is never refunded.
 * R3 `usage` only grows: a reservation becomes part of it by R2 only.
 */
import { putEntry, removeEntry } from "./collections.ts"
import { emit, watched } from "./emit.ts"
import type { StepStarted } from "./entries.ts"
import { checkKeyFree } from "./entry-checks.ts"
import type { ErrorData } from "./errors.ts"
import type { GraphNode } from "./graph.ts"
import { type MachineState, nodeState, type Reservation } from "./state.ts"
import { extrasOf, type Task } from "./task.ts"
import {
  addUsage,
  amountOf,
  type Budget,
  type BudgetPart,
  exhausted,
  misfits,
  remaining,
  type SourcedUsage,
  type Usage,
  type UsageSource,
} from "./usage.ts"

/** The parts that are used up, or undefined. The budget does not apply to the limit route. */
export function overBudget(m: MachineState, more?: Usage): ErrorData | undefined {
  if (m.budget === undefined || m.graceUntil !== undefined) return undefined
  const parts = exhausted(m.budget, more === undefined ? m.usage : addUsage(m.usage, more))
  return parts.length === 0 ? undefined : exceeded("Budget exceeded", parts)
}

/** The same for one node, over all its tasks. */
export function nodeOverBudget(m: MachineState, node: GraphNode): ErrorData | undefined {
  const { index, spec } = node
  const usage = spec.budget === undefined ? undefined : m.nodes?.[index]?.usage
  if (usage === undefined || m.graceUntil !== undefined) return undefined
  const parts = exhausted(spec.budget ?? {}, usage)
  return parts.length === 0 ? undefined : nodeExceeded(node, parts)
}

/**
 * Why a call with this reservation may not start, or undefined. Reservations of other calls and of earlier starts count in
 * the parts that this one needs (R1); with a key, this start's own reservation is about to be replaced and does not count.
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
  const taken = claimed(m, m.nodes?.[node.index]?.usage ?? {}, ({ task }) => task.node === node, call)
  const parts = misfits(budget, taken, needed)
  if (parts.length === 0) return undefined
  return { ...nodeExceeded(node, parts), cause: lacking(budget, taken, needed, parts) }
}

/** A budget in dollars cannot bound a call with an unknown price. */
function unpricedProblem(budget: Budget | undefined, needed: Usage): ErrorData | undefined {
  if (budget?.usd === undefined || budget.allowUnpriced || !needed.unpricedCalls) return undefined
  const message = `The budget of ${budget.usd} US dollars cannot be enforced: the price of the model is unknown`
  return { code: "BUDGET_UNPRICED", message, retryable: false, fatal: true }
}

/** What is used and reserved, except for one reservation that is about to change. */
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

/** Rounds fractions of money for display. */
function rounded(value: number): string {
  return String(Number(value.toPrecision(6)))
}

function exceeded(what: string, parts: readonly string[]): ErrorData {
  return { code: "BUDGET_EXCEEDED", message: `${what}: ${parts.join(", ")}` }
}

function nodeExceeded({ id }: GraphNode, parts: readonly string[]): ErrorData {
  return { ...exceeded(`Budget of node "${id}" exceeded`, parts), node: id }
}

export function count(m: MachineState, task: Task, usage: Usage, source: UsageSource | undefined): void {
  m.usage = addUsage(m.usage, usage)
  if (task.node.spec.budget !== undefined) {
    const node = nodeState(m, task.node)
    node.usage = addUsage(node.usage ?? {}, usage)
  }
  const agent = source?.agent
  if (agent !== undefined)
    m.usageByAgent = putEntry(m.usageByAgent, agent, addUsage(m.usageByAgent.get(agent) ?? {}, usage))
  if (watched(m)) {
    const from = source === undefined ? {} : { source }
    emit(m, { type: "usage.recorded", task: task.id, node: task.node.id, usage, ...from })
  }
}

export function countAlso(m: MachineState, task: Task, also: readonly SourcedUsage[] | undefined): void {
  for (const { usage, source } of also ?? []) count(m, task, usage, source)
}

export function startStep(m: MachineState, task: Task, entry: StepStarted): void {
  const { key, usage, source, isRaise, spent } = entry
  checkKeyFree(task, key)
  const extras = extrasOf(task)
  extras.starts ??= new Set()
  extras.starts.add(key)
  reserve(m, { task, key, usage, source, spent }, isRaise === true)
}

/** `isRaise`: the call in progress needs more than it has reserved. Otherwise an earlier reservation is lost (R2). */
export function reserve(m: MachineState, reservation: Reservation, isRaise: boolean): void {
  const id = idOf(reservation.task, reservation.key)
  const before = m.reservations.get(id)
  if (before !== undefined && !isRaise) lose(m, id, before)
  m.reservations = putEntry(m.reservations, id, reservation)
}

/** The call has ended. Unless its usage replaces the reservation, the reservation is lost. */
export function endReservation(m: MachineState, task: Task, key: string, isSettled: boolean): void {
  if (m.reservations.size === 0) return
  const id = idOf(task, key)
  const reservation = m.reservations.get(id)
  if (reservation === undefined) return
  if (isSettled) removeEntry(m.reservations, id)
  else lose(m, id, reservation)
}

/** R2: for one task, or for all. */
export function loseReservations(m: MachineState, task?: Task): void {
  if (m.reservations.size > 0) loseEach(m, task)
}

function loseEach(m: MachineState, task: Task | undefined): void {
  for (const [id, reservation] of [...m.reservations])
    if (task === undefined || reservation.task === task) lose(m, id, reservation)
}

function lose(m: MachineState, id: string, reservation: Reservation): void {
  removeEntry(m.reservations, id)
  const { task, spent = [reservation] } = reservation
  for (const { usage, source } of spent) {
    count(m, task, usage, source)
    m.lost = addUsage(m.lost, usage)
    const { agent } = source ?? {}
    if (agent === undefined || usage.modelCalls === undefined) continue
    const calls = (m.lostCallsByAgent.get(agent) ?? 0) + usage.modelCalls
    m.lostCallsByAgent = putEntry(m.lostCallsByAgent, agent, calls)
  }
}

function idOf(task: Task, key: string): string {
  return `${task.id} ${key}`
}
