/** Stores for tests, each in a schema of its own on the server that all test files share. */
import pg from "pg"
import { inject, onTestFinished } from "vitest"
import { type PostgresStoreOptions, postgresStore } from "./open-store.ts"
import type { PostgresStore } from "./postgres-store.ts"

export const url: string = inject("postgres")

/** Of this test file: for what tests look at by themselves, and for stores that share it. */
export const pool = new pg.Pool({ connectionString: url, max: 10, allowExitOnIdle: true })

/** A name that no other test has. */
export function newSchema(): string {
  return `test_${process.pid}_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`
}

export async function sql<Row>(text: string, values?: unknown[]): Promise<Row[]> {
  const result: unknown = await pool.query(text, values)
  return ((Array.isArray(result) ? result.at(-1) : result) as { rows: Row[] }).rows
}

/** A store in an empty schema; both are gone when the test is over. */
export function freshStore(options: Partial<PostgresStoreOptions> = {}): PostgresStore & { schema: string } {
  const { schema = newSchema() } = options
  const store = postgresStore({ ...(options.pool === undefined && { url }), ...options, schema })
  onTestFinished(async () => {
    await store.close()
    await sql(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
  })
  return Object.assign(store, { schema })
}

/** Empties a schema: faster than making another one. */
const EMPTY = `DO $$
DECLARE one record;
BEGIN
  FOR one IN SELECT oid::regclass AS name FROM pg_class
    WHERE relnamespace = 'SCHEMA'::regnamespace AND relkind = 'r' AND relname NOT IN ('meta', 'registry')
  LOOP EXECUTE 'DELETE FROM ' || one.name; END LOOP;
END $$`

/** For suites of hundreds of cases: schemas that are used again. */
export class Schemas {
  readonly #free: string[] = []
  readonly #all = new Set<string>()

  take(): string {
    const schema = this.#free.pop() ?? newSchema()
    this.#all.add(schema)
    return schema
  }

  async giveBack(schema: string): Promise<void> {
    await sql(EMPTY.replace("SCHEMA", schema))
    this.#free.push(schema)
  }

  async drop(): Promise<void> {
    for (const schema of this.#all) await sql(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
  }
}
