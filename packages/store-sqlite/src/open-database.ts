/** Opens the store's file, or makes it. Whatever is in the way is STORE_UNUSABLE. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Driver } from "./driver.ts"
import { unusable } from "./errors.ts"
import type { OnTightened } from "./private-files.ts"
import { isCurrent, migrate } from "./schema.ts"
import { type OpenFile, openSqliteFile } from "./sqlite-file.ts"

export interface DatabaseOptions {
  /** Without one: `.superstep/superstep.db`, in a folder that git leaves alone. */
  readonly path?: string | undefined
  readonly durability: "normal" | "full"
  readonly lookAgain: number
  readonly driver?: Driver | undefined
  readonly onTightened?: OnTightened | undefined
}

const DEFAULT_PATH = ".superstep/superstep.db"

/** Absolute. */
export function pathOf(path: string = DEFAULT_PATH): string {
  if (path === ":memory:" || path === "") {
    throw unusable(`"${path}"`, "is not the path of a file: use memoryStore() for journals in memory")
  }
  return resolve(path)
}

export function openDatabase(options: DatabaseOptions): OpenFile {
  const path = pathOf(options.path)
  if (options.path === undefined) ignore(dirname(path))
  return openSqliteFile({ ...options, path, busyTimeout: 0, isCurrent, migrate })
}

/** The folder is nobody's source. That it cannot be made is told when the file is opened. */
function ignore(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" })
  } catch {
    // It is there already, or the file cannot be made either.
  }
}
