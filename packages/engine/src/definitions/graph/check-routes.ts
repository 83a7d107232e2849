/** Checks the routes through a graph: reachability, loops and cycles; in a conversation, also edges chosen by name. */
import type { NodeId } from "../../core/index.ts"
import { reachable } from "../../core/internal.ts"
import { nearest } from "../../document/index.ts"
import { agentToolNames } from "../agents/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import type { GraphAgents } from "./graph-agents.ts"
import { edgesFrom, type GraphModel, isChosenByName, type ModelEdge, type ModelNode } from "./graph-model.ts"
import { END } from "./nodes/chat-nodes.ts"
import { roundTrips, type Topology } from "./topology.ts"

export function checkRoutes(topology: Topology, report: DocumentReport): void {
  const { model } = topology
  const lost = model.isChat ? [] : model.nodes.filter(({ id }) => !topology.reached.has(id))
  const [first] = lost
  if (first !== undefined) {
    const message = `Unreachable nodes from entry node: ${lost.map(({ id }) => id).join(", ")}`
    report.error("UNREACHABLE_NODE", message, [...first.at, "id"])
  }
  if (!model.isChat) checkCycles(topology, report)
  for (const node of topology.nodes) if (node.type === "loop") checkLoop(topology, node, report)
}

function checkLoop(topology: Topology, node: ModelNode, report: DocumentReport): void {
  for (const { id, when = "", at } of edgesFrom(topology.model, node.id)) {
    if (["", "continue", "exit"].includes(when)) continue
    const message = `Edge ${id} starts at a loop: its condition must be \`continue\`, \`exit\` or empty; the loop's own condition is loop_condition`
    report.error("LOOP_EDGES", message, at)
  }
  if (loopEdges(topology, node) !== undefined) return
  const message = `Node ${node.id} (loop) needs exactly one edge that leads back to it and one that leaves it`
  report.error("LOOP_EDGES", message, [...node.at, "id"])
}

const DECIDES = ["decision", "conditional", "loop", "human_handoff"]

/** Every cycle needs a node that can leave it. */
function checkCycles(topology: Topology, report: DocumentReport): void {
  const { model, byId } = topology
  const decides = (id: NodeId) => DECIDES.includes(byId.get(id)?.type ?? "")
  // Only written edges: a parallel node and its members are not a cycle, because members return once.
  const undecided = new Map<NodeId, NodeId[]>(topology.nodes.map(({ id }) => [id, []]))
  for (const { from, to, when } of model.edges) {
    if (to !== null && when === undefined && !decides(from) && !decides(to)) undecided.get(from)?.push(to)
  }
  for (const cycle of roundTrips([...undecided.keys()], undecided)) {
    const message = `Cycle without a decision node: ${cycle.join(" → ")}`
    report.error("CYCLE", message, [...(byId.get(cycle[0] as NodeId)?.at ?? []), "id"])
  }
}

interface LoopEdges {
  readonly again: NodeId
  readonly exit: NodeId | null
  readonly back: readonly NodeId[]
}

/** The edge that begins another pass, and the edge that leaves; undefined if the edges are ambiguous. */
export function loopEdges({ model, next }: Topology, node: ModelNode): LoopEdges | undefined {
  const edges = edgesFrom(model, node.id)
  const [one, two] = edges
  if (one === undefined || two === undefined || edges.length > 2) return undefined
  const isAgain = ({ to, when }: ModelEdge) => {
    if (when === "continue" || when === "exit") return when === "continue"
    return to !== null && reachable(next, [to]).has(node.id)
  }
  if (isAgain(one) === isAgain(two)) return undefined
  const [again, exit] = isAgain(one) ? [one, two] : [two, one]
  if (again.to === null || again.to === node.id) return undefined
  const body = reachable(next, [again.to], node.id)
  const back = [...body].filter((id) => next.get(id)?.includes(node.id))
  return { again: again.to, exit: exit.to, back }
}

