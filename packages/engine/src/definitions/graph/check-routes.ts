/** Checks the routes through a graph: reachability, loops and cycles; in a conversation, also edges chosen by name. */
import type { NodeId } from "../../core/index.ts"
import { type Adjacency, cycles, reachable } from "../../core/internal.ts"
import { nearest } from "../../document/index.ts"
import { agentToolNames } from "../agents/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import {
  edgesFrom,
  type GraphAgents,
  type GraphModel,
  isChosenByName,
  type ModelEdge,
  type ModelNode,
} from "./graph-model.ts"
import { END } from "./nodes/chat-nodes.ts"

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
    report.error("LOOP_EDGES", message, [...at, topology.model.isChat ? "conditionValue" : "condition"])
  }
  if (loopEdges(topology, node) !== undefined) return
  const message = `Node ${node.id} (loop) needs exactly one edge that leads back to it and one that leaves it; ${loopFound(topology, node)}`
  report.error("LOOP_EDGES", message, [...node.at, "id"])
}

function loopFound({ model, next }: Topology, { id }: ModelNode): string {
  const edges = edgesFrom(model, id)
  if (edges.length !== 2) return `it has ${edges.length === 1 ? "one edge" : `${edges.length} edges`}`
  const back = edges.filter(({ to }) => to !== null && reachable(next, [to]).has(id))
  if (back.length === 1) return "`continue` has to be the one that leads back"
  return back.length === 0 ? "none of its edges leads back" : "both of its edges lead back"
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
  if (back.length === 0) return undefined
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
  const {
    toolsets = [],
    sub_agents = [],
    handoffs = [],
    rag = [],
    use_mcps = [],
    skills = false,
  } = agents.data(agentId ?? "") ?? {}
  const lists = [toolsets, sub_agents, handoffs, rag, use_mcps]
  return skills !== false || lists.some((list) => list.length > 0)
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

// How the nodes of a graph are connected: where routes lead, where lanes open, and where they merge.

export class Topology {
  readonly model: GraphModel
  readonly byId: ReadonlyMap<NodeId, ModelNode>
  readonly handoff: ModelNode | undefined
  /** Members of parallel nodes, and the nodes that run them. */
  readonly members: ReadonlyMap<NodeId, readonly NodeId[]>
  readonly #targeted: ReadonlySet<NodeId | null>
  readonly next: Adjacency
  readonly reached: ReadonlySet<NodeId>
  /** Nodes that open lanes, and the merges that join them. */
  readonly openers: ReadonlyMap<NodeId, NodeId | undefined>

  constructor(model: GraphModel) {
    this.model = model
    this.byId = new Map(model.nodes.map((node) => [node.id, node]))
    this.handoff = model.nodes.find(({ type }) => type === "human_handoff")
    this.members = membersIn(model)
    this.#targeted = new Set([model.entry, ...model.edges.map(({ to }) => to)])
    this.next = new Map(model.nodes.map((node) => [node.id, [...new Set(this.#targets(node))]]))
    const entries = [model.entry, ...(this.handoff === undefined ? [] : [this.handoff.id])]
    this.reached = reachable(
      this.next,
      entries.filter((id) => this.byId.has(id)),
    )
    const openers = model.nodes.filter((node) => this.reached.has(node.id) && this.isOpener(node))
    this.openers = new Map(openers.map((node) => [node.id, this.#mergeOf(node)]))
  }

  get nodes(): readonly ModelNode[] {
    return this.model.nodes.filter(({ id }) => this.reached.has(id))
  }

  callersOf(executor: NodeId): readonly ModelNode[] {
    const { nodes, edges } = this.model
    return nodes.filter(
      ({ id, type }) => type === "agent" && edges.some(({ from, to }) => from === id && to === executor),
    )
  }

  isExclusive({ type }: ModelNode): boolean {
    if (type === "conditional" || type === "loop" || type === "decision") return true
    return isChosenByName(this.model, type)
  }

  isOpener(node: ModelNode): boolean {
    if (node.type === "fanout") return true
    const targets = edgesFrom(this.model, node.id).flatMap(({ to }) => to ?? [])
    return !this.isExclusive(node) && new Set(targets).size > 1
  }

  /** No node follows: its output is a result. */
  isTerminal({ id, type }: ModelNode): boolean {
    if (this.model.exits !== undefined) return this.model.exits.includes(id)
    return (
      edgesFrom(this.model, id).every(({ to }) => to === null) && !this.#isMemberOnly(id) && type !== "fanout"
    )
  }

  /** A lane may end there. */
  mayEnd(node: ModelNode): boolean {
    if (this.#isMemberOnly(node.id)) return false
    const edges = edgesFrom(this.model, node.id)
    if (edges.length === 0 || edges.some(({ to }) => to === null) || node.type === "human_handoff")
      return true
    if (this.model.isChat && node.type === "agent") {
      return this.model.isConversational || edges.every(({ when }) => when !== undefined)
    }
    return !this.isExclusive(node) && edges.every(({ when }) => when !== undefined)
  }

  cycles(): readonly (readonly NodeId[])[] {
    return cycles([...this.reached], this.next)
  }

  /** One cycle of each group. */
  roundTrips(): readonly (readonly NodeId[])[] {
    return roundTrips(
      this.nodes.map(({ id }) => id),
      this.next,
    )
  }

  /** Nodes that several lanes can lead through at the same time. */
  sharedNodes(): ReadonlySet<NodeId> {
    const shared = new Set<NodeId>()
    for (const [opener, merge] of this.openers) {
      const seen = new Map<NodeId, number>()
      const without = new Map([...this.next].map(([id, to]) => [id, to.filter((one) => one !== opener)]))
      for (const branch of this.#branchesOf(opener)) {
        for (const id of reachable(without, [branch], merge)) seen.set(id, (seen.get(id) ?? 0) + 1)
      }
      for (const [id, times] of seen) if (times > 1) shared.add(id)
    }
    return shared
  }

  #branchesOf(id: NodeId): readonly NodeId[] {
    return [...new Set(edgesFrom(this.model, id).flatMap(({ to }) => to ?? []))]
  }

  /** Whether only a parallel node leads to it. */
  #isMemberOnly(id: NodeId): boolean {
    return this.members.has(id) && !this.#targeted.has(id)
  }

  #targets(node: ModelNode): NodeId[] {
    const { model } = this
    const drawn = edgesFrom(model, node.id).flatMap(({ to }) => to ?? [])
    const members = node.type === "parallel" ? (node.data.nodes ?? []) : []
    const parents = this.members.get(node.id) ?? []
    return [...drawn, ...members, ...parents, ...this.#spoken(node)].filter((id) => this.byId.has(id))
  }

  /** Where a conversation continues without an edge. */
  #spoken({ id, type }: ModelNode): readonly NodeId[] {
    const { model } = this
    if (!model.isChat) return []
    const hasAlways = edgesFrom(model, id).some(({ when }) => when === undefined)
    if (type === "tool_executor" && !hasAlways) return this.callersOf(id).map((one) => one.id)
    if (type !== "human_handoff") return []
    return [model.entry, ...model.nodes.filter((one) => one.type === "agent").map((one) => one.id)]
  }

  /** The nearest of the merges that most of its branches lead to. */
  #mergeOf({ id }: ModelNode): NodeId | undefined {
    const distances = this.#branchesOf(id).map((branch) => distancesFrom(this.next, branch))
    const merges = this.model.nodes.filter(({ type, id: one }) => type === "merge" && one !== id)
    const found = merges.flatMap((merge) => {
      const near = distances.flatMap((one) => one.get(merge.id) ?? [])
      return near.length === 0 ? [] : [{ id: merge.id, count: near.length, far: Math.max(...near) }]
    })
    found.sort((a, b) => b.count - a.count || a.far - b.far)
    return found[0]?.id
  }
}

function membersIn({ nodes }: GraphModel): ReadonlyMap<NodeId, readonly NodeId[]> {
  const members = new Map<NodeId, NodeId[]>()
  for (const { id, type, data } of nodes) {
    if (type !== "parallel") continue
    for (const member of new Set(data.nodes)) members.set(member, [...(members.get(member) ?? []), id])
  }
  return members
}

function distancesFrom(next: Adjacency, from: NodeId): ReadonlyMap<NodeId, number> {
  const distances = new Map([[from, 0]])
  for (const [id, distance] of distances) {
    for (const to of next.get(id) ?? []) if (!distances.has(to)) distances.set(to, distance + 1)
  }
  return distances
}

/** For each group of nodes on a common cycle, the shortest cycle from its first node: `a, b, a`. */
function roundTrips(nodes: readonly NodeId[], next: Adjacency): readonly (readonly NodeId[])[] {
  const order = new Map(nodes.map((id, i) => [id, i]))
  return cycles(nodes, next).map((group) => {
    const first = group.reduce((one, id) => ((order.get(id) ?? 0) < (order.get(one) ?? 0) ? id : one))
    return roundTrip(first, next)
  })
}

function roundTrip(start: NodeId, next: Adjacency): readonly NodeId[] {
  const before = new Map<NodeId, NodeId>()
  const open = new Set([start])
  for (const id of open) {
    for (const to of next.get(id) ?? []) {
      if (!before.has(to)) before.set(to, id)
      open.add(to)
    }
    if (before.has(start)) break
  }
  const trip = [start]
  for (let id = before.get(start); id !== undefined && id !== start; id = before.get(id)) trip.unshift(id)
  return [start, ...trip]
}
