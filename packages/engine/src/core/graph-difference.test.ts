import { describe, expect, test } from "vitest"
import { compileGraph } from "./compile.ts"
import type { GraphSpec } from "./graph.ts"
import { graphDifference } from "./signature.ts"

const graph = (spec: Partial<GraphSpec> = {}) =>
  compileGraph({
    name: "w",
    start: "a",
    nodes: [
      { id: "a", kind: "node" },
      { id: "b", kind: "node" },
    ],
    edges: [{ kind: "single", from: "a", to: "b" }],
    ...spec,
  }).graph

describe("the difference of two graphs", () => {
  test("is empty where only policies differ: a run takes them without being asked", () => {
    const nodes = [
      { id: "a", kind: "node", retry: { attempts: 3 } },
      { id: "b", kind: "node", timeout: 100 },
    ]
    expect(graphDifference(graph(), graph({ nodes, limits: { visits: 3 } }))).toEqual([])
  })

  test("has one line for each option of a node that changed, policies included", () => {
    const nodes = [
      { id: "a", kind: "node", timeout: 100, onError: "settle" as const },
      { id: "b", kind: "agent", input: [{ type: "string" }] },
    ]
    expect(graphDifference(graph(), graph({ nodes, limits: { visits: 3 } }))).toEqual([
      '~ node a: onError (none) → "settle"',
      "~ node a: timeout (none) → 100",
      '~ node b: kind "node" → "agent"',
      '~ node b: takes (none) → [{"type":"string"}]',
      '~ limits (none) → {"visits":3}',
    ])
  })

  test("shows the nodes and edges of a nested workflow, however deep", () => {
    const wrap = (name: string, nested: ReturnType<typeof graph>) =>
      graph({ name, start: "sub", nodes: [{ id: "sub", kind: "workflow", nested }], edges: [] })
    const after = graph({
      nodes: [...graph().spec.nodes, { id: "c", kind: "node" }],
      edges: [...graph().spec.edges, { kind: "single", from: "b", to: "c" }],
    })
    const [old, now] = [graph(), after].map((inner) => wrap("outer", wrap("middle", inner)))
    expect(graphDifference(old as never, now as never)).toEqual([
      "~ node sub runs workflow middle, which changed:",
      "  ~ node sub runs workflow w, which changed:",
      "    + node c",
      '    + edge {"from":"b","kind":"single","to":"c"}',
    ])
  })
})
