/** From the data of a file to a graph: two spellings, one model. */
import { basename, extname } from "node:path"
import { environmentOf } from "../definition.ts"
import type { DialectInput } from "../dialect.ts"
import { type Document, nearest, type Path, type Report } from "../document/index.ts"
import { variables } from "../expressions/index.ts"
import { secretReference } from "../secret-variables.ts"
import type { GraphModel, Limits, ModelEdge, ModelNode } from "./graph-model.ts"
import { type EdgeData, type GraphData, NODE_TYPES, type NodeData, type NodeType } from "./graph-shape.ts"

const CHAT_STEPS = 15
const CHAT_TIMEOUT = 90_000
const STEPS = 1_000
const ITERS = 3

export function readGraph(data: GraphData, input: DialectInput): GraphModel {
  const { document } = input
  const isChat = isRows(data)
  const nodes = data.nodes.flatMap((one, i) => {
    const at = ["nodes", i]
    return readNode(filled(one, at, input), at, input) ?? []
  })
  const edges = (data.edges ?? []).map((one, i) => readEdge(one, i, isChat, input))
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

/** Rows have columns; the executor's JSON has other names for them. */
function isRows({ nodes, edges = [], entrypointNodeId }: GraphData): boolean {
  if (
    nodes.some(({ type }) => type !== undefined) ||
    edges.some(({ from_node }) => from_node !== undefined)
  ) {
    return false
  }
  return entrypointNodeId !== undefined || nodes.some(({ nodeType }) => nodeType !== undefined)
}

function readNode(data: NodeData, at: Path, { document, report }: DialectInput): ModelNode | undefined {
  const field = data.type === undefined ? "nodeType" : "type"
  const written = data[field]
  const agentId = data.agentId ?? data.agent_id ?? undefined
  const name = data.nodeName || data.name || data.id
  const isHandoff = name === "human_handoff" && agentId === undefined
  const type = isHandoff ? "human_handoff" : NODE_TYPES.find((one) => one === written?.toLowerCase())
  if (type === undefined) {
    const what = written === undefined ? "has no type" : `has an unknown type "${written}"`
    const known = NODE_TYPES.map((one) => (field === "type" ? one : one.toUpperCase()))
    const text = `Node ${data.id} ${what}: write one of ${known.join(", ")}`
    report.error("UNKNOWN_TYPE", text, document.place([...at, field]), nearest(written ?? "", known))
    return undefined
  }
  return { id: data.id, name, type, agentId, data, at }
}

function readEdge(data: EdgeData, i: number, isChat: boolean, { document, report }: DialectInput): ModelEdge {
  const at = ["edges", i]
  const id = data.id ?? `${i + 1}`
  const from = data.sourceNodeId ?? data.from_node
  if (from === undefined) {
    const field = isChat ? "sourceNodeId" : "from_node"
    report.error("MISSING_FIELD", `Edge ${id} has no ${field}`, document.place(at))
  }
  const to = data.targetNodeId ?? data.to_node ?? null
  if (data.targetNodeId === undefined && data.to_node === undefined) {
    const field = isChat ? "targetNodeId" : "to_node"
    report.error(
      "MISSING_FIELD",
      `Edge ${id} has no ${field}: null is for the end of the run`,
      document.place(at),
    )
  }
  const value = data.conditionValue ?? textIn(data.condition)
  const isAlways = data.conditionType === "ALWAYS" || value === undefined || value === ""
  checkCondition(data, id, at, document, report)
  return { id, from: from ?? "", to, when: isAlways ? undefined : value, at }
}

function checkCondition(data: EdgeData, id: string, at: Path, document: Document, report: Report): void {
  const { conditionType, conditionValue } = data
  if (conditionType === "CONDITIONAL" && !conditionValue) {
    const text = `Edge ${id} is CONDITIONAL and has no conditionValue`
    report.error("VALUE_MISSING", text, document.place([...at, "conditionValue"]))
  }
  if (conditionType === "ALWAYS" && conditionValue) {
    const text = `Edge ${id} is ALWAYS: its conditionValue does nothing`
    report.warning("VALUE_UNUSED", text, document.place([...at, "conditionValue"]))
  }
}

export function textIn(value: string | boolean | null | undefined): string | undefined {
  if (value === null || value === undefined) return undefined
  return String(value)
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

/** Fields of a node whose texts may have `${NAME}` in them. */
const FILLED = ["agentId", "agent_id", "file", "to"] as const

function filled(data: NodeData, at: Path, input: DialectInput): NodeData {
  const changed: Partial<Record<(typeof FILLED)[number], string>> = {}
  for (const field of FILLED) {
    const text = data[field]
    if (typeof text === "string" && text.includes("$")) changed[field] = fill(text, [...at, field], input)
  }
  return { ...data, ...changed }
}

function fill(source: string, at: Path, { options, document, report }: DialectInput): string {
  const { variables: own = {}, secrets = {} } = options
  const env = environmentOf(options)
  // What is filled in here is recorded.
  const lookup = (name: string) =>
    Object.hasOwn(secrets, name)
      ? secretReference(name)
      : Object.hasOwn(own, name)
        ? String(own[name])
        : env[name]
  const { text, missing } = variables(source, lookup)
  for (const { name, start, end } of missing) {
    const place = document.place(at, { from: start, to: end })
    const message = `The variable ${name} has no value: set it, or write \${${name}:-default}`
    report.error("VARIABLE_MISSING", message, place, nearest(name, Object.keys(own)))
  }
  return text
}

/** As the file writes it. */
export function typeName({ isChat }: GraphModel, type: NodeType): string {
  return isChat ? type.toUpperCase() : type
}

/** `an AGENT`, `a merge`. */
export function aType(model: GraphModel, type: NodeType): string {
  return `${type === "agent" ? "an" : "a"} ${typeName(model, type)}`
}
