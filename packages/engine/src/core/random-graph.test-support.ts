/** Any valid graph: every kind of edge, policy and limit, in any combination. Small, since shrinking is slow. */
import fc from "fast-check"
import type { EdgeGroup, FanInEdge, GraphSpec, JoinPolicy, NodeSpec } from "./graph.ts"
import type { NodeId } from "./ids.ts"
import type { ChannelSpec } from "./reducers.ts"
import { validateGraph } from "./validate.ts"

/** One time in four, so that a run is not over before it shows anything. */
function sometimes<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary, weight: 1 })
}

const nodePlan = fc.record(
  {
    retry: fc.record(
      {
        attempts: fc.integer({ min: 1, max: 3 }),
        delay: fc.constantFrom(0, 10),
        jitter: fc.constantFrom(0, 0.5),
        on: fc.constant(["E1"]),
      },
      { requiredKeys: ["attempts", "delay"] },
    ),
    concurrency: fc.integer({ min: 1, max: 3 }),
    maxVisits: sometimes(fc.integer({ min: 3, max: 9 })),
    onError: fc.constantFrom("settle" as const, "fail" as const),
  },
  { requiredKeys: [] },
)

/** How a node is reached from those before it. Numbers pick among what there is. */
const reachPlan = fc.record({
  how: fc.constantFrom("single", "single", "fan-out", "switch", "map", "fan-in", "fan-in", "error", "limit"),
  from: fc.nat(20),
  other: fc.nat(20),
  flag: fc.boolean(),
  max: sometimes(fc.integer({ min: 1, max: 3 })),
  policy: fc.constantFrom("all", "any", "quorum", "settle"),
  timeout: sometimes(fc.constant(30)),
  concurrency: sometimes(fc.integer({ min: 1, max: 2 })),
})

const loopPlan = fc.record({
  from: fc.nat(20),
  to: fc.nat(20),
  max: fc.integer({ min: 1, max: 3 }),
  asSwitch: fc.boolean(),
})

const graphPlan = fc.record({
  schedule: fc.constantFrom("superstep" as const, "flow" as const),
  nodes: fc.array(nodePlan, { minLength: 1, maxLength: 9, size: "max" }),
  reach: fc.array(reachPlan, { minLength: 8, maxLength: 8 }),
  loops: fc.array(loopPlan, { maxLength: 3, size: "max" }),
  concurrency: sometimes(fc.integer({ min: 1, max: 3 })),
})

type GraphPlan = typeof graphPlan extends fc.Arbitrary<infer Plan> ? Plan : never
type ReachPlan = GraphPlan["reach"][number]

/** One channel for every reducer; `biggest` is not built in. */
const channels: readonly ChannelSpec[] = [
  { key: "last", reducer: "replace" },
  { key: "list", reducer: "append", initial: ["first"] },
  { key: "bag", reducer: "append" },
  { key: "set", reducer: "union" },
  { key: "record", reducer: "merge", initial: { a: 0 } },
  { key: "sum", reducer: "add" },
  { key: "top", reducer: "biggest" },
  { key: "peak", reducer: "biggest", initial: 1 },
]

export const randomGraph: fc.Arbitrary<GraphSpec> = graphPlan.map(specOf)

function specOf(plan: GraphPlan): GraphSpec {
  const builder = new PlannedGraph(plan)
  const spec = builder.spec()
  const starved = new Set(
    validateGraph(spec)
      .problems.filter(({ code }) => code === "JOIN_CANNOT_COMPLETE")
      .map(({ nodes: [target] }) => target),
  )
  const edges = spec.edges.map((group) =>
    group.kind === "fan-in" && starved.has(group.to)
      ? { ...group, join: { kind: "settle" as const } }
      : group,
  )
  return { ...spec, edges }
}

class PlannedGraph {
  readonly #plan: GraphPlan
  readonly #ids: readonly NodeId[]
  readonly #edges: EdgeGroup[] = []
  readonly #hops = new Set<string>()
  readonly #workers = new Set<NodeId>()
  readonly #guarded = new Set<NodeId>()
  #gathers: NodeId | undefined
  #onLimit: NodeId | undefined

