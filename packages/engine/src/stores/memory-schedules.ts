/** Schedules in the memory store. */
import { freezeData } from "../core/internal.ts"
import type { ScheduleStore, StoredSchedule } from "../runtime/index.ts"
import { append } from "./memory-append.ts"
import type { Tables } from "./memory-rows.ts"

export function memorySchedules(tables: Tables): ScheduleStore {
  const rows = new Map<string, StoredSchedule>()
  const nextOf = ({ nextAt }: StoredSchedule) => nextAt ?? Number.POSITIVE_INFINITY
  return {
    get: (id) => rows.get(id),
    list({ workflow, after, limit }) {
      const found = [...rows.values()].filter(
        (row) =>
          (workflow === undefined || row.workflow === workflow) && (after === undefined || row.id > after),
      )
      return found.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
    },
    due({ workflows, now, limit }) {
      const own = [...rows.values()].filter(
        (row) => row.nextAt !== undefined && workflows.includes(row.workflow),
      )
      own.sort((a, b) => nextOf(a) - nextOf(b))
      const nextAt = own.find((row) => nextOf(row) > now)?.nextAt
      const schedules = own.filter((row) => nextOf(row) <= now).slice(0, limit)
      return { now, schedules, ...(nextAt === undefined ? {} : { nextAt }) }
    },
    write(schedule, before, run) {
      if (rows.get(schedule.id)?.version !== before) return false
      if (run !== undefined) append(tables, run.lease, 0, run.records, run.change)
      rows.set(schedule.id, freezeData(structuredClone(schedule)))
      return true
    },
    remove: (id) => rows.delete(id),
  }
}
