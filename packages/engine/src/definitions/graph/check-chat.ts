/** Rules about conversations: edges that are chosen by name, tools, and the way to the end. */

import { reachable } from "../../core/analysis.ts"
import type { NodeId } from "../../core/index.ts"
import { nearest } from "../document/index.ts"
import type { Checking } from "./check-parts.ts"
import { END } from "./control-tools.ts"
import type { GraphAgents } from "./graph-agents.ts"
import { edgesFrom, type GraphModel, isChosenByName, type ModelEdge, type ModelNode } from "./graph-model.ts"
import type { Topology } from "./topology.ts"

/** Before the ways are known. */
export function checkChatEdges(model: GraphModel, { document, report }: Checking): void {
  for (const node of model.nodes) {
    if (!isChosenByName(model, node.type)) continue
    const seen = new Map<string | undefined, ModelEdge>()
    for (const edge of edgesFrom(model, node.id)) {
      const before = seen.get(edge.when)
      if (before === undefined) {
        seen.set(edge.when, edge)
        continue
      }
      const kind =
        edge.when === undefined ? "two ALWAYS edges" : `two CONDITIONAL edges with the value ${edge.when}`
      const text = `Node ${node.id} has ${kind}: ${before.id} and ${edge.id}`
      const field = edge.when === undefined ? "conditionType" : "conditionValue"
      report.error(
        edge.when === undefined ? "TWO_ALWAYS" : "TWO_SAME_VALUE",
        text,
        document.place([...edge.at, field]),
      )
    }
  }
}

export function checkChat(topology: Topology, agents: GraphAgents, checking: Checking): void {
  const { document, report } = checking
  const { model } = topology
  for (const node of model.nodes) {
    if (topology.reached.has(node.id)) continue
    report.warning(
      "UNREACHABLE_NODE",
      `Node ${node.id} cannot be reached`,
      document.place([...node.at, "id"]),
    )
  }
  for (const node of topology.nodes) {
    if (node.type !== "agent") continue
    if (hasTools(node, agents) && executorOf(topology, node) === undefined) {
      const text = `The agent of node ${node.id} has tools, and no edge leads from it to a TOOL_EXECUTOR`
      report.warning("NO_TOOL_EXECUTOR", text, document.place([...node.at, "id"]))
    }
    if (model.isConversational && edgesFrom(model, node.id).every(({ to }) => to !== null)) {
      const text = `Node ${node.id} has no END edge; its agent can end the conversation with the tool \`end\` all the same`
      report.warning("NO_END_EDGE", text, document.place([...node.at, "id"]))
    }
  }
  checkEndless(topology, checking)
  checkValues(topology, agents, checking)
}

/** Where the calls of an agent go. */
export function executorOf({ model, byId }: Topology, { id }: ModelNode): ModelNode | undefined {
  const targets = edgesFrom(model, id).flatMap(({ to }) => (to === null ? [] : [byId.get(to)]))
  return targets.find((node) => node?.type === "tool_executor")
}

function hasTools({ agentId }: ModelNode, agents: GraphAgents): boolean {
  const { toolsets = [], sub_agents = [], handoffs = [] } = agents.data(agentId ?? "") ?? {}
  return toolsets.length + sub_agents.length + handoffs.length > 0
}

function checkEndless(topology: Topology, { document, report }: Checking): void {
  const ends = new Set(topology.nodes.filter((node) => topology.mayEnd(node)).map(({ id }) => id))
  for (const way of topology.roundTrips()) {
    const node = topology.byId.get(way[0] as NodeId) as ModelNode
    if ([...reachable(topology.next, way)].some((id) => ends.has(id))) continue
    const text = `There is no way to END from the cycle ${way.join(" → ")}`
    report.warning("CYCLE_WITHOUT_END", text, document.place([...node.at, "id"]))
  }
}

/** What an edge is chosen by should be something that can be chosen. */
function checkValues(topology: Topology, agents: GraphAgents, { document, report }: Checking): void {
  const { model, byId } = topology
  const names = model.nodes.map(({ name }) => name)
  for (const { id, from, to, when, at } of model.edges) {
    const source = byId.get(from)
    if (when === undefined || when === END || names.includes(when) || source === undefined) continue
    if (!isChosenByName(model, source.type)) continue
    const tools = toolNames(callersBy(topology, source, to), agents)
    if (tools === undefined || tools.includes(when)) continue
    const text = `The conditionValue ${when} of edge ${id} is no node's name, no tool's name, and not END`
    report.warning(
      "VALUE_UNKNOWN",
      text,
      document.place([...at, "conditionValue"]),
      nearest(when, [...names, ...tools, END]),
    )
  }
}

/** The agents whose tools an edge may be chosen by: it leads from where these are run, or to there. */
function callersBy(topology: Topology, source: ModelNode, to: NodeId | null): readonly ModelNode[] {
  if (source.type === "tool_executor") return topology.callersOf(source.id)
  return to !== null && topology.byId.get(to)?.type === "tool_executor" ? [source] : []
}

/** The tools that they have; undefined where that shows only when toolsets are opened. */
function toolNames(callers: readonly ModelNode[], agents: GraphAgents): readonly string[] | undefined {
  const sets = callers.flatMap(({ agentId = "" }) => agents.data(agentId)?.toolsets ?? [])
  const names: string[] = []
  for (const set of sets) {
    if (set.type === "script") names.push(...Object.keys(set.shell))
    else if (set.type === "api") names.push(set.api_config.name)
    else return undefined
  }
  return names
}
