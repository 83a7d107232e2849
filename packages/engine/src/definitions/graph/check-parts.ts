/** Does every name in a graph mean one thing that is there? The words are those of the two specifications. */
import type { NodeId } from "../../core/index.ts"
import { type Document, nearest, type Report } from "../document/index.ts"
import type { GraphAgents } from "./graph-agents.ts"
import type { GraphModel, ModelEdge } from "./graph-model.ts"
import { aType } from "./read-graph.ts"

export interface Checking {
  readonly document: Document
  readonly report: Report
}

/** The graph with what is left of its edges: those that lead nowhere are errors, or dropped. */
export function checkParts(
  model: GraphModel,
  agents: GraphAgents,
  checking: Checking,
  isLenient: boolean,
): GraphModel {
  checkIds(model, checking)
  checkOwners(model, checking)
  checkEnds(model, checking)
  checkAgents(model, agents, checking)
  return { ...model, edges: soundEdges(model, checking, isLenient) }
}

function checkIds({ nodes, edges, isChat }: GraphModel, { document, report }: Checking): void {
  const known = new Set<NodeId>()
  for (const { id, at } of nodes) {
    const text = isChat ? `Node ${id} is there twice` : `Node ${id} already exists in graph`
    if (known.has(id)) report.error("DUPLICATE_NODE", text, document.place([...at, "id"]))
    if (id === "__proto__" || id.startsWith("#") || id.includes("@")) {
      const why = `Node ${id}: an id is not __proto__, does not begin with #, and has no @ in it`
      report.error("NODE_ID_INVALID", why, document.place([...at, "id"]))
    }
    known.add(id)
  }
  const ids = new Set<string>()
  const rows = (document.data as { readonly edges?: readonly { readonly id?: unknown }[] }).edges
  for (const { id, at } of edges) {
    // An edge without an id goes by its place, which another may have for an id.
    if (at[0] !== "edges" || rows?.[at[1] as number]?.id !== id) continue
    if (ids.has(id))
      report.error("DUPLICATE_EDGE", `Edge ${id} is there twice`, document.place([...at, "id"]))
    ids.add(id)
  }
}

/** Rows say which graph they belong to. */
function checkOwners({ id: own, nodes, edges }: GraphModel, { document, report }: Checking): void {
  const data = document.data as {
    readonly id?: unknown
    readonly nodes?: readonly unknown[]
    readonly edges?: readonly unknown[]
  }
  if (typeof data.id !== "string") return
  const check = (kind: string, id: string, row: unknown, at: readonly (string | number)[]) => {
    const { workflowId } = (row ?? {}) as { readonly workflowId?: unknown }
    if (typeof workflowId !== "string" || workflowId === own) return
    const text = `${kind} ${id} belongs to another workflow: ${workflowId}, not ${own}`
    report.error("OTHER_WORKFLOW", text, document.place([...at, "workflowId"]))
  }
  for (const { id, at } of nodes) check("Node", id, data.nodes?.[at[1] as number], at)
  for (const { id, at } of edges) if (at[0] === "edges") check("Edge", id, data.edges?.[at[1] as number], at)
}

function checkEnds(model: GraphModel, { document, report }: Checking): void {
  const { nodes, entry, entryAt, exits, isChat } = model
  const ids = nodes.map(({ id }) => id)
  if (nodes.length === 0) report.error("NO_NODES", "The graph has no nodes", document.place(["nodes"]))
  if (isChat && entryAt === undefined && nodes.length > 0) {
    report.error(
      "MISSING_FIELD",
      "The graph has no entrypointNodeId: say where a run begins",
      document.place([]),
    )
  }
  if (entryAt !== undefined && !ids.includes(entry)) {
    const text = isChat ? `Entrypoint node ${entry} does not exist` : `Entry node ${entry} not found in graph`
    report.error("ENTRY_UNKNOWN", text, document.place(entryAt), nearest(entry, ids))
  }
  // Graphs that name their entry name their exits too.
  if (!isChat && (exits?.length === 0 || (exits === undefined && entryAt?.[0] === "entry"))) {
    report.error("NO_EXIT", "At least one exit node must be defined", document.place(["exits"]))
  }
  for (const [i, id] of (exits ?? []).entries()) {
    if (ids.includes(id)) continue
    report.error(
      "EXIT_UNKNOWN",
      `Exit node ${id} not found in graph`,
      document.place(["exits", i]),
      nearest(id, ids),
    )
  }
}

function checkAgents(model: GraphModel, agents: GraphAgents, { document, report }: Checking): void {
  for (const { id, type, agentId, at, data } of model.nodes) {
    const field = data.agentId === undefined || data.agentId === null ? "agent_id" : "agentId"
    const place = document.place([...at, agentId === undefined && model.isChat ? "agentId" : field])
    if (agentId === undefined) {
      if (type === "agent") {
        const text = `Node ${id} is ${aType(model, type)} and has no ${model.isChat ? "agentId" : "agent_id"}`
        report.error("AGENT_MISSING", text, place)
      }
    } else if (type !== "agent" && type !== "decision" && type !== "tool") {
      const text = `Node ${id} is ${aType(model, type)}: it has no agent`
      report.error("FIELD_NOT_FOR_TYPE", text, place)
    } else if (!agents.has(agentId)) {
      const text = `Agent ${agentId} referenced by node ${id} does not exist`
      report.error("UNKNOWN_AGENT", text, place, nearest(agentId, agents.names))
    }
  }
}

function soundEdges(model: GraphModel, checking: Checking, isLenient: boolean): readonly ModelEdge[] {
  const ids = new Set(model.nodes.map(({ id }) => id))
  return model.edges.filter((edge) => {
    const lost = [
      ...(ids.has(edge.from) ? [] : [["source", edge.from] as const]),
      ...(edge.to === null || ids.has(edge.to) ? [] : [["target", edge.to] as const]),
    ]
    for (const [end, id] of lost) tellLost(model, edge, end, id, checking, isLenient)
    if (!model.exits?.includes(edge.from)) return lost.length === 0
    const text = `Edge ${edge.id} leads on from the exit ${edge.from}: it is not followed`
    checking.report.warning("EDGE_UNUSED", text, checking.document.place(edge.at))
    return false
  })
}

function tellLost(
  { isChat, nodes }: GraphModel,
  { id: edge, at }: ModelEdge,
  end: "source" | "target",
  id: NodeId,
  { document, report }: Checking,
  isLenient: boolean,
): void {
  // An edge without a source was told already.
  if (id === "") return
  const fields = { source: ["sourceNodeId", "from_node"], target: ["targetNodeId", "to_node"] } as const
  const field = at[0] === "edges" ? [fields[end][isChat ? 0 : 1]] : []
  const place = document.place([...at, ...field])
  const text = isChat
    ? `Edge ${edge} references non-existent ${end} node ${id}`
    : `Edge ${end} node ${id} not found`
  const suggestion = nearest(
    id,
    nodes.map((node) => node.id),
  )
  if (isLenient) report.warning("EDGE_DROPPED", `${text}; the edge is dropped`, place, suggestion)
  else report.error("EDGE_UNKNOWN_NODE", text, place, suggestion)
}
