/**
 * Opens a store. A file that another process has locked while it must be created or migrated here is opened in the
 * background, and every call waits for it; any other file is opened at once.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { isSuperstepError, type KeepAliveOptions, type LiveChannel, SuperstepError } from "@superstep/engine"
import {
  checkKeys,
  codecOf,
  type EncryptionKey,
  type KeyRing,
  type OnTightened,
  plainCodec,
  type ValueCodec,
} from "@superstep/engine/stores"
import { nearest } from "@superstep/engine/text"
import { decodeText, type JsonBytes, jsonBytes } from "./file/columns.ts"
import type { Database, Driver } from "./file/driver.ts"
import { isBusy, lockedBy, tablesDamaged, unusable } from "./file/errors.ts"
import { isCurrent, migrate, outdatedCheck, withLateStatements } from "./file/schema.ts"
import { type OpenFile, openSqliteFile } from "./file/sqlite-file.ts"
import { backOff, NOTICE_AFTER, Transactions } from "./file/transactions.ts"
import { type SqliteStore, storeOn } from "./sqlite-store.ts"

export interface SqliteStoreOptions {
  /** The file; created, with its folder, when it is missing. Default: `.superstep/superstep.db`. */
  readonly path?: string | undefined
  /**
   * What an acknowledged record survives: "normal", the default, a crash of the process; "full" a power
   * failure too, for one fsync a commit.
   */
  readonly durability?: "normal" | "full" | undefined
  /**
   * Milliseconds for which a write is retried while another process has the file locked. The event loop is never
   * blocked meanwhile. Default: 60,000.
   */
  readonly busyTimeout?: number | undefined
  /** Encrypts what runs contain: `[{ id, key }]`, of which the first writes and all read, or what `loadKeys` returns. */
  readonly keys?: StoreKeys | undefined
  /** Called with notices for the operator. Default: `process.emitWarning`. */
  readonly onNotice?: ((notice: StoreNotice) => void) | undefined
}

export type StoreKeys = KeyRing | readonly EncryptionKey[]

export interface StoreNotice {
  /** Waiting for another process's lock; file permissions that were tightened, or could not be. */
  readonly code: "STORE_LOCKED" | "FILE_PERMISSIONS"
  /** One line. */
  readonly message: string
}

const OPTIONS: { readonly [Name in keyof Required<SqliteStoreOptions>]: true } = {
  path: true,
  durability: true,
  busyTimeout: true,
  keys: true,
  onNotice: true,
}

const BUSY_TIMEOUT = 60_000
const LOOK_AGAIN = 250

export function sqliteStore(options: SqliteStoreOptions = {}): SqliteStore {
  if (typeof options !== "object" || options === null) {
    throw invalid(`the options must be an object such as { path: "runs.db" }, not ${JSON.stringify(options)}`)
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTIONS, name))
  if (unknown !== undefined) throw invalid(unknownOption(unknown))
  const { durability = "normal", busyTimeout = BUSY_TIMEOUT, onNotice = emitWarning } = options
  if (durability !== "normal" && durability !== "full") {
    throw invalid(`durability is "normal" or "full", not "${durability}"`)
  }
  if (!(busyTimeout >= 0)) throw invalid(`busyTimeout must be a number of milliseconds, not ${busyTimeout}`)
  const path = pathOf(options.path)
  const codec = codecOf(options.keys)
  const onWait = () => onNotice({ code: "STORE_LOCKED", message: `Waiting: ${lockedBy(path)}.` })

  function open(): SqliteStore {
    const { database, isGone } = openDatabase({
      path: options.path,
      durability,
      codec,
      lookAgain: LOOK_AGAIN,
      onTightened: (message) => onNotice({ code: "FILE_PERMISSIONS", message }),
    })
    const transactions = new Transactions(database, {
      mayWrite: isGone,
      mayChange: outdatedCheck(database, path),
      busyTimeout,
      onWait,
      lockedBy: () => lockedBy(path),
    })
    return storeOn(path, withLateStatements(database, path), transactions, codec)
  }

  async function openWhenFree(): Promise<SqliteStore> {
    const since = performance.now()
    let hasNotified = false
    for (let attempt = 0; ; attempt++) {
      if (performance.now() - since >= NOTICE_AFTER && !hasNotified) {
        hasNotified = true
        onWait()
      }
      await new Promise((resume) => later(resume, backOff(attempt)))
      try {
        return open()
      } catch (error) {
        if (!isBusy(error)) throw error
        if (performance.now() - since >= busyTimeout) {
          throw new SuperstepError("STORE_UNUSABLE", `${lockedBy(path)}.`, { cause: error })
        }
      }
    }
  }

  try {
    return open()
  } catch (error) {
    if (!isBusy(error)) throw error
    const opened = openWhenFree()
    // Each call reports the failure; a store that nobody calls has nothing to report.
    opened.catch(() => undefined)
    return deferred(opened)
  }
}

const later = setTimeout

function invalid(what: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `Invalid store option: ${what}${what.endsWith("?") ? "" : "."}`)
}

function unknownOption(name: string): string {
  const names = Object.keys(OPTIONS)
  const meant = nearest(name, names)
  const hint = meant === undefined ? `the options are ${names.join(", ")}` : `did you mean "${meant}"?`
  return `unknown option "${name}"; ${hint}`
}

