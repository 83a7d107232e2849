/** Scripted agents, in-memory databases and indexes, and a run with its events, logs and nodes. */
import { agent } from "../../agents/index.ts"
import { shown } from "../../agents/stand-ins.test-support.ts"
import type { Json } from "../../core/index.ts"
import { type Script, type ScriptEntry, scriptedModel } from "../../models/index.ts"
import type { RunEvent, RunResult } from "../../runtime/index.ts"
import type {
  Database,
  Found,
  QueryResult,
  RankedSource,
  Retriever,
  SchemaRetriever,
  SourceRanker,
  Table,
} from "../ports.ts"
import { INSTRUCTIONS } from "./answer/answer-lane.ts"
import type { GoalConfig } from "./goal-config.ts"
import { sequentialGoal } from "./sequential-goal.ts"

export const triaged = (fields: Record<string, Json> = {}): ScriptEntry => ({
  json: { intents: ["chat"], confidence: 1, rationale: "clear", ...fields },
  repeat: true,
})
export const ACCEPT: ScriptEntry = { json: { decision: "accept", reason: "good" }, repeat: true }

type Team = Pick<GoalConfig, "triage" | "assistants" | "reviewer"> & {
  readonly sqlAgent: GoalConfig["triage"]
  /** The prompts that an agent received, one per call. */
  prompts(agent: string): string[]
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
    prompts: (name) =>
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
  /** One for each query; after the last, `answer`. */
  readonly answers?: readonly (QueryResult | Error)[] | undefined
}

export type AskedDatabase = Database & { readonly queries: string[] }

export function database(id: string, options: DatabaseOptions = {}): AskedDatabase {
  const { kind = "postgresql", answer = rows(["n"], [[7]]) } = options
  const tables = options.tables ?? [{ name: "lamps", columns: [{ name: "n", type: "integer" }] }]
  const answers = [...(options.answers ?? [])]
  const queries: string[] = []
  return {
    id,
    name: `The ${id}`,
    kind,
    queries,
    schema: async () => tables,
    query: async (sql, { rows: most } = {}) => {
      queries.push(`${sql} [${most}]`)
      const reply = answers.shift() ?? answer
      if (reply instanceof Error) throw reply
      return reply
    },
  }
}

export function rows(
  columns: readonly string[],
  list: readonly (readonly Json[])[],
  isTruncated = false,
): QueryResult {
  return { columns, rows: list, isTruncated }
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

/** Ranks the sources in their order: `kind id score`. */
export function ranker(...sources: readonly `${RankedSource["kind"]} ${string} ${number}`[]): SourceRanker {
  return {
    rank: async () => ({
      sources: sources.map((source): RankedSource => {
        const [kind, id = "", score] = source.split(" ")
        const of = { kind: kind as RankedSource["kind"], id, name: `The ${id}`, score: Number(score) }
        return { ...of, reason: `words of ${id}`, summary: `values of ${id}` }
      }),
      failed: [],
    }),
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

/** The evidence in an assistant's prompt: the lines of each piece after its number. */
export function shownEvidence(...pieces: readonly string[]): string {
  const blocks = pieces.map((text, i) => `<document index="${i + 1}">\n[${i + 1}] ${text}\n</document>`)
  return [...blocks, INSTRUCTIONS].join("\n\n")
}

export const LAMPS: Found = { text: "There are 7 lamps.", score: 0.8312, source: "stock.md:3" }
