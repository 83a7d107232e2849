/**
 * Brings a schema up to date when it is opened, in one transaction under an advisory lock, so that any number of processes
 * may start at once. A schema that a later version of this package has migrated is left as it is. Migrations that are
 * released never change. Functions belong to the package, and are created again with each migration; one that changes gets
 * the number of the version that it changes with, so that a process of a version before notices.
 */
import { createHash } from "node:crypto"
import type { SuperstepError } from "@superstep/engine"
import { checkKeys, type KeyCheck, type ValueCodec } from "@superstep/engine/stores"
import { APPEND_FUNCTION } from "./append-function.ts"
import { inSchema, type PostgresClient, type PostgresPool } from "./database.ts"
import { asError, type DatabaseTarget, setUpProblem, unusable } from "./errors.ts"
import { LEASE_FUNCTIONS } from "./leases.ts"
import { QUEUE_FUNCTIONS } from "./queue-functions.ts"
import { RECORDS_TABLE } from "./records.ts"
import { REGISTRY_FUNCTIONS } from "./registry.ts"
import { RETENTION_FUNCTIONS } from "./retention.ts"
import { SCHEDULE_FUNCTIONS, SCHEDULE_TABLES } from "./schedules.ts"
import { SLOT_FUNCTIONS, SLOT_TABLES } from "./slots.ts"
import { SUBSCRIPTION_FUNCTIONS, SUBSCRIPTION_TABLES } from "./subscriptions.ts"
import { TABLES } from "./tables.ts"

/** A value of each key that values were sealed with, to recognise the key. */
const KEY_TABLE = `CREATE TABLE $.keys (id text COLLATE "C" PRIMARY KEY, "check" text NOT NULL);`

/** The statements at N take the tables of version N to version N + 1. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE $.meta (version int NOT NULL);
   INSERT INTO $.meta (version) VALUES (0);
   ${TABLES}`,
  `${SUBSCRIPTION_TABLES}
   CREATE INDEX runs_created ON $.runs (created_at, id);`,
  KEY_TABLE,
  SLOT_TABLES,
  SCHEDULE_TABLES,
  RECORDS_TABLE,
  // Claims have functions of their own for what is planned once.
  "",
  // Claims leave runs of given graphs to other processes.
  "",
  // Plain appends to many runs have a function.
  "",
  // Rates count by the server's clock.
  "",
]

/** The first version that may have encrypted values. */
const HAS_KEYS = MIGRATIONS.indexOf(KEY_TABLE) + 1

const FUNCTIONS = [
  APPEND_FUNCTION,
  LEASE_FUNCTIONS,
  QUEUE_FUNCTIONS,
  RETENTION_FUNCTIONS,
  REGISTRY_FUNCTIONS,
  SUBSCRIPTION_FUNCTIONS,
  SLOT_FUNCTIONS,
  SCHEDULE_FUNCTIONS,
].join("")

/** The functions of the version before, each as a statement that drops it. */
const OLD_FUNCTIONS = `SELECT format('DROP FUNCTION %s', oid::regprocedure) AS statement FROM pg_proc
  WHERE pronamespace = to_regnamespace($1)`

const SCHEMA_VERSION = MIGRATIONS.length

/** PostgreSQL 14: the oldest that is still maintained when this was written. */
const OLDEST_SERVER = 140_000

export async function migrate(pool: PostgresPool, target: DatabaseTarget, codec: ValueCodec): Promise<void> {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    const version = await versionOf(client, target)
    if (version >= HAS_KEYS) checkKeys(codec, await keysOf(client, target))
    if (version !== SCHEMA_VERSION) await migrateLocked(client, target)
    await addKey(client, target, codec)
  } catch (error) {
    failure = asError(error)
    throw setUpProblem(error, target) ?? error
  } finally {
    client.release(failure)
  }
}

