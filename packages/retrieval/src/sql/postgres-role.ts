/**
 * Who a database is asked as. A read-only transaction is no sandbox for a role with rights: so a role that can write,
 * read the server's files or run programs there, itself or through a role it may take on, is turned away.
 */
import { SuperstepError } from "@superstep/engine"

/** What a role can do that a reader should not, in words. */
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

const TOLD = 5

export function unsafeRole(id: string, { role, database, faults }: RoleFaults): SuperstepError {
  const more = faults.length > TOLD ? `; and ${faults.length - TOLD} more` : ""
  const message =
    `The role ${role} of the database ${id} can do more than read: it ${faults.slice(0, TOLD).join("; it ")}${more}. ` +
    `Queries that a model writes must run as a role that can only read. To make one:\n\n` +
    `${readerRole(database, faults)}\n\nThen log in as that role; or set \`allowUnsafeRole: true\`.`
  return new SuperstepError("DATABASE_ROLE_UNSAFE", message, { retryable: false })
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
    // Up to PostgreSQL 14 anyone may.
    ...(isOpen ? ["REVOKE CREATE ON SCHEMA public FROM PUBLIC;"] : []),
  ].join("\n")
}
