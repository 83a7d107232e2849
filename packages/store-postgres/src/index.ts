/** Runs in PostgreSQL, which any number of processes and hosts share. */
export {
  type EncryptionKey,
  environmentKeys,
  type KeyProvider,
  type KeyRing,
  loadKeys,
} from "@superstep/engine/stores"
export type { TlsOptions } from "./address.ts"
export type { PostgresClient, PostgresPool, PostgresQuery } from "./database.ts"
export {
  type PostgresNotice,
  type PostgresStoreOptions,
  postgresStore,
} from "./open-store.ts"
export type { PostgresStore } from "./postgres-store.ts"
