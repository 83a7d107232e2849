/** Opens a store: checks its options, and connects with the first call. */
import { codecOf, type EncryptionKey, type KeyRing } from "@superstep/engine/stores"
import { nearest } from "@superstep/engine/text"
import pg from "pg"
import {
  type ConnectionConfig,
  checkTls,
  connectionConfig,
  shownAddress,
  type TlsOptions,
} from "./address.ts"
import { Database, type PostgresPool } from "./database.ts"
import { optionInvalid } from "./errors.ts"
import { migrate } from "./migrations.ts"
import { type PostgresStore, storeOn } from "./postgres-store.ts"
import { Signals } from "./signals.ts"

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:5432/database`. What is left out comes from PGHOST, PGUSER, PGPASSWORD and so on. */
  readonly url?: string | undefined
  /** A pool of `pg` instead, which stays yours: the store does not end it. */
  readonly pool?: PostgresPool | undefined
  /** The schema of the tables; created when it is missing. Default: `superstep`. */
  readonly schema?: string | undefined
  /** TLS, whatever the URL says about it: true for a server with a certificate that Node trusts. */
  readonly tls?: boolean | TlsOptions | undefined
  /** Connections at the same time. Default: 10. */
  readonly connections?: number | undefined
  /** False: no prepared statements, for a pooler in transaction mode that does not support them. Default: true. */
  readonly prepare?: boolean | undefined
  /** Where the one connection that listens goes: past a pooler in transaction mode. Default: `url`. */
  readonly listenUrl?: string | undefined
  /** Encrypts what runs contain: `[{ id, key }]`, of which the first writes and all read, or what `loadKeys` returns. */
  readonly keys?: KeyRing | readonly EncryptionKey[] | undefined
  /** Milliseconds for which a call is retried while the server is away. Default: 60,000. */
  readonly retryTimeout?: number | undefined
  /** Called with what the operator should know. Default: `process.emitWarning`. */
  readonly onNotice?: ((notice: PostgresNotice) => void) | undefined
}

export interface PostgresNotice {
  /** The server is away, and calls wait for it. */
  readonly code: "STORE_AWAY"
  /** One line. */
  readonly message: string
}

const OPTIONS: { readonly [Name in keyof Required<PostgresStoreOptions>]: true } = {
  url: true,
  pool: true,
  schema: true,
  tls: true,
  connections: true,
  prepare: true,
  listenUrl: true,
  keys: true,
  retryTimeout: true,
  onNotice: true,
}

const CONNECT_TIMEOUT = 10_000

export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  const { pool, config, ownsPool } = connectionsOf(checked(options))
  const { schema = "superstep", prepare = true, retryTimeout = 60_000, onNotice = emitWarning } = options
  const shown = shownAddress(config)
  const codec = codecOf(options.keys)
  const database = new Database({
    pool,
    ownsPool,
    schema,
    shown,
    prepare,
    codec,
    retryTimeout,
    onAway: () =>
      onNotice({
        code: "STORE_AWAY",
        message: `Waiting: PostgreSQL at ${shown} cannot be reached. Trying again.`,
      }),
    migrate: (connections) => migrate(connections, { schema, shown }, codec),
  })
  const listening =
    options.listenUrl === undefined ? config : connectionConfig("listenUrl", options.listenUrl, options.tls)
  return storeOn(database, new Signals(database, listening), isCopyable(config) ? config : undefined)
}

/** Throws OPTION_INVALID. */
function checked(options: PostgresStoreOptions): PostgresStoreOptions {
  if (typeof options !== "object" || options === null) {
    throw optionInvalid(`the options are an object such as { url: "postgres://…" }`)
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTIONS, name))
  if (unknown !== undefined) throw optionInvalid(unknownOption(unknown))
  const { url, pool, schema, tls, connections, prepare, retryTimeout } = options
  if ((url === undefined) === (pool === undefined)) throw optionInvalid("give either url or pool")
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw optionInvalid(
      `schema is a name of lower-case letters, digits and underscores, not ${JSON.stringify(schema)}`,
    )
  }
  checkTls(tls)
  if (pool !== undefined && tls !== undefined) throw optionInvalid("tls is set on the pool if you pass one")
  if (connections !== undefined && !(Number.isInteger(connections) && connections >= 2)) {
    throw optionInvalid(`connections is a number from 2 on, not ${connections}`)
  }
  if (prepare !== undefined && typeof prepare !== "boolean") {
    throw optionInvalid(`prepare is true or false, not ${JSON.stringify(prepare)}`)
  }
  if (retryTimeout !== undefined && !(retryTimeout >= 0)) {
    throw optionInvalid(`retryTimeout is a number of milliseconds, not ${retryTimeout}`)
  }
  return options
}

interface Connections {
  readonly pool: PostgresPool
  readonly config: ConnectionConfig
  readonly ownsPool: boolean
}

function connectionsOf({ url, pool, tls, connections = 10 }: PostgresStoreOptions): Connections {
  if (pool !== undefined) {
    const { connectionString, host, port, user, password, database, ssl } =
      (pool as { options?: ConnectionConfig }).options ?? {}
    const config = { connectionString, host, port, user, password, database, ssl }
    const present = Object.entries(config).filter(([, value]) => value !== undefined)
    return { pool, config: Object.fromEntries(present), ownsPool: false }
  }
  const config = connectionConfig("url", url, tls)
  const own = new pg.Pool({
    ...config,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    // A script ends when it has nothing more to do, with or without a call of close().
    allowExitOnIdle: true,
    keepAlive: true,
    application_name: "superstep",
  } as pg.PoolConfig)
  return { pool: own as PostgresPool, config, ownsPool: true }
}

/** Whether a thread can have it: a pool may have its password from a function. */
function isCopyable(config: ConnectionConfig): boolean {
  try {
    structuredClone(config)
    return true
  } catch {
    return false
  }
}

function unknownOption(name: string): string {
  const names = Object.keys(OPTIONS)
  const meant = nearest(name, names)
  const hint = meant === undefined ? `the options are ${names.join(", ")}` : `did you mean "${meant}"?`
  return `unknown option "${name}"; ${hint}`
}

function emitWarning({ code, message }: PostgresNotice): void {
  process.emitWarning(message, { type: "SuperstepWarning", code })
}
