/**
 * Checks that every name in a graph exists and is unique, and that every node has the fields of its type. The
 * specifications of the two spellings prescribe some messages; those are kept verbatim.
 */
import type { NodeId } from "../../core/index.ts"
import { nearest, type Path } from "../../document/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import type { GraphAgents } from "./graph-agents.ts"
import { aType, edgesFrom, type GraphModel, type ModelEdge, type ModelNode, typeName } from "./graph-model.ts"
import type { NodeData, NodeType } from "./graph-shape.ts"

/** The graph with its valid edges. Others are errors, or dropped if the check is lenient. */
export function checkNames(
  model: GraphModel,
  agents: GraphAgents,
  report: DocumentReport,
  isLenient: boolean,
): GraphModel {
  checkIds(model, report)
  checkOwners(model, report)
  checkEnds(model, report)
  checkAgents(model, agents, report)
  return { ...model, edges: validEdges(model, report, isLenient) }
}

function checkIds({ nodes, edges, isChat }: GraphModel, report: DocumentReport): void {
  const known = new Set<NodeId>()
  for (const { id, at } of nodes) {
    const message = isChat ? `Node ${id} is defined twice` : `Node ${id} already exists in graph`
    if (known.has(id)) report.error("DUPLICATE_NODE", message, [...at, "id"])
    if (id === "__proto__" || id.startsWith("#") || id.includes("@")) {
      const why = `Node id ${id} is not allowed: an id must not be __proto__, start with # or contain @`
      report.error("NODE_ID_INVALID", why, [...at, "id"])
    }
    known.add(id)
  }
  const ids = new Set<string>()
  const rows = (report.document.data as { readonly edges?: readonly { readonly id?: unknown }[] }).edges
  for (const { id, at } of edges) {
    // The id of an edge without one is its position, which may be the written id of another.
    if (at[0] !== "edges" || rows?.[at[1] as number]?.id !== id) continue
    if (ids.has(id)) report.error("DUPLICATE_EDGE", `Edge ${id} is defined twice`, [...at, "id"])
    ids.add(id)
  }
}

/** Rows name the graph that they belong to. */
function checkOwners({ id: own, nodes, edges }: GraphModel, report: DocumentReport): void {
  const data = report.document.data as {
    readonly id?: unknown
    readonly nodes?: readonly unknown[]
    readonly edges?: readonly unknown[]
  }
  if (typeof data.id !== "string") return
  const check = (kind: string, id: string, row: unknown, at: Path) => {
    const { workflowId } = (row ?? {}) as { readonly workflowId?: unknown }
    if (typeof workflowId !== "string" || workflowId === own) return
    const message = `${kind} ${id} belongs to another workflow: ${workflowId}, not ${own}`
    report.error("OTHER_WORKFLOW", message, [...at, "workflowId"])
  }
  for (const { id, at } of nodes) check("Node", id, data.nodes?.[at[1] as number], at)
  for (const { id, at } of edges) if (at[0] === "edges") check("Edge", id, data.edges?.[at[1] as number], at)
}

function checkEnds(model: GraphModel, report: DocumentReport): void {
  const { nodes, entry, entryAt, exits, isChat } = model
  const ids = nodes.map(({ id }) => id)
  if (nodes.length === 0) report.error("NO_NODES", "The graph has no nodes", ["nodes"])
  if (isChat && entryAt === undefined && nodes.length > 0) {
    const message = "The graph has no entrypointNodeId: set it to the node where a run begins"
    report.error("MISSING_FIELD", message, [])
  }
  if (entryAt !== undefined && !ids.includes(entry)) {
    const message = isChat
      ? `Entrypoint node ${entry} does not exist`
      : `Entry node ${entry} not found in graph`
    report.error("ENTRY_UNKNOWN", message, entryAt, nearest(entry, ids))
  }
  // Graphs that name their entry also name their exits.
  if (!isChat && (exits?.length === 0 || (exits === undefined && entryAt?.[0] === "entry"))) {
    report.error("NO_EXIT", "At least one exit node must be defined", ["exits"])
  }
  for (const [i, id] of (exits ?? []).entries()) {
    if (ids.includes(id)) continue
    report.error("EXIT_UNKNOWN", `Exit node ${id} not found in graph`, ["exits", i], nearest(id, ids))
  }
}

