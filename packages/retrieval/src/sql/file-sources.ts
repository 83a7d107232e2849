/** Maps files to tables, and prepares their text for DuckDB: in UTF-8, at a path without wildcards. */

import { createReadStream, createWriteStream } from "node:fs"
import { copyFile, readdir, stat, symlink } from "node:fs/promises"
import { basename, extname, join, relative, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import type { SuperstepError } from "@superstep/engine"
import { digestOf } from "../cache-file.ts"
import { fatal } from "../errors.ts"
import { examine } from "../index/readers/text-file.ts"
import type { Fingerprint } from "./cached-profile.ts"
import type { FileFormat, Source } from "./duckdb-child.ts"

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
