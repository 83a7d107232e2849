/**
 * Journals in SQLite. What is appended in one turn of the event loop, over all runs, is one transaction: a
 * thousand runs that each finish a step wait for one commit, not for a thousand. When to write is decided here;
 * the file is open-database.ts's, its tables are schema.ts's, what a row says is rows.ts's.
 *
 * Invariants:
 * S1 An append is acknowledged after the commit that holds it, never before.
 * S2 Where a journal ends is read inside the transaction: another process may have written since.
 * S3 An append that is refused leaves the others of its turn alone; a commit that fails fails them all, and
 *    the file is as it was.
 * S4 A read gives every record up to the journal's end, or an error; never fewer.
 */
import { type JournalRecord, journalConflict, type Store, SuperstepError } from "@superstep/engine"
import type { Database } from "./driver.ts"
import { readFailed, writeFailed } from "./errors.ts"
import { inJson, type Row, toBodies, toRecords } from "./rows.ts"

export interface SqliteStore extends Store {
  append(runId: string, expectedSeq: number, records: readonly JournalRecord[]): Promise<void>
  read(runId: string, afterSeq: number): Promise<readonly JournalRecord[]>
  /** Writes what still waits to be written, and lets go of the file. */
  close(): Promise<void>
}

interface Append {
  readonly runId: string
  readonly expectedSeq: number
  readonly records: readonly JournalRecord[]
  /** The entries as text, made when they were handed over. */
  readonly bodies: readonly string[]
  readonly resolve: () => void
  readonly reject: (error: SuperstepError) => void
}

/** Held from the start, so that a test framework's fake timers do not stop it. */
const nextTurn = setImmediate

export function journalTables(database: Database): SqliteStore {
  // These two move the end of a journal, or find another end than the expected one and change nothing.
  const addRun = database.prepare(
    `INSERT INTO runs (run_id, head, workflow, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const moveHead = database.prepare("UPDATE runs SET head = ?, updated_at = ? WHERE run_id = ? AND head = ?")
  const findHead = database.prepare("SELECT head FROM runs WHERE run_id = ?")
  const addRecord = database.prepare(
    `INSERT INTO journal (run, seq, frame, events, body)
     VALUES ((SELECT id FROM runs WHERE run_id = ?), ?, ?, ?, ?)`,
  )
  // One statement, so that the end and the records are of the same moment.
  const findRecords = database.prepare(
    `SELECT runs.head, journal.seq, journal.frame, journal.events, journal.body
     FROM runs LEFT JOIN journal ON journal.run = runs.id AND journal.seq > ?
     WHERE runs.run_id = ? ORDER BY journal.seq`,
  )
  let waiting: Append[] = []
  let closed = false

  /** Moves the end past the records; false when it was not where it was expected. */
  function moveEnd(runId: string, expectedSeq: number, records: readonly JournalRecord[]): boolean {
    const [first, last] = [records[0], records.at(-1)]
    if (first === undefined || last === undefined) return endOf(runId) === expectedSeq
    const end = expectedSeq + records.length
    const { changes } =
      expectedSeq === 0
        ? addRun.run(runId, end, workflowOf(first), first.entry.at, last.entry.at)
        : moveHead.run(end, last.entry.at, runId, expectedSeq)
    return changes === 1
  }

  function endOf(runId: string): number {
    const [row] = findHead.all(runId) as { head: number }[]
    return row?.head ?? 0
  }

  /** Why the append is refused, or undefined when its records are written. */
  function write({ runId, expectedSeq, records, bodies }: Append): SuperstepError | undefined {
    const key = inJson(runId)
    if (!moveEnd(key, expectedSeq, records)) return journalConflict(runId, expectedSeq, endOf(key))
    records.forEach(({ seq, frame, events }, i) => {
      addRecord.run(key, seq, inJson(frame), events, bodies[i] as string)
    })
    return undefined
  }

  function commit(appends: readonly Append[]): (SuperstepError | undefined)[] {
    database.exec("BEGIN IMMEDIATE")
    const refusals = appends.map(write)
    database.exec("COMMIT")
    return refusals
  }

  function rollBack(): void {
    try {
      database.exec("ROLLBACK")
    } catch {
      // There was no transaction, or SQLite has rolled it back by itself.
    }
  }

  function commitTurn(): void {
    const turn = waiting
    if (turn.length === 0) return
    waiting = []
    let refusals: (SuperstepError | undefined)[]
    try {
      refusals = commit(turn)
    } catch (error) {
      rollBack()
      for (const { runId, reject } of turn) {
        reject(writeFailed(`The journal of run "${runId}" was not written`, error))
      }
      return
    }
    turn.forEach(({ resolve, reject }, i) => {
      const refusal = refusals[i]
      if (refusal === undefined) resolve()
      else reject(refusal)
    })
  }

  return {
    async append(runId, expectedSeq, records) {
      if (closed) throw isClosed()
      const bodies = toBodies(runId, expectedSeq, records)
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) nextTurn(commitTurn)
        waiting.push({ runId, expectedSeq, records, bodies, resolve, reject })
      })
    },
    async read(runId, afterSeq) {
      if (closed) throw isClosed()
      let rows: Row[]
      try {
        rows = findRecords.all(afterSeq, inJson(runId)) as Row[]
      } catch (error) {
        throw readFailed(runId, error)
      }
      return toRecords(runId, afterSeq, rows)
    },
    async close() {
      if (closed) return
      commitTurn()
      closed = true
      database.close()
    },
  }
}

function workflowOf({ entry }: JournalRecord): string | null {
  return entry.type === "run.started" ? inJson(entry.workflow) : null
}

function isClosed(): SuperstepError {
  return new SuperstepError("STORE_CLOSED", "The store is closed: open it again with sqliteStore().")
}
