/** The options of a schedule, checked, and as data: two declarations are the same if their data is. */
import { type Json, jsonProblem, printJsonProblem, SuperstepError } from "../core/index.ts"
import type { CatchUp, Labels, Overlap, ScheduleOptions } from "../runtime/index.ts"
import { labelsProblem } from "../runtime/index.ts"
import { isOptions, type OptionNames, shown, unknownOption } from "../runtime/internal.ts"

/** When it fires. Exactly one of `cron`, `every` and `at` is set. */
export interface ScheduleTiming {
  readonly cron?: string
  /** Of `cron`. */
  readonly timeZone?: string
  readonly every?: number
  /** Of `every`: its first time. */
  readonly startAt?: number
  readonly at?: number
}

export interface ScheduleSpec extends ScheduleTiming {
  readonly input: Json
  readonly overlap: Overlap
  readonly catchUp: CatchUp
  readonly maxCatchUp: number
  readonly jitter: number
  readonly queue?: string
  readonly priority?: number
  readonly tenant?: string
  readonly labels?: Labels
}

export const OVERLAPS = ["skip", "queue", "cancel-previous", "allow"] as const satisfies Overlap[]
export const CATCH_UPS = ["none", "last", "all"] as const satisfies CatchUp[]
/** Milliseconds. */
export const MIN_EVERY = 1_000
export const MAX_JITTER = 86_400_000
export const MAX_CATCH_UP = 1_000
const DEFAULT_CATCH_UP = 100
const MAX_ID = 500
/** A Date reaches no further. */
const MAX_TIME = 8_640_000_000_000_000

/** The labels that every run of a schedule has: which one it is, and the time that it was planned for. */
export const SCHEDULE_LABEL = "schedule"
export const TIME_LABEL = "scheduledAt"

const OPTIONS: OptionNames<ScheduleOptions> = {
  id: true,
  cron: true,
  timeZone: true,
  every: true,
  startAt: true,
  at: true,
  input: true,
  overlap: true,
  catchUp: true,
  maxCatchUp: true,
  jitter: true,
  queue: true,
  priority: true,
  tenant: true,
  labels: true,
}

/** Throws SCHEDULE_INVALID. Whether a cron pattern is one is checked where times are computed. */
export function scheduleSpec(options: ScheduleOptions): ScheduleSpec {
  if (!isOptions(options)) {
    throw scheduleInvalid(undefined, `it must be an object such as { id, cron }, not ${shown(options)}`)
  }
  const { id } = options
  if (typeof id !== "string" || id === "" || id.length > MAX_ID) {
    throw scheduleInvalid(
      undefined,
      `id must be a string of 1 to ${MAX_ID} characters, not ${shown(id).slice(0, 50)}`,
    )
  }
  const refuse = (problem: string) => scheduleInvalid(id, problem)
  const unknown = unknownOption(options, OPTIONS)
  if (unknown !== undefined) throw refuse(unknown)
  const { input = null, overlap = "skip", catchUp = "last", labels, queue, priority, tenant } = options
  const { jitter = 0, maxCatchUp = DEFAULT_CATCH_UP } = options
  const problem = jsonProblem(input)
  if (problem !== undefined) throw refuse(`input: ${printJsonProblem(problem)}`)
  checkOneOf("overlap", overlap, OVERLAPS, refuse)
  checkOneOf("catchUp", catchUp, CATCH_UPS, refuse)
  checkWhole("maxCatchUp", maxCatchUp, 1, MAX_CATCH_UP, refuse)
  checkWhole("jitter", jitter, 0, MAX_JITTER, refuse)
  if (labels !== undefined) checkLabels(labels, refuse)
  return {
    ...timingOf(options, refuse),
    input: structuredClone(input) as Json,
    overlap,
    catchUp,
    maxCatchUp,
    jitter,
    ...(queue === undefined ? {} : { queue }),
    ...(priority === undefined ? {} : { priority }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(labels === undefined ? {} : { labels: { ...labels } }),
  }
}

type Refuse = (problem: string) => SuperstepError

function timingOf(options: ScheduleOptions, refuse: Refuse): ScheduleTiming {
  const { cron, timeZone, every, startAt, at } = options
  const timings = Object.entries({ cron, every, at }).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  )
  if (timings.length === 0) throw refuse("set one of cron, every and at: it says when it runs")
  if (timings.length > 1) throw refuse(`${timings.join(" and ")} exclude each other`)
  if (timeZone !== undefined && cron === undefined) throw refuse("timeZone is for cron")
  if (startAt !== undefined && every === undefined) throw refuse("startAt is for every")
  if (cron !== undefined) {
    if (typeof cron !== "string")
      throw refuse(`cron must be a pattern such as "0 9 * * *", not ${shown(cron)}`)
    if (timeZone !== undefined && typeof timeZone !== "string") {
      throw refuse(`timeZone must be a name such as "Europe/Berlin", not ${shown(timeZone)}`)
    }
    return { cron: cron.trim().replace(/\s+/g, " "), timeZone: timeZone ?? "UTC" }
  }
  if (every !== undefined) {
    checkWhole("every", every, MIN_EVERY, MAX_TIME, refuse)
    return startAt === undefined ? { every } : { every, startAt: timeOf("startAt", startAt, refuse) }
  }
  return { at: timeOf("at", at, refuse) }
}

function timeOf(name: string, value: unknown, refuse: Refuse): number {
  const time = value instanceof Date ? value.getTime() : value
  if (Number.isInteger(time) && Math.abs(time as number) <= MAX_TIME) return time as number
  throw refuse(`${name} must be a Date, or milliseconds since 1970, not ${shown(value)}`)
}

function checkOneOf(name: string, value: unknown, values: readonly string[], refuse: Refuse): void {
  if (values.includes(value as string)) return
  throw refuse(`${name} must be one of ${values.join(", ")}, not ${shown(value)}`)
}

function checkWhole(name: string, value: unknown, from: number, to: number, refuse: Refuse): void {
  if (Number.isInteger(value) && (value as number) >= from && (value as number) <= to) return
  const unit = name === "maxCatchUp" ? "a whole number" : "whole milliseconds"
  const most = to === MAX_TIME ? "" : ` and at most ${to}`
  throw refuse(`${name} must be ${unit}, at least ${from}${most}, not ${shown(value)}`)
}

function checkLabels(labels: Labels, refuse: Refuse): void {
  const problem = labelsProblem(labels)
  if (problem !== undefined) throw refuse(problem)
  const own = [SCHEDULE_LABEL, TIME_LABEL].find((name) => Object.hasOwn(labels, name))
  if (own !== undefined) throw refuse(`labels.${own} is set by the schedule itself`)
}

export function scheduleInvalid(id: string | undefined, problem: string, cause?: unknown): SuperstepError {
  const subject = id === undefined ? "Bad schedule" : `Schedule "${id}"`
  const text = `${subject}: ${problem}${problem.endsWith("?") ? "" : "."}`
  return new SuperstepError("SCHEDULE_INVALID", text, cause === undefined ? {} : { cause })
}
