import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type Drawing, drawBoxes } from "./boxes.ts"
import { UNICODE } from "./canvas.ts"
import { type Diagram, diagramOf, type Frame, partsByEnd, type Shape } from "./diagram.ts"
import { randomWorkflow } from "./random-workflow.test-support.ts"
import { type Read, readDrawing } from "./trace.test-support.ts"

const pen = { symbols: UNICODE, ascii: false, maxWidth: 20 }
const wide = 400

const anyGraph = fc.record({ seed: fc.nat(100_000), size: fc.integer({ min: 1, max: 14 }) })

/** The arrows of a diagram, without those from a part to itself, and without duplicates. */
function arrowsOf(diagram: Diagram, labels: ReadonlyMap<number, unknown>): Read[] {
  const ends = partsByEnd(diagram)
  const at = (end: string) => diagram.parts.indexOf(ends.get(end) as Shape | Frame)
  return diagram.arrows.flatMap(({ from, to, label }, i) => {
    if (at(from) === at(to) || (label.trim() !== "" && !labels.has(i))) return []
    return [{ from: at(from), to: at(to), label: label.trim() === "" ? undefined : i }]
  })
}

function asSet(arrows: readonly Read[]): Set<string> {
  return new Set(arrows.map(({ from, to, label }) => `${from} to ${to}, label ${label}`))
}

describe("a drawing of boxes and lines", () => {
  it("has a line for every arrow and no line that is not an arrow, whatever the graph", () => {
    let drawn = 0
    fc.assert(
      fc.property(anyGraph, ({ seed, size }) => {
        const diagram = diagramOf(randomWorkflow(seed, size))
        const drawing = drawBoxes(diagram, wide, pen)
        if (drawing === undefined) return
        drawn++
        expect(asSet(readDrawing(drawing))).toEqual(asSet(arrowsOf(diagram, drawing.labels)))
      }),
    )
    expect(drawn).toBeGreaterThan(20)
  })

  it.each([
    [372, 3],
    [1355, 3],
    [495, 5],
  ])("is wide enough at a choice for every arrow: graph %i of %i nodes", (seed, size) => {
    const diagram = diagramOf(randomWorkflow(seed, size))
    const drawing = drawBoxes(diagram, wide, pen) as Drawing
    expect(asSet(readDrawing(drawing))).toEqual(asSet(arrowsOf(diagram, drawing.labels)))
  })

  it("draws no box over another", () => {
    fc.assert(
      fc.property(anyGraph, ({ seed, size }) => {
        const drawing = drawBoxes(diagramOf(randomWorkflow(seed, size)), wide, pen)
        const places = drawing === undefined ? [] : [...drawing.parts, ...drawing.labels.values()]
        for (const [i, a] of places.entries()) {
          for (const b of places.slice(i + 1)) {
            const apart =
              a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
            expect(apart).toBe(true)
          }
        }
      }),
    )
  })
})
