/** In which order the sources of a question are asked: the chosen one, the next best, then what the pipeline falls back to. */
import type { Database } from "../../ports.ts"
import { type GoalConfig, searchesGraph } from "../goal-config.ts"
import type { SearchChoice } from "../triage.ts"

/** A database as recorded in the journal; the one to query is found again by its id. */
export type DatabaseName = Pick<Database, "id" | "name" | "kind">

/** A source that may answer, the likeliest first. Documents and the graph are searched together. */
export type Candidate =
  | { readonly kind: "database"; readonly database: DatabaseName }
  | {
      readonly kind: "documents"
      /** They were chosen for the question: passages that are less sure to be about it count too. */
      readonly isChosen?: boolean | undefined
    }

export type Attempt =
  | Candidate
  /** The database of this id or name, or else the best one for the question. */
  | { readonly kind: "best database"; readonly wanted?: string | undefined }
  /** The files that are databases, whatever they have. */
  | { readonly kind: "files" }

export type SearchStage = "sql" | "csv" | "graph" | "vector"

/** Without candidates, a question for databases goes to one of them, the files and the documents, in this order. */
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

/** Where the next attempt is made; undefined after the last. A search for what is in files leaves the graph out. */
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
