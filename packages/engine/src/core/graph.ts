/**
 * The graph that every style of orchestration compiles to: plain data, immutable after it is built.
 * Functions (handlers, conditions, selections) are not here; the runtime holds them separately.
 */
import type { ErrorData } from "./errors.ts"
import type { JoinId, NodeId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { ChannelSpec } from "./reducers.ts"
import { hashPair, type RetryPolicy } from "./retry.ts"
import type { Budget } from "./usage.ts"

export type Schedule = "superstep" | "flow"

/** Limits of one workflow: a sub-workflow has its own. */
export interface Limits {
  /** Supersteps of the run; in flow mode, the longest chain of tasks. Default 100. */
  readonly supersteps?: number | undefined
  /** Visits of any one node. */
  readonly visits?: number | undefined
  /** Passes over any one back edge. */
  readonly loops?: number | undefined
  /** Tasks that run at the same time. */
  readonly concurrency?: number | undefined
  /** The largest single value that the run accepts, as the length of its JSON text. Default 32 MB. */
  readonly valueBytes?: number | undefined
}

export const DEFAULT_SUPERSTEPS = 100

export interface NodeSpec {
  readonly id: NodeId
  /** The name that people see. Default: its id. */
  readonly name?: string | undefined
  /** What the node is: `node`, `workflow`, and later `agent`, `tool`, … */
  readonly kind: string
  /** JSON Schemas of the messages it accepts, one per handler; absent if a handler accepts anything. */
  readonly input?: readonly Json[] | undefined
  /** JSON Schema of its result, if declared. */
  readonly output?: Json | undefined
  readonly retry?: RetryPolicy | undefined
  /** Milliseconds one attempt may take; waiting for a person, a timer or a child does not count. */
  readonly timeout?: number | undefined
  /** Deliveries that may overlap. Default 1. */
  readonly concurrency?: number | undefined
  readonly maxVisits?: number | undefined
  /** The budget of all its tasks together. */
  readonly budget?: Budget | undefined
  /** `settle`: a final failure becomes the value `{ ok: false, error }`, and a result `{ ok: true, value }`. */
  readonly onError?: "fail" | "settle" | undefined
  readonly description?: string | undefined
  /** The graph of a sub-workflow. */
  readonly nested?: Graph | undefined
  /** Of a node that passes turns around: who can follow whom, if that is known. Diagrams draw it instead of the node. */
  readonly turns?: readonly Turn[] | undefined
}

export interface Turn {
  /** Absent: what comes first. */
  readonly from?: NodeId | undefined
  /** Absent: the end. */
  readonly to?: NodeId | undefined
  readonly label?: string | undefined
}

export type JoinPolicy =
  | { readonly kind: "all" }
  | { readonly kind: "any" }
  | { readonly kind: "quorum"; readonly count: number }
  | { readonly kind: "settle" }

export interface SingleEdge {
  readonly kind: "single"
  readonly from: NodeId
  readonly to: NodeId
  readonly conditional?: boolean | undefined
  /** How often a run may take this edge; once more ends it with status `limit`. */
  readonly max?: number | undefined
  readonly label?: string | undefined
}
export interface FanOutEdge {
  readonly kind: "fan-out"
  readonly from: NodeId
  readonly to: readonly NodeId[]
  readonly selective?: boolean | undefined
  readonly label?: string | undefined
}
export interface FanInEdge {
  readonly kind: "fan-in"
  readonly from: readonly NodeId[]
  readonly to: NodeId
  readonly join: JoinPolicy
  /** Milliseconds from a round's first message until the join stops waiting. */
  readonly timeout?: number | undefined
}
export interface SwitchCase {
  /** Absent: the message is an output. */
  readonly to?: NodeId | undefined
  /** Without a condition it is the default. */
  readonly conditional: boolean
  /** After this many passes the case no longer matches. */
  readonly max?: number | undefined
  readonly label?: string | undefined
}
export interface SwitchEdge {
  readonly kind: "switch"
  readonly from: NodeId
  readonly cases: readonly SwitchCase[]
}
export interface MapEdge {
  readonly kind: "map"
  readonly from: NodeId
  /** Runs once per item of the list that `from` sends. */
  readonly worker: NodeId
  /** Receives the results in item order; if absent, they are an output. */
  readonly to?: NodeId | undefined
  readonly concurrency?: number | undefined
  /** A failed item becomes `{ ok: false, error }` in its place. */
  readonly settle?: boolean | undefined
}
export interface ErrorEdge {
  readonly kind: "error"
  readonly from: NodeId
  readonly to: NodeId
}
export type EdgeGroup = SingleEdge | FanOutEdge | FanInEdge | SwitchEdge | MapEdge | ErrorEdge

export interface GraphSpec {
  readonly name: string
  readonly description?: string | undefined
  readonly schedule?: Schedule | undefined
  readonly start?: NodeId | undefined
  readonly nodes: readonly NodeSpec[]
  readonly edges: readonly EdgeGroup[]
  /** Nodes whose results are outputs; default: nodes without an outgoing edge. */
  readonly outputs?: readonly NodeId[] | undefined
  readonly channels?: readonly ChannelSpec[] | undefined
  readonly limits?: Limits | undefined
  /** The node to which a run goes, once, instead of ending when it reaches a limit, its budget or its timeout. */
  readonly onLimit?: NodeId | undefined
}

/** A failure that became a value. */
export type Settled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: ErrorData }

