/**
 * Finds runs, and where their journals end. A page costs what is on it, except for a search by one or two letters, or by
 * times, which reads one run after another.
 */

import type { RunQuery, StoredRun, TimeRange } from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import { decodeText, type JsonBytes, shownName, toText } from "../file/columns.ts"
import { type Database, preparedOnce, type Value } from "../file/driver.ts"
import { corrupt } from "../file/errors.ts"
import { HEAD, UPDATED_AT, WITH_END } from "../journal/journal-end.ts"
import { labelTexts } from "./run-labels.ts"
import type { NameIndex } from "./run-names.ts"
import {
  ALL_STATUS,
  checkRun,
  RUN_CHECK_COLUMNS,
  RUN_COLUMNS,
  type RunCheckRow,
  toStoredRuns,
} from "./run-rows.ts"

/** Labels of more runs than this count as equally frequent. */
const COUNTED = 1_000

export interface RunTable {
  find(runId: string): StoredRun | undefined
  /** Newest first: in the order in which they came into this file, from its end. */
  list(query: RunQuery): readonly StoredRun[]
  /** False when there is no such run. */
  pin(runId: string, pinned: boolean): boolean
}

export function runTable(
  database: Database,
  names: Pick<NameIndex, "upTo" | "query">,
  codec: ValueCodec,
): RunTable {
  const prepare = preparedOnce(database)
  const findOne = database.prepare(`SELECT ${RUN_COLUMNS} FROM runs ${WITH_END} WHERE run_id = ?`)
  const checkHidden = hiddenCheck(database)
  const setPinned = database.prepare("UPDATE runs SET pinned = ? WHERE run_id = ?")
  const countSome = database.prepare(
    "SELECT count(*) AS count FROM (SELECT 1 FROM run_labels WHERE label = ? LIMIT ?)",
  )

  /** As far as it costs little to know. */
  function rarest(labels: readonly string[]): string {
    if (labels.length === 1) return labels[0] as string
    const counts = labels.map((label) => (countSome.all(label, COUNTED) as [{ count: number }])[0].count)
    return labels[counts.indexOf(Math.min(...counts))] as string
  }

  return {
    find(runId) {
      const [run] = toStoredRuns(findOne.all(toText(runId)), codec)
      if (run?.runId !== runId) checkHidden(toText(runId))
      return run
    },
    list(query) {
      const read = ({ sql, values }: Sql) => toStoredRuns(prepare(sql).all(...values), codec)
      const { key, thread, text, labels = {}, limit = -1 } = query
      const wanted = labelTexts(labels)
      // A key has one run, a thread few: the rest is looked for among those.
      if (key !== undefined || thread !== undefined) return read(byRow(query))
      if (wanted.length > 0) return read(byLabel(query, rarest(wanted)))
      const match = text === undefined ? undefined : names.query(toText(text))
      if (match === undefined) return read(byRow(query))
      const newer = read(byRow(query, names.upTo()))
      if (newer.length === limit) return newer
      const rest = limit < 0 ? limit : limit - newer.length
      return [...newer, ...read(byName({ ...query, limit: rest }, match))]
    },
    pin: (runId, pinned) => setPinned.run(pinned ? 1 : 0, toText(runId)).changes !== 0,
  }
}

interface Sql {
  readonly sql: string
  readonly values: readonly Value[]
}

/** Conditions for the rows of runs, whatever they are found by. */
function toConditions(query: RunQuery) {
  const { workflow, thread, key, text, labels = {}, before } = query
  const conditions: string[] = []
  const values: Value[] = []
  const add = (condition: string, ...of: string[]) => {
    conditions.push(condition)
    values.push(...of)
  }
  if (key !== undefined) add("key = ?", toText(key))
  if (thread !== undefined) add("thread = ?", toText(thread))
  // SQLite does not look by what has a plus before it.
  const isFew = key !== undefined || thread !== undefined
  if (workflow !== undefined) add(isFew ? "+workflow = ?" : "workflow = ?", toText(workflow))
  if (before !== undefined) add("runs.id < (SELECT id FROM runs WHERE run_id = ?)", toText(before))
  if (text !== undefined) {
    const part = toText(text)
    add("(instr(run_id, ?) OR instr(workflow, ?) OR coalesce(instr(key, ?), 0))", part, part, part)
  }
  for (const label of labelTexts(labels)) {
    // After a comma of the object itself, not of a string in it: there a quote has a backslash before it.
    add("instr(',' || substr(labels, 2), ?)", `,${label}`)
  }
  const within = (column: string, { from, until }: TimeRange = {}) => {
    for (const [sign, time] of [
      [">=", from],
      ["<", until],
    ] as const) {
      if (time === undefined) continue
      conditions.push(`${column} ${sign} ?`)
      values.push(time)
    }
  }
  within("runs.created_at", query.created)
  within(UPDATED_AT, query.updated)
  return { conditions, values, isFew }
}

function statusesOf(status: RunQuery["status"]): string {
  return JSON.stringify([...new Set(status ?? ALL_STATUS)])
}

/** Runs after the one with this number. */
function byRow(query: RunQuery, after = 0): Sql {
  const { workflow, status, limit = -1 } = query
  const { conditions, values, isFew } = toConditions(query)
  if (after > 0) {
    conditions.push("runs.id > ?")
    values.push(after)
  }
  if (isFew || (status === undefined && workflow === undefined)) {
    if (status !== undefined) {
      conditions.push("+status IN (SELECT value FROM json_each(?))")
      values.push(statusesOf(status))
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`
    const sql = `SELECT ${RUN_COLUMNS} FROM runs ${WITH_END} ${where} ORDER BY runs.id DESC LIMIT ?`
    return { sql, values: [...values, limit] }
  }
  // A page of each status, and the first of them: within one status the index has the runs in order.
  const sql = `
    SELECT ${RUN_COLUMNS} FROM json_each(?) AS wanted CROSS JOIN runs ${WITH_END}
    WHERE runs.id IN (
      SELECT id FROM runs ${query.updated === undefined ? "" : WITH_END} WHERE ${[...conditions, "status = wanted.value"].join(" AND ")} ORDER BY id DESC LIMIT ?
    )
    ORDER BY runs.id DESC LIMIT ?`
  return { sql, values: [statusesOf(status), ...values, limit, limit] }
}

function byLabel(query: RunQuery, label: string): Sql {
  return found(query, "run_labels", "run_labels.run", "run_labels.label = ?", label)
}

function byName(query: RunQuery, match: string): Sql {
  return found(query, "run_names", "run_names.rowid", "run_names MATCH ?", match)
}

/** In the order of an index that has the newest run last. The rows are checked again: damage to an index adds no run. */
function found(query: RunQuery, index: string, id: string, condition: string, value: string): Sql {
  const { conditions, values } = toConditions(query)
  const all = [condition, ...conditions, "+status IN (SELECT value FROM json_each(?))"].join(" AND ")
  const sql = `SELECT ${RUN_COLUMNS} FROM ${index} CROSS JOIN runs ON runs.id = ${id} ${WITH_END}
    WHERE ${all} ORDER BY ${id} DESC LIMIT ?`
  return { sql, values: [value, ...values, statusesOf(query.status), query.limit ?? -1] }
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
  /** Of those that are found. */
  findAll(names: readonly string[]): readonly RunHead[]
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
  const findByNames = database.prepare(
    `SELECT ${columns} FROM json_each(?) AS named CROSS JOIN runs ON runs.run_id = named.value ${WITH_END}`,
  )
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
    findAll: (names) => (findByNames.all(JSON.stringify(names)) as HeadRow[]).map(toHead),
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
