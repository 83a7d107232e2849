/** Nodes that decide where a run begins, branches and ends. They pass their input on unchanged. */

import type { Agent } from "../../../agents/index.ts"
import { coreOf, inputMessages, runAgent } from "../../../agents/internal.ts"
import type { Json, NodeId } from "../../../core/index.ts"
import { isRecord } from "../../../core/internal.ts"
import { expression, textOf } from "../../../expressions/index.ts"
import { recordDecision } from "../../../runtime/index.ts"
import { type DefinitionNode, definitionNode, jsonIn } from "../../definition.ts"
import {
  followAll,
  followFirst,
  type GraphEdge,
  type GraphNodeOptions,
  holding,
  leave,
  makeNode,
  resultOf,
} from "./graph-node.ts"
import {
  GOAL,
  type GraphInfo,
  type GraphInputOptions,
  type GraphToken,
  MESSAGES,
  OPEN_LANES,
  OUTPUTS,
  readInput,
  STEPS,
  Visit,
} from "./visit.ts"

export interface GraphStartOptions {
  readonly edges: readonly GraphEdge[]
  /** It is a node of the definition, so its visit counts. */
  readonly counts?: boolean | undefined
  readonly keeps?: boolean | undefined
}

export function graphStart(graph: GraphInfo, id: NodeId, options: GraphStartOptions): DefinitionNode {
  const { edges, counts, keeps } = options
  const follow = followAll(edges)
  return definitionNode(id, "start", (message, ctx) => {
    const goal = textOf(message as Json)
    ctx.state.write(GOAL, goal)
    if (graph.chat) ctx.state.write(MESSAGES, inputMessages(message))
    if (counts) ctx.state.write(STEPS, 1)
    if (keeps) ctx.state.write(OUTPUTS, { [id]: goal })
    const visit = new Visit(graph, id, { from: id, go: [] }, ctx)
    const to = follow(visit, { output: goal, names: { goal } })
    return leave(visit, {}, { to, ...(to === "end" ? { result: goal } : {}) })
  })
}

export interface GraphEndOptions {
  /** The nodes that open lanes, and the merges that join them. */
  readonly merges?: Readonly<Record<NodeId, NodeId>> | undefined
}

interface Ended {
  readonly node: NodeId
  readonly key: string | null
}

/** The number of ended lanes, and whose output is the result so far. */
interface Ends {
  readonly count: number
  readonly chosen: Ended
}

/** Chooses the result when the last lane has ended. A lane that ends before its merge is reported to the merge. */
export function graphEnd(graph: GraphInfo, id: NodeId, options: GraphEndOptions = {}): DefinitionNode {
  const { merges = {} } = options
  const { from = [] } = graph.end ?? {}
  return definitionNode(id, "end", (message, ctx) => {
    const { from: node, key = null, lanes = [] } = message as GraphToken
    const before = ctx.local.get<Ends>("ends")
    const count = (before?.count ?? 0) + 1
    const chosen = before === undefined ? { node, key } : chosenOf(from, before.chosen, { node, key })
    ctx.local.set("ends", { count, chosen } satisfies Ends)
    const lane = lanes.at(-1)
    const merge = lane === undefined || !Object.hasOwn(merges, lane.at) ? undefined : merges[lane.at]
    if (merge !== undefined) {
      ctx.state.write(STEPS, 1)
      ctx.state.write(OPEN_LANES, 1)
      return { from: id, go: [merge], lanes, gone: true } satisfies GraphToken
    }
    if (count < ctx.state.get(OPEN_LANES)) return undefined
    const found = chosen.key
    ctx.output(resultOf(found === null ? ctx.state.get(GOAL) : ctx.state.get(OUTPUTS)[found]))
    return undefined
  })
}

/** Prefers the order of the nodes, then the first lane of a node; of other nodes, the last one. */
function chosenOf(order: readonly NodeId[], before: Ended, ended: Ended): Ended {
  const [was, is] = [order.indexOf(before.node), order.indexOf(ended.node)]
  if (was < 0) return ended
  if (is < 0 || is > was) return before
  return is < was || byKey(ended, before) < 0 ? ended : before
}

function byKey(one: Ended, other: Ended): number {
  return (one.key ?? "").localeCompare(other.key ?? "", "en", { numeric: true })
}

export interface GraphConditionalOptions extends GraphNodeOptions {
  readonly edges: readonly GraphEdge[]
  /** The value of `condition` in the conditions of its edges. */
  readonly condition?: string | undefined
}

