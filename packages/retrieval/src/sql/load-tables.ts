/** Loads files into a DuckDB database: from the cache, into the cache, or for this process only. */
import { rmSync } from "node:fs"
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { isSuperstepError } from "@superstep/engine"
import { requireFrom, resolveOptional } from "@superstep/engine/packages"
import type { Table } from "@superstep/engine/patterns"
import { messageOf } from "../errors.ts"
import { DuckDbChild, duckdbVersion } from "./duckdb-child.ts"
import {
  type CacheEntry,
  entryName,
  type FileReport,
  type Readable,
  readable,
  TableCache,
  type TableFile,
} from "./table-cache.ts"

export interface LoadProgress {
  /** The file that is read next. Undefined when all are read. */
  readonly file?: string | undefined
  readonly files: { readonly done: number; readonly total: number }
  readonly bytes: { readonly done: number; readonly total: number }
}

export interface LoadedTables {
  readonly child: DuckDbChild
  readonly reports: readonly FileReport[]
  readonly tables: readonly Table[]
  /** The name of the cache entry. */
  readonly cached?: string | undefined
  /** Removes files that only this process uses. */
  drop(): Promise<void>
}

export interface LoadOptions {
  /** Caches loaded files in this folder for later processes. */
  readonly cache?: string | undefined
  /** Called before each file that is read, and at the end. Cached files are not read. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined
  /** Bytes. */
  readonly memory: number
}

/** Loads the tables from the cache, or from the files. */
export async function openTables(
  files: readonly TableFile[],
  options: LoadOptions,
  signal: AbortSignal,
): Promise<LoadedTables> {
  const cache = await cacheAt(options.cache)
  const nameNow = () => entryName(files, `duckdb ${duckdbVersion()}`).catch(() => undefined)
  const name = cache && (await nameNow())
  const known = name && (await cache?.find(name))
  if (name && known) return fromCache(known, name, options)
  if (cache === undefined || name === undefined) return await loadForThisProcess(files, options, signal)
  const making = await cache.make()
  try {
    const { child, isTransient, ...contents } = await load(files, making, options, signal)
    child.close()
    await rm(copiesIn(making.folder), { recursive: true, force: true, maxRetries: 5 })
    // Files that changed in the meantime, or had a temporary problem, are loaded again next time.
    if (isTransient || (await nameNow()) !== name) {
      await making.drop()
      return await loadForThisProcess(files, options, signal)
    }
    return fromCache(await making.keep(name, contents), name, options)
  } catch (error) {
    await making.drop()
    throw error
  }
}

/** A separate folder, because other caches may share the parent. */
async function cacheAt(folder: string | undefined): Promise<TableCache | undefined> {
  return folder === undefined ? undefined : await TableCache.open(join(folder, "tables"))
}

/** Removes an entry that cannot be opened. */
export async function removeEntry(folder: string | undefined, name: string | undefined): Promise<void> {
  if (name !== undefined) await (await cacheAt(folder))?.remove(name)
}

function fromCache(
  { database, ...contents }: CacheEntry,
  cached: string,
  { memory }: LoadOptions,
): LoadedTables {
  const child = new DuckDbChild({ database, folder: dirname(database), memory })
  return { ...contents, child, cached, drop: async () => undefined }
}

async function loadForThisProcess(
  files: readonly TableFile[],
  options: LoadOptions,
  signal: AbortSignal,
): Promise<LoadedTables> {
  const folder = await temporaryFolder()
  const drop = () => forget(folder)
  try {
    const loaded = await load(files, { folder, database: join(folder, "tables.duckdb") }, options, signal)
    return { ...loaded, drop }
  } catch (error) {
    await drop()
    throw error
  }
}

const copiesIn = (folder: string) => join(folder, "copies")

