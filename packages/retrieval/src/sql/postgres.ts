/** A PostgreSQL database that a model may query: as a role that can only read, within limits. */

import type { AskOptions, Database, QueryOptions, QueryResult } from "@superstep/engine/patterns"
import { untilAborted } from "@superstep/engine/tools"
import type { ClientConfig, Pool, PoolClient, QueryConfig } from "pg"
import { OpenOnce, Semaphore } from "../connections.ts"
import { fatal, invalidOption, optionalPackage, wholeNumber } from "../errors.ts"
import {
  fingerprintOf,
  READABLE_TABLES,
  ROLE_FAULTS,
  type RoleFaults,
  type TableRow,
  tablesOf,
  unsafeRole,
} from "./postgres-catalog.ts"
import { checkFunctions, whyRefusedInPostgres } from "./postgres-functions.ts"
import {
  type Address,
  cleanUp,
  isConnectionLost,
  type Line,
  queryError,
  runReadOnly,
  unreachable,
} from "./postgres-query.ts"
import { loadSqlParser, referencesOf, type SqlParser } from "./postgres-references.ts"
import { cachedProfile, type ProfileOptions, profileTables } from "./profile-tables.ts"
import { closed, limitsOf, type QueryLimits } from "./queries.ts"
import { checkSelect } from "./select-guard.ts"

export interface PostgresOptions {
  readonly id: string
  /** The name for people. Default: the id. */
  readonly name?: string | undefined
  /** `postgres://role:password@host:port/database`. */
  readonly connectionString?: string | undefined
  /** The parts of the connection, instead of a connection string. Missing ones come from PGHOST, PGUSER and so on. */
  readonly connection?: PostgresConnection | undefined
  /** Schemas whose tables are listed. Default: all that the role may read. */
  readonly schemas?: readonly string[] | undefined
  readonly limits?: QueryLimits | undefined
  /** Maximum concurrent connections. Default 4. */
  readonly connections?: number | undefined
  /** Milliseconds to get a connection. Default 10,000. */
  readonly connectTimeout?: number | undefined
  /** Allows a role that can write, read files or run programs on the server. */
  readonly allowUnsafeRole?: boolean | undefined
  /**
   * Functions that queries may call although they are neither PostgreSQL's own nor harmless functions of an extension, as
   * `schema.name`. This includes all overloads, with whatever side effects they have.
   */
  readonly allowFunctions?: readonly string[] | undefined
  /** Options of `profile`. */
  readonly profile?: ProfileOptions | undefined
}

export interface PostgresConnection {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly database?: string | undefined
  readonly user?: string | undefined
  readonly password?: string | undefined
  readonly ssl?:
    | boolean
    | { readonly ca?: string | undefined; readonly rejectUnauthorized?: boolean }
    | undefined
}

export function postgresDatabase(options: PostgresOptions): Database {
  const { id, name = id } = options
  const asked = new PostgresSessions(options)
  const query = (sql: string, limits?: QueryOptions) => asked.query(sql, limits)
  const profile = cachedProfile({
    identity: identityOf(options),
    options: options.profile,
    fingerprint: async (signal) => fingerprintOf(await asked.tables({ signal })),
    look: async (limits) => profileTables(tablesOf(await asked.tables()), query, limits),
  })
  return {
    id,
    name,
    kind: "postgresql",
    schema: async (ask) => tablesOf(await asked.tables(ask)),
    profile,
    query,
    close: () => asked.close(),
  }
}

type Pg = typeof import("pg")

interface Opened {
  readonly pg: Pg
  readonly pool: Pool
  readonly config: ClientConfig
  readonly address: Address
  readonly parse: SqlParser
}

type Work<T> = (line: Line) => Promise<T>

/** Milliseconds that a query, or the reply to a cancellation, gets to end by itself. */
const PATIENCE = 2_000
/** A schema with thousands of tables may take longer than a query. */
const SCHEMA_TIMEOUT = 30_000

