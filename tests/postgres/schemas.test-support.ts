/** Schemas for stores that processes open by their address (`tests/stores.ts`). */
import { randomUUID } from "node:crypto"
import pg from "pg"
import { afterAll, inject } from "vitest"

const made = new Set<string>()
afterAll(async () => {
  const client = new pg.Client({ connectionString: inject("postgres") })
  await client.connect()
  for (const schema of made) await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
  await client.end()
})

/** The address of a store in a schema of its own, which is dropped with the test file. */
export function newAddress(): string {
  const schema = `test_${randomUUID().replaceAll("-", "").slice(0, 16)}`
  made.add(schema)
  return `${inject("postgres")}#${schema}`
}
