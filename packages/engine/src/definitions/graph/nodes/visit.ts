/** One visit of a node: the token that led there, and what expressions see. */
import type { Json, NodeId } from "../../../core/index.ts"
import { type Reference, type Scope, template } from "../../../expressions/index.ts"
import type { Context } from "../../../runtime/index.ts"
import { parseIfJson } from "../../json-values.ts"
import { GOAL, type GraphInfo, LAST_CALLER, LAST_TOOL, NEXT, OUTPUTS, STEPS, VALUES } from "./graph-info.ts"
import { readState, type StatePath } from "./state-paths.ts"

/** Values that are not in the state yet and take precedence over it. */
export interface Overlay {
  readonly output?: Json | undefined
  readonly values?: Readonly<Record<string, Json>> | undefined
  /** Names for one expression only. */
  readonly names?: Readonly<Record<string, Json>> | undefined
  /** Collects the values of secrets that were used. Without it, expressions see references instead. */
  readonly revealed?: string[] | undefined
}

export class Visit {
  readonly graph: GraphInfo
  readonly id: NodeId
  readonly ctx: Context
  readonly token: GraphToken
  readonly lanes: readonly Lane[]

  constructor(graph: GraphInfo, id: NodeId, token: GraphToken, ctx: Context) {
    this.graph = graph
    this.id = id
    this.ctx = ctx
    this.token = token
    this.lanes = lanesOf(token, id)
  }

  /** The output of the node before, or null; in the first node, the goal. */
  get latest(): Json {
    const { key } = this.token
    if (key === undefined) return this.#goal
    return this.ctx.state.get(OUTPUTS)[key] ?? null
  }

  get input(): Json {
    return this.latest ?? this.#goal
  }

  get #goal(): string {
    return this.ctx.state.get(GOAL) ?? ""
  }

  /** The lane of a parallel node, to which this visit returns whatever its edges say. */
  get member(): Lane | undefined {
    const lane = this.lanes.at(-1)
    return lane?.members ? lane : undefined
  }

  key(isShared: boolean | undefined): string {
    return isShared && this.lanes.length > 0 ? `${this.id}@${laneText(this.lanes)}` : this.id
  }

  at(path: StatePath): Json | undefined {
    const [root, ...rest] = path
    const reference = { root: String(root), path: rest, start: 0, end: 0 }
    const value = this.scope([reference])(String(root))
    return rest.length === 0 ? value : readState({ root: value ?? null }, ["root", ...rest])
  }

  scope(references: readonly Reference[], overlay: Overlay = {}): Scope {
    const known = new Map<string, Json | undefined>()
    return (root) => {
      if (!known.has(root)) {
        const paths = references.filter((one) => one.root === root).map(({ path }) => path)
        known.set(root, this.#value(root, paths, overlay))
      }
      return known.get(root)
    }
  }

  #value(root: string, paths: readonly StatePath[], overlay: Overlay): Json | undefined {
    const { names = {} } = overlay
    if (Object.hasOwn(names, root)) return inside(names[root], paths)
    const { state } = this.ctx
    switch (root) {
      case "latest":
        return inside(overlay.output === undefined ? this.latest : overlay.output, paths)
      case "goal":
        return inside(state.get(GOAL), paths)
      case "outputs":
        return this.#outputs(paths, overlay.output)
      case "steps":
        return state.get(STEPS)
    }
    if (this.graph.chat && root === "next") return state.get(NEXT)
    if (this.graph.chat && root === "lastCaller") return state.get(LAST_CALLER)
    if (this.graph.chat && root === "lastTool") return state.get(LAST_TOOL)
    const values = { ...state.get(VALUES), ...overlay.values }
    const found = readState(values, root === "state" ? [] : [root])
    if (found !== undefined) return inside(found, paths)
    const { vars, secretVars } = this.graph
    if (overlay.revealed !== undefined && secretVars.has(root)) {
      const value = secretVars.value(root)
      overlay.revealed.push(value)
      return value
    }
    return Object.hasOwn(vars, root) ? vars[root] : undefined
  }

  #outputs(paths: readonly StatePath[], own: Json | undefined): Json {
    const outputs = this.ctx.state.get(OUTPUTS)
    const shown: Record<string, Json> = Object.create(null)
    for (const [name, ...rest] of paths) {
      if (name === undefined) for (const [key, value] of Object.entries(outputs)) shown[key] = value
      else {
        const id = String(name)
        const value = id === this.id && own !== undefined ? own : seen(outputs, id, this.lanes)
        if (value !== undefined) shown[id] = (rest.length > 0 ? parseIfJson(value) : value) as Json
      }
    }
    return shown
  }
}

