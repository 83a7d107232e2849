/** Classifies a goal with the triage agent. */
import { z } from "zod"
import type { Context } from "../../runtime/index.ts"
import { reportIncomplete, tried } from "../failures.ts"
import type { Database, SchemaRetriever } from "../ports.ts"
import { askJson } from "./ask-agent.ts"
import { type GoalAgent, type GoalConfig, searchesGraph } from "./goal-config.ts"

const triageShape = z.object({
  intents: z.array(z.string()),
  confidence: z.number(),
  rationale: z.string(),
  targets: z.array(z.string()).optional(),
  database_type: z.string().optional(),
  database_id: z.string().optional(),
  preferred_agent: z.string().optional(),
})

export type Triage = Readonly<z.infer<typeof triageShape>> & {
  /** In a conversation: the source of the last answer, which is queried first. */
  readonly lastSource?: LastSource | undefined
}

/** The name of a database. Documents and graphs are searched together. */
export interface LastSource {
  readonly kind: "database" | "documents"
  readonly source: string
}

/** `sources` are the existing sources, one line each. */
export async function triage(
  agent: GoalAgent,
  goal: string,
  sources: readonly string[],
  ctx: Context,
): Promise<Triage> {
  const data = await askJson("Triage", agent, triagePrompt(goal, sources), ctx)
  // Models write null for fields that they leave open.
  const fields = Object.entries(data ?? {}).filter(([, value]) => value !== null)
  const read = triageShape.safeParse(data && Object.fromEntries(fields))
  if (read.success) return read.data
  ctx.log("warn", "The triage agent's answer is not the JSON that was asked for; the goal counts as unknown.")
  return { intents: ["unknown"], confidence: 0, rationale: "parse_error" }
}

function triagePrompt(goal: string, sources: readonly string[]): string {
  return [
    "Say what this goal is about.",
    'Answer with JSON alone: { "intents": [text, …], "confidence": 0 to 1, "rationale": text }.',
    "Intents: ai_search (it is to be looked up), multi (several assistants are to answer), unknown.",
    'Where you know it, add "database_id", "database_type" and "preferred_agent": sql, csv or vector.',
    ...(sources.length === 0 ? [] : ["", "Sources:", ...sources]),
    "",
    `Goal: ${goal}`,
  ].join("\n")
}

export function wantsDetection({ intents }: Triage): boolean {
  return intents.includes("ai_search") || intents.includes("unknown")
}

/** The source name for failures that do not belong to one database. */
export const DATABASES = "databases"

/** The agent for a database of this kind. */
export const PREFERRED: Readonly<Record<Database["kind"], string>> = {
  postgresql: "sql",
  mysql: "sql",
  sqlite: "sql",
  csv: "csv",
  other: "vector",
}

/** Finds the database for a goal. A database that fails does not fail the run: the answer reports it. */
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
    if (best === undefined) return { known: known.map(({ id }) => id), best: null, failed: [] }
    const { id, kind } = best.database
    const { score, reason, failed = [] } = best
    return { known: known.map((one) => one.id), best: { id, kind, score, reason }, failed }
  })
  if (!detected.ok) {
    ctx.log("warn", `Schema detection failed: ${detected.reason}`)
    reportIncomplete(ctx, DATABASES, detected.reason)
    return triaged
  }
  const { known, best, failed = [] } = detected.value
  for (const { source, reason } of failed) reportIncomplete(ctx, source, reason)
  if (best === null) {
    ctx.log("info", "No database matches the goal.", { known })
    return triaged
  }
  ctx.log("info", `The database "${best.id}" matches the goal best: ${best.reason}`, { known, ...best })
  return {
    ...triaged,
    database_type: best.kind,
    database_id: best.id,
    preferred_agent: PREFERRED[best.kind],
  }
}

export interface SearchChoice {
  readonly by: "sql" | "graph" | "vector"
  /** Absent: the SQL agent chooses a database itself. */
  readonly database?: string | undefined
}

export function chooseSearch(triage: Triage, config: GoalConfig): SearchChoice {
  const { preferred_agent: preferred, database_id: database } = triage
  const { sql, graph, useGraphSearch = true } = config
  if (sql !== undefined && (preferred === "sql" || preferred === "csv")) {
    return { by: "sql", ...(database !== undefined && { database }) }
  }
  // The graph does not contain the data of files.
  if (preferred === "csv") return { by: "vector" }
  return { by: graph !== undefined && useGraphSearch ? "graph" : "vector" }
}

/** The ids of the assistants that answer. */
export function chooseTargets({ intents }: Triage, config: GoalConfig): string[] {
  const ids = config.assistants.map(({ name }) => name)
  return intents.includes("multi") || config.multiRouteAlways === true ? ids : ids.slice(0, 1)
}

/** Plans the order in which the sources of a question are queried: the chosen one, the next best, then the fallbacks. */

/** A database as the journal records it. The database to query is found by its id. */
export type DatabaseName = Pick<Database, "id" | "name" | "kind">

/** A source that may answer, the most likely first. Documents and the graph are searched together. */
export type Candidate =
  | { readonly kind: "database"; readonly database: DatabaseName }
  | {
      readonly kind: "documents"
      /** The documents were chosen for the question, so less relevant passages count too. */
      readonly isChosen?: boolean | undefined
    }

export type Attempt =
  | Candidate
  /** The database of this id or name, or else the best one for the question. */
  | { readonly kind: "best database"; readonly wanted?: string | undefined }
  /** The files that are databases, whatever they have. */
  | { readonly kind: "files" }

export type SearchStage = "sql" | "csv" | "graph" | "vector"

/** Without candidates, a question for databases queries one of them, the files and the documents, in this order. */
export function searchPlan(
  { by, database: wanted }: SearchChoice,
  candidates: readonly Candidate[],
  { sql }: Pick<GoalConfig, "sql">,
): Attempt[] {
  const best: Attempt = { kind: "best database", ...(wanted !== undefined && { wanted }) }
  const documents = candidates.find(({ kind }) => kind === "documents") ?? { kind: "documents" }
  const others = candidates.filter((one) => one.kind !== "database" || one.database.id !== wanted)
  if (sql === undefined) return [documents]
  if (by === "sql") return distinct([best, ...others, { kind: "files" }, documents])
  return distinct([documents, ...(others.length > 0 ? others : [best])])
}

function distinct(attempts: readonly Attempt[]): Attempt[] {
  const keyOf = (one: Attempt) => (one.kind === "database" ? `database ${one.database.id}` : one.kind)
  return attempts.filter((one, i) => attempts.findIndex((other) => keyOf(other) === keyOf(one)) === i)
}

/** The stage of the next attempt. Undefined after the last. A search for data of files omits the graph. */
export function stageOf(
  [next]: readonly Attempt[],
  { by }: SearchChoice,
  config: GoalConfig,
): SearchStage | undefined {
  if (next === undefined) return undefined
  if (next.kind === "documents") return by !== "vector" && searchesGraph(config) ? "graph" : "vector"
  if (next.kind === "files") return "csv"
  return next.kind === "database" && next.database.kind === "csv" ? "csv" : "sql"
}
