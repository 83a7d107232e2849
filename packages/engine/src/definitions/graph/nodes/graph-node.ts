/**
 * The behaviour that all nodes of a graph share: they check the run's limits, write their output, and follow their edges.
 */
import { createHash } from "node:crypto"
import type { NodeFlowOptions, NodeKeyOf } from "../../../builder/index.ts"
import { isSuperstepError, type Json, type NodeId, SuperstepError, toErrorData } from "../../../core/index.ts"
import { type Condition, condition } from "../../../expressions/index.ts"
import { type Callable, type Context, type Placement, recordDecision } from "../../../runtime/index.ts"
import { type DefinitionNode, definitionNode, parseIfJson } from "../../definition.ts"
import { flowKey } from "../../flow.ts"
import {
  type Footprint,
  GOAL,
  type GraphInfo,
  type GraphToken,
  type Lane,
  OPEN_LANES,
  OUTPUTS,
  type Overlay,
  type Reason,
  STEPS,
  TRAIL,
  VALUES,
  Visit,
} from "./visit.ts"

export interface GraphNodeOptions {
  /** Its name, if that is not its id. */
  readonly name?: string | undefined
  /** Several lanes may lead through it at the same time. */
  readonly shared?: boolean | undefined
  /** Stores the value that it passes on under its own id too. */
  readonly keeps?: boolean | undefined
  /** Limits its tasks across all runs and processes. */
  readonly flow?: NodeFlowOptions | undefined
  /** Where its tasks execute. Default `inline`. */
  readonly placement?: Placement | undefined
}

interface Leaving {
  /** Its output. Absent: the node passes its input on. */
  readonly output?: Json | undefined
  readonly values?: Readonly<Record<string, Json>> | undefined
  /** The next nodes; `end`: none; `wait`: another message decides. */
  readonly to: readonly NodeId[] | "end" | "wait"
  /** The result if the run ends here. Default: the output. */
  readonly result?: Json | undefined
  /** Opens a lane for each target. Default: if there are several. */
  readonly opens?: { readonly members?: boolean | undefined } | undefined
  /** The lanes from here on. Default: the lanes of the visit. */
  readonly lanes?: readonly Lane[] | undefined
  /** Distinguishes this visit from earlier ones. Default: the output. */
  readonly news?: unknown
  /** Visits to count in addition to the next nodes. */
  readonly steps?: number | undefined
}

interface NodeParts extends GraphNodeOptions {
  readonly kind: string
  /** It counts arrivals, so visits run one after the other even on several lanes. */
  readonly gathers?: boolean | undefined
  readonly nested?: Callable<never, unknown> | undefined
}

export type Leave = (leaving: Leaving) => GraphToken | undefined
type Run = (visit: Visit, leave: Leave) => unknown

/** Concurrent visits of a shared node. */
const MAX_OVERLAPPING = 1_000

export function makeNode(graph: GraphInfo, id: NodeId, parts: NodeParts, run: Run): DefinitionNode {
  const { kind, name, nested, shared, gathers, flow, placement } = parts
  const handler = (message: unknown, ctx: Context) => {
    const visit = new Visit(graph, id, message as GraphToken, ctx)
    const reason = breachOf(graph, ctx)
    if (reason !== undefined) return handOver(visit, reason)
    return run(visit, (leaving) => leave(visit, parts, leaving))
  }
  return definitionNode(id, kind, handler, {
    name,
    nested,
    flow,
    placement,
    concurrency: shared && !gathers ? MAX_OVERLAPPING : undefined,
  })
}

/** A key of a node's limits: an expression over the input of the run. */
export function graphFlowKey(text: string): NodeKeyOf {
  const read = flowKey(text)
  return (_: unknown, { state }) => read(parseIfJson(state.get(GOAL) ?? ""))
}

/** Passes the turn to a person if the graph has a node for that; otherwise the run fails. */
function handOver(
  { graph, id, token, lanes, ctx }: Visit,
  reason: { code: string; message: string },
): GraphToken {
  const { handoff } = graph
  if (handoff === undefined)
    throw new SuperstepError(reason.code, reason.message, { limit: true, retryable: false })
  ctx.state.write(STEPS, 1)
  return { from: id, go: [handoff], ...(token.key === undefined ? {} : { key: token.key }), lanes, reason }
}

export function leave(visit: Visit, options: GraphNodeOptions, leaving: Leaving): GraphToken | undefined {
  const { ctx, graph, id } = visit
  const { output, values = {}, lanes = visit.lanes, steps = 0 } = leaving
  const opens = leaving.opens ?? (Array.isArray(leaving.to) && leaving.to.length > 1 ? {} : undefined)
  const own = visit.key(options.shared)
  const key = output === undefined ? visit.token.key : own
  if (output !== undefined) ctx.state.write(OUTPUTS, { [own]: output })
  else if (options.keeps) ctx.state.write(OUTPUTS, { [own]: visit.input })
  if (Object.keys(values).length > 0) ctx.state.write(VALUES, values)
  if (graph.chat && !id.startsWith("#")) {
    const print = digestOf("news" in leaving ? leaving.news : (output ?? null))
    ctx.state.write(TRAIL, [{ node: options.name ?? id, print }])
  }
  const lane = lanes.at(-1)
  // A member of a parallel node returns to it, whatever its own edges say.
  const isBack = lane?.members && opens === undefined && leaving.to !== "wait"
  const to = isBack ? [lane.at] : leaving.to
  if (to === "wait") return waiting(visit, steps)
  if (to === "end") return ended(visit, lanes, key, resultOfVisit(visit, leaving))
  if (to.length + steps !== 0) ctx.state.write(STEPS, to.length + steps)
  if (graph.end !== undefined && to.length > 1) ctx.state.write(OPEN_LANES, to.length - 1)
  return {
    from: id,
    go: to,
    ...(key === undefined ? {} : { key }),
    ...(lanes.length === 0 ? {} : { lanes }),
    ...(opens === undefined ? {} : { opens: { task: ctx.task, ...opens } }),
  }
}

