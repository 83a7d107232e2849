/** The stores that tests with processes run on: the path of a SQLite file, or the address of a server with a schema as its fragment. */
import { postgresStore } from "@superstep/store-postgres"
import { sqliteStore } from "@superstep/store-sqlite"

export function openStore(
  address: string,
): ReturnType<typeof sqliteStore> | ReturnType<typeof postgresStore> {
  if (!address.startsWith("postgres:")) return sqliteStore({ path: address })
  const url = new URL(address)
  const schema = url.hash.slice(1)
  url.hash = ""
  return postgresStore({ url: url.href, schema, connections: 4 })
}
