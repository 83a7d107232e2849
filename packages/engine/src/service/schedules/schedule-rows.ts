/** Schedules as a store keeps them: read, declared, changed. A change is repeated if another process was faster. */
import { type Json, type RunId, SuperstepError } from "../../core/index.ts"
import { loadModule } from "../../core/internal.ts"
import type { Clock, CreatedRun, Program, Store, StoredSchedule } from "../../runtime/index.ts"
import { newRunId } from "../../runtime/internal.ts"
import {
  changedState,
  dueAt,
  isSame,
  keyOf,
  newState,
  SCHEDULE_LABEL,
  type ScheduleSpec,
  type ScheduleState,
  type ScheduleTiming,
  scheduleInvalid,
  TIME_LABEL,
} from "../../schedules/index.ts"
import type { PlannedTimes } from "../../schedules/internal.ts"
import type { QueueEnvironment } from "../enqueue.ts"

/** A schedule to be stored. */
export interface Declaration {
  readonly id: string
  readonly program: Program
  readonly spec: ScheduleSpec
  readonly isDeclared: boolean
}

export class ScheduleRows {
  readonly #environment: QueueEnvironment
  readonly #store: Store
  readonly #clock: Clock

  constructor(environment: QueueEnvironment) {
    this.#environment = environment
    this.#store = environment.keeper.store
    this.#clock = environment.clock
  }

  /** By the clock that schedules fire by. */
  async now(): Promise<number> {
    const { now } = await this.#store.schedules.due({ workflows: [], now: this.#clock.now(), limit: 1 })
    return now
  }

  async times(id: string, timing: ScheduleTiming): Promise<PlannedTimes> {
    const { plannedTimes } = await loadModule(() => import("../../schedules/internal.ts"))
    return plannedTimes(id, timing)
  }

  /** Rejects with SCHEDULE_UNKNOWN. */
  async get(id: string): Promise<StoredSchedule> {
    const row = await this.#store.schedules.get(id)
    if (row !== undefined) return row
    throw new SuperstepError("SCHEDULE_UNKNOWN", `The store has no schedule "${id}".`)
  }

  /** Creates it, or changes what is different; one that is the same is not written. */
  async put(declaration: Declaration): Promise<StoredSchedule> {
    const { id, program, spec, isDeclared } = declaration
    const { name: workflow } = program.graph
    const times = await this.times(id, spec)
    let isChecked = false
    for (;;) {
      const row = await this.#store.schedules.get(id)
      const before = row && stateOf(row)
      if (row !== undefined && before !== undefined && row.workflow === workflow) {
        if (isSame(before, spec, isDeclared)) return row
      }
      const now = await this.now()
      if (!isChecked) await this.#check(declaration, now)
      isChecked = true
      const state =
        before === undefined
          ? newState(spec, isDeclared, now, times)
          : changedState(before, spec, isDeclared, now, times)
      if (state.next === undefined && before?.spec.at !== spec.at) {
        throw scheduleInvalid(id, `at is in the past: ${new Date(spec.at as number).toISOString()}`)
      }
      if (spec.overlap === "queue") {
        await this.#store.queue.setLimits(laneOf(id), [{ name: laneOf(id), max: 1 }])
      }
      const written = await this.write({ id, workflow, version: row?.version }, state)
      if (written !== undefined) return written
    }
  }

  /** Rejects if no run could be created now: an input that the workflow refuses, labels that are none. */
  async #check({ id, program, spec }: Declaration, now: number): Promise<void> {
    await this.created(id, program, spec, { runId: newRunId(), plannedAt: now }, now)
  }

  /** The first append of a run of the schedule. */
  async created(
    id: string,
    program: Program,
    spec: ScheduleSpec,
    { runId, plannedAt }: { readonly runId: RunId; readonly plannedAt?: number },
    now: number,
  ): Promise<CreatedRun> {
    const { input, queue, priority, tenant, labels, overlap } = spec
    const own = { [SCHEDULE_LABEL]: id, [TIME_LABEL]: new Date(plannedAt ?? now).toISOString() }
    const key = plannedAt === undefined ? `schedule:${id}:${runId}` : keyOf(id, plannedAt)
    const options = { runId, key, queue, priority, tenant, labels: { ...labels, ...own } }
    const lane = overlap === "queue" ? { limit: laneOf(id), key: "" } : undefined
    const { queuedRun } = await loadModule(() => import("../enqueue.ts"))
    return await queuedRun(this.#environment, program, input, options, { now, lane })
  }

  /** Rejects with SCHEDULE_UNKNOWN. */
  async change(
    id: string,
    change: (state: ScheduleState, now: number) => ScheduleState | Promise<ScheduleState>,
  ): Promise<StoredSchedule> {
    for (;;) {
      const row = await this.get(id)
      const before = stateOf(row)
      const state = await change(before, await this.now())
      if (state === before) return row
      const written = await this.write(row, state)
      if (written !== undefined) return written
    }
  }

  /** Undefined if another process has changed or removed it. */
  async write(
    {
      id,
      workflow,
      version,
    }: Pick<StoredSchedule, "id" | "workflow"> & { readonly version?: string | undefined },
    state: ScheduleState,
    run?: CreatedRun,
  ): Promise<StoredSchedule | undefined> {
    const nextAt = dueAt(id, state)
    const row: StoredSchedule = {
      id,
      workflow,
      ...(nextAt === undefined ? {} : { nextAt }),
      version: newRunId(),
      body: state as unknown as Json,
    }
    return (await this.#store.schedules.write(row, version, run)) ? row : undefined
  }
}

export function stateOf({ body }: StoredSchedule): ScheduleState {
  return body as unknown as ScheduleState
}

/** The lane of runs that wait for each other. */
function laneOf(id: string): string {
  return `schedule:${id}`
}
