/**
 * The SQLite file of an index: opened with sqlite-vec if it is installed, and accessed in transactions; its errors; and
 * its schema, by version.
 */
import { dirname, isAbsolute, relative, resolve, sep } from "node:path"
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { requireFrom, requireOptional } from "@superstep/engine/packages"
import { type Database, openSqliteFile, preparedOnce, resultCode } from "@superstep/store-sqlite/internal"
import { fatal, messageOf } from "../errors.ts"

const [BUSY, CORRUPT, FULL, NOT_A_DATABASE] = [5, 11, 13, 26]

/** Accesses the file. Errors of SQLite become messages with advice. */
function withFile<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isSuperstepError(error) ? renamed(error) : fromSqlite(path, error)
  }
}

export function corrupt(path: string, cause?: unknown): SuperstepError {
  return fatal(
    "INDEX_CORRUPT",
    `The index ${path} is damaged: delete it, and add the documents again.`,
    cause,
  )
}

function unusable(path: string, what: string): SuperstepError {
  return fatal("INDEX_UNUSABLE", `The index ${path} ${what}.`)
}

/** Errors about opening a store become errors about the index. */
function renamed(error: SuperstepError): SuperstepError {
  if (error.code !== "STORE_UNUSABLE" && error.code !== "STORE_WRITE_FAILED") return error
  return fatal("INDEX_UNUSABLE", `The index ${error.message}`, error)
}

function fromSqlite(path: string, error: unknown): SuperstepError {
  const why = messageOf(error)
  switch (resultCode(error)) {
    case BUSY:
      return new SuperstepError(
        "INDEX_LOCKED",
        `The index ${path} is locked by another process: try again later.`,
        { cause: error },
      )
    case CORRUPT:
    case NOT_A_DATABASE:
      return corrupt(path, error)
    case FULL:
      return unusable(path, "cannot be written: the disk is full")
    default:
      return new SuperstepError("INDEX_FAILED", `The index ${path} failed: ${why}.`, { cause: error })
  }
}

export interface IndexFile {
  readonly path: string
  readonly database: Database
  /** Why vectors cannot be searched. Undefined if they can. */
  readonly vectorProblem: string | undefined
  /** The source name of a path: relative to the index's root if it is inside, else absolute. */
  sourceOf(path: string): string
  pathOf(source: string): string
  /** Changes after every write by any process. Call it in `read`. */
  state(): string
  read<T>(query: () => T): T
  write<T>(change: () => T): T
  close(): void
}

const LOOK_AGAIN = 1_000
const CACHE_KB = 32_768

