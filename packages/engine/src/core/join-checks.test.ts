import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { adjacency, allHops, entries, reachable } from "./analysis.ts"
import { type EdgeGroup, type FanInEdge, type GraphSpec, type Hop, joinNeeds } from "./graph.ts"
import { JoinChecks } from "./join-checks.ts"

const SIZE = 9
const nodeId = fc.nat(SIZE - 1).map((i) => `n${i}`)
const nodeIds = (most: number) => fc.uniqueArray(nodeId, { minLength: 2, maxLength: most })

const edge: fc.Arbitrary<EdgeGroup> = fc.oneof(
  fc.record({ kind: fc.constant("single" as const), from: nodeId, to: nodeId, conditional: fc.boolean() }),
  fc.record({ kind: fc.constant("fan-out" as const), from: nodeId, to: nodeIds(3), selective: fc.boolean() }),
  fc.record({
    kind: fc.constant("switch" as const),
    from: nodeId,
    cases: fc.array(
      fc.record({ to: fc.option(nodeId, { nil: undefined, freq: 4 }), conditional: fc.boolean() }),
      {
        minLength: 2,
        maxLength: 3,
      },
    ),
  }),
)

const join: fc.Arbitrary<FanInEdge> = fc.record({
  kind: fc.constant("fan-in" as const),
  from: nodeIds(4),
  to: nodeId,
  join: fc.constantFrom({ kind: "all" as const }, { kind: "quorum" as const, count: 2 }),
})

/** A graph of which each node has a way from the start: those that have none get an edge from the one before them. */
const graph: fc.Arbitrary<GraphSpec> = fc
  .tuple(
    fc.array(edge, { minLength: 4, maxLength: 12 }),
    fc.array(join, { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  )
  .map(([edges, joins, limited]) => {
    const nodes = Array.from({ length: SIZE }, (_, i) => ({ id: `n${i}`, kind: "node" }))
    const spec = {
      name: "random",
      start: "n0",
      nodes,
      edges: [...edges, ...joins],
      onLimit: limited ? "n5" : undefined,
    }
    for (const [i, { id }] of nodes.entries()) {
      if (i === 0 || reachable(adjacency(allHops(spec)), entries(spec)).has(id)) continue
      spec.edges.push({ kind: "single", from: `n${i - 1}`, to: id })
    }
    return spec
  })

const joinsOf = ({ edges }: GraphSpec) => edges.filter((group): group is FanInEdge => group.kind === "fan-in")

/** How many sources of the join are reached where these hops are never taken. */
function fedWithout(spec: GraphSpec, { from }: FanInEdge, isMissing: (hop: Hop) => boolean): number {
  const reached = reachable(adjacency(allHops(spec).filter((hop) => !isMissing(hop))), entries(spec))
  return from.filter((source) => reached.has(source)).length
}

function canNeverComplete(spec: GraphSpec, join: FanInEdge, needs: number): boolean {
  const next = adjacency(allHops(spec))
  const early = reachable(next, entries(spec), join.to)
  if (join.from.filter((source) => early.has(source)).length < needs) return true
  return spec.edges.some((group) => {
    if (group.kind !== "switch") return false
    const targets = group.cases.flatMap(({ to }) => to ?? [])
    if (targets.length === 0 || reachable(next, targets).has(group.from)) return false
    return targets.every((target) => {
      const taken = fedWithout(spec, join, (hop) => hop.group === group && hop.to !== target)
      return taken < needs
    })
  })
}

function starvesWhere(spec: GraphSpec, join: FanInEdge, needs: number): string[] {
  const isPart = (isMissing: (hop: Hop) => boolean) => {
    const fed = fedWithout(spec, join, isMissing)
    return fed > 0 && fed < needs
  }
  const outputs = spec.edges.flatMap((group) => {
    const mayEnd = group.kind === "switch" && group.cases.some(({ to }) => to === undefined)
    return mayEnd && isPart((hop) => hop.group === group)
      ? [`when the switch after "${group.from}" gives an output`]
      : []
  })
  const hops = allHops(spec).flatMap(({ from, to, group }) => {
    if (group.kind === "switch") {
      return isPart((hop) => hop.group === group && hop.to !== to)
        ? [`when the switch after "${from}" takes "${to}"`]
        : []
    }
    const isGuarded =
      (group.kind === "single" && group.conditional) || (group.kind === "fan-out" && group.selective)
    return isGuarded && isPart((hop) => hop.group === group && hop.to === to)
      ? [`when "${from}" does not send to "${to}"`]
      : []
  })
  return [...outputs, ...hops]
}

describe("joins are judged as by trying each decision on the whole graph", () => {
  test("a join that can never complete", () => {
    fc.assert(
      fc.property(graph, (spec) => {
        const checks = new JoinChecks(spec)
        for (const join of joinsOf(spec)) {
          const needs = joinNeeds(join.join, join.from.length) as number
          expect(checks.starvation(join) !== undefined).toBe(canNeverComplete(spec, join, needs))
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test("a join that gets a part: the first decision that does it is named", () => {
    fc.assert(
      fc.property(graph, (spec) => {
        const checks = new JoinChecks(spec)
        for (const join of joinsOf(spec)) {
          const needs = joinNeeds(join.join, join.from.length) as number
          expect(checks.hunger(join)).toBe(starvesWhere(spec, join, needs)[0])
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

/** `count` times in a row: a node that may choose which of two nodes to send to, and a join of both. */
function rowOfJoins(count: number): GraphSpec {
  const edges: EdgeGroup[] = []
  const ids: string[] = ["start 0"]
  for (let i = 0; i < count; i++) {
    const [start, a, b, end] = [`start ${i}`, `a ${i}`, `b ${i}`, `start ${i + 1}`]
    ids.push(a, b, end)
    edges.push({ kind: "fan-out", from: start, to: [a, b], selective: true })
    edges.push({ kind: "fan-in", from: [a, b], to: end, join: { kind: "all" } })
  }
  return { name: "row", start: "start 0", nodes: ids.map((id) => ({ id, kind: "node" })), edges }
}

test("advice about joins does not stop at a size", () => {
  const spec = rowOfJoins(1_500)
  const checks = new JoinChecks(spec)
  const advice = joinsOf(spec).map((join) => checks.hunger(join))
  expect(advice.at(-1)).toBe('when "start 1499" does not send to "a 1499"')
  expect(advice.every((text) => text !== undefined)).toBe(true)
})
