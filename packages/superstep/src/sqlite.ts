/** Runs in a SQLite file. */
export { type SqliteStore, type SqliteStoreOptions, sqliteStore } from "@superstep/store-sqlite"
