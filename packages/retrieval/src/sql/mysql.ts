/** A MySQL or MariaDB database that a model may query: as a user who can only read, within limits. */
import { SuperstepError } from "@superstep/engine"
import type { AskOptions, Database, QueryOptions, QueryResult } from "@superstep/engine/patterns"
import { untilAborted } from "@superstep/engine/tools"
import { digestOf } from "../cache-file.ts"
import { OpenOnce, Semaphore } from "../connections.ts"
import { invalidOption, messageOf, optionalPackage, wholeNumber } from "../errors.ts"
import {
  type Catalog,
  COLUMNS,
  type ColumnRow,
  type Connection,
  checkMysqlSelect,
  type Driver,
  faultsOf,
  KEYS,
  type KeyRow,
  readOnly,
  runSelect,
  TABLES,
  type TableRow,
  tablesOf,
  unsafeUser,
} from "./mysql-query.ts"
import { cachedProfile, type ProfileOptions, profileTables } from "./profile-tables.ts"
import { closed, failed, limitsOf, type QueryLimits, refused } from "./queries.ts"
import { SelectRefused } from "./strict-select.ts"

export interface MysqlOptions {
  readonly id: string
  /** The name for people. Default: the id. */
  readonly name?: string | undefined
  /** `mysql://user:password@host:port/database`. */
  readonly connectionString: string
  readonly limits?: QueryLimits | undefined
  /** Maximum concurrent connections. Default 4. */
  readonly connections?: number | undefined
  /** Milliseconds to get a connection. Default 10,000. */
  readonly connectTimeout?: number | undefined
  /** Allows a user who can write, or call stored functions. */
  readonly allowUnsafeRole?: boolean | undefined
  /** Options of `profile`. */
  readonly profile?: ProfileOptions | undefined
}

export function mysqlDatabase(options: MysqlOptions): Database {
  const { id, name = id } = options
  const address = addressOf(options)
  const sessions = new MysqlSessions(options, address)
  const query = (sql: string, asked?: QueryOptions) => sessions.query(sql, asked)
  const profile = cachedProfile({
    identity: JSON.stringify(["mysql", address.user, address.host, address.port, address.database]),
    options: options.profile,
    async fingerprint(signal) {
      const { tables, columns } = await sessions.catalog({ signal })
      const sizes = tables.map(
        ({ name: table, total }) => [table, [Number(total ?? 0), Number(total ?? 0)]] as const,
      )
      return { shape: digestOf(columns), parts: Object.fromEntries(sizes) }
    },
    look: async (limits) => profileTables(tablesOf(await sessions.catalog({})), query, limits),
  })
  return {
    id,
    name,
    kind: "mysql",
    schema: async (asked = {}) => tablesOf(await sessions.catalog(asked)),
    profile,
    query,
    close: () => sessions.close(),
  }
}

interface Address {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

function addressOf({ id, connectionString }: MysqlOptions): Address {
  const isMysql = /^(?:mysql|mariadb):\/\//.test(connectionString) && URL.canParse(connectionString)
  const { hostname, port, username, password, pathname } = isMysql
    ? new URL(connectionString)
    : ({} as Partial<URL>)
  const database = decodeURIComponent(pathname?.slice(1) ?? "")
  // The message does not contain the URL, which may have a password.
  if (!isMysql || database === "") {
    throw invalidOption(
      `The connection string of the database ${id} is not valid: use mysql://user:password@host:port/database.`,
    )
  }
  return {
    host: hostname?.replace(/^\[|\]$/g, "") || "localhost",
    port: port ? Number(port) : 3306,
    user: decodeURIComponent(username ?? ""),
    password: decodeURIComponent(password ?? ""),
    database,
  }
}

interface Opened {
  readonly driver: Driver
}

const SCHEMA_TIMEOUT = 30_000

class MysqlSessions {
  readonly #options: MysqlOptions
  readonly #address: Address
  readonly #turns: Semaphore
  readonly #connectTimeout: number
  readonly #opened = new OpenOnce(() => this.#checkedDriver())
  readonly #idle: Connection[] = []
  #isClosed = false

  constructor(options: MysqlOptions, address: Address) {
    this.#options = options
    this.#address = address
    this.#turns = new Semaphore(wholeNumber("connections", options.connections ?? 4))
    this.#connectTimeout = wholeNumber("connectTimeout", options.connectTimeout ?? 10_000)
  }

