/** A graph as a plan: read, checked, and written down as calls. */
import type { Json, NodeId } from "../../core/index.ts"
import type { DialectInput } from "../dialect.ts"
import { Report, readShape } from "../document/index.ts"
import type { Reference } from "../expressions/index.ts"
import { type ArgObject, call, callWith, type Ref, SUPERSTEPS, type WorkflowWriter } from "../plan/index.ts"
import { checkChat, checkChatEdges } from "./check-chat.ts"
import { checkNodes } from "./check-nodes.ts"
import { checkParts } from "./check-parts.ts"
import { checkWays } from "./check-ways.ts"
import { GraphAgents } from "./graph-agents.ts"
import type { GraphModel, ModelNode } from "./graph-model.ts"
import { type GraphData, graphShape } from "./graph-shape.ts"
import { checkTexts, isTemplate } from "./graph-texts.ts"
import { withImpliedEdges } from "./implied-edges.ts"
import { type NodePlan, nodeCall } from "./plan-nodes.ts"
import { readGraph } from "./read-graph.ts"
import { Topology } from "./topology.ts"
import { END, waysOf, wireNode } from "./wire-nodes.ts"

const START = "#start"

/** Undefined where there are errors: they are in the report. */
export function planGraph(input: DialectInput): Ref | undefined {
  const { document, options } = input
  const { value: data, diagnostics } = readShape(document, graphShape)
  input.report.add(diagnostics)
  if (data === undefined) return undefined
  // What is wrong in another file of the same plan is no reason to stop here.
  const report = new Report()
  const found = checked({ ...input, report }, data)
  input.report.add(report.diagnostics)
  if (report.hasErrors) return undefined
  const { topology, agents, references, files } = found
  const vars = usedVars(references, options.variables ?? {})
  return writeGraph({ input, data, topology, agents, references, files, vars })
}

function checked(input: DialectInput, data: GraphData) {
  const { document, report, options } = input
  const agents = new GraphAgents(input, data)
  const written = readGraph(data, input)
  const checking = { document, report }
  const drawn = withImpliedEdges(written, document, report)
  const model = checkParts(drawn, agents, checking, options.lenient ?? false)
  checkNodes(model, checking)
  if (model.isChat) checkChatEdges(model, checking)
  const references = checkTexts(model, document, report, Object.keys(options.secrets ?? {}))
  const topology = new Topology(model)
  // Where names mean nothing, the ways are not what was meant.
  if (!report.hasErrors) {
    checkWays(topology, checking)
    if (model.isChat) checkChat(topology, agents, checking)
  }
  return { topology, agents, references, files: includedFiles(topology, input) }
}

/** The workflows of other files, by node. What is wrong with them is told together with the rest. */
function includedFiles({ nodes }: Topology, { document, include }: DialectInput): ReadonlyMap<NodeId, Ref> {
  const files = new Map<NodeId, Ref>()
  for (const { id, type, data, at } of nodes) {
    if (type !== "workflow" || data.file === undefined) continue
    const ref = include(data.file, document.place([...at, "file"]))
    if (ref !== undefined) files.set(id, ref)
  }
  return files
}

function usedVars(references: readonly Reference[], variables: Readonly<Record<string, Json>>) {
  const roots = new Set(references.map(({ root }) => root))
  return Object.fromEntries(Object.entries(variables).filter(([name]) => roots.has(name)))
}

interface Writing extends Pick<NodePlan, "input" | "data" | "topology" | "agents" | "files"> {
  readonly references: readonly Reference[]
  readonly vars: Readonly<Record<string, Json>>
}

function writeGraph({ input, data, topology, agents, references, files, vars }: Writing): Ref | undefined {
  const { writer, options } = input
  const { model, handoff } = topology
  const ends = endsOf(topology)
  const secretNames = Object.keys(options.secrets ?? {})
  const graph = writer.value(
    "graph",
    call("graphOf", {
      maxSteps: model.limits.maxSteps,
      chat: model.isChat || undefined,
      conversational: model.isConversational || undefined,
      handoff: handoff?.id,
      end: ends && { node: END, from: ends },
      vars: Object.keys(vars).length === 0 ? undefined : vars,
      secrets: secretNames.length === 0 ? undefined : secretNames,
    }),
  )
  const used = new Set(topology.nodes.flatMap(({ agentId }) => agentId ?? []))
  const variables = { ...options.variables, ...options.secrets }
  agents.plan(used, (text) => (isTemplate(text, variables) ? call("graphText", graph, text) : text))
  const plan: NodePlan = {
    input,
    data,
    topology,
    agents,
    files,
    graph,
    named: namedNodes(topology, references),
    shared: topology.sharedNodes(),
  }
  const refs = writeNodes(plan, ends !== undefined)
  if (refs === undefined || input.report.hasErrors) return undefined
  const workflow = writer.workflow(model.id, model.title, workflowOptions(model))
  wireAll(workflow, topology, refs)
  return workflow.done()
}

