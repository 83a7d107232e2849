/** `--store`: the store of runs and definitions. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { RegistryStore, Store } from "@superstep/engine"
import type { KeyRing } from "@superstep/engine/stores"
import type { Cli, Io } from "../cli.ts"
import { usageError } from "../print/errors.ts"
import { sanitizeLine, shellWord } from "../terminal/terminal.ts"

export type OpenStore = Store &
  RegistryStore & {
    /** Absent for a store in memory. */
    encryptAgain?(onProgress?: (count: number) => void): Promise<number>
  }

interface StoreAddress {
  readonly kind: "sqlite" | "postgres" | "memory"
  /** For display: `sqlite:…`, or `postgres://…` without a password. */
  readonly url: string
  /** The absolute path of the file. */
  readonly path?: string | undefined
}

export const DEFAULT_PATH = ".superstep/superstep.db"

export function storeAddress(url = `sqlite:${DEFAULT_PATH}`, cwd: string): StoreAddress {
  if (url === "memory:" || url === "memory") return { kind: "memory", url: "memory:" }
  if (isPostgres(url)) return { kind: "postgres", url: withoutPassword(url) }
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
  if (path === undefined) {
    // A path alone is what people try first. One letter before the colon is a drive.
    const isPath = url !== "" && !/^\w{2,}:/.test(url)
    const known = isPath
      ? `For a file, write --store ${shellWord(`sqlite:${url}`)}.`
      : "Write --store sqlite:PATH or --store postgres://…, or --store memory: to keep nothing."
    throw usageError(`Unknown store "${withoutPassword(url)}". ${known}`)
  }
  return { kind: "sqlite", url, path: resolve(cwd, path) }
}

function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(url)
}

/** Printed URLs and suggested commands must not contain the password. The driver also reads PGPASSWORD. */
function withoutPassword(url: string): string {
  return url
    .replace(/^(\w+:\/\/[^/?#]*?)(?::[^/?#]*)?@/, "$1@")
    .replace(/([?&](?:ssl)?password=)[^&#]*/gi, "$1…")
}

/** The schema is a parameter of the URL, `?schema=NAME`, which the driver does not know. */
async function openPostgres(
  address: string,
  keys: KeyRing | undefined,
  onNotice: ((line: string) => void) | undefined,
): Promise<OpenStore> {
  const { postgresStore } = await import("@superstep/store-postgres")
  const schema = /[?&]schema=([^&#]*)/.exec(address)?.[1]
  const url = address.replace(/([?&])schema=[^&#]*&?/, "$1").replace(/[?&]$/, "")
  return postgresStore({
    url,
    keys,
    ...(schema !== undefined && { schema: decodeURIComponent(schema) }),
    ...(onNotice !== undefined && { onNotice: ({ message }) => onNotice(message) }),
  })
}

/** The encryption keys of the environment: see `environmentKeys`. */
export async function storeKeys(env: Io["env"]): Promise<KeyRing | undefined> {
  const { environmentKeys, KeyRing } = await import("@superstep/engine/stores")
  const keys = await environmentKeys(env).load()
  return keys.length === 0 ? undefined : new KeyRing(keys)
}

/** Creates the SQLite file, or the schema, if it is missing. */
export async function openStore(
  url: string | undefined,
  { cwd, env }: Pick<Io, "cwd" | "env">,
  onNotice?: (line: string) => void,
): Promise<OpenStore> {
  const { kind, path } = storeAddress(url, cwd)
  const keys = await storeKeys(env)
  if (kind === "postgres") return openPostgres(url as string, keys, onNotice)
  if (path === undefined) {
    const { memoryStore } = await import("@superstep/engine")
    return memoryStore()
  }
  const { sqliteStore } = await import("@superstep/store-sqlite")
  if (url === undefined) makeIgnoredFolder(dirname(path))
  return sqliteStore({
    path,
    keys,
    ...(onNotice !== undefined && { onNotice: ({ message }) => onNotice(message) }),
  })
}

interface StoreChoice {
  readonly store?: string | undefined
  readonly quiet?: true | undefined
}

/** Opens the store, and prints its notices, for example that it waits for another process. */
export function storeOf({ io, err }: Cli, { store }: StoreChoice): Promise<OpenStore> {
  return openStore(store, io, (line) => err.line(err.paint.dim(sanitizeLine(line))))
}

/** For commands that only read: a missing store counts as empty and is not created. */
export async function withStore<T>(
  cli: Cli,
  flags: StoreChoice,
  use: (store: OpenStore) => Promise<T>,
): Promise<T> {
  const { err, io } = cli
  const { path, url } = storeAddress(flags.store, io.cwd)
  const isMissing = path !== undefined && !existsSync(path)
  if (isMissing && !flags.quiet) {
    err.line(err.paint.dim(`There is no store at ${url} yet. To use another one, add --store.`))
  }
  const store = await storeOf(cli, isMissing ? { store: "memory:" } : flags)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** The action of a command that only reads. `work` receives the store before the arguments and the flags. */
export function onStore<Args extends unknown[]>(
  cli: Cli,
  work: (cli: Cli, store: OpenStore, ...args: Args) => Promise<void>,
): (...args: unknown[]) => Promise<void> {
  // Commander adds the command itself as the last argument.
  return (...args) => {
    const own = args.slice(0, -1) as Args
    return withStore(cli, own.at(-1) as StoreChoice, (store) => work(cli, store, ...own))
  }
}

/** For suggested commands. */
export function storeFlagOf({ store }: StoreChoice): string {
  return store === undefined ? "" : ` --store ${shellWord(withoutPassword(store))}`
}

/** Creates the folder of the default store, and excludes it from version control. */
export function makeIgnoredFolder(folder: string): void {
  try {
    // Runs contain text of people and models, so other users of the machine get no access.
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" })
  } catch {
    // It exists, or the store itself reports the problem.
  }
}
