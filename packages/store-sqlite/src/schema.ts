/**
 * What a file holds, by version. A file is brought up to date when it is opened, in one transaction; one that
 * was written by a later version of this package, or by another program, is left as it is.
 *
 * `run_id`, `workflow` and `frame` are kept as they would stand between JSON's quotes: a lone surrogate or a
 * NUL, which SQLite's text does not hold, comes back as it was.
 */
import type { Database } from "./driver.ts"
import { unusable } from "./errors.ts"

/** The statements at N take a file of version N to version N + 1; released ones never change. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (version INTEGER NOT NULL);
  INSERT INTO meta (version) VALUES (0);
  CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    head INTEGER NOT NULL,
    workflow TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  );
  CREATE TABLE journal (
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    frame TEXT NOT NULL,
    events INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
  );
  `,
]

/** To be called within a transaction that may write. */
export function migrate(database: Database, path: string): void {
  const version = versionOf(database, path)
  if (version === MIGRATIONS.length) return
  if (version > MIGRATIONS.length) {
    throw unusable(
      path,
      `is of version ${version}, and this @superstep/store-sqlite knows versions up to ${MIGRATIONS.length}: update the package`,
    )
  }
  for (const statements of MIGRATIONS.slice(version)) database.exec(statements)
  database.exec(`UPDATE meta SET version = ${MIGRATIONS.length}`)
}

function versionOf(database: Database, path: string): number {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
  if (tables.length === 0) return 0
  const names = new Set((tables as { name: string }[]).map(({ name }) => name))
  if (names.has("meta") && names.has("journal")) {
    const [row] = database.prepare("SELECT version FROM meta").all() as { version: unknown }[]
    if (Number.isInteger(row?.version)) return row?.version as number
  }
  throw unusable(path, "is the database of another program: choose another path")
}
