import { execFileSync, spawnSync } from "node:child_process"
import pg from "pg"
import { inject } from "vitest"
import { restoreTest } from "../deployment/restore-suite.ts"
import { openStore } from "../stores.ts"
import { newAddress } from "./schemas.test-support.ts"

const url: string = inject("postgres")

async function sql<Row>(text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const results: unknown = await client.query(text)
    return (Array.isArray(results) ? results.at(-1) : results).rows
  } finally {
    await client.end()
  }
}

const schemaOf = (address: string) => new URL(address).hash.slice(1)

/** The rows of all tables at one moment, in a schema that the store has made: as a dump of the data does it. */
async function copyRows(address: string): Promise<string> {
  const copy = newAddress()
  const store = openStore(copy)
  await store.report()
  await store.close()
  const [from, to] = [schemaOf(address), schemaOf(copy)]
  const tables = await sql<{ name: string; identity: string | null }>(
    `SELECT c.relname AS name, a.attname AS identity FROM pg_class c
     LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
     WHERE c.relnamespace = '${from}'::regnamespace AND c.relkind = 'r'`,
  )
  const statements = tables.map(({ name, identity }) => {
    const rows = `DELETE FROM ${to}.${name}; INSERT INTO ${to}.${name} OVERRIDING SYSTEM VALUE SELECT * FROM ${from}.${name};`
    if (identity === null) return rows
    return `${rows} SELECT setval(pg_get_serial_sequence('${to}.${name}', '${identity}'), coalesce(max(${identity}), 1)) FROM ${to}.${name};`
  })
  await sql(`BEGIN ISOLATION LEVEL REPEATABLE READ; ${statements.join("\n")} COMMIT`)
  return copy
}

/** Into a database of its own, under the same schema. */
async function dumpAndRestore(address: string): Promise<string> {
  const schema = schemaOf(address)
  await sql(`CREATE DATABASE ${schema}`)
  const restored = new URL(url)
  restored.pathname = schema
  const dump = execFileSync("pg_dump", ["--format=custom", `--schema=${schema}`, url], {
    maxBuffer: 1e8,
  })
  execFileSync("pg_restore", ["--exit-on-error", `--dbname=${restored.href}`], { input: dump })
  return `${restored.href}#${schema}`
}

/** It refuses a server that is newer than itself, and what it writes is for one that is not older. */
async function hasDump(): Promise<boolean> {
  const { stdout } = spawnSync("pg_dump", ["--version"], { encoding: "utf8" })
  const [server] = await sql<{ version: number }>(
    "SELECT current_setting('server_version_num')::int / 10000 AS version",
  )
  return Number(/ (\d+)/.exec(stdout ?? "")?.[1] ?? 0) === server?.version
}

restoreTest({ how: "a copy of all rows", newAddress, restored: copyRows })
restoreTest({
  how: "pg_dump and pg_restore (needs pg_dump of the server's version)",
  skip: !(await hasDump()),
  newAddress,
  restored: dumpAndRestore,
})
