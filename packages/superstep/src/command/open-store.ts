/** `--store`: where runs and definitions are kept. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { RegistryStore, Store } from "@superstep/engine"
import type { Cli } from "./cli.ts"
import { foreignLine } from "./terminal.ts"
import { usageError } from "./usage-error.ts"

export type OpenStore = Store & RegistryStore

export interface StoreAddress {
  readonly kind: "sqlite" | "memory"
  /** As it is shown, and given again: `sqlite:…`. */
  readonly url: string
  /** Of the file, absolute. */
  readonly path?: string | undefined
  /** Nobody said which. */
  readonly isDefault: boolean
}

export const DEFAULT_PATH = ".superstep/superstep.db"

export function storeAddress(url: string | undefined, cwd: string): StoreAddress {
  if (url === undefined) {
    return {
      kind: "sqlite",
      url: `sqlite:${DEFAULT_PATH}`,
      path: resolve(cwd, DEFAULT_PATH),
      isDefault: true,
    }
  }
  if (url === "memory:" || url === "memory") return { kind: "memory", url: "memory:", isDefault: false }
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
  if (path === undefined) {
    throw usageError(`There is no store "${url}": write --store sqlite:PATH, or --store memory: for none.`)
  }
  return { kind: "sqlite", url, path: resolve(cwd, path), isDefault: false }
}

/** Opens it; a SQLite file is made where it is missing. */
export async function openStore(
  url: string | undefined,
  cwd: string,
  onNotice?: (line: string) => void,
): Promise<OpenStore> {
  const address = storeAddress(url, cwd)
  if (address.path === undefined) {
    const { memoryStore } = await import("@superstep/engine")
    return memoryStore()
  }
  const { sqliteStore } = await import("@superstep/store-sqlite")
  if (address.isDefault) leaveOutOfGit(dirname(address.path))
  return sqliteStore({
    path: address.path,
    ...(onNotice !== undefined && { onNotice: ({ message }) => onNotice(message) }),
  })
}

/** Tells what a store has to say, such as that it waits for another process: dimmed, on stderr. */
export function storeNotices({ err }: Pick<Cli, "err">): (line: string) => void {
  return (line) => err.line(err.paint.dim(foreignLine(line)))
}

/** The folder of the default store is nobody's source. */
export function leaveOutOfGit(folder: string): void {
  try {
    // Runs have what people and models said: other users of the machine are kept out.
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" })
  } catch {
    // It is there, or the store itself says what is in the way.
  }
}
