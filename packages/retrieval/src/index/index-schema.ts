/**
 * What an index file holds, by version.
 *
 * A chunk's id is its document's id and its number in it, so that all of a document's chunks are one range, and whose a
 * chunk is can be seen without a look at any table. `words` has the words of the chunks, and none of their text. `signs` has
 * one bit for each number of a vector, for which side of the `centre` it is on: what is near is looked for there, and put in
 * order by `vectors`, a byte for each.
 */
import type { Database } from "@superstep/store-sqlite/shared"
import { unusable } from "./errors.ts"

/** The statements at N take a file of version N to version N + 1; released ones never change. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (
    version INTEGER NOT NULL,
    root TEXT NOT NULL DEFAULT '',
    embedding TEXT,
    dimensions INTEGER,
    centre BLOB
  );
  INSERT INTO meta (version) VALUES (0);
  CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('writing', 'ready', 'leaving')),
    writer TEXT,
    hash TEXT NOT NULL,
    settings TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    added_at INTEGER NOT NULL
  );
  CREATE UNIQUE INDEX documents_ready ON documents (source) WHERE state = 'ready';
  CREATE UNIQUE INDEX documents_writing ON documents (source) WHERE state = 'writing';
  CREATE INDEX documents_hidden ON documents (id) WHERE state <> 'ready';
  CREATE TABLE chunks (id INTEGER PRIMARY KEY, line INTEGER, page INTEGER, title TEXT, text TEXT NOT NULL);
  CREATE TABLE signs (id INTEGER PRIMARY KEY, bits BLOB NOT NULL);
  CREATE TABLE vectors (id INTEGER PRIMARY KEY, scale REAL NOT NULL, steps BLOB NOT NULL);
  CREATE VIRTUAL TABLE words USING fts5 (
    title, text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
  );
  INSERT INTO words (words, rank) VALUES ('rank', 'bm25(2.0, 1.0)');
  `,
]

/** Chunks that a document can have: the ids of the next document's begin there. */
export const MOST_CHUNKS = 2 ** 24

export const INDEX_VERSION = MIGRATIONS.length

/** Whether the file is up to date. Throws for one of a later version, or of another program. */
export function isCurrentIndex(database: Database, path: string): boolean {
  const version = versionOf(database, path)
  if (version > MIGRATIONS.length) {
    throw unusable(
      path,
      `is of version ${version}, and this @superstep/retrieval knows versions up to ${MIGRATIONS.length}: update the package`,
    )
  }
  return version === MIGRATIONS.length
}

export function migrateIndex(database: Database, path: string): void {
  if (isCurrentIndex(database, path)) return
  for (const statements of MIGRATIONS.slice(versionOf(database, path))) database.exec(statements)
  database.exec(`UPDATE meta SET version = ${MIGRATIONS.length}`)
}

function versionOf(database: Database, path: string): number {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
  if (tables.length === 0) return 0
  const names = new Set((tables as { name: string }[]).map(({ name }) => name))
  if (names.has("meta") && names.has("documents") && names.has("words")) {
    const [row] = database.prepare("SELECT version FROM meta").all() as { version: unknown }[]
    if (Number.isInteger(row?.version)) return row?.version as number
  }
  throw unusable(path, "is the database of another program: choose another path")
}
