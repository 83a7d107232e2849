/** One query on a DuckDB database that is open for reading only. Runs in a process of its own. */
import type { DuckDBConnection, DuckDBDataChunk, DuckDBValueConverter } from "@duckdb/node-api"
import type { Json } from "@superstep/engine"
import type { QueryResult } from "@superstep/engine/patterns"
import { BoundedRows, type KnownLimits } from "./bounded-rows.ts"
import { exactNumber } from "./exact-number.ts"

type DuckDb = typeof import("@duckdb/node-api")

/** What may not be asked; other errors are DuckDB's. */
export class Refusal extends Error {}

export async function runSelect(
  duckdb: DuckDb,
  connection: DuckDBConnection,
  sql: string,
  limits: KnownLimits,
): Promise<QueryResult> {
  const statements = await connection.extractStatements(sql)
  if (statements.count !== 1) throw new Refusal("only one statement can be run, and these are several")
  const prepared = await statements.prepare(0)
  try {
    if (prepared.statementType !== duckdb.StatementType.SELECT)
      throw new Refusal("only one SELECT can be run")
    if (prepared.parameterCount > 0) throw new Refusal("it has parameters: write the values themselves")
    const result = await prepared.stream()
    const bounded = new BoundedRows(limits)
    const toJson = jsonConverter(duckdb)
    while (!bounded.isCut) {
      const chunk = await result.fetchChunk()
      if (chunk === null || chunk.rowCount === 0) break
      take(chunk, bounded, toJson)
    }
    return { columns: result.columnNames(), rows: bounded.rows, isCut: bounded.isCut }
  } finally {
    prepared.destroySync()
  }
}

/** Row by row: a chunk may have far more than there is place for. */
function take(chunk: DuckDBDataChunk, bounded: BoundedRows, toJson: DuckDBValueConverter<Json>): void {
  for (let row = 0; row < chunk.rowCount; row += 1) {
    if (!bounded.add(chunk.convertRowValues(row, toJson))) return
  }
}

function jsonConverter(duckdb: DuckDb): DuckDBValueConverter<Json> {
  return (value, type, converter) => {
    if (typeof value === "bigint") return exactNumber(String(value))
    if (type.typeId === duckdb.DuckDBTypeId.FLOAT && typeof value === "number") return floatOf(value)
    if (value instanceof duckdb.DuckDBDecimalValue) return exactNumber(value.toString())
    return duckdb.JsonDuckDBValueConverter(value, type, converter as never) as Json
  }
}

/** The shortest number that is this FLOAT: 0.1 and not 0.10000000149011612. */
function floatOf(value: number): Json {
  if (!Number.isFinite(value)) return String(value)
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return Number(value.toPrecision(9))
}