/** Runs before the routes are known. */
export function checkChatEdges(model: GraphModel, report: DocumentReport): void {
  for (const node of model.nodes) {
    if (!isChosenByName(model, node.type)) continue
    const seen = new Map<string | undefined, ModelEdge>()
    for (const edge of edgesFrom(model, node.id)) {
      const before = seen.get(edge.when)
      if (before === undefined) {
        seen.set(edge.when, edge)
        continue
      }
      const message = (kind: string) => `Node ${node.id} has two ${kind}: ${before.id} and ${edge.id}`
      if (edge.when === undefined)
        report.error("TWO_ALWAYS", message("ALWAYS edges"), [...edge.at, "conditionType"])
      else {
        const kind = `CONDITIONAL edges with the value ${edge.when}`
        report.error("TWO_SAME_VALUE", message(kind), [...edge.at, "conditionValue"])
      }
    }
  }
}

export function checkChat(topology: Topology, agents: GraphAgents, report: DocumentReport): void {
  const { model } = topology
  for (const { id, at } of model.nodes) {
    if (!topology.reached.has(id))
      report.warning("UNREACHABLE_NODE", `Node ${id} is unreachable`, [...at, "id"])
  }
  for (const node of topology.nodes) {
    if (node.type !== "agent") continue
    const path = [...node.at, "id"]
    if (hasTools(node, agents) && executorOf(topology, node) === undefined) {
      const message = `The agent of node ${node.id} has tools, but no edge leads from the node to a TOOL_EXECUTOR`
      report.warning("NO_TOOL_EXECUTOR", message, path)
    }
    if (model.isConversational && edgesFrom(model, node.id).every(({ to }) => to !== null)) {
      const message = `Node ${node.id} has no END edge; its agent can still end the conversation with the tool \`end\``
      report.warning("NO_END_EDGE", message, path)
    }
  }
  checkEndless(topology, report)
  checkValues(topology, agents, report)
}

export function executorOf({ model, byId }: Topology, { id }: ModelNode): ModelNode | undefined {
  const targets = edgesFrom(model, id).flatMap(({ to }) => (to === null ? [] : [byId.get(to)]))
  return targets.find((node) => node?.type === "tool_executor")
}

function hasTools({ agentId }: ModelNode, agents: GraphAgents): boolean {
  const { toolsets = [], sub_agents = [], handoffs = [] } = agents.data(agentId ?? "") ?? {}
  return toolsets.length + sub_agents.length + handoffs.length > 0
}

function checkEndless(topology: Topology, report: DocumentReport): void {
  const ends = new Set(topology.nodes.filter((node) => topology.mayEnd(node)).map(({ id }) => id))
  for (const cycle of topology.roundTrips()) {
    const { at } = topology.byId.get(cycle[0] as NodeId) as ModelNode
    if ([...reachable(topology.next, cycle)].some((id) => ends.has(id))) continue
    const message = `No route leads to END from the cycle ${cycle.join(" → ")}`
    report.warning("CYCLE_WITHOUT_END", message, [...at, "id"])
  }
}

function checkValues(topology: Topology, agents: GraphAgents, report: DocumentReport): void {
  const { model, byId } = topology
  const names = model.nodes.map(({ name }) => name)
  for (const { id, from, to, when, at } of model.edges) {
    const source = byId.get(from)
    if (when === undefined || when === END || names.includes(when) || source === undefined) continue
    if (!isChosenByName(model, source.type)) continue
    const tools = toolsOf(callersBy(topology, source, to), agents)
    if (tools === undefined || tools.includes(when)) continue
    const message = `The conditionValue ${when} of edge ${id} is not the name of a node or a tool, and not END`
    const suggestion = nearest(when, [...names, ...tools, END])
    report.warning("VALUE_UNKNOWN", message, [...at, "conditionValue"], suggestion)
  }
}

/** The agents whose tool names may choose an edge: it leads from or to the node that runs their tools. */
function callersBy(topology: Topology, source: ModelNode, to: NodeId | null): readonly ModelNode[] {
  if (source.type === "tool_executor") return topology.callersOf(source.id)
  return to !== null && topology.byId.get(to)?.type === "tool_executor" ? [source] : []
}

/** Undefined if some tools are known only when a toolset is opened. */
function toolsOf(callers: readonly ModelNode[], agents: GraphAgents): readonly string[] | undefined {
  const names = callers.map(({ agentId = "" }) => agentToolNames(agents.data(agentId) ?? {}))
  return names.includes(undefined) ? undefined : names.flatMap((one) => one ?? [])
}
