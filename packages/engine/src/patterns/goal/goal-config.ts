/** The configuration of the goal pipeline: its agents, its sources, and its limits. */
import { SuperstepError } from "../../core/index.ts"
import type { Callable } from "../../runtime/index.ts"
import type { Database, Retriever, SchemaRetriever, SourceRanker } from "../ports.ts"

/** An agent, or any workflow from a string to a string. */
export type GoalAgent = Callable<string, unknown>

/** A retriever, or an agent that searches by itself and answers with its findings. */
export type GoalSearch = Retriever | GoalAgent

export interface GoalConfig {
  /** The workflow's name. Default `sequential-goal`. */
  readonly name?: string | undefined
  /** Classifies a goal. */
  readonly triage: GoalAgent
  /** The agents that answer. A goal with several intents is answered by all, in this order; any other by the first. */
  readonly assistants: readonly GoalAgent[]
  readonly reviewer: GoalAgent
  /** Databases for schema detection. Default: those of `sql`. */
  readonly databases?: SchemaRetriever | undefined
  /** Ranks sources of all kinds, instead of schema detection. The triage agent chooses among the best. */
  readonly ranker?: SourceRanker | undefined
  readonly sql?: SqlSearch | undefined
  readonly graph?: GoalSearch | undefined
  /** Writes Cypher for the graph, if the graph accepts queries. Absent: the graph is only searched. */
  readonly cypher?: GoalAgent | undefined
  /** False disables the search of the graph. Default true. */
  readonly useGraphSearch?: boolean | undefined
  readonly vector?: GoalSearch | undefined
  /** Maximum results of a search of the graph or the index. Default 10. */
  readonly results?: number | undefined
  /** Sends every goal to all assistants. */
  readonly multiRouteAlways?: boolean | undefined
  /** Maximum reviews of an answer. Default 1; 0 disables reviews. */
  readonly maxReviewPasses?: number | undefined
}

export interface SqlSearch {
  /** Writes the SELECT. */
  readonly agent: GoalAgent
  readonly databases: SchemaRetriever
  /** Files to query if the database has no answer. Default: the CSV databases of `databases`. */
  readonly csv?: Database | readonly Database[] | undefined
  /** Searched if the files have no answer either. Default: the pipeline's own. */
  readonly vector?: GoalSearch | undefined
}

export function isRetriever(search: GoalSearch): search is Retriever {
  return "search" in search && typeof search.search === "function"
}

export function searchesGraph({ graph, useGraphSearch = true }: GoalConfig): boolean {
  return graph !== undefined && useGraphSearch
}

export function checkGoalConfig(config: GoalConfig): void {
  const { triage, assistants, reviewer, maxReviewPasses = 1, results = 10 } = config
  const refuse = (reason: string) => new SuperstepError("GOAL_INVALID", reason, { retryable: false })
  if (triage === undefined) throw refuse("The goal pipeline needs a triage agent: { triage }.")
  if (reviewer === undefined) throw refuse("The goal pipeline needs a reviewer: { reviewer }.")
  if (!Array.isArray(assistants) || assistants.length === 0) {
    throw refuse("The goal pipeline needs at least one assistant: { assistants: [agent] }.")
  }
  const byName = new Map<string, GoalAgent>()
  for (const agent of assistants as readonly GoalAgent[]) {
    const other = byName.get(agent.name)
    if (other !== undefined && other !== agent) {
      throw refuse(`Two assistants have the name "${agent.name}"; answers are distinguished by name.`)
    }
    byName.set(agent.name, agent)
  }
  if (!isCount(maxReviewPasses, 0)) {
    throw refuse(`maxReviewPasses must be a whole number of at least 0, not ${maxReviewPasses}.`)
  }
  if (!isCount(results, 1)) throw refuse(`results must be a whole number of at least 1, not ${results}.`)
}

function isCount(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least
}
