import { readdirSync } from "node:fs"
import { type Diagram, diagramOf, type Frame, partsByEnd, type Shape } from "@superstep/engine/diagrams"
import { node, type toMermaid, workflow } from "superstep"
import { compileGraph } from "superstep/core"
import { describe, expect, it } from "vitest"
import { randomWorkflow } from "../../../engine/src/diagrams/random-workflow.test-support.ts"
import { corners, type Placed, type Point, place, type Size } from "./layout.ts"
import { toSvg } from "./svg.ts"

const step = (id: string) => node(id, (text: string) => text)

/** The distance of a point from the border of a shape. */
function distance(outline: readonly Point[], { x, y }: Point): number {
  return Math.min(
    ...outline.map((a, i) => {
      const b = outline[(i + 1) % outline.length] as Point
      const [dx, dy] = [b.x - a.x, b.y - a.y]
      const t = Math.min(1, Math.max(0, ((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1)))
      return Math.hypot(x - a.x - t * dx, y - a.y - t * dy)
    }),
  )
}

/** No two parts overlap, arrows end on the borders of their parts, and everything is inside the drawing. */
function check(diagram: Diagram, placed: Placed): void {
  const ends = partsByEnd(diagram)
  const at = (end: string) =>
    placed.parts[diagram.parts.indexOf(ends.get(end) as Shape | Frame)] as Placed["parts"][number]
  const apart = (a: Size & Point, b: Size & Point) =>
    Math.abs(a.x - b.x) >= (a.width + b.width) / 2 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2
  const { parts } = placed
  expect(parts.filter((a, i) => parts.slice(i + 1).some((b) => !apart(a, b)))).toEqual([])
  for (const [i, { from, to }] of diagram.arrows.entries()) {
    const { points } = placed.arrows[i] as Placed["arrows"][number]
    expect(distance(corners(at(from)), points[0] as Point)).toBeLessThan(0.01)
    expect(distance(corners(at(to)), points.at(-1) as Point)).toBeLessThan(0.01)
  }
  for (const [i, part] of diagram.parts.entries()) {
    const own = placed.parts[i] as Placed["parts"][number]
    if (part.kind === "frame" && own.look === "frame") {
      check(part.diagram, own.inside)
      for (const one of own.inside.parts) {
        expect(Math.abs(one.x - own.x) + one.width / 2).toBeLessThanOrEqual(own.width / 2)
        expect(Math.abs(one.y - own.y) + one.height / 2).toBeLessThanOrEqual(own.height / 2)
      }
    }
  }
}

/** Every number of the drawing's coordinates lies within its view box. */
function checkInside(svg: string): void {
  const box = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg) as RegExpExecArray
  const body = svg.slice(svg.indexOf("</style>"))
  const places = [
    ...body.matchAll(/ x="([-\d.]+)" y="([-\d.]+)"/g),
    ...body.matchAll(/(?:points="| )([-\d.]+),([-\d.]+)/g),
    ...body.matchAll(/[MLQ ]([-\d.]+) ([-\d.]+)(?=[LQ" ])/g),
  ].map(([, x, y]) => ({ x: Number(x), y: Number(y) }))
  expect(places.length).toBeGreaterThan(0)
  expect(places.filter(({ x, y }) => x < 0 || x > Number(box[1]) || y < 0 || y > Number(box[2]))).toEqual([])
}

describe("toSvg", () => {
  it("returns the same text for the same graph, whatever was drawn before", () => {
    const first = toSvg(randomWorkflow(5, 20))
    toSvg(randomWorkflow(6, 11))
    expect(toSvg(randomWorkflow(5, 20))).toBe(first)
  })

  it.each([1, 2, 3, 5, 8, 13, 21, 40])(
    "does not overlap the shapes of a random graph of %i nodes",
    (size) => {
      const graph = randomWorkflow(1_000 + size, size, 2)
      check(diagramOf(graph), place(diagramOf(graph)))
      checkInside(toSvg(graph))
    },
  )

  it("draws a hundred nodes", () => {
    const graph = randomWorkflow(1, 100)
    check(diagramOf(graph), place(diagramOf(graph)))
  })

  it("refuses a graph that would take minutes to lay out, and names alternatives", () => {
    const graphOf = (ids: readonly string[], edges: readonly (readonly [string, string])[]) =>
      compileGraph({
        name: "large",
        start: "n0",
        nodes: ids.map((id) => ({ id, kind: "node" })),
        edges: edges.map(([from, to]) => ({ kind: "single" as const, from, to })),
      }).graph
    const ids = Array.from({ length: 5_000 }, (_, i) => `n${i}`)
    const chain = ids.slice(1).map((id, i): [string, string] => [`n${i}`, id])
    const few = ids.slice(0, 45)
    const dense = few.flatMap((from, i) => few.slice(i + 1).map((to): [string, string] => [from, to]))
    for (const graph of [graphOf(ids, chain), graphOf(few, dense)]) {
      expect(() => toSvg(graph)).toThrowError(expect.objectContaining({ code: "DIAGRAM_TOO_LARGE" }))
    }
  })

  it("draws every example", async () => {
    const examples = new URL("../../../../examples/", import.meta.url)
    const files = readdirSync(examples).filter((name) => /^\d\d-.*\.ts$/.test(name))
    expect(files.length).toBeGreaterThan(30)
    for (const file of files) {
      const exported: Record<string, unknown> = await import(new URL(file, examples).href)
      for (const one of Object.values(exported)) {
        if (typeof one !== "object" || one === null || !("program" in one)) continue
        const drawable = one as Parameters<typeof toMermaid>[0]
        check(diagramOf(drawable), place(diagramOf(drawable)))
        checkInside(toSvg(drawable))
      }
    }
  })

  it("escapes names, wraps long ones, and contains no scripts and no external resources", () => {
    const drawn = workflow('<script>"&')
      .chain(
        step("</text><script>alert(1)</script>"),
        step("a_name_that_is_much_too_long_to_stand_in_one_line"),
      )
      .build()
    const svg = toSvg(drawn)
    expect(svg).toContain("<title>&lt;script&gt;&quot;&amp;</title>")
    expect(svg).not.toMatch(/<script|<image|href|@import|url\(/)
    expect(svg).toMatch(/>a_name_that_is_much_[a-z_]*<\/text>/)
    expect(svg).not.toContain("a_name_that_is_much_too_long_to_stand_in_one_line")
  })

  it("has colours for light and dark screens, or for the requested one", () => {
    const drawn = workflow("w").start(step("a")).build()
    expect(toSvg(drawn)).toContain("@media(prefers-color-scheme:dark)")
    expect(toSvg(drawn, { theme: "light" })).not.toContain("#0d1117")
    expect(toSvg(drawn, { theme: "dark" })).toContain(".superstep .p{fill:#0d1117}")
    expect(toSvg(drawn, { theme: "dark" })).not.toContain("@media")
  })

  it("draws conditional arrows with dashed lines", () => {
    const [charge, refund, stop] = [step("charge"), node("refund", () => null), node("stop", () => null)]
    const drawn = workflow("pay").start(charge).onError(charge, refund).onLimit(stop).build()
    expect(toSvg(drawn).match(/class="e error"/g)).toHaveLength(1)
    expect(toSvg(drawn).match(/class="e dashed"/g)).toHaveLength(1)
  })
})
