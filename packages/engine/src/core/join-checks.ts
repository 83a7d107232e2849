/**
 * Whether joins can complete, for all joins of a graph at once: paths and dominators are shared, and for each join only the
 * decisions between its sources and the last node that all of them pass are examined.
 *
 * 1. A gate is a vertex on a hop that may not be taken; a switch has one gate for all its cases.
 * 2. A gate that dominates no source stops none. A gate above the last vertex that all sources pass stops all or none.
 * 3. From a gate to a source that it dominates, every way that does not pass the gate again stays below it.
 */
import { adjacency, allHops, cycles, entries } from "./analysis.ts"
import { type Dominators, dominators } from "./dominators.ts"
import { type EdgeGroup, type FanInEdge, type GraphSpec, joinNeeds, type SwitchEdge } from "./graph.ts"
import type { NodeId } from "./ids.ts"

interface Gate {
  readonly vertex: number
  readonly group: EdgeGroup
  readonly from: NodeId
  /** Undefined for a switch. */
  readonly to: NodeId | undefined
}

export class JoinChecks {
  readonly #spec: GraphSpec
  readonly #vertices: ReadonlyMap<NodeId, number>
  readonly #gates = new Map<number, Gate>()
  readonly #next: number[][]
  readonly #before: number[][]
  readonly #tree: Dominators
  #cycleOf: ReadonlyMap<NodeId, number> | undefined

