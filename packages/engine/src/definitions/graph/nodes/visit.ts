/** One visit of a node: the token that led to it, and the scope of its expressions. */
import { conversation } from "../../../agents/index.ts"
import type { Json, NodeId } from "../../../core/index.ts"
import { isRecord } from "../../../core/internal.ts"
import { type Reference, type Scope, template, textOf, valueAt } from "../../../expressions/index.ts"
import { add, append, type Channel, type Context, channel, merge, replace } from "../../../runtime/index.ts"
import { parseIfJson } from "../../definition.ts"
import { SecretVariables, type SecretVariablesOptions } from "../../variables.ts"

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

/**
 * The state of a graph, by path. It is stored flat, with `report.title` beside `report.score`, so that nodes that write
 * at the same time keep each other's values. Reading assembles it.
 *
 * P1 If a path and a longer one below it both have a value, the longer one is newer: a write marks all paths below it.
 */

export type StatePath = readonly (string | number)[]
type FlatState = Readonly<Record<string, Json>>

/** Overwritten by a shorter path. */
const GONE = { $gone: true }

/** `outputs.my-node.items[0]`, `outputs["a.b"]`; undefined if it is not a path. */
export function readPath(text: string): StatePath | undefined {
  const part = /\.?([^.[\]"'\s]+)|\[(?:(-?\d+)|"([^"]*)"|'([^']*)')\]/y
  const path: (string | number)[] = []
  const source = text.trim()
  while (part.lastIndex < source.length) {
    const found = part.exec(source)
    if (found === null || (path.length === 0 && (found[2] !== undefined || source.startsWith("."))))
      return undefined
    const [, name, index, one, two] = found
    path.push(index === undefined ? (name ?? one ?? two ?? "") : Number(index))
  }
  return path.length === 0 || path.includes("__proto__") ? undefined : path
}

/** The writes that give `path` the value. */
export function writePath(current: FlatState, path: StatePath, value: Json): Record<string, Json> {
  const key = path.join(".")
  const writes: Record<string, Json> = { [key]: value }
  for (const other of Object.keys(current)) if (other.startsWith(`${key}.`)) writes[other] = GONE
  return writes
}

function readState(state: FlatState, path: StatePath): Json | undefined {
  let value = written(state, path)
  const above = path.length === 0 ? "" : `${path.join(".")}.`
  for (const [key, one] of Object.entries(state)) {
    if (key.startsWith(above) && key.length > above.length && isLive(one)) {
      value = withAt(value, key.slice(above.length).split("."), one)
    }
  }
  return value
}

/** The value at the longest path at or above it. */
function written(state: FlatState, path: StatePath): Json | undefined {
  for (let length = path.length; length > 0; length--) {
    const key = path.slice(0, length).join(".")
    if (!Object.hasOwn(state, key) || !isLive(state[key])) continue
    return valueAt(state[key], path.slice(length))
  }
  return undefined
}

function withAt(value: Json | undefined, path: readonly string[], one: Json): Json {
  const [name, ...rest] = path
  if (name === undefined) return one
  if (Array.isArray(value) && /^\d+$/.test(name) && Number(name) < value.length) {
    return value.map((item: Json, i) => (i === Number(name) ? withAt(item, rest, one) : item))
  }
  const own = isRecord(value) ? value : {}
  return { ...own, [name]: withAt(Object.hasOwn(own, name) ? own[name] : undefined, rest, one) }
}

function isLive(value: Json | undefined): value is Json {
  return value !== undefined && !(isRecord(value) && value.$gone === true)
}

/** The values that a node reads from the state, and those that it writes. */

export interface GraphInputOptions {
  /** Names, and the paths of their values. */
  readonly inputs?: Readonly<Record<string, string>> | undefined
  /** The prompt, as a template. */
  readonly prompt?: string | undefined
}

/** The prompt, else the mapped inputs, else the output of the node before, as text. */
export function readInput({ inputs, prompt }: GraphInputOptions): (visit: Visit) => string {
  const mapped = Object.entries(inputs ?? {}).map(([name, path]) => [name, pathOf(path)] as const)
  const named = (visit: Visit) => mapped.map(([name, path]) => [name, visit.at(path) ?? null] as const)
  if (prompt !== undefined) {
    const read = template(prompt, "graph")
    return (visit) => {
      const names = Object.fromEntries(named(visit))
      return read.render(visit.scope(read.references, { names: { input: visit.input, ...names } }))
    }
  }
  return (visit) => {
    const values = named(visit)
    const [only] = values
    if (only === undefined) return textOf(visit.input)
    if (values.length === 1) return textOf(only[1])
    return values.map(([name, value]) => `${name}:\n${textOf(value)}`).join("\n\n")
  }
}

/** Writes the part of an output with that name, else all of it. */
export function readOutputs(
  outputs: Readonly<Record<string, string>> = {},
): (visit: Visit, output: Json) => Record<string, Json> {
  const mapped = Object.entries(outputs).map(([name, path]) => [name, pathOf(path)] as const)
  return (visit, output) => {
    if (mapped.length === 0) return {}
    const data = parseIfJson(output)
    let values = visit.ctx.state.get(VALUES)
    const writes: Record<string, Json> = {}
    for (const [name, path] of mapped) {
      const part = isRecord(data) && Object.hasOwn(data, name) ? (data[name] as Json) : output
      Object.assign(writes, writePath(values, path, part))
      values = { ...values, ...writes }
    }
    return writes
  }
}

/** A path of the state may start with `state.` */
export function pathOf(text: string): StatePath {
  const path = readPath(text) ?? [text]
  return path.length > 1 && path[0] === "state" ? path.slice(1) : path
}

// What all nodes of a graph share: its options, and the channels of its state.

export interface GraphOptions extends SecretVariablesOptions {
  readonly maxSteps: number
  /** Its agents share one conversation and choose the next speaker. */
  readonly chat?: boolean | undefined
  /** Every agent can end the conversation. */
  readonly conversational?: boolean | undefined
  /** The node that asks a person when the run reaches a limit or repeats itself. */
  readonly handoff?: NodeId | undefined
  /** The node that chooses the result if several lanes may end, and the nodes whose outputs it prefers, in order. */
  readonly end?: { readonly node: NodeId; readonly from: readonly NodeId[] } | undefined
  /** Values of names that the state does not have. */
  readonly vars?: Readonly<Record<string, Json>> | undefined
}

export interface GraphInfo extends GraphOptions {
  readonly vars: Readonly<Record<string, Json>>
  readonly secretVars: SecretVariables
}

export function graphInfo(options: GraphOptions): GraphInfo {
  const { secretValues: _, ...known } = options
  const secretVars = new SecretVariables(options, process.env)
  return Object.freeze({ ...known, vars: { ...options.vars, ...secretVars.shown }, secretVars })
}

export const GOAL: Channel<string | undefined, string> = channel("goal", replace<string>())

type Values = Readonly<Record<string, Json>>

/** Outputs by node; of a node on several lanes, by node and lane. */
export const OUTPUTS: Channel<Values, Values> = channel("outputs", merge<Values>({}))

/** State by path, so that nodes that write at the same time keep each other's values. */
export const VALUES: Channel<Values, Values> = channel("state", merge<Values>({}))

/** Node visits so far, including those about to begin. */
export const STEPS: Channel<number, number> = channel("steps", add())

/** Open lanes: a fan-out adds some, a merge removes some. */
export const OPEN_LANES: Channel<number, number> = channel("ways", add(1))

/** Continues across the runs of a thread. */
export const MESSAGES: ReturnType<typeof conversation> = conversation()

type NullableString = Channel<string | null, string | null>

export const NEXT: NullableString = channel("next", replace<string | null>(null))
export const LAST_CALLER: NullableString = channel("lastCaller", replace<NodeId | null>(null))
export const LAST_TOOL: NullableString = channel("lastTool", replace<string | null>(null))

/** A visited node, and a digest of its result. */
export interface Footprint {
  readonly node: string
  readonly print: string
}

export const TRAIL: Channel<readonly Footprint[], readonly Footprint[]> = channel(
  "trail",
  append<Footprint>(),
)

export function graphChannels(): readonly Channel<unknown, never>[] {
  return [GOAL, OUTPUTS, VALUES, STEPS, OPEN_LANES]
}

/** For graphs whose agents share a conversation. */
export function chatChannels(): readonly Channel<unknown, never>[] {
  return [MESSAGES, NEXT, LAST_CALLER, LAST_TOOL, TRAIL, ...graphChannels()]
}
