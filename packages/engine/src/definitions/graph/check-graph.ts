/**
 * Checks that every name in a graph exists and is unique, and that every node has the fields of its type. The
 * specifications of the two spellings prescribe some messages; those are kept verbatim.
 */
import type { Json, NodeId } from "../../core/index.ts"
import { nearest, type Path, Report, textsIn } from "../../document/index.ts"
import { condition, ExpressionError, expression, type Reference, template } from "../../expressions/index.ts"
import { DocumentReport, tryRead } from "../dialect-input.ts"
import {
  aType,
  edgesFrom,
  type GraphAgents,
  type GraphModel,
  isChosenByName,
  type ModelEdge,
  type ModelNode,
  textIn,
  typeName,
} from "./graph-model.ts"
import type { NodeData, NodeType } from "./graph-shape.ts"
import { AGENT, nodeKind } from "./node-kinds.ts"
import { readPath } from "./nodes/visit.ts"

/** The graph with its valid edges. Others are errors, or dropped if the check is lenient. */
export function checkNames(
  model: GraphModel,
  agents: GraphAgents,
  report: DocumentReport,
  isLenient: boolean,
): GraphModel {
  const before = report.all.diagnostics.length
  checkIds(model, report)
  // A name that does not exist may be the one that was meant where another is used twice.
  const hasDuplicates = report.all.diagnostics.slice(before).some(({ code }) => code === "DUPLICATE_NODE")
  const lost = hasDuplicates ? new DocumentReport(report.document, new Report()) : report
  checkOwners(model, report)
  checkEnds(model, lost)
  checkAgents(model, agents, report)
  return { ...model, edges: validEdges(model, lost, isLenient) }
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
    report.error("OTHER_WORKFLOW", message, [...at, "workflowId"], nearest(workflowId, [own]))
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
  const unknown = new Map<string, { readonly node: NodeId; readonly paths: Path[] }>()
  for (const { id, type, agentId, at, data, isUnknown } of model.nodes) {
    if (isUnknown) continue
    const field = data.agentId === undefined || data.agentId === null ? "agent_id" : "agentId"
    const path = [...at, agentId === undefined && model.isChat ? "agentId" : field]
    if (agentId === undefined) {
      if (type !== "agent") continue
      const message = `Node ${id} is ${aType(model, type)} but has no ${model.isChat ? "agentId" : "agent_id"}`
      if (!report.hasUnknownField(at, data)) report.error("AGENT_MISSING", message, path)
    } else if (type !== "agent" && type !== "decision" && type !== "tool") {
      report.error("FIELD_NOT_FOR_TYPE", `Node ${id} is ${aType(model, type)}, which has no agent`, path)
    } else if (!agents.has(agentId) && !agents.hasDuplicates) {
      const known = unknown.get(agentId) ?? { node: id, paths: [] }
      unknown.set(agentId, known)
      known.paths.push(path)
    }
  }
  for (const [agentId, { node, paths }] of unknown) {
    const [first = [], ...others] = paths
    const message = `Agent ${agentId} referenced by node ${node} does not exist${report.alsoAt(others)}`
    report.error("UNKNOWN_AGENT", message, first, nearest(agentId, agents.names))
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
  { id: edge, from, at }: ModelEdge,
  end: "source" | "target",
  id: NodeId,
  report: DocumentReport,
  isLenient: boolean,
): void {
  // A missing source is already reported.
  if (id === "") return
  const fields = { source: ["sourceNodeId", "from_node"], target: ["targetNodeId", "to_node"] } as const
  const path = [...at, fields[end][isChat ? 0 : 1]]
  const ids = nodes.map((node) => node.id)
  // The edge stands for a name in a list of the node.
  if (at[0] !== "edges") {
    const message = `Node ${from} lists ${id} in ${String(at.at(-2))}, but there is no such node`
    if (isLenient) report.warning("EDGE_DROPPED", `${message}; it is left out`, at, nearest(id, ids))
    else report.error("UNKNOWN_NODE", message, at, nearest(id, ids))
    return
  }
  const message = isChat
    ? `Edge ${edge} references non-existent ${end} node ${id}`
    : `Edge ${end} node ${id} not found`
  if (isLenient) report.warning("EDGE_DROPPED", `${message}; the edge is dropped`, path, nearest(id, ids))
  else report.error("EDGE_UNKNOWN_NODE", message, path, nearest(id, ids))
}

/** Nodes that a parallel node can run: those that choose no route. */
const MEMBERS: readonly NodeType[] = ["agent", "tool", "function", "wait", "workflow", "state", "parallel"]

export function checkNodes(model: GraphModel, report: DocumentReport): void {
  for (const node of model.nodes) {
    if (node.isUnknown) continue
    checkFields(model, node, report)
    const problem = problemOf(model, node)
    if (problem !== undefined && !report.hasUnknownField(node.at, node.data)) {
      const message = `Node ${node.id} (${typeName(model, node.type)}) ${problem}`
      report.error("NODE_INVALID", message, [...node.at, "id"])
    }
    if (node.type === "parallel") checkMembers(model, node, report)
  }
}

function checkFields(model: GraphModel, node: ModelNode, report: DocumentReport): void {
  const { id, type, data, at } = node
  const { fields } = nodeKind(type, model.isChat)
  for (const field of Object.keys(data) as (keyof NodeData)[]) {
    const isEmpty = data[field] === undefined || data[field] === null
    // `checkAgents` reports an agent of another type of node.
    if (isEmpty || fields.includes(field) || AGENT.includes(field)) continue
    const message = `Node ${id} is ${aType(model, type)}, which has no field ${field}`
    report.error("FIELD_NOT_FOR_TYPE", message, [...at, field], undefined, "key")
  }
}

/** The missing or superfluous field, as the rest of a sentence about the node. */
function problemOf(model: GraphModel, node: ModelNode): string | undefined {
  const { type, data } = node
  const edges = edgesFrom(model, node.id)
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
    case "decision":
      if (edges.every(({ to }) => to === null)) return "has no options"
      break
    default:
  }
  return fieldProblem(model, node)
}

