/** Compiles a graph to a plan: reads it, checks it, and writes the calls. */
import type { Json, NodeId } from "../../core/index.ts"
import { Report } from "../../document/index.ts"
import type { Reference } from "../../expressions/index.ts"
import { toolsetAgent } from "../agents/index.ts"
import { type DialectInput, DocumentReport } from "../dialect-input.ts"
import { flowArgs, milliseconds } from "../flow.ts"
import { functionRef } from "../import-function.ts"
import {
  type Arg,
  type ArgObject,
  type Call,
  call,
  callWith,
  type Ref,
  SUPERSTEPS,
  type WorkflowWriter,
} from "../plan/index.ts"
import { scheduleArgs } from "../schedules.ts"
import { checkNames, checkNodes, checkTexts, isTemplate } from "./check-graph.ts"
import { checkChat, checkChatEdges, checkRoutes, executorOf, loopEdges, Topology } from "./check-routes.ts"
import {
  edgesFrom,
  GraphAgents,
  type GraphModel,
  type ModelEdge,
  type ModelNode,
  textIn,
} from "./graph-model.ts"
import { type GraphData, graphShape } from "./graph-shape.ts"
import { edgeFields, nodeFields } from "./node-kinds.ts"
import { readGraph, withImpliedEdges } from "./read-graph.ts"

const START = "#start"
/** The node where all routes end. */
const END = "#end"

/** Undefined if there are errors, which are reported. */
export function planGraph(input: DialectInput): Ref | undefined {
  const { all } = input.report
  const before = all.diagnostics.length
  const data = input.report.read(graphShape, { node: nodeFields, edge: edgeFields })
  if (data === undefined) return undefined
  const isSound = all.diagnostics.length === before
  // Errors in other files of the same plan do not stop the checks of this one.
  const own = new Report()
  const report = new DocumentReport(input.report.document, own)
  const ref = compile({ ...input, report }, data, isSound)
  input.report.all.add(own.diagnostics)
  return ref
}

/** The routes of a graph that is not sound may lack an end, so they are not checked. */
function compile(input: DialectInput, data: GraphData, isSound: boolean): Ref | undefined {
  const { report, options } = input
  const agents = new GraphAgents(input, data)
  const written = withImpliedEdges(readGraph(data, input), report)
  const model = checkNames(written, agents, report, options.lenient ?? false)
  checkNodes(model, report)
  if (model.isChat) checkChatEdges(model, report)
  const references = checkTexts(model, report, {
    secrets: Object.keys(options.secrets ?? {}),
    variables: Object.keys(options.variables ?? {}),
  })
  const topology = new Topology(model)
  // Routes between unknown names are not checked.
  if (isSound && !report.all.hasErrors) {
    checkRoutes(topology, report)
    if (model.isChat) checkChat(topology, agents, report)
  }
  const files = includedFiles(topology, input)
  const flow = flowArgs(data.flow, report)
  const schedules = scheduleArgs(data.schedules, report)
  if (report.all.hasErrors) return undefined
  const vars = usedVars(references, options.variables ?? {})
  return writeGraph({ input, data, topology, agents, references, files, vars, flow, schedules })
}

