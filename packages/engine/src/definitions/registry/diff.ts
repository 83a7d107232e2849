/** Compares a document with a stored definition, and reports the changes as data and as text. */
import type { Json } from "../../core/index.ts"
import { canonicalJson, isRecord } from "../../core/internal.ts"
import type { AgentRow, StoredDefinition, WorkflowRow } from "../../runtime/index.ts"
import { clipped } from "../../text/index.ts"
import {
  agentData,
  type DefinitionRows,
  documentAgents,
  documentOf,
  edgeData,
  type JsonRecord,
  nodeData,
  rowsOf,
} from "./document-rows.ts"

export interface DefinitionChange {
  /** `reordered`: the same content in a different order. */
  readonly kind: "added" | "removed" | "changed" | "reordered"
  readonly of: "workflow" | "node" | "edge" | "agent"
  readonly id: string
  /** The changed fields, as dotted paths of the document. */
  readonly fields: readonly FieldChange[]
  readonly words: string
}

export interface FieldChange {
  readonly field: string
  /** Undefined: the field did not exist. */
  readonly before: Json | undefined
  readonly after: Json | undefined
}

/** Empty if nothing changes. `agents` are the stored agents to compare with. */
export function diffDefinition(
  stored: StoredDefinition | undefined,
  data: Json,
  options: { readonly agents?: readonly AgentRow[] | undefined; readonly id?: string | undefined } = {},
): readonly DefinitionChange[] {
  return diffRows(stored, rowsOf(data, options.id), options.agents ?? [])
}

export function diffRows(
  stored: StoredDefinition | undefined,
  { definition, agents: ownAgents }: DefinitionRows,
  agents: readonly AgentRow[],
): readonly DefinitionChange[] {
  const gone = stored === undefined ? [] : missingAgents(stored.workflow, ownAgents)
  const changes = [
    ...diffRecords("workflow", stored && [workflowData(stored)], [workflowData(definition)]),
    ...diffRecords("node", stored?.nodes.map(record(nodeData)), definition.nodes.map(record(nodeData))),
    ...diffRecords("edge", stored?.edges.map(record(edgeData)), definition.edges.map(record(edgeData))),
    ...gone.map((id) => change("removed", "agent", id)),
    ...diffAgents(agents, ownAgents),
  ]
  if (changes.length > 0 || stored === undefined) return changes
  if (JSON.stringify(documentOf(stored, agents)) === JSON.stringify(documentOf(definition, ownAgents)))
    return []
  return [change("reordered", "workflow", stored.workflow.id)]
}

/** Agents of the stored document that are missing from this list. */
export function missingAgents(stored: WorkflowRow, agents: readonly AgentRow[]): readonly string[] {
  const left = new Set(agents.map(({ id }) => id))
  return documentAgents(stored).filter((id) => !left.has(id))
}

/** The changes that these agents would make. Stored agents that are not among them are ignored. */
export function diffAgents(
  stored: readonly AgentRow[],
  agents: readonly AgentRow[],
): readonly DefinitionChange[] {
  const ids = new Set(agents.map(({ id }) => id))
  const changes = diffRecords(
    "agent",
    stored.filter(({ id }) => ids.has(id)).map(record(agentData)),
    agents.map(record(agentData)),
  )
  const changed = new Set(changes.map(({ id }) => id))
  const before = new Map(stored.map((agent) => [agent.id, JSON.stringify(agentData(agent))]))
  const reordered = agents.filter((agent) => {
    const was = changed.has(agent.id) ? undefined : before.get(agent.id)
    return was !== undefined && was !== JSON.stringify(agentData(agent))
  })
  return [...changes, ...reordered.map(({ id }) => change("reordered", "agent", id))]
}

interface Named {
  readonly id: string
  readonly data: JsonRecord
}

function record<R extends { readonly id: string }>(dataOf: (row: R) => JsonRecord): (row: R) => Named {
  return (row) => ({ id: row.id, data: dataOf(row) })
}

/** Without the parts that have their own rows. */
function workflowData(definition: StoredDefinition): Named {
  const { nodes: _, edges: __, agents: ___, ...data } = documentOf(definition)
  return { id: definition.workflow.id, data }
}

function diffRecords(
  of: DefinitionChange["of"],
  before: readonly Named[] | undefined,
  after: readonly Named[],
): readonly DefinitionChange[] {
  const old = new Map(before?.map(({ id, data }) => [id, data]))
  const left = new Set(after.map(({ id }) => id))
  const removed = [...old.keys()].filter((id) => !left.has(id)).map((id) => change("removed", of, id))
  const rest = after.flatMap(({ id, data }) => {
    const was = old.get(id)
    if (was === undefined) return [change("added", of, id)]
    const fields = diffFields(was, data)
    return fields.length === 0 ? [] : [change("changed", of, id, fields)]
  })
  return [...removed, ...rest]
}

function diffFields(before: JsonRecord, after: JsonRecord, within = ""): readonly FieldChange[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return keys.flatMap((key) => {
    const [was, is] = [own(before, key), own(after, key)]
    const field = `${within}${key}`
    if (isRecord(was) && isRecord(is)) return diffFields(was, is, `${field}.`)
    if (was !== undefined && is !== undefined && canonicalJson(was) === canonicalJson(is)) return []
    return [{ field, before: was, after: is }]
  })
}

function own(record: JsonRecord, key: string): Json | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

function change(
  kind: DefinitionChange["kind"],
  of: DefinitionChange["of"],
  id: string,
  fields: readonly FieldChange[] = [],
): DefinitionChange {
  const name = `${of} "${id}"`
  if (kind !== "changed") return { kind, of, id, fields, words: `${name} ${kind}` }
  return { kind, of, id, fields, words: `${name} changed: ${fields.map(inWords).join("; ")}` }
}

function inWords({ field, before, after }: FieldChange): string {
  if (before === undefined) return `${field} ${brief(after)} added`
  if (after === undefined) return `${field} ${brief(before)} removed`
  return `${field} ${brief(before)} → ${brief(after)}`
}

const MAX_LENGTH = 60

function brief(value: Json | undefined): string {
  const text = JSON.stringify(value)
  return text.length <= MAX_LENGTH ? text : clipped(text, MAX_LENGTH - 1)
}
