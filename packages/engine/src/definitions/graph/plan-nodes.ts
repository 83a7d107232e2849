/** Plans the nodes of a graph as the calls that create them. */
import type { NodeId } from "../../core/index.ts"
import { toolsetAgent } from "../agents/index.ts"
import type { DialectInput } from "../dialect-input.ts"
import { flowArgs, milliseconds } from "../flow.ts"
import { type Arg, type ArgObject, type Call, callWith, type Ref } from "../plan/index.ts"
import { executorOf, loopEdges } from "./check-routes.ts"
import type { GraphAgents } from "./graph-agents.ts"
import { edgesFrom, type ModelEdge, type ModelNode, textIn } from "./graph-model.ts"
import type { GraphData } from "./graph-shape.ts"
import type { Topology } from "./topology.ts"

export interface NodePlan {
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
export function nodeCall(node: ModelNode, plan: NodePlan): Call | undefined {
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
  const flow = flowArgs(data.flow, plan.input.report, place)
  switch (type) {
    case "agent": {
      const agent = agents.get(agentId)?.ref
      if (agent === undefined) return undefined
      if (!topology.model.isChat)
        return made("graphAgent", { ...common, inputs, prompt, outputs, result, flow }, agent)
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
    case "tool": {
      const { tool, args, toolset } = data
      const agent =
        toolset === undefined
          ? agents.get(agentId)?.ref
          : toolsetAgent(`${id} tools`, toolset, node.at, { ...plan.input, file: plan.data })
      return agent && made("graphTool", { tool, args: args as Arg, ...common, outputs, result, flow }, agent)
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
