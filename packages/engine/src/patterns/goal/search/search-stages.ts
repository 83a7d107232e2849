/**
 * The searches of a lane. Each stage makes the next attempts of the plan, until one has results or another stage must
 * continue. Results and attempts are in the lane's state.
 */
import { node } from "../../../builder/index.ts"
import { SuperstepError } from "../../../core/index.ts"
import { append, type Channel, type Context, channel, replace } from "../../../runtime/index.ts"
import { clipped, mergeByRank } from "../../../text/index.ts"
import { type Incomplete, isNoFailure, messageOf, reportIncomplete } from "../../failures.ts"
import type { Found } from "../../ports.ts"
import { agentStage } from "../../stage-node.ts"
import type { Evidence } from "../answer/evidence.ts"
import { askAgent, textOf } from "../ask-agent.ts"
import { type GoalConfig, type GoalSearch, isRetriever, type SqlSearch } from "../goal-config.ts"
import {
  type Attempt,
  type Candidate,
  type DatabaseName,
  type SearchChoice,
  type SearchStage,
  stageOf,
} from "../triage.ts"
import {
  type AskedAt,
  askDatabase,
  askGraph,
  csvDatabases,
  databaseFor,
  type SourceOutcome,
} from "./ask-database.ts"
import { isOffline } from "./matching-rows.ts"

export interface LaneInput {
  readonly goal: string
  readonly target: string
  readonly search: SearchChoice
  /** Sources that may answer, the most likely first. */
  readonly candidates?: readonly Candidate[] | undefined
  readonly askedAt?: AskedAt | undefined
}

/** The search that returned the first evidence. */
export type FoundBy = SearchStage | "nothing"

/** A source that was searched, in the order of the attempts. */
export interface GoalRoute {
  /** The assistant that the search was for. */
  readonly target: string
  readonly by: SearchStage
  /** The name of the source. */
  readonly source?: string | undefined
  readonly outcome: SourceOutcome["outcome"]
  readonly reason?: string | undefined
}

/** The next stage of the lane. */
export interface Searched {
  readonly to: SearchStage | "assistant"
}

export const asked = channel("asked", replace<LaneInput>({ goal: "", target: "", search: { by: "vector" } }))
const plan = channel("plan", replace<readonly Attempt[]>([]))
export const evidence = channel("evidence", replace<readonly Evidence[]>([]))
export const foundBy = channel("foundBy", replace<FoundBy>("nothing"))
export const routes = channel("routes", append<GoalRoute>())
/** Results of the graph, until the documents are searched too. */
const inGraph = channel("inGraph", replace<readonly Evidence[]>([]))
/** The ids of the queried databases. */
const databasesAsked = channel("databasesAsked", replace<readonly string[]>([]))
export const searchState = [asked, plan, evidence, foundBy, routes, inGraph, databasesAsked] as const

/** Each costs one or more model calls. */
const MAX_DATABASES = 4
const RESULTS = 10

/** The next stage for the rest of the plan. */
export function nextStage(
  rest: readonly Attempt[],
  search: SearchChoice,
  config: GoalConfig,
  ctx: Context,
): Searched {
  ctx.state.write(plan, rest)
  return { to: stageOf(rest, search, config) ?? "assistant" }
}

function report(by: SearchStage, source: string | undefined, found: SourceOutcome, ctx: Context): void {
  const { target } = ctx.state.get(asked)
  const isFound = found.outcome === "found"
  const reason = found.outcome === "found" ? undefined : found.reason
  const name = source === undefined ? {} : { source }
  const { outcome } = found
  ctx.state.write(routes, [{ target, by, ...name, outcome, ...(reason !== undefined && { reason }) }])
  ctx.emit("goal.searched", { target, by, isFound, ...name })
  const text = isFound ? `The ${by} search answered.` : `The ${by} search found nothing.`
  ctx.log("info", text, { target, by, ...name })
}

/** Queries the databases at the head of the plan that belong to this stage. */
export function databaseStage(stage: "sql" | "csv", sql: SqlSearch, config: GoalConfig) {
  return agentStage(stage, async (_: Searched, ctx): Promise<Searched> => {
    const { goal, search, askedAt } = ctx.state.get(asked)
    const ids = [...ctx.state.get(databasesAsked)]
    const known = [...ctx.state.get(evidence)]
    let rest = ctx.state.get(plan)
    for (;;) {
      rest = await resolved(stage, rest, ids, sql, ctx)
      const [next, ...others] = rest
      if (next?.kind !== "database" || stageOf(rest, search, config) !== stage) break
      rest = others
      const { database } = next
      if (ids.length >= MAX_DATABASES) {
        ctx.log("info", `"${database.name}" is not queried: ${MAX_DATABASES} others were.`, {
          database: database.id,
        })
        continue
      }
      ids.push(database.id)
      // Each has its own scope, so that after a restart each finds its own records.
      const found = await askDatabase(sql, database, goal, askedAt, ctx.scope(database.id))
      reportDatabase(database, found, ctx)
      report(stage, database.name, found, ctx)
      if (found.outcome !== "found") continue
      known.push(...found.evidence)
      ctx.state.write(evidence, known)
      ctx.state.write(foundBy, stage)
      if (found.isDoubtful !== true) {
        rest = []
        break
      }
    }
    ctx.state.write(databasesAsked, ids)
    return nextStage(rest, search, config, ctx)
  })
}

