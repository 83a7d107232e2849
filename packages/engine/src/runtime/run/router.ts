/**
 * Decides where a message goes, right after the handler that sent it: conditions and selections are user code,
 * and what they decided is journaled. A route without decisions is computed once, and is not frozen until code outside can see it, in
 * an event or a store: V8 reads the items of frozen lists by a call.
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
} from "../../core/index.ts"
import { andThen, fromUser, isPromise, type MaybePromise } from "../ports/maybe-promise.ts"
import type { Condition, MessageRouter, Passes, Select } from "../ports/program.ts"

/** The functions of a graph's edge groups, by group: a condition per case for a switch. */
export type EdgeFunctions = ReadonlyMap<
  EdgeGroup,
  { readonly conditions?: readonly (Condition | undefined)[]; readonly select?: Select }
>

type RouteDraft = {
  -readonly [K in keyof Route]: Route[K] extends readonly (infer Item)[] | undefined ? Item[] : Route[K]
}

const NO_EDGE = "no edge leads out"

export class Router implements MessageRouter {
  readonly #node: GraphNode
  readonly #functions: EdgeFunctions
  /** Routes without decisions: for returned and for sent messages. */
  readonly #ofReturned: Route | undefined
  readonly #ofSent: Route | undefined
  /** By target: an edge and a join may lead to the same node. */
  readonly #named = new Map<NodeId, NamedEdge[]>()
  /** If a switch is the only group: the route of each of its cases. */
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
      for (const [to, part] of namedTargets(node, group)) {
        const edges = this.#named.get(to)
        if (edges === undefined) this.#named.set(to, [{ group, ...part }])
        else edges.push({ group, ...part })
      }
  }

  /** A message that a handler returned (it may be an output) or sent. */
  route(message: Json, returned: boolean, passes: Passes): MaybePromise<Route> {
    if (this.#cases !== undefined) return this.#routeOfCase(this.#cases, message, passes)
    const constant = returned ? this.#ofReturned : this.#ofSent
    if (constant === undefined) return this.#decide(message, returned, passes)
    if (constant.maps !== undefined) checkList(this.#node, message)
    return constant
  }

  /**
   * A message that names its target. The name replaces a selection and the order of a switch's cases; the condition of the
   * edge or case still applies.
   */
  routeTo(target: NodeId, message: Json, passes: Passes): MaybePromise<Route> {
    const named = this.#named.get(target)
    if (named === undefined) {
      const known = [...this.#named.keys()].map((id) => `"${id}"`).join(", ") || "none"
      throw new SuperstepError(
        "UNKNOWN_TARGET",
        `"${this.#node.id}" has no edge to "${target}"; its targets: ${known}.`,
        { retryable: false },
      )
    }
    const draft: RouteDraft = {}
    const decideFrom = (at: number): MaybePromise<Route> => {
      const edge = named[at]
      if (edge === undefined) return isEmpty(draft) ? { reason: notHeld(target) } : draft
      if (edge.part === "maps") checkList(this.#node, message)
      return andThen(this.#mayPass(edge.group, target, message, passes), (passable) => {
        if (passable) add(draft, edge.part, edge.to)
        return decideFrom(at + 1)
      })
    }
    return decideFrom(0)
  }

  /** Whether a message that names the target of the group may go there. */
  #mayPass(group: OutGroup, to: NodeId, message: Json, passes: Passes): MaybePromise<boolean> {
    const { conditions } = this.#functions.get(group) ?? {}
    if (group.kind === "single") {
      return group.conditional ? this.#holds(to, conditions?.[0], message) : true
    }
    if (group.kind !== "switch") return true
    const tryFrom = (at: number): MaybePromise<boolean> => {
      const i = group.cases.findIndex((one, index) => index >= at && one.to === to)
      const found = group.cases[i]
      if (found === undefined) return false
      if (!found.conditional) return true
      if (this.#isUsedUp(found, passes)) return tryFrom(i + 1)
      return andThen(this.#holds(to, conditions?.[i], message), (holds) => holds || tryFrom(i + 1))
    }
    return tryFrom(0)
  }

  /** A case with a limit stops matching once it was taken that often. */
  #isUsedUp({ to, max }: SwitchCase, passes: Passes): boolean {
    return to !== undefined && max !== undefined && passes.passes(this.#node, to) >= max
  }

  #constantRoute(returned: boolean): Route {
    const draft = this.#base(returned)
    for (const group of this.#node.out) addGroup(draft, group)
    if (isEmpty(draft)) draft.reason = NO_EDGE
    return draft
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

  /** Adds where the group sends the message, or the reason why it does not; a promise if user code is asynchronous. */
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
        else reasons.push(notHeld(group.to))
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

  /** The first matching case from `at` on, else the default. */
  #chosenCase(group: SwitchEdge, message: Json, passes: Passes, at: number): MaybePromise<number> {
    const conditions = this.#conditions ?? this.#functions.get(group)?.conditions
    for (let i = at; i < group.cases.length; i++) {
      const one = group.cases[i] as SwitchCase
      if (!one.conditional || this.#isUsedUp(one, passes)) continue
      const holds = this.#holds(one.to ?? "output", conditions?.[i], message)
      if (isPromise(holds)) return this.#chosenLater(holds, group, message, passes, i)
      if (holds) return i
    }
    return group.cases.findIndex((one) => !one.conditional)
  }

  /** Separate, so that the common case allocates nothing for a closure. */
  async #chosenLater(
    holds: Promise<boolean>,
    group: SwitchEdge,
    message: Json,
    passes: Passes,
    at: number,
  ): Promise<number> {
    return (await holds) ? at : await this.#chosenCase(group, message, passes, at + 1)
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
      const unknown = chosen.find((id) => !targets.includes(id))
      if (unknown === undefined) return chosen
      throw edgeError(`The selection of the fan-out ${edge} returned "${unknown}", which is not a target.`)
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

/** The groups and targets of a decided route, for tracing. */
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
  return to === undefined ? { output: true } : { nodes: [to] }
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

type RoutePart = "nodes" | "joins" | "maps"

function add(draft: RouteDraft, part: RoutePart, to: string): void {
  const list = draft[part]
  if (list === undefined) draft[part] = [to]
  else list.push(to)
}

function isEmpty(draft: RouteDraft): boolean {
  return !(draft.output || draft.result || draft.nodes || draft.joins || draft.maps)
}

/** One way in which a message reaches the target that it names. */
interface NamedEdge {
  readonly group: OutGroup
  readonly part: RoutePart
  readonly to: string
}

function* namedTargets(node: GraphNode, group: OutGroup): Generator<[NodeId, Omit<NamedEdge, "group">]> {
  if (group.kind === "fan-in") return yield [group.to, { part: "joins", to: joinId(group) }]
  // Several cases of a switch may lead to one node: they count as one.
  const targets = new Set(hopsOf(group).flatMap(({ from, to }) => (from === node.id ? [to] : [])))
  for (const to of targets) yield [to, { part: group.kind === "map" ? "maps" : "nodes", to }]
}

function notHeld(to: NodeId): string {
  return `the condition to "${to}" did not hold`
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
