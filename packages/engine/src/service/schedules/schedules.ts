/** `runtime.schedules`: when workflows are run by themselves. Everything is in the store, for all its processes. */
import type { RunId } from "../../core/index.ts"
import type {
  Callable,
  Program,
  ScheduleOptions,
  ScheduleQuery,
  Store,
  StoredSchedule,
} from "../../runtime/index.ts"
import { newRunId, shown } from "../../runtime/internal.ts"
import {
  type Demand,
  firesAt,
  restarted,
  type ScheduleFire,
  type ScheduleSpec,
  type ScheduleState,
  scheduleInvalid,
  scheduleSpec,
} from "../../schedules/index.ts"
import { type ScheduleRows, stateOf } from "./schedule-rows.ts"

/** A schedule as it stands. Times are milliseconds since 1970. */
export interface ScheduleInfo extends ScheduleSpec {
  readonly id: string
  readonly workflow: string
  /** A workflow declares it: it is deleted when the workflow no longer does. */
  readonly isDeclared: boolean
  readonly isPaused: boolean
  /** The time that the next run is planned for. Absent: it is paused, or has no further time. */
  readonly nextAt?: number
  readonly last?: ScheduleFire
  /** Times that passed without a run because no process could fire: from the first, before `to`. */
  readonly missed?: { readonly from: number; readonly to: number }
  /** Runs that were asked for, and that a process with the workflow will create. */
  readonly pending: number
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ScheduleTime {
  readonly plannedAt: number
  /** With its jitter. */
  readonly startsAt: number
}

/** The input of its runs has the type of the workflow's input. */
export type ScheduleOptionsFor<In> = Omit<ScheduleOptions, "input"> & {
  readonly input?: In | undefined
}

/** How many runs one backfill asks for, and how many times a preview shows, at most. */
const MAX_TIMES = 1_000

export interface SchedulesHost {
  readonly store: Store
  readonly rows: ScheduleRows
  /** Throws if the runtime is closed, or does not have the workflow. */
  programOf(workflow: Pick<Callable, "name" | "program">): Program
  /** Something may be due: fires it if this process has the workflow, and does so itself. */
  fire(row: StoredSchedule): Promise<void>
}

export class Schedules {
  readonly #host: SchedulesHost

  constructor(host: SchedulesHost) {
    this.#host = host
  }

  /**
   * Creates the schedule, or changes it if it exists: declaring the same one again changes nothing. Its next time stays if its
   * timing does, and it stays paused if it is.
   */
  async set<In, Out, State>(
    workflow: Callable<In, Out, State>,
    options: ScheduleOptionsFor<In>,
  ): Promise<ScheduleInfo> {
    const program = this.#host.programOf(workflow)
    const spec = scheduleSpec(options)
    const row = await this.#host.rows.put({ id: options.id, program, spec, isDeclared: false })
    await this.#host.fire(row)
    return infoOf(row)
  }

  async get(id: string): Promise<ScheduleInfo | undefined> {
    const row = await this.#host.store.schedules.get(id)
    return row && infoOf(row)
  }

  /** By id. */
  async list(query: ScheduleQuery = {}): Promise<readonly ScheduleInfo[]> {
    return (await this.#host.store.schedules.list(query)).map(infoOf)
  }

  /** Nothing fires until `resume`. Runs that were asked for with `trigger` or `backfill` are still created. */
  async pause(id: string): Promise<ScheduleInfo> {
    return infoOf(
      await this.#host.rows.change(id, (state, now) =>
        state.isPaused ? state : { ...state, isPaused: true, updatedAt: now },
      ),
    )
  }

  /** Fires again from now on. Times that passed meanwhile are not made up for. */
  async resume(id: string): Promise<ScheduleInfo> {
    const { rows } = this.#host
    const row = await rows.change(id, async (state, now) => {
      if (!state.isPaused) return state
      return restarted({ ...state, isPaused: false }, now, await rows.times(id, state.spec))
    })
    await this.#host.fire(row)
    return infoOf(row)
  }

