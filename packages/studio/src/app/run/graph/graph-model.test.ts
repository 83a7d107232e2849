import { node, workflow } from "@superstep/engine"
import { type Graph, graphData } from "@superstep/engine/core"
import { expect, test } from "vitest"
import { graphModel } from "./graph-model.ts"
import { layered } from "./layered.ts"
import { layoutOf } from "./layout.ts"

const a = node("a", (n: number) => n)
const b = node("b", (n: number) => n)
const inner = workflow("inner")
  .chain(
    node("x", (n: number) => n),
    node("y", (n: number) => n),
  )
  .build()
const flow = workflow("flow")
  .chain(a, inner.asNode(), b)
  .loop(b, a, { while: () => false, max: 2, exit: node("end", (n: number) => n) })
  .build()
const data = graphData((flow.program as { graph: Graph }).graph).data

test("edges have the words of their conditions, and lead from the start to the output", () => {
  const { edges, nodes } = graphModel(data)
  expect(nodes.map(({ id }) => id)).toEqual(["a", "inner", "b", "end"])
  expect(edges.map(({ from, to }) => `${from ?? "start"}>${to ?? "output"}`)).toEqual([
    "start>a",
    "a>inner",
    "inner>b",
    "b>a",
    "b>end",
    "end>output",
  ])
})

test("the same graph has the same places, and a nested workflow unfolds inside of its own box", () => {
  const model = graphModel(data)
  expect(layoutOf(model, new Set())).toEqual(layoutOf(model, new Set()))
  const { nodes } = layoutOf(model, new Set(["inner"]))
  const box = nodes.find(({ key }) => key === "inner")
  const child = nodes.find(({ key }) => key === "inner/x")
  if (box === undefined || child === undefined) throw new Error("They are missing.")
  expect(child.x).toBeGreaterThan(box.x)
  expect(child.x + child.width).toBeLessThan(box.x + box.width)
  expect(child.y + child.height).toBeLessThan(box.y + box.height)
})

test("a graph that is no graph is drawn empty", () => {
  expect(graphModel("nonsense")).toMatchObject({ nodes: [], edges: [] })
})

test("boxes of a layer never overlap, lines lead down, and a circle leads back up beside its way down", () => {
  const ids = Array.from({ length: 60 }, (_, i) => `n${i}`)
  const boxes = ids.map((id, i) => ({ id, width: 100 + (i % 7) * 20, height: 40 }))
  const edges = ids.flatMap((from, i) =>
    [i * 2 + 1, i * 2 + 2, i + 9].flatMap((to) =>
      to < ids.length ? [{ from, to: ids[to] as string, label: to % 3 === 0 ? 60 : 0 }] : [],
    ),
  )
  const {
    boxes: placed,
    lines,
    width,
    height,
  } = layered(boxes, [...edges, { from: "n59", to: "n0", label: 40 }])
  const rects = boxes.map(({ id, width: w, height: h }) => {
    const { x, y } = placed.get(id) ?? { x: Number.NaN, y: Number.NaN }
    return { left: x - w / 2, right: x + w / 2, top: y - h / 2, bottom: y + h / 2 }
  })
  for (const [i, a] of rects.entries()) {
    expect(a.left).toBeGreaterThanOrEqual(0)
    expect(a.right).toBeLessThanOrEqual(width)
    expect(a.bottom).toBeLessThanOrEqual(height)
    for (const b of rects.slice(i + 1))
      expect(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top).toBe(true)
  }
  for (const [i, { points }] of lines.entries()) {
    const ys = points.map(({ y }) => y)
    expect(ys).toEqual(ys.toSorted((a, b) => (i < edges.length ? a - b : b - a)))
  }
})

test("two nodes that send to each other have two lines", () => {
  const size = { width: 100, height: 40 }
  const { lines } = layered(
    [
      { id: "a", ...size },
      { id: "b", ...size },
    ],
    [
      { from: "a", to: "b", label: 0 },
      { from: "b", to: "a", label: 0 },
    ],
  )
  const [down, up] = lines.map(({ points }) => points)
  expect(down?.[0]?.x).not.toBe(up?.at(-1)?.x)
})

test("the nodes that a graph file starts and ends with are drawn as the start and the output", () => {
  const file = {
    start: "#start",
    nodes: [
      { id: "#start", kind: "start" },
      { id: "a", kind: "agent" },
      { id: "#end", kind: "end" },
    ],
    edges: [
      { kind: "single", from: "#start", to: "a" },
      { kind: "single", from: "a", to: "#end" },
    ],
    outputs: ["#end"],
  }
  const { nodes, edges } = layoutOf(graphModel(file), new Set())
  expect(nodes.map(({ kind, node }) => node?.id ?? kind)).toEqual(["a", "start", "output"])
  // The keys are those of the journal: counts and reasons of the edges are found by them.
  expect(edges.map(({ key }) => key)).toEqual(["|#start|a", "|a|#end"])
})

test("nodes that the author of a definition did not write are not drawn; edges keep the keys of the journal", () => {
  const file = {
    start: "par",
    nodes: [
      { id: "par", kind: "parallel" },
      { id: "a", kind: "agent" },
      { id: "b", kind: "agent" },
      { id: "par#end", kind: "merge" },
      { id: "c?", kind: "condition", name: "when c" },
      { id: "c", kind: "agent" },
      { id: "#end", kind: "end" },
    ],
    edges: [
      { kind: "fan-out", from: "par", to: ["a", "b"] },
      { kind: "fan-in", from: ["a", "b"], to: "par#end", join: { kind: "all" } },
      { kind: "single", from: "par#end", to: "c?" },
      { kind: "switch", from: "c?", cases: [{ to: "c", conditional: true, label: "true" }, { to: "#end" }] },
      { kind: "single", from: "c", to: "#end" },
    ],
    outputs: ["#end"],
  }
  const { nodes, edges } = layoutOf(graphModel(file), new Set())
  expect(nodes.map(({ kind, node }) => node?.id ?? kind)).toEqual(["par", "a", "b", "c", "start", "output"])
  expect(edges.map(({ key, edge }) => [key, edge.label]).toSorted()).toEqual(
    [
      ["|\u0000start|par", ""],
      ["|par|a", ""],
      ["|par|b", ""],
      ["|a|par#end", ""],
      ["|b|par#end", ""],
      ["|c?|#end", "when false"],
      ["|c|#end", ""],
    ].toSorted(),
  )
})
