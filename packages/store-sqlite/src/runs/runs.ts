/**
 * Finds runs, and where their journals end. A page costs what is on it, except for a search by text or labels, which reads
 * one run after another.
 */
import type { RunQuery, StoredRun } from "@superstep/engine"
import { decodeText, type JsonBytes, shownName, toText } from "../file/columns.ts"
import { type Database, preparedOnce, type Value } from "../file/driver.ts"
import { corrupt } from "../file/errors.ts"
import { HEAD, WITH_END } from "../journal/journal-end.ts"
import {
  ALL_STATUS,
  checkRun,
  RUN_CHECK_COLUMNS,
  RUN_COLUMNS,
  type RunCheckRow,
  toStoredRuns,
} from "./run-rows.ts"

export interface RunTable {
  find(runId: string): StoredRun | undefined
  /** Newest first: in the order in which they came into this file, from its end. */
  list(query: RunQuery): readonly StoredRun[]
  /** False when there is no such run. */
  pin(runId: string, pinned: boolean): boolean
}

export function runTable(database: Database): RunTable {
  const prepare = preparedOnce(database)
  const findOne = database.prepare(`SELECT ${RUN_COLUMNS} FROM runs ${WITH_END} WHERE run_id = ?`)
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
  if (before !== undefined) add("runs.id < (SELECT id FROM runs WHERE run_id = ?)", before)
  if (text !== undefined) {
    add("(instr(run_id, ?) OR instr(workflow, ?) OR coalesce(instr(key, ?), 0))", text, text, text)
  }
  for (const label of Object.entries(labels)) {
    // After a comma of the object itself, not of a string in it: there a quote has a backslash before it.
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
    return {
      sql: `SELECT ${RUN_COLUMNS} FROM runs ${WITH_END} ${where} ORDER BY runs.id DESC LIMIT ?`,
      values,
    }
  }
  // A page of each status, and the first of them: within one status the index has the runs in order.
  const sql = `
    SELECT ${RUN_COLUMNS} FROM json_each(?) AS wanted CROSS JOIN runs ${WITH_END}
    WHERE runs.id IN (
      SELECT id FROM runs WHERE ${[...conditions, "status = wanted.value"].join(" AND ")} ORDER BY id DESC LIMIT ?
    )
    ORDER BY runs.id DESC LIMIT ?`
  return { sql, values: [statuses, ...values, limit, limit] }
}

interface RunHead {
  readonly id: number
  /** As the file has it. */
  readonly name: string
  readonly head: number
  readonly forkRun: number | null
  readonly forkSeq: number
}

export interface RunHeads {
  /** `name` as the file has it. */
  find(name: string): RunHead | undefined
  /** Undefined for a run that is no fork. */
  pastOf(run: RunHead): RunHead | undefined
}

interface HeadRow extends RunCheckRow {
  readonly id: number
  readonly run_id: JsonBytes
  readonly head: number
  readonly fork_run: number | null
  readonly fork_seq: number
}

export function runHeads(database: Database): RunHeads {
  const columns = `runs.id, CAST(${HEAD} AS INTEGER) AS head, CAST(runs.fork_run AS INTEGER) AS fork_run,
    ${RUN_CHECK_COLUMNS}`
  const findByName = database.prepare(`SELECT ${columns} FROM runs ${WITH_END} WHERE run_id = ?`)
  const findById = database.prepare(`SELECT ${columns} FROM runs ${WITH_END} WHERE runs.id = ?`)
  const isHidden = hiddenCheck(database)

  function toHead(row: HeadRow): RunHead {
    const name = decodeText(row.run_id, () => "A run is damaged at its id")
    if (row.fork_run !== null && row.fork_run_id === null) throw pastMissing(name, row.fork_seq)
    checkRun(row)
    return { id: row.id, name, head: row.head, forkRun: row.fork_run, forkSeq: row.fork_seq }
  }

  return {
    find(name) {
      const [row] = findByName.all(name) as HeadRow[]
      if (row === undefined) {
        isHidden(name)
        return undefined
      }
      const head = toHead(row)
      if (head.name !== name) throw hidden(name)
      return head
    },
    pastOf({ name, forkRun, forkSeq }) {
      if (forkRun === null) return undefined
      const [past] = findById.all(forkRun) as HeadRow[]
      if (past !== undefined) return toHead(past)
      throw pastMissing(name, forkSeq)
    },
  }
}

/** Throws for a run that exists and is not found by its id. */
function hiddenCheck(database: Database): (name: string) => void {
  const findAgain = database.prepare("SELECT 1 FROM runs INDEXED BY runs_run_id WHERE run_id = ?")
  return (name) => {
    if (findAgain.all(name).length > 0) throw hidden(name)
  }
}

function pastMissing(name: string, forkSeq: number): Error {
  return corrupt(
    () => `The journal of run "${shownName(name)}" is damaged at ${forkSeq}`,
    "the run before its fork is missing",
  )
}

function hidden(name: string): Error {
  return corrupt(() => `Run "${shownName(name)}" is damaged`, "it is not found by its id")
}