function checkAgents(model: GraphModel, agents: GraphAgents, report: DocumentReport): void {
  for (const { id, type, agentId, at, data } of model.nodes) {
    const field = data.agentId === undefined || data.agentId === null ? "agent_id" : "agentId"
    const path = [...at, agentId === undefined && model.isChat ? "agentId" : field]
    if (agentId === undefined) {
      if (type !== "agent") continue
      const message = `Node ${id} is ${aType(model, type)} but has no ${model.isChat ? "agentId" : "agent_id"}`
      report.error("AGENT_MISSING", message, path)
    } else if (type !== "agent" && type !== "decision" && type !== "tool") {
      report.error("FIELD_NOT_FOR_TYPE", `Node ${id} is ${aType(model, type)}, which has no agent`, path)
    } else if (!agents.has(agentId)) {
      const message = `Agent ${agentId} referenced by node ${id} does not exist`
      report.error("UNKNOWN_AGENT", message, path, nearest(agentId, agents.names))
    }
  }
}

function validEdges(model: GraphModel, report: DocumentReport, isLenient: boolean): readonly ModelEdge[] {
  const ids = new Set(model.nodes.map(({ id }) => id))
  return model.edges.filter((edge) => {
    const lost = [
      ...(ids.has(edge.from) ? [] : [["source", edge.from] as const]),
      ...(edge.to === null || ids.has(edge.to) ? [] : [["target", edge.to] as const]),
    ]
    for (const [end, id] of lost) reportLost(model, edge, end, id, report, isLenient)
    if (!model.exits?.includes(edge.from)) return lost.length === 0
    const message = `Edge ${edge.id} starts at the exit node ${edge.from} and is never followed`
    report.warning("EDGE_UNUSED", message, edge.at)
    return false
  })
}

function reportLost(
  { isChat, nodes }: GraphModel,
  { id: edge, at }: ModelEdge,
  end: "source" | "target",
  id: NodeId,
  report: DocumentReport,
  isLenient: boolean,
): void {
  // A missing source is already reported.
  if (id === "") return
  const fields = { source: ["sourceNodeId", "from_node"], target: ["targetNodeId", "to_node"] } as const
  const path = at[0] === "edges" ? [...at, fields[end][isChat ? 0 : 1]] : at
  const ids = nodes.map((node) => node.id)
  const message = isChat
    ? `Edge ${edge} references non-existent ${end} node ${id}`
    : `Edge ${end} node ${id} not found`
  if (isLenient) report.warning("EDGE_DROPPED", `${message}; the edge is dropped`, path, nearest(id, ids))
  else report.error("EDGE_UNKNOWN_NODE", message, path, nearest(id, ids))
}

type Field = keyof NodeData

const ANY: readonly Field[] = [
  "id",
  "workflowId",
  "nodeType",
  "type",
  "nodeName",
  "name",
  "description",
  "agentId",
  "agent_id",
  "position",
  "metadata",
]
const MERGE: readonly Field[] = ["params", "strategy", "template", "separator", "outputs"]

const FIELDS: Readonly<Record<NodeType, readonly Field[]>> = {
  agent: ["inputs", "outputs", "prompt", "result", "params", "flow"],
  tool_executor: [],
  human_handoff: ["prompt", "to"],
  start: [],
  fanout: ["branches"],
  loop: ["max_iters", "maxIters", "loop_condition"],
  conditional: ["condition"],
  merge: MERGE,
  state: ["update", "read"],
  decision: ["options", "decide", "inputs", "prompt", "params"],
  parallel: ["nodes", "aggregator", ...MERGE],
  workflow: ["file", "inputs", "outputs", "prompt", "result", "params"],
  tool: ["tool", "toolset", "args", "outputs", "result", "flow"],
  wait: ["signal", "schema", "timeout", "default", "outputs", "result"],
}

/** Nodes that a parallel node can run: those that choose no route. */
const MEMBERS: readonly NodeType[] = ["agent", "tool", "wait", "workflow", "state", "parallel"]

