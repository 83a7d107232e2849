/**
 * What happens for one assistant: a search, its answer, reviews until one accepts it or the passes are used up. Each lane
 * searches by itself. What was found and said is in the lane's state, written once; messages only say where to go.
 */
import { node, type Workflow, workflow } from "../../builder/index.ts"
import { type Context, channel, replace } from "../../runtime/index.ts"
import { isNoFailure, messageOf } from "../failure.ts"
import { agentStage } from "../stage-node.ts"
import { askAgent, textOf } from "./ask-agent.ts"
import type { SearchChoice } from "./choose-search.ts"
import type { GoalAgent, GoalConfig, GoalSearch, SqlSearch } from "./goal-config.ts"
import { type Incomplete, incomplete, reportIncomplete } from "./incomplete.ts"
import { plainSearch } from "./plain-search.ts"
import { review, revisionContext, type Verdict } from "./review.ts"
import { askDatabase, csvDatabases, databaseFor } from "./sql-search.ts"

export interface LaneInput {
  readonly goal: string
  readonly target: string
  readonly search: SearchChoice
}

/** Which search gave the context. */
type FoundBy = "sql" | "csv" | "graph" | "vector" | "nothing"

export interface LaneAnswer {
  readonly target: string
  readonly text: string
  readonly foundBy: FoundBy
  /** Sources that could not be asked. */
  readonly incomplete: readonly Incomplete[]
}

const NO_ANSWER = "I apologize, but I couldn't generate a response. Please try rephrasing your question."
const NO_RESULTS = "No results found in PostgreSQL SQL, CSV, or Vector search."
const RESULTS = 10

interface Searched {
  readonly isFound: boolean
}
/** Where an answer goes; what goes to the end has its text. */
interface Way {
  readonly to: "assistant" | "review" | "answer"
  readonly text?: string | undefined
}

const asked = channel("asked", replace<LaneInput>({ goal: "", target: "", search: { by: "vector" } }))
const context = channel("context", replace(""))
const foundBy = channel("foundBy", replace<FoundBy>("nothing"))
/** The files that triage or the SQL agent have found. */
const files = channel("files", replace<string>())
const response = channel("response", replace(""))
const verdict = channel("verdict", replace<Verdict>())
const passes = channel("passes", replace(0))

export function answerLane(config: GoalConfig): Workflow<LaneInput, LaneAnswer> {
  const { sql, graph, results = RESULTS, maxReviewPasses: most = 1 } = config
  const begin = node("search", (input: LaneInput, ctx) => {
    ctx.state.write(asked, input)
    ctx.emit("goal.search", { target: input.target, ...input.search })
    return input.search
  })
  const vector = vectorStage(config)
  const assistant = assistantStage(config.assistants, most)
  const answer = node("answer", ({ text = "" }: Way, ctx): LaneAnswer => {
    const { target } = ctx.state.get(asked)
    return { target, text, foundBy: ctx.state.get(foundBy), incomplete: ctx.state.get(incomplete) }
  })

  const lane = workflow("answer-lane", {
    description: "Search, answer, review.",
    state: [asked, context, foundBy, files, response, verdict, passes, incomplete],
  }).start(begin)
  const cases = []
  if (sql !== undefined) {
    const [database, csv] = [sqlStage(sql), csvStage(sql)]
    cases.push({ when: ({ by }: SearchChoice) => by === "sql", to: database, label: "sql" })
    lane.switch(database, [{ when: isFound, to: assistant, label: "rows" }], csv)
    lane.switch(csv, [{ when: isFound, to: assistant, label: "rows" }], vector)
  }
  if (graph !== undefined) {
    const search = graphStage(graph, results, config.vector !== undefined)
    cases.push({ when: ({ by }: SearchChoice) => by === "graph", to: search, label: "graph" })
    if (config.vector === undefined) lane.edge(search, assistant)
    else lane.switch(search, [{ when: isFound, to: assistant, label: "found" }], vector)
  }
  lane.switch(begin, cases, vector).edge(vector, assistant)
  if (most === 0) return lane.edge(assistant, answer).output(answer).build()
  const reviewer = reviewStage(config.reviewer)
  return lane
    .switch(assistant, [{ when: ({ to }) => to === "review", to: reviewer, label: "review" }], answer)
    .loop(reviewer, assistant, { while: ({ to }) => to === "assistant", max: most, exit: answer })
    .output(answer)
    .build()
}

function isFound({ isFound: is }: Searched): boolean {
  return is
}

