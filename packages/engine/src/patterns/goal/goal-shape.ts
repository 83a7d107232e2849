/** The schema of a goal configuration file: its fields, and their alternative names. */
import { z } from "zod"
import { type Agent, isAgent } from "../../agents/index.ts"
import { isSuperstepError } from "../../core/index.ts"
import type { LoadOptions } from "../../definitions/index.ts"
import {
  type AgentData,
  agentFunctions,
  agentShape,
  type DefinitionPaths,
  DocumentReport,
  link,
  modelShape,
  PlanWriter,
  permissionsShape,
  planAgents,
  providerShape,
  trustedFunctions,
  withModel,
} from "../../definitions/internal.ts"
import { type Document, nearest, type Path, type Report } from "../../document/index.ts"
import type { GoalAgent } from "./goal-config.ts"

const text = z.string()
const path = text.describe("Relative to the configuration file, unless absolute.")

const excludedColumns = z
  .array(
    text.regex(/^[^.]+(?:\.[^.]+){1,2}$/, {
      message: 'Write table.column, such as "patients.ssn" or "*.password".',
    }),
  )
  .optional()
  .describe("Columns whose values are not read, as table.column; * matches any part of a name.")

const unsafeRole = z
  .boolean()
  .optional()
  .describe("True: allow a role that can do more than read. Queries written by a model run with its rights.")

const databaseShape = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("postgresql"),
    id: text,
    name: text.optional(),
    url: text.describe("postgresql://user:password@host/database, as a role that may only read."),
    schemas: z.array(text).optional(),
    allow_functions: z
      .array(text)
      .optional()
      .describe("Functions of the database that queries may call, as schema.name."),
    exclude_columns: excludedColumns,
    allow_unsafe_role: unsafeRole,
  }),
  z.strictObject({
    type: z.literal("mysql"),
    id: text,
    name: text.optional(),
    url: text.describe("mysql://user:password@host/database, MySQL or MariaDB, as a user who may only read."),
    allow_unsafe_role: unsafeRole,
    exclude_columns: excludedColumns,
  }),
  z.strictObject({
    type: z.literal("sqlite"),
    id: text,
    name: text.optional(),
    file: path.describe("A SQLite database. It is only read."),
    exclude_columns: excludedColumns,
  }),
  z
    .strictObject({
      type: z.literal("csv"),
      id: text,
      name: text.optional(),
      files: z.array(path).min(1).optional().describe("CSV, TSV, JSON, Parquet or Excel files."),
      folder: path.optional().describe("All such files in this folder and its subfolders."),
      exclude_columns: excludedColumns,
    })
    .refine(({ files, folder }) => (files === undefined) !== (folder === undefined), {
      message: "Name the `files`, or their `folder`.",
    }),
])

const indexShape = z
  .strictObject({
    index: path.optional().describe("A file that `superstep index add` created."),
    documents: z
      .array(path)
      .min(1)
      .optional()
      .describe("Files and folders of documents. Their index is built and updated on the first search."),
    embeddings: text
      .optional()
      .describe(
        "The embeddings of the documents: offline, openai/MODEL or ollama/MODEL. An index keeps its first choice.",
      ),
  })
  .refine(({ index, documents }) => (index === undefined) !== (documents === undefined), {
    message: "Name an `index`, or the `documents`.",
  })
  .refine(({ index, embeddings }) => index === undefined || embeddings === undefined, {
    message: "An `index` keeps the embeddings it was built with: remove `embeddings`.",
  })

const graphSearchShape = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("neo4j"),
    url: text,
    user: text.optional(),
    password: text.optional(),
    database: text.optional(),
  }),
  z.strictObject({ type: z.literal("ladybug"), path }),
])

const searchShape = z.strictObject({
  databases: z.array(databaseShape).optional(),
  vector: indexShape.optional(),
  graph: graphSearchShape.optional(),
  results: z.int().min(1).optional().describe("Maximum results of the index or the graph. Default 10."),
})

export const goalShape = z.strictObject({
  name: text.optional(),
  description: text.optional(),
  agents: z.record(text, agentShape).optional(),
  models: z.record(text, modelShape).optional(),
  providers: z.record(text, providerShape).optional(),
  permissions: permissionsShape.optional(),
  triage: text.optional().describe("The id of the triage agent. Default: triage."),
  assistants: z.array(text).min(1).describe("The ids of the assistants, in their order."),
  reviewer: text.optional().describe("The id of the reviewer. Default: reviewer."),
  sql_agent: text.optional(),
  graph_agent: text.optional(),
  vector_agent: text.optional(),
  search: searchShape.optional(),
  multi_route_always: z.boolean().optional(),
  max_review_passes: z.int().min(0).optional(),
  use_graph_search: z.boolean().optional(),
  use_graph_execution: z.boolean().optional(),
  graph_definition: path.optional(),
  fallback: z.boolean().optional().describe("False: a graph that cannot answer fails the run."),
  variables: z
    .record(text, text)
    .optional()
    .describe("More values for variables and conditions of the graph."),
})

export type GoalData = z.infer<typeof goalShape>
export type DatabaseSettings = z.infer<typeof databaseShape>
export type IndexSettings = z.infer<typeof indexShape>
export type GraphSettings = z.infer<typeof graphSearchShape>