function includedFiles({ nodes }: Topology, { report, include }: DialectInput): ReadonlyMap<NodeId, Ref> {
  const files = new Map<NodeId, Ref>()
  for (const { id, type, data, at } of nodes) {
    if (type !== "workflow" || data.file === undefined) continue
    const ref = include(data.file, report.at([...at, "file"]))
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
  readonly flow: ArgObject | undefined
  readonly schedules: Arg
}

function writeGraph({
  input,
  data,
  topology,
  agents,
  references,
  files,
  vars,
  flow,
  schedules,
}: Writing): Ref | undefined {
  const { writer, options } = input
  const { model, handoff } = topology
  const ends = endsOf(topology)
  const secretNames = Object.keys(options.secrets ?? {})
  const graph = writer.value(
    "graph",
    call("graphInfo", {
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
  if (refs === undefined || input.report.all.hasErrors) return undefined
  const workflow = writer.workflow(model.id, model.title, { ...workflowOptions(model), flow, schedules })
  wireAll(workflow, topology, refs)
  return workflow.done()
}

/** The nodes whose outputs may be the result, if a run can end at several of them at once. */
function endsOf(topology: Topology): NodeId[] | undefined {
  const ends = topology.nodes.filter((node) => topology.mayEnd(node) || topology.isTerminal(node))
  const shared = topology.sharedNodes()
  if (topology.openers.size === 0 || (ends.length < 2 && !ends.some(({ id }) => shared.has(id))))
    return undefined
  return topology.nodes.filter((node) => topology.isTerminal(node)).map(({ id }) => id)
}

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

/** Whether it receives only the run's input. */
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
    const routes = routesOf(topology, node, { hasEnd: refs.has(END), isFirst })
    wireNode(workflow, known(node.id), routes, known, {
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

const LIMIT = "limit"

interface Route {
  readonly to: NodeId
  /** Shown in diagrams. */
  readonly labels: string[]
  /** Followed on every visit of the node. */
  isAlways: boolean
}

interface Routes {
  readonly routes: readonly Route[]
  /** All edges may be skipped: then the node's result is an output. */
  readonly mayEnd: boolean
}

function routesOf(
  topology: Topology,
  node: ModelNode,
  { hasEnd, isFirst }: { readonly hasEnd: boolean; readonly isFirst: boolean },
): Routes {
  const { model, handoff, members } = topology
  const routes = new Map<NodeId, Route>()
  const add = (to: NodeId, label: string | undefined, isAlways = false) => {
    const route = routes.get(to) ?? { to, labels: [], isAlways }
    if (label !== undefined && !route.labels.includes(label)) route.labels.push(label)
    route.isAlways ||= isAlways
    routes.set(to, route)
  }
  const isMember = members.has(node.id)
  const drawn = edgesFrom(model, node.id)
  for (const { to, when } of drawn) if (to !== null) add(to, when, when === undefined && !isMember)
  for (const to of node.data.nodes ?? []) add(to, undefined)
  // Without an edge, members return to their node, tools to their caller, and people choose.
  for (const to of topology.next.get(node.id) ?? []) if (!routes.has(to)) add(to, implied(node))
  if (handoff !== undefined && handoff !== node && !isFirst) add(handoff.id, LIMIT)
  const mayEnd = topology.mayEnd(node)
  if (hasEnd && mayEnd) add(END, "end")
  return { routes: [...routes.values()], mayEnd: mayEnd && !hasEnd }
}

function implied({ type }: ModelNode): string | undefined {
  if (type === "tool_executor") return "back"
  return type === "human_handoff" ? "answer" : undefined
}

function wireNode(
  workflow: WorkflowWriter,
  ref: Ref,
  { routes, mayEnd }: Routes,
  known: (id: NodeId) => Ref,
  { isExclusive, onCycle }: { readonly isExclusive: boolean; readonly onCycle: boolean },
): void {
  const [first, second] = routes
  if (first === undefined) return
  const chosen = ({ to, labels }: Route) => ({
    when: call("leadsTo", to),
    label: labels.length === 0 ? undefined : labels.join(", "),
  })
  if (isExclusive && (routes.length > 1 || mayEnd)) {
    // The default case has no label, so it is not the limit's.
    const last = mayEnd ? undefined : (routes.findLast(({ labels }) => !labels.includes(LIMIT)) ?? first)
    const cases = routes
      .filter((route) => route !== last)
      .map((route) => ({ ...chosen(route), to: known(route.to) }))
    workflow.wire("switch", ref, cases, last && known(last.to))
    return
  }
  // On a cycle, conditions show the graph's validation that the cycle can end.
  const targets = routes.map(({ to }) => known(to))
  const isPlain = !onCycle && routes.every(({ isAlways }) => isAlways)
  if (!isPlain) for (const route of routes) workflow.wire("edge", ref, known(route.to), chosen(route))
  else if (second === undefined) workflow.wire("edge", ref, known(first.to))
  else workflow.wire("fanOut", ref, targets)
}

// Plans the nodes of a graph as the calls that create them.

interface NodePlan {
  readonly input: DialectInput
  readonly data: GraphData
  readonly topology: Topology
  readonly agents: GraphAgents
  readonly files: ReadonlyMap<NodeId, Ref>
  /** The options that all nodes share. */
  readonly graph: Ref
  /** Nodes whose outputs some text refers to. */
  readonly named: ReadonlySet<NodeId>
  readonly shared: ReadonlySet<NodeId>
}

/** Undefined if something that the node needs is missing, which is already reported. */
function nodeCall(node: ModelNode, plan: NodePlan): Call | undefined {
  const { topology, graph, agents } = plan
  const { id, type, data, agentId = "" } = node
  const made = (make: string, options: ArgObject, ...args: readonly Arg[]) =>
    callWith(make, [graph, id, ...args], options)
  const edges = edgeArgs(node, plan)
  const name = node.name === id ? undefined : node.name
  const common = { name, edges, shared: plan.shared.has(id) || undefined }
  const passing = { ...common, keeps: plan.named.has(id) || undefined }
  const prompt = data.prompt ?? data.params?.prompt
  const { inputs, outputs, result } = data
  const place = { at: [...node.at, "flow"], key: "graphFlowKey" } as const
  const limits = { flow: flowArgs(data.flow, plan.input.report, place), placement: data.placement }
  switch (type) {
    case "agent": {
      const agent = agents.get(agentId)?.ref
      if (agent === undefined) return undefined
      if (!topology.model.isChat)
        return made("graphAgent", { ...common, inputs, prompt, outputs, result, ...limits }, agent)
      if (data.placement === "spread")
        plan.input.report.unsupported('"placement: spread" of an agent that chooses the next node', [
          ...node.at,
          "placement",
        ])
      const executor = executorOf(topology, node)
      const tools = executor === undefined ? undefined : { node: executor.id, name: executor.name }
      return made("chatAgent", { name, edges: edges ?? [], executor: tools }, agent)
    }
    case "tool_executor": {
      const callers = topology
        .callersOf(id)
        .map((one) => [one.id, agents.get(one.agentId ?? "")?.ref] as const)
      return made("chatTools", { name, edges, callers: Object.fromEntries(callers) })
    }
    case "human_handoff":
      return made("graphHandoff", { ...common, ...handoffArgs(node, plan), prompt, to: data.to })
    case "start":
      return made("graphState", passing)
    case "fanout":
      return made("graphFanout", { ...passing, edges: edges ?? [] })
    case "conditional":
      return made("graphConditional", {
        ...passing,
        edges: choiceArgs(node, plan),
        condition: textIn(data.condition),
      })
    case "loop": {
      const { again, exit, back } = loopEdges(topology, node) ?? { again: id, exit: null, back: [] }
      const max = data.max_iters ?? data.maxIters ?? topology.model.limits.maxIters
      const { edges: _, ...rest } = passing
      return made("graphLoop", { ...rest, again, exit, back, max, while: textIn(data.loop_condition) })
    }
    case "merge":
      return made("graphMerge", { ...passing, ...mergeArgs(node), outputs, closes: closesArg(id, plan) })
    case "state":
      return made("graphState", { ...passing, update: data.update as Arg, read: data.read })
    case "decision": {
      const options = edgesFrom(topology.model, id).flatMap(({ to }) => to ?? [])
      const decide = data.decide ?? agents.get(agentId)?.ref
      const { edges: _, ...rest } = passing
      return made("graphDecision", {
        ...rest,
        inputs,
        prompt,
        options: data.options?.length ? data.options : options,
        decide,
      })
    }
    case "parallel":
      return made("graphParallel", { ...common, ...mergeArgs(node), outputs, nodes: data.nodes ?? [] })
    case "workflow": {
      const workflow = plan.files.get(id)
      return workflow && made("graphWorkflow", { ...common, inputs, prompt, outputs, result }, workflow)
    }
    case "wait": {
      const { signal, schema, timeout, default: fallback } = data
      const time = timeout === undefined ? undefined : milliseconds(timeout)
      const wait = { signal, schema: schema as Arg, timeout: time, default: fallback }
      return made("graphWait", { ...wait, ...common, outputs, result })
    }
    case "function": {
      const { args, schema, module } = data
      const run = functionRef(module, { where: `Node ${id}`, at: [...node.at, "module"] }, plan.input)
      const options = { args: args as Arg, schema: schema as Arg, ...common, outputs, result, ...limits }
      return run && made("graphFunction", options, run)
    }
    case "tool": {
      const { tool, args, toolset } = data
      const agent =
        toolset === undefined
          ? agents.get(agentId)?.ref
          : toolsetAgent(`${id} tools`, toolset, node.at, { ...plan.input, file: plan.data })
      const options = { tool, args: args as Arg, ...common, outputs, result, ...limits }
      return agent && made("graphTool", options, agent)
    }
  }
}

function edgeArgs(node: ModelNode, { topology }: NodePlan): Arg {
  const edges = edgesFrom(topology.model, node.id).map(edgeArg)
  return edges.length === 0 ? undefined : edges
}

function edgeArg({ to, when }: Pick<ModelEdge, "to" | "when">): ArgObject {
  return { to, when }
}

const YES = /^\s*(true|yes)\s*$/i
const NO = /^\s*(false|no)\s*$/i

/** If the node has a condition, `true` and `false` refer to it. */
function choiceArgs(node: ModelNode, { topology }: NodePlan): Arg {
  const hasOwn = textIn(node.data.condition) !== undefined
  return edgesFrom(topology.model, node.id).map((edge) => {
    const { when = "" } = edge
    if (hasOwn && YES.test(when)) return edgeArg({ ...edge, when: "condition" })
    if (hasOwn && NO.test(when)) return edgeArg({ ...edge, when: "not condition" })
    return edgeArg(edge)
  })
}

function mergeArgs({ data }: ModelNode): ArgObject {
  const { params = {} } = data
  return {
    strategy: data.strategy ?? data.aggregator ?? params.strategy,
    template: data.template ?? params.template,
    separator: data.separator ?? params.separator,
  }
}

function closesArg(id: NodeId, { topology }: NodePlan): Arg {
  const closes = [...topology.openers].filter(([, merge]) => merge === id).map(([opener]) => opener)
  return closes.length === 0 ? undefined : closes
}

/** A person can choose any agent by its name, and any edge by its value. */
function handoffArgs(node: ModelNode, { topology }: NodePlan): ArgObject {
  const { model } = topology
  const routes: Record<string, NodeId> = {}
  if (model.isChat) for (const { type, name, id } of topology.nodes) if (type === "agent") routes[name] = id
  for (const { to, when } of edgesFrom(model, node.id)) {
    if (to === null) continue
    routes[model.isChat ? (when ?? topology.byId.get(to)?.name ?? to) : to] = to
  }
  return {
    routes: Object.keys(routes).length === 0 ? undefined : routes,
    otherwise: model.isChat ? model.entry : undefined,
  }
}
