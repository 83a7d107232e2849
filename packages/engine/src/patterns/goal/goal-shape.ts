/** The schema of a goal configuration file: its fields, and their alternative names. */
import { z } from "zod"
import { agentShape, modelShape, permissionsShape, providerShape } from "../../definitions/internal.ts"

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
