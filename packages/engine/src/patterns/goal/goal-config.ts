/** What the goal pipeline is made of: its agents, where it looks things up, and how far it goes. */
import { SuperstepError } from "../../core/index.ts"
import type { Callable } from "../../runtime/index.ts"
import type { Database, Retriever, SchemaRetriever, SourceRanker } from "../ports.ts"

/** An agent, or any workflow from a string to a string. */
export type GoalAgent = Callable<string, unknown>

/** A collection that is searched, or an agent that searches by itself and answers with what it found. */
export type GoalSearch = Retriever | GoalAgent

export interface GoalConfig {
  /** The workflow's name. Default `sequential-goal`. */
  readonly name?: string | undefined
  /** Says what a goal is about. */
  readonly triage: GoalAgent
  /** The agents that answer. A goal for several of them is answered by all, in this order; any other by the first. */
  readonly assistants: readonly GoalAgent[]
  readonly reviewer: GoalAgent
  /** Databases for schema detection. Default: those of `sql`. */
  readonly databases?: SchemaRetriever | undefined
  /** Ranks sources of all kinds, in place of schema detection. The triage agent chooses among the best. */
  readonly ranker?: SourceRanker | undefined
  readonly sql?: SqlSearch | undefined
  readonly graph?: GoalSearch | undefined
  /** Writes Cypher over the graph, where the graph takes queries. Absent: the graph is searched only. */
  readonly cypher?: GoalAgent | undefined
  /** False: the graph is there and is not searched. Default true. */
  readonly useGraphSearch?: boolean | undefined
  readonly vector?: GoalSearch | undefined
  /** Maximum results of a search of the graph or the index. Default 10. */
  readonly results?: number | undefined
  /** Every goal goes to all assistants. */
  readonly multiRouteAlways?: boolean | undefined
  /** Maximum reviews of an answer. Default 1; 0: answers are not reviewed. */
  readonly maxReviewPasses?: number | undefined
}

export interface SqlSearch {
  /** Writes the SELECT. */
  readonly agent: GoalAgent
  readonly databases: SchemaRetriever
  /** Files that are asked when the database has nothing. Default: the CSV databases of `databases`. */
  readonly csv?: Database | readonly Database[] | undefined
  /** Searched when the files have nothing either. Default: the pipeline's own. */
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
