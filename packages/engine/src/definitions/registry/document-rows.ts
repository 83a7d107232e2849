/**
 * Converts a graph definition to rows, and back to the same document. Both spellings have the same rows: nodes with
 * `nodeType` and edges with `sourceNodeId`, and nodes with `type` and edges with `from_node`. Required columns that a document
 * leaves out are derived from the rest of it.
 */
import type { Json } from "../../core/index.ts"
import { hasSameItems, isRecord } from "../../core/internal.ts"
import {
  type AgentRow,
  checkRegistryChange,
  definitionInvalid,
  type EdgeRow,
  type NodeRow,
  type StoredDefinition,
  type WorkflowRow,
} from "../../runtime/index.ts"
import { isPlainText } from "../../text/index.ts"

/**
 * Converts a record of a document to a row, and back. A field is stored in the column of one of its spellings if its
 * value fits; every other field is stored in `config` unchanged.
 *
 * R1 The result is the original record with its keys in order. If the order does not follow from the row, `config` stores
 *    it under `$keys`.
 * R2 A field in `config` takes precedence over the columns.
 * R3 A column that was filled later is included too.
 */

export interface JsonRecord {
  readonly [key: string]: Json | undefined
}

interface Column {
  readonly name: string
  /** Other names in documents. */
  readonly spellings?: readonly string[]
  readonly fits: (value: Json) => boolean
  /** May be empty. `written`: documents contain null; `absent`: documents omit the field. */
  readonly empty?: "written" | "absent"
}

type Row = { readonly [column: string]: Json }

const isText = (value: Json): boolean => typeof value === "string" && isPlainText(value)
const isTextOrNull = (value: Json): boolean => value === null || isText(value)

const KEYS = "$keys"

/** `complete` provides the values of required columns that the record lacks. */
function toRow(
  record: JsonRecord,
  columns: readonly Column[],
  complete: (found: Row) => Row,
): { readonly row: Row; readonly config: JsonRecord | null } {
  const found: [string, Json][] = []
  const used = new Set<string>()
  for (const { name, spellings = [], fits } of columns) {
    const key = [name, ...spellings].find((key) => {
      const value = Object.hasOwn(record, key) ? record[key] : undefined
      return value !== undefined && !used.has(key) && fits(value)
    })
    if (key === undefined) continue
    used.add(key)
    found.push([name, record[key] as Json])
  }
  const row = { ...empty(columns), ...complete(Object.fromEntries(found)), ...Object.fromEntries(found) }
  const written = Object.entries(record).filter(([, value]) => value !== undefined)
  const more = written.filter(([key]) => !used.has(key))
  const keys = written.map(([key]) => key)
  const others = more.map(([key]) => key)
  const layout: [string, Json][] = hasSameItems(keys, keysOf(row, columns, others)) ? [] : [[KEYS, keys]]
  const config = [...more.map(([key, value]): [string, Json] => [escaped(key), value as Json]), ...layout]
  return { row, config: config.length === 0 ? null : Object.fromEntries(config) }
}

function fromRow(row: Row, config: Json, columns: readonly Column[]): JsonRecord {
  const { [KEYS]: keys, ...more } = isRecord(config) ? config : {}
  const own = new Map(Object.entries(more).map(([key, value]) => [unescaped(key), value as Json]))
  const order = Array.isArray(keys) ? (keys as string[]) : keysOf(row, columns, [...own.keys()])
  const record: [string, Json][] = []
  const included = new Set<string>()
  for (const key of order) {
    const column = columns.find(({ name, spellings = [] }) => name === key || spellings.includes(key))
    if (own.has(key)) record.push([key, own.get(key) as Json])
    else if (column !== undefined) {
      included.add(column.name)
      record.push([key, row[column.name] ?? null])
    }
  }
  for (const { name, empty } of columns) {
    if (empty === undefined || included.has(name) || (row[name] ?? null) === null) continue
    if (!own.has(name)) record.push([name, row[name] as Json])
  }
  return Object.fromEntries(record)
}

/** The default order: the columns, then the other fields. */
function keysOf(row: Row, columns: readonly Column[], more: readonly string[]): string[] {
  const beyond = new Set(more)
  const written = columns.filter(
    ({ name, empty }) => !beyond.has(name) && (empty !== "absent" || (row[name] ?? null) !== null),
  )
  return orderOf([...written.map(({ name }) => name), ...more])
}

/** The order of keys in an object: JavaScript moves integers to the front. */
function orderOf(keys: readonly string[]): string[] {
  return Object.keys(Object.fromEntries(keys.map((key) => [key, 0])))
}

function empty(columns: readonly Column[]): Row {
  return Object.fromEntries(
    columns.filter(({ empty }) => empty !== undefined).map(({ name }) => [name, null]),
  )
}

/** Documents may contain fields with Superstep's reserved names. */
const OURS = /^\$+(keys|agents)$/

