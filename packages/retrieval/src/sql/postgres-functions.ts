/**
 * Checks which functions a query may reach. Its references (postgres-references.ts) are looked up in the server's catalog
 * before the server sees the query, because planning would already execute functions that are marked IMMUTABLE.
 *
 * F1 PostgreSQL's own functions may be called, except those with side effects, those that execute SQL from a string, and
 *    those that are VOLATILE and not known to be harmless.
 * F2 Functions of extensions may be called if they are STABLE or IMMUTABLE and not SECURITY DEFINER.
 * F3 The user must allow every other function, including those that an operator, a cast or a domain's check calls.
 * F4 Overloads are not resolved here: if any function that matches the name, the number of arguments and the types in the
 *    query is not allowed, the query is refused. Functions that views, row-level security policies and generated columns
 *    call are the responsibility of their author.
 */
import type { Client } from "pg"
import type { References } from "./postgres-references.ts"
import { refused } from "./queries.ts"

/** Functions that a role without rights can call and must not, whatever their volatility. */
const REFUSED = `^(?:${[
  // The session's own limits and role.
  "set_config",
  // Other sessions.
  "pg_(?:terminate|cancel)_backend|pg_notify|pg_(?:try_)?advisory_\\w+|pg_export_snapshot|pg_log_backend\\w*",
  // SQL in a string, which cannot be checked.
  "query_to_xml\\w*|cursor_to_xml\\w*|(?:table|schema|database)_to_xml\\w*|ts_stat|ts_rewrite|crosstab\\w*|connectby|xpath_table",
  // A type named in a string, whose checks would run.
  "pg_input_is_valid|pg_input_error_info",
  // Files, programs, other servers.
  "lo_\\w+|lowrite|loread|pg_read_\\w*file|pg_ls_\\w+|pg_stat_file|pg_file_\\w+|dblink\\w*|pg_current_logfile",
  // The server's log and replication.
  "pg_logical_\\w+|pg_replication_\\w+|pg_create_\\w+|pg_drop_\\w+|pg_copy_\\w+_slot|pg_backup_\\w+|pg_switch_wal",
  "pg_reload_conf|pg_rotate_logfile|pg_promote|pg_wal_replay_\\w+|pg_stat_(?:\\w+_)?reset\\w*|pg_prewarm|autoprewarm\\w*",
  "pg_(?:clear|restore)_\\w+_stats|txid_current|pg_current_xact_id|nextval|setval",
].join("|")})$`
const REFUSED_NAME = new RegExp(REFUSED)

/** VOLATILE functions of PostgreSQL that only read: time, randomness, sizes and states. */
const HARMLESS =
  `array_sample array_shuffle clock_timestamp current_query currval gen_random_uuid lastval pg_blocking_pids
  pg_database_size pg_indexes_size pg_is_in_recovery pg_last_xact_replay_timestamp pg_partition_ancestors pg_partition_tree
  pg_relation_size pg_sequence_last_value pg_sleep pg_sleep_for pg_sleep_until pg_table_size pg_tablespace_size
  pg_total_relation_size pg_xact_commit_timestamp random random_normal setseed timeofday uuidv4 uuidv7`.split(
    /\s+/,
  )

/** An early check of the text alone. The catalog decides about all other functions. */
export function whyRefusedInPostgres(name: string, allowed: readonly string[]): string | undefined {
  const isAllowed = allowed.some((one) => one.endsWith(`.${name}`))
  if (isAllowed || !REFUSED_NAME.test(name)) return undefined
  return "it has side effects, or executes a string"
}

/** Objects with a lower OID were created by initdb. */
const FIRST_OWN = 16_384

/**
 * $1 are the references, $2 the search path, $3 allowed functions, $4 refused names, $5 harmless volatile functions.
 *
 * `named` are types that the query names, `present` those that its values can have, each with all its component types;
 * `filled` are those inside arrays and rows, where a plain string is parsed as such a value ('{x}', '(1,x)'). An operand
 * that is a plain string may have any type, unless PostgreSQL prefers an operator: one on the type of the other operand,
 * or on text.
 */
