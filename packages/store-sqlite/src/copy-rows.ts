/** Copies rows from one file to another, column by column, as they are. They are to be checked before. */
import type { Database, Value } from "./driver.ts"

export function copier(
  from: Database,
  to: Database,
  table: string,
  condition: string,
  columns: readonly string[],
): (...values: Value[]) => void {
  const find = from.prepare(`SELECT ${columns.join(", ")} FROM ${table} WHERE ${condition}`)
  const places = columns.map(() => "?").join(", ")
  const add = to.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`)
  return (...values) => {
    for (const row of find.all(...values) as Record<string, Value>[]) {
      add.run(...columns.map((column) => row[column] ?? null))
    }
  }
}
