import { describe, expect, test } from "vitest"
import { compileGraph } from "./compile.ts"
import type { EdgeGroup, GraphSpec, NodeSpec } from "./graph.ts"
import { GraphInvalidError, validateGraph } from "./validate.ts"

/** A graph of the named nodes that starts at "a". */
function graph(ids: string, edges: readonly EdgeGroup[], more: Partial<GraphSpec> = {}): GraphSpec {
  const nodes = ids.split(" ").map((id): NodeSpec => ({ id, kind: "node" }))
  return { name: "w", start: "a", nodes, edges, ...more }
}
function edge(from: string, to: string, more: { conditional?: boolean; max?: number } = {}): EdgeGroup {
  return { kind: "single", from, to, ...more }
}
function fanOut(from: string, ...to: string[]): EdgeGroup {
  return { kind: "fan-out", from, to }
}
function fanIn(from: string[], to: string, join: (EdgeGroup & { kind: "fan-in" })["join"] = { kind: "all" }) {
  return { kind: "fan-in", from, to, join } as const
}
/** A switch with one conditional case per target, the last being the default. */
function either(from: string, ...to: string[]): EdgeGroup {
  return { kind: "switch", from, cases: to.map((id, i) => ({ to: id, conditional: i < to.length - 1 })) }
}
function map(from: string, worker: string, to?: string): EdgeGroup {
  return { kind: "map", from, worker, ...(to === undefined ? {} : { to }) }
}
function onError(from: string, to: string): EdgeGroup {
  return { kind: "error", from, to }
}
function withNode(spec: GraphSpec, id: string, more: Partial<NodeSpec>): GraphSpec {
  return { ...spec, nodes: spec.nodes.map((node) => (node.id === id ? { ...node, ...more } : node)) }
}
function codes(spec: GraphSpec): string[] {
  return validateGraph(spec).problems.map(({ code }) => code)
}

describe("ids and names", () => {
  test("an empty or blank id is a problem, for a node as for the workflow", () => {
    expect(codes(graph("a", [], { name: " " }))).toEqual(["EMPTY_ID"])
    expect(codes({ ...graph("a", []), nodes: [{ id: "", kind: "node" }], start: "" })).toEqual(["EMPTY_ID"])
    expect(codes(graph("a", []))).toEqual([])
  })

  test("two nodes with one id are a problem; ids that differ in case are not", () => {
    expect(codes(graph("a b b", [edge("a", "b")]))).toEqual(["DUPLICATE_NODE"])
    expect(codes(graph("a A", [edge("a", "A")]))).toEqual([])
  })

  test("two channels with one key are a problem", () => {
    const channels = (second: string) => ({ channels: [channel("x"), channel(second)] })
    const channel = (key: string) => ({ key, reducer: "replace" })
    expect(codes(graph("a", [], channels("x")))).toEqual(["DUPLICATE_CHANNEL"])
    expect(codes(graph("a", [], channels("y")))).toEqual([])
  })

  test("a name that is no node is reported once, wherever it is mentioned", () => {
    const edges = [edge("a", "ghost"), edge("ghost", "a")]
    expect(codes(graph("a", edges))).toEqual(["UNKNOWN_NODE"])
    expect(codes(graph("a", [], { outputs: ["ghost"] }))).toEqual(["UNKNOWN_NODE"])
    expect(codes(graph("a", [], { onLimit: "ghost" }))).toEqual(["UNKNOWN_NODE"])
    expect(codes(graph("a", [], { outputs: ["a"] }))).toEqual([])
  })

  test("the start must be named, and be a node", () => {
    expect(codes(graph("a", [], { start: undefined }))).toEqual(["START_MISSING"])
    expect(codes(graph("a", [], { start: "b" }))).toEqual(["START_MISSING"])
  })
})

