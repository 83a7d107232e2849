/**
 * The state of a schedule, and what is to be done next for it: pure functions, so that every process decides the same.
 * `service/schedules` carries the steps out; each ends with one write of the state, in place of the one that was read.
 *
 * Invariants:
 * F1 Planned times only move forward: `next` is never set back, whatever clocks do, unless the timing itself is changed.
 * F2 A step is carried out by the write that replaces the state, so one of many processes carries it out.
 * F3 A run has the planned time in its key: a time that has a run, by a fire or a backfill, gets no second one.
 */
import type { Json, RunId } from "../core/index.ts"
import { canonicalJson, digest } from "../core/internal.ts"
import type { ScheduleSpec, ScheduleTiming } from "./spec.ts"
import type { PlannedTimes } from "./times.ts"

/** What happened at a planned time, or when a run was asked for. */
export interface ScheduleFire {
  /** Absent: `trigger` asked for it. */
  readonly plannedAt?: number
  readonly at: number
  /** `skipped`: by the overlap policy. `failed`: the run could not be created. */
  readonly outcome: "started" | "skipped" | "failed"
  readonly runId?: RunId
  readonly error?: { readonly code: string; readonly message: string }
}

/** A run that somebody asked for. */
export interface Demand {
  readonly runId: RunId
  /** Absent: now. */
  readonly plannedAt?: number
}

export interface ScheduleState {
  /** Of what is stored. */
  readonly format: 1
  readonly spec: ScheduleSpec
  /** A workflow declares it: it is deleted when that workflow no longer does. */
  readonly isDeclared: boolean
  readonly isPaused: boolean
  readonly createdAt: number
  readonly updatedAt: number
  /** The planned time of the next fire. Absent: there is none. */
  readonly next?: number
  /** Times up to this one were missed, and are made up for. */
  readonly catchUpTo?: number
  readonly demands?: readonly Demand[]
  /** Runs that are to be cancelled, because a later one has taken their place. */
  readonly superseded?: readonly RunId[]
  readonly last?: ScheduleFire
  /** Times that passed without a run when nothing could fire, by the last catch-up: from the first, before `to`. */
  readonly missed?: { readonly from: number; readonly to: number }
}

/** What is to be done, and the state after it. */
export type ScheduleStep =
  | { readonly type: "cancel"; readonly runs: readonly RunId[]; readonly after: ScheduleState }
  /** Times were missed, and are given up by the catch-up policy. */
  | { readonly type: "drop"; readonly after: ScheduleState }
  | {
      readonly type: "fire"
      readonly plannedAt?: number
      readonly runId?: RunId
      /** Somebody asked for it: overlap does not matter. */
      readonly isDemanded: boolean
      readonly after: ScheduleState
    }

/** Milliseconds: what is later than this was missed, because no process could fire. */
const LATE = 60_000

export function newState(
  spec: ScheduleSpec,
  isDeclared: boolean,
  now: number,
  times: PlannedTimes,
): ScheduleState {
  const state = { format: 1, spec, isDeclared, isPaused: false, createdAt: now, updatedAt: now } as const
  return withNext(state, times.after(now))
}

/** The state with other options. Its next time stays if its timing does. */
export function changedState(
  state: ScheduleState,
  spec: ScheduleSpec,
  isDeclared: boolean,
  now: number,
  times: PlannedTimes,
): ScheduleState {
  const changed = { ...state, spec, isDeclared, updatedAt: now }
  return hasSameTiming(state.spec, spec) ? changed : restarted(changed, now, times)
}

/** From now on, without what was planned before. */
export function restarted(state: ScheduleState, now: number, times: PlannedTimes): ScheduleState {
  const { catchUpTo: _, ...rest } = state
  return withNext({ ...rest, updatedAt: now }, times.after(now))
}

export function isSame(state: ScheduleState, spec: ScheduleSpec, isDeclared: boolean): boolean {
  return state.isDeclared === isDeclared && textOf(state.spec) === textOf(spec)
}

function hasSameTiming(a: ScheduleTiming, b: ScheduleTiming): boolean {
  const timing = ({ cron, timeZone, every, startAt, at }: ScheduleTiming) =>
    textOf({ cron, timeZone, every, startAt, at })
  return timing(a) === timing(b)
}

function textOf(value: object): string {
  return canonicalJson(value as Json)
}

/** When something is to be done for it; undefined: never. */
export function dueAt(id: string, state: ScheduleState): number | undefined {
  const { demands = [], superseded = [], isPaused, next, updatedAt } = state
  if (demands.length > 0 || superseded.length > 0) return updatedAt
  return isPaused || next === undefined ? undefined : firesAt(id, state.spec, next)
}

/** When the run of a planned time starts: later by its jitter. */
export function firesAt(id: string, { jitter }: ScheduleSpec, plannedAt: number): number {
  if (jitter === 0) return plannedAt
  const hash = Number.parseInt(digest(`${id} ${plannedAt}`).slice(0, 12), 16)
  return plannedAt + (hash % (jitter + 1))
}

/** The key of the run of a planned time (F3). */
export function keyOf(id: string, plannedAt: number): string {
  return `schedule:${id}:${new Date(plannedAt).toISOString()}`
}

/** Undefined: nothing is to be done now. */
export function nextStep(
  id: string,
  state: ScheduleState,
  now: number,
  times: PlannedTimes,
): ScheduleStep | undefined {
  const { superseded = [], demands = [], spec, next } = state
  if (superseded.length > 0) {
    const { superseded: _, ...rest } = state
    return { type: "cancel", runs: superseded, after: { ...rest, updatedAt: now } }
  }
  const [demand, ...others] = demands
  if (demand !== undefined) {
    const { demands: _, ...rest } = state
    const after = { ...rest, ...(others.length > 0 ? { demands: others } : {}), updatedAt: now }
    return { type: "fire", ...demand, isDemanded: true, after }
  }
  const due = dueAt(id, state)
  if (due === undefined || next === undefined || due > now) return undefined
  const isMissed = next + spec.jitter < now - LATE && next > (state.catchUpTo ?? Number.NEGATIVE_INFINITY)
  const kept = isMissed ? caughtUp(spec, next, now, times) : next
  if (kept !== next) {
    const missed = { from: next, to: kept ?? now }
    return { type: "drop", after: withNext({ ...state, missed, catchUpTo: now, updatedAt: now }, kept) }
  }
  const catchUpTo = isMissed ? { catchUpTo: now } : {}
  const after = withNext({ ...state, ...catchUpTo, updatedAt: now }, times.after(next))
  return { type: "fire", plannedAt: next, isDemanded: false, after }
}

/** Of times that were missed from `next` on, the first that still gets a run. */
function caughtUp(spec: ScheduleSpec, next: number, now: number, times: PlannedTimes): number | undefined {
  const { catchUp, maxCatchUp, jitter } = spec
  if (catchUp === "none") return times.after(Math.max(next, now - LATE - jitter - 1))
  const latest = times.upTo(now, catchUp === "last" ? 1 : maxCatchUp)
  return Math.max(next, latest.at(-1) ?? next)
}

function withNext(state: ScheduleState, next: number | undefined): ScheduleState {
  const { next: _, ...rest } = state
  return next === undefined ? rest : { ...rest, next }
}