function emitWarning({ code, message }: StoreNotice): void {
  process.emitWarning(message, { type: "SuperstepWarning", code })
}

/** The parts of a store that have methods of their own. */
type Part = "registry" | "queue" | "records" | "schedules" | "subscriptions"
const PARTS: { readonly [name in Part]: true } = {
  registry: true,
  queue: true,
  records: true,
  schedules: true,
  subscriptions: true,
}

function isPart(name: string): name is Part {
  return Object.hasOwn(PARTS, name)
}

/** Makes calls in the order in which they came: callbacks of one promise run in order. */
function deferred<T extends object>(target: Promise<T>): T {
  const store = target as Promise<unknown> as Promise<SqliteStore>
  return new Proxy({} as T, {
    get(_, name) {
      // Nothing waits for the store itself.
      if (name === "then" || typeof name === "symbol") return undefined
      if (name === "slots") return deferredSlots(store)
      if (isPart(name)) return deferred(store.then((opened) => opened[name]))
      if (name === "live") return deferredChannel(store)
      if (name === "keepAlive") {
        return (options: KeepAliveOptions) => ({
          stop: beginLater(
            store,
            ({ keepAlive }) => keepAlive(options),
            (thread) => thread.stop(),
          ),
        })
      }
      return (...args: unknown[]) =>
        target.then((opened) => (opened as Record<string, (...args: unknown[]) => unknown>)[name]?.(...args))
    },
  })
}

/** Not every method that is asked for: it has no `watch`. */
function deferredSlots(store: Promise<SqliteStore>): SqliteStore["slots"] {
  return {
    take: (request) => store.then(({ slots }) => slots.take(request)),
    check: (query) => store.then(({ slots }) => slots.check(query)),
    leave: (end) => store.then(({ slots }) => slots.leave(end)),
    ofRun: (runId) => store.then(({ slots }) => slots.ofRun(runId)),
  }
}

/** No run is held or followed before the store is open, so that no signal is missed. */
function deferredChannel(store: Promise<SqliteStore>): LiveChannel {
  return {
    serve: (...args) => ({
      close: beginLater(
        store,
        ({ live }) => live.serve(...args),
        (service) => service.close(),
      ),
    }),
    subscribe: (...args) => ({
      leave: beginLater(
        store,
        ({ live }) => live.subscribe(...args),
        (subscription) => subscription.leave(),
      ),
    }),
  }
}

/** Begins something once the store is open, unless the returned function, which ends it, was called before. */
function beginLater<T>(
  store: Promise<SqliteStore>,
  begin: (store: SqliteStore) => T,
  end: (begun: T) => void,
): () => void {
  let isOver = false
  let begun: T | undefined
  store.then(
    (opened) => {
      if (!isOver) begun = begin(opened)
    },
    () => undefined,
  )
  return () => {
    isOver = true
    if (begun !== undefined) end(begun)
  }
}

interface DatabaseOptions {
  /** Default: `.superstep/superstep.db`, in a folder that git ignores. */
  readonly path?: string | undefined
  readonly durability: "normal" | "full"
  readonly lookAgain: number
  readonly driver?: Driver | undefined
  readonly codec?: ValueCodec | undefined
  readonly onTightened?: OnTightened | undefined
}

/** Opens or creates the store's file. Whatever is in the way is STORE_UNUSABLE. */
export function openDatabase(options: DatabaseOptions): OpenFile {
  const path = pathOf(options.path)
  if (options.path === undefined) ignore(dirname(path))
  const { codec = plainCodec, ...more } = options
  const opened = openSqliteFile({ ...more, path, busyTimeout: 0, isCurrent, migrate })
  try {
    checkStoredKeys(opened.database, codec)
  } catch (error) {
    opened.database.close()
    throw isSuperstepError(error) || isBusy(error) ? error : tablesDamaged(error)
  }
  return opened
}

/** Throws STORE_KEY_MISSING or STORE_KEY_WRONG. Keeps the check of a key that writes for the first time. */
function checkStoredKeys(database: Database, codec: ValueCodec): void {
  const find = database.prepare(
    `SELECT ${jsonBytes("id")} AS id, ${jsonBytes('"check"')} AS "check" FROM keys`,
  )
  const subject = () => "The list of encryption keys is damaged"
  const stored = () =>
    (find.all() as { id: JsonBytes; check: JsonBytes }[]).map((row) => ({
      id: decodeText(row.id, subject),
      check: decodeText(row.check, subject),
    }))
  const added = checkKeys(codec, stored())
  if (added === undefined) return
  const add = database.prepare(`INSERT INTO keys (id, "check") VALUES (?, ?) ON CONFLICT DO NOTHING`)
  add.run(added.id, added.check)
  // Another process may have added another key under this id.
  checkKeys(codec, stored())
}

/** Absolute. */
function pathOf(path = ".superstep/superstep.db"): string {
  if (path === ":memory:" || path === "") {
    throw unusable(`"${path}"`, "is not the path of a file: use memoryStore() for journals in memory")
  }
  return resolve(path)
}

/** Keeps the folder out of git. A folder that cannot be created is reported when the file is opened. */
function ignore(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" })
  } catch {
    // It exists already, or the file cannot be created either.
  }
}
