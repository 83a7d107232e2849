/**
 * Definitions: rows of people's own documents, in columns that have the documents' names. Everything is read as bytes:
 * libsql ends the process over a text that is not UTF-8, as damage makes it.
 */
import type {
  AgentRow,
  EdgeRow,
  NodeRow,
  RegistryChange,
  StoredDefinition,
  WorkflowRow,
} from "@superstep/engine"
import type { Database, Statement, Value } from "./driver.ts"
import { corrupt, type Place } from "./errors.ts"
import { decodeText, type JsonBytes, jsonBytes, parseJson } from "./json-column.ts"

export interface RegistryTables {
  agents(ids?: readonly string[]): readonly AgentRow[]
  definitions(): readonly WorkflowRow[]
  /** To be called within a transaction, so that the rows are of one moment. */
  definition(id: string): StoredDefinition | undefined
  /** Of a change that was checked. */
  write(change: RegistryChange): void
}

type Kind = "text" | "json" | "boolean"
type Columns = { readonly [column: string]: Kind }

const AGENT: Columns = {
  id: "text",
  name: "text",
  description: "text",
  prompt: "text",
  model: "text",
  tools: "json",
  config: "json",
}
const WORKFLOW: Columns = {
  id: "text",
  name: "text",
  description: "text",
  isConversational: "boolean",
  entrypointNodeId: "text",
  config: "json",
}
const NODE: Columns = {
  id: "text",
  workflowId: "text",
  nodeType: "text",
  nodeName: "text",
  agentId: "text",
  config: "json",
}
const EDGE: Columns = {
  id: "text",
  workflowId: "text",
  sourceNodeId: "text",
  targetNodeId: "text",
  conditionType: "text",
  conditionValue: "text",
  config: "json",
}

export function registryTables(database: Database): RegistryTables {
  const agents = table<AgentRow>(database, "agents", AGENT)
  const workflows = table<WorkflowRow>(database, "workflows", WORKFLOW)
  const nodes = table<NodeRow>(database, "workflow_nodes", NODE)
  const edges = table<EdgeRow>(database, "workflow_edges", EDGE)

  const allAgents = agents.select("ORDER BY position")
  const someAgents = agents.select("WHERE id IN (SELECT value FROM json_each(?)) ORDER BY position")
  const allWorkflows = workflows.select("ORDER BY position")
  const findWorkflow = workflows.select("WHERE id = ?")
  const findNodes = nodes.select("WHERE workflowId = ? ORDER BY position")
  const findEdges = edges.select("WHERE workflowId = ? ORDER BY position")
  const putAgent = upsert(database, "agents", AGENT)
  const putWorkflow = upsert(database, "workflows", WORKFLOW)
  const addNode = insert(database, "workflow_nodes", NODE)
  const addEdge = insert(database, "workflow_edges", EDGE)
  const removeAgent = database.prepare("DELETE FROM agents WHERE id = ?")
  const removeWorkflow = database.prepare("DELETE FROM workflows WHERE id = ?")
  const removeNodes = database.prepare("DELETE FROM workflow_nodes WHERE workflowId = ?")
  const removeEdges = database.prepare("DELETE FROM workflow_edges WHERE workflowId = ?")

  function removeParts(workflow: string): void {
    removeNodes.run(workflow)
    removeEdges.run(workflow)
  }

  return {
    agents: (ids) =>
      ids === undefined
        ? agents.read(allAgents)
        : agents.read(someAgents, JSON.stringify(ids.filter(isText))),
    definitions: () => workflows.read(allWorkflows),
    definition(id) {
      if (!isText(id)) return undefined
      const [workflow] = workflows.read(findWorkflow, id)
      return workflow && { workflow, nodes: nodes.read(findNodes, id), edges: edges.read(findEdges, id) }
    },
    write(change) {
      for (const id of (change.removedDefinitions ?? []).filter(isText)) {
        removeWorkflow.run(id)
        removeParts(id)
      }
      for (const id of (change.removedAgents ?? []).filter(isText)) removeAgent.run(id)
      for (const agent of change.agents ?? []) putAgent.run(...valuesOf(agent, AGENT))
      for (const definition of change.definitions ?? []) {
        putWorkflow.run(...valuesOf(definition.workflow, WORKFLOW))
        removeParts(definition.workflow.id)
        definition.nodes.forEach((node, i) => {
          addNode.run(...valuesOf(node, NODE), i)
        })
        definition.edges.forEach((edge, i) => {
          addEdge.run(...valuesOf(edge, EDGE), i)
        })
      }
    },
  }
}

interface Table<R> {
  select(rest: string): Statement
  read(statement: Statement, ...values: string[]): R[]
}

function table<R>(database: Database, name: string, columns: Columns): Table<R> {
  const selected = Object.entries(columns).map(([column, kind]) =>
    kind === "boolean" ? column : `${jsonBytes(column)} AS ${column}`,
  )
  return {
    select: (rest) => database.prepare(`SELECT ${selected.join(", ")} FROM ${name} ${rest}`),
    read: (statement, ...values) =>
      (statement.all(...values) as { [column: string]: JsonBytes | number | null }[]).map((row) => {
        const fields = Object.entries(columns).map(([column, kind]) => {
          const place = () => `A row of ${name} is damaged at ${column}`
          return [column, fromColumn(row[column] ?? null, kind, place)]
        })
        return Object.fromEntries(fields) as R
      }),
  }
}

function fromColumn(value: JsonBytes | number | null, kind: Kind, place: Place): unknown {
  if (value === null) return null
  if (kind === "boolean") return value === 1
  if (typeof value === "number") throw corrupt(place, "it is no text")
  return kind === "json" ? parseJson(value, place) : decodeText(value, place)
}

function valuesOf(row: object, columns: Columns): Value[] {
  return Object.entries(columns).map(([column, kind]) => {
    const value = (row as { [column: string]: unknown })[column] ?? null
    if (value === null) return null
    if (kind === "boolean") return value === true ? 1 : 0
    return kind === "json" ? JSON.stringify(value) : (value as string)
  })
}

function insert(database: Database, name: string, columns: Columns): Statement {
  const names = Object.keys(columns)
  const places = names.map(() => "?").join(", ")
  return database.prepare(`INSERT INTO ${name} (${names.join(", ")}, position) VALUES (${places}, ?)`)
}

/** A row that is there keeps its position; a new one comes last. */
function upsert(database: Database, name: string, columns: Columns): Statement {
  const names = Object.keys(columns)
  const places = names.map(() => "?").join(", ")
  const changes = names.filter((column) => column !== "id").map((column) => `${column} = excluded.${column}`)
  return database.prepare(
    `INSERT INTO ${name} (${names.join(", ")}, position)
     VALUES (${places}, (SELECT coalesce(max(position), 0) + 1 FROM ${name}))
     ON CONFLICT (id) DO UPDATE SET ${changes.join(", ")}`,
  )
}

/** No row has an id that is none: the registry takes no such one. */
function isText(id: string): boolean {
  return !id.includes("\u0000") && !/\p{Surrogate}/u.test(id)
}
