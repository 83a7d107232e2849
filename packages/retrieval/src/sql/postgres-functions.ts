/** System functions that a reader can call on PostgreSQL and must not: those with effects, and those that run SQL out of strings. */
const REFUSED = new RegExp(
  `^(?:${[
    // One's own limits and role.
    "set_config",
    // Other sessions.
    "pg_(?:terminate|cancel)_backend|pg_notify|pg_(?:try_)?advisory_\\w+|pg_export_snapshot|pg_log_backend\\w*",
    // SQL in a string, which nobody has looked at.
    "query_to_xml\\w*|cursor_to_xml\\w*|(?:table|schema|database)_to_xml\\w*|ts_stat|ts_rewrite|crosstab\\w*|connectby|xpath_table",
    // Files, programs, other servers.
    "lo_\\w+|lowrite|loread|pg_read_\\w*file|pg_ls_\\w+|pg_stat_file|pg_file_\\w+|dblink\\w*|pg_current_logfile",
    // The server's log and its copies.
    "pg_logical_\\w+|pg_replication_\\w+|pg_create_\\w+|pg_drop_\\w+|pg_copy_\\w+_slot|pg_backup_\\w+|pg_switch_wal",
    "pg_reload_conf|pg_rotate_logfile|pg_promote|pg_wal_replay_\\w+|pg_stat_(?:\\w+_)?reset\\w*|pg_prewarm|autoprewarm\\w*",
    "pg_(?:clear|restore)_\\w+_stats|txid_current|pg_current_xact_id|nextval|setval",
  ].join("|")})$`,
)

/** `outside` are those of the database that may have effects. */
export function whyRefusedInPostgres(name: string, outside: ReadonlySet<string>): string | undefined {
  if (REFUSED.test(name)) return "it has effects, or runs what is in a string"
  if (!outside.has(name)) return undefined
  return "those of the database itself must be STABLE or IMMUTABLE, and not SECURITY DEFINER"
}
