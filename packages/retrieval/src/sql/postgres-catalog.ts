/**
 * Reads the catalog: which tables a role may read, and whether it can do more. A read-only transaction does not contain a
 * role with more rights: a role that can write, read the server's files or run programs there, directly or through
 * another role, is refused.
 */

import type { SuperstepError } from "@superstep/engine"
import type { ForeignKey, Table } from "@superstep/engine/patterns"
import { digestOf } from "../cache-file.ts"
import { fatal } from "../errors.ts"
import type { Fingerprint } from "./profile-tables.ts"
import { UNSAFE_ROLE_ADVICE } from "./queries.ts"

/** The excess rights of a role, as phrases for a message. */
export const ROLE_FAULTS = `
WITH mine AS (
  SELECT r.* FROM pg_roles r WHERE pg_has_role(current_user, r.oid, 'MEMBER')
), faults AS (
  SELECT 1 AS place, 'is a superuser' AS fault FROM mine WHERE rolsuper
  UNION SELECT 2, 'may make roles' FROM mine WHERE rolcreaterole
  UNION SELECT 3, 'may make databases' FROM mine WHERE rolcreatedb
  UNION SELECT 4, 'may replicate' FROM mine WHERE rolreplication
  UNION SELECT 5, 'is a member of ' || rolname FROM mine WHERE rolname IN (
    'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_write_all_data',
    'pg_signal_backend', 'pg_maintain', 'pg_checkpoint', 'pg_create_subscription')
  UNION SELECT 6, 'may create schemas in this database'
    FROM pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
    WHERE d.datname = current_database() AND a.privilege_type = 'CREATE'
      AND (a.grantee = 0 OR pg_has_role(current_user, a.grantee, 'MEMBER'))
  UNION SELECT 7, 'may create tables in the schema ' || quote_ident(n.nspname)
    FROM pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
    WHERE n.nspname NOT LIKE 'pg\\_%' AND a.privilege_type = 'CREATE'
      AND (a.grantee = 0 OR pg_has_role(current_user, a.grantee, 'MEMBER'))
  UNION SELECT 8, 'may write to ' || c.oid::regclass::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
      aclexplode(coalesce(c.relacl,
        acldefault((CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END)::"char", c.relowner))) a
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
      AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
      AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER', 'USAGE')
      AND (a.grantee = 0 OR pg_has_role(current_user, a.grantee, 'MEMBER'))
  UNION SELECT 9, 'may write to columns of ' || t.attrelid::regclass::text
    FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace,
      aclexplode(t.attacl) a
    WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
      AND a.privilege_type IN ('INSERT', 'UPDATE')
      AND (a.grantee = 0 OR pg_has_role(current_user, a.grantee, 'MEMBER'))
)
SELECT current_user::text AS role, current_database()::text AS database,
  coalesce(json_agg(fault ORDER BY place, fault), '[]') AS faults FROM faults`

export interface RoleFaults {
  readonly role: string
  readonly database: string
  readonly faults: readonly string[]
}

const MAX_FAULTS = 5

export function unsafeRole(id: string, { role, database, faults }: RoleFaults): SuperstepError {
  const more = faults.length > MAX_FAULTS ? `; and ${faults.length - MAX_FAULTS} more` : ""
  const message =
    `The role ${role} of the database ${id} can do more than read: it ${faults.slice(0, MAX_FAULTS).join("; it ")}${more}. ` +
    `Queries that a model writes must run as a role that can only read. To create one:\n\n` +
    `${readerRole(database, faults)}\n\nThen log in as that role. ${UNSAFE_ROLE_ADVICE}`
  return fatal("DATABASE_ROLE_UNSAFE", message)
}

function readerRole(database: string, faults: readonly string[]): string {
  const name = /^[a-z_][a-z0-9_]*$/.test(database) ? database : `"${database.replaceAll('"', '""')}"`
  const isOpen = faults.some((fault) => fault.includes("create tables in the schema public"))
  return [
    "CREATE ROLE reader LOGIN PASSWORD '…';",
    `GRANT CONNECT ON DATABASE ${name} TO reader;`,
    "GRANT USAGE ON SCHEMA public TO reader;",
    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader;",
    // Up to PostgreSQL 14, every role may.
    ...(isOpen ? ["REVOKE CREATE ON SCHEMA public FROM PUBLIC;"] : []),
  ].join("\n")
}

