/** Definitions: the columns have the names of the fields of users' documents, and hold plain strings. */
import type {
  AgentRow,
  EdgeRow,
  NodeRow,
  RegistryChange,
  StoredDefinition,
  WorkflowRow,
} from "@superstep/engine"
import { check, checksum } from "./file/checksum.ts"
import { decodeText, type JsonBytes, parseJson } from "./file/columns.ts"
import type { Database, Statement, Value } from "./file/driver.ts"
import { corrupt, type Subject } from "./file/errors.ts"

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

const COLUMNS = {
  agents: {
    id: "text",
    name: "text",
    description: "text",
    prompt: "text",
    model: "text",
    tools: "json",
    config: "json",
  },
  workflows: {
    id: "text",
    name: "text",
    description: "text",
    isConversational: "boolean",
    entrypointNodeId: "text",
    config: "json",
  },
  workflow_nodes: {
    id: "text",
    workflowId: "text",
    nodeType: "text",
    nodeName: "text",
    agentId: "text",
    config: "json",
  },
  workflow_edges: {
    id: "text",
    workflowId: "text",
    sourceNodeId: "text",
    targetNodeId: "text",
    conditionType: "text",
    conditionValue: "text",
    config: "json",
  },
} as const satisfies Record<string, Columns>

type TableName = keyof typeof COLUMNS

/** The columns of a row that is written at once, in the order in which they are written. */
export function columnsOf(table: TableName): string {
  return [...Object.keys(COLUMNS[table]), "position", "sum"].join(", ")
}

export function registryTables(database: Database): RegistryTables {
  const agents = table<AgentRow>(database, "agents")
  const workflows = table<WorkflowRow>(database, "workflows")
  const nodes = table<NodeRow>(database, "workflow_nodes")
  const edges = table<EdgeRow>(database, "workflow_edges")

  const allAgents = agents.select("ORDER BY position")
  const someAgents = agents.select("WHERE id IN (SELECT value FROM json_each(?)) ORDER BY position")
  const allWorkflows = workflows.select("ORDER BY position")
  const findWorkflow = workflows.select("WHERE id = ?")
  const findNodes = nodes.select("WHERE workflowId = ? ORDER BY position")
  const findEdges = edges.select("WHERE workflowId = ? ORDER BY position")
  const putAgent = upsert(database, "agents")
  const putWorkflow = upsert(database, "workflows")
  const addNode = insert(database, "workflow_nodes")
  const addEdge = insert(database, "workflow_edges")
  const removeAgent = database.prepare("DELETE FROM agents WHERE id = ?")
  // The number of rows of each definition: a damaged page may hide a row, which no checksum of a row reveals.
  const putCounts = database.prepare("UPDATE workflows SET nodes = ?, edges = ? WHERE id = ?")
  const findCounts = database.prepare(
    "SELECT CAST(nodes AS INTEGER) AS nodes, CAST(edges AS INTEGER) AS edges FROM workflows WHERE id = ?",
  )
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
      if (workflow === undefined) return undefined
      const [counts] = findCounts.all(id) as { nodes: number | null; edges: number | null }[]
      const found = { workflow, nodes: nodes.read(findNodes, id), edges: edges.read(findEdges, id) }
      checkCount("workflow_nodes", found.nodes, counts?.nodes)
      checkCount("workflow_edges", found.edges, counts?.edges)
      return found
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
        putCounts.run(definition.nodes.length, definition.edges.length, definition.workflow.id)
      }
    },
  }
}

/** Definitions of older versions have no counts. */
function checkCount(
  name: string,
  rows: readonly { readonly id: string }[],
  count: number | null | undefined,
): void {
  if (count === null || count === undefined) return
  const ids = new Set(rows.map(({ id }) => id))
  if (rows.length === count && ids.size === count) return
  throw corrupt(() => `The table ${name} is damaged`, `it has ${ids.size} of ${count} rows of a definition`)
}

interface Table<R> {
  select(rest: string): Statement
  read(statement: Statement, ...values: string[]): R[]
}

type RawRow = { readonly [column: string]: JsonBytes | number | null }

function table<R>(database: Database, name: TableName): Table<R> {
  const fields = Object.entries(COLUMNS[name])
  const list = fields.map(
    ([column, kind]) => `CAST(${column} AS ${kind === "boolean" ? "INTEGER" : "BLOB"}) AS ${column}`,
  )
  const checked = "CAST(position AS INTEGER) AS position, CAST(sum AS INTEGER) AS sum"
  return {
    select: (rest) => database.prepare(`SELECT ${list.join(", ")}, ${checked} FROM ${name} ${rest}`),
    read: (statement, ...values) =>
      (statement.all(...values) as RawRow[]).map((row) => {
        const at = (column: string) => () => `A row of ${name} is damaged at ${column}`
        // A row that the page points to wrongly may read as nothing but nulls, with no checksum to compare.
        if (row.id === null) throw corrupt(at("id"), "it is missing")
        const raw = fields.map(([column]) => {
          const value = row[column] ?? null
          return value === null || typeof value === "number" ? value : decodeText(value, at(column))
        })
        const values = fields.map(([column, kind]) => [
          column,
          fromColumn(row[column] ?? null, kind, at(column)),
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

function fromColumn(value: JsonBytes | number | null, kind: Kind, subject: Subject): unknown {
  if (value === null) return null
  if (kind === "boolean") return value === 1
  if (typeof value === "number") throw corrupt(subject, "it is not text")
  return kind === "json" ? parseJson(value, subject) : decodeText(value, subject)
}

function valuesOf(row: object, columns: Columns): Value[] {
  return Object.entries(columns).map(([column, kind]) => {
    const value = (row as { [column: string]: unknown })[column] ?? null
    if (value === null) return null
    if (kind === "boolean") return value === true ? 1 : 0
    return kind === "json" ? JSON.stringify(value) : (value as string)
  })
}

function insert(
  database: Database,
  name: TableName,
  onConflict = "",
): (row: object, position: number) => void {
  const columns = columnsOf(name)
  const places = columns.replace(/\w+/g, "?")
  const add = database.prepare(`INSERT INTO ${name} (${columns}) VALUES (${places})${onConflict}`)
  return (row, position) => {
    const values = valuesOf(row, COLUMNS[name])
    add.run(...values, position, rowChecksum(values, position))
  }
}

/** An existing row keeps its position; a new one comes last. */
function upsert(database: Database, name: TableName): (row: { readonly id: string }) => void {
  const changes = columnsOf(name).replace(/^id, /, "").replace(/\w+/g, "$& = excluded.$&")
  const put = insert(database, name, ` ON CONFLICT (id) DO UPDATE SET ${changes}`)
  const findPosition = database.prepare(
    `SELECT coalesce((SELECT position FROM ${name} WHERE id = ?), (SELECT max(position) FROM ${name}) + 1, 1) AS position`,
  )
  return (row) => {
    const [{ position }] = findPosition.all(row.id) as [{ position: number }]
    put(row, position)
  }
}

/** The registry accepts no other ids. */
function isText(id: string): boolean {
  return !id.includes("\u0000") && !/\p{Surrogate}/u.test(id)
}