  /**
   * Asks for a run now, also of a paused schedule, and whatever overlap `skip` says. Any process that has the workflow creates
   * it, this one at once. Resolves with the id that the run has or will have.
   */
  async trigger(id: string): Promise<RunId> {
    const runId = newRunId()
    await this.#demand(id, () => [{ runId }])
    return runId
  }

  /**
   * Asks for a run of every time from `from` up to, but without, `to`, which are past. A time that has a run keeps it. Resolves
   * with these times. With `dryRun` it only lists them.
   */
  async backfill(
    id: string,
    {
      from,
      to,
      dryRun = false,
    }: { readonly from: number | Date; readonly to: number | Date; readonly dryRun?: boolean | undefined },
  ): Promise<readonly number[]> {
    const { rows } = this.#host
    const [first, end] = [timeOf(id, "from", from), timeOf(id, "to", to)]
    const now = await rows.now()
    if (end <= first || end > now) {
      throw scheduleInvalid(id, "a backfill goes from an earlier time to a later one that is past")
    }
    const { spec } = stateOf(await rows.get(id))
    const times = await rows.times(id, spec)
    const planned: number[] = []
    for (let time = times.after(first - 1); time !== undefined && time < end; time = times.after(time)) {
      planned.push(time)
      if (planned.length > MAX_TIMES) {
        throw scheduleInvalid(
          id,
          `there are more than ${MAX_TIMES} times in this range; choose a shorter one`,
        )
      }
    }
    if (planned.length > 0 && !dryRun) {
      await this.#demand(id, () => planned.map((plannedAt) => ({ runId: newRunId(), plannedAt })))
    }
    return planned
  }

  async #demand(id: string, demands: () => readonly Demand[]): Promise<void> {
    const row = await this.#host.rows.change(id, (state, now) => {
      const all = [...(state.demands ?? []), ...demands()]
      if (all.length > MAX_TIMES) {
        throw scheduleInvalid(
          id,
          `it has ${state.demands?.length} runs to create; let a worker create them first`,
        )
      }
      return { ...state, demands: all, updatedAt: now }
    })
    await this.#host.fire(row)
  }

  /** The next times of a schedule, or of options that are not stored. */
  async preview(schedule: string | ScheduleOptions, count = 10): Promise<readonly ScheduleTime[]> {
    const { rows } = this.#host
    const id = typeof schedule === "string" ? schedule : schedule.id
    if (!(Number.isInteger(count) && count >= 1 && count <= MAX_TIMES)) {
      throw scheduleInvalid(id, `a preview shows 1 to ${MAX_TIMES} times, not ${shown(count)}`)
    }
    const state = typeof schedule === "string" ? stateOf(await rows.get(schedule)) : undefined
    const spec = state?.spec ?? scheduleSpec(schedule as ScheduleOptions)
    const times = await rows.times(id, spec)
    const shownTimes: ScheduleTime[] = []
    const next = state?.isPaused ? undefined : state?.next
    let time = next ?? times.after(await rows.now())
    while (time !== undefined && shownTimes.length < count) {
      shownTimes.push({ plannedAt: time, startsAt: firesAt(id, spec, time) })
      time = times.after(time)
    }
    return shownTimes
  }

  /** Its runs stay as they are. False if there is no such schedule. */
  async delete(id: string): Promise<boolean> {
    return await this.#host.store.schedules.remove(id)
  }
}

function infoOf({ id, workflow, body }: StoredSchedule): ScheduleInfo {
  const state = body as unknown as ScheduleState
  const { spec, isDeclared, isPaused, next, last, missed, demands = [], createdAt, updatedAt } = state
  return {
    id,
    workflow,
    ...spec,
    isDeclared,
    isPaused,
    ...(next === undefined || isPaused ? {} : { nextAt: next }),
    ...(last === undefined ? {} : { last }),
    ...(missed === undefined ? {} : { missed }),
    pending: demands.length,
    createdAt,
    updatedAt,
  }
}

function timeOf(id: string, name: string, value: number | Date): number {
  const time = Number(value)
  if ((typeof value === "number" || value instanceof Date) && Number.isFinite(time)) return time
  throw scheduleInvalid(id, `${name} must be a Date, or milliseconds since 1970, not ${shown(value)}`)
}
