/**
 * When the file is written and read. What is written in one turn of the event loop, whatever it is and to however
 * many runs, is one transaction: a thousand runs that each finish a step wait for one commit, not for a thousand.
 * A very large turn is split into several transactions, so that none of them keeps the event loop or other processes
 * waiting for long, and its writes are settled a few per turn: what follows from them in the engine takes longer than the
 * commit. A write that is alone, again and again, does not wait for the end of its turn.
 *
 * SQLite itself never waits for a lock here (its busy timeout is 0): a process that was stopped inside its
 * transaction would block the event loop of every other one. While the file is locked, writes stay in their queue and
 * are retried on a timer; reads continue, as the write-ahead log allows.
 *
 * S1 A write is acknowledged after the commit that holds it, never before.
 * S2 What a write depends on (a journal's end, a token) is read inside the transaction: another process may have
 *    written since.
 * S3 A write that is refused leaves the others of its turn alone, and must not have changed anything; so does one
 *    with a value that cannot be written. A commit that fails fails them all, and the file is as it was.
 * S5 Writes are committed in the order in which they were handed over, however often the file was locked meanwhile.
 */
import { isSuperstepError, type SuperstepError } from "@superstep/engine"
import { type Database, resultCode } from "./driver.ts"
import { isBusy, isClosed, readFailed, writeFailed } from "./errors.ts"

/** Makes its changes within a transaction that others share, or says why it makes none. May be made again. */
type Change<T> = () => T | SuperstepError

/** The data of a change that checks by itself what `mayChange` does. */
export interface CheckedChange {
  /** Whether `makeTogether` can make it; it has no result. */
  readonly isSimple: boolean
}

interface Write {
  readonly subject: string
  readonly change: Change<unknown>
  readonly bytes: number
  readonly checked: CheckedChange | undefined
  readonly since: number
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** A write that is over, and what came of it: a result, or an error. */
interface Outcome {
  readonly write: Write
  readonly result: unknown
}

export interface TransactionRules {
  /** Asked before each transaction that writes; says why there cannot be one. */
  mayWrite(): SuperstepError | undefined
  /** Asked inside each transaction that writes, before its changes; says why there cannot be any. */
  mayChange?(): SuperstepError | undefined
  /** Milliseconds for which a read or write is retried while another process has the file locked. */
  readonly busyTimeout: number
  /** Milliseconds after which a transaction makes no further changes: those wait for the next turn. Default: 5. */
  readonly maxChanging?: number | undefined
  /** Called once for each long wait for the lock. */
  onWait?(): void
  /** Who has the file locked, and what to do about it: the end of a sentence. */
  lockedBy?(): string
}

/** Milliseconds after which a wait for the lock is worth a notice. */
export const NOTICE_AFTER = 1_000

const MAX_PAUSE = 64

/** Milliseconds until the next attempt at a locked file: random, so that waiting processes do not all retry at once. */
export function backOff(attempt: number): number {
  return Math.max(1, Math.min(2 ** attempt, MAX_PAUSE) * (0.5 + Math.random() / 2))
}

/** What one transaction writes at most, unless a single write is larger. */
export const MAX_WRITES = 1_000
export const MAX_BYTES = 8_388_608
const MAX_CHANGING = 5
/** How many writes are made between two checks of the time. */
export const WRITES_PER_LOOK = 20
/** How many writes are settled in one turn of the event loop. */
export const SETTLED_PER_TURN = 20
/** Milliseconds for which writes that are alone keep the event loop from turning. */
const MAX_ALONE = 2
/** Bytes of a page; the pages that every transaction writes, about; and how many are worth moving out of the log. */
const PAGE = 4_096
const PAGES_OF_COMMIT = 4
export const LOG_PART = 2_000
/** Milliseconds that a store which closes waits for the thread that moves the log. */
const MOVING = 200

/** What SQLite says of a value: too big, against a constraint, of the wrong type, out of range. The drivers say nothing. */
const OF_A_VALUE: ReadonlySet<number | undefined> = new Set([undefined, 18, 19, 20, 25])

/** Held from the start, so that a test framework's fake timers do not stop it. */
const nextTurn = setImmediate
const later = setTimeout
/** Unlike `queueMicrotask`, its callbacks need no asynchronous resource each. */
const thisTurn = Promise.resolve()

export class Transactions {
  readonly #database: Database
  readonly #rules: TransactionRules
  /** Called when a transaction that writes has begun. */
  onBegin: (() => void) | undefined
  /** Called when changes that were made are undone. */
  onRollBack: (() => void) | undefined
  /**
   * Makes the first of these simple changes, with few statements, which check what `mayChange` does. Returns how many it has
   * made, or undefined when it has made only a part: then the transaction is rolled back, and each change is made by itself.
   */
  makeTogether: ((changes: readonly never[]) => number | undefined) | undefined
  /** Called when the write-ahead log has grown by about LOG_PART pages. */
  onLogGrown: (() => void) | undefined
  /** Pages that were written since then, estimated. */
  #logged = 0
  /** Whether it was ever called. */
  #hasGrown = false
  #waiting: Write[] = []
  /** Writes that have a result and are not settled yet, in order. No transaction begins before they are. */
  #over: Outcome[] = []
  #isScheduled = false
  /** The last transaction had one write. */
  #isAlone = false
  /** When a transaction last began in a turn of its own. */
  #turnedAt = 0
  /** How often the first write was tried while the file was locked. */
  #attempts = 0
  #hasNotified = false
  #drained: (() => void) | undefined
  #closing: Promise<void> | undefined
  #isClosed = false

