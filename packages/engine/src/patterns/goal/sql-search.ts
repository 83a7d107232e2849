/**
 * The SQL agent: a model writes one SELECT over a database's schema, and what it gives is read as text. Nothing here fails
 * a run: what cannot be asked has no rows, and the trace says why.
 */
import type { Context } from "../../runtime/index.ts"
import { isNoFailure, messageOf } from "../failure.ts"
import { formatRows } from "../format-rows.ts"
import type { Database, QueryResult } from "../ports.ts"
import { askAgent, textOf } from "./ask-agent.ts"
import type { SqlSearch } from "./goal-config.ts"
import { reportIncomplete } from "./incomplete.ts"
import { tried } from "./recorded-try.ts"
import { schemaText } from "./schema-text.ts"
import { selectIn } from "./select-in.ts"

/** Rows that are read, and characters of a value. */
const MOST_ROWS = 20
const LONGEST_VALUE = 500

/** A database as it is on record; the one to ask is found again by its id. */
export type DatabaseName = Pick<Database, "id" | "name" | "kind">

/** Null: there is none. */
export async function databaseFor(
  sql: SqlSearch,
  goal: string,
  wanted: string | undefined,
  ctx: Context,
): Promise<DatabaseName | null> {
  const { signal } = ctx
  const found = await tried(ctx, "find the database", async () => {
    const named = wanted === undefined ? undefined : await databaseNamed(sql, wanted, signal)
    const database = named ?? (await sql.databases.findBestDatabase(goal, { signal }))?.database
    return database === undefined ? null : nameOf(database)
  })
  if (!found.ok) {
    ctx.log("warn", `No database was found: ${found.reason}`)
    reportIncomplete(ctx, wanted ?? "databases", found.reason)
  }
  return found.ok ? found.value : null
}

/** Those of the files that are asked, the preferred one first. */
export async function csvDatabases(
  sql: SqlSearch,
  preferred: string | undefined,
  ctx: Context,
): Promise<readonly DatabaseName[]> {
  const found = await tried(ctx, "find the files", async () => {
    const known = await csvOf(sql, ctx.signal)
    const first = preferred === undefined ? undefined : await databaseWith(sql, preferred, ctx.signal)
    const others = known.filter(({ id }) => id !== first?.id)
    return [...(first === undefined ? [] : [first]), ...others].map(nameOf)
  })
  if (!found.ok) {
    ctx.log("warn", `The files cannot be listed: ${found.reason}`)
    reportIncomplete(ctx, "files", found.reason)
  }
  return found.ok ? found.value : []
}

/** What the database says to the goal; undefined where it has nothing. */
export async function askDatabase(
  sql: SqlSearch,
  database: DatabaseName,
  goal: string,
  ctx: Context,
): Promise<string | undefined> {
  const { id, name, kind } = database
  const { signal } = ctx
  const open = async () => {
    const opened = await databaseWith(sql, id, signal)
    if (opened === undefined) throw new Error(`there is no database "${id}" any more`)
    return opened
  }
  const nothing = (reason: string) => ctx.log("info", `"${name}" has nothing: ${reason}`, { database: id })

  const schema = await tried(ctx, `schema of ${id}`, async () =>
    schemaText(await (await open()).schema({ signal }), goal),
  )
  const failed = (reason: string) => {
    nothing(reason)
    reportIncomplete(ctx, name, reason)
  }
  if (!schema.ok) return void failed(`its schema cannot be read: ${schema.reason}`)
  if (schema.value === "") return void nothing("it has no tables")

  const written = await writeSelect(sql, database, schema.value, goal, ctx)
  if (!written.ok) return void (written.isFailure ? failed : nothing)(written.reason)
  let statement = written.value

  const query = (key: string) =>
    tried(ctx, key, async (): Promise<QueryResult> => {
      const { columns, rows, isCut } = await (await open()).query(statement, { rows: MOST_ROWS, signal })
      return { columns, rows: rows.slice(0, MOST_ROWS), isCut: isCut || rows.length > MOST_ROWS }
    })
  let result = await query(`query ${id}`)
  if (!result.ok) {
    // Once: the server says what is wrong, and often how to write it.
    const problem = `This query failed:\n${statement}\nThe database says: ${result.reason}\nWrite it correctly.`
    const again = await writeSelect(sql, database, schema.value, goal, ctx.scope("corrected"), problem)
    if (again.ok && again.value !== statement) {
      statement = again.value
      result = await query(`corrected query ${id}`)
    }
  }
  if (!result.ok) return void failed(`the query failed: ${result.reason} The query was: ${statement}`)
  const { rows, isCut } = result.value
  if (rows.length === 0) {
    return void nothing(`${isCut ? "the result is too large" : "no rows"} for: ${statement}`)
  }
  ctx.log("info", `"${name}" answered with ${rows.length === 1 ? "a row" : `${rows.length} rows`}.`, {
    database: id,
    sql: statement,
    rows: rows.length,
  })
  const text = formatRows(result.value, { rows: MOST_ROWS, characters: LONGEST_VALUE })
  return `Source: ${name} (${kind})\nSQL: ${statement.replace(/\s+/g, " ")}\n\n${text}`
}

/** A model that finds nothing to ask for has answered; one that cannot be asked has failed. */
type Written =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly reason: string; readonly isFailure?: boolean }

async function writeSelect(
  { agent }: SqlSearch,
  { kind }: DatabaseName,
  schema: string,
  goal: string,
  ctx: Context,
  problem?: string,
): Promise<Written> {
  let answer: string
  try {
    answer = textOf(await askAgent("SQL", agent, selectPrompt(kind, schema, goal, problem), ctx))
  } catch (error) {
    if (isNoFailure(error, ctx)) throw error
    return { ok: false, isFailure: true, reason: messageOf(error) }
  }
  const value = selectIn(answer)
  return value === undefined ? { ok: false, reason: "no SELECT was written for it" } : { ok: true, value }
}

function selectPrompt(kind: Database["kind"], schema: string, goal: string, problem?: string): string {
  const dialect = kind === "postgresql" ? "PostgreSQL" : kind === "csv" ? "DuckDB" : "SQL"
  return [
    `Write one SELECT (${dialect}) that finds what the goal asks for, and nothing else: no explanation.`,
    `At most ${MOST_ROWS} rows are read. If these tables cannot have it, answer NONE.`,
    "",
    `Tables:\n${schema}`,
    "",
    `Goal: ${goal}`,
    ...(problem === undefined ? [] : ["", problem]),
  ].join("\n")
}

async function csvOf({ csv, databases }: SqlSearch, signal: AbortSignal): Promise<readonly Database[]> {
  if (csv !== undefined) return Array.isArray(csv) ? (csv as readonly Database[]) : [csv as Database]
  return (await databases.listDatabases({ signal })).filter(({ kind }) => kind === "csv")
}

/** Files come before databases of the same id. */
async function databaseWith(sql: SqlSearch, id: string, signal: AbortSignal): Promise<Database | undefined> {
  return (await csvOf(sql, signal)).find((one) => one.id === id) ?? (await databaseNamed(sql, id, signal))
}

async function databaseNamed(
  { databases }: SqlSearch,
  wanted: string,
  signal: AbortSignal,
): Promise<Database | undefined> {
  const known = await databases.listDatabases({ signal })
  return known.find(({ id }) => id === wanted) ?? known.find(({ name }) => name === wanted)
}

function nameOf({ id, name, kind }: Database): DatabaseName {
  return { id, name, kind }
}
