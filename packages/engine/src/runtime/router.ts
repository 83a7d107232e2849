/**
 * Decides where a message goes, right after the handler that sent it: conditions and selections are user code,
 * and what they decided is journaled. Where nothing is to be decided, the route is made once.
 */
import {
  type EdgeGroup,
  type GraphNode,
  hopsOf,
  type Json,
  joinId,
  type NodeId,
  type OutGroup,
  type Route,
  SuperstepError,
  type SwitchCase,
  type SwitchEdge,
} from "../core/index.ts"
import { andThen, fromUser, isPromise, type MaybePromise } from "./maybe-promise.ts"
import type { Condition, Select } from "./program.ts"

/** The functions of a graph's edge groups, by group: a condition per case for a switch. */
export type EdgeFunctions = ReadonlyMap<
  EdgeGroup,
  { readonly conditions?: readonly (Condition | undefined)[]; readonly select?: Select }
>

/** Knows how often an edge was taken so far: a case with a limit stops holding. */
export interface Passes {
  passes(from: GraphNode, to: NodeId): number
}

type RouteDraft = {
  -readonly [K in keyof Route]: Route[K] extends readonly (infer Item)[] | undefined ? Item[] : Route[K]
}

const NO_EDGE = "no edge leads out"

export class Router {
  readonly #node: GraphNode
  readonly #functions: EdgeFunctions
  /** Where nothing is to be decided: the route of what is returned, and of what is sent. */
  readonly #ofReturned: Route | undefined
  readonly #ofSent: Route | undefined
  readonly #named = new Map<NodeId, Route>()
  /** Where a switch is all there is: the route of each of its cases. */
  readonly #cases: readonly Route[] | undefined
  readonly #conditions: readonly (Condition | undefined)[] | undefined

  constructor(node: GraphNode, functions: EdgeFunctions) {
    this.#node = node
    this.#functions = functions
    if (node.out.every(isConstant)) {
      this.#ofReturned = this.#constantRoute(true)
      this.#ofSent = this.#constantRoute(false)
    }
    const [alone, ...others] = node.out
    if (alone?.kind === "switch" && others.length === 0 && !node.isOutput) {
      this.#cases = alone.cases.map(routeOfCase)
      this.#conditions = functions.get(alone)?.conditions
    }
    for (const group of node.out)
      for (const [to, route] of namedRoutes(node, group)) this.#named.set(to, route)
  }

  /** A message that a handler returned (it may be an output) or sent. */
  route(message: Json, returned: boolean, passes: Passes): MaybePromise<Route> {
    if (this.#cases !== undefined) return this.#routeOfCase(this.#cases, message, passes)
    const constant = returned ? this.#ofReturned : this.#ofSent
    if (constant === undefined) return this.#decide(message, returned, passes)
    if (constant.maps !== undefined) checkList(this.#node, message)
    return constant
  }

  /** A message that names its target. */
  routeTo(target: NodeId, message: Json): Route {
    const route = this.#named.get(target)
    if (route === undefined) {
      const known = [...this.#named.keys()].map((id) => `"${id}"`).join(", ") || "none"
      throw new SuperstepError(
        "UNKNOWN_TARGET",
        `"${this.#node.id}" has no edge to "${target}"; its targets: ${known}.`,
        { retryable: false },
      )
    }
    if (route.maps !== undefined) checkList(this.#node, message)
    return route
  }

  #constantRoute(returned: boolean): Route {
    const draft = this.#base(returned)
    for (const group of this.#node.out) addGroup(draft, group)
    if (isEmpty(draft)) draft.reason = NO_EDGE
    return Object.freeze(draft)
  }

  #base(returned: boolean): RouteDraft {
    if (!returned) return {}
    if (this.#node.isWorker) return { result: true }
    return this.#node.isOutput ? { output: true } : {}
  }

  #decide(message: Json, returned: boolean, passes: Passes): MaybePromise<Route> {
    const draft = this.#base(returned)
    const reasons: string[] = []
    const decideFrom = (at: number): MaybePromise<Route> => {
      for (let i = at; i < this.#node.out.length; i++) {
        const later = this.#decideGroup(draft, reasons, this.#node.out[i] as OutGroup, message, passes)
        if (later !== undefined) return later.then(() => decideFrom(i + 1))
      }
      if (isEmpty(draft)) draft.reason = reasons.join("; ") || NO_EDGE
      return draft
    }
    return decideFrom(0)
  }

  /** Adds where the group sends the message, or the reason why it does not; a promise where user code took time. */
  #decideGroup(
    draft: RouteDraft,
    reasons: string[],
    group: OutGroup,
    message: Json,
    passes: Passes,
  ): MaybePromise<undefined> {
    const functions = this.#functions.get(group)
    if (group.kind === "single" && group.conditional) {
      return andThen(this.#holds(group.to, functions?.conditions?.[0], message), (holds) => {
        if (holds) add(draft, "nodes", group.to)
        else reasons.push(`the condition to "${group.to}" did not hold`)
        return undefined
      })
    }
    if (group.kind === "switch") {
      const chosen = this.#chosenCase(group, message, passes, 0)
      return andThen(chosen, (i) => take(draft, group.cases[i] as SwitchCase))
    }
    if (group.kind === "fan-out" && group.selective) {
      return andThen(this.#selected(group.to, functions?.select as Select, message), (chosen) => {
        if (chosen.length === 0) reasons.push("the selection was empty")
        for (const to of group.to) if (chosen.includes(to)) add(draft, "nodes", to)
        return undefined
      })
    }
    if (group.kind === "map") checkList(this.#node, message)
    addGroup(draft, group)
    return undefined
  }

  #routeOfCase(routes: readonly Route[], message: Json, passes: Passes): MaybePromise<Route> {
    const chosen = this.#chosenCase(this.#node.out[0] as SwitchEdge, message, passes, 0)
    return isPromise(chosen) ? chosen.then((later) => routes[later] as Route) : (routes[chosen] as Route)
  }