const UNALLOWED = `
WITH RECURSIVE functions AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb -> 'functions') AS f(schema text, name text, args int)
), attributes AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb -> 'attributes') AS a(alias text, name text, "isTable" boolean)
), operators AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb -> 'operators')
    AS o(schema text, name text, "left" boolean, "right" boolean)
), barred AS MATERIALIZED (
  SELECT p.oid, n.nspname AS schema, p.proname AS name, p.pronargs AS args, p.pronargdefaults AS defaults,
    p.provariadic <> 0 AS variadic, p.proargtypes[0] AS first, p.prosecdef, p.provolatile
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
  WHERE (p.oid >= ${FIRST_OWN} OR p.proname IN (SELECT name FROM functions UNION SELECT name FROM attributes)
      OR p.oid IN (SELECT oprcode FROM pg_operator WHERE oid >= ${FIRST_OWN}
        UNION SELECT castfunc FROM pg_cast WHERE oid >= ${FIRST_OWN}))
    AND NOT n.nspname || '.' || p.proname = ANY ($3::text[])
    AND has_function_privilege(p.oid, 'EXECUTE')
    AND (p.proname ~ $4 OR CASE WHEN p.oid < ${FIRST_OWN}
      THEN (p.provolatile = 'v' AND NOT p.proname = ANY ($5::text[]))
        OR p.proargtypes::oid[] && ARRAY['internal'::regtype::oid, 'cstring'::regtype::oid]
      ELSE p.prosecdef OR p.provolatile = 'v' OR NOT EXISTS (SELECT FROM pg_depend d
        WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') END)
), relations AS MATERIALIZED (
  SELECT c.oid, c.reltype, r.alias
  FROM jsonb_to_recordset($1::jsonb -> 'relations') AS r(schema text, name text, alias text)
    JOIN pg_class c ON c.relname = r.name JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE CASE WHEN r.schema IS NULL THEN n.nspname = ANY ($2::text[]) ELSE n.nspname = r.schema END
), parts AS MATERIALIZED (
  SELECT oid AS whole, typbasetype AS part FROM pg_type WHERE typtype = 'd' AND oid >= ${FIRST_OWN}
  UNION SELECT oid, typelem FROM pg_type WHERE typelem <> 0 AND typlen = -1 AND oid >= ${FIRST_OWN}
  UNION SELECT t.oid, a.atttypid FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid
    WHERE t.typtype = 'c' AND a.attnum > 0 AND NOT a.attisdropped AND a.attrelid >= ${FIRST_OWN}
  UNION SELECT rngtypid, rngsubtype FROM pg_range WHERE rngtypid >= ${FIRST_OWN}
  UNION SELECT c.contypid, d.refobjid FROM pg_constraint c JOIN pg_depend d ON d.classid = 'pg_constraint'::regclass
    AND d.objid = c.oid AND d.refclassid = 'pg_type'::regclass WHERE c.contypid <> 0
), named(oid) AS (
  SELECT t.oid FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace JOIN (
      SELECT schema, name FROM jsonb_to_recordset($1::jsonb -> 'types') AS y(schema text, name text)
      UNION SELECT NULL, name FROM attributes WHERE alias IS NULL) y ON t.typname = y.name
    WHERE CASE WHEN y.schema IS NULL THEN n.nspname = ANY ($2::text[]) ELSE n.nspname = y.schema END
  UNION SELECT p.part FROM named JOIN parts p ON p.whole = named.oid
), present(oid) AS (
  SELECT oid FROM named
  UNION SELECT a.atttypid FROM relations r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0
  UNION SELECT r.reltype FROM relations r WHERE r.alias IN (
      SELECT jsonb_array_elements_text($1::jsonb -> 'rows'))
    OR EXISTS (SELECT FROM attributes a WHERE a.alias = r.alias AND NOT EXISTS (
      SELECT FROM pg_attribute c WHERE c.attrelid = r.oid AND c.attname = a.name AND NOT c.attisdropped))
  UNION SELECT unnest(p.prorettype || coalesce(p.proallargtypes, '{}')) FROM functions f JOIN pg_proc p
    ON p.proname = f.name AND p.oid >= ${FIRST_OWN}
  UNION SELECT p.part FROM present JOIN parts p ON p.whole = present.oid
), filled(oid) AS (
  SELECT p.part FROM present JOIN parts p ON p.whole = present.oid JOIN pg_type t ON t.oid = p.whole
    WHERE t.typtype <> 'd' AND ($1::jsonb ->> 'hasLiterals')::boolean
  UNION SELECT p.part FROM filled JOIN parts p ON p.whole = filled.oid
), types AS MATERIALIZED (
  SELECT t.oid, t.oid IN (SELECT oid FROM named) AS is_named,
    t.oid < ${FIRST_OWN} OR t.oid IN (SELECT oid FROM present) AS is_present
  FROM pg_type t
), unallowed AS (
  SELECT 1 AS place, b.oid, 'call' AS via, b.name::text AS text FROM functions f JOIN barred b ON b.name = f.name
    WHERE CASE WHEN f.schema IS NULL THEN b.schema = ANY ($2::text[]) ELSE b.schema = f.schema END
      AND (f.args IS NULL OR f.args >= b.args - b.defaults - b.variadic::int AND (f.args <= b.args OR b.variadic))
  UNION ALL SELECT 2, b.oid, 'attribute', b.name::text FROM attributes a JOIN barred b ON b.name = a.name
    JOIN pg_type t ON t.oid = b.first LEFT JOIN pg_type base ON base.oid = t.typbasetype
    WHERE b.schema = ANY ($2::text[])
      AND (b.args - b.defaults - b.variadic::int) <= 1 AND b.args >= 1
      AND (t.typtype = 'p' OR t.oid = 'record'::regtype OR CASE WHEN a.alias IS NULL
        THEN NOT EXISTS (SELECT FROM pg_attribute c
          WHERE c.attrelid = t.typrelid AND t.typrelid <> 0 AND c.attname = a.name AND NOT c.attisdropped)
        ELSE 'c' IN (t.typtype, base.typtype) AND (NOT a."isTable"
          OR NOT EXISTS (SELECT FROM relations r WHERE r.alias = a.alias) OR EXISTS (SELECT FROM relations r WHERE r.alias = a.alias AND NOT EXISTS (SELECT FROM pg_attribute c
            WHERE c.attrelid = r.oid AND c.attname = a.name AND NOT c.attisdropped))) END)
  UNION ALL SELECT 3, b.oid, 'operator', o.oprname::text FROM operators u
    JOIN pg_operator o ON o.oprname = u.name JOIN pg_namespace n ON n.oid = o.oprnamespace
    JOIN barred b ON b.oid = o.oprcode
    LEFT JOIN types l ON l.oid = o.oprleft LEFT JOIN types r ON r.oid = o.oprright
    WHERE CASE WHEN u.schema IS NULL THEN n.nspname = ANY ($2::text[]) ELSE n.nspname = u.schema END
      AND o.oid >= ${FIRST_OWN} AND (coalesce(l.is_present, true) OR u."left") AND (coalesce(r.is_present, true) OR u."right")
      AND (coalesce(l.is_present AND r.is_present, true) OR u.schema IS NOT NULL OR NOT EXISTS (
        SELECT FROM pg_operator s WHERE s.oprname = o.oprname AND s.oid < ${FIRST_OWN} AND s.oprleft = s.oprright
          AND s.oprleft = CASE WHEN u."left" AND u."right" THEN 'text'::regtype WHEN u."left" THEN o.oprright ELSE o.oprleft END))
  UNION ALL SELECT 4, b.oid, 'cast', format_type(c.castsource, NULL) || ' to ' || format_type(c.casttarget, NULL)
    FROM pg_cast c JOIN barred b ON b.oid = c.castfunc
    JOIN types s ON s.oid = c.castsource JOIN types t ON t.oid = c.casttarget
    WHERE c.oid >= ${FIRST_OWN} AND s.is_present AND t.is_present
      AND (c.castcontext = 'i' OR t.is_named OR c.casttarget IN ('text'::regtype, 'json'::regtype, 'jsonb'::regtype))
  UNION ALL SELECT 5, b.oid, 'type', format_type(c.contypid, NULL)
    FROM (SELECT oid FROM named UNION SELECT oid FROM filled) reached
    JOIN pg_constraint c ON c.contypid = reached.oid
    JOIN pg_depend d ON d.classid = 'pg_constraint'::regclass AND d.objid = c.oid
    LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
    JOIN barred b ON b.oid = CASE WHEN d.refclassid = 'pg_proc'::regclass THEN d.refobjid ELSE o.oprcode END
  UNION ALL SELECT 5, b.oid, 'type', format_type(t.oid, NULL) FROM named JOIN pg_type t ON t.oid = named.oid
    JOIN barred b ON b.oid = t.typinput WHERE t.oid >= ${FIRST_OWN} AND t.typinput >= ${FIRST_OWN}
)
SELECT u.via, u.text, u.oid::regprocedure::text AS signature, b.schema || '.' || b.name AS name,
  u.oid < ${FIRST_OWN} AS "isBuiltIn", b.prosecdef AS "hasOwnerRights", b.provolatile = 'v' AS "isVolatile",
  EXISTS (SELECT FROM pg_proc s WHERE s.proname = b.name AND s.oid < ${FIRST_OWN}) AS "hasNamesake"
FROM unallowed u JOIN barred b ON b.oid = u.oid ORDER BY u.place, u.oid LIMIT 1`

