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
import { check, checksum } from "./checksum.ts"
import type { Database, Statement, Value } from "./driver.ts"
import { corrupt, type Place } from "./errors.ts"
import { decodeText, type JsonBytes, parseJson } from "./json-column.ts"

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
      for (const agent of change.agents ?? []) putAgent(agent)
      for (const definition of change.definitions ?? []) {
        putWorkflow(definition.workflow)
        removeParts(definition.workflow.id)
        definition.nodes.forEach((node, i) => {
          addNode(node, i)
        })
        definition.edges.forEach((edge, i) => {
          addEdge(edge, i)
        })
      }
    },
  }
}

interface Table<R> {
  select(rest: string): Statement
  read(statement: Statement, ...values: string[]): R[]
}

type RawRow = { readonly [column: string]: JsonBytes | number | null }

function table<R>(database: Database, name: string, columns: Columns): Table<R> {
  const fields = Object.entries(columns)
  const list = fields.map(
    ([column, kind]) => `CAST(${column} AS ${kind === "boolean" ? "INTEGER" : "BLOB"}) AS ${column}`,
  )
  const checked = "CAST(position AS INTEGER) AS position, CAST(sum AS INTEGER) AS sum"
  return {
    select: (rest) => database.prepare(`SELECT ${list.join(", ")}, ${checked} FROM ${name} ${rest}`),
    read: (statement, ...values) =>
      (statement.all(...values) as RawRow[]).map((row) => {
        const place = (column: string) => () => `A row of ${name} is damaged at ${column}`
        const raw = fields.map(([column]) => {
          const value = row[column] ?? null
          return value === null || typeof value === "number" ? value : decodeText(value, place(column))
        })
        const values = fields.map(([column, kind]) => [
          column,
          fromColumn(row[column] ?? null, kind, place(column)),
        ])
        check(
          row.sum as number | null,
          () => rowChecksum(raw, row.position as number),
          () => `A row of ${name} is damaged`,
        )
        return Object.fromEntries(values) as R
      }),
  }
}

function rowChecksum(values: readonly unknown[], position: number): number {
  return checksum([JSON.stringify(values), position])
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

function insert(database: Database, name: string, columns: Columns): (row: object, position: number) => void {
  const names = [...Object.keys(columns), "position", "sum"]
  const places = names.map(() => "?").join(", ")
  const add = database.prepare(`INSERT INTO ${name} (${names.join(", ")}) VALUES (${places})`)
  return (row, position) => {
    const values = valuesOf(row, columns)
    add.run(...values, position, rowChecksum(values, position))
  }
}

/** A row that is there keeps its position; a new one comes last. */
function upsert(database: Database, name: string, columns: Columns): (row: { readonly id: string }) => void {
  const names = [...Object.keys(columns), "position", "sum"]
  const places = names.map(() => "?").join(", ")
  const changes = names.filter((column) => column !== "id").map((column) => `${column} = excluded.${column}`)
  const findPosition = database.prepare(
    `SELECT coalesce((SELECT position FROM ${name} WHERE id = ?), (SELECT max(position) FROM ${name}) + 1, 1) AS position`,
  )
  const put = database.prepare(
    `INSERT INTO ${name} (${names.join(", ")}) VALUES (${places}) ON CONFLICT (id) DO UPDATE SET ${changes.join(", ")}`,
  )
  return (row) => {
    const [{ position }] = findPosition.all(row.id) as [{ position: number }]
    const values = valuesOf(row, columns)
    put.run(...values, position, rowChecksum(values, position))
  }
}

/** No row has an id that is none: the registry takes no such one. */
function isText(id: string): boolean {
  return !id.includes("\u0000") && !/\p{Surrogate}/u.test(id)
}