  /** The first case from `at` on that holds, else the default. */
  #chosenCase(group: SwitchEdge, message: Json, passes: Passes, at: number): MaybePromise<number> {
    const conditions = this.#conditions ?? this.#functions.get(group)?.conditions
    for (let i = at; i < group.cases.length; i++) {
      const { to, max, conditional } = group.cases[i] as SwitchCase
      if (!conditional || (to !== undefined && max !== undefined && passes.passes(this.#node, to) >= max))
        continue
      const holds = this.#holds(to ?? "output", conditions?.[i], message)
      if (isPromise(holds)) {
        return holds.then((later) => (later ? i : this.#chosenCase(group, message, passes, i + 1)))
      }
      if (holds) return i
    }
    return group.cases.findIndex((one) => !one.conditional)
  }

  #holds(to: NodeId, condition: Condition | undefined, message: Json): MaybePromise<boolean> {
    try {
      const holds = fromUser(condition?.(message as never))
      return isPromise(holds)
        ? holds.then(Boolean, (cause) => this.#conditionThrew(to, cause))
        : Boolean(holds)
    } catch (cause) {
      return this.#conditionThrew(to, cause)
    }
  }

  #conditionThrew(to: NodeId, cause: unknown): never {
    const text = `The condition of the edge "${this.#node.id}" -> "${to}" threw: ${messageOf(cause)}`
    throw edgeError(text, cause)
  }

  #selected(targets: readonly NodeId[], select: Select, message: Json): MaybePromise<readonly NodeId[]> {
    const edge = `"${this.#node.id}" -> ${targets.map((id) => `"${id}"`).join(", ")}`
    const failed = (cause: unknown): never => {
      throw edgeError(`The selection of the fan-out ${edge} threw: ${messageOf(cause)}`, cause)
    }
    const check = (chosen: unknown): readonly NodeId[] => {
      if (!Array.isArray(chosen))
        throw edgeError(`The selection of the fan-out ${edge} must return a list of names.`)
      const stranger = chosen.find((id) => !targets.includes(id))
      if (stranger === undefined) return chosen
      throw edgeError(`The selection of the fan-out ${edge} returned "${stranger}", which is not a target.`)
    }
    let chosen: unknown
    try {
      chosen = fromUser(select(message as never, targets))
    } catch (cause) {
      return failed(cause)
    }
    return isPromise(chosen) ? chosen.then(check, failed) : check(chosen)
  }
}

/** Which groups a decided route went through, and to whom: for those who trace it. */
export function groupsTaken(node: GraphNode, route: Route): { kind: EdgeGroup["kind"]; targets: NodeId[] }[] {
  return node.out.map((group) => {
    if (group.kind === "fan-in")
      return { kind: group.kind, targets: route.joins?.includes(joinId(group)) ? [group.to] : [] }
    if (group.kind === "map")
      return { kind: group.kind, targets: route.maps?.includes(group.worker) ? [group.worker] : [] }
    const targets = new Set(hopsOf(group).map((hop) => hop.to))
    return { kind: group.kind, targets: (route.nodes ?? []).filter((id) => targets.has(id)) }
  })
}

function routeOfCase({ to }: SwitchCase): Route {
  return Object.freeze(to === undefined ? { output: true } : { nodes: Object.freeze([to]) })
}

function take(draft: RouteDraft, chosen: SwitchCase): undefined {
  if (chosen.to === undefined) draft.output = true
  else add(draft, "nodes", chosen.to)
}

function isConstant(group: OutGroup): boolean {
  if (group.kind === "single") return !group.conditional
  if (group.kind === "fan-out") return !group.selective
  return group.kind !== "switch"
}

function addGroup(draft: RouteDraft, group: OutGroup): void {
  if (group.kind === "single") add(draft, "nodes", group.to)
  else if (group.kind === "fan-out") for (const to of group.to) add(draft, "nodes", to)
  else if (group.kind === "fan-in") add(draft, "joins", joinId(group))
  else if (group.kind === "map") add(draft, "maps", group.worker)
}

function add(draft: RouteDraft, part: "nodes" | "joins" | "maps", to: string): void {
  const list = draft[part]
  if (list === undefined) draft[part] = [to]
  else list.push(to)
}

function isEmpty(draft: RouteDraft): boolean {
  return !(draft.output || draft.result || draft.nodes || draft.joins || draft.maps)
}

function* namedRoutes(node: GraphNode, group: OutGroup): Generator<[NodeId, Route]> {
  if (group.kind === "fan-in") return yield [group.to, { joins: [joinId(group)] }]
  for (const { from, to } of hopsOf(group)) {
    if (from !== node.id) continue
    if (group.kind === "map") yield [to, { maps: [to] }]
    else yield [to, { nodes: [to] }]
  }
}

function checkList(node: GraphNode, message: Json): void {
  if (Array.isArray(message)) return
  throw new SuperstepError(
    "MAP_NEEDS_LIST",
    `"${node.id}" feeds a map, so it must return a list, not ${message === null ? "null" : typeof message}.`,
    { retryable: false },
  )
}

function edgeError(message: string, cause?: unknown): SuperstepError {
  return new SuperstepError("EDGE_FAILED", message, { cause, retryable: false, fatal: true })
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