/** The nodes whose outputs may be the result, where a run may end in several places at once. */
function endsOf(topology: Topology): NodeId[] | undefined {
  const ends = topology.nodes.filter((node) => topology.mayEnd(node) || topology.isTerminal(node))
  const shared = topology.sharedNodes()
  if (topology.openers.size === 0 || (ends.length < 2 && !ends.some(({ id }) => shared.has(id))))
    return undefined
  return topology.nodes.filter((node) => topology.isTerminal(node)).map(({ id }) => id)
}

/** Those whose output a text names; one that names them all names each. */
function namedNodes({ nodes }: Topology, references: readonly Reference[]): ReadonlySet<NodeId> {
  const outputs = references.filter(({ root }) => root === "outputs")
  if (outputs.some(({ path }) => path.length === 0)) return new Set(nodes.map(({ id }) => id))
  return new Set(outputs.map(({ path }) => String(path[0])))
}

function writeNodes(plan: NodePlan, hasEnd: boolean): ReadonlyMap<NodeId, Ref> | undefined {
  const { input, topology, agents, graph, named } = plan
  const { writer } = input
  const { model } = topology
  const refs = new Map<NodeId, Ref>()
  const entry = topology.byId.get(model.entry) as ModelNode
  const begins = isStart(topology, entry)
  if (!begins) {
    const options = { edges: [{ to: entry.id }] }
    refs.set(START, writer.value("start", call("graphStart", graph, START, options)))
  }
  for (const node of topology.nodes) {
    if (begins && node === entry) {
      const edges = model.edges.filter(({ from }) => from === node.id).map(({ to, when }) => ({ to, when }))
      const options = { edges, counts: true, keeps: named.has(node.id) || undefined }
      refs.set(node.id, writer.value(node.id, call("graphStart", graph, node.id, options)))
      continue
    }
    const made = nodeCall(node, plan)
    if (made === undefined) return undefined
    const isTaken = agents.names.some((name) => name.toLowerCase() === node.name.toLowerCase())
    const wanted = isTaken ? `${node.name} node` : node.name
    refs.set(node.id, writer.value(wanted, made))
  }
  if (hasEnd) {
    const merges = [...topology.openers].flatMap(([opener, merge]) =>
      merge === undefined ? [] : [[opener, merge]],
    )
    const options = { merges: merges.length === 0 ? undefined : Object.fromEntries(merges) }
    refs.set(END, writer.value("end", callWith("graphEnd", [graph, END], options)))
  }
  return refs
}

/** It takes what the run is given by itself. */
function isStart({ model }: Topology, entry: ModelNode): boolean {
  return entry.type === "start" && model.edges.every(({ to }) => to !== entry.id)
}

function workflowOptions({ isChat, description, limits }: GraphModel): ArgObject {
  return {
    description: description === "" ? undefined : description,
    schedule: "flow",
    limits: { supersteps: SUPERSTEPS, concurrency: limits.maxParallel },
    timeout: limits.timeout,
    state: call(isChat ? "chatChannels" : "graphChannels"),
  }
}

function wireAll(workflow: WorkflowWriter, topology: Topology, refs: ReadonlyMap<NodeId, Ref>): void {
  const { model, handoff } = topology
  const known = (id: NodeId) => refs.get(id) as Ref
  const start = refs.get(START)
  workflow.wire("start", start ?? known(model.entry))
  if (start !== undefined) workflow.wire("edge", start, known(model.entry))
  const onCycle = new Set(topology.cycles().flat())
  for (const node of topology.nodes) {
    const isFirst = start === undefined && node.id === model.entry
    const ways = waysOf(topology, node, { hasEnd: refs.has(END), isFirst })
    wireNode(workflow, known(node.id), ways, known, {
      isExclusive: topology.isExclusive(node),
      onCycle: onCycle.has(node.id),
    })
  }
  const end = refs.get(END)
  if (end !== undefined) {
    const merges = [...new Set([...topology.openers.values()].flatMap((merge) => merge ?? []))]
    for (const merge of merges)
      workflow.wire("edge", end, known(merge), { when: call("leadsTo", merge), label: "gone" })
  }
  if (handoff !== undefined) workflow.wire("onLimit", known(handoff.id))
}
