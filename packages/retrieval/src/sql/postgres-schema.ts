/** The tables that a role may read, named as a query names them, with what comments say about them. */
import type { Table } from "@superstep/engine/patterns"

export const READABLE_TABLES = `
SELECT
  CASE WHEN pg_table_is_visible(c.oid) THEN quote_ident(c.relname)
    ELSE quote_ident(n.nspname) || '.' || quote_ident(c.relname) END AS name,
  obj_description(c.oid, 'pg_class') AS comment,
  (SELECT coalesce(json_agg(json_build_object('name', quote_ident(a.attname),
      'type', format_type(a.atttypid, a.atttypmod), 'comment', col_description(c.oid, a.attnum))
      ORDER BY a.attnum), '[]')
    FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND has_column_privilege(c.oid, a.attnum, 'SELECT')) AS columns
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
}

export function tableOf({ name, comment, columns }: TableRow): Table {
  const told = columns.flatMap((column) => (column.comment ? [`${column.name}: ${column.comment}`] : []))
  const description = [...(comment ? [comment] : []), ...told].join("\n")
  return {
    name,
    columns: columns.map((column) => ({ name: column.name, type: column.type })),
    ...(description === "" ? {} : { description }),
  }
}
