/** What people type into the form of a schedule, and the options that it means. Pure; the server has the last word. */

import type { Schedule, ScheduleOptions, SchedulePreview } from "@superstep/client"
import { localTime } from "../ui/format.ts"

export interface ScheduleDraft {
  readonly id: string
  readonly workflow: string
  readonly kind: "cron" | "every" | "at"
  readonly cron: string
  readonly timeZone: string
  readonly every: string
  /** As an input of the type datetime-local has it. */
  readonly at: string
  readonly jitter: string
  readonly overlap: string
  readonly catchUp: string
}

export function draftOf(schedule: Schedule | undefined, timeZone: string): ScheduleDraft {
  const { cron, every, at, jitter = 0 } = schedule ?? {}
  return {
    id: schedule?.id ?? "",
    workflow: schedule?.workflow ?? "",
    kind: every !== undefined ? "every" : at !== undefined ? "at" : "cron",
    cron: cron ?? "0 9 * * 1-5",
    timeZone: schedule === undefined ? timeZone : (schedule.timeZone ?? "UTC"),
    every: every === undefined ? "1 h" : spanText(every),
    at: at === undefined ? "" : localTime(at),
    jitter: jitter === 0 ? "" : spanText(jitter),
    overlap: schedule?.overlap ?? "skip",
    catchUp: schedule?.catchUp ?? "last",
  }
}

type Problems = ReadonlyMap<keyof ScheduleDraft, string>

/** The timing alone, to preview it; or what is wrong with it. */
export function timingOf(draft: ScheduleDraft): SchedulePreview | Problems {
  const problems = new Map<keyof ScheduleDraft, string>()
  const jitter = draft.jitter.trim() === "" ? 0 : spanOf(draft.jitter)
  if (jitter === undefined) problems.set("jitter", "Write a time such as 30 s or 5 min.")
  const more = jitter === undefined || jitter === 0 ? {} : { jitter }
  if (draft.kind === "cron") {
    const cron = draft.cron.trim()
    if (!cron.startsWith("@") && ![5, 6].includes(cron.split(/\s+/).length))
      problems.set(
        "cron",
        "Write 5 fields (minute, hour, day, month, weekday), 6 with seconds first, or @daily.",
      )
    return problems.size > 0 ? problems : { cron, timeZone: draft.timeZone.trim() || "UTC", ...more }
  }
  if (draft.kind === "every") {
    const every = spanOf(draft.every)
    if (every === undefined || every < 1_000)
      problems.set("every", "Write a time of at least a second, such as 90 s, 15 min or 1 h 30 min.")
    return problems.size > 0 || every === undefined ? problems : { every, ...more }
  }
  const at = new Date(draft.at).getTime()
  if (Number.isNaN(at)) problems.set("at", "Choose a date and a time.")
  return problems.size > 0 ? problems : { at, ...more }
}

/** The options to store. What the form does not show stays as it was. */
export function optionsOf(
  draft: ScheduleDraft,
  input: unknown,
  before: Schedule | undefined,
): ScheduleOptions | Problems {
  const timing = timingOf(draft)
  const problems = new Map(timing instanceof Map ? timing : [])
  if (draft.id.trim() === "") problems.set("id", "Choose a name, such as nightly.")
  if (draft.workflow === "") problems.set("workflow", "Choose a workflow.")
  if (problems.size > 0) return problems
  const { maxCatchUp, queue, priority, labels } = before ?? {}
  return {
    ...(timing as SchedulePreview & { cron: string }),
    workflow: draft.workflow,
    input: input ?? null,
    overlap: draft.overlap as "skip",
    catchUp: draft.catchUp as "last",
    ...(before?.every !== undefined && draft.kind === "every" && { startAt: before.startAt }),
    ...(maxCatchUp !== undefined && { maxCatchUp }),
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
    ...(labels !== undefined && { labels }),
  } as ScheduleOptions
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/** "1 h 30 min" in milliseconds; undefined for anything else. */
export function spanOf(text: string): number | undefined {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)\s*/gy)]
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text.trim()) return undefined
  return Math.round(
    parts.reduce((sum, [, n, unit = ""]) => sum + Number(n) * (UNITS[unit === "m" ? "min" : unit] ?? 0), 0),
  )
}

/** Exact, unlike a duration that is only shown: what the form reads again is what was stored. */
export function spanText(ms: number): string {
  const parts: string[] = []
  let rest = ms
  for (const unit of ["d", "h", "min", "s", "ms"]) {
    const size = UNITS[unit] as number
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${unit}`)
    rest %= size
  }
  return parts.join(" ")
}