function escaped(key: string): string {
  return OURS.test(key) ? `$${key}` : key
}

function unescaped(key: string): string {
  return OURS.test(key) ? key.slice(1) : key
}

const WORKFLOW: readonly Column[] = [
  { name: "id", fits: isText },
  { name: "name", fits: isText },
  { name: "description", fits: isTextOrNull, empty: "absent" },
  { name: "isConversational", fits: (value) => typeof value === "boolean" },
  { name: "entrypointNodeId", spellings: ["entry"], fits: isText },
  { name: "nodes", fits: Array.isArray },
  { name: "edges", fits: Array.isArray },
  { name: "agents", fits: (value) => agentsOf(value) !== undefined, empty: "absent" },
]
const NODE: readonly Column[] = [
  { name: "id", fits: isText },
  { name: "workflowId", fits: isText },
  { name: "nodeType", spellings: ["type"], fits: isText },
  { name: "nodeName", spellings: ["name"], fits: isText },
  { name: "agentId", spellings: ["agent_id"], fits: isTextOrNull, empty: "written" },
]
const EDGE: readonly Column[] = [
  { name: "id", fits: isText },
  { name: "workflowId", fits: isText },
  { name: "sourceNodeId", spellings: ["from_node"], fits: isText },
  { name: "targetNodeId", spellings: ["to_node"], fits: isTextOrNull, empty: "written" },
  { name: "conditionType", fits: isText },
  { name: "conditionValue", spellings: ["condition"], fits: isTextOrNull, empty: "written" },
]
/** The key of the document's agents in a workflow's config. */
const AGENTS = "$agents"

export interface DefinitionRows {
  readonly definition: StoredDefinition
  /** The agents of the document. */
  readonly agents: readonly AgentRow[]
}

/** `id` is for a document without one. Throws DEFINITION_INVALID if the document cannot be stored. */
export function rowsOf(data: Json, id?: string): DefinitionRows {
  if (!isRecord(data)) throw definitionInvalid("A graph definition must be an object with nodes and edges")
  const { row, config } = toRow(data, WORKFLOW, (found) => {
    const own = (found.id ?? id ?? "") as string
    if (own === "") throw definitionInvalid("The definition has no id: add one")
    if (found.nodes === undefined) throw definitionInvalid(`Definition "${own}" has no list of nodes`)
    return {
      name: own,
      isConversational: false,
      entrypointNodeId: null,
      edges: [],
      ...found,
      id: own,
    }
  })
  const { nodes: nodeData, edges: edgeData, agents: agentsData = null, ...workflow } = row
  const workflowId = row.id as string
  const nodes = records(nodeData, "node").map((node, i) => nodeRow(node, i, workflowId))
  const edges = edgeRows(records(edgeData, "edge"), workflowId)
  const agents = agentsData === null ? [] : (agentsOf(agentsData) ?? [])
  const ownAgents = agents.map((agent) => agent.id)
  const form = Array.isArray(agentsData) ? "list" : "byId"
  const rows: DefinitionRows = {
    definition: {
      workflow: {
        ...(workflow as unknown as WorkflowRow),
        entrypointNodeId: (workflow.entrypointNodeId as string | null) ?? entrypoint(nodes),
        config: agentsData === null ? config : { ...config, [AGENTS]: { [form]: ownAgents } },
      },
      nodes,
      edges,
    },
    agents,
  }
  checkRegistryChange({ definitions: [rows.definition], agents })
  return rows
}

/** `agents` has the current agents of the document; removed ones are left out. */
export function documentOf(
  { workflow, nodes, edges }: StoredDefinition,
  agents: readonly AgentRow[] = [],
): JsonRecord {
  const { config, ...row } = workflow
  const { [AGENTS]: ownAgents, ...own } = isRecord(config) ? config : {}
  const all = {
    ...row,
    nodes: nodes.map(nodeData),
    edges: edges.map(edgeData),
    agents: isRecord(ownAgents) ? agentsData(ownAgents, agents) : null,
  }
  return fromRow(all, own, WORKFLOW)
}

/** The ids of the agents of the definition's document. */
export function documentAgents({ config }: WorkflowRow): readonly string[] {
  const ownAgents = isRecord(config) ? config[AGENTS] : undefined
  if (!isRecord(ownAgents)) return []
  return (ownAgents.list ?? ownAgents.byId ?? []) as readonly string[]
}

export function nodeData({ config, ...row }: NodeRow): JsonRecord {
  return fromRow(row as Row, config, NODE)
}

export function edgeData({ config, ...row }: EdgeRow): JsonRecord {
  return fromRow(row as Row, config, EDGE)
}

