/** Nodes that decide where to go on, and pass on what they were given. */
import { coreOf } from "../../agents/agent-core.ts"
import { runAgent } from "../../agents/agent-loop.ts"
import type { Agent } from "../../agents/index.ts"
import type { Json, NodeId } from "../../core/index.ts"
import { dataIn, isObject } from "../data-in-text.ts"
import { expression, textOf } from "../expressions/index.ts"
import { followAll, followFirst, type GraphEdge, holding } from "./edges.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNode, type GraphNodeOptions, makeNode } from "./graph-node.ts"
import { type GraphInputOptions, readInput } from "./node-input.ts"
import type { Visit } from "./visit.ts"

export interface GraphConditionalOptions extends GraphNodeOptions {
  readonly edges: readonly GraphEdge[]
  /** What `condition` stands for in the conditions of its edges. */
  readonly condition?: string | undefined
}

/** The first edge whose condition holds, else the one without. */
export function graphConditional(graph: GraphInfo, id: NodeId, options: GraphConditionalOptions): GraphNode {
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

/** All its branches at the same time. */
export function graphFanout(graph: GraphInfo, id: NodeId, options: GraphFanoutOptions): GraphNode {
  const follow = followAll(options.edges)
  return makeNode(graph, id, { kind: "fanout", ...options }, (visit, leave) => {
    const to = follow(visit, {})
    return leave({ to, opens: to === "end" ? undefined : {} })
  })
}

export interface GraphLoopOptions extends GraphNodeOptions {
  /** Where a pass begins, and where it goes on after the last; null: nowhere. */
  readonly again: NodeId
  readonly exit: NodeId | null
  /** The nodes that a pass ends with. */
  readonly back: readonly NodeId[]
  /** Passes at the most. */
  readonly max: number
  /** Looked at after every pass: there is another one while it holds. */
  readonly while?: string | undefined
}

export function graphLoop(graph: GraphInfo, id: NodeId, options: GraphLoopOptions): GraphNode {
  const { again, exit, back, max } = options
  const goesOn = options.while === undefined ? () => true : holding(options.while)
  return makeNode(graph, id, { kind: "loop", ...options }, (visit, leave) => {
    const { token, ctx, lanes } = visit
    // By way: the same loop may be on several at once.
    const name = `passes ${lanes.map(({ task, index }) => `${task}.${index}`).join("/")}`
    const passes = back.includes(token.from) ? (ctx.local.get<number>(name) ?? 0) + 1 : 0
    ctx.local.set(name, passes)
    const hasMore = passes === 0 || (passes < max && goesOn(visit, {}))
    if (hasMore) return leave({ to: [again] })
    return leave({ to: exit === null ? "end" : [exit] })
  })
}

export interface GraphDecisionOptions extends GraphNodeOptions, GraphInputOptions {
  /** The nodes to choose from. */
  readonly options: readonly NodeId[]
  /** What decides: an expression that gives one of them, or an agent that is asked. */
  readonly decide: string | Agent
}

/** One of its options; what is none of them is the first, with a warning. */
export function graphDecision(graph: GraphInfo, id: NodeId, options: GraphDecisionOptions): GraphNode {
  const { options: choices } = options
  const decide = deciding(options)
  return makeNode(graph, id, { kind: "decision", ...options }, async (visit, leave) => {
    const value = await decide(visit)
    const chosen = choices.find((one) => one === value)
    const [first = ""] = choices
    if (chosen === undefined) {
      const text = `"${id}" decided for "${value}", which is none of its options: it goes to "${first}".`
      visit.ctx.log("warn", text, { options: [...choices] })
    }
    return leave({ to: [chosen ?? first], news: value })
  })
}

function deciding(options: GraphDecisionOptions): (visit: Visit) => string | Promise<string> {
  const { decide, options: choices } = options
  if (typeof decide === "string") {
    const read = expression(decide, "graph")
    return (visit) => textOf(read.evaluate(visit.scope(read.references)))
  }
  const ask = readInput(options)
  const core = coreOf(decide)
  return async (visit) => {
    const text = `${ask(visit)}\n\nAnswer with one of these, and nothing else: ${choices.join(", ")}`
    return choiceIn((await runAgent(core, text, visit.ctx)) as Json)
  }
}

/** What an agent meant: a name by itself, in quotes, or in an object. */
function choiceIn(answer: Json): string {
  const data = typeof answer === "string" ? dataIn(answer) : answer
  if (isObject(data)) return textOf(data.next ?? data.decision ?? data.choice)
  return textOf(answer)
    .trim()
    .replace(/^["'`]+|(?<!["'`.])["'`.]+$/g, "")
}
