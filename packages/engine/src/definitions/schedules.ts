/** The `schedules` of a definition, in both dialects: when a worker that opens the file runs it by itself. */
import { z } from "zod"
import { isSuperstepError } from "../core/index.ts"
import type { ScheduleOptions } from "../runtime/index.ts"
import { CATCH_UPS, MAX_CATCH_UP, MAX_JITTER, MIN_EVERY, OVERLAPS, scheduleSpec } from "../schedules/index.ts"
import { plannedTimes } from "../schedules/internal.ts"
import type { DocumentReport } from "./dialect-input.ts"
import { durationShape, milliseconds } from "./flow.ts"
import { jsonShape } from "./json-shape.ts"
import { type Arg, type ArgObject, definedArgs } from "./plan/index.ts"

const name = z.string().min(1)
const time = z.iso
  .datetime({
    offset: true,
    error: ({ input }) =>
      `${JSON.stringify(input)} is not a time: write it with its offset, such as 2026-01-31T08:00:00Z.`,
  })
  .describe("A time with its offset, such as 2026-01-31T08:00:00Z.")

const scheduleShape = z.strictObject({
  id: name.max(200).describe("Its name: the store has it as <workflow>/<id>."),
  cron: name.optional().describe("A cron pattern of 5 fields, or of 6 with seconds first."),
  timeZone: name.optional().describe("The time zone of cron, such as Europe/Berlin. Default UTC."),
  every: durationShape
    .optional()
    .describe('The time between two runs: seconds, or a string such as "90s" or "24h".'),
  startAt: time.optional().describe("When every begins. Default: multiples of every since 1970."),
  at: time.optional().describe("Once, at this time."),
  input: jsonShape.optional().describe("The input of every run. Default: empty text."),
  overlap: z
    .enum(OVERLAPS)
    .optional()
    .describe("What happens while a run of the schedule is in flight. Default skip."),
  catchUp: z.enum(CATCH_UPS).optional().describe("Which missed times are made up for. Default last."),
  maxCatchUp: z
    .int()
    .min(1)
    .max(MAX_CATCH_UP)
    .optional()
    .describe("How many of them, with all. Default 100."),
  jitter: durationShape.optional().describe("Delays each run by up to this time."),
  queue: name.optional().describe("The queue of its runs."),
  priority: z.number().min(-1_000).max(1_000).optional().describe("Higher is earlier."),
  tenant: name.optional().describe("Whose runs they are: tenants are served in turn."),
  labels: z.record(name, z.string()).optional().describe("Labels of its runs."),
})

export const schedulesShape = z.array(scheduleShape).describe("When workers run it by themselves.")

type ScheduleData = z.infer<typeof scheduleShape>

/** The option `schedules` of the workflow. Problems are reported. */
export function scheduleArgs(schedules: readonly ScheduleData[] | undefined, report: DocumentReport): Arg {
  if (schedules === undefined || schedules.length === 0) return undefined
  schedules.forEach(({ id }, i) => {
    const isTwice = schedules.findIndex((other) => other.id === id) !== i
    if (isTwice)
      report.error("SCHEDULE_INVALID", `Two schedules have the id "${id}".`, ["schedules", i, "id"])
  })
  return schedules.map((schedule, i) => {
    const options = optionsOf(schedule)
    checkSchedule(schedule, options, i, report)
    return definedArgs(options as unknown as ArgObject)
  })
}

function optionsOf(schedule: ScheduleData): ScheduleOptions {
  const { every, jitter, startAt, at, input = "" } = schedule
  return {
    ...schedule,
    every: every === undefined ? undefined : milliseconds(every),
    jitter: jitter === undefined ? undefined : milliseconds(jitter),
    startAt: startAt === undefined ? undefined : Date.parse(startAt),
    at: at === undefined ? undefined : Date.parse(at),
    input,
  }
}

function checkSchedule(
  schedule: ScheduleData,
  options: ScheduleOptions,
  i: number,
  report: DocumentReport,
): void {
  const refused = (check: () => unknown, ...field: string[]): boolean => {
    try {
      check()
      return false
    } catch (error) {
      if (!isSuperstepError(error)) throw error
      report.error("SCHEDULE_INVALID", error.message, ["schedules", i, ...field])
      return true
    }
  }
  const { id } = schedule
  const { every, jitter } = options
  // The fields whose values have limits come first: their places are known.
  if (every !== undefined && every < MIN_EVERY) {
    return report.error("SCHEDULE_INVALID", `Schedule "${id}": every is at least 1s.`, [
      "schedules",
      i,
      "every",
    ])
  }
  if (jitter !== undefined && jitter > MAX_JITTER) {
    return report.error("SCHEDULE_INVALID", `Schedule "${id}": jitter is at most 24h.`, [
      "schedules",
      i,
      "jitter",
    ])
  }
  if (refused(() => scheduleSpec(options))) return
  const { cron, timeZone } = options
  if (cron === undefined) return
  const pattern = cron.trim().replace(/\s+/g, " ")
  if (refused(() => plannedTimes(id, { cron: pattern }), "cron") || timeZone === undefined) return
  refused(() => plannedTimes(id, { cron: pattern, timeZone }), "timeZone")
}
