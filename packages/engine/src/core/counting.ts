/**
 * What tasks have used, and what their calls under way have reserved.
 *
 * A call that costs reserves before it is made, with an entry of its own, and settles when its result is recorded. So
 * every call that may have been made counts, even if the process died before its result was recorded:
 *
 * R1 a reservation counts against the budget until what the call really used settles it.
 * R2 a reservation that can no longer be settled (its attempt is over, the run ended, the call starts again) is counted
 *    in full; it is never given back.
 * R3 `usage` only grows: a reservation becomes part of it by R2 only.
 */
import { nodeState } from "./admission.ts"
import { emit, watched } from "./emit.ts"
import type { StepStarted } from "./entries.ts"
import { checkKeyFree } from "./fitting.ts"
import type { MachineState, Reservation, Task } from "./state.ts"
import { addUsage, type Usage, type UsageSource } from "./usage.ts"

export function count(m: MachineState, task: Task, usage: Usage, source: UsageSource | undefined): void {
  m.usage = addUsage(m.usage, usage)
  if (task.node.spec.budget !== undefined) {
    const node = nodeState(m, task.node)
    node.usage = addUsage(node.usage ?? {}, usage)
  }
  const agent = source?.agent
  if (agent !== undefined) m.usageByAgent.set(agent, addUsage(m.usageByAgent.get(agent) ?? {}, usage))
  if (watched(m)) {
    const from = source === undefined ? {} : { source }
    emit(m, { type: "usage.recorded", task: task.id, node: task.node.id, usage, ...from })
  }
}

export function startStep(m: MachineState, task: Task, entry: StepStarted): void {
  const { key, usage, source, isRaise } = entry
  checkKeyFree(task, key)
  task.starts ??= new Set()
  task.starts.add(key)
  reserve(m, { task, key, usage, source }, isRaise === true)
}

/** `isRaise`: the call under way needs more than it has reserved. Otherwise what was reserved before it was lost (R2). */
export function reserve(m: MachineState, reservation: Reservation, isRaise: boolean): void {
  const id = idOf(reservation.task, reservation.key)
  const before = m.reservations.get(id)
  if (before !== undefined && !isRaise) lose(m, id, before)
  m.reservations.set(id, reservation)
}

/** The call is over. Unless what it used is counted in place of its reservation, that is lost. */
export function endReservation(m: MachineState, task: Task, key: string, isSettled: boolean): void {
  if (m.reservations.size === 0) return
  const id = idOf(task, key)
  const reservation = m.reservations.get(id)
  if (reservation === undefined) return
  if (isSettled) m.reservations.delete(id)
  else lose(m, id, reservation)
}

/** R2: of one task, or of all. */
export function loseReservations(m: MachineState, task?: Task): void {
  if (m.reservations.size === 0) return
  for (const [id, reservation] of [...m.reservations])
    if (task === undefined || reservation.task === task) lose(m, id, reservation)
}

function lose(m: MachineState, id: string, { task, usage, source }: Reservation): void {
  m.reservations.delete(id)
  count(m, task, usage, source)
  m.lost = addUsage(m.lost, usage)
  const { agent } = source ?? {}
  if (agent === undefined || usage.modelCalls === undefined) return
  m.lostCallsByAgent.set(agent, (m.lostCallsByAgent.get(agent) ?? 0) + usage.modelCalls)
}

function idOf(task: Task, key: string): string {
  return `${task.id} ${key}`
}
