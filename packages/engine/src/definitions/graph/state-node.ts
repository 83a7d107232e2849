/** A node that writes to the state, or reads from it. */
import type { Json, NodeId } from "../../core/index.ts"
import { expression } from "../expressions/index.ts"
import { plainJson } from "../plain-json.ts"
import { followAll, type GraphEdge } from "./edges.ts"
import { VALUES } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNode, type GraphNodeOptions, type Leave, makeNode } from "./graph-node.ts"
import { memberWork } from "./member-work.ts"
import { pathOf } from "./node-input.ts"
import { writePath } from "./state-paths.ts"
import type { Token } from "./token.ts"
import type { Visit } from "./visit.ts"

export interface GraphStateOptions extends GraphNodeOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  /** Paths, and what is written there: a text is an expression, anything else is itself. */
  readonly update?: Readonly<Record<string, Json>> | undefined
  /** The path of what it passes on. */
  readonly read?: string | undefined
}

export function graphState(graph: GraphInfo, id: NodeId, options: GraphStateOptions = {}): GraphNode {
  const { update = {}, read } = options
  const updates = Object.entries(update).map(([path, value]) => [pathOf(path), writing(value)] as const)
  const path = read === undefined ? undefined : pathOf(read)
  const follow = followAll(options.edges)
  const work = (visit: Visit): Done => {
    const values: Record<string, Json> = {}
    for (const [to, value] of updates) {
      const current = { ...visit.ctx.state.get(VALUES), ...values }
      Object.assign(values, writePath(current, to, value(visit, values)))
    }
    return { values, output: path === undefined ? undefined : plainJson(visit.at(path) ?? null) }
  }
  return makeNode(graph, id, { kind: "state", ...options }, (visit, leave) => {
    if (visit.member !== undefined) return asMember(visit, leave, () => work(visit))
    const { values, output } = work(visit)
    const to = follow(visit, { output, values })
    const opens = to !== "end" && to.length > 1 ? {} : undefined
    return leave({ output, values, to, opens, news: [output ?? null, values] })
  })
}

interface Done {
  readonly values: Readonly<Record<string, Json>>
  readonly output: Json | undefined
}

async function asMember(visit: Visit, leave: Leave, work: () => Done): Promise<Token | undefined> {
  const { values, output } = (await memberWork(visit, work)) ?? { values: {}, output: null }
  return leave({ output, values, to: "end", news: [output ?? null, values] })
}

/** It sees what was written just before. */
function writing(given: Json): (visit: Visit, values: Readonly<Record<string, Json>>) => Json {
  if (typeof given !== "string") return () => given
  const read = expression(given, "graph")
  return (visit, values) => plainJson(read.evaluate(visit.scope(read.references, { values })) ?? null)
}