/** The output on its own lane, else on the nearest one; of several, the last in the order of definition. */
function seen(outputs: Readonly<Record<string, Json>>, id: string, lanes: readonly Lane[]): Json | undefined {
  if (Object.hasOwn(outputs, id)) return outputs[id]
  let found: { readonly near: number; readonly text: string; readonly value: Json } | undefined
  const own = laneText(lanes).split("/")
  for (const [key, value] of Object.entries(outputs)) {
    if (!key.startsWith(`${id}@`)) continue
    const text = key.slice(id.length + 1)
    const near = text.split("/").findIndex((part, i) => part !== own[i])
    const distance = near < 0 ? Number.POSITIVE_INFINITY : near
    if (
      found === undefined ||
      distance > found.near ||
      (distance === found.near && isAfter(text, found.text))
    ) {
      found = { near: distance, text, value }
    }
  }
  return found?.value
}

function isAfter(one: string, other: string): boolean {
  return one.localeCompare(other, "en", { numeric: true }) > 0
}

function laneText(lanes: readonly Lane[]): string {
  return lanes.map(({ at, index }) => `${at}:${index}`).join("/")
}

/** Parses text that is JSON if a path leads into it. */
function inside(value: Json | undefined, paths: readonly StatePath[]): Json | undefined {
  return paths.some((path) => path.length > 0) ? parseIfJson(value) : value
}

/** A message between nodes: whose turn it is, and where to find the output of the node before. */
export interface GraphToken {
  readonly from: NodeId
  /** The nodes whose turn it is. */
  readonly go: readonly NodeId[]
  /** The key of the latest output in the state; absent: only the goal exists. */
  readonly key?: string | undefined
  /** The lanes it is on, from the outside in. */
  readonly lanes?: readonly Lane[] | undefined
  /** Every target begins a lane of its own. */
  readonly opens?: Opening | undefined
  readonly reason?: Reason | undefined
  /** The lane ended elsewhere, so a merge must not wait for it. */
  readonly gone?: boolean | undefined
}

interface Opening {
  /** The task that opened the lanes: it tells rounds of a loop apart. */
  readonly task: number
  /** The targets are members of a parallel node and return to it. */
  readonly members?: boolean | undefined
}

/** One of several branches that began together. */
export interface Lane extends Opening {
  readonly at: NodeId
  readonly index: number
  readonly of: number
  readonly branch: NodeId
}

export interface Reason {
  readonly code: string
  readonly message: string
}

export function isToken(message: unknown): message is GraphToken {
  return typeof message === "object" && message !== null && "go" in message && "from" in message
}

function lanesOf(token: GraphToken, node: NodeId): readonly Lane[] {
  const { from, go, lanes = [], opens } = token
  if (opens === undefined) return lanes
  return [...lanes, { ...opens, at: from, index: go.indexOf(node), of: go.length, branch: node }]
}

/** The condition of an edge to the node. */
export function leadsTo(node: NodeId): (token: unknown) => boolean {
  return (token) => isToken(token) && token.go.includes(node)
}

/** Instructions with templates, which see the state at the time of the call. */
export function graphText(graph: GraphInfo, text: string): (input: unknown, ctx: Context) => string {
  const read = template(text, "graph")
  return (input, ctx) => {
    const visit = new Visit(graph, ctx.node, { from: ctx.node, go: [] }, ctx)
    const overlay = typeof input === "string" ? { output: input as Json } : {}
    return read.render(visit.scope(read.references, overlay))
  }
}
