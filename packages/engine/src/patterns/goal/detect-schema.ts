/** Which database a goal is about. A failure is logged, and changes nothing. */
import type { Context } from "../../runtime/index.ts"
import type { Database, SchemaRetriever } from "../ports.ts"
import { tried } from "./recorded-try.ts"
import type { Triage } from "./triage.ts"

const PREFERRED: Readonly<Record<Database["kind"], string>> = {
  postgresql: "sql",
  csv: "csv",
  other: "vector",
}

export async function detectSchema(
  databases: SchemaRetriever,
  goal: string,
  triaged: Triage,
  ctx: Context,
): Promise<Triage> {
  const { signal } = ctx
  const detected = await tried(ctx, "detect the schema", async () => {
    const known = await databases.listDatabases({ signal })
    const best = await databases.findBestDatabase(goal, { signal })
    if (best === undefined) return { known: known.map(({ id }) => id), best: null }
    const { id, kind } = best.database
    return { known: known.map((one) => one.id), best: { id, kind, score: best.score, reason: best.reason } }
  })
  if (!detected.ok) {
    ctx.log("warn", `Schema detection failed: ${detected.reason}`)
    return triaged
  }
  const { known, best } = detected.value
  if (best === null) {
    ctx.log("info", "No database fits the goal.", { known })
    return triaged
  }
  ctx.log("info", `The database "${best.id}" fits the goal best: ${best.reason}`, { known, ...best })
  return {
    ...triaged,
    database_type: best.kind,
    database_id: best.id,
    preferred_agent: PREFERRED[best.kind],
  }
}
