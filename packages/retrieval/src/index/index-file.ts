/** The file of an index: opened with sqlite-vec where that is installed, read and written in transactions. */
import { dirname, isAbsolute, relative, resolve, sep } from "node:path"
import { SuperstepError } from "@superstep/engine"
import { requireFrom, requireOptional } from "@superstep/engine/packages"
import { type Database, openSqliteFile, preparedOnce } from "@superstep/store-sqlite/internal"
import { messageOf } from "../errors.ts"
import { unusable, withFile } from "./index-errors.ts"
import { isCurrentIndex, migrateIndex } from "./index-schema.ts"

export interface IndexFile {
  readonly path: string
  readonly database: Database
  /** Why there is no search by vectors; undefined: there is. */
  readonly vectorTrouble: string | undefined
  /** What the file at that path is called here: its path below the index's root, else all of it. */
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
    vectorTrouble: loadVectors(database),
    sourceOf(file) {
      const below = relative(base, resolve(file))
      const isBelow = below !== "" && !isAbsolute(below) && below.split(sep)[0] !== ".."
      return (isBelow ? below : resolve(file)).split(sep).join("/")
    },
    pathOf: (source) => resolve(base, source),
    state() {
      // SQLite counts what others write.
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
      intoOneFile(database)
      database.close()
    },
  }
}

/**
 * Takes the log into the file and away, unless others have it open: they do so when they close it. SQLite would do it by
 * itself, but libsql closes a file only once its statements are collected, which a process that ends does not wait for.
 */
function intoOneFile(database: Database): void {
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
    return `sqlite-vec does not load: ${messageOf(error)}`
  }
}
