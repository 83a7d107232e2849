/**
 * Caches loaded files for later processes: a folder with an entry for each set of files.
 *
 * C1 An entry is created under a temporary name and renamed when it is complete. No process sees an incomplete entry,
 *    even after a crash.
 * C2 Two processes may create the same entry at once; the first one is kept, and both use it.
 * C3 The name of an entry is derived from the paths, sizes and modification times of its files, and from the reader's
 *    version: changed files have another entry.
 * C4 If the cache exceeds its maximum size, the least recently used entries are removed, except those used within the
 *    last hour.
 * C5 Only the owner can read or write the folder; a folder of another user is not used.
 */
import { createHash, randomUUID } from "node:crypto"
import { createReadStream, createWriteStream } from "node:fs"
import {
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises"
import { basename, extname, join, relative, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import type { SuperstepError } from "@superstep/engine"
import type { Table } from "@superstep/engine/patterns"
import { digestOf } from "../cache-file.ts"
import { fatal } from "../errors.ts"
import { examine } from "../index/readers/text-file.ts"
import type { FileFormat, Source } from "./duckdb-child.ts"
import type { Fingerprint } from "./profile-tables.ts"

/** Increase it when files are read differently. */
const VERSION = 1
const DEFAULT_BYTES = 2_000_000_000
const HOUR = 3_600_000
/** Files up to this size are compared by content, because their times may be too coarse. */
const SMALL = 64_000

const DATABASE = "tables.duckdb"
const CONTENTS = "contents.json"
const ENTRY = "tables-"
const MAKING = "making-"

/** The contents of an entry, known without opening its database. */
interface Contents {
  readonly reports: readonly FileReport[]
  readonly tables: readonly Table[]
}

export interface CacheEntry extends Contents {
  readonly database: string
}

/** A folder in which an entry is created. */
export interface Making {
  readonly folder: string
  readonly database: string
  /** Stores the entry under this name. Returns the entry to use from now on. */
  keep(name: string, contents: Contents): Promise<CacheEntry>
  drop(): Promise<void>
}

/** The cache folder: `SUPERSTEP_CACHE`, or the system's usual place. Undefined if there is none. */
export function cacheFolder(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  const { SUPERSTEP_CACHE, XDG_CACHE_HOME, LOCALAPPDATA, HOME } = env
  if (SUPERSTEP_CACHE) return SUPERSTEP_CACHE
  if (XDG_CACHE_HOME) return join(XDG_CACHE_HOME, "superstep")
  if (platform === "win32") return LOCALAPPDATA ? join(LOCALAPPDATA, "superstep", "Cache") : undefined
  if (!HOME) return undefined
  return platform === "darwin"
    ? join(HOME, "Library", "Caches", "superstep")
    : join(HOME, ".cache", "superstep")
}

export class TableCache {
  readonly #folder: string
  readonly #maxBytes: number

  private constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#maxBytes = maxBytes
  }

  /** Undefined if there is no safe folder (C5): files are then loaded each time. */
  static async open(folder: string, maxBytes = DEFAULT_BYTES): Promise<TableCache | undefined> {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const { uid, mode } = await stat(folder)
      const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
      return isOurs ? new TableCache(folder, maxBytes) : undefined
    } catch {
      return undefined
    }
  }

  /** The complete entry with that name. */
  async find(name: string): Promise<CacheEntry | undefined> {
    const folder = join(this.#folder, name)
    try {
      const contents = JSON.parse(await readFile(join(folder, CONTENTS), "utf8")) as Contents
      const database = join(folder, DATABASE)
      await stat(database)
      const now = new Date()
      // Marks the entry as recently used (C4). A read-only folder works too.
      await utimes(folder, now, now).catch(() => undefined)
      return { ...contents, database }
    } catch {
      return undefined
    }
  }

  /** Removes an entry whose database cannot be opened. */
  async remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { recursive: true, force: true })
  }

  async make(): Promise<Making> {
    const folder = join(this.#folder, `${MAKING}${process.pid}-${randomUUID()}`)
    await mkdir(folder, { mode: 0o700 })
    const drop = () => rm(folder, { recursive: true, force: true, maxRetries: 5 })
    return {
      folder,
      database: join(folder, DATABASE),
      drop,
      keep: async (name, contents) => {
        await writeFile(join(folder, CONTENTS), JSON.stringify(contents), { mode: 0o600 })
        const place = join(this.#folder, name)
        await rename(folder, place).catch(async (error) => {
          // C2: another process was first.
          if ((await this.find(name)) === undefined) throw error
          await drop()
        })
        await this.#removeOld(name).catch(() => undefined)
        return { ...contents, database: join(place, DATABASE) }
      },
    }
  }

  /** Removes old entries (C4), and leftovers of crashed processes (C1). */
  async #removeOld(used: string): Promise<void> {
    const entries: { readonly path: string; readonly bytes: number; readonly usedAt: number }[] = []
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name)
      if (name.startsWith(MAKING) && !isRunning(name)) await rm(path, { recursive: true, force: true })
      if (!name.startsWith(ENTRY) || name === used) continue
      const [{ mtimeMs }, { size }] = await Promise.all([stat(path), stat(join(path, DATABASE))])
      entries.push({ path, bytes: size, usedAt: mtimeMs })
    }
    entries.sort((one, other) => other.usedAt - one.usedAt)
    let bytes = (await stat(join(this.#folder, used, DATABASE))).size
    for (const entry of entries) {
      bytes += entry.bytes
      if (bytes > this.#maxBytes && Date.now() - entry.usedAt > HOUR) {
        await rm(entry.path, { recursive: true, force: true })
      }
    }
  }
}

function isRunning(name: string): boolean {
  const pid = Number(name.slice(MAKING.length).split("-", 1)[0])
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** The name of the entry of these files in their current state (C3); `reader` is the reader with its version. */
export async function entryName(files: readonly TableFile[], reader: string): Promise<string> {
  const parts: unknown[] = [VERSION, reader]
  for (const { path, file, table, format } of files) {
    const { size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    const content =
      size <= SMALL
        ? createHash("sha256")
            .update(await readFile(path))
            .digest("hex")
        : ""
    parts.push([path, file, table, format, `${size}`, `${mtimeNs}`, `${ctimeNs}`, content])
  }
  const hash = createHash("sha256").update(JSON.stringify(parts)).digest("hex")
  return `${ENTRY}${hash.slice(0, 32)}`
}

// Maps files to tables, and prepares their text for DuckDB: in UTF-8, at a path without wildcards.

const FORMATS: Readonly<Record<string, FileFormat>> = {
  ".csv": "csv",
  ".tsv": "csv",
  ".json": "json",
  ".jsonl": "lines",
  ".ndjson": "lines",
  ".parquet": "parquet",
  ".xlsx": "xlsx",
}

export interface TableFile {
  readonly path: string
  /** The name in reports: relative to the folder, or as the user wrote it. */
  readonly file: string
  readonly table: string
  readonly format: FileFormat
}

/** The result of loading a file. */
export interface FileReport {
  readonly file: string
  readonly table: string
  readonly rows: number
  /** Rows that could not be read and were skipped. */
  readonly brokenRows: number
  /** The original encoding, if it was not UTF-8. */
  readonly encoding?: string | undefined
  /** Why no table was created. */
  readonly problem?: string | undefined
}

export async function filesOfFolder(folder: string): Promise<TableFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause) => {
    throw unreadable(folder, cause)
  })
  const files = entries
    .filter((entry) => entry.isFile() && extname(entry.name).toLowerCase() in FORMATS)
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => !file.split(/[\\/]/).some((part) => part.startsWith(".")))
    .sort()
  return withTables(files, (file) => resolve(folder, file))
}

