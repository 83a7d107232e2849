/** Stores runs in a SQLite file. */
export {
  type SqliteStore,
  type SqliteStoreOptions,
  type StoreNotice,
  sqliteStore,
} from "@superstep/store-sqlite"
