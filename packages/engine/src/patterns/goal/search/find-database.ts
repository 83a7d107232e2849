/** Which databases the SQL agent asks. A list that cannot be had fails no run: the answer reports it. */
import type { Context } from "../../../runtime/index.ts"
import { reportIncomplete, tried } from "../../failures.ts"
import type { BestDatabase, Database } from "../../ports.ts"
import type { SqlSearch } from "../goal-config.ts"
import { DATABASES } from "../triage.ts"
import type { DatabaseName } from "./search-plan.ts"

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
    if (named !== undefined) return databaseName(named)
    const best = await sql.databases.findBestDatabase(goal, { signal })
    return best === undefined ? null : { ...databaseName(best.database), failed: best.failed ?? [] }
  })
  if (!found.ok) {
    ctx.log("warn", `No database was found: ${found.reason}`)
    reportIncomplete(ctx, wanted ?? DATABASES, found.reason)
    return null
  }
  if (found.value === null) return null
  const { failed = [], ...database }: DatabaseName & Pick<BestDatabase, "failed"> = found.value
  for (const { source, reason } of failed) reportIncomplete(ctx, source, reason)
  return database
}

export async function csvDatabases(sql: SqlSearch, ctx: Context): Promise<readonly DatabaseName[]> {
  const found = await tried(ctx, "find the files", async () =>
    (await csvOf(sql, ctx.signal)).map(databaseName),
  )
  if (found.ok) return found.value
  ctx.log("warn", `The files cannot be listed: ${found.reason}`)
  reportIncomplete(ctx, "files", found.reason)
  return []
}

async function csvOf({ csv, databases }: SqlSearch, signal: AbortSignal): Promise<readonly Database[]> {
  if (csv !== undefined) return Array.isArray(csv) ? (csv as readonly Database[]) : [csv as Database]
  return (await databases.listDatabases({ signal })).filter(({ kind }) => kind === "csv")
}

/** The database of this id. Files come before databases of the same id. */
export async function openDatabase(sql: SqlSearch, id: string, signal: AbortSignal): Promise<Database> {
  const files = await csvOf(sql, signal)
  const found = files.find((one) => one.id === id) ?? (await databaseNamed(sql, id, signal))
  if (found === undefined) throw new Error(`there is no database "${id}" any more`)
  return found
}

async function databaseNamed(
  { databases }: SqlSearch,
  wanted: string,
  signal: AbortSignal,
): Promise<Database | undefined> {
  const known = await databases.listDatabases({ signal })
  return known.find(({ id }) => id === wanted) ?? known.find(({ name }) => name === wanted)
}

function databaseName({ id, name, kind }: Database): DatabaseName {
  return { id, name, kind }
}
