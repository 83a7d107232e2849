/** How a run is queued: what its row stores for `queue.ts`. */

/** How a run is queued. Fixed when the run is created, except `group`. */
export interface RunFlow {
  /** Workers choose the queues that they serve. Default `default`. */
  readonly queue?: string | undefined
  /** Whose run it is: tenants take turns (Q3). */
  readonly tenant?: string | undefined
  /** Each point is worth a minute of waiting. Default 0. */
  readonly priority?: number | undefined
  readonly lanes?: readonly Lane[] | undefined
  /** A run that is still `queued` then is never claimed: it is cancelled with RUN_EXPIRED. */
  readonly expiresAt?: number | undefined
  /** At most one `queued` run has the same one: later input goes into that run. */
  readonly group?: string | undefined
}

/** A limit of a run, with the key whose places it takes. */
export interface Lane {
  /** The name of a `LaneLimit`. Where the store has no limit of this name, the lane admits every run. */
  readonly limit: string
  readonly key: string
}

/** A limit of all lanes with its name, each key by itself. */
export interface LaneLimit {
  readonly name: string
  /** How many runs of a lane are held at the same time. */
  readonly max?: number | undefined
  /** How often runs of a lane start. */
  readonly rate?: LaneRate | undefined
}

/** One every so many milliseconds, and up to `burst` at once after a pause. */
export interface LaneRate {
  readonly every: number
  readonly burst: number
}

/** When the rate of a lane admits what counts for `cost` starts. What is larger than a burst is admitted after a full pause. */
export function rateAdmitsAt({ every, burst }: LaneRate, paidUntil: number, cost = 1): number {
  return paidUntil + (Math.min(cost, burst) - burst) * every
}

/** How many bursts may be paid for in advance: what cost more than expected delays others by one more at most. */
export const MAX_BURSTS = 2

/**
 * Until when the starts of a lane are paid for, as it counts now. Beyond those bursts is a clock that was set back, or a rate
 * that was changed: it admits what is asked for, and the burst is used up with that.
 */
export function paidAt({ every, burst }: LaneRate, paidUntil: number, now: number, cost = 1): number {
  if (paidUntil <= now + MAX_BURSTS * burst * every) return paidUntil
  return now + (burst - Math.min(cost, burst)) * every
}

export const DEFAULT_QUEUE = "default"

/** Milliseconds of waiting that a point of priority is worth. */
const PRIORITY_AGE = 60_000

/** Lower is earlier: when the run may start, moved by its priority. A run that waits overtakes what is younger by that much. */
export function queueScore(startAt: number, { priority = 0 }: RunFlow): number {
  return startAt - priority * PRIORITY_AGE
}

export function laneId({ limit, key }: Lane): string {
  return JSON.stringify([limit, key])
}