  catalog({ signal }: AskOptions): Promise<Catalog> {
    return this.#use(signal, async (connection) => ({
      tables: await readOnly<TableRow>(connection, TABLES, SCHEMA_TIMEOUT),
      columns: await readOnly<ColumnRow>(connection, COLUMNS, SCHEMA_TIMEOUT),
      keys: await readOnly<KeyRow>(connection, KEYS, SCHEMA_TIMEOUT),
    }))
  }

  async query(sql: string, asked?: QueryOptions): Promise<QueryResult> {
    const limits = limitsOf(asked, this.#options.limits)
    try {
      checkMysqlSelect(sql)
    } catch (error) {
      throw error instanceof SelectRefused ? refused(error.message) : error
    }
    return await this.#use(asked?.signal, (connection) => runSelect(connection, sql, limits))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }

  #use<T>(signal: AbortSignal | undefined, work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#turns.take(signal, async () => {
      if (this.#isClosed) throw closed(`database ${this.#options.id}`)
      const { driver } = await untilAborted(this.#opened.get(), signal)
      const connection = this.#idle.pop() ?? (await this.#connect(driver))
      // Destroying a connection ends its query, and the server rolls it back.
      const destroy = () => connection.destroy()
      signal?.addEventListener("abort", destroy, { once: true })
      let isUsable = false
      try {
        const result = await work(connection)
        // The rest of a truncated result is still being sent.
        isUsable = (result as Partial<QueryResult>).isTruncated !== true
        return result
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof SuperstepError) throw error
        if (isLost(error)) throw this.#unreachable(error)
        throw failed(`${messageOf(error).replace(/\.$/, "")}.`, error)
      } finally {
        signal?.removeEventListener("abort", destroy)
        // A failed connection is in an unknown state, and a new one is cheap.
        if (isUsable && !this.#isClosed) this.#idle.push(connection)
        else connection.destroy()
      }
    })
  }

  async #connect(driver: Driver): Promise<Connection> {
    try {
      const connection = await driver.createConnection({
        ...this.#address,
        charset: "utf8mb4",
        timezone: "Z",
        multipleStatements: false,
        connectTimeout: this.#connectTimeout,
        dateStrings: true,
        supportBigNumbers: true,
        bigNumberStrings: true,
        // Sends no local file to a server that requests one.
        flags: ["-LOCAL_FILES"],
        infileStreamFactory: () => {
          throw new Error("Files are not sent.")
        },
      })
      // Without a listener, an idle connection that breaks would crash the process.
      connection.on("error", () => {
        const at = this.#idle.indexOf(connection)
        if (at >= 0) this.#idle.splice(at, 1)
      })
      return connection
    } catch (error) {
      throw this.#unreachable(error)
    }
  }

  /** Checks the user's rights once. */
  async #checkedDriver(): Promise<Opened> {
    const driver = await optionalPackage<Driver>("mysql2/promise", "A MySQL database")
    const connection = await this.#connect(driver)
    try {
      const { id, allowUnsafeRole } = this.#options
      const grants = await grantsOf(connection)
      const faults = faultsOf(grants)
      if (faults.length > 0 && allowUnsafeRole !== true) {
        throw unsafeUser(id, this.#address.user, this.#address.database, faults)
      }
      return { driver }
    } finally {
      connection.destroy()
    }
  }

  #unreachable(error: unknown): SuperstepError {
    const { host, port, database } = this.#address
    const { code = "", errno } = error as { readonly code?: string; readonly errno?: number }
    const place = `${host}:${port}/${database}`
    // The server does not know the user or the password, or the user has no access to this database.
    const isKnown = errno === 1044 || errno === 1045
    const what = isKnown ? "rejected the user" : "is unreachable"
    const advice = isKnown
      ? "Check the user and the password."
      : "Check the address, and that the server is running and accepts connections from this machine."
    const reason = messageOf(error) === "" ? code : messageOf(error)
    const message = `The database ${this.#options.id} at ${place} ${what}: ${reason}. ${advice}`
    return new SuperstepError("DATABASE_UNREACHABLE", message, { cause: error, retryable: !isKnown })
  }
}

/** The rights of the user and of the active roles. A query cannot activate other roles. */
async function grantsOf(connection: Connection): Promise<string[]> {
  const lines = async (sql: string) => {
    const [rows] = await connection.query({ sql, rowsAsArray: true })
    return (rows as unknown as string[][]).map(([line]) => String(line))
  }
  const [active = ""] = await lines("SELECT CURRENT_ROLE()").catch(() => [""])
  const isMysqlRole = active.includes("@")
  return await lines(isMysqlRole ? `SHOW GRANTS FOR CURRENT_USER() USING ${active}` : "SHOW GRANTS")
}

function isLost(error: unknown): boolean {
  const { code, fatal } = error as { code?: unknown; fatal?: unknown }
  return fatal === true || /^(?:PROTOCOL_CONNECTION_LOST|ECONN|EPIPE|ETIMEDOUT)/.test(String(code ?? ""))
}
