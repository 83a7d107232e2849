/**
 * When the file is written and read. What is written in one turn of the event loop, whatever it is and to however
 * many runs, is one transaction: a thousand runs that each finish a step wait for one commit, not for a thousand.
 *
 * S1 A write is acknowledged after the commit that holds it, never before.
 * S2 What a write depends on (a journal's end, a token) is read inside the transaction: another process may have
 *    written since.
 * S3 A write that is refused leaves the others of its turn alone, and must not have changed anything; so does one
 *    with a value that cannot be written. A commit that fails fails them all, and the file is as it was.
 */
import { isSuperstepError, type SuperstepError } from "@superstep/engine"
import { type Database, resultCode } from "./driver.ts"
import { isClosed, readFailed, writeFailed } from "./errors.ts"

/** Makes its changes within a transaction that others share, or says why it makes none. */
type Change<T> = () => T | SuperstepError

interface Write {
  readonly subject: string
  readonly change: Change<unknown>
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** What SQLite says of a value: too big, against a constraint, of the wrong type, out of range. The drivers say nothing. */
const OF_A_VALUE: ReadonlySet<number | undefined> = new Set([undefined, 18, 19, 20, 25])

/** Held from the start, so that a test framework's fake timers do not stop it. */
const nextTurn = setImmediate

export class Transactions {
  readonly #database: Database
  readonly #mayWrite: () => SuperstepError | undefined
  #waiting: Write[] = []
  #closed = false

  /** `mayWrite` is asked before each transaction; it says why there cannot be one. */
  constructor(database: Database, mayWrite: () => SuperstepError | undefined) {
    this.#database = database
    this.#mayWrite = mayWrite
  }

  /** Makes the change with the others of this turn. `subject` begins the sentence that says that it failed. */
  write<T>(subject: string, change: Change<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(isClosed())
      if (this.#waiting.length === 0) nextTurn(() => this.#commitTurn())
      this.#waiting.push({ subject, change, resolve, reject })
    })
  }

  /** For one statement. */
  read<T>(subject: string, query: () => T): T {
    if (this.#closed) throw isClosed()
    try {
      return query()
    } catch (error) {
      throw isSuperstepError(error) ? error : readFailed(subject, error)
    }
  }

  /** For several statements, which see the file as it is at one moment. */
  readTogether<T>(subject: string, query: () => T): T {
    return this.read(subject, () => {
      this.#database.exec("BEGIN")
      try {
        return query()
      } finally {
        this.#rollBack()
      }
    })
  }

  /** Writes what waits, and takes nothing more. */
  close(): void {
    if (this.#closed) return
    this.#commitTurn()
    // libsql does not always do so by itself.
    this.moveLog()
    this.#closed = true
    this.#database.close()
  }

  /** Moves what is in the log into the file, as far as nobody reads it there. */
  moveLog(): void {
    if (this.#closed) return
    try {
      this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)")
    } catch {
      // Nothing is lost by it: whoever opens the file next reads the log.
    }
  }

  #commitTurn(): void {
    const turn = this.#waiting
    if (turn.length === 0) return
    this.#waiting = []
    this.#commitTogether(turn)
  }

  #commitTogether(writes: readonly Write[]): void {
    let results: unknown[]
    try {
      results = this.#commit(writes)
    } catch (error) {
      this.#rollBack()
      if (writes.length > 1 && OF_A_VALUE.has(resultCode(error))) {
        for (const write of writes) this.#commitTogether([write])
      } else {
        for (const { subject, reject } of writes) reject(writeFailed(`${subject} was not written`, error))
      }
      return
    }
    for (let i = 0; i < writes.length; i++) {
      const { resolve, reject } = writes[i] as Write
      const result = results[i]
      if (isSuperstepError(result)) reject(result)
      else resolve(result as never)
    }
  }

  #commit(turn: readonly Write[]): unknown[] {
    const refusal = this.#mayWrite()
    if (refusal !== undefined) return turn.map(() => refusal)
    this.#database.exec("BEGIN IMMEDIATE")
    const results = turn.map(({ change }) => change())
    this.#database.exec("COMMIT")
    return results
  }

  #rollBack(): void {
    try {
      this.#database.exec("ROLLBACK")
    } catch {
      // There was no transaction, or SQLite has rolled it back by itself.
    }
  }
}
