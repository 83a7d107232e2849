/** A PostgreSQL server for one test file, on its own port. */
export { type PostgresServer, startPostgres } from "../../../../tests/postgres/start-postgres.ts"
