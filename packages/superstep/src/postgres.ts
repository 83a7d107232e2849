/** Stores runs in PostgreSQL. */
export {
  type PostgresClient,
  type PostgresNotice,
  type PostgresPool,
  type PostgresQuery,
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
  type TlsOptions,
} from "@superstep/store-postgres"
