/** Nodes that choose the route and pass their input on. */
import type { Agent } from "../../../agents/index.ts"
import { coreOf, runAgent } from "../../../agents/internal.ts"
import type { Json, NodeId } from "../../../core/index.ts"
import { isRecord } from "../../../core/internal.ts"
import { expression, textOf } from "../../../expressions/index.ts"
import type { DefinitionNode } from "../../definition-node.ts"
import { jsonIn } from "../../json-values.ts"
import { followAll, followFirst, type GraphEdge, holding } from "./edges.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNodeOptions, makeNode } from "./graph-node.ts"
import { type GraphInputOptions, readInput } from "./node-input.ts"
import type { Visit } from "./visit.ts"

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
    return (visit) => textOf(read.evaluate(visit.scope(read.references)))
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
