/** Reads either spelling of a graph into one model, and adds the edges that nodes imply. */
import { basename, extname } from "node:path"
import type { NodeId } from "../../core/index.ts"
import { nearest, type Path } from "../../document/index.ts"
import { variables } from "../../expressions/index.ts"
import { environmentOf } from "../definition.ts"
import type { DialectInput, DocumentReport } from "../dialect-input.ts"
import { secretReference } from "../variables.ts"
import { type GraphModel, type Limits, type ModelEdge, type ModelNode, textIn } from "./graph-model.ts"
import { type EdgeData, type GraphData, NODE_TYPES, type NodeData } from "./graph-shape.ts"

const CHAT_STEPS = 15
const CHAT_TIMEOUT = 90_000
const STEPS = 1_000
const ITERS = 3

export function readGraph(data: GraphData, input: DialectInput): GraphModel {
  const { document } = input.report
  const isChat = isRows(data)
  const nodes = data.nodes.map((one, i) => {
    const at = ["nodes", i]
    return readNode(filled(one, at, input), at, input.report)
  })
  const edges = (data.edges ?? []).map((one, i) => readEdge(one, i, isChat, input.report))
  const field = data.entrypointNodeId === undefined ? "entry" : "entrypointNodeId"
  const written = data[field] ?? undefined
  const first = nodes.find(({ type }) => type === "start") ?? nodes[0]
  const file = basename(document.file, extname(document.file))
  const id = data.id || data.name || file
  return {
    isChat,
    id,
    title: data.name || id,
    description: data.description ?? undefined,
    isConversational: data.isConversational ?? false,
    entry: written ?? first?.id ?? "",
    entryAt: written === undefined ? undefined : [field],
    exits: data.exits,
    nodes,
    edges,
    limits: readLimits(data, isChat, input.options.maxSteps),
  }
}

/** Whether the graph is written as rows, and not as the executor's JSON. */
function isRows({ nodes, edges = [], entrypointNodeId }: GraphData): boolean {
  if (
    nodes.some(({ type }) => type !== undefined) ||
    edges.some(({ from_node }) => from_node !== undefined)
  ) {
    return false
  }
  return entrypointNodeId !== undefined || nodes.some(({ nodeType }) => nodeType !== undefined)
}

function readNode(data: NodeData, at: Path, report: DocumentReport): ModelNode {
  const field = data.type === undefined ? "nodeType" : "type"
  const written = data[field]
  const agentId = data.agentId ?? data.agent_id ?? undefined
  const name = data.nodeName || data.name || data.id
  const isHandoff = name === "human_handoff" && agentId === undefined
  const type = isHandoff ? "human_handoff" : NODE_TYPES.find((one) => one === written?.toLowerCase())
  if (type === undefined) {
    const what = written === undefined ? "has no type" : `has an unknown type "${written}"`
    const known = NODE_TYPES.map((one) => (field === "type" ? one : one.toUpperCase()))
    const message = `Node ${data.id} ${what}: use one of ${known.join(", ")}`
    const suggestion = nearest(written ?? "", known)
    report.error("UNKNOWN_TYPE", message, [...at, field], suggestion)
    // Reported once: other nodes may refer to it.
    const meant = NODE_TYPES.find((one) => one === suggestion?.toLowerCase()) ?? "wait"
    return { id: data.id, name, type: meant, agentId, data, at, isUnknown: true }
  }
  return { id: data.id, name, type, agentId, data, at }
}

function readEdge(data: EdgeData, i: number, isChat: boolean, report: DocumentReport): ModelEdge {
  const at = ["edges", i]
  const id = data.id ?? `${i + 1}`
  const from = data.sourceNodeId ?? data.from_node
  const isOpen = !report.hasUnknownField(at, data)
  if (from === undefined && isOpen) {
    report.error("MISSING_FIELD", `Edge ${id} has no ${isChat ? "sourceNodeId" : "from_node"}`, at)
  }
  const to = data.targetNodeId ?? data.to_node ?? null
  if (data.targetNodeId === undefined && data.to_node === undefined && isOpen) {
    const message = `Edge ${id} has no ${isChat ? "targetNodeId" : "to_node"}: use null to end the run`
    report.error("MISSING_FIELD", message, at)
  }
  const { conditionType, conditionValue } = data
  const path = [...at, "conditionValue"]
  if (conditionType === "CONDITIONAL" && !conditionValue) {
    report.error("VALUE_MISSING", `Edge ${id} is CONDITIONAL but has no conditionValue`, path)
  }
  if (conditionType === "ALWAYS" && conditionValue) {
    report.warning("VALUE_UNUSED", `Edge ${id} is ALWAYS, so its conditionValue has no effect`, path)
  }
  const value = conditionValue ?? textIn(data.condition)
  const isAlways = conditionType === "ALWAYS" || value === undefined || value === ""
  return { id, from: from ?? "", to, when: isAlways ? undefined : value, at }
}

