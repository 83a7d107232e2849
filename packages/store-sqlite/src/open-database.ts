/** Opens the store's file, or makes it. Whatever is in the way is STORE_UNUSABLE. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Driver } from "./driver.ts"
import { unusable } from "./errors.ts"
import { migrate } from "./schema.ts"
import { type OpenFile, openSqliteFile } from "./sqlite-file.ts"

export interface DatabaseOptions {
  /** Without one: `.superstep/superstep.db`, in a folder that git leaves alone. */
  readonly path?: string | undefined
  readonly durability: "normal" | "full"
  readonly busyTimeout: number
  readonly lookAgain: number
  readonly driver?: Driver | undefined
}

const DEFAULT_PATH = ".superstep/superstep.db"

export function openDatabase(options: DatabaseOptions): OpenFile {
  const { path = DEFAULT_PATH } = options
  if (path === ":memory:" || path === "") {
    throw unusable(`"${path}"`, "is not the path of a file: use memoryStore() for journals in memory")
  }
  if (options.path === undefined) ignore(dirname(resolve(path)))
  return openSqliteFile({ ...options, path, migrate })
}

/** The folder is nobody's source. That it cannot be made is told when the file is opened. */
function ignore(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" })
  } catch {
    // It is there already, or the file cannot be made either.
  }
}