function agentsData({ list, byId }: JsonRecord, agents: readonly AgentRow[]): Json {
  const known = new Map(agents.map((agent) => [agent.id, agentData(agent)]))
  const there = ((list ?? byId ?? []) as string[]).filter((id) => known.has(id))
  if (list !== undefined) return there.map((id) => known.get(id) as JsonRecord)
  return Object.fromEntries(there.map((id) => [id, known.get(id) as JsonRecord]))
}

function records(list: Json | undefined, kind: "node" | "edge"): readonly JsonRecord[] {
  const bad = (list as readonly Json[]).findIndex((one) => !isRecord(one))
  if (bad >= 0) throw definitionInvalid(`The ${kind} at position ${bad + 1} is not an object`)
  return list as readonly JsonRecord[]
}

function nodeRow(node: JsonRecord, position: number, workflowId: string): NodeRow {
  const { row, config } = toRow(node, NODE, (found) => {
    const name = typeof found.id === "string" ? `Node "${found.id}"` : `The node at position ${position + 1}`
    if (found.id === undefined) throw definitionInvalid(`${name} has no id`)
    if (found.nodeType === undefined) throw definitionInvalid(`${name} has no nodeType`)
    return { workflowId, nodeName: found.id }
  })
  return { ...(row as unknown as NodeRow), config }
}

function edgeRows(edges: readonly JsonRecord[], workflowId: string): readonly EdgeRow[] {
  const taken = new Set(edges.flatMap(({ id }) => (typeof id === "string" ? [id] : [])))
  return edges.map((edge, i) => {
    const { row, config } = toRow(edge, EDGE, (found) => {
      const { id, sourceNodeId, targetNodeId, conditionValue } = found
      const name = typeof id === "string" ? `Edge "${id}"` : `The edge at position ${i + 1}`
      if (sourceNodeId === undefined) throw definitionInvalid(`${name} has no sourceNodeId`)
      const conditionType = (conditionValue ?? null) === null ? "ALWAYS" : "CONDITIONAL"
      const made = id === undefined ? { id: freeId(`${sourceNodeId}->${targetNodeId ?? "END"}`, taken) } : {}
      return { workflowId, conditionType, ...made }
    })
    return { ...(row as unknown as EdgeRow), config }
  })
}

/** The id of an edge without one. It names its ends, so it stays the same when other edges change. */
function freeId(wanted: string, taken: Set<string>): string {
  let id = wanted
  for (let n = 2; taken.has(id); n++) id = `${wanted}#${n}`
  taken.add(id)
  return id
}

/** The default: the start node, or the first. */
function entrypoint(nodes: readonly NodeRow[]): string {
  return (nodes.find(({ nodeType }) => nodeType === "start") ?? nodes[0])?.id ?? ""
}

const AGENT: readonly Column[] = [
  { name: "id", fits: isText },
  { name: "name", fits: isText },
  { name: "description", fits: isTextOrNull, empty: "absent" },
  { name: "prompt", spellings: ["instruction", "instructions"], fits: isTextOrNull, empty: "absent" },
  { name: "model", fits: isTextOrNull, empty: "absent" },
  { name: "tools", spellings: ["toolsets"], fits: () => true, empty: "absent" },
]

/** The row of an agent that a document has under this id. */
export function agentRow(id: string, data: JsonRecord): AgentRow {
  // An `id` that differs from the key is an ordinary field.
  const columns = AGENT.map((column) =>
    column.name === "id" ? { ...column, fits: (value: Json) => value === id } : column,
  )
  const { row, config } = toRow(data, columns, (found) => ({ name: id, ...found, id }))
  return { ...(row as unknown as AgentRow), config }
}

/** The agent as a document has it. */
export function agentData(agent: AgentRow): JsonRecord {
  const { config, ...row } = agent
  return fromRow(row as Row, config, AGENT)
}

function isId(id: string): boolean {
  return id !== "" && isText(id)
}

/** The rows of agents by id or in a list. Throws DEFINITION_INVALID if they are neither. */
export function agentRows(agents: Json): readonly AgentRow[] {
  const rows = agentsOf(agents)
  if (rows === undefined) {
    throw definitionInvalid(
      "Agents must be an object by id (`agents: { writer: { … } }`) or a list of agents with ids",
    )
  }
  checkRegistryChange({ agents: rows })
  return rows
}

function agentsOf(agents: Json | undefined): readonly AgentRow[] | undefined {
  if (Array.isArray(agents)) {
    const rows = agents.map((agent: Json) =>
      isRecord(agent) && typeof agent.id === "string" && isId(agent.id)
        ? agentRow(agent.id, agent)
        : undefined,
    )
    return rows.includes(undefined) ? undefined : (rows as AgentRow[])
  }
  if (!isRecord(agents) || !Object.entries(agents).every(([id, agent]) => isId(id) && isRecord(agent))) {
    return undefined
  }
  return Object.entries(agents).map(([id, agent]) => agentRow(id, agent as JsonRecord))
}
