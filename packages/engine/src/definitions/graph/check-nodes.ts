/** Which fields go with which type of node, and which it must have. */
import { nearest } from "../document/index.ts"
import type { Checking } from "./check-parts.ts"
import { edgesFrom, type GraphModel, type ModelNode } from "./graph-model.ts"
import type { NodeData, NodeType } from "./graph-shape.ts"
import { aType, typeName } from "./read-graph.ts"

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
  agent: ["inputs", "outputs", "prompt", "result", "params"],
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
  tool: ["tool", "toolset", "args", "outputs", "result"],
}

/** Nodes that a parallel node can run: those that need no way of their own. */
const MEMBERS: readonly NodeType[] = ["agent", "tool", "workflow", "state", "parallel"]

export function checkNodes(model: GraphModel, checking: Checking): void {
  for (const node of model.nodes) {
    checkFields(model, node, checking)
    const problem = problemOf(model, node)
    if (problem !== undefined) tell(model, node, problem, checking)
    if (node.type === "parallel") checkMembers(model, node, checking)
    if (node.type === "decision") checkTargets(model, node, "options", checking)
  }
}

function checkFields(model: GraphModel, node: ModelNode, { document, report }: Checking): void {
  const { type, data, at } = node
  // In a conversation an agent hears what was said, and nothing else.
  const own = model.isChat && type === "agent" ? [] : FIELDS[type]
  for (const field of Object.keys(data) as Field[]) {
    if (data[field] === undefined || data[field] === null || ANY.includes(field) || own.includes(field))
      continue
    const text = `Node ${node.id} is ${aType(model, type)}: it has no ${field}`
    report.error("FIELD_NOT_FOR_TYPE", text, document.place([...at, field], "key"))
  }
}

/** What is missing, or too much, in words after the node's name. */
function problemOf(model: GraphModel, node: ModelNode): string | undefined {
  const { type, data, agentId } = node
  const edges = edgesFrom(model, node.id)
  switch (type) {
    case "tool_executor":
      return model.isChat ? undefined : "is for conversations: here agents run their tools themselves"
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
      return (data.update === undefined) === (data.read === undefined)
        ? "has one of update and read"
        : undefined
    case "decision":
      if (edges.every(({ to }) => to === null)) return "has no options"
      return (data.decide === undefined) === (agentId === undefined)
        ? "has one of decide and an agent"
        : undefined
    case "parallel":
      return data.nodes?.length ? undefined : "has no nodes"
    case "workflow":
      return data.file === undefined ? "has no file" : undefined
    case "tool":
      if (data.tool === undefined) return "has no tool"
      return (data.toolset === undefined) === (agentId === undefined)
        ? "has one of toolset and an agent"
        : undefined
    default:
      return undefined
  }
}

function tell(model: GraphModel, node: ModelNode, problem: string, { document, report }: Checking): void {
  const text = `Node ${node.id} (${typeName(model, node.type)}) ${problem}`
  report.error("NODE_INVALID", text, document.place([...node.at, "id"]))
}

function checkMembers(model: GraphModel, node: ModelNode, checking: Checking): void {
  const { document, report } = checking
  checkTargets(model, node, "nodes", checking)
  const { nodes = [] } = node.data
  for (const [i, id] of nodes.entries()) {
    const member = model.nodes.find((one) => one.id === id)
    const place = document.place([...node.at, "nodes", i])
    if (nodes.indexOf(id) < i) report.error("NODE_INVALID", `Node ${node.id} runs ${id} twice`, place)
    if (runs(model, id, node.id)) report.error("NODE_INVALID", `Node ${node.id} runs itself`, place)
    if (member === undefined || MEMBERS.includes(member.type)) continue
    const text = `Node ${node.id} cannot run ${id} beside others: ${aType(model, member.type)} decides about ways`
    report.error("NODE_INVALID", text, place)
  }
}

/** Whether a node is another one, or a parallel node with it somewhere inside. */
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
  { document, report }: Checking,
): void {
  const ids = model.nodes.map(({ id }) => id)
  for (const [i, id] of (node.data[field] ?? []).entries()) {
    if (ids.includes(id)) continue
    const text = `Node ${node.id} names ${id} in ${field}, which is no node`
    report.error("UNKNOWN_NODE", text, document.place([...node.at, field, i]), nearest(id, ids))
  }
}
