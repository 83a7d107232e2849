/** What the entries of a sub-workflow reserve and use, as its callers count it. */
import type { Entry, Machine, SourcedUsage, StepStarted, TaskId, UsageReserved } from "../../core/index.ts"

interface HoldingFrame {
  readonly key: string
  readonly machine: Pick<Machine, "wasStarted">
}

/** How the callers of a frame name what a step of it has reserved. */
export function holdName({ key }: Pick<HoldingFrame, "key">, task: TaskId, step: string): string {
  return `${key} ${task}:${step}`
}

/** The reservation that an entry makes or replaces, by the name that callers use. To be asked before it is applied. */
export function holdOf(frame: HoldingFrame, entry: Entry): string | undefined {
  switch (entry.type) {
    case "step.started":
      return holdName(frame, entry.task, entry.key)
    case "step.recorded":
      return entry.settles === true ? holdName(frame, entry.task, entry.key) : undefined
    case "usage.reserved":
      return entry.hold
    case "usage.recorded": {
      const { task, settles } = entry
      if (settles === undefined) return undefined
      return frame.machine.wasStarted(task, settles) ? holdName(frame, task, settles) : settles
    }
    default:
      return undefined
  }
}

/** What was used, not only reserved. Undefined for an entry without usage. */
export function usedBy(
  entry: Exclude<Entry, StepStarted | UsageReserved>,
): readonly SourcedUsage[] | undefined {
  if (!("usage" in entry) || entry.usage === undefined) return undefined
  const { usage } = entry
  return "source" in entry ? [{ usage, source: entry.source }, ...(entry.also ?? [])] : [{ usage }]
}