/** `name` is the name that a query writes: with its schema only if necessary. */
const NAME = (of: string, schema: string) =>
  `CASE WHEN pg_table_is_visible(${of}.oid) THEN quote_ident(${of}.relname)
    ELSE quote_ident(${schema}.nspname) || '.' || quote_ident(${of}.relname) END`

/** The names of columns, in the order of their numbers in a key. */
const COLUMNS = (table: string, numbers: string) =>
  `(SELECT json_agg(quote_ident(k.attname) ORDER BY n.place) FROM unnest(${numbers}) WITH ORDINALITY AS n (number, place)
      JOIN pg_attribute k ON k.attrelid = ${table} AND k.attnum = n.number)`

export const READABLE_TABLES = `
SELECT
  ${NAME("c", "n")} AS name,
  obj_description(c.oid, 'pg_class') AS comment,
  (SELECT coalesce(json_agg(json_build_object('name', quote_ident(a.attname),
      'type', format_type(a.atttypid, a.atttypmod), 'comment', col_description(c.oid, a.attnum))
      ORDER BY a.attnum), '[]')
    FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND has_column_privilege(c.oid, a.attnum, 'SELECT')) AS columns,
  (SELECT ${COLUMNS("c.oid", "p.conkey")} FROM pg_constraint p
    WHERE p.conrelid = c.oid AND p.contype = 'p') AS "primaryKey",
  (SELECT json_agg(json_build_object('columns', ${COLUMNS("c.oid", "f.conkey")}, 'table', ${NAME("o", "s")},
      'references', ${COLUMNS("o.oid", "f.confkey")}) ORDER BY f.conname)
    FROM pg_constraint f JOIN pg_class o ON o.oid = f.confrelid JOIN pg_namespace s ON s.oid = o.relnamespace
    WHERE f.conrelid = c.oid AND f.contype = 'f') AS "foreignKeys",
  CASE WHEN c.relkind IN ('r', 'm') AND c.reltuples >= 0 THEN c.reltuples::float8 END AS "rowCount",
  (pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
    + pg_stat_get_tuples_deleted(c.oid))::float8 AS changes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
  AND ($1::text[] IS NULL OR n.nspname = ANY ($1))
  AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
  AND NOT EXISTS (SELECT FROM pg_depend d
    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname, c.relname`

export interface TableRow {
  readonly name: string
  readonly comment: string | null
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    readonly comment: string | null
  }[]
  readonly primaryKey: readonly string[] | null
  readonly foreignKeys: readonly ForeignKey[] | null
  /** The server's estimate, or null. */
  readonly rowCount: number | null
  /** Rows inserted, updated and deleted since the last statistics reset. */
  readonly changes: number | null
}

/** Keys include only columns and tables that the role may read. */
export function tablesOf(rows: readonly TableRow[]): Table[] {
  const readable = new Map(rows.map(({ name, columns }) => [name, new Set(columns.map((one) => one.name))]))
  const has = (table: string, columns: readonly string[]) =>
    columns.every((column) => readable.get(table)?.has(column) === true)
  return rows.map(({ name, comment, columns, primaryKey, foreignKeys, rowCount }) => {
    const links = (foreignKeys ?? []).filter(
      (key) => has(name, key.columns) && has(key.table, key.references),
    )
    return {
      name,
      columns: columns.map((column) => ({
        name: column.name,
        type: column.type,
        ...(column.comment ? { description: column.comment } : {}),
      })),
      ...(comment ? { description: comment } : {}),
      ...(primaryKey !== null && has(name, primaryKey) ? { primaryKey } : {}),
      ...(links.length > 0 ? { foreignKeys: links } : {}),
      ...(rowCount === null ? {} : { rowCount }),
    }
  })
}

/** Row estimates change with the server's maintenance, so they are not part of the shape. */
export function fingerprintOf(rows: readonly TableRow[]): Fingerprint {
  return {
    shape: digestOf(rows.map(({ rowCount: _, changes: __, ...shape }) => shape)),
    parts: Object.fromEntries(
      rows.map(({ name, changes, rowCount }) => [name, [changes ?? 0, rowCount ?? 0]]),
    ),
  }
}