/** `root` is for a new file; an existing one has its own. */
export function openIndexFile(file: string, root: string, lockTimeout: number): IndexFile {
  const path = resolve(file)
  if (file === "" || file === ":memory:") throw unusable(`"${file}"`, "needs the path of a file")
  const { database, isGone } = withFile(path, () =>
    openSqliteFile({
      path,
      durability: "normal",
      busyTimeout: lockTimeout,
      lookAgain: LOOK_AGAIN,
      extensions: true,
      isCurrent(made, at) {
        if (!isCurrentIndex(made, at)) return false
        const [meta] = made.prepare("SELECT root FROM meta").all() as { root: string }[]
        return meta?.root !== ""
      },
      migrate(made, at) {
        migrateIndex(made, at)
        const from = relative(dirname(path), root).split(sep).join("/")
        made.prepare("UPDATE meta SET root = ? WHERE root = ''").run(from === "" ? "." : from)
      },
    }),
  )
  const sql = preparedOnce(database)
  let isClosed = false
  let writes = 0

  function run<T>(begin: string, end: string, work: () => T): T {
    if (isClosed) throw new SuperstepError("INDEX_CLOSED", `The index ${path} is closed: open it again.`)
    return withFile(path, () => {
      database.exec(begin)
      try {
        const result = work()
        database.exec(end)
        return result
      } catch (error) {
        try {
          database.exec("ROLLBACK")
        } catch {
          // SQLite has done so already.
        }
        throw error
      }
    })
  }

  let base = ""
  try {
    withFile(path, () => {
      database.exec(`PRAGMA cache_size = -${CACHE_KB}`)
      const [meta] = database.prepare("SELECT root FROM meta").all() as { root: string }[]
      base = resolve(dirname(path), meta?.root ?? ".")
    })
  } catch (error) {
    database.close()
    throw error
  }
  return {
    path,
    database,
    vectorProblem: loadVectors(database),
    sourceOf(file) {
      const below = relative(base, resolve(file))
      const isBelow = below !== "" && !isAbsolute(below) && below.split(sep)[0] !== ".."
      return (isBelow ? below : resolve(file)).split(sep).join("/")
    },
    pathOf: (source) => resolve(base, source),
    state() {
      // SQLite counts the changes of other connections.
      const [others] = sql("PRAGMA data_version").all() as { data_version: number }[]
      return `${others?.data_version} ${writes}`
    },
    read: (query) => run("BEGIN", "ROLLBACK", query),
    write: (change) =>
      run("BEGIN IMMEDIATE", "COMMIT", () => {
        const gone = isGone()
        if (gone !== undefined) throw gone
        writes += 1
        return change()
      }),
    close() {
      if (isClosed) return
      isClosed = true
      mergeLog(database)
      database.close()
    },
  }
}

/**
 * Merges the write-ahead log into the file and removes it, unless other processes have the file open; they do it when
 * they close it. SQLite would do this itself, but libsql closes a file only after its statements are garbage-collected,
 * and an exiting process does not wait for that.
 */
function mergeLog(database: Database): void {
  try {
    database.exec("PRAGMA busy_timeout = 0")
    database.exec("PRAGMA journal_mode = DELETE")
  } catch {
    // The next process that opens the file reads the log.
  }
}

function loadVectors(database: Database): string | undefined {
  let extension: string
  try {
    const wanted = { name: "sqlite-vec", neededBy: "Search by meaning" }
    extension = requireOptional<{ getLoadablePath(): string }>(
      wanted,
      requireFrom(import.meta.url),
    ).getLoadablePath()
  } catch (error) {
    return messageOf(error)
  }
  try {
    database.loadExtension?.(extension)
    database.prepare("SELECT vec_version() AS version").all()
    return undefined
  } catch (error) {
    return `sqlite-vec failed to load: ${messageOf(error)}`
  }
}

// The schema of an index file, by version.
// A chunk's id combines its document's id and its number in the document, so that the chunks of a document are one range,
// and the document of a chunk is known without a lookup. `words` indexes the words of the chunks without their text. The
// table of sign bits has one bit for each number of a vector: on which side of the `centre` it is. A search finds
// candidates there and orders them by `vectors`, which has one byte for each number.

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

/** Whether the file is up to date. Throws if it has a later version, or belongs to another program. */
function isCurrentIndex(database: Database, path: string): boolean {
  const version = versionOf(database, path)
  if (version > MIGRATIONS.length) {
    throw unusable(
      path,
      `has version ${version}, but this @superstep/retrieval supports versions up to ${MIGRATIONS.length}: update the package`,
    )
  }
  return version === MIGRATIONS.length
}

function migrateIndex(database: Database, path: string): void {
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

/**
 * SQL that excludes the chunks of documents that are not ready (D1). Usually there are none; then it adds no test per
 * row.
 */
export function onlyReady(sql: ReturnType<typeof preparedOnce>, id: string): string {
  const [hidden] = sql("SELECT EXISTS (SELECT 1 FROM documents WHERE state <> 'ready') AS some").all()
  if ((hidden as { some: number }).some === 0) return "true"
  return `${id} / ${MAX_CHUNKS} NOT IN (SELECT id FROM documents WHERE state <> 'ready')`
}