/** Alternative names, including those of older configurations. */
export const OTHER_NAMES: ReadonlyMap<string, keyof GoalData> = new Map(
  Object.entries({
    triage: ["agent_id_triage", "TriageAgent"],
    assistants: [
      "assistant_ids",
      "assistantIds",
      "reporter_ids",
      "reporterIds",
      "AssistantAgent",
      "NewsReporterAgent",
    ],
    reviewer: ["agent_id_reviewer", "ReviewAgent"],
    sql_agent: ["agent_id_aisearch_sql", "sqlAgent", "SQLAgent"],
    graph_agent: ["agent_id_neo4j_search", "graphAgent", "Neo4jGraphRAGAgent"],
    vector_agent: ["agent_id_aisearch", "vectorAgent", "AiSearchAgent"],
    multi_route_always: ["multiRouteAlways"],
    max_review_passes: ["maxReviewPasses"],
    use_graph_search: ["useGraphSearch", "use_neo4j_search"],
    use_graph_execution: ["useGraphExecution"],
    graph_definition: ["graphDefinition"],
  } satisfies Partial<Record<keyof GoalData, string[]>>).flatMap(([name, others]) =>
    others.map((other) => [other, name as keyof GoalData] as const),
  ),
)

export const FLAGS: ReadonlySet<string> = new Set([
  "multi_route_always",
  "use_graph_search",
  "use_graph_execution",
  "fallback",
])
export const COUNTS: ReadonlySet<string> = new Set(["max_review_passes", "search.results"])

// The agents of a configuration, by id: those of the file, and those that the caller provides.

const ASSISTANT =
  "Answer the question from the context, and name the sources that you use. Where the context does not answer it, say so."
/** Earlier configurations called an assistant a reporter. */
const ALIASES: Readonly<Record<string, string>> = {
  NewsReporterAgent: "AssistantAgent",
  AssistantAgent: "NewsReporterAgent",
}

/** The agents' data, each also under its alias if that is free: graphs use either name. */
export function withAliases(agents: Readonly<Record<string, AgentData>>): Record<string, AgentData> {
  const others = Object.entries(agents).flatMap(([id, data]) => {
    const other = Object.hasOwn(ALIASES, id) ? ALIASES[id] : undefined
    return other === undefined ? [] : [[other, data] as const]
  })
  return { ...Object.fromEntries(others), ...agents }
}

interface AgentOptions extends Pick<LoadOptions, "functions" | "model" | "trust"> {
  readonly paths: DefinitionPaths
}

export type FindAgent = (id: string) => GoalAgent | undefined

export interface GoalAgents {
  readonly made: ReadonlyMap<string, Agent>
  /** An unknown agent is reported at `path`, where it is named. */
  get(id: string, path: Path): GoalAgent | undefined
}

export function goalAgents(
  document: Document,
  data: GoalData,
  report: Report,
  options: AgentOptions,
  find: FindAgent | undefined,
): GoalAgents {
  const made = madeAgents(document, data, report, options)
  return {
    made,
    get(id, path) {
      const other = Object.hasOwn(ALIASES, id) ? ALIASES[id] : undefined
      // Agents of a file take a string.
      const own = (made.get(id) ?? made.get(other ?? id)) as GoalAgent | undefined
      const found = own ?? find?.(id)
      if (found === undefined) {
        const message = `There is no agent "${id}": define it under \`agents\`.`
        report.error("UNKNOWN_AGENT", message, document.place(path), nearest(id, made.keys()))
      }
      return found
    },
  }
}

function madeAgents(
  document: Document,
  data: GoalData,
  report: Report,
  { functions: more = {}, model, trust, paths }: AgentOptions,
): ReadonlyMap<string, Agent> {
  const { agents = {}, models, providers, permissions } = data
  const own = { ...agentFunctions, ...more }
  const functions = trust === "none" ? trustedFunctions({}, own) : own
  const writer = new PlanWriter(Object.keys(functions))
  const before = report.diagnostics.length
  const planned = planAgents({
    report: new DocumentReport(document, report),
    agents: withInstructions(agents, data.assistants),
    file: { models, providers, permissions },
    writer,
    paths,
  })
  const [first] = planned.names
  const isSound = report.diagnostics.slice(before).every(({ severity }) => severity !== "error")
  const main = first === undefined || !isSound ? undefined : planned.get(first)
  if (main === undefined) return new Map()
  const known = model === undefined ? functions : { ...functions, agent: withModel(functions, model) }
  try {
    const { values } = link(writer.plan(main.ref), known)
    return new Map([...values.values()].filter(isAgent).map((one) => [one.name, one]))
  } catch (error) {
    if (!isSuperstepError(error)) throw error
    report.error(error.code, error.message)
    return new Map()
  }
}

function withInstructions(
  agents: Readonly<Record<string, AgentData>>,
  assistants: readonly string[],
): Record<string, AgentData> {
  const entries = Object.entries(agents).map(([id, data]): [string, AgentData] => {
    const isTold = data.instruction !== undefined || !assistants.includes(id)
    return [id, isTold ? data : { ...data, instruction: ASSISTANT }]
  })
  return Object.fromEntries(entries)
}