/** Of the fields that the table requires. A node without its agent is reported by `checkAgents`. */
function fieldProblem(model: GraphModel, { type, data }: ModelNode): string | undefined {
  const { required = [], either = [] } = nodeKind(type, model.isChat)
  const has = (field: keyof NodeData) => {
    const value = data[field]
    return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
  }
  const missing = required.find((one) => typeof one === "string" && !has(one))
  if (missing !== undefined) return `has no ${String(missing)}`
  const named = (fields: readonly (keyof NodeData)[]) =>
    fields.find(has) ?? fields[model.isChat ? 0 : fields.length - 1] ?? ""
  for (const [one, other] of either) {
    if (one.some(has) === other.some(has)) {
      const [first, second] = [named(one), named(other)]
      return one.some(has)
        ? `has both ${first} and ${second}; keep one`
        : `has neither ${first} nor ${second}`
    }
  }
  return undefined
}

function checkMembers(model: GraphModel, node: ModelNode, report: DocumentReport): void {
  const ids = model.nodes.map(({ id }) => id)
  const { nodes = [] } = node.data
  for (const [i, id] of nodes.entries()) {
    const member = model.nodes.find((one) => one.id === id)
    if (member === undefined) {
      const message = `Node ${node.id} lists ${id} in nodes, but there is no such node`
      report.error("UNKNOWN_NODE", message, [...node.at, "nodes", i], nearest(id, ids))
    }
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

// Checks the expressions, templates and paths in a graph.

interface GraphText {
  readonly at: Path
  readonly text: string
  readonly read: (text: string) => readonly Reference[]
}

const asCondition = (text: string) => condition(text, "graph").references
const asExpression = (text: string) => expression(text, "graph").references
const asTemplate = (text: string) => template(text, "graph").references

function asPath(text: string): readonly Reference[] {
  const path = readPath(text)
  const end = text.length
  if (path === undefined)
    throw new ExpressionError(`"${text}" is not a path: write names separated by dots.`, { start: 0, end })
  const [root, ...rest] = path
  return [{ root: String(root), path: rest, start: 0, end }]
}

/** Returns the references in them. Errors in them are reported. */
export function checkTexts(
  model: GraphModel,
  report: DocumentReport,
  { secrets, variables }: { readonly secrets: readonly string[]; readonly variables: readonly string[] },
): readonly Reference[] {
  for (const node of model.nodes) {
    const merge = mergeTemplate(node)
    const references = merge === undefined ? [] : tryRead(merge.text, asTemplate)
    // Which branches there are is known once every name is.
    if (merge === undefined || references instanceof ExpressionError || report.all.hasErrors) continue
    checkPlaceholders(model, { node, references, ...merge }, report, [...variables, ...secrets])
  }
  const ids = new Set(model.nodes.map(({ id }) => id))
  return [...textsOf(model)].flatMap(({ at, text, read }) => {
    const references = tryRead(text, read)
    if (references instanceof ExpressionError) {
      report.invalidExpression(references, at)
      return []
    }
    for (const reference of references) {
      const { root, path, start, end } = reference
      const name = root === "outputs" && path[0] !== undefined ? String(path[0]) : undefined
      if (name !== undefined && !ids.has(name)) {
        const part = { from: start, to: end }
        report.error("UNKNOWN_NODE", `There is no node "${name}"`, at, nearest(name, ids), part)
      }
      if (secrets.includes(root)) report.secretShown(root, root, at, reference)
    }
    return references
  })
}

function* textsOf(model: GraphModel): Generator<GraphText> {
  const types = new Map(model.nodes.map(({ id, type }) => [id, type]))
  for (const node of model.nodes) yield* nodeTexts(node)
  for (const { from, when, at } of model.edges) {
    const type = types.get(from)
    if (when === undefined || type === undefined || isChosenByName(model, type) || type === "loop") continue
    yield { at: [...at, model.isChat ? "conditionValue" : "condition"], text: when, read: asCondition }
  }
}

function* nodeTexts({ data, at }: ModelNode): Generator<GraphText> {
  const text = (value: string | boolean | null | undefined, read: GraphText["read"], ...path: Path) => {
    const found = textIn(value)
    return found === undefined ? [] : [{ at: [...at, ...path], text: found, read }]
  }
  for (const [name, path] of Object.entries(data.inputs ?? {})) yield* text(path, asPath, "inputs", name)
  for (const [name, path] of Object.entries(data.outputs ?? {})) yield* text(path, asPath, "outputs", name)
  for (const [path, value] of Object.entries(data.update ?? {})) {
    yield* text(path, asPath, "update", path)
    if (typeof value === "string") yield* text(value, asExpression, "update", path)
  }
  yield* text(data.read, asPath, "read")
  yield* text(data.condition, asCondition, "condition")
  yield* text(data.loop_condition, asCondition, "loop_condition")
  yield* text(data.decide, asExpression, "decide")
  yield* text(data.result, asExpression, "result")
  yield* text(data.prompt, asTemplate, "prompt")
  yield* text(data.params?.prompt, asTemplate, "params", "prompt")
  yield* text(data.template, asTemplate, "template")
  yield* text(data.params?.template, asTemplate, "params", "template")
  for (const [path, value] of textsIn(data.args as Json | undefined, ["args"]))
    yield* text(value, asTemplate, ...path)
}

const ROOTS = ["goal", "latest", "outputs", "state"]

/** Whether every reference names something of a graph. Instructions may contain braces for other purposes. */
export function isTemplate(text: string, vars: Readonly<Record<string, unknown>>): boolean {
  const references = text.includes("{{") ? tryRead(text, asTemplate) : []
  if (references instanceof ExpressionError || references.length === 0) return false
  return references.every(({ root }) => ROOTS.includes(root) || Object.hasOwn(vars, root))
}

// Checks the template of a merge: an unfilled placeholder would appear in the output. Other templates are prompts, where
// a model tolerates it.

const ALWAYS = ["goal", "latest", "outputs", "results", "state", "steps"]
const OF_CHATS = ["next", "lastCaller", "lastTool"]

interface MergeTemplate {
  readonly node: ModelNode
  readonly at: Path
  readonly text: string
  readonly references: readonly Reference[]
}

function mergeTemplate({ data, at }: ModelNode): { readonly at: Path; readonly text: string } | undefined {
  if ((data.strategy ?? data.params?.strategy) !== "custom_template") return undefined
  if (data.template !== undefined) return { at: [...at, "template"], text: data.template }
  const text = data.params?.template
  return typeof text === "string" ? { at: [...at, "params", "template"], text } : undefined
}

/** `variables` are those that the caller sets. */
function checkPlaceholders(
  model: GraphModel,
  { node, at, text, references }: MergeTemplate,
  report: DocumentReport,
  variables: readonly string[],
): void {
  const branches = branchesOf(model, node)
  const names = new Set([
    ...ALWAYS,
    ...(model.isChat ? OF_CHATS : []),
    ...branches,
    ...valuesOf(model),
    ...variables,
  ])
  const fills = ["results", "goal", ...branches].map((name) => `{{ ${name} }}`).join(", ")
  for (const { root, start, end } of references) {
    if (names.has(root)) continue
    const message = `Nothing fills {{ ${root} }}: the template of a merge has ${fills}, values of the state, and variables`
    report.error("PLACEHOLDER_UNFILLED", message, at, nearest(root, names), { from: start, to: end })
  }
  for (const { 0: written, 1: name = "", index } of text.matchAll(SINGLE)) {
    const message = `${written} is not filled: write {{ ${name} }}`
    report.error("PLACEHOLDER_UNFILLED", message, at, undefined, { from: index, to: index + written.length })
  }
}

/** Placeholders in single braces, which other template languages use. */
const SINGLE = /(?<!\{)\{ ?([A-Za-z_][\w.]*) ?\}(?!\})/g

/** The branches that end at a merge began at a fan-out. A parallel node lists its own nodes. */
function branchesOf(model: GraphModel, { type, data }: ModelNode): readonly string[] {
  if (type === "parallel") return data.nodes ?? []
  const fanOuts = model.nodes.filter((one) => one.type === "fanout")
  return [
    ...new Set(
      fanOuts.flatMap((one) => [
        ...(one.data.branches ?? []),
        ...edgesFrom(model, one.id).flatMap(({ to }) => to ?? []),
      ]),
    ),
  ]
}

/** The names at the top of the state that the graph's nodes write. */
function valuesOf({ nodes }: GraphModel): string[] {
  return nodes
    .flatMap(({ data }) => [...Object.values(data.outputs ?? {}), ...Object.keys(data.update ?? {})])
    .flatMap((path) => readPath(String(path))?.slice(0, 1) ?? [])
    .map(String)
}
