/** The work that remains when a limit ends tasks: conversations of agents, at any depth. */
import type { Json, Left, LeftByTask, LeftNotice, Machine, Task } from "../../core/index.ts"
import { joinNotices } from "../../core/internal.ts"
import type { LeftWork } from "./context.ts"

/** The attempt at a task that runs in this process. */
interface Leaver {
  left(error: unknown): Left | undefined
}

/**
 * The work of one task: its own first, then that of the workflows that it called. Only values that cannot be stored are
 * dropped.
 */
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

/** The progress of a sub-workflow's agents, now or when a limit ended it. */
export function noticesOf(machine: Machine | undefined, error: unknown): readonly LeftNotice[] {
  if (machine === undefined) return []
  if (machine.isOver()) return machine.left === undefined ? [] : [machine.left]
  return leftByTasks(machine, error).flatMap(([, { notice }]) => (notice === undefined ? [] : [notice]))
}