/** Null is a result too, if the node's output is null. */
function resultOfVisit(visit: Visit, { output, result = output }: Leaving): Json {
  return result === undefined ? visit.latest : result
}

/** A waiting visit does not count: the message that it waits for does. */
function waiting({ ctx, graph }: Visit, steps: number): undefined {
  ctx.state.write(STEPS, steps - 1)
  if (graph.end !== undefined) ctx.state.write(OPEN_LANES, -1)
}

function ended(
  { ctx, graph, id }: Visit,
  lanes: readonly Lane[],
  key: string | undefined,
  result: Json,
): GraphToken | undefined {
  if (graph.end !== undefined) {
    return { from: id, go: [graph.end.node], ...(key === undefined ? {} : { key }), lanes }
  }
  ctx.output(graph.chat ? result : resultOf(result))
  return undefined
}

export function resultOf(value: Json | undefined): Json {
  return value === undefined || value === null || value === "" ? "No output generated" : value
}

/** How often the same nodes may repeat with the same results. */
const MAX_ROUNDS = 3

/** The limit that another visit would exceed. */
function breachOf({ maxSteps, chat }: GraphInfo, ctx: Context): Reason | undefined {
  if (ctx.state.get(STEPS) > maxSteps) {
    return { code: "STEP_LIMIT", message: `Execution exceeded max steps limit: ${maxSteps}` }
  }
  const circle = chat ? repeatedCycle(ctx.state.get(TRAIL)) : undefined
  if (circle === undefined) return undefined
  const [first] = circle
  const cycle = [...circle, first].join(" → ")
  return {
    code: "CYCLE",
    message: `The run repeats itself: ${cycle}, ${MAX_ROUNDS} times with the same results.`,
  }
}

/** The nodes that the trail ends with MAX_ROUNDS times, each time with the same results. */
export function repeatedCycle(trail: readonly Footprint[]): readonly string[] | undefined {
  for (let length = 1; length * MAX_ROUNDS <= trail.length; length++) {
    if (isOnCycle(trail, length)) return trail.slice(-length).map(({ node }) => node)
  }
  return undefined
}

function isOnCycle(trail: readonly Footprint[], length: number): boolean {
  for (let i = trail.length - 1; i >= trail.length - length * (MAX_ROUNDS - 1); i--) {
    if (!isEqual(trail[i], trail[i - length])) return false
  }
  return true
}

function isEqual(one: Footprint | undefined, other: Footprint | undefined): boolean {
  return one?.node === other?.node && one?.print === other?.print
}

/** A digest, because trails are long and are only compared. */
function digestOf(news: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(news) ?? "")
    .digest("base64url")
    .slice(0, 16)
}

/** The work of a member of a parallel node. A failure is logged, results in null, and does not stop other members. */
export async function memberWork<T>(visit: Visit, work: () => T | Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    visit.ctx.signal.throwIfAborted()
    if (isSuperstepError(error) && (error.limit === true || error.fatal === true)) throw error
    visit.ctx.log("warn", `"${visit.id}" failed and has no result: ${toErrorData(error).message}`)
    return null
  }
}

// Selects the edges to follow.

export interface GraphEdge {
  /** Null ends the run. */
  readonly to: NodeId | null
  readonly when?: string | undefined
}

interface ReadEdge {
  readonly to: NodeId | null
  readonly holds: ((visit: Visit, overlay: Overlay) => boolean) | undefined
}

export type Follow = (visit: Visit, overlay: Overlay) => readonly NodeId[] | "end"

function readEdges(edges: readonly GraphEdge[]): readonly ReadEdge[] {
  return edges.map(({ to, when }) => ({ to, holds: when === undefined ? undefined : holding(when, to) }))
}

/** `to`: where the run continues if it holds. */
export function holding(text: string, to?: NodeId | null): (visit: Visit, overlay: Overlay) => boolean {
  const read: Condition = condition(text, "graph")
  return (visit, overlay) => {
    const { holds, operands } = read.decide(visit.scope(read.references, overlay))
    recordDecision(visit.ctx, { condition: text, holds, operands, ...(to === undefined ? {} : { to }) })
    return holds
  }
}

export function followAll(edges: readonly GraphEdge[] = []): Follow {
  const read = readEdges(edges)
  return (visit, overlay) => {
    const taken = read.filter(({ holds }) => holds === undefined || holds(visit, overlay))
    const to = [...new Set(taken.flatMap((edge) => edge.to ?? []))]
    return to.length === 0 ? "end" : to
  }
}

/** The first edge whose condition holds, else the one without a condition. */
export function followFirst(id: NodeId, edges: readonly GraphEdge[]): Follow {
  const read = readEdges(edges)
  return (visit, overlay) => {
    const taken =
      read.find(({ holds }) => holds?.(visit, overlay)) ?? read.find(({ holds }) => holds === undefined)
    if (taken !== undefined) return taken.to === null ? "end" : [taken.to]
    const text = `No condition after "${id}" holds. Add an edge without a condition as the default.`
    throw new SuperstepError("NO_EDGE_HOLDS", text, { retryable: false })
  }
}
