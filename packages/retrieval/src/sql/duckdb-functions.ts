/** Functions of DuckDB that have effects, or run what is in a string. What they could reach is shut anyway. */
const REFUSED = new Set([
  "checkpoint",
  "disable_logging",
  "enable_logging",
  "force_checkpoint",
  "json_execute_serialized_sql",
  "query",
  "query_table",
  "set_log_level",
  "truncate_duckdb_logs",
  "write_log",
])

export function whyRefusedInDuckDb(name: string): string | undefined {
  // Names are the same in upper case, also between quotes.
  return REFUSED.has(name.toLowerCase()) ? "it has effects, or runs what is in a string" : undefined
}
