/** Schedules: see `ScheduleStore` in the engine. */
import type { DueQuery, DueSchedules, Json, ScheduleQuery, StoredSchedule } from "@superstep/engine"
import { plainCodec, type ValueCodec } from "@superstep/engine/stores"
import { check, checksum } from "./file/checksum.ts"
import {
  decodeText,
  parseName,
  parseSealed,
  type Row,
  selected,
  shownName,
  toText,
  toTextList,
  toTextOrNull,
} from "./file/columns.ts"
import type { Database } from "./file/driver.ts"

export interface ScheduleTable {
  get(id: string): StoredSchedule | undefined
  list(query: ScheduleQuery): readonly StoredSchedule[]
  due(query: DueQuery): DueSchedules
  /** Whether the store has this version; undefined: no schedule with this id. */
  has(id: string, version: string | undefined): boolean
  put(schedule: StoredSchedule): void
  remove(id: string): boolean
}

const COLUMNS = {
  id: "text",
  workflow: "text",
  next_at: "time?",
  version: "text",
  body: "text",
  sum: "integer",
} as const

export const SCHEDULE_COLUMNS = Object.keys(COLUMNS).join(", ")
const SELECTED = selected("schedules", COLUMNS)
type ScheduleRow = Row<typeof COLUMNS>

export function scheduleTable(database: Database, codec: ValueCodec = plainCodec): ScheduleTable {
  const get = database.prepare(`SELECT ${SELECTED} FROM schedules WHERE id = ?`)
  const list = database.prepare(
    `SELECT ${SELECTED} FROM schedules
     WHERE (?1 IS NULL OR workflow = ?1) AND (?2 IS NULL OR id > ?2) ORDER BY id LIMIT ?3`,
  )
  const isOwn = "+workflow IN (SELECT value FROM json_each(?1))"
  const due = database.prepare(
    `SELECT ${SELECTED} FROM schedules
     WHERE next_at IS NOT NULL AND next_at <= ?2 AND ${isOwn} ORDER BY next_at LIMIT ?3`,
  )
  const next = database.prepare(
    `SELECT CAST(next_at AS NUMERIC) AS next_at FROM schedules
     WHERE next_at IS NOT NULL AND next_at > ?2 AND ${isOwn} ORDER BY next_at LIMIT 1`,
  )
  const find = database.prepare("SELECT version = ?2 AS is_same FROM schedules WHERE id = ?1")
  const put = database.prepare(
    `INSERT OR REPLACE INTO schedules (${SCHEDULE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const remove = database.prepare("DELETE FROM schedules WHERE id = ?")
  const all = (rows: unknown[]) => (rows as ScheduleRow[]).map((row) => toSchedule(row, codec))

  return {
    get: (id) => all(get.all(toText(id)))[0],
    list: ({ workflow, after, limit }) =>
      all(list.all(toTextOrNull(workflow), toTextOrNull(after), limit ?? -1)),
    due({ workflows, now, limit }) {
      const names = toTextList(workflows)
      const [later] = next.all(names, now) as { next_at: number }[]
      const schedules = all(due.all(names, now, limit))
      return { now, schedules, ...(later === undefined ? {} : { nextAt: later.next_at }) }
    },
    has(id, version) {
      const [row] = find.all(toText(id), version === undefined ? null : toText(version)) as {
        is_same: number | null
      }[]
      return version === undefined ? row === undefined : row?.is_same === 1
    },
    put({ id, workflow, nextAt, version, body }) {
      const parts = [toText(id), toText(workflow), nextAt ?? null, toText(version)] as const
      const text = codec.seal(JSON.stringify(body), "schedule", toText(id))
      put.run(...parts, text, checksum(parts, text))
    },
    remove: (id) => Number(remove.run(toText(id)).changes) > 0,
  }
}

function toSchedule(row: ScheduleRow, codec: ValueCodec): StoredSchedule {
  const id = decodeText(row.id, () => "A schedule is damaged at its id")
  const subject = () => `Schedule "${shownName(id)}" is damaged`
  const workflow = decodeText(row.workflow, subject)
  const version = decodeText(row.version, subject)
  check(row.sum, () => checksum([id, workflow, row.next_at, version], row.body), subject)
  return {
    id: parseName(id, subject),
    workflow: parseName(workflow, subject),
    ...(row.next_at === null ? {} : { nextAt: row.next_at }),
    version: parseName(version, subject),
    body: parseSealed(codec, row.body, subject, "schedule", id) as Json,
  }
}