/** One hop that a message can take, whatever group it belongs to. */
export interface Hop {
  readonly from: NodeId
  readonly to: NodeId
  readonly group: EdgeGroup
}

/** The hops of a group. A map is two: into the worker, and out of it. */
export function hopsOf(group: EdgeGroup): Hop[] {
  switch (group.kind) {
    case "single":
    case "error":
      return [{ from: group.from, to: group.to, group }]
    case "fan-out":
      return group.to.map((to) => ({ from: group.from, to, group }))
    case "fan-in":
      return group.from.map((from) => ({ from, to: group.to, group }))
    case "switch":
      return group.cases.flatMap(({ to }) => (to === undefined ? [] : [{ from: group.from, to, group }]))
    case "map": {
      const hops: Hop[] = [{ from: group.from, to: group.worker, group }]
      if (group.to !== undefined) hops.push({ from: group.worker, to: group.to, group })
      return hops
    }
  }
}

/** From this many sources on, a join's id is shortened: the record of each source contains it. */
const WIDE = 16
const joinIds = new WeakMap<FanInEdge, JoinId>()

/** Readable, and different for different joins whatever the nodes are called. */
export function joinId(group: FanInEdge): JoinId {
  const known = joinIds.get(group)
  if (known !== undefined) return known
  const { from, to } = group
  const whole = wholeJoinId(group)
  const hash = () =>
    hashPair(whole, 0, 1)
      .map((one) => one.toString(16))
      .join("")
  const id =
    from.length < WIDE ? whole : `${safe(from[0] as NodeId)}+${from.length - 1}:${hash()}=>${safe(to)}`
  joinIds.set(group, id)
  return id
}

/** The original form of the id. Wide joins are also found by it, for older journals. */
export function wholeJoinId({ from, to }: FanInEdge): JoinId {
  return `${from.map(safe).join("+")}=>${safe(to)}`
}

function safe(id: NodeId): string {
  return id.replace(/[%+=>]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
}

/** The minimum number of messages of a round; undefined if the join waits until no more can arrive. */
export function joinNeeds(join: JoinPolicy, sources: number): number | undefined {
  switch (join.kind) {
    case "all":
      return sources
    case "any":
      return 1
    case "quorum":
      return join.count
    case "settle":
      return undefined
  }
}

/** Edge groups that carry a node's messages; fan-in and error groups are listed separately. */
export type OutGroup = SingleEdge | FanOutEdge | SwitchEdge | MapEdge | FanInEdge

/** A node with everything that a step needs, precomputed. */
export interface GraphNode {
  readonly index: number
  readonly id: NodeId
  readonly spec: NodeSpec
  /** The groups a message of this node goes along, in the order they were declared. */
  readonly out: readonly OutGroup[]
  /** The nodes that its messages can go to directly. */
  readonly targets: readonly GraphNode[]
  /** Joins that take this node's failure as a value. */
  readonly settles: readonly GraphJoin[]
  /** Where its error edge leads. */
  readonly onError: NodeId | undefined
  readonly isOutput: boolean
  /** The worker of a map: its results belong to the map. */
  readonly isWorker: boolean
  readonly maxVisits: number
  /** By target: the counter of an edge that has its own limit or is a back edge. */
  readonly counted: ReadonlyMap<NodeId, CountedEdge>
}

export interface CountedEdge {
  readonly index: number
  readonly from: NodeId
  readonly to: NodeId
  /** Taking the edge more often ends the run with a limit. */
  readonly max: number
  /** It closes a cycle. */
  readonly back: boolean
}

export interface GraphJoin {
  readonly index: number
  readonly id: JoinId
  readonly group: FanInEdge
  readonly target: number
  readonly sources: ReadonlyMap<NodeId, number>
  readonly needs: number | undefined
}

export interface GraphMap {
  readonly group: MapEdge
  readonly worker: number
  readonly target: number | undefined
}

export interface Graph {
  readonly spec: GraphSpec
  readonly name: string
  readonly schedule: Schedule
  readonly start: number
  readonly nodes: readonly GraphNode[]
  readonly index: ReadonlyMap<NodeId, number>
  readonly joins: readonly GraphJoin[]
  readonly joinIndex: ReadonlyMap<JoinId, GraphJoin>
  /** By worker: a node works for one map only. */
  readonly maps: ReadonlyMap<NodeId, GraphMap>
  readonly counted: readonly CountedEdge[]
  readonly channels: ReadonlyMap<string, ChannelSpec>
  readonly onLimit: number | undefined
}
