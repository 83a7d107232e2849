import { describe, expect, test } from "vitest"
import { compileGraph } from "./compile.ts"
import type { EdgeGroup, Graph, GraphSpec, NodeSpec } from "./graph.ts"
import { digest, signatureDifference, signatureOf } from "./signature.ts"

const base: GraphSpec = {
  name: "w",
  start: "a",
  nodes: [
    { id: "a", kind: "node", input: [{ type: "string" }], output: { type: "string" } },
    { id: "b", kind: "node" },
    { id: "c", kind: "node" },
  ],
  edges: [
    { kind: "single", from: "a", to: "b", label: "first" },
    { kind: "single", from: "b", to: "c" },
  ],
  channels: [{ key: "count", reducer: "add", initial: 0 }],
}

function compiled(change: Partial<GraphSpec> = {}): Graph {
  return compileGraph({ ...structuredClone(base), ...change }).graph
}
function hash(change: Partial<GraphSpec> = {}): string {
  return signatureOf(compiled(change)).hash
}
function withNode(id: string, change: Partial<NodeSpec>): Partial<GraphSpec> {
  return { nodes: base.nodes.map((node) => (node.id === id ? { ...node, ...change } : node)) }
}
function withEdge(at: number, edge: EdgeGroup): Partial<GraphSpec> {
  return { edges: base.edges.map((group, i) => (i === at ? edge : group)) }
}

describe("the signature stays the same", () => {
  test("for the same graph built again", () => {
    expect(hash()).toBe(hash())
    expect(hash()).toMatch(/^[0-9a-f]{16}$/)
  })

  test.each<[string, Partial<GraphSpec>]>([
    ["retry, timeout and concurrency", withNode("a", { retry: { attempts: 5 }, timeout: 9, concurrency: 3 })],
    ["how often a node may be visited", withNode("a", { maxVisits: 9 })],
    ["the limits of the workflow", { limits: { supersteps: 7, concurrency: 2 } }],
    ["descriptions", { description: "new", ...withNode("b", { description: "text" }) }],
    ["an edge's label", withEdge(0, { kind: "single", from: "a", to: "b", label: "other" })],
    ["the order in which nodes were declared", { nodes: [...base.nodes].reverse() }],
    ["the order in which edges were declared", { edges: [...base.edges].reverse() }],
    ["the order of keys in a schema", withNode("a", { input: [JSON.parse('{"type":"string"}')] })],
    ["a channel's first value", { channels: [{ key: "count", reducer: "add", initial: 5 }] }],
  ])("when %s change", (_, change) => {
    expect(hash(change)).toBe(hash())
  })
})

describe("the signature changes", () => {
  const nested = (name: string) =>
    compileGraph({ name, start: "x", nodes: [{ id: "x", kind: "node" }], edges: [] }).graph
  const deeper = (name: string) =>
    compileGraph({
      name: "middle",
      start: "m",
      nodes: [{ id: "m", kind: "workflow", nested: nested(name) }],
      edges: [],
    }).graph

  test.each<[string, Partial<GraphSpec>]>([
    ["the workflow's name", { name: "v" }],
    ["the schedule", { schedule: "flow" }],
    ["the start", { start: "b", edges: [...base.edges, { kind: "error", from: "b", to: "a" }] }],
    ["a node's kind", withNode("b", { kind: "agent" })],
    ["a node's input schema", withNode("a", { input: [{ type: "number" }] })],
    ["a node's output schema", withNode("a", { output: { type: "string", minLength: 1 } })],
    ["whether a node settles", withNode("b", { onError: "settle" })],
    ["an edge's condition", withEdge(0, { kind: "single", from: "a", to: "b", conditional: true })],
    ["an edge more", { edges: [...base.edges, { kind: "single", from: "a", to: "c" }] }],
    ["a channel's reducer", { channels: [{ key: "count", reducer: "replace" }] }],
    ["a channel less", { channels: [] }],
    ["the outputs", { outputs: ["b", "c"] }],
    ["the limit route", { onLimit: "c" }],
    ["a nested workflow", withNode("b", { kind: "workflow", nested: nested("one") })],
  ])("with %s", (_, change) => {
    expect(hash(change)).not.toBe(hash())
  })

  test("with a node more", () => {
    const more: Partial<GraphSpec> = {
      nodes: [...base.nodes, { id: "d", kind: "node" }],
      edges: [...base.edges, { kind: "single", from: "c", to: "d" }],
    }
    expect(hash(more)).not.toBe(hash())
  })

  test("with a change inside a nested workflow, however deep", () => {
    const one = hash(withNode("b", { kind: "workflow", nested: nested("one") }))
    expect(hash(withNode("b", { kind: "workflow", nested: nested("one") }))).toBe(one)
    expect(hash(withNode("b", { kind: "workflow", nested: nested("two") }))).not.toBe(one)
    const deep = (name: string) => hash(withNode("b", { kind: "workflow", nested: deeper(name) }))
    expect(deep("one")).not.toBe(deep("two"))
  })

  test("with a join's policy, and the order of its sources", () => {
    const joined = (from: string[], count: number) =>
      hash({
        edges: [
          { kind: "single", from: "a", to: "b" },
          { kind: "fan-in", from, to: "c", join: { kind: "quorum", count } },
        ],
      })
    expect(joined(["a", "b"], 2)).not.toBe(joined(["a", "b"], 1))
    expect(joined(["a", "b"], 2)).not.toBe(joined(["b", "a"], 2))
  })
})

describe("the difference of two signatures", () => {
  test("is empty for the same graph", () => {
    expect(signatureDifference(signatureOf(compiled()), signatureOf(compiled()))).toEqual([])
  })

  test("says line by line what went and what came", () => {
    const after = compiled(withNode("b", { kind: "agent" }))
    expect(signatureDifference(signatureOf(compiled()), signatureOf(after))).toEqual([
      "- node b",
      "+ agent b",
    ])
  })

  test("names nodes and edges that are new", () => {
    const after = compiled({
      nodes: [...base.nodes, { id: "d", kind: "node" }],
      edges: [...base.edges, { kind: "single", from: "c", to: "d" }],
    })
    const lines = signatureDifference(signatureOf(compiled()), signatureOf(after))
    expect(lines).toHaveLength(2)
    expect(lines).toContain("+ node d")
    expect(lines.find((line) => line.startsWith("+ edge"))).toMatch(/"from":"c".*"to":"d"/)
  })
})

test.each([
  ["", "e0bcff2b424d749e"],
  ["a", "e6db3b2646ad5f91"],
  ["workflow w starts at ü, 日本", "3a07db1d8dcaaa6f"],
  ["x".repeat(1_000), "1e2c3254800155ef"],
])("the digest of %j never changes: journals have it", (text, hash) => {
  expect(digest(text)).toBe(hash)
})
