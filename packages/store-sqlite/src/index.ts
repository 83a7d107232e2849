/** Runs in a SQLite file, so that they survive their process. */
export { type SqliteStoreOptions, type StoreNotice, sqliteStore } from "./open-store.ts"
export type { SqliteStore } from "./sqlite-store.ts"