  constructor(spec: GraphSpec) {
    this.#spec = spec
    this.#vertices = new Map([...new Set(spec.nodes.map(({ id }) => id))].map((id, vertex) => [id, vertex]))
    this.#next = Array.from({ length: this.#vertices.size }, () => [])
    this.#connect()
    const root = this.#next.push(entries(spec).map((id) => this.#vertex(id))) - 1
    this.#before = this.#next.map(() => [])
    for (const [from, targets] of this.#next.entries()) for (const to of targets) this.#before[to]?.push(from)
    this.#tree = dominators(root, this.#next)
  }

  /** Why a join can never complete, or undefined when it may. */
  starvation(join: FanInEdge): string | undefined {
    const needs = joinNeeds(join.join, join.from.length)
    if (needs === undefined || needs < 2 || needs > join.from.length) return undefined
    const target = this.#vertex(join.to)
    const stuck = join.from.filter((source) => !this.#runsWithout(target, this.#vertex(source)))
    if (join.from.length - stuck.length < needs) {
      return `${list(stuck)} can only run after "${join.to}", which waits for the join`
    }
    const sources = this.#sources(join)
    for (const [{ vertex, group }, stopped] of this.#decisions(sources)) {
      if (group.kind !== "switch" || stopped < 2 || this.#isRepeated(group)) continue
      const missing = needs - (sources.length - stopped)
      if ([...this.#behind(vertex, sources).values()].some((fed) => fed >= missing)) continue
      const bound = join.from.filter((source) => this.#tree.dominates(vertex, this.#vertex(source)))
      return `${list(bound)} lie behind different cases of the switch after "${group.from}", which takes one`
    }
    return undefined
  }

  /** When a join gets some of the messages that it waits for and not all: `when "a" does not send to "b"`. */
  hunger(join: FanInEdge): string | undefined {
    const needs = joinNeeds(join.join, join.from.length)
    if (needs === undefined || needs < 2) return undefined
    const sources = this.#sources(join)
    const isPart = (fed: number) => fed > 0 && fed < needs
    const decisions = this.#decisions(sources)
    for (const [{ from, group }, stopped] of decisions) {
      const mayEnd = group.kind === "switch" && group.cases.some(({ to }) => to === undefined)
      if (mayEnd && isPart(sources.length - stopped)) {
        return `when the switch after "${from}" produces an output`
      }
    }
    for (const [{ vertex, from, to }, stopped] of decisions) {
      const free = sources.length - stopped
      if (to !== undefined) {
        if (isPart(free)) return `when "${from}" does not send to "${to}"`
        continue
      }
      for (const [taken, fed] of this.#behind(vertex, sources)) {
        if (isPart(free + fed)) return `when the switch after "${from}" takes "${taken}"`
      }
    }
    return undefined
  }

  #connect(): void {
    const gate = (group: EdgeGroup, from: NodeId, to?: NodeId) => {
      const vertex = this.#next.push(to === undefined ? [] : [this.#vertex(to)]) - 1
      this.#gates.set(vertex, { vertex, group, from, to })
      this.#next[this.#vertex(from)]?.push(vertex)
      return vertex
    }
    for (const group of this.#spec.edges) {
      if (group.kind === "switch") {
        const vertex = gate(group, group.from)
        for (const to of targetsOf(group)) this.#next[vertex]?.push(this.#vertex(to))
      } else if (group.kind === "single" && group.conditional) gate(group, group.from, group.to)
      else if (group.kind === "fan-out" && group.selective) {
        for (const to of new Set(group.to)) gate(group, group.from, to)
      }
    }
    for (const { from, to, group } of allHops(this.#spec)) {
      if (!isGuarded(group)) this.#next[this.#vertex(from)]?.push(this.#vertex(to))
    }
  }

  #vertex(id: NodeId): number {
    return this.#vertices.get(id) as number
  }

  #sources({ from }: FanInEdge): number[] {
    return from.map((id) => this.#vertex(id)).filter((vertex) => this.#tree.isReached(vertex))
  }

  #runsWithout(target: number, source: number): boolean {
    if (!this.#tree.isReached(source)) return false
    return !this.#tree.isReached(target) || !this.#tree.dominates(target, source)
  }

  /** The gates that can stop some of the sources and not others, as they were declared; with how many each stops. */
  #decisions(sources: readonly number[]): [Gate, number][] {
    const stopped = new Map<number, number>()
    for (const source of sources) stopped.set(source, (stopped.get(source) ?? 0) + 1)
    const last = this.#lastShared(sources)
    const seen = new Set<number>()
    const ways: number[][] = []
    for (const source of sources) {
      const way: number[] = []
      for (
        let at: number | undefined = source;
        at !== undefined && !seen.has(at);
        at = this.#tree.above(at)
      ) {
        seen.add(at)
        way.push(at)
        if (at === last) break
      }
      ways.push(way)
    }
    const found: Gate[] = []
    // A way ends below a vertex of an earlier one: later ways first, and a vertex comes after all that are below it.
    for (const vertex of ways.reverse().flat()) {
      const gate = this.#gates.get(vertex)
      if (gate !== undefined) found.push(gate)
      const above = this.#tree.above(vertex)
      if (above !== undefined) stopped.set(above, (stopped.get(above) ?? 0) + (stopped.get(vertex) as number))
    }
    return found.sort((a, b) => a.vertex - b.vertex).map((gate) => [gate, stopped.get(gate.vertex) as number])
  }

  /** The last vertex that every way to any of the sources passes. */
  #lastShared(sources: readonly number[]): number | undefined {
    let last = sources[0]
    for (const source of sources) {
      while (last !== undefined && !this.#tree.dominates(last, source)) last = this.#tree.above(last)
    }
    return last
  }

  /** For each target of a switch: how many of the sources that its gate dominates lie behind that target. */
  #behind(gate: number, sources: readonly number[]): Map<NodeId, number> {
    const bound = sources.filter((source) => this.#tree.dominates(gate, source))
    const isBelow = (vertex: number) =>
      vertex !== gate && this.#tree.isReached(vertex) && this.#tree.dominates(gate, vertex)
    const leading = walk(this.#before, bound, isBelow)
    return new Map(
      targetsOf(this.#gates.get(gate)?.group as SwitchEdge).map((target) => {
        const reached = walk(this.#next, [this.#vertex(target)], (vertex) => leading.has(vertex))
        return [target, bound.filter((source) => reached.has(source)).length]
      }),
    )
  }

  /** Whether one of its cases leads back to the switch. */
  #isRepeated(group: SwitchEdge): boolean {
    this.#cycleOf ??= new Map(
      cycles(
        this.#spec.nodes.map(({ id }) => id),
        adjacency(allHops(this.#spec)),
      ).flatMap((ids, cycle) => ids.map((id) => [id, cycle] as const)),
    )
    const cycle = this.#cycleOf.get(group.from)
    return (
      cycle !== undefined &&
      group.cases.some(({ to }) => to !== undefined && this.#cycleOf?.get(to) === cycle)
    )
  }
}

/** Whether a function decides, message by message, if its hops are taken. */
function isGuarded(group: EdgeGroup): boolean {
  return (
    (group.kind === "single" && group.conditional === true) ||
    (group.kind === "fan-out" && group.selective === true) ||
    group.kind === "switch"
  )
}

function targetsOf({ cases }: SwitchEdge): NodeId[] {
  return [...new Set(cases.flatMap(({ to }) => (to === undefined ? [] : [to])))]
}

function walk(
  next: readonly (readonly number[])[],
  from: readonly number[],
  isAllowed: (vertex: number) => boolean,
): Set<number> {
  const seen = new Set(from.filter(isAllowed))
  // A set hands out what is added to it while it is gone through.
  for (const vertex of seen) for (const to of next[vertex] ?? []) if (isAllowed(to)) seen.add(to)
  return seen
}

function list(ids: readonly NodeId[]): string {
  return ids.map((id) => `"${id}"`).join(", ")
}