async function load(
  files: readonly TableFile[],
  { folder, database }: { readonly folder: string; readonly database: string },
  { memory, onProgress }: LoadOptions,
  signal: AbortSignal,
) {
  const copies = copiesIn(folder)
  await mkdir(copies)
  const child = new DuckDbChild({ database, folder: copies, memory })
  try {
    const sizes = await Promise.all(files.map(({ path }) => sizeOf(path)))
    const bytes = { done: 0, total: sizes.reduce((sum, size) => sum + size, 0) }
    const reports: FileReport[] = []
    let isTransient = false
    for (const [i, file] of files.entries()) {
      onProgress?.({ file: file.file, files: { done: i, total: files.length }, bytes: { ...bytes } })
      const { reports: made, isTransient: is = false } = await loadOne(child, file, copies, signal)
      reports.push(...made)
      isTransient ||= is
      bytes.done += sizes[i] ?? 0
    }
    const tables = await child.ask({ do: "tables" }, signal)
    onProgress?.({ files: { done: files.length, total: files.length }, bytes })
    return { child, reports, tables: described(tables, reports), isTransient }
  } catch (error) {
    child.close()
    throw error
  }
}

async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}

const EXCEL = { name: "read-excel-file/node", neededBy: "An Excel file" }

async function loadOne(
  child: DuckDbChild,
  tableFile: TableFile,
  folder: string,
  signal: AbortSignal,
): Promise<{ readonly reports: readonly FileReport[]; readonly isTransient?: boolean | undefined }> {
  const { file, table } = tableFile
  const unread = { file, table, rows: 0, brokenRows: 0 }
  const unreadBecause = (error: unknown) => {
    signal.throwIfAborted()
    // Without its package, a workbook is skipped. Without DuckDB, nothing can be loaded.
    const isOwn = isSuperstepError(error) && error.code !== "FILE_UNREADABLE"
    if (isOwn && !error.message.includes(EXCEL.name)) throw error
    return { reports: [{ ...unread, problem: `it is unreadable: ${messageOf(error)}` }], isTransient: true }
  }
  let made: Readable
  try {
    made = await readable(tableFile, folder, signal)
  } catch (error) {
    return unreadBecause(error)
  }
  const { source, encoding, problem } = made
  if (source === undefined) return { reports: [{ ...unread, ...(problem !== undefined && { problem }) }] }
  try {
    if (source.format === "xlsx") resolveOptional(EXCEL, requireFrom(import.meta.url))
    const loaded = await child.ask({ do: "load", source }, signal)
    const reports = loaded.map(({ table: made, rows, broken, problem: why }) => ({
      file,
      table: made,
      rows,
      brokenRows: broken,
      ...(encoding !== undefined && { encoding }),
      ...(why !== undefined && { problem: why }),
    }))
    return { reports, isTransient: loaded.some((one) => one.isTransient) }
  } catch (error) {
    return unreadBecause(error)
  }
}

function described(tables: readonly Table[], reports: readonly FileReport[]): Table[] {
  const byTable = new Map(reports.map((report) => [report.table, report]))
  return tables.map((table) => {
    const report = byTable.get(table.name.replaceAll('"', ""))
    if (report === undefined) return table
    const { file, rows, brokenRows, encoding } = report
    const notes = [
      `${rows} ${rows === 1 ? "row" : "rows"}`,
      ...(brokenRows > 0 ? [`${brokenRows} broken ${brokenRows === 1 ? "row" : "rows"} skipped`] : []),
      ...(encoding === undefined ? [] : [`converted from ${encoding}`]),
    ]
    return { ...table, description: `From ${file}: ${notes.join(", ")}.`, rowCount: rows }
  })
}

const folders = new Set<string>()

/** Removed by `drop`, or when the process exits normally. */
async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "superstep-files-"))
  if (folders.size === 0) process.once("exit", forgetAll)
  folders.add(folder)
  return folder
}

async function forget(folder: string): Promise<void> {
  folders.delete(folder)
  if (folders.size === 0) process.off("exit", forgetAll)
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

function forgetAll(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}
