/** A real PostgreSQL server for a test file, on a port of its own. */
export { type PostgresServer, startPostgres } from "../../../../examples/goal-over-data/start-postgres.ts"
