/** Where the journals of runs end, and what they were forked from. */
import type { Database } from "./driver.ts"
import { corrupt } from "./errors.ts"
import { decodeText, type JsonBytes } from "./json-column.ts"
import { checkRun, RUN_CHECK_COLUMNS, type RunCheckRow } from "./run-check.ts"
import { shownName } from "./text.ts"

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
  const columns = `runs.id, CAST(runs.head AS INTEGER) AS head, CAST(runs.fork_run AS INTEGER) AS fork_run,
    ${RUN_CHECK_COLUMNS}`
  const findByName = database.prepare(`SELECT ${columns} FROM runs WHERE run_id = ?`)
  const findById = database.prepare(`SELECT ${columns} FROM runs WHERE id = ?`)
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

/** Throws for a run that is not found by its id, and is there. */
export function hiddenCheck(database: Database): (name: string) => void {
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
