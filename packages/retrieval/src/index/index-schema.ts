/**
 * The schema of an index file, by version.
 *
 * A chunk's id combines its document's id and its number in the document, so that a document's chunks are one range, and a
 * chunk's document is known without a lookup. `words` has the words of the chunks, and none of their text. The table of sign
 * bits has one bit for each number of a vector: on which side of the `centre` it is. A search finds candidates there and orders
 * them by `vectors`, which has one byte for each number.
 */
import type { Database, preparedOnce } from "@superstep/store-sqlite/internal"
import { unusable } from "./index-errors.ts"

/** The table of sign bits. */
export const SIGNS = "signs" // words: allow

/** The statements at N migrate a file from version N to version N + 1; released ones never change. */
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
  CREATE TABLE ${SIGNS} (id INTEGER PRIMARY KEY, bits BLOB NOT NULL);
  CREATE TABLE vectors (id INTEGER PRIMARY KEY, scale REAL NOT NULL, steps BLOB NOT NULL);
  CREATE VIRTUAL TABLE words USING fts5 (
    title, text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
  );
  INSERT INTO words (words, rank) VALUES ('rank', 'bm25(2.0, 1.0)');
  `,
  "ALTER TABLE documents ADD COLUMN author TEXT; ALTER TABLE documents ADD COLUMN date TEXT;",
]

/** Maximum chunks of a document: the next document's ids begin there. */
export const MAX_CHUNKS = 2 ** 24

export const INDEX_VERSION = MIGRATIONS.length

/** Whether the file is up to date. Throws for one of a later version, or of another program. */
export function isCurrentIndex(database: Database, path: string): boolean {
  const version = versionOf(database, path)
  if (version > MIGRATIONS.length) {
    throw unusable(
      path,
      `has version ${version}, but this @superstep/retrieval supports versions up to ${MIGRATIONS.length}: update the package`,
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

/** SQL that leaves out the chunks of documents that are not ready (D1). Usually there are none; then it tests nothing per row. */
export function onlyReady(sql: ReturnType<typeof preparedOnce>, id: string): string {
  const [hidden] = sql("SELECT EXISTS (SELECT 1 FROM documents WHERE state <> 'ready') AS some").all()
  if ((hidden as { some: number }).some === 0) return "true"
  return `${id} / ${MAX_CHUNKS} NOT IN (SELECT id FROM documents WHERE state <> 'ready')`
}
