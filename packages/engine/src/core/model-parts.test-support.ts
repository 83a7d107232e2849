/** What the model of a run is made of. */

import type { TaskFinished } from "./entries.ts"
import type { GraphJoin, GraphMap, GraphNode } from "./graph.ts"
import type { Json } from "./json.ts"
import type { Route, Send } from "./messages.ts"

export interface ModelTask {
  readonly id: number
  readonly node: GraphNode
  readonly message: Json
  readonly superstep: number
  readonly map?: ModelMap | undefined
  readonly item: number
  attempt: number
  /** Its handler was called at least once. */
  started: boolean
  /** What it waited for happened in a pause: it continues with the run. */
  held: boolean
  /** By key: the request's id, or that it is a timer or a call. */
  readonly waits: Map<string, string>
  readonly memo: Set<string>
}

export interface ModelMap {
  readonly map: GraphMap
  readonly results: Json[]
  left: number
}

export interface Sender {
  readonly id: number
  readonly node: GraphNode
  readonly superstep: number
  readonly sends: readonly Send[]
  readonly writes: TaskFinished["writes"]
  readonly map?: ModelMap | undefined
  readonly item: number
  /** An answer, or a join that did not wait longer. */
  readonly outside?: boolean | undefined
}

export interface Round {
  readonly join: GraphJoin
  readonly number: number
  readonly values: (Json | undefined)[]
  count: number
  fired: boolean
}

export interface ModelRequest {
  readonly node: GraphNode
  readonly task: number
  readonly deadline: boolean
  /** Who else is to be asked, one after another: whether they have a deadline. */
  readonly stages: boolean[]
  readonly fallback: Json | undefined
}

/** Where what went wrong at a node goes; undefined: it fails the run. */
export function failureRoute({ onError, settles }: GraphNode): Route | undefined {
  if (onError !== undefined) return { nodes: [onError] }
  return settles.length === 0 ? undefined : { joins: settles.map((join) => join.id), failed: true }
}

export function placesFor({ map }: ModelMap, worker: GraphNode): number {
  return map.group.concurrency ?? worker.spec.concurrency ?? Number.POSITIVE_INFINITY
}

export function joinTimer({ join, number }: Round): string {
  return `join:${number}:${join.id}`
}

/** In how many places a message is to arrive; one that goes nowhere is to be reported once. */
export function placesOf({ nodes = [], joins = [], maps = [], output, result }: Send["route"]): number {
  const places = nodes.length + joins.length + maps.length
  return places > 0 || output || result ? places : 1
}

export function reduced(reducer: string, current: Json | undefined, write: Json): Json {
  const list = (current ?? []) as readonly Json[]
  switch (reducer) {
    case "append":
      return [...list, ...(write as readonly Json[])]
    case "union":
      return [...new Set([...list, ...(write as readonly Json[])])]
    case "merge":
      return { ...(current as object), ...JSON.parse(JSON.stringify(write)) }
    case "add":
      return ((current as number | undefined) ?? 0) + (write as number)
    default:
      return write
  }
}

/** The reducer that is not built in. */
export function biggest(current: Json | undefined, writes: readonly Json[]): number {
  return Math.max(...[current ?? 0, ...writes].map(Number))
}
