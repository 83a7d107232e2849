/** Runs in a SQLite file, so that they survive their process. */
export {
  type EncryptionKey,
  environmentKeys,
  type KeyProvider,
  type KeyRing,
  loadKeys,
} from "@superstep/engine/stores"
export { type SqliteStoreOptions, type StoreKeys, type StoreNotice, sqliteStore } from "./open-store.ts"
export type { SqliteStore } from "./sqlite-store.ts"
