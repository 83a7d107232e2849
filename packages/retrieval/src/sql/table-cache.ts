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
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Table } from "@superstep/engine/patterns"
import type { FileReport, TableFile } from "./file-sources.ts"

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
