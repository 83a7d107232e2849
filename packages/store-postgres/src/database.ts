/**
 * Sends statements to the server, each on any connection of a pool, so that it works behind a pooler in transaction mode.
 * Every write is one statement: no process can be stopped, or cut off, while it holds a lock.
 *
 * P1 No session state: no SET, no LISTEN, no session lock, no open transaction between two answers; with `prepare: false`
 *    no prepared statement either.
 * P2 While the server is unreachable, calls are retried for `retryTimeout`. A statement that was sent on a connection that
 *    broke may have been executed: it is repeated with `isRepeated`, and recognises its own earlier effect.
 * P3 A deadlock or a serialization failure is retried at once: the server has rolled it back.
 */
import { createHash } from "node:crypto"
import { isSuperstepError } from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import pg from "pg"
import {
  asError,
  codeOf,
  type DatabaseTarget,
  isClosed,
  isConflict,
  isConnectionLost,
  outdated,
  readFailed,
  setUpProblem,
  unreachable,
  writeFailed,
} from "./errors.ts"

/** The part of a `pg` pool that the store uses. */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<{ readonly rows: unknown[] }>
  connect(): Promise<PostgresClient>
  end(): Promise<void>
  on(event: "error", listener: (error: Error) => void): unknown
}

export interface PostgresQuery {
  readonly text: string
  readonly values?: unknown[]
  readonly name?: string
  readonly types?: unknown
}

export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: unknown[] }>
  release(error?: Error): void
}

/** A statement with `$.` before the names of tables. One with a name is prepared, unless the options say otherwise. */
export interface Statement {
  readonly name?: string | undefined
  readonly text: string
}

export interface DatabaseOptions extends DatabaseTarget {
  readonly pool: PostgresPool
  readonly ownsPool: boolean
  readonly prepare: boolean
  /** How values are written. */
  readonly codec: ValueCodec
  readonly retryTimeout: number
  /** The server has been unreachable for a while; called once per outage. */
  onAway(): void
  /** Brings the schema up to date. */
  migrate(pool: PostgresPool): Promise<void>
}

/** Milliseconds until an unreachable server is reported. */
const NOTICE_AFTER = 1_000
const MAX_PAUSE = 1_000
const MAX_CONFLICTS = 20

/** Held from the start, so that a test framework's fake timers do not stop it. */
const later = setTimeout

const INT8 = 20
/** Parses 64-bit integers as numbers: none here exceeds 2^53. */
const types = {
  getTypeParser: (oid: number, format: "text" | "binary") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
}

interface Asked {
  /** The start of the error message. */
  readonly subject: string
  readonly isWrite: boolean
}

export class Database {
  readonly target: DatabaseTarget
  readonly codec: ValueCodec
  readonly #options: DatabaseOptions
  readonly #schema: string
  readonly #prefix: string
  readonly #texts = new WeakMap<Statement, string>()
  #opening: Promise<void> | undefined
  #isOpen = false
  #asked = 0
  #drained: (() => void) | undefined
  #closing: Promise<void> | undefined
  #awaySince: number | undefined
  #hasNotified = false

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.codec = options.codec
    this.target = { shown: options.shown, schema: options.schema }
    this.#schema = `"${options.schema}".`
    this.#prefix = `superstep_${createHash("sha256").update(options.schema).digest("hex").slice(0, 8)}_`
    // An idle connection broke: the pool opens another one.
    options.pool.on("error", () => undefined)
  }

  read<Row>(subject: string, statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.ask({ subject, isWrite: false }, () => this.query<Row>(statement, values))
  }

  write<Row>(subject: string, statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.ask({ subject: `${subject} was not written`, isWrite: true }, () =>
      this.query<Row>(statement, values),
    )
  }

  /** P2, P3. */
  async ask<T>(asked: Asked, act: (isRepeated: boolean) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw isClosed()
    this.#asked++
    try {
      return await this.#ask(asked, act)
    } finally {
      this.#asked--
      if (this.#asked === 0) this.#drained?.()
    }
  }

  async #ask<T>(asked: Asked, act: (isRepeated: boolean) => Promise<T>): Promise<T> {
    const since = performance.now()
    let isRepeated = false
    for (let attempt = 0; ; attempt++) {
      let isSent = false
      try {
        if (!this.#isOpen) await this.#open()
        isSent = true
        const result = await act(isRepeated)
        this.#awaySince = undefined
        return result
      } catch (error) {
        if (isSuperstepError(error)) throw error
        if (isConnectionLost(error)) {
          isRepeated ||= isSent
          this.#isAway(since, error)
        } else if (!isConflict(error) || attempt >= MAX_CONFLICTS) throw this.#failure(asked, error)
      }
      await new Promise((resume) => later(resume, backOff(attempt)))
    }
  }

  #isAway(since: number, error: unknown): void {
    const { retryTimeout, onAway } = this.#options
    const now = performance.now()
    if (this.#awaySince === undefined) {
      this.#awaySince = now
      this.#hasNotified = false
    }
    if (now - since >= retryTimeout) throw unreachable(this.target, now - since, error)
    if (this.#hasNotified || now - this.#awaySince < NOTICE_AFTER) return
    this.#hasNotified = true
    onAway()
  }

  #failure({ subject, isWrite }: Asked, error: unknown): Error {
    if (codeOf(error) === "42883") return outdated(this.target.schema, error)
    const problem = setUpProblem(error, this.target)
    if (problem !== undefined) return problem
    return isWrite ? writeFailed(subject, asError(error)) : readFailed(subject, asError(error))
  }

  #open(): Promise<void> {
    this.#opening ??= this.#options.migrate(this.#options.pool).then(
      () => {
        this.#isOpen = true
      },
      (error) => {
        // The next call tries again.
        this.#opening = undefined
        throw error
      },
    )
    return this.#opening
  }

  /** Within `ask`. */
  async query<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const { pool, prepare } = this.#options
    const text = this.#textOf(statement)
    const name = prepare && statement.name !== undefined ? this.#prefix + statement.name : undefined
    const query: PostgresQuery = { text, values: values as unknown[], types, ...(name && { name }) }
    return (await pool.query(query)).rows as Row[]
  }

  #textOf(statement: Statement): string {
    let text = this.#texts.get(statement)
    if (text === undefined) {
      text = inSchema(statement.text, this.#schema)
      this.#texts.set(statement, text)
    }
    return text
  }

  /** Rejects new calls, and waits for those in progress. */
  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  async #finish(): Promise<void> {
    if (this.#asked > 0) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    if (this.#options.ownsPool) await this.#options.pool.end()
  }
}

/** `$.` stands for the schema; `$1` for a value. */
export function inSchema(sql: string, schema: string): string {
  return sql.replaceAll("$.", () => schema)
}

/** Milliseconds until the next attempt: random, so that waiting processes do not all retry at once. */
function backOff(attempt: number): number {
  return Math.max(1, Math.min(2 ** attempt, MAX_PAUSE) * (0.5 + Math.random() / 2))
}