describe("sizes of groups", () => {
  test("a fan-out takes at least two targets", () => {
    expect(codes(graph("a b", [fanOut("a", "b")]))).toEqual(["FAN_OUT_TOO_SMALL"])
    expect(codes(graph("a b c", [fanOut("a", "b", "c")]))).toEqual([])
  })

  test("a fan-in takes at least two sources", () => {
    expect(codes(graph("a b", [fanIn(["a"], "b")]))).toEqual(["FAN_IN_TOO_SMALL"])
    expect(codes(graph("a b c", [edge("a", "b"), fanIn(["a", "b"], "c")]))).toEqual([])
  })

  test("a switch takes exactly one default", () => {
    const cases = (...conditional: boolean[]) =>
      graph("a b c", [
        { kind: "switch", from: "a", cases: conditional.map((is, i) => ({ to: "bc"[i], conditional: is })) },
      ])
    expect(codes(cases(true, true))).toEqual(["SWITCH_DEFAULT"])
    expect(codes(cases(false, false))).toEqual(["SWITCH_DEFAULT"])
    expect(codes(cases(true, false))).toEqual([])
  })

  test.each([0, 3, 1.5, Number.NaN])("a quorum of %d out of two sources is out of range", (count) => {
    const spec = graph("a b c", [edge("a", "b"), fanIn(["a", "b"], "c", { kind: "quorum", count })])
    expect(codes(spec)).toEqual(["QUORUM_OUT_OF_RANGE"])
  })

  test.each([1, 2])("a quorum of %d out of two sources is in range", (count) => {
    expect(
      codes(graph("a b c", [edge("a", "b"), fanIn(["a", "b"], "c", { kind: "quorum", count })])),
    ).toEqual([])
  })
})

describe("duplicate edges", () => {
  test.each([
    ["two single edges", graph("a b", [edge("a", "b"), edge("a", "b", { conditional: true })])],
    ["a single edge and a fan-out", graph("a b c", [edge("a", "b"), fanOut("a", "b", "c")])],
    ["a single edge and a switch", graph("a b c", [edge("a", "b"), either("a", "b", "c")])],
    ["a fan-out that names a target twice", graph("a b", [fanOut("a", "b", "b")])],
    ["a fan-in that names a source twice", graph("a b", [fanIn(["a", "a"], "b")])],
    [
      "two equal fan-ins",
      graph("a b c", [edge("a", "b"), fanIn(["a", "b"], "c"), fanIn(["a", "b"], "c", { kind: "any" })]),
    ],
    ["two error edges of one node", graph("a b c", [onError("a", "b"), onError("a", "c")])],
  ])("%s would deliver a message twice", (_, spec) => {
    expect(codes(spec)).toContain("DUPLICATE_EDGE")
  })

  test("edges that only look alike are none", () => {
    expect(codes(graph("a b", [edge("a", "b"), edge("b", "a", { conditional: true })]))).toEqual([])
    expect(codes(graph("a b c", [either("a", "b", "b", "c")]))).toEqual([])
    expect(codes(graph("a b", [edge("a", "b"), onError("a", "b")]))).toEqual([])
    const both = [edge("a", "b"), edge("a", "c"), fanIn(["a", "b"], "c")]
    expect(codes(graph("a b c", both))).toEqual([])
  })
})

describe("maps", () => {
  test("a worker has no other edges: neither in, nor out, nor a second map", () => {
    const two = [map("a", "w", "b"), map("b", "w", "c")]
    expect(codes(graph("a w b", [map("a", "w", "b"), edge("a", "w")]))).toContain("MAP_WORKER_NOT_ALONE")
    expect(codes(graph("a w b", [map("a", "w"), edge("w", "b")]))).toContain("MAP_WORKER_NOT_ALONE")
    expect(codes(graph("a w b c", two))).toContain("MAP_WORKER_NOT_ALONE")
  })

  test("a worker may have an error edge, and a map may do without a target", () => {
    expect(codes(graph("a w b e", [map("a", "w", "b"), onError("w", "e")]))).toEqual([])
    expect(codes(graph("a w", [map("a", "w")]))).toEqual([])
  })
})

