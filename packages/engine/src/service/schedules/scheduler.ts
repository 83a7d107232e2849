/**
 * Fires schedules for one process: finds those that are due and whose workflow this process has, and carries out their steps
 * (`schedules/schedule.ts`), each with one write. Any number of processes do this on one store: each step is carried out by
 * the one whose write comes first (C1, C2), the others find the schedule changed.
 *
 * It looks with every sweep, and when the next schedule is due.
 */
import { isSuperstepError, type RunId } from "../../core/index.ts"
import type { Clock, Program, Store, StoredSchedule, StoredStatus } from "../../runtime/index.ts"
import { newRunId } from "../../runtime/internal.ts"
import {
  nextStep,
  SCHEDULE_LABEL,
  type ScheduleFire,
  type ScheduleState,
  type ScheduleStep,
  scheduleSpec,
} from "../../schedules/index.ts"
import type { QueueEnvironment } from "../enqueue.ts"
import type { RuntimeProblem } from "../options.ts"
import type { Programs } from "../programs.ts"
import { type ScheduleRows, stateOf } from "./schedule-rows.ts"

/** Schedules per query. */
const BATCH = 100
/** Steps of one schedule until others get their turn. */
const MAX_STEPS = 100
/** With `overlap: "queue"`: a schedule has so many runs in flight at most. */
const MAX_QUEUED = 100

/** A quarantined run is parked: it holds up nothing. */
const AT_WORK: readonly StoredStatus[] = ["queued", "running", "waiting", "paused"]

type Fire = Extract<ScheduleStep, { readonly type: "fire" }>

export interface SchedulerOptions {
  readonly isOn: boolean
  readonly onProblem: ((problem: RuntimeProblem) => void) | undefined
  /** A run was queued. */
  onFired(): void
  cancel(runId: RunId, reason: string): Promise<unknown>
}

export class Scheduler {
  readonly #rows: ScheduleRows
  readonly #store: Store
  readonly #clock: Clock
  readonly #programs: Programs
  readonly #options: SchedulerOptions
  /** Schedules whose superseded runs are being cancelled here. */
  readonly #cancelling = new Set<string>()
  /** Programs whose schedules the store has. */
  readonly #registered = new Map<string, Program>()
  #looking: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #isClosed = false

  constructor(
    { keeper, clock }: QueueEnvironment,
    rows: ScheduleRows,
    programs: Programs,
    options: SchedulerOptions,
  ) {
    this.#rows = rows
    this.#store = keeper.store
    this.#clock = clock
    this.#programs = programs
    this.#options = options
  }

