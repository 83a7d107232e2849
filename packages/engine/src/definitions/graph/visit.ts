/** A node's turn: what it was given, and what it can see. */
import type { Json, NodeId } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { lookedInto } from "../data-in-text.ts"
import type { Reference, Scope } from "../expressions/index.ts"
import { GOAL, LAST_CALLER, LAST_TOOL, NEXT, OUTPUTS, STEPS, VALUES } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import { readState, type StatePath } from "./state-paths.ts"
import { type Lane, lanesOf, type Token } from "./token.ts"

/** What the node has brought itself, and is not in the state yet. */
export interface Brought {
  readonly output?: Json | undefined
  readonly values?: Readonly<Record<string, Json>> | undefined
  /** Names that are there for one text alone. */
  readonly names?: Readonly<Record<string, Json>> | undefined
  /** For what is not recorded: takes down the values of secrets that were asked for. Absent: they are references. */
  readonly revealed?: string[] | undefined
}

export class Visit {
  readonly graph: GraphInfo
  readonly id: NodeId
  readonly ctx: Context
  readonly token: Token
  readonly lanes: readonly Lane[]

  constructor(graph: GraphInfo, id: NodeId, token: Token, ctx: Context) {
    this.graph = graph
    this.id = id
    this.ctx = ctx
    this.token = token
    this.lanes = lanesOf(token, id)
  }

  /** What the node before has left, be it nothing; at first the goal. */
  get latest(): Json {
    const { key } = this.token
    if (key === undefined) return this.#goal
    return this.ctx.state.get(OUTPUTS)[key] ?? null
  }

  /** What the node before has left, else the goal. */
  get given(): Json {
    return this.latest ?? this.#goal
  }

  get #goal(): string {
    return this.ctx.state.get(GOAL) ?? ""
  }

  /** It is to come back to the node that opened its way, whatever its edges say. */
  get member(): Lane | undefined {
    const lane = this.lanes.at(-1)
    return lane?.members ? lane : undefined
  }

  /** The name of its output in the state. */
  key(isShared: boolean | undefined): string {
    return isShared && this.lanes.length > 0 ? `${this.id}@${laneText(this.lanes)}` : this.id
  }

  at(path: StatePath): Json | undefined {
    const [root, ...rest] = path
    const reference = { root: String(root), path: rest, start: 0, end: 0 }
    const value = this.scope([reference])(String(root))
    return rest.length === 0 ? value : readState({ root: value ?? null }, ["root", ...rest])
  }

  scope(references: readonly Reference[], brought: Brought = {}): Scope {
    const known = new Map<string, Json | undefined>()
    return (root) => {
      if (!known.has(root)) {
        const paths = references.filter((one) => one.root === root).map(({ path }) => path)
        known.set(root, this.#value(root, paths, brought))
      }
      return known.get(root)
    }
  }

  #value(root: string, paths: readonly StatePath[], brought: Brought): Json | undefined {
    const { names = {} } = brought
    if (Object.hasOwn(names, root)) return inside(names[root], paths)
    const { state } = this.ctx
    switch (root) {
      case "latest":
        return inside(brought.output === undefined ? this.latest : brought.output, paths)
      case "goal":
        return inside(state.get(GOAL), paths)
      case "outputs":
        return this.#outputs(paths, brought.output)
      case "steps":
        return state.get(STEPS)
    }
    if (this.graph.chat && root === "next") return state.get(NEXT)
    if (this.graph.chat && root === "lastCaller") return state.get(LAST_CALLER)
    if (this.graph.chat && root === "lastTool") return state.get(LAST_TOOL)
    const values = { ...state.get(VALUES), ...brought.values }
    const found = readState(values, root === "state" ? [] : [root])
    if (found !== undefined) return inside(found, paths)
    const { vars, secretVars } = this.graph
    if (brought.revealed !== undefined && secretVars.has(root)) {
      const value = secretVars.value(root)
      brought.revealed.push(value)
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
        if (value !== undefined) shown[id] = (rest.length > 0 ? lookedInto(value) : value) as Json
      }
    }
    return shown
  }
}

/** On its own way first; of others, the nearest one, and of those the last in the order of definition. */
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

/** Text that is JSON is looked into. */
function inside(value: Json | undefined, paths: readonly StatePath[]): Json | undefined {
  return paths.some((path) => path.length > 0) ? lookedInto(value) : value
}