export function checkNodes(model: GraphModel, report: DocumentReport): void {
  for (const node of model.nodes) {
    checkFields(model, node, report)
    const problem = problemOf(model, node)
    if (problem !== undefined) {
      const message = `Node ${node.id} (${typeName(model, node.type)}) ${problem}`
      report.error("NODE_INVALID", message, [...node.at, "id"])
    }
    if (node.type === "parallel") checkMembers(model, node, report)
    if (node.type === "decision") checkTargets(model, node, "options", report)
  }
}

function checkFields(model: GraphModel, node: ModelNode, report: DocumentReport): void {
  const { id, type, data, at } = node
  // In a conversation, the messages are an agent's only input.
  const own = model.isChat && type === "agent" ? [] : FIELDS[type]
  for (const field of Object.keys(data) as Field[]) {
    const isEmpty = data[field] === undefined || data[field] === null
    if (isEmpty || ANY.includes(field) || own.includes(field)) continue
    const message = `Node ${id} is ${aType(model, type)}, which has no field ${field}`
    report.error("FIELD_NOT_FOR_TYPE", message, [...at, field], undefined, "key")
  }
}

/** The missing or superfluous field, as the rest of a sentence about the node. */
function problemOf(model: GraphModel, node: ModelNode): string | undefined {
  const { type, data, agentId } = node
  const edges = edgesFrom(model, node.id)
  const eitherOr = (one: unknown, other: unknown, what: string) =>
    (one === undefined) === (other === undefined) ? `needs either ${what}` : undefined
  switch (type) {
    case "tool_executor":
      return model.isChat ? undefined : "is for conversations; in this graph agents run their own tools"
    case "fanout":
      return edges.length === 0 && !data.branches?.length ? "has no branches" : undefined
    case "conditional":
      if (edges.length === 0) return "has no edges to choose from"
      return edges.filter(({ when }) => when === undefined).length > 1
        ? "has two edges without a condition"
        : undefined
    case "merge": {
      const strategy = data.strategy ?? data.params?.strategy
      const template = data.template ?? data.params?.template
      return strategy === "custom_template" && template === undefined ? "has no template" : undefined
    }
    case "state":
      return eitherOr(data.update, data.read, "update or read")
    case "decision":
      if (edges.every(({ to }) => to === null)) return "has no options"
      return eitherOr(data.decide, agentId, "decide or an agent")
    case "parallel":
      return data.nodes?.length ? undefined : "has no nodes"
    case "workflow":
      return data.file === undefined ? "has no file" : undefined
    case "wait":
      return data.signal === undefined ? "has no signal" : undefined
    case "tool":
      if (data.tool === undefined) return "has no tool"
      return eitherOr(data.toolset, agentId, "a toolset or an agent")
    default:
      return undefined
  }
}

function checkMembers(model: GraphModel, node: ModelNode, report: DocumentReport): void {
  checkTargets(model, node, "nodes", report)
  const { nodes = [] } = node.data
  for (const [i, id] of nodes.entries()) {
    const member = model.nodes.find((one) => one.id === id)
    const invalid = (message: string) => report.error("NODE_INVALID", message, [...node.at, "nodes", i])
    if (nodes.indexOf(id) < i) invalid(`Node ${node.id} runs ${id} twice`)
    if (runs(model, id, node.id)) invalid(`Node ${node.id} runs itself`)
    if (member === undefined || MEMBERS.includes(member.type)) continue
    invalid(`Node ${node.id} cannot run ${id} in parallel: it is ${aType(model, member.type)}, which routes`)
  }
}

/** Whether the node is the other one, or a parallel node that contains it. */
function runs({ nodes }: GraphModel, id: string, other: string): boolean {
  const inside = new Set([id])
  for (const one of inside) {
    const node = nodes.find((found) => found.id === one)
    if (node?.type === "parallel") for (const member of node.data.nodes ?? []) inside.add(member)
  }
  return inside.has(other)
}

function checkTargets(
  model: GraphModel,
  node: ModelNode,
  field: "nodes" | "options",
  report: DocumentReport,
): void {
  const ids = model.nodes.map(({ id }) => id)
  for (const [i, id] of (node.data[field] ?? []).entries()) {
    if (ids.includes(id)) continue
    const message = `Node ${node.id} lists ${id} in ${field}, but there is no such node`
    report.error("UNKNOWN_NODE", message, [...node.at, field, i], nearest(id, ids))
  }
}
