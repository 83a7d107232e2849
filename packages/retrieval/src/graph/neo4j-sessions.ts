/**
 * Connections to a Neo4j server.
 *
 * N1 Every query runs in a read-only transaction that is rolled back.
 * N2 A query ends at its time limit or with its caller's signal. The server is asked to stop, and the caller does not
 *    wait for it.
 * N3 A connection that does not respond is abandoned together with its driver; the driver's other queries end first.
 */

import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { untilAborted } from "@superstep/engine/tools"
import type { Driver, Session } from "neo4j-driver"
import { OpenOnce, Semaphore } from "../connections.ts"
import { invalidOption, optionalPackage, wholeNumber } from "../errors.ts"
import { closed, failed, refused, timedOut } from "../sql/queries.ts"

export type Neo4j = typeof import("neo4j-driver")

export interface Neo4jConnection {
  readonly id: string
  readonly url: string
  readonly user?: string | undefined
  readonly password?: string | undefined
  readonly database?: string | undefined
  readonly connections: number
  readonly connectTimeout: number
}

export interface Neo4jQuery {
  readonly cypher: string
  readonly params: Readonly<Record<string, unknown>>
  /** Milliseconds. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  /** Called with the names of the columns, before any row. */
  readonly begin?: (columns: readonly string[]) => void
  /** Return false to stop. */
  readonly row: (values: unknown[], neo4j: Neo4j) => boolean
}

interface Opened {
  readonly neo4j: Neo4j
  readonly driver: Driver
  users: number
  stuck: number
}

/** Milliseconds for the server to stop by itself, and for a connection to be returned. */
const GRACE = 500
const FETCH_SIZE = 100

export class Neo4jSessions {
  readonly #connection: Neo4jConnection
  readonly #address: string
  readonly #turns: Semaphore
  readonly #opened = new OpenOnce(() => this.#connect())
  #isClosed = false

  constructor(connection: Neo4jConnection) {
    this.#connection = connection
    this.#address = addressOf(connection)
    this.#turns = new Semaphore(wholeNumber("connections", connection.connections))
    wholeNumber("connectTimeout", connection.connectTimeout)
  }

  run(query: Neo4jQuery): Promise<void> {
    return this.#turns.take(query.signal, () => this.#run(query))
  }

  /** The driver's module, which has its types. */
  async neo4j(): Promise<Neo4j> {
    return (await this.#open()).neo4j
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await (await this.#opened.forget())?.driver.close()
  }

  async #run(query: Neo4jQuery): Promise<void> {
    const { timeout, signal } = query
    const { id, database, connectTimeout } = this.#connection
    const opened = await this.#open()
    // The signal was not observed while the driver was loaded.
    signal?.throwIfAborted()
    const { neo4j, driver } = opened
    const session = driver.session({
      defaultAccessMode: neo4j.session.READ,
      fetchSize: FETCH_SIZE,
      ...(database === undefined ? {} : { database }),
    })
    opened.users += 1
    const stop = new AbortController()
    const onAbort = () => stop.abort(signal?.reason)
    signal?.addEventListener("abort", onAbort, { once: true })
    // The time limit starts with the transaction.
    let timer = setTimeout(() => stop.abort(noAnswer()), connectTimeout + GRACE)
    const begun = () => {
      clearTimeout(timer)
      timer = setTimeout(() => stop.abort(timedOut(timeout)), timeout + GRACE)
    }
    try {
      await untilAborted(readOnly(session, neo4j, query, begun), stop.signal)
    } catch (error) {
      signal?.throwIfAborted()
      if (this.#isClosed) throw closed(`graph ${id}`)
      throw graphError(id, this.#address, timeout, error)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
      void this.#leave(opened, session)
    }
  }

  /** Asks the server to stop running queries. */
  async #leave(opened: Opened, session: Session): Promise<void> {
    let isStuck = false
    const timer = setTimeout(() => {
      isStuck = true
      opened.stuck += 1
      this.#giveUp(opened)
    }, GRACE)
    timer.unref()
    await session.close().catch(() => undefined)
    clearTimeout(timer)
    if (isStuck) return
    opened.users -= 1
    if (opened.stuck > 0) this.#giveUp(opened)
  }

  #giveUp(opened: Opened): void {
    void this.#opened.current().then((current) => {
      if (current === opened) void this.#opened.forget()
    })
    if (opened.users === opened.stuck) opened.driver.close().catch(() => undefined)
  }

  async #open(): Promise<Opened> {
    if (this.#isClosed) throw closed(`graph ${this.#connection.id}`)
    return await this.#opened.get()
  }

  async #connect(): Promise<Opened> {
    const { url, user, password, connections, connectTimeout } = this.#connection
    const { default: neo4j } = await optionalPackage<{ default: Neo4j }>("neo4j-driver", "A Neo4j graph")
    const auth = user === undefined ? undefined : neo4j.auth.basic(user, password ?? "")
    const driver = neo4j.driver(url, auth, {
      useBigInt: true,
      telemetryDisabled: true,
      // One more than the slots: a finished session frees its slot before its connection.
      maxConnectionPoolSize: connections + 1,
      connectionTimeout: connectTimeout,
      connectionAcquisitionTimeout: connectTimeout + GRACE,
    })
    return { neo4j, driver, users: 0, stuck: 0 }
  }
}