/** The plan with databases at its head, if this stage finds them itself. */
async function resolved(
  stage: "sql" | "csv",
  attempts: readonly Attempt[],
  ids: readonly string[],
  sql: SqlSearch,
  ctx: Context,
): Promise<readonly Attempt[]> {
  const { goal } = ctx.state.get(asked)
  const [next, ...rest] = attempts
  if (next?.kind === "best database" && stage === "sql") {
    const database = await databaseFor(sql, goal, next.wanted, ctx)
    if (database === null)
      report("sql", undefined, { outcome: "nothing", reason: "no database matches" }, ctx)
    return withDatabases(database === null ? [] : [database], rest, ids)
  }
  if (next?.kind === "files" && stage === "csv") {
    const files = await csvDatabases(sql, ctx)
    if (files.length === 0)
      report("csv", undefined, { outcome: "nothing", reason: "there are no files" }, ctx)
    return withDatabases(files, rest, ids)
  }
  return attempts
}

/** Without duplicate databases. */
function withDatabases(
  databases: readonly DatabaseName[],
  rest: readonly Attempt[],
  ids: readonly string[],
): readonly Attempt[] {
  const isNew = (one: Attempt) =>
    one.kind !== "database" || databases.every(({ id }) => id !== one.database.id)
  const fresh = databases.filter(({ id }) => !ids.includes(id))
  return [...fresh.map((database) => ({ kind: "database" as const, database })), ...rest.filter(isNew)]
}

function reportDatabase(
  { id, name }: Pick<DatabaseName, "id" | "name">,
  found: SourceOutcome,
  ctx: Context,
): void {
  if (found.outcome !== "found") {
    ctx.log("info", `"${name}" has nothing: ${found.reason}`, { database: id })
    if (found.outcome === "failed") reportIncomplete(ctx, name, found.reason)
    return
  }
  const [{ kind, rows = [], query = "" } = {} as Evidence] = found.evidence
  ctx.log("info", `"${name}" answered with ${rows.length === 1 ? "a row" : `${rows.length} rows`}.`, {
    database: id,
    [kind === "graph" ? "cypher" : "sql"]: query,
    rows: rows.length,
  })
}

/** Searches and queries the graph. The documents are searched next, and the results are merged there. */
export function graphStage(graph: GoalSearch, config: GoalConfig) {
  return agentStage("graph", async (_: Searched, ctx): Promise<Searched> => {
    const { search } = ctx.state.get(asked)
    const hasNext = config.vector !== undefined || search.by === "sql" || ctx.state.get(plan).length > 1
    const queried = await queriedGraph(graph, config, ctx)
    const found = await passagesOf("graph", graph, hasNext || queried.length > 0, config, ctx)
    ctx.state.write(inGraph, [...queried, ...found])
    return { to: "vector" }
  })
}

async function queriedGraph(
  graph: GoalSearch,
  { cypher: agent }: GoalConfig,
  ctx: Context,
): Promise<readonly Evidence[]> {
  const queries = isRetriever(graph) ? graph.cypher : undefined
  if (agent === undefined || queries === undefined || (await isOffline(agent))) return []
  const { name } = graph
  const found = await askGraph(name, queries, agent, ctx.state.get(asked), ctx.scope("cypher"))
  reportDatabase({ id: name, name }, found, ctx)
  report("graph", name, found, ctx)
  return found.outcome === "found" ? found.evidence : []
}

/** Searches the documents, and merges the results with those of the graph. */
export function vectorStage(config: GoalConfig) {
  return node("vector", async (_: Searched, ctx): Promise<Searched> => {
    const { search } = ctx.state.get(asked)
    const [, ...rest] = ctx.state.get(plan)
    const { sql, vector, results = RESULTS } = config
    const index = search.by === "sql" ? (sql?.vector ?? vector) : vector
    const hasNext = search.by !== "vector" || rest.length > 0
    const documents = index === undefined ? [] : await passagesOf("vector", index, hasNext, config, ctx)
    const merged = mergeByRank([ctx.state.get(inGraph), documents], ({ location, text, query }) =>
      JSON.stringify([location, text, query]),
    )
      .slice(0, results)
      .map(({ item }) => item)
    const [first] = merged
    if (first === undefined) return nextStage(rest, search, config, ctx)
    ctx.state.write(evidence, [...ctx.state.get(evidence), ...merged])
    ctx.state.write(foundBy, first.kind === "graph" ? "graph" : "vector")
    return nextStage([], search, config, ctx)
  })
}