describe("reachability, cycles, joins", () => {
  test("a node that no path leads to is a problem", () => {
    expect(codes(graph("a b c", [edge("a", "b"), edge("c", "b", { conditional: true })]))).toEqual([
      "UNREACHABLE_NODE",
    ])
  })

  test("a node is reachable over an error edge, through a map, and as the limit route", () => {
    expect(codes(graph("a b", [onError("a", "b")]))).toEqual([])
    expect(codes(graph("a w b", [map("a", "w", "b")]))).toEqual([])
    expect(codes(graph("a b", [], { onLimit: "b" }))).toEqual([])
  })

  test("a cycle that nothing can end is a problem that names every node on it", () => {
    const [problem, ...others] = validateGraph(
      graph("a b c", [edge("a", "b"), edge("b", "c"), edge("c", "a")]),
    ).problems
    expect(others).toEqual([])
    expect(problem?.code).toBe("CYCLE_WITHOUT_LIMIT")
    expect([...(problem?.nodes ?? [])].sort()).toEqual(["a", "b", "c"])
    for (const id of ["a", "b", "c"]) expect(problem?.message).toContain(`"${id}"`)
    expect(codes(graph("a", [edge("a", "a")]))).toEqual(["CYCLE_WITHOUT_LIMIT"])
    expect(codes(graph("a b c", [fanOut("a", "b", "c"), edge("b", "a")]))).toEqual(["CYCLE_WITHOUT_LIMIT"])
  })

  test.each([
    ["a condition", graph("a b", [edge("a", "b"), edge("b", "a", { conditional: true })])],
    ["a limit on an edge", graph("a b", [edge("a", "b"), edge("b", "a", { max: 3 })])],
    ["a switch", graph("a b c", [edge("a", "b"), either("b", "a", "c")])],
    [
      "a selection",
      graph("a b c", [{ ...fanOut("a", "b", "c"), selective: true } as EdgeGroup, edge("b", "a")]),
    ],
    ["maxVisits of a node", withNode(graph("a b", [edge("a", "b"), edge("b", "a")]), "b", { maxVisits: 2 })],
    ["limits.loops", graph("a b", [edge("a", "b"), edge("b", "a")], { limits: { loops: 5 } })],
    ["limits.visits", graph("a b", [edge("a", "b"), edge("b", "a")], { limits: { visits: 5 } })],
  ])("a cycle may have %s", (_, spec) => {
    expect(codes(spec)).toEqual([])
  })

  test("a join whose source can only run after the join is a problem", () => {
    const edges = [fanIn(["a", "c"], "b"), edge("b", "c")]
    expect(codes(graph("a b c", edges, { limits: { loops: 3 } }))).toEqual(["JOIN_CANNOT_COMPLETE"])
  })

  test("a join over different cases of one switch is a problem", () => {
    const edges = [either("a", "b", "c"), fanIn(["b", "c"], "d")]
    const { problems } = validateGraph(graph("a b c d", edges))
    expect(problems.map(({ code }) => code)).toEqual(["JOIN_CANNOT_COMPLETE"])
    for (const id of ["a", "b", "c", "d"]) expect(problems[0]?.message).toContain(`"${id}"`)
  })

  test.each([
    ["any", { kind: "any" }],
    ["settle", { kind: "settle" }],
    ["quorum(1)", { kind: "quorum", count: 1 }],
  ] as const)("a join over different cases of a switch can complete with %s", (_, join) => {
    expect(codes(graph("a b c d", [either("a", "b", "c"), fanIn(["b", "c"], "d", join)]))).toEqual([])
  })

  test("a join over the cases of a switch inside a loop can complete", () => {
    const edges = [
      either("a", "b", "c"),
      fanIn(["b", "c"], "d"),
      edge("b", "a", { max: 2 }),
      edge("c", "a", { max: 2 }),
    ]
    expect(codes(graph("a b c d", edges))).toEqual([])
  })
})

describe("schemas across an edge", () => {
  const text = { type: "string" }
  const number = { type: "number" }
  const typed = (edges: EdgeGroup[], output: NodeSpec["output"], input: NodeSpec["input"], to = "b") =>
    withNode(withNode(graph("a b c", [edge("a", "c"), ...edges]), "a", { output }), to, { input })

  test("what one node gives and the next cannot take is a problem that names both", () => {
    const [problem] = validateGraph(typed([edge("a", "b")], text, [number])).problems
    expect(problem).toMatchObject({ code: "INCOMPATIBLE_SCHEMAS", nodes: ["a", "b"] })
    expect(problem?.message).toContain('"a" cannot feed "b"')
  })

  test("one handler that takes it is enough, and what is not declared is not judged", () => {
    expect(codes(typed([edge("a", "b")], text, [number, text]))).toEqual([])
    expect(codes(typed([edge("a", "b")], text, undefined))).toEqual([])
    expect(codes(typed([edge("a", "b")], undefined, [number]))).toEqual([])
  })

  test("the target of a fan-in takes a list", () => {
    const join = [fanIn(["a", "c"], "b")]
    expect(codes(typed(join, text, [text]))).toEqual(["INCOMPATIBLE_SCHEMAS"])
    expect(codes(typed(join, text, [{ type: "array", items: number }]))).toEqual(["INCOMPATIBLE_SCHEMAS"])
    expect(codes(typed(join, text, [{ type: "array", items: text }]))).toEqual([])
    const settling = [fanIn(["a", "c"], "b", { kind: "settle" })]
    expect(codes(typed(settling, text, [{ type: "array", items: { type: "object" } }]))).toEqual([])
    expect(codes(typed(settling, text, [{ type: "array", items: text }]))).toEqual(["INCOMPATIBLE_SCHEMAS"])
  })

  test("a map's worker takes the items of the list, its target a list of results", () => {
    const spec = (items: object, worker: object, gathered: object) => {
      const bare = graph("a w b", [map("a", "w", "b")])
      const from = withNode(bare, "a", { output: { type: "array", items } as never })
      return withNode(withNode(from, "w", { input: [worker as never], output: number }), "b", {
        input: [gathered as never],
      })
    }
    expect(codes(spec(text, text, { type: "array", items: number }))).toEqual([])
    expect(codes(spec(text, number, { type: "array" }))).toEqual(["INCOMPATIBLE_SCHEMAS"])
    expect(codes(spec(text, text, { type: "array", items: text }))).toEqual(["INCOMPATIBLE_SCHEMAS"])
  })

  test("a node that settles gives an object, and an error edge carries none of its output", () => {
    const settling = withNode(typed([edge("a", "b")], text, [text]), "a", { onError: "settle" })
    expect(codes(settling)).toEqual(["INCOMPATIBLE_SCHEMAS"])
    expect(codes(typed([onError("a", "b")], text, [number]))).toEqual([])
  })
})

