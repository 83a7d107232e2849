/** A PostgreSQL database that a model may ask: as a role that can only read, within limits. */
import { SuperstepError } from "@superstep/engine"
import type { AskOptions, Database, QueryOptions, QueryResult, Table } from "@superstep/engine/patterns"
import { untilAborted } from "@superstep/engine/tools"
import type { ClientConfig, Pool, PoolClient, QueryConfig } from "pg"
import { optionalPackage } from "../optional-package.ts"
import { type Address, isConnectionLost, queryError, unreachable } from "./postgres-errors.ts"
import { checkFunctions, whyRefusedInPostgres } from "./postgres-functions.ts"
import { loadSqlParser, type SqlParser } from "./postgres-parse.ts"
import { cleanUp, type Line, runReadOnly } from "./postgres-query.ts"
import { referencesOf } from "./postgres-references.ts"
import { ROLE_FAULTS, type RoleFaults, unsafeRole } from "./postgres-role.ts"
import { READABLE_TABLES, type TableRow, tableOf } from "./postgres-schema.ts"
import { limitsOf, type QueryLimits, wholeNumber } from "./query-limits.ts"
import { checkSelect } from "./select-guard.ts"
import { Turns } from "./turns.ts"

export interface PostgresOptions {
  readonly id: string
  /** What people call it. Default: the id. */
  readonly name?: string | undefined
  /** `postgres://role:password@host:port/database`. */
  readonly connectionString?: string | undefined
  /** The parts instead of a connection string; what is left out comes from PGHOST, PGUSER and so on. */
  readonly connection?: PostgresConnection | undefined
  /** Schemas whose tables are told. Default: all that the role may read. */
  readonly schemas?: readonly string[] | undefined
  readonly limits?: QueryLimits | undefined
  /** Connections at the same time. Default 4. */
  readonly connections?: number | undefined
  /** Milliseconds to get a connection in. Default 10,000. */
  readonly connectTimeout?: number | undefined
  /** Ask even as a role that can write, read files or run programs on the server. */
  readonly allowUnsafeRole?: boolean | undefined
  /**
   * Functions that queries may call although they are neither PostgreSQL's own nor harmless ones of an extension, as
   * `schema.name`: all overloads of that name. They run with whatever effects they have.
   */
  readonly allowFunctions?: readonly string[] | undefined
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
  return {
    id,
    name,
    kind: "postgresql",
    schema: (ask) => asked.schema(ask),
    query: (sql, query) => asked.query(sql, query),
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

/** What a query, or an answer to ours, gets to end by itself. */
const PATIENCE = 2_000
/** A schema of thousands of tables may take longer than a query may. */
const SCHEMA_TIMEOUT = 30_000

class PostgresSessions {
  readonly #options: PostgresOptions
  readonly #turns: Turns
  readonly #connectTimeout: number
  readonly #allowed: readonly string[]
  #opened: Promise<Opened> | undefined
  #closing: Promise<void> | undefined

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#turns = new Turns(wholeNumber("connections", options.connections ?? 4))
    this.#connectTimeout = wholeNumber("connectTimeout", options.connectTimeout ?? 10_000)
    this.#allowed = options.allowFunctions ?? []
    const unclear = this.#allowed.find((name) => !/^[^.]+\.[^.]+$/.test(name))
    if (unclear !== undefined) {
      const message = `allowFunctions of the database ${options.id} has "${unclear}": write schema.name, such as "public.${unclear || "name"}".`
      throw new SuperstepError("OPTION_INVALID", message, { retryable: false })
    }
  }

  async schema({ signal }: AskOptions = {}): Promise<readonly Table[]> {
    const opened = await this.#open(signal)
    const timeout = Math.max(limitsOf(undefined, this.#options.limits).timeout, SCHEMA_TIMEOUT)
    return this.#use(opened, timeout, signal, async ({ client, cancel }) => {
      const timer = setTimeout(cancel, timeout + PATIENCE)
      try {
        await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeout}`)
        const { rows } = await client.query<TableRow>(READABLE_TABLES, [this.#options.schemas ?? null])
        return rows.map(tableOf)
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

  /** Queries that run come to their end; those that wait for a connection get none. */
  close(): Promise<void> {
    const end = async () => (await this.#opened?.catch(() => undefined))?.pool.end()
    this.#closing ??= end()
    return this.#closing
  }

  #closed(): SuperstepError {
    const message = `The database ${this.#options.id} is closed.`
    return new SuperstepError("DATABASE_CLOSED", message, { retryable: false })
  }

  /** Connects and looks at the role once; a failure is tried again by the next caller. */
  async #open(signal: AbortSignal | undefined): Promise<Opened> {
    if (this.#closing !== undefined) throw this.#closed()
    this.#opened ??= this.#connect()
    const opened = this.#opened
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined
    })
    return untilAborted(opened, signal)
  }

  async #connect(): Promise<Opened> {
    const { id, connections = 4 } = this.#options
    const module = await optionalPackage("pg", "A PostgreSQL database", () => import("pg"))
    const pg = module.default as unknown as Pg
    const parse = await loadSqlParser()
    const config = { ...configOf(this.#options), connectionTimeoutMillis: this.#connectTimeout }
    const address = addressOf(pg, id, config)
    const pool = new pg.Pool({ ...config, max: connections, allowExitOnIdle: true })
    // A connection that breaks while nobody uses it is replaced by the pool.
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
    const timer = setTimeout(() => hangUp(client), this.#connectTimeout)
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

  /** The pool counts waiting for another's query as part of connecting; so waiting is ours. */
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
        // It may come late, and would hit what the connection does next.
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
      const timer = setTimeout(() => hangUp(client), 2 * PATIENCE)
      // Without that the connection is in no known state.
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
      // It may still come.
      waited.then((client) => client.release()).catch(() => undefined)
      signal?.throwIfAborted()
      if (this.#closing !== undefined) throw this.#closed()
      throw unreachable(this.#options.id, address, error)
    }
  }
}

/** An older driver, or something between us and the server, could run several statements where we send one. */
async function requireExtendedProtocol(client: PoolClient): Promise<void> {
  const both = client.query({ text: "SELECT 1; SELECT 2", queryMode: "extended" } as QueryConfig)
  if (await both.then(Boolean, () => false)) {
    const message =
      "The package pg does not keep to one statement a query: npm install pg@8.12 or a later one."
    throw new SuperstepError("PACKAGE_MISSING", message, { retryable: false })
  }
}

/** Without a listener a connection that breaks would end the process; the query under way is told anyway. */
function held(client: PoolClient): (isUsable: boolean) => void {
  const onError = () => undefined
  client.on("error", onError)
  return (isUsable) => {
    client.off("error", onError)
    client.release(!isUsable)
  }
}

/** Neither is part of the driver's typed surface. */
interface Inside {
  readonly processID: number
  readonly connection: { readonly stream: { destroy(): void } }
}

function hangUp(client: PoolClient): void {
  const { connection } = client as unknown as Inside
  connection.stream.destroy()
}

/** Asks the server to end a query, over a connection of its own; if that does not work, hangs up. */
async function cancel({ pg, config }: Opened, client: PoolClient): Promise<void> {
  const { processID } = client as unknown as Inside
  const other = new pg.Client({ ...config, connectionTimeoutMillis: PATIENCE, query_timeout: PATIENCE })
  other.on("error", () => undefined)
  try {
    await other.connect()
    await other.query("SELECT pg_cancel_backend($1)", [processID])
    setTimeout(() => hangUp(client), PATIENCE).unref()
  } catch {
    hangUp(client)
  } finally {
    await other.end().catch(() => undefined)
  }
}

/** Where the driver would connect to. */
function addressOf(pg: Pg, id: string, config: ClientConfig): Address {
  try {
    const { host, port, database } = new pg.Client(config)
    return { host, port, database }
  } catch (error) {
    // A file of a certificate that is not there. Not as the cause: it could show the address with its password.
    const message = `The connection of the database ${id} cannot be used: ${(error as Error).message}`
    throw new SuperstepError("OPTION_INVALID", message, { retryable: false })
  }
}

function configOf({ id, connectionString, connection }: PostgresOptions): ClientConfig {
  if (connectionString === undefined)
    return { ...(connection as ClientConfig), application_name: "superstep" }
  // The driver's own error would show the address with its password.
  if (!/^postgres(?:ql)?:\/\//.test(connectionString) || !URL.canParse(connectionString)) {
    const message = `The connection string of the database ${id} is none: postgres://role:password@host:port/database.`
    throw new SuperstepError("OPTION_INVALID", message, { retryable: false })
  }
  return { connectionString, application_name: "superstep" }
}
