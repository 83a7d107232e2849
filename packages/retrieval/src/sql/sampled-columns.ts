/** Which columns a profile looks into, and how. Columns that are excluded or named like a secret are never read. */
import type { Column, Table } from "@superstep/engine/patterns"
import { isSecretName } from "@superstep/engine/text"
import { invalidOption } from "../errors.ts"

type ColumnKind = "text" | "label" | "number" | "date"

export interface SampledColumn {
  readonly column: Column
  /** A `label` is short by its type, such as an enumeration; a `text` is cut while it is read. */
  readonly kind: ColumnKind
}

const TEXT = /^(?:character|varchar|char\b|bpchar|text|citext|name$|string|"?char"?$)/i
const NUMBER = /^(?:u?(?:tiny|small|big|huge)?int|integer|numeric|decimal|real|double|float|money)/i
const DATE = /^(?:date|timestamp|datetime)/i
/** Large, or without a meaning of their own. */
const SKIPPED =
  /\[\]|^(?:array|bit|blob|boolean|bool\b|box|bytea|circle|geography|geometry|hstore|int\d+range|interval|json|line|list|lseg|map|oid|path|pg_|point|polygon|struct|time\b|ts(?:query|vector|tz?range)|union|uuid|varbinary|vector|xml)/i

function kindOf({ type }: Column): ColumnKind | undefined {
  if (SKIPPED.test(type)) return undefined
  if (TEXT.test(type)) return "text"
  if (NUMBER.test(type)) return "number"
  return DATE.test(type) ? "date" : "label"
}

export type IsExcluded = (table: string, column: string) => boolean

/** Patterns like `patients.ssn`, `hr.staff.pay` and `*.password`; a `*` stands for any part of a name. */
export function excludedColumns(patterns: readonly string[] = []): IsExcluded {
  const tests = patterns.map((pattern) => {
    if (!/^[^.]+(?:\.[^.]+){1,2}$/.test(pattern)) {
      throw invalidOption(
        `A column is excluded as table.column or schema.table.column, such as "*.${pattern.replaceAll(".", "") || "password"}", and not as "${pattern}".`,
      )
    }
    const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    return new RegExp(`^(?:[^.]*\\.)?${parts.join("[^.]*")}$`, "iu")
  })
  return (table, column) => {
    const name = [...namePart(table), unquoted(column).replaceAll(".", "_")].join(".")
    return isSecretName(unquoted(column)) || tests.some((test) => test.test(name))
  }
}

/** The columns to read, in their order. */
export function sampledColumns(table: Table, isExcluded: IsExcluded, most: number): SampledColumn[] {
  const sampled: SampledColumn[] = []
  for (const column of table.columns) {
    const kind = kindOf(column)
    if (kind === undefined || isExcluded(table.name, column.name)) continue
    sampled.push({ column, kind })
    if (sampled.length === most) break
  }
  return sampled
}

/** The schema, if it is named, and the table; without quotes. */
function namePart(table: string): string[] {
  const parts = table.match(/"(?:[^"]|"")*"|[^."]+/g) ?? [table]
  return parts.map((part) => unquoted(part).replaceAll(".", "_"))
}

function unquoted(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name
}
