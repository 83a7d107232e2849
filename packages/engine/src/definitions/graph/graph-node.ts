/** What all nodes of a graph have in common: they are entered, leave something, and say whose turn is next. */
import type { Node } from "../../builder/index.ts"
import { type Json, type NodeId, SuperstepError } from "../../core/index.ts"
import type { Callable, Context } from "../../runtime/index.ts"
import { OUTPUTS, STEPS, TRAIL, VALUES, WAYS } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import { breachOf, printOf } from "./guard-rails.ts"
import type { Lane, Token } from "./token.ts"
import { Visit } from "./visit.ts"

/** Any: which nodes are wired to which was settled when the plan was written. */
// biome-ignore lint/suspicious/noExplicitAny: as said above.
export type GraphNode = Node<any, any>

export interface GraphNodeOptions {
  /** What it is called, where that is not its id. */
  readonly name?: string | undefined
  /** Several ways may lead through it at the same time. */
  readonly shared?: boolean | undefined
  /** What it passes on is wanted under its own id too. */
  readonly keeps?: boolean | undefined
}

interface Leaving {
  /** What it leaves; absent: it passes on what it was given. */
  readonly output?: Json | undefined
  readonly values?: Readonly<Record<string, Json>> | undefined
  /** Whose turn is next; `end`: nobody's; `wait`: that is for another message to say. */
  readonly to: readonly NodeId[] | "end" | "wait"
  /** Where it ends, what is the result; absent: what it leaves. */
  readonly result?: Json | undefined
  readonly opens?: { readonly members?: boolean | undefined } | undefined
  /** The ways it is on from here; absent: those it came by. */
  readonly lanes?: readonly Lane[] | undefined
  /** What is new with this visit; absent: what it leaves. */
  readonly news?: unknown
  /** Visits that are counted beside those that it sends for. */
  readonly steps?: number | undefined
}

interface NodeParts extends GraphNodeOptions {
  readonly kind: string
  /** What comes to it is counted: one visit after the other, also where several ways lead through it. */
  readonly gathers?: boolean | undefined
  readonly nested?: Callable<never, unknown> | undefined
}

export type Leave = (leaving: Leaving) => Token | undefined
type Run = (visit: Visit, leave: Leave) => unknown

/** As many ways as there may be. */
const OVERLAPPING = 1_000

export function makeNode(graph: GraphInfo, id: NodeId, parts: NodeParts, run: Run): GraphNode {
  const { kind, nested, shared, gathers } = parts
  const handler = (message: unknown, ctx: Context) => {
    const visit = new Visit(graph, id, message as Token, ctx)
    const reason = breachOf(graph, ctx)
    if (reason !== undefined) return handOver(visit, reason)
    return run(visit, (leaving) => leave(visit, parts, leaving))
  }
  return rawNode(id, kind, handler, {
    ...(nested === undefined ? {} : { nested: nested as Callable }),
    ...(shared && !gathers ? { concurrency: OVERLAPPING } : {}),
  })
}

export function rawNode(
  id: NodeId,
  kind: string,
  handler: (message: unknown, ctx: Context) => unknown,
  more: Partial<Node["definition"]> = {},
): GraphNode {
  const definition = { kind, handlers: [{ run: handler as never }], ...more }
  return Object.freeze({ id, definition: Object.freeze(definition) })
}

/** To a person, where the graph has a node for that; else the run is over. */
function handOver({ graph, id, token, lanes, ctx }: Visit, reason: { code: string; message: string }): Token {
  const { handoff } = graph
  if (handoff === undefined)
    throw new SuperstepError(reason.code, reason.message, { limit: true, retryable: false })
  ctx.state.write(STEPS, 1)
  return { from: id, go: [handoff], ...(token.key === undefined ? {} : { key: token.key }), lanes, reason }
}

export function leave(visit: Visit, options: GraphNodeOptions, leaving: Leaving): Token | undefined {
  const { ctx, graph, id } = visit
  const { output, values = {}, opens, lanes = visit.lanes, steps = 0 } = leaving
  const own = visit.key(options.shared)
  const key = output === undefined ? visit.token.key : own
  if (output !== undefined) ctx.state.write(OUTPUTS, { [own]: output })
  else if (options.keeps) ctx.state.write(OUTPUTS, { [own]: visit.given })
  if (Object.keys(values).length > 0) ctx.state.write(VALUES, values)
  if (graph.chat && !id.startsWith("#")) {
    const print = printOf("news" in leaving ? leaving.news : (output ?? null))
    ctx.state.write(TRAIL, [{ node: options.name ?? id, print }])
  }
  const lane = lanes.at(-1)
  // A member of a parallel node goes back to it, whatever its own edges say.
  const isBack = lane?.members && opens === undefined && leaving.to !== "wait"
  const to = isBack ? [lane.at] : leaving.to
  if (to === "wait") return waiting(visit, steps)
  if (to === "end") return ended(visit, lanes, key, resultLeft(visit, leaving))
  if (to.length + steps !== 0) ctx.state.write(STEPS, to.length + steps)
  if (graph.end !== undefined && to.length > 1) ctx.state.write(WAYS, to.length - 1)
  return {
    from: id,
    go: to,
    ...(key === undefined ? {} : { key }),
    ...(lanes.length === 0 ? {} : { lanes }),
    ...(opens === undefined ? {} : { opens: { task: ctx.task, ...opens } }),
  }
}

/** Nothing is a result too, where a node has left just that. */
function resultLeft(visit: Visit, { output, result = output }: Leaving): Json {
  return result === undefined ? visit.latest : result
}

/** Its visit is one with that of the message that it waits for. */
function waiting({ ctx, graph }: Visit, steps: number): undefined {
  ctx.state.write(STEPS, steps - 1)
  if (graph.end !== undefined) ctx.state.write(WAYS, -1)
}

function ended(
  { ctx, graph, id }: Visit,
  lanes: readonly Lane[],
  key: string | undefined,
  result: Json,
): Token | undefined {
  if (graph.end !== undefined) {
    return { from: id, go: [graph.end.node], ...(key === undefined ? {} : { key }), lanes }
  }
  ctx.output(graph.chat ? result : resultOf(result))
  return undefined
}

export function resultOf(value: Json | undefined): Json {
  return value === undefined || value === null || value === "" ? "No output generated" : value
}