interface Unallowed {
  readonly via: "call" | "attribute" | "operator" | "cast" | "type"
  /** The function's name, the operator, the cast or the type. */
  readonly text: string
  readonly signature: string
  readonly name: string
  readonly isBuiltIn: boolean
  readonly hasOwnerRights: boolean
  readonly isVolatile: boolean
  readonly hasNamesake: boolean
}

const VIA_PHRASES: Record<Unallowed["via"], (text: string) => string> = {
  call: () => "",
  attribute: (text) => `, which .${text} calls,`,
  operator: (text) => `, which the operator ${text} can call,`,
  cast: (text) => `, which a cast from ${text} calls,`,
  type: (text) => `, which values of the type ${text} call,`,
}

const SETTINGS = `SELECT pg_catalog.current_schemas(true)::pg_catalog.text[] AS path,
  pg_catalog.current_setting('search_path') AS setting, pg_catalog.current_setting('jit') AS jit`
const SET = "SELECT pg_catalog.set_config('search_path', $1, true), pg_catalog.set_config('jit', $2, true)"

/** Throws if the query could reach a function that is not allowed. Restores the settings. */
export async function checkFunctions(
  client: Client,
  references: References,
  id: string,
  allowed: readonly string[],
): Promise<void> {
  const before = await client.query<{ path: string[]; setting: string; jit: string }>(SETTINGS)
  const { path, setting, jit } = before.rows[0] as (typeof before.rows)[number]
  // The built-in query must not resolve to the user's functions or operators, and is not worth JIT compilation.
  await client.query(SET, ["pg_catalog", "off"])
  const { rows } = await client.query<Unallowed>(UNALLOWED, [
    JSON.stringify(references),
    path,
    allowed,
    REFUSED,
    HARMLESS,
  ])
  await client.query(SET, [setting, jit])
  const [unallowed] = rows
  if (unallowed !== undefined) throw refused(whyUnallowed(unallowed, id))
}

function whyUnallowed(unallowed: Unallowed, id: string): string {
  const { via, text, signature, name, isBuiltIn, hasNamesake } = unallowed
  const instead =
    via === "call" && !isBuiltIn && hasNamesake
      ? `. PostgreSQL's own function of that name is pg_catalog.${text}(…)`
      : ""
  return (
    `the function ${signature}${VIA_PHRASES[via](text)} is not allowed: ${reasonOf(unallowed)}. ` +
    `To allow it, add "${name}" to \`allow_functions\` of the database ${id} in the goal file, or to ` +
    `\`allowFunctions\` in code${instead}`
  )
}

function reasonOf({ isBuiltIn, hasOwnerRights, isVolatile }: Unallowed): string {
  if (isBuiltIn) return "it has side effects, executes a string, or is VOLATILE and not known to be harmless"
  if (hasOwnerRights) return "it runs with the rights of its owner (SECURITY DEFINER)"
  if (isVolatile) return "it may have side effects (VOLATILE)"
  return "it is neither PostgreSQL's own nor an extension's"
}
