/** Starts the PostgreSQL server that test files share; each of them has schemas of its own in it. */
import type { TestProject } from "vitest/node"
import { startPostgres } from "../../examples/goal-over-data/start-postgres.ts"

export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres({ settings: { max_connections: "400" } })
  provide("postgres", server.url())
  return () => server.stop()
}
