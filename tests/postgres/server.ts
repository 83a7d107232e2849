/** Starts the PostgreSQL server that test files share. Each file has its own schemas. */
import type { TestProject } from "vitest/node"
import { startPostgres } from "./start-postgres.ts"

export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres({ settings: { max_connections: "400" } })
  provide("postgres", server.url())
  if (process.env.EMBEDDED_POSTGRES !== undefined) {
    const [found] = await server.run("SHOW server_version")
    console.log(`The tests run on PostgreSQL ${found?.server_version}.`)
  }
  return () => server.stop()
}