  /**
   * Stores the schedules that the workflows of this process declare, once for each version; deletes those that they no
   * longer declare.
   */
  async register(): Promise<void> {
    if (!this.#options.isOn) return
    for (const [name, program] of this.#programs.entries()) {
      if (this.#registered.get(name) === program) continue
      await this.#registerOf(program)
      this.#registered.set(name, program)
    }
  }

  async #registerOf(program: Program): Promise<void> {
    const { name } = program.graph
    const ids = new Set<string>()
    for (const options of program.schedules ?? []) {
      const id = `${name}/${options.id}`
      ids.add(id)
      try {
        await this.#rows.put({ id, program, spec: scheduleSpec(options), isDeclared: true })
      } catch (error) {
        if (!isSuperstepError(error) || error.code.startsWith("STORE_")) throw error
        this.#report(error)
      }
    }
    for (let after: string | undefined; ; ) {
      const page = await this.#store.schedules.list({ workflow: name, after, limit: BATCH })
      for (const row of page) {
        if (stateOf(row).isDeclared && !ids.has(row.id)) await this.#store.schedules.remove(row.id)
      }
      if (page.length < BATCH) return
      after = page.at(-1)?.id
    }
  }

  /** Fires what is due. */
  look(): Promise<void> {
    if (!this.#options.isOn || this.#isClosed || this.#programs.size === 0) return Promise.resolve()
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    await this.register()
    const workflows = this.#programs.names()
    while (!this.#isClosed) {
      const due = await this.#store.schedules.due({ workflows, now: this.#clock.now(), limit: BATCH })
      let isDone = false
      for (const row of due.schedules) isDone = (await this.#attempt(row, due.now)) || isDone
      if (isDone) continue
      if (due.nextAt !== undefined) this.#lookAt(this.#clock.now() + due.nextAt - due.now)
      return
    }
  }

  #lookAt(time: number): void {
    this.#cancelTimer?.()
    if (this.#isClosed) return
    this.#cancelTimer = this.#clock.setTimer(time, () => {
      this.look().catch((error) => this.#report(error))
    })
  }

  /** Whether anything was done. A schedule that cannot be worked on holds up no other. */
  async #attempt(row: StoredSchedule, now: number): Promise<boolean> {
    try {
      return await this.#work(row, now)
    } catch (error) {
      this.#report(error)
      return false
    }
  }

  /** The same for a schedule that was just changed here, if this process has its workflow. */
  async fire(row: StoredSchedule): Promise<void> {
    if (!this.#options.isOn || this.#isClosed || !this.#programs.has(row.workflow)) return
    await this.#work(row, await this.#rows.now())
    this.look().catch((error) => this.#report(error))
  }

  /** Carries out what is to be done for it now. */
  async #work(row: StoredSchedule, now: number): Promise<boolean> {
    let current = row
    for (let steps = 0; steps < MAX_STEPS && !this.#isClosed; steps++) {
      const state = stateOf(current)
      const times = await this.#rows.times(row.id, state.spec)
      const step = nextStep(row.id, state, now, times)
      const after = step && (await this.#carryOut(current, step, now))
      if (after === undefined) return steps > 0
      current = after
    }
    return true
  }

  /** Undefined if it is carried out elsewhere, or takes longer. */
  async #carryOut(row: StoredSchedule, step: ScheduleStep, now: number): Promise<StoredSchedule | undefined> {
    if (step.type === "cancel") return this.#cancel(row, step.runs, step.after)
    if (step.type === "drop") return await this.#rows.write(row, step.after)
    const fired = await this.#fire(row, step, now)
    if (fired !== undefined) this.#options.onFired()
    return fired
  }

  async #fire(row: StoredSchedule, step: Fire, now: number): Promise<StoredSchedule | undefined> {
    const { after, plannedAt } = step
    const program = this.#programs.get(row.workflow) as Program
    const fire = (rest: Omit<ScheduleFire, "at" | "plannedAt">): ScheduleState => ({
      ...after,
      last: { ...(plannedAt === undefined ? {} : { plannedAt }), at: now, ...rest },
    })
    const others = await this.#inFlight(row, after)
    if (isSkipped(step, others.length)) return await this.#rows.write(row, fire({ outcome: "skipped" }))
    const runId = step.runId ?? newRunId()
    const isLast = after.spec.overlap === "cancel-previous" && !isBackfill(step)
    try {
      const run = await this.#rows.created(
        row.id,
        program,
        after.spec,
        { runId, ...(plannedAt === undefined ? {} : { plannedAt }) },
        now,
      )
      const state = fire({ outcome: "started", runId })
      return await this.#rows.write(
        row,
        isLast && others.length > 0 ? { ...state, superseded: others } : state,
        run,
      )
    } catch (error) {
      if (!isSuperstepError(error) || error.code.startsWith("STORE_")) throw error
      // The time has its run already: by a backfill, or a fire of a schedule with this id that was deleted.
      if (error.code === "KEY_TAKEN" || error.code === "RUN_EXISTS") {
        return await this.#rows.write(row, fire({ outcome: "started", runId: (error.run as RunId) ?? runId }))
      }
      this.#report(error)
      const { code, message } = error
      return await this.#rows.write(row, fire({ outcome: "failed", error: { code, message } }))
    }
  }

  /** Read after the row: a later fire changes the row, so nothing that these runs overlap with is missing (F2). */
  async #inFlight({ id, workflow }: StoredSchedule, { spec }: ScheduleState): Promise<readonly RunId[]> {
    if (spec.overlap === "allow") return []
    const labels = { [SCHEDULE_LABEL]: id }
    const runs = await this.#store.runs({ workflow, labels, status: AT_WORK, limit: MAX_QUEUED })
    return runs.map(({ runId }) => runId)
  }

  /** In the background: a process that executes such a run may take its time. Until then, the schedule stays as it is. */
  #cancel(row: StoredSchedule, runs: readonly RunId[], after: ScheduleState): undefined {
    const { id } = row
    if (this.#cancelling.has(id)) return
    this.#cancelling.add(id)
    const reason = `A later run of schedule "${id}" has taken its place.`
    const cancel = async (runId: RunId) => {
      try {
        await this.#options.cancel(runId, reason)
      } catch (error) {
        if (!isSuperstepError(error, "RUN_OVER") && !isSuperstepError(error, "RUN_UNKNOWN")) throw error
      }
    }
    const work = async () => {
      await Promise.all(runs.map(cancel))
      await this.#rows.write(row, after)
      this.#cancelling.delete(id)
      await this.look()
    }
    // What could not be cancelled is tried again with the next sweep.
    work()
      .catch((error) => this.#report(error))
      .finally(() => this.#cancelling.delete(id))
  }

  #report(error: unknown): void {
    if (this.#isClosed) return
    this.#options.onProblem?.({ error: error instanceof Error ? error : new Error(String(error)) })
  }

  /** Waits for what is being done. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer?.()
    await this.#looking?.catch(() => undefined)
  }
}

function isSkipped({ isDemanded, after: { spec } }: Fire, others: number): boolean {
  if (spec.overlap === "queue") return !isDemanded && others >= MAX_QUEUED
  return spec.overlap === "skip" && !isDemanded && others > 0
}

/** Of the past: nothing that happens now makes it superfluous. */
function isBackfill({ isDemanded, plannedAt }: Fire): boolean {
  return isDemanded && plannedAt !== undefined
}
