/** Finds runs. Every page costs with what is on it, but for a search by text or labels, which looks at one run after another. */
import type { RunQuery, StoredRun } from "@superstep/engine"
import { type Database, preparedOnce, type Value } from "./driver.ts"
import { hiddenCheck } from "./run-heads.ts"
import { ALL_STATUS, RUN_COLUMNS, toStoredRuns } from "./run-rows.ts"
import { toText } from "./text.ts"

export interface RunTable {
  find(runId: string): StoredRun | undefined
  /** Newest first: in the order in which they came into this file, from its end. */
  list(query: RunQuery): readonly StoredRun[]
  /** False when there is no such run. */
  pin(runId: string, pinned: boolean): boolean
}

export function runTable(database: Database): RunTable {
  const prepare = preparedOnce(database)
  const findOne = database.prepare(`SELECT ${RUN_COLUMNS} FROM runs WHERE run_id = ?`)
  const checkHidden = hiddenCheck(database)
  const setPinned = database.prepare("UPDATE runs SET pinned = ? WHERE run_id = ?")

  return {
    find(runId) {
      const [run] = toStoredRuns(findOne.all(toText(runId)))
      if (run?.runId !== runId) checkHidden(toText(runId))
      return run
    },
    list(query) {
      const { sql, values } = toSql(query)
      return toStoredRuns(prepare(sql).all(...values))
    },
    pin: (runId, pinned) => setPinned.run(pinned ? 1 : 0, toText(runId)).changes !== 0,
  }
}

function toSql(query: RunQuery): { sql: string; values: Value[] } {
  const { workflow, status, thread, key, text, labels = {}, before, limit = -1 } = query
  const conditions: string[] = []
  const values: Value[] = []
  const add = (condition: string, ...of: string[]) => {
    conditions.push(condition)
    values.push(...of.map(toText))
  }
  if (key !== undefined) add("key = ?", key)
  if (thread !== undefined) add("thread = ?", thread)
  // SQLite does not look by what has a plus before it: a key has one run, a thread few.
  const few = key !== undefined || thread !== undefined
  if (workflow !== undefined) add(few ? "+workflow = ?" : "workflow = ?", workflow)
  if (before !== undefined) add("id < (SELECT id FROM runs WHERE run_id = ?)", before)
  if (text !== undefined) {
    add("(instr(run_id, ?) OR instr(workflow, ?) OR coalesce(instr(key, ?), 0))", text, text, text)
  }
  for (const label of Object.entries(labels)) {
    // After a comma of the object itself, not of a text in it: there a quote has a backslash before it.
    conditions.push("instr(',' || substr(labels, 2), ?)")
    values.push(`,${JSON.stringify(Object.fromEntries([label])).slice(1, -1)}`)
  }
  const statuses = JSON.stringify([...new Set(status ?? ALL_STATUS)])
  if (few || (status === undefined && workflow === undefined)) {
    if (status !== undefined) {
      conditions.push("+status IN (SELECT value FROM json_each(?))")
      values.push(statuses)
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`
    values.push(limit)
    return { sql: `SELECT ${RUN_COLUMNS} FROM runs ${where} ORDER BY id DESC LIMIT ?`, values }
  }
  // A page of each status, and the first of them: within one status the index has the runs in order.
  const sql = `
    SELECT ${RUN_COLUMNS} FROM json_each(?) AS wanted CROSS JOIN runs
    WHERE runs.id IN (
      SELECT id FROM runs WHERE ${[...conditions, "status = wanted.value"].join(" AND ")} ORDER BY id DESC LIMIT ?
    )
    ORDER BY runs.id DESC LIMIT ?`
  return { sql, values: [statuses, ...values, limit, limit] }
}