describe("everything at once", () => {
  test("a graph with many problems lists them all, in one error with a code", () => {
    const spec = graph("a b b c", [fanOut("a", "b"), edge("a", "ghost"), fanIn(["c"], "b")], {
      limits: { supersteps: 0 },
    })
    expect(new Set(codes(spec))).toEqual(
      new Set(["DUPLICATE_NODE", "FAN_OUT_TOO_SMALL", "UNKNOWN_NODE", "FAN_IN_TOO_SMALL", "INVALID_NUMBER"]),
    )
    const compile = () => compileGraph(spec)
    expect(compile).toThrow(GraphInvalidError)
    expect(compile).toThrow(expect.objectContaining({ code: "GRAPH_INVALID" }))
    for (const code of codes(spec)) expect(compile).toThrow(code)
  })

  test("a self loop and a dead end are warnings, not problems", () => {
    const edges = [edge("a", "a", { max: 2 }), edge("a", "b"), edge("a", "c")]
    const { problems, warnings } = validateGraph(graph("a b c", edges, { outputs: ["c"] }))
    expect(problems).toEqual([])
    expect(warnings.map(({ code, nodes }) => [code, nodes])).toEqual([
      ["SELF_LOOP", ["a"]],
      ["DEAD_END", ["b"]],
    ])
    expect(compileGraph(graph("a b c", edges, { outputs: ["c"] })).warnings).toEqual(warnings)
  })

  test("a node whose only edge has a condition may send nowhere", () => {
    const lonely = graph("a b", [edge("a", "b", { conditional: true })])
    expect(validateGraph(lonely).warnings).toMatchObject([{ code: "MAY_GO_NOWHERE", nodes: ["a", "b"] }])
    const or = { conditional: true }
    expect(validateGraph(graph("a b c", [edge("a", "b", or), edge("a", "c", or)])).warnings).toEqual([])
    expect(validateGraph(graph("a b", [edge("a", "b", or)], { outputs: ["a", "b"] })).warnings).toEqual([])
  })

  test("a join may starve that gets one message for certain and another on a condition", () => {
    const warnings = (...edges: EdgeGroup[]) =>
      validateGraph(graph("a b c d", [...edges, fanIn(["b", "c"], "d")])).warnings.map(
        ({ code, message }) => [code, message],
      )
    expect(warnings(edge("a", "b"), edge("a", "c", { conditional: true }))).toEqual([
      ["JOIN_MAY_STARVE", expect.stringContaining('does not fire when "a" does not send to "c"')],
    ])
    expect(warnings({ kind: "fan-out", from: "a", to: ["b", "c"], selective: true })).toHaveLength(1)
    expect(warnings(fanOut("a", "b", "c"))).toEqual([])
    const cases = [{ to: "c", conditional: true }, { conditional: false }]
    expect(warnings(edge("a", "b"), { kind: "switch", from: "a", cases })).toEqual([
      ["JOIN_MAY_STARVE", expect.stringContaining('when the switch after "a" produces an output')],
    ])
  })

  test("a join does not starve whose sources lie behind the same condition", () => {
    const edges: EdgeGroup[] = [
      edge("a", "x", { conditional: true }),
      edge("a", "y", { conditional: true }),
      fanOut("x", "b", "c"),
      fanIn(["b", "c"], "d"),
    ]
    expect(validateGraph(graph("a x y b c d", edges)).warnings).toEqual([])
  })

  test("without declared outputs a node without an edge out is an output, not a dead end", () => {
    expect(validateGraph(graph("a b", [edge("a", "b")])).warnings).toEqual([])
  })
})