function found(by: FoundBy, text: string, ctx: Context): Searched {
  const { target } = ctx.state.get(asked)
  const isAny = text !== ""
  ctx.state.write(context, text)
  if (isAny) ctx.state.write(foundBy, by)
  ctx.emit("goal.searched", { target, by, isFound: isAny })
  ctx.log("info", isAny ? `The ${by} search answered.` : `The ${by} search has nothing.`, { target, by })
  return { isFound: isAny }
}

function sqlStage(sql: SqlSearch) {
  return agentStage("sql", async (_: SearchChoice, ctx): Promise<Searched> => {
    const { goal, search } = ctx.state.get(asked)
    const database = await databaseFor(sql, goal, search.database, ctx)
    if (database?.kind === "csv") {
      ctx.state.write(files, database.id)
      return { isFound: false }
    }
    if (database === null) return found("sql", "", ctx)
    return found("sql", (await askDatabase(sql, database, goal, ctx)) ?? "", ctx)
  })
}

function csvStage(sql: SqlSearch) {
  return agentStage("csv", async (_: Searched, ctx): Promise<Searched> => {
    const { goal } = ctx.state.get(asked)
    for (const database of await csvDatabases(sql, ctx.state.get(files), ctx)) {
      // Each under its own name, so that after a restart each finds its own records.
      const text = await askDatabase(sql, database, goal, ctx.scope(database.id))
      if (text !== undefined) return found("csv", text, ctx)
    }
    return found("csv", "", ctx)
  })
}

/** Where the index is searched next, a failure is as good as nothing. */
function graphStage(graph: GoalSearch, results: number, hasNext: boolean) {
  return node("graph", async (_: SearchChoice, ctx): Promise<Searched> => {
    const { goal } = ctx.state.get(asked)
    const search = () => plainSearch("graph", graph, goal, results, ctx)
    return found("graph", await (hasNext ? orNothing("graph", search, ctx) : search()), ctx)
  })
}

/** By itself, or where another search has nothing: then a failure is as good as nothing. After the SQL agent that is told. */
function vectorStage({ sql, vector, results = RESULTS }: GoalConfig) {
  return node("vector", async (_: SearchChoice | Searched, ctx): Promise<Searched> => {
    const { goal, search } = ctx.state.get(asked)
    const isLast = search.by !== "vector"
    const index = search.by === "sql" ? (sql?.vector ?? vector) : vector
    const look = async () =>
      index === undefined ? "" : await plainSearch("vector", index, goal, results, ctx)
    const text = await (isLast ? orNothing("documents", look, ctx) : look())
    const searched = found("vector", text, ctx)
    if (search.by === "sql" && text === "") ctx.state.write(context, NO_RESULTS)
    return searched
  })
}

async function orNothing(source: string, search: () => Promise<string>, ctx: Context): Promise<string> {
  try {
    return await search()
  } catch (error) {
    if (isNoFailure(error, ctx)) throw error
    ctx.log("warn", messageOf(error))
    reportIncomplete(ctx, source, messageOf(error))
    return ""
  }
}

function assistantStage(assistants: readonly GoalAgent[], most: number) {
  const byId = new Map(assistants.map((agent) => [agent.name, agent]))
  return agentStage("assistant", async (_: Searched | Way, ctx): Promise<Way> => {
    const { goal, target } = ctx.state.get(asked)
    const known = ctx.state.get(context)
    const judged = ctx.state.get(verdict)
    const told = judged === undefined ? known : revisionContext(judged, ctx.state.get(response), known)
    const agent = byId.get(target) as GoalAgent
    const text = textOf(await askAgent("Assistant", agent, `Question: ${goal}\n\nContext:\n${told}`, ctx))
    if (text.trim() === "") return { to: "answer", text: NO_ANSWER }
    ctx.state.write(response, text)
    if (ctx.state.get(passes) < most) return { to: "review" }
    return { to: "answer", text: most === 0 ? text : `[After ${most} review passes]\n${text}` }
  })
}

function reviewStage(reviewer: GoalAgent) {
  return agentStage("review", async (_: Way, ctx): Promise<Way> => {
    const { goal, target } = ctx.state.get(asked)
    const said = ctx.state.get(response)
    const pass = ctx.state.get(passes) + 1
    const judged = await review(reviewer, goal, said, ctx)
    const { decision, reason, revised_script: revised } = judged
    ctx.state.write(passes, pass)
    ctx.emit("goal.reviewed", { target, pass, decision, reason })
    if (decision === "accept") return { to: "answer", text: revised === "" ? said : revised }
    ctx.state.write(verdict, judged)
    return { to: "assistant" }
  })
}