/** Follows the first edge whose condition holds, else the one without. */
export function graphConditional(
  graph: GraphInfo,
  id: NodeId,
  options: GraphConditionalOptions,
): DefinitionNode {
  const follow = followFirst(id, options.edges)
  const holds = options.condition === undefined ? undefined : holding(options.condition)
  return makeNode(graph, id, { kind: "conditional", ...options }, (visit, leave) => {
    const names = holds === undefined ? {} : { condition: holds(visit, {}) }
    return leave({ to: follow(visit, { names }) })
  })
}

export interface GraphFanoutOptions extends GraphNodeOptions {
  readonly edges: readonly GraphEdge[]
}

export function graphFanout(graph: GraphInfo, id: NodeId, options: GraphFanoutOptions): DefinitionNode {
  const follow = followAll(options.edges)
  return makeNode(graph, id, { kind: "fanout", ...options }, (visit, leave) => {
    const to = follow(visit, {})
    return leave({ to, opens: to === "end" ? undefined : {} })
  })
}

export interface GraphLoopOptions extends GraphNodeOptions {
  readonly again: NodeId
  /** Where to continue after the last pass; null ends the run. */
  readonly exit: NodeId | null
  /** The last nodes of a pass. */
  readonly back: readonly NodeId[]
  readonly max: number
  /** Evaluated after every pass: repeats while it holds. */
  readonly while?: string | undefined
}

export function graphLoop(graph: GraphInfo, id: NodeId, options: GraphLoopOptions): DefinitionNode {
  const { again, exit, back, max } = options
  const repeats = options.while === undefined ? () => true : holding(options.while)
  return makeNode(graph, id, { kind: "loop", ...options }, (visit, leave) => {
    const { token, ctx, lanes } = visit
    // By lane: the same loop may run on several at once.
    const name = `passes ${lanes.map(({ task, index }) => `${task}.${index}`).join("/")}`
    const passes = back.includes(token.from) ? (ctx.local.get<number>(name) ?? 0) + 1 : 0
    ctx.local.set(name, passes)
    const hasMore = passes === 0 || (passes < max && repeats(visit, {}))
    if (hasMore) return leave({ to: [again] })
    return leave({ to: exit === null ? "end" : [exit] })
  })
}

export interface GraphDecisionOptions extends GraphNodeOptions, GraphInputOptions {
  readonly options: readonly NodeId[]
  /** An expression that results in one of them, or an agent. */
  readonly decide: string | Agent
}

/** Follows one of its options; any other choice means the first, with a warning. */
export function graphDecision(graph: GraphInfo, id: NodeId, options: GraphDecisionOptions): DefinitionNode {
  const { options: choices } = options
  const decide = deciding(options)
  return makeNode(graph, id, { kind: "decision", ...options }, async (visit, leave) => {
    const value = await decide(visit)
    const chosen = choices.find((one) => one === value)
    const [first = ""] = choices
    if (chosen === undefined) {
      const text = `"${id}" chose "${value}", which is not one of its options; it continues with "${first}".`
      visit.ctx.log("warn", text, { options: [...choices] })
    }
    return leave({ to: [chosen ?? first], news: value })
  })
}

function deciding(options: GraphDecisionOptions): (visit: Visit) => string | Promise<string> {
  const { decide, options: choices } = options
  if (typeof decide === "string") {
    const read = expression(decide, "graph")
    return (visit) => {
      const { value, operands } = read.explain(visit.scope(read.references))
      const chosen = textOf(value)
      recordDecision(visit.ctx, { condition: decide, holds: true, operands, to: chosen })
      return chosen
    }
  }
  const ask = readInput(options)
  const core = coreOf(decide)
  return async (visit) => {
    const text = `${ask(visit)}\n\nAnswer with one of these, and nothing else: ${choices.join(", ")}`
    return choiceIn((await runAgent(core, text, visit.ctx)) as Json)
  }
}

/** The choice in an agent's answer: a name, in quotes or not, or a field of an object. */
function choiceIn(answer: Json): string {
  const data = typeof answer === "string" ? jsonIn(answer) : answer
  if (isRecord(data)) return textOf(data.next ?? data.decision ?? data.choice)
  return textOf(answer)
    .trim()
    .replace(/^["'`]+|(?<!["'`.])["'`.]+$/g, "")
}
