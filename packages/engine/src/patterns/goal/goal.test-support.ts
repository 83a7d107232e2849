/** Agents of a script, databases and indexes in memory, and a run as a test looks at it. */
import { agent } from "../../agents/index.ts"
import { shown } from "../../agents/stand-ins.test-support.ts"
import type { Json } from "../../core/index.ts"
import { type Script, type ScriptEntry, scriptedModel } from "../../models/index.ts"
import type { RunEvent, RunResult } from "../../runtime/index.ts"
import type { Database, Found, QueryResult, Retriever, SchemaRetriever, Table } from "../ports.ts"
import type { GoalConfig } from "./goal-config.ts"
import { sequentialGoal } from "./sequential-goal.ts"

export const triaged = (fields: Record<string, Json> = {}): ScriptEntry => ({
  json: { intents: ["chat"], confidence: 1, rationale: "clear", ...fields },
  repeat: true,
})
export const ACCEPT: ScriptEntry = { json: { decision: "accept", reason: "good" }, repeat: true }

type Team = Pick<GoalConfig, "triage" | "assistants" | "reviewer"> & {
  readonly sqlAgent: GoalConfig["triage"]
  /** What an agent was told, call by call. */
  told(agent: string): string[]
  readonly callers: () => string[]
}

/** Agents by these names: triage, reviewer, sql, and the assistants. */
export function team(script: Record<string, readonly ScriptEntry[]>, assistants = ["a"]): Team {
  const model = scriptedModel({ triage: [triaged()], reviewer: [ACCEPT], ...script } as Script)
  const make = (name: string) =>
    agent({ name, model, stream: false, calling: { retry: { attempts: 1 } as never } })
  return {
    triage: make("triage"),
    reviewer: make("reviewer"),
    sqlAgent: make("sql"),
    assistants: assistants.map(make),
    told: (name) =>
      model.calls.flatMap((call, i) => (call.agent === name ? [shown(model, i).join("\n")] : [])),
    callers: () => model.calls.map((call) => call.agent),
  }
}

export interface Watched {
  readonly result: RunResult<string>
  readonly events: readonly RunEvent[]
  readonly logs: readonly string[]
  /** Nodes that ran, in order. */
  readonly nodes: readonly string[]
}

export async function watched(config: GoalConfig, goal = "how many lamps?"): Promise<Watched> {
  const run = sequentialGoal(config).stream(goal)
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  return {
    result: await run.result,
    events,
    logs: events.flatMap((event) => (event.type === "log" ? [`${event.level}: ${event.message}`] : [])),
    nodes: events.flatMap((event) => (event.type === "task.started" ? [event.node] : [])),
  }
}

interface DatabaseOptions {
  readonly kind?: Database["kind"]
  readonly tables?: readonly Table[]
  readonly answer?: QueryResult | Error | undefined
}

export type AskedDatabase = Database & { readonly queries: string[] }

export function database(id: string, options: DatabaseOptions = {}): AskedDatabase {
  const { kind = "postgresql", answer = rows(["n"], [[7]]) } = options
  const tables = options.tables ?? [{ name: "lamps", columns: [{ name: "n", type: "integer" }] }]
  const queries: string[] = []
  return {
    id,
    name: `The ${id}`,
    kind,
    queries,
    schema: async () => tables,
    query: async (sql, { rows: most } = {}) => {
      queries.push(`${sql} [${most}]`)
      if (answer instanceof Error) throw answer
      return answer
    },
  }
}

export function rows(
  columns: readonly string[],
  list: readonly (readonly Json[])[],
  isCut = false,
): QueryResult {
  return { columns, rows: list, isCut }
}

/** The first is the best for any goal. */
export function databases(...list: readonly Database[]): SchemaRetriever {
  const [best] = list
  return {
    listDatabases: async () => list,
    findBestDatabase: async () =>
      best === undefined ? undefined : { database: best, score: 1, reason: "it is the first" },
  }
}

export type AskedRetriever = Retriever & { readonly queries: string[] }

export function retriever(name: string, found: readonly Found[] | Error = []): AskedRetriever {
  const queries: string[] = []
  return {
    name,
    queries,
    search: async (query) => {
      queries.push(query)
      if (found instanceof Error) throw found
      return found
    },
  }
}

export const LAMPS: Found = { text: "There are 7 lamps.", score: 0.8312, source: "stock.md:3" }
