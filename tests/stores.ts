/**
 * What tests with processes run on: the path of a SQLite file, or the address of a PostgreSQL server with a schema as its fragment.
 * After the schema, the fragment may name a Restate cluster that brings the runs to workers: `#schema?ingress=…&service=…&front=…`.
 */
import { postgresStore } from "@superstep/store-postgres"
import { sqliteStore } from "@superstep/store-sqlite"

export function openStore(
  address: string,
): ReturnType<typeof sqliteStore> | ReturnType<typeof postgresStore> {
  if (!address.startsWith("postgres:")) return sqliteStore({ path: address })
  const url = new URL(address)
  const [schema = ""] = url.hash.slice(1).split("?")
  url.hash = ""
  return postgresStore({ url: url.href, schema, connections: 4 })
}

export interface ClusterAddress {
  readonly ingress: string
  readonly service: string
  /** The port at which workers join the deployment: see tests/restate/front.test-support.ts. */
  readonly front: number
}

export function clusterOf(address: string): ClusterAddress | undefined {
  const [, query] = address.split("#")[1]?.split("?") ?? []
  if (query === undefined) return undefined
  const values = new URLSearchParams(query)
  const { ingress = "", service = "", front = "" } = Object.fromEntries(values)
  return { ingress, service, front: Number(front) }
}

export function withCluster(address: string, { ingress, service, front }: ClusterAddress): string {
  return `${address}?${new URLSearchParams({ ingress, service, front: String(front) })}`
}