async function migrateLocked(client: PostgresClient, target: DatabaseTarget): Promise<void> {
  const schema = `"${target.schema}"`
  await client.query({ text: "BEGIN" })
  try {
    // A process that is stopped in here keeps others waiting for so long at most.
    await client.query({ text: "SET LOCAL idle_in_transaction_session_timeout = '60s'" })
    await client.query({ text: "SELECT pg_advisory_xact_lock($1)", values: [lockOf(target.schema)] })
    const version = await versionOf(client, target)
    // Another process has migrated it since, and may be calling the functions: they stay.
    if (version === SCHEMA_VERSION) {
      await client.query({ text: "ROLLBACK" })
      return
    }
    // Not IF NOT EXISTS alone: that needs the right to create schemas even where this one is there.
    if (version === 0 && !(await exists(client, target.schema))) {
      await client.query({ text: `CREATE SCHEMA ${schema}` })
    }
    for (const statements of MIGRATIONS.slice(version)) {
      await client.query({ text: inSchema(statements, `${schema}.`) })
    }
    const old = (await client.query({ text: OLD_FUNCTIONS, values: [schema] })).rows as {
      statement: string
    }[]
    for (const { statement } of old) await client.query({ text: statement })
    await client.query({ text: inSchema(FUNCTIONS, `${schema}.`) })
    await client.query({ text: `UPDATE ${schema}.meta SET version = ${SCHEMA_VERSION}` })
    await client.query({ text: "COMMIT" })
  } catch (error) {
    await client.query({ text: "ROLLBACK" }).catch(() => undefined)
    throw error
  }
}

/** Keeps the check of a key that writes for the first time. The key of another process with the same id may be another. */
async function addKey(client: PostgresClient, target: DatabaseTarget, codec: ValueCodec): Promise<void> {
  const added = checkKeys(codec, await keysOf(client, target))
  if (added === undefined) return
  const text = `INSERT INTO "${target.schema}".keys (id, "check") VALUES ($1, $2) ON CONFLICT DO NOTHING`
  await client.query({ text, values: [added.id, added.check] })
  checkKeys(codec, await keysOf(client, target))
}

async function keysOf(client: PostgresClient, { schema }: DatabaseTarget): Promise<KeyCheck[]> {
  const text = `SELECT id, "check" FROM "${schema}".keys ORDER BY id`
  return (await client.query({ text })).rows as KeyCheck[]
}

/** 0 for a schema that is not there, or empty. Throws for one of a later version, or of another program. */
async function versionOf(client: PostgresClient, target: DatabaseTarget): Promise<number> {
  const [found] = (
    await client.query({
      text: `SELECT current_setting('server_version_num')::int AS server, current_setting('server_encoding') AS encoding,
        current_setting('default_transaction_isolation') AS isolation,
        to_regclass($1) IS NOT NULL AS is_ours,
        EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace($2) AND relkind IN ('r', 'p')) AS has_tables`,
      values: [`"${target.schema}".live`, `"${target.schema}"`],
    })
  ).rows as [ServerSettings & { is_ours: boolean; has_tables: boolean }]
  checkServer(found, target)
  if (!found.is_ours) {
    if (!found.has_tables) return 0
    throw unusable(
      `Schema "${target.schema}" at ${target.shown} has the tables of another program: choose another name with the option schema`,
    )
  }
  const [meta] = (await client.query({ text: `SELECT version FROM "${target.schema}".meta` })).rows as {
    version: number
  }[]
  const version = meta?.version ?? 0
  if (version > SCHEMA_VERSION) throw tooNew(target, version)
  return version
}

interface ServerSettings {
  readonly server: number
  readonly encoding: string
  readonly isolation: string
}

function checkServer({ server, encoding, isolation }: ServerSettings, { shown }: DatabaseTarget): void {
  if (server < OLDEST_SERVER) {
    throw unusable(
      `PostgreSQL at ${shown} is version ${Math.floor(server / 10_000)}, and Superstep needs 14 or later: update the server`,
    )
  }
  if (encoding !== "UTF8") {
    throw unusable(
      `The database at ${shown} is encoded in ${encoding}, and Superstep needs UTF8: create one with ENCODING 'UTF8'`,
    )
  }
  // Functions look again at what they waited for. No connection is changed: a pooler may lend it to others.
  if (isolation !== "read committed") {
    throw unusable(
      `Transactions at ${shown} are ${isolation} by default, and Superstep needs read committed: ALTER ROLE … SET default_transaction_isolation = 'read committed' for the user of the URL`,
    )
  }
}

function tooNew({ schema, shown }: DatabaseTarget, version: number): SuperstepError {
  return unusable(
    `Schema "${schema}" at ${shown} is of version ${version}, and this @superstep/store-postgres knows versions up to ${SCHEMA_VERSION}: update the package`,
  )
}

async function exists(client: PostgresClient, schema: string): Promise<boolean> {
  const text = "SELECT 1 FROM pg_namespace WHERE nspname = $1"
  return (await client.query({ text, values: [schema] })).rows.length > 0
}

/** A number of its own for each schema; locks are of one database. */
function lockOf(schema: string): string {
  return createHash("sha256").update(`superstep ${schema}`).digest().readBigInt64BE(0).toString()
}