function readLimits(data: GraphData, isChat: boolean, maxSteps: number | undefined): Limits {
  const { limits = {} } = data
  const seconds = limits.timeout_seconds ?? limits.timeoutSeconds
  const own = limits.timeout_ms ?? limits.timeoutMs ?? data.timeout_ms ?? data.timeoutMs
  const timeout = own ?? (seconds === undefined ? undefined : Math.round(seconds * 1_000))
  const steps = limits.max_steps ?? limits.maxSteps ?? data.max_steps ?? data.maxSteps
  return {
    maxSteps: maxSteps ?? steps ?? (isChat ? CHAT_STEPS : STEPS),
    timeout: (timeout ?? (isChat ? CHAT_TIMEOUT : 0)) || undefined,
    maxIters: limits.max_iters ?? limits.maxIters ?? ITERS,
    maxParallel: limits.max_parallel ?? limits.maxParallel,
  }
}

/** Fields of a node that may contain `${NAME}`. */
const FILLED = ["agentId", "agent_id", "file", "to"] as const

function filled(data: NodeData, at: Path, input: DialectInput): NodeData {
  const changed: Partial<Record<(typeof FILLED)[number], string>> = {}
  for (const field of FILLED) {
    const text = data[field]
    if (typeof text === "string" && text.includes("$")) changed[field] = fill(text, [...at, field], input)
  }
  return { ...data, ...changed }
}

function fill(source: string, at: Path, { options, report }: DialectInput): string {
  const { variables: own = {}, secrets = {} } = options
  const env = environmentOf(options)
  // These fields are recorded, so secrets appear as references.
  const lookup = (name: string) =>
    Object.hasOwn(secrets, name)
      ? secretReference(name)
      : Object.hasOwn(own, name)
        ? String(own[name])
        : env[name]
  const { text, missing } = variables(source, lookup)
  for (const { name, start, end } of missing) {
    const message = `The variable ${name} has no value: set it, or use \${${name}:-default}`
    const suggestion = nearest(name, Object.keys(own))
    report.error("VARIABLE_MISSING", message, at, suggestion, { from: start, to: end })
  }
  return text
}

/** With the branches of fan-outs and the options of decisions as edges. */
export function withImpliedEdges(model: GraphModel, report: DocumentReport): GraphModel {
  let edges = model.edges
  for (const node of model.nodes) {
    if (node.type === "decision")
      edges = [...edges, ...missing(node, "options", node.data.options ?? [], edges)]
    if (node.type === "fanout" && node.data.branches !== undefined) {
      edges = fannedOut(node, node.data.branches, edges, report)
    }
  }
  return { ...model, edges }
}

function missing(
  node: ModelNode,
  field: string,
  targets: readonly NodeId[],
  edges: readonly ModelEdge[],
): readonly ModelEdge[] {
  const drawn = new Set(edges.filter(({ from }) => from === node.id).map(({ to }) => to))
  return targets.flatMap((to, i) => {
    if (drawn.has(to)) return []
    drawn.add(to)
    return [
      { id: `${node.id}.${field}[${i}]`, from: node.id, to, when: undefined, at: [...node.at, field, i] },
    ]
  })
}

/** A fan-out's edges to other nodes continue those branches that have no edge of their own. */
function fannedOut(
  node: ModelNode,
  branches: readonly NodeId[],
  edges: readonly ModelEdge[],
  report: DocumentReport,
): readonly ModelEdge[] {
  const own = edges.filter(({ from }) => from === node.id)
  const after = own.filter(({ to }) => to === null || !branches.includes(to))
  const open = branches.filter((branch) => !edges.some(({ from }) => from === branch))
  if (after.length > 0 && open.length === 0) {
    for (const { id, at } of after) {
      const message = `Edge ${id} leads from a fanout to a node that is not one of its branches: start it where the branches end`
      report.error("FANOUT_EDGE", message, at)
    }
  }
  const going = open.flatMap((from) =>
    after.map((edge) => ({ ...edge, id: `${edge.id} from ${from}`, from })),
  )
  // In the order of `branches`.
  const drawn = branches.flatMap((branch) => own.find(({ to }) => to === branch) ?? [])
  const others = edges.filter(({ from }) => from !== node.id)
  const all = [...others, ...going, ...drawn]
  const made = missing(node, "branches", branches, all)
  const ordered = branches.flatMap((branch) => [...drawn, ...made].find(({ to }) => to === branch) ?? [])
  return [...others, ...going, ...new Set(ordered)]
}
