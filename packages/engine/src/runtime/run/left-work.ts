/** What stays of work in progress when a limit ends it: conversations of agents, at any depth. */
import type { Json, Left, LeftByTask, LeftNotice, Machine, Task } from "../../core/index.ts"
import { joinNotices } from "../../core/internal.ts"
import type { LeftWork } from "./context.ts"

/** The attempt at a task that runs in this process. */
interface Leaver {
  left(error: unknown): Left | undefined
}

/** Of one task: its own work first, then that of the workflows that it called. What cannot be stored is refused, alone. */
export function leftByTask(
  own: readonly LeftWork[],
  below: readonly LeftNotice[],
  owned: (value: unknown) => Json,
  refuse: (problem: unknown) => void,
): Left | undefined {
  const kept = own.flatMap(({ notice = {}, writes = [] }) => {
    try {
      const written = writes.map(([key, value]) => [key, owned(value)] as const)
      return [{ notice: owned(notice) as LeftNotice, writes: written }]
    } catch (problem) {
      refuse(problem)
      return []
    }
  })
  if (kept.length === 0 && below.length === 0) return undefined
  return {
    writes: kept.flatMap(({ writes }) => writes),
    notice: joinNotices([...kept.map(({ notice }) => notice), ...below]),
  }
}

export function leftByTasks(machine: Machine, error: unknown): LeftByTask {
  return [...machine.tasks()].flatMap(({ id, attachment }: Task) => {
    const left = (attachment as Leaver | undefined)?.left(error)
    return left === undefined ? [] : [[id, left] as const]
  })
}

/** Of a sub-workflow: how far its agents have come, or had when a limit ended it. */
export function noticesOf(machine: Machine | undefined, error: unknown): readonly LeftNotice[] {
  if (machine === undefined) return []
  if (machine.isOver()) return machine.left === undefined ? [] : [machine.left]
  return leftByTasks(machine, error).flatMap(([, { notice }]) => (notice === undefined ? [] : [notice]))
}