/** If another source is searched too, a failure counts as no results, and the answer reports it. */
async function passagesOf(
  stage: "graph" | "vector",
  search: GoalSearch,
  hasNext: boolean,
  { results = RESULTS }: GoalConfig,
  ctx: Context,
): Promise<readonly Evidence[]> {
  const { goal } = ctx.state.get(asked)
  const [attempt] = ctx.state.get(plan)
  const isChosen = stage === "vector" && attempt?.kind === "documents" && attempt.isChosen === true
  let found: FoundPassages
  try {
    found = await searchPassages(stage, search, { goal, limit: results, isChosen }, ctx)
  } catch (error) {
    if (!hasNext || isNoFailure(error, ctx)) throw error
    const reason = messageOf(error)
    ctx.log("warn", reason)
    reportIncomplete(ctx, stage === "graph" ? "graph" : "documents", reason)
    report(stage, search.name, { outcome: "failed", reason }, ctx)
    return []
  }
  report(stage, search.name, outcomeOf(found), ctx)
  return found.evidence
}

function outcomeOf({ evidence: found, unrelated }: FoundPassages): SourceOutcome {
  if (found.length > 0) return { outcome: "found", evidence: found }
  if (unrelated === 0) return { outcome: "nothing", reason: "no passage matches" }
  const what = unrelated === 1 ? "1 passage is" : `${unrelated} passages are`
  return { outcome: "unrelated", reason: `${what} about something else` }
}

/** Searches an index or a graph, or calls an agent that searches. The results are evidence, the best first. */

const MAX_SKIPPED = 20
/** Maximum characters of a passage. */
const MAX_PASSAGE = 4_000
/** Less relevant passages are more likely about something else (`Found.relevance`). */
const MIN_RELEVANCE = 0.5
/** The limit for a source that was chosen for the question. */
const MIN_RELEVANCE_CHOSEN = 0.25

interface FoundPassages {
  readonly evidence: readonly Evidence[]
  /** Passages that were omitted because they are about something else. */
  readonly unrelated: number
}

interface PassagesQuery {
  readonly goal: string
  readonly limit: number
  /** Whether the source was chosen for the question, as opposed to a fallback. */
  readonly isChosen: boolean
}

async function searchPassages(
  stage: "graph" | "vector",
  search: GoalSearch,
  { goal, limit, isChosen }: PassagesQuery,
  ctx: Context,
): Promise<FoundPassages> {
  const kind = stage === "graph" ? "graph" : "documents"
  const { name } = search
  if (!isRetriever(search)) {
    const text = textOf(await askAgent("Search", search, goal, ctx)).trim()
    return { evidence: text === "" ? [] : [{ kind, source: name, location: name, text }], unrelated: 0 }
  }
  const { skipped, ...found } = await ctx.step(`${stage} search of ${name}`, async () => {
    try {
      const all = (await search.search(goal, { limit, signal: ctx.signal })).slice(0, limit)
      const least = isChosen ? MIN_RELEVANCE_CHOSEN : MIN_RELEVANCE
      const related = all.filter(({ relevance = 1 }) => relevance >= least)
      return {
        evidence: related.map((one) => passageOf(kind, name, one)),
        unrelated: all.length - related.length,
        skipped: (search.skipped?.() ?? []).slice(0, MAX_SKIPPED),
      }
    } catch (cause) {
      if (isNoFailure(cause, ctx)) throw cause
      const reason = messageOf(cause).replace(/(?<![.\s])[.\s]+$/, "")
      throw new SuperstepError("SEARCH_FAILED", `The ${stage} search of "${name}" failed: ${reason}.`, {
        cause,
      })
    }
  })
  for (const { source, reason } of skipped) reportIncomplete(ctx, source, reason)
  return found
}

function passageOf(kind: "graph" | "documents", source: string, found: Found): Evidence {
  const { text, score, relevance, source: location, title } = found
  return {
    kind,
    source,
    location,
    ...(title !== undefined && title !== "" && { title }),
    score,
    ...(relevance !== undefined && { relevance }),
    text: clipped(text.trim(), MAX_PASSAGE),
  }
}

// The basis of an answer of the whole pipeline, as data: its sources, its searches, and the assistants without citations.

/** The answer of one assistant. */
export interface LaneAnswer {
  readonly target: string
  readonly text: string
  readonly foundBy: FoundBy
  /** The evidence that the assistant received, numbered from 1. */
  readonly evidence: readonly Evidence[]
  /** The numbers that the text cites. Absent if there is no answer. */
  readonly cited?: readonly number[] | undefined
  readonly routes: readonly GoalRoute[]
  /** Sources that could not be queried. */
  readonly incomplete: readonly Incomplete[]
}

/** Evidence that an assistant received, under the number that the answer cites. */
export interface GoalSource extends Evidence {
  readonly number: number
  /** The assistants whose answers cite it. */
  readonly citedBy: readonly string[]
}

export interface GoalBasis {
  readonly sources: readonly GoalSource[]
  readonly routes: readonly GoalRoute[]
  /** The assistants whose answers cite no source. */
  readonly uncited: readonly string[]
}

export const sources: Channel<readonly GoalSource[], readonly GoalSource[], "sources"> = channel(
  "sources",
  append<GoalSource>(),
)
export const goalRoutes: Channel<readonly GoalRoute[], readonly GoalRoute[], "routes"> = channel(
  "routes",
  append<GoalRoute>(),
)
export const uncited: Channel<readonly string[], readonly string[], "uncited"> = channel(
  "uncited",
  append<string>(),
)