class PostgresSessions {
  readonly #options: PostgresOptions
  readonly #turns: Semaphore
  readonly #connectTimeout: number
  readonly #allowed: readonly string[]
  readonly #opened = new OpenOnce(() => this.#connect())
  #closing: Promise<void> | undefined

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#turns = new Semaphore(wholeNumber("connections", options.connections ?? 4))
    this.#connectTimeout = wholeNumber("connectTimeout", options.connectTimeout ?? 10_000)
    this.#allowed = options.allowFunctions ?? []
    const unclear = this.#allowed.find((name) => !/^[^.]+\.[^.]+$/.test(name))
    if (unclear !== undefined) {
      throw invalidOption(
        `allowFunctions of the database ${options.id} has "${unclear}": write schema.name, such as "public.${unclear || "name"}".`,
      )
    }
  }

  async tables({ signal }: AskOptions = {}): Promise<readonly TableRow[]> {
    const opened = await this.#open(signal)
    const timeout = Math.max(limitsOf(undefined, this.#options.limits).timeout, SCHEMA_TIMEOUT)
    return this.#use(opened, timeout, signal, async ({ client, cancel }) => {
      const timer = setTimeout(cancel, timeout + PATIENCE)
      try {
        await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeout}`)
        const { rows } = await client.query<TableRow>(READABLE_TABLES, [this.#options.schemas ?? null])
        return rows
      } finally {
        clearTimeout(timer)
      }
    })
  }

  async query(sql: string, query?: QueryOptions): Promise<QueryResult> {
    const limits = limitsOf(query, this.#options.limits)
    const opened = await this.#open(query?.signal)
    const tokens = checkSelect(sql, {
      beginnings: ["select", "with", "values", "table"],
      whyRefused: (name) => whyRefusedInPostgres(name, this.#allowed),
    })
    const references = referencesOf(opened.parse(sql, tokens))
    return this.#use(opened, limits.timeout, query?.signal, (line) =>
      runReadOnly(line, sql, limits, (client) =>
        checkFunctions(client, references, this.#options.id, this.#allowed),
      ),
    )
  }

  /** Running queries finish; queries that wait for a connection are refused. */
  close(): Promise<void> {
    const end = async () => (await this.#opened.current())?.pool.end()
    this.#closing ??= end()
    return this.#closing
  }

  async #open(signal: AbortSignal | undefined): Promise<Opened> {
    if (this.#closing !== undefined) throw closed(`database ${this.#options.id}`)
    return untilAborted(this.#opened.get(), signal)
  }

  async #connect(): Promise<Opened> {
    const { id, connections = 4 } = this.#options
    const { default: pg } = await optionalPackage<{ default: Pg }>("pg", "A PostgreSQL database")
    const parse = await loadSqlParser()
    const config = { ...configOf(this.#options), connectionTimeoutMillis: this.#connectTimeout }
    const address = addressOf(pg, id, config)
    const pool = new pg.Pool({ ...config, max: connections, allowExitOnIdle: true })
    // The pool replaces an idle connection that breaks.
    pool.on("error", () => undefined)
    try {
      const client = await pool.connect().catch((error) => {
        throw unreachable(id, address, error)
      })
      await this.#checkRole(client, address)
      return { pg, pool, config, address, parse }
    } catch (error) {
      await pool.end()
      throw error
    }
  }

  async #checkRole(client: PoolClient, address: Address): Promise<void> {
    const { id, allowUnsafeRole } = this.#options
    const letGo = held(client)
    const timer = setTimeout(() => destroySocket(client), this.#connectTimeout)
    try {
      await requireExtendedProtocol(client)
      const { rows } = await client.query<RoleFaults>(ROLE_FAULTS)
      const role = rows[0] as RoleFaults
      if (role.faults.length > 0 && allowUnsafeRole !== true) throw unsafeRole(id, role)
    } catch (error) {
      throw isConnectionLost(error) ? unreachable(id, address, error) : error
    } finally {
      clearTimeout(timer)
      letGo(true)
    }
  }

  /** The pool would count waiting for another query as connecting, so the waiting is done here. */
  #use<T>(opened: Opened, timeout: number, signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    return this.#turns.take(signal, () => this.#useClient(opened, timeout, signal, work))
  }

  async #useClient<T>(
    opened: Opened,
    timeout: number,
    signal: AbortSignal | undefined,
    work: Work<T>,
  ): Promise<T> {
    const client = await this.#client(opened, signal)
    const letGo = held(client)
    let isUsable = true
    const line: Line = {
      client,
      cancel() {
        // The cancellation may arrive late, and would hit the connection's next query.
        isUsable = false
        void cancel(opened, client)
      },
      newQuery: (query) => new opened.pg.Query(query) as never,
    }
    signal?.addEventListener("abort", line.cancel, { once: true })
    try {
      signal?.throwIfAborted()
      return await work(line)
    } catch (error) {
      signal?.throwIfAborted()
      if (isConnectionLost(error)) throw unreachable(this.#options.id, opened.address, error)
      throw queryError(error, timeout)
    } finally {
      signal?.removeEventListener("abort", line.cancel)
      const timer = setTimeout(() => destroySocket(client), 2 * PATIENCE)
      // Without a reset, the connection is in an unknown state.
      await cleanUp(client).catch(() => {
        isUsable = false
      })
      clearTimeout(timer)
      letGo(isUsable)
    }
  }

  async #client({ pool, address }: Opened, signal: AbortSignal | undefined): Promise<PoolClient> {
    const waited = pool.connect()
    try {
      return await untilAborted(waited, signal)
    } catch (error) {
      // The connection may still arrive.
      waited.then((client) => client.release()).catch(() => undefined)
      signal?.throwIfAborted()
      if (this.#closing !== undefined) throw closed(`database ${this.#options.id}`)
      throw unreachable(this.#options.id, address, error)
    }
  }
}

/** An older driver, or a proxy, could run several statements where one is sent. */
async function requireExtendedProtocol(client: PoolClient): Promise<void> {
  const both = client.query({ text: "SELECT 1; SELECT 2", queryMode: "extended" } as QueryConfig)
  if (await both.then(Boolean, () => false)) {
    throw fatal(
      "PACKAGE_MISSING",
      "This version of pg allows several statements per query: npm install pg@8.12 or later.",
    )
  }
}

/** Without a listener, a connection that breaks would crash the process. The running query fails anyway. */
function held(client: PoolClient): (isUsable: boolean) => void {
  const onError = () => undefined
  client.on("error", onError)
  return (isUsable) => {
    client.off("error", onError)
    client.release(!isUsable)
  }
}

/** Not part of the driver's public types. */
interface Inside {
  readonly processID: number
  readonly connection: { readonly stream: { destroy(): void } }
}

function destroySocket(client: PoolClient): void {
  const { connection } = client as unknown as Inside
  connection.stream.destroy()
}

const MAX_CANCELS = 3

/**
 * Asks the server to cancel a query, over a separate connection. If that takes too long, disconnects, so that the caller
 * does not wait, and asks again: a server notices a closed connection only at the end of a query.
 */
async function cancel(opened: Opened, client: PoolClient): Promise<void> {
  const { processID } = client as unknown as Inside
  for (let tries = 0; tries < MAX_CANCELS; tries++) {
    if (await cancelBackend(opened, processID, PATIENCE * 2 ** tries)) {
      setTimeout(() => destroySocket(client), PATIENCE).unref()
      return
    }
    destroySocket(client)
  }
}

async function cancelBackend({ pg, config }: Opened, processID: number, timeout: number): Promise<boolean> {
  const other = new pg.Client({ ...config, connectionTimeoutMillis: timeout, query_timeout: timeout })
  other.on("error", () => undefined)
  try {
    await other.connect()
    await other.query("SELECT pg_cancel_backend($1)", [processID])
    return true
  } catch {
    return false
  } finally {
    await other.end().catch(() => undefined)
  }
}

/** The address that the driver would connect to. */
function addressOf(pg: Pg, id: string, config: ClientConfig): Address {
  try {
    const { host, port, database } = new pg.Client(config)
    return { host, port, database }
  } catch (error) {
    // A certificate file does not exist. The error is not the cause, because it could contain the URL with its password.
    throw invalidOption(`The connection of the database ${id} is invalid: ${(error as Error).message}`)
  }
}

/** The database and the role, because what a role may read differs. */
function identityOf({ connectionString, connection = {}, schemas }: PostgresOptions): string {
  const { password: _, ...parts } = connection
  if (connectionString === undefined || !URL.canParse(connectionString))
    return JSON.stringify([parts, schemas])
  const { username, host, pathname } = new URL(connectionString)
  return JSON.stringify([username, host, pathname, schemas])
}

function configOf({ id, connectionString, connection }: PostgresOptions): ClientConfig {
  if (connectionString === undefined)
    return { ...(connection as ClientConfig), application_name: "superstep" }
  // The driver's own error would contain the URL with its password.
  if (!/^postgres(?:ql)?:\/\//.test(connectionString) || !URL.canParse(connectionString)) {
    throw invalidOption(
      `The connection string of the database ${id} is not valid: use postgres://role:password@host:port/database.`,
    )
  }
  return { connectionString, application_name: "superstep" }
}