/** The error that the driver itself would throw. */
function noAnswer(): Error {
  return Object.assign(new Error("The server is not responding."), { code: "ServiceUnavailable" })
}

async function readOnly(session: Session, neo4j: Neo4j, query: Neo4jQuery, begun: () => void): Promise<void> {
  const { cypher, params, timeout, begin, row } = query
  const transaction = await session.beginTransaction({ timeout })
  begun()
  const result = transaction.run(cypher, params)
  begin?.((await result.keys()) as string[])
  for await (const record of result) {
    if (!row([...record.values()], neo4j)) break
  }
  await transaction.rollback()
}

function addressOf({ id, url }: Neo4jConnection): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const invalid = (why: string) => invalidOption(`The address of the graph ${id} ${why}`)
  if (
    parsed === undefined ||
    !/^(?:bolt|neo4j)(?:\+s|\+ssc)?:$/.test(parsed.protocol) ||
    parsed.host === ""
  ) {
    throw invalid(`is not valid: use bolt://host:7687, or neo4j+s://host for TLS.`)
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw invalid("contains a user or a password: pass them as `user` and `password`.")
  }
  return parsed.host
}

interface ServerError {
  readonly code?: string
  readonly message: string
}

const TIMEOUTS = [
  "Neo.ClientError.Transaction.TransactionTimedOut",
  "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
  "Neo.TransientError.Transaction.Terminated",
  "Neo.ClientError.Transaction.TransactionTerminated",
]
const REFUSALS = [
  "Neo.ClientError.Statement.AccessMode",
  "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
]
const UNREACHABLE = ["ServiceUnavailable", "SessionExpired", "N/A"]
/** The server is starting, or is electing a leader. */
const UNAVAILABLE = /^Neo\.TransientError\.\w+\.DatabaseUnavailable$/
const LOGIN = "Neo.ClientError.Security."

function graphError(id: string, address: string, timeout: number, error: unknown): unknown {
  if (isSuperstepError(error) || !(error instanceof Error)) return error
  const { code = "N/A", message } = error as ServerError
  if (TIMEOUTS.includes(code)) return timedOut(timeout, error)
  if (REFUSALS.includes(code) || code === `${LOGIN}Forbidden`) return refused(ended(message), error)
  const unreachable = (what: string, advice: string, retryable = false) =>
    new SuperstepError("DATABASE_UNREACHABLE", `The graph ${id} at ${address} ${what} ${advice}`, {
      cause: error,
      retryable,
    })
  if (code.startsWith(LOGIN)) {
    return unreachable(`rejected the user: ${message}`, "Check the user and the password.")
  }
  if (code === "Neo.ClientError.Database.DatabaseNotFound") {
    return unreachable(`does not exist: ${message}`, "Check the name of the database.")
  }
  if (UNREACHABLE.includes(code) || UNAVAILABLE.test(code)) {
    const advice = "Check the address, and that the server is running."
    return unreachable(`is unreachable: ${firstLine(message)}`, advice, true)
  }
  return failed(message, error)
}

function ended(message: string): string {
  return message.replace(/\.\s*$/, "")
}

function firstLine(message: string): string {
  const line = message.split("\n")[0] ?? message
  return line.endsWith(".") ? line : `${line}.`
}