  constructor(plan: GraphPlan) {
    this.#plan = plan
    this.#ids = plan.nodes.map((_, i) => `n${i}`)
    for (let i = 1; i < this.#ids.length; i++) this.#reach(i, plan.reach[i - 1] as ReachPlan)
    for (const loop of plan.loops) this.#loop(loop)
  }

  spec(): GraphSpec {
    const { schedule, nodes, concurrency } = this.#plan
    return {
      name: "random",
      schedule,
      start: "n0",
      nodes: nodes.map((node, i): NodeSpec => ({ id: this.#ids[i] as NodeId, kind: "node", ...node })),
      edges: this.#edges,
      channels,
      limits: concurrency === undefined ? undefined : { concurrency },
      onLimit: this.#onLimit,
    }
  }

  /** Nodes before the i-th that may send it something. */
  #before(i: number): NodeId[] {
    return this.#ids.slice(0, i).filter((id) => !this.#workers.has(id))
  }

  #reach(i: number, plan: ReachPlan): void {
    const to = this.#ids[i] as NodeId
    if (this.#gathers === to) return
    const before = this.#before(i)
    const from = before[plan.from % before.length] as NodeId
    const { how, flag, max } = plan
    if (how === "fan-out" && this.#fanOut(from, to, plan)) return
    if (how === "switch") return this.#switch(from, to, plan)
    if (how === "map") return this.#map(from, to, this.#ids[i + 1], plan)
    if (how === "fan-in" && before.length > 1) return this.#fanIn(before, to, plan)
    if (how === "error" && !this.#guarded.has(from)) {
      this.#guarded.add(from)
      this.#edges.push({ kind: "error", from, to })
      return
    }
    if (how === "limit" && this.#onLimit === undefined) {
      this.#onLimit = to
      return
    }
    this.#hops.add(`${from} ${to}`)
    this.#edges.push({ kind: "single", from, to, conditional: flag, max })
  }

  #fanOut(from: NodeId, to: NodeId, { other, flag }: ReachPlan): boolean {
    const after = this.#ids.slice(this.#ids.indexOf(from) + 1, this.#ids.indexOf(to))
    const others = after.filter((id) => !this.#workers.has(id) && !this.#hops.has(`${from} ${id}`))
    const second = others[other % others.length]
    if (second === undefined) return false
    this.#hops.add(`${from} ${to}`).add(`${from} ${second}`)
    this.#edges.push({ kind: "fan-out", from, to: [to, second], selective: flag })
    return true
  }

  #switch(from: NodeId, to: NodeId, { max }: ReachPlan): void {
    this.#hops.add(`${from} ${to}`)
    this.#edges.push({
      kind: "switch",
      from,
      cases: [{ to, conditional: true, max }, { conditional: false }],
    })
  }

  /** The node becomes a worker; the one after it may gather. */
  #map(
    from: NodeId,
    worker: NodeId,
    next: NodeId | undefined,
    { flag, concurrency, other }: ReachPlan,
  ): void {
    this.#workers.add(worker)
    const gather = flag && next !== undefined ? { to: next } : {}
    if (flag) this.#gathers = next
    this.#edges.push({ kind: "map", from, worker, ...gather, concurrency, settle: other % 3 === 0 })
  }

  #fanIn(before: readonly NodeId[], to: NodeId, { from, policy, timeout }: ReachPlan): void {
    const first = before[from % before.length] as NodeId
    const rest = before.filter((id) => id !== first).slice(-2)
    const sources = [first, ...rest]
    const join: JoinPolicy =
      policy === "quorum"
        ? { kind: "quorum", count: Math.min(2, sources.length) }
        : { kind: policy as "all" | "any" | "settle" }
    this.#edges.push({ kind: "fan-in", from: sources, to, join, timeout } satisfies FanInEdge)
  }

  #loop({ from, to, max, asSwitch }: GraphPlan["loops"][number]): void {
    const nodes = this.#before(this.#ids.length)
    const source = nodes[from % nodes.length] as NodeId
    const target = nodes[to % (nodes.indexOf(source) + 1)] as NodeId
    if (this.#hops.has(`${source} ${target}`)) return
    this.#hops.add(`${source} ${target}`)
    this.#edges.push(
      asSwitch
        ? {
            kind: "switch",
            from: source,
            cases: [{ to: target, conditional: true, max }, { conditional: false }],
          }
        : { kind: "single", from: source, to: target, conditional: true, max },
    )
  }
}