export async function filesNamed(files: readonly string[]): Promise<TableFile[]> {
  for (const file of files) {
    if (!(extname(file).toLowerCase() in FORMATS)) {
      throw fatal(
        "FILE_UNREADABLE",
        `${file} is not a supported file type: ${Object.keys(FORMATS).join(", ")}.`,
      )
    }
    const found = await stat(file).catch((cause) => {
      throw unreadable(file, cause)
    })
    if (!found.isFile()) throw unreadable(file, new Error("it is not a file"))
  }
  return withTables(files, (file) => resolve(file), basename)
}

/** A table has the name of its file, in characters that need no quotes. Duplicate names get a number. */
function withTables(
  files: readonly string[],
  pathOf: (file: string) => string,
  named = (file: string) => file,
): TableFile[] {
  const taken = new Set<string>()
  return files.map((file) => {
    const name = named(file).slice(0, -extname(file).length)
    const plain = name
      .normalize("NFC")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, "_")
      .replace(/^_+|(?<!_)_+$/g, "")
    const first = /^\p{L}/u.test(plain) ? plain : `table_${plain}`
    let table = first
    for (let n = 2; taken.has(table); n += 1) table = `${first}_${n}`
    taken.add(table)
    return { path: pathOf(file), file, table, format: FORMATS[extname(file).toLowerCase()] as FileFormat }
  })
}

export interface Readable {
  /** Undefined: there is nothing to read. */
  readonly source?: Source | undefined
  /** The original encoding. */
  readonly encoding?: string | undefined
  readonly problem?: string | undefined
}

/** Makes a file readable, with a copy in `folder` if necessary. */
export async function readable(
  tableFile: TableFile,
  folder: string,
  signal?: AbortSignal,
): Promise<Readable> {
  const { path, table, format } = tableFile
  const copy = join(folder, `${table}${extname(path)}`)
  if (format !== "parquet" && format !== "xlsx") {
    const { bytes, encoding } = await examine(path, signal)
    if (bytes === 0) return { problem: "it is empty" }
    if (encoding === undefined) return { problem: "it is not text" }
    if (encoding !== "utf-8") {
      const decoder = new TextDecoder(encoding)
      await pipeline(
        createReadStream(path),
        async function* (pieces: AsyncIterable<Buffer>) {
          for await (const piece of pieces) yield decoder.decode(piece, { stream: true })
          yield decoder.decode()
        },
        createWriteStream(copy),
        ...(signal === undefined ? [] : [{ signal }]),
      )
      return { source: { path: copy, table, format }, encoding }
    }
  }
  if (!/[*?[\]{}]/.test(path)) return { source: { path, table, format } }
  // Where symbolic links are not permitted, the file is copied.
  await symlink(path, copy).catch(() => copyFile(path, copy))
  return { source: { path: copy, table, format } }
}

/** Paths, sizes and modification times. Any difference counts. */
export async function fingerprintOf(files: readonly TableFile[]): Promise<Fingerprint> {
  const seen = await Promise.all(
    files.map(async ({ path, table }) => {
      const found = await stat(path).catch(() => undefined)
      return [path, table, found?.size, found?.mtimeMs]
    }),
  )
  return { shape: digestOf(seen), parts: {} }
}

function unreadable(path: string, cause: Error): SuperstepError {
  return fatal("FILE_UNREADABLE", `${path} cannot be read: ${cause.message}`, cause)
}
