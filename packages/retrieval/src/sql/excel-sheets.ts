/** The sheets of an Excel workbook as CSV files, for DuckDB to read. Runs in DuckDB's process: a workbook can be a zip bomb. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Source } from "./duckdb-child.ts"

interface Sheet {
  readonly sheet: string
  readonly data: readonly (readonly unknown[])[]
}

type ReadWorkbook = (path: string) => Promise<readonly Sheet[]>

const MAX_SHEETS = 100

/** The first sheet with cells is a table with the file's name; the others add their own. */
export async function sheetsOf(
  { path, table }: Pick<Source, "path" | "table">,
  folder: string,
): Promise<readonly Pick<Source, "path" | "table">[]> {
  // Not by a name that bundlers see: the package is optional, and the parent has made sure that it is installed.
  const name = "read-excel-file/node"
  const { default: read } = (await import(
    /* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name
  )) as { default: ReadWorkbook }
  const sheets = (await read(path)).filter(({ data }) => data.some((row) => row.some(hasValue)))
  if (sheets.length === 0) throw new Error("no sheet has cells")
  const taken = new Set<string>()
  const written = []
  for (const [i, { sheet, data }] of sheets.slice(0, MAX_SHEETS).entries()) {
    let own = i === 0 ? table : `${table}_${plain(sheet)}`
    for (let n = 2; taken.has(own); n += 1) own = `${table}_${plain(sheet)}_${n}`
    taken.add(own)
    const file = join(folder, `${own}.sheet.csv`)
    const rows = data.filter((row) => row.some(hasValue))
    await writeFile(file, rows.map((row) => `${row.map(cellText).join(",")}\n`).join(""))
    written.push({ path: file, table: own })
  }
  return written
}

function hasValue(value: unknown): boolean {
  return value !== null && value !== undefined && value !== ""
}

function plain(name: string): string {
  return name
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_|_$/g, "")
}

function cellText(value: unknown): string {
  if (!hasValue(value)) return ""
  // Workbooks have no time zones: a day is one that begins at midnight.
  if (value instanceof Date)
    return value
      .toISOString()
      .replace(/T00:00:00\.000Z$/, "")
      .replace(/\.000Z$/, "")
  return typeof value === "string" ? `"${value.replaceAll('"', '""')}"` : String(value)
}
