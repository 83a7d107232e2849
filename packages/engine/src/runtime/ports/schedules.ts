/**
 * Schedules in a store: `store.schedules`. A row has what the engine keeps of a schedule as JSON, and when something is to
 * be done for it. A store decides nothing: it finds rows that are due, and replaces a row if nobody else has meanwhile.
 *
 * Invariants, which every store keeps:
 * C1 A row is written only if its version is still the one that the writer has read, however many processes write.
 * C2 A row and the run that is created with it are written together, or neither of them is.
 */
import type { Json } from "../../core/index.ts"
import type { MaybePromise } from "./maybe-promise.ts"
import type { JournalRecord, Labels, Lease, RunChange } from "./stored.ts"

export interface StoredSchedule {
  readonly id: string
  readonly workflow: string
  /** When something is to be done for it; absent: never. */
  readonly nextAt?: number | undefined
  /** Another one with every write. */
  readonly version: string
  /** What the engine keeps of it. */
  readonly body: Json
}

/** By id, in ascending order. */
export interface ScheduleQuery {
  readonly workflow?: string | undefined
  /** The last id of the page before. */
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

export interface DueQuery {
  readonly workflows: readonly string[]
  /** The caller's clock. */
  readonly now: number
  readonly limit: number
}

export interface DueSchedules {
  /** The time that decided: by the store's own clock if it has one, which processes of several hosts share; else the caller's. */
  readonly now: number
  /** Those that were due first come first. */
  readonly schedules: readonly StoredSchedule[]
  /** When the next of the others is due. */
  readonly nextAt?: number | undefined
}

/** The first append of a run. */
export interface CreatedRun {
  readonly lease: Lease
  readonly records: readonly JournalRecord[]
  readonly change: RunChange
}

export interface ScheduleStore {
  get(id: string): MaybePromise<StoredSchedule | undefined>
  list(query: ScheduleQuery): MaybePromise<readonly StoredSchedule[]>
  due(query: DueQuery): MaybePromise<DueSchedules>
  /**
   * Writes a row in place of the version that was read; undefined: there was none. `run` is created in the same write (C2),
   * and refused as `append` refuses it. False, and nothing is changed, if the store has another version, or none.
   */
  write(schedule: StoredSchedule, before: string | undefined, run?: CreatedRun): MaybePromise<boolean>
  /** False if there is none. */
  remove(id: string): MaybePromise<boolean>
}

/** What happens when a run of the schedule is still in flight at the time of the next one. */
export type Overlap = "skip" | "queue" | "cancel-previous" | "allow"

/** What happens to times that passed while no process could fire. */
export type CatchUp = "none" | "last" | "all"

/** When a workflow is run by itself, and how. Exactly one of `cron`, `every` and `at` says when. */
export interface ScheduleOptions {
  readonly id: string
  /** A cron pattern of five fields, or of six, which begin with seconds. */
  readonly cron?: string | undefined
  /** The time zone of `cron`, such as `Europe/Berlin`. Default `UTC`. */
  readonly timeZone?: string | undefined
  /** Milliseconds between two runs, at least 1,000. */
  readonly every?: number | undefined
  /** When `every` begins. Default: multiples of `every` since 1970. */
  readonly startAt?: number | Date | undefined
  /** Once, at this time. */
  readonly at?: number | Date | undefined
  /** The input of every run. Default null. */
  readonly input?: unknown
  /** Default `skip`. */
  readonly overlap?: Overlap | undefined
  /** Default `last`. */
  readonly catchUp?: CatchUp | undefined
  /** How many missed times `catchUp: "all"` makes up for: the latest ones. Default 100, at most 1,000. */
  readonly maxCatchUp?: number | undefined
  /** Milliseconds by which each run is delayed at most: always by the same amount for the same time. Default 0. */
  readonly jitter?: number | undefined
  /** As for `enqueue`. */
  readonly queue?: string | undefined
  readonly priority?: number | undefined
  readonly tenant?: string | undefined
  readonly labels?: Labels | undefined
}
