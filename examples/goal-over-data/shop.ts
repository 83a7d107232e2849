/**
 * The company's shop in a real PostgreSQL, with a role that may only read. By itself it is up until Ctrl-C, where goal.yaml
 * looks for it.
 */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { startPostgres } from "./start-postgres.ts"

const PORT = 54_330

export interface Shop {
  /** The address for the role that reads. */
  readonly url: string
  stop(): Promise<void>
}

export async function startShop(options: { readonly port?: number } = {}): Promise<Shop> {
  const server = await startPostgres(options)
  await server.run("CREATE DATABASE shop")
  await server.run(await readFile(join(import.meta.dirname, "shop.sql"), "utf8"), "shop")
  await server.run(
    `CREATE ROLE reader LOGIN PASSWORD 'reader';
     GRANT CONNECT ON DATABASE shop TO reader;
     GRANT USAGE ON SCHEMA public TO reader;
     GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`,
    "shop",
  )
  return { url: server.url("reader", "reader", "shop"), stop: () => server.stop() }
}

if (import.meta.filename === process.argv[1]) {
  const { url } = await startShop({ port: PORT })
  console.log(`PostgreSQL is up: ${url}. Ctrl-C ends it.`)
}
