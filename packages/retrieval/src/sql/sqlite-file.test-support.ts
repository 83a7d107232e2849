/** Creates SQLite files for tests. */
import { createRequire } from "node:module"
import { libsqlPath } from "@superstep/store-sqlite/internal"

export interface OpenSqlite {
  exec(sql: string): void
  close(): void
}

export function openSqlite(file: string): OpenSqlite {
  const Libsql = createRequire(import.meta.url)(libsqlPath()) as new (path: string) => OpenSqlite
  return new Libsql(file)
}

export function makeSqlite(file: string, sql: string): void {
  const database = openSqlite(file)
  database.exec(sql)
  database.close()
}