  constructor(database: Database, rules: TransactionRules) {
    this.#database = database
    this.#rules = rules
  }

  /**
   * Makes the change with the others of this turn. `subject` begins the sentence that says that it failed; `bytes` is
   * about what it writes.
   */
  write<T>(subject: string, change: Change<T>, bytes = 0, checked?: CheckedChange): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closing !== undefined) return reject(isClosed())
      this.#waiting.push({ subject, change, bytes, checked, since: performance.now(), resolve, reject })
      this.#schedule()
    })
  }

  /** For one statement. */
  async read<T>(subject: string, query: () => T): Promise<T> {
    if (this.#closing !== undefined) throw isClosed()
    const since = performance.now()
    for (let attempt = 0; ; attempt++) {
      if (this.#isClosed) throw isClosed()
      try {
        return query()
      } catch (error) {
        // Not while others write: only while one recovers the log, or takes it away.
        if (isSuperstepError(error) || !isBusy(error) || this.#isLate(since)) throw readFailed(subject, error)
      }
      await new Promise((resume) => later(resume, backOff(attempt)))
    }
  }

  /** For several statements, which see the file as it is at one moment. */
  readTogether<T>(subject: string, query: () => T): Promise<T> {
    return this.read(subject, () => {
      this.#database.exec("BEGIN")
      try {
        return query()
      } finally {
        this.#endTransaction()
      }
    })
  }

  /** To be called within a transaction: says why nothing may be changed. */
  mayChange(): SuperstepError | undefined {
    return this.#rules.mayChange?.()
  }

  /** Writes everything that waits, and accepts nothing more. */
  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  /** Moves the write-ahead log into the file, as far as no process reads it. */
  moveLog(): void {
    if (!this.#isClosed) this.#checkpoint("PASSIVE")
  }

  #checkpoint(mode: "PASSIVE" | "TRUNCATE"): void {
    try {
      this.#database.exec(`PRAGMA wal_checkpoint(${mode})`)
    } catch {
      // Nothing is lost: the next process that opens the file reads the log.
    }
  }

  async #finish(): Promise<void> {
    // At once, as far as possible: the process may be about to end.
    while (this.#waiting.length > 0 && this.#attempts === 0) this.#commitSlice()
    this.#settle(this.#over.length)
    if (this.#waiting.length > 0) {
      const drained = new Promise<void>((resolve) => {
        this.#drained = resolve
      })
      this.#schedule()
      await drained
    }
    // libsql does not always do so by itself. While another process writes or reads, the log keeps its size; a thread of this
    // one may still be moving it.
    if (this.#hasGrown) this.#database.exec(`PRAGMA busy_timeout = ${MOVING}`)
    this.#checkpoint("TRUNCATE")
    this.#isClosed = true
    this.#database.close()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    if (this.#attempts > 0 && this.#over.length === 0)
      later(() => this.#commitNext(), backOff(this.#attempts))
    else if (this.#over.length === 0 && this.#isAlone && performance.now() - this.#turnedAt < MAX_ALONE) {
      void thisTurn.then(this.#commitIfAlone)
    } else this.#commitAtEndOfTurn()
  }

  readonly #commitIfAlone = (): void => {
    if (this.#waiting.length === 1) this.#commitNext()
    else this.#commitAtEndOfTurn()
  }

  #commitAtEndOfTurn(): void {
    nextTurn(() => {
      this.#turnedAt = performance.now()
      this.#commitNext()
    })
  }

  #commitNext(): void {
    this.#isScheduled = false
    if (this.#over.length === 0) {
      this.#isAlone = this.#waiting.length === 1
      this.#commitSlice()
    }
    this.#settle(SETTLED_PER_TURN)
    if (this.#waiting.length > 0 || this.#over.length > 0) this.#schedule()
    else this.#drained?.()
  }

  #settle(most: number): void {
    for (const { write, result } of this.#over.splice(0, most)) {
      if (isSuperstepError(result)) write.reject(result)
      else write.resolve(result as never)
    }
  }

  /** Commits the first writes that wait. Those that the lock kept out wait on, unless their time is over. */
  #commitSlice(): void {
    const slice = this.#waiting.slice(0, sliceEnd(this.#waiting))
    if (slice.length === 0) return
    const { over, isLocked } = this.#commitTogether(slice)
    if (over > 0) {
      this.#waiting.splice(0, over)
      this.#attempts = 0
      this.#hasNotified = false
    }
    if (isLocked) this.#wait()
  }

  #wait(): void {
    const late = this.#waiting.findIndex(({ since }) => !this.#isLate(since))
    for (const { subject, reject } of this.#waiting.splice(0, late < 0 ? this.#waiting.length : late)) {
      const by = this.#rules.lockedBy?.() ?? "the file is locked by another process"
      reject(writeFailed(`${subject} was not written: ${by}`))
    }
    const [first] = this.#waiting
    this.#attempts = first === undefined ? 0 : this.#attempts + 1
    if (first === undefined || this.#hasNotified || performance.now() - first.since < NOTICE_AFTER) return
    this.#hasNotified = true
    this.#rules.onWait?.()
  }

  #isLate(since: number): boolean {
    return performance.now() - since >= this.#rules.busyTimeout
  }

  /** How many of the writes, from the first, are over: fewer than all when the file is locked, or time is over. */
  #commitTogether(writes: readonly Write[]): { over: number; isLocked: boolean } {
    let results: unknown[]
    try {
      results = this.#commit(writes)
    } catch (error) {
      this.#rollBack()
      if (isBusy(error)) return { over: 0, isLocked: true }
      if (writes.length > 1 && (isSuperstepError(error) || OF_A_VALUE.has(resultCode(error)))) {
        const locked = writes.findIndex((write) => this.#commitTogether([write]).isLocked)
        return { over: locked < 0 ? writes.length : locked, isLocked: locked >= 0 }
      }
      const reason = isSuperstepError(error) ? error : this.#outdated()
      for (const write of writes) {
        this.#over.push({ write, result: reason ?? writeFailed(`${write.subject} was not written`, error) })
      }
      return { over: writes.length, isLocked: false }
    }
    for (let i = 0; i < results.length; i++)
      this.#over.push({ write: writes[i] as Write, result: results[i] })
    return { over: results.length, isLocked: false }
  }

  /** After a statement failed: a newer version may have changed the tables that it names. */
  #outdated(): SuperstepError | undefined {
    try {
      this.#database.exec("BEGIN IMMEDIATE")
      return this.mayChange()
    } catch {
      return undefined
    } finally {
      this.#endTransaction()
    }
  }

  /** The results of the first writes: of all that there was time for. */
  #commit(turn: readonly Write[], together = true): unknown[] {
    const refusal = this.#rules.mayWrite()
    if (refusal !== undefined) return turn.map(() => refusal)
    this.#database.exec("BEGIN IMMEDIATE")
    this.onBegin?.()
    const deadline = performance.now() + (this.#rules.maxChanging ?? MAX_CHANGING)
    const results: unknown[] = []
    let mayChange = false
    let looked = 0
    while (results.length < turn.length) {
      const most = WRITES_PER_LOOK - (results.length - looked)
      const made = together ? this.#makeSimple(turn, results.length, most) : 0
      if (made === undefined) {
        this.#rollBack()
        return this.#commit(turn, false)
      }
      for (let i = 0; i < made; i++) results.push(undefined)
      if (made === 0) {
        const { change, checked } = turn[results.length] as Write
        const outdated = mayChange || checked !== undefined ? undefined : this.mayChange()
        if (outdated !== undefined) {
          this.#rollBack()
          return turn.map(() => outdated)
        }
        mayChange ||= checked === undefined
        results.push(change())
      }
      if (results.length - looked < WRITES_PER_LOOK) continue
      looked = results.length
      if (performance.now() >= deadline) break
    }
    this.#database.exec("COMMIT")
    this.#countLogged(turn, results.length)
    return results
  }

  #countLogged(turn: readonly Write[], made: number): void {
    let bytes = 0
    for (let i = 0; i < made; i++) bytes += (turn[i] as Write).bytes
    this.#logged += PAGES_OF_COMMIT + bytes / PAGE
    if (this.#logged < LOG_PART) return
    this.#logged = 0
    this.#hasGrown = true
    this.onLogGrown?.()
  }

  /** Makes simple changes that follow each other: how many of them. */
  #makeSimple(turn: readonly Write[], from: number, most: number): number | undefined {
    const changes: CheckedChange[] = []
    for (let i = from; i < turn.length && changes.length < most; i++) {
      const { checked } = turn[i] as Write
      if (checked?.isSimple !== true) break
      changes.push(checked)
    }
    return changes.length === 0 ? 0 : this.makeTogether?.(changes as never[])
  }

  #rollBack(): void {
    this.onRollBack?.()
    this.#endTransaction()
  }

  #endTransaction(): void {
    try {
      this.#database.exec("ROLLBACK")
    } catch {
      // There was no transaction, or SQLite has rolled it back by itself.
    }
  }
}

/** How many of the first writes fit into one transaction: at least one. */
function sliceEnd(writes: readonly Write[]): number {
  let [end, bytes] = [0, 0]
  while (end < writes.length && end < MAX_WRITES) {
    bytes += (writes[end] as Write).bytes
    if (end > 0 && bytes > MAX_BYTES) break
    end += 1
  }
  return end
}
