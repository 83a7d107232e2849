/** What each sort of shape looks like: how big it is around its text, its corners, and where an arrow meets it. */
import type { Look as ShapeLook } from "@superstep/engine/diagrams"

export type Look = ShapeLook | "frame"

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** How a shape is drawn: by its corners, or as a box whose corners have a radius. */
export type Form = "polygon" | "cylinder" | "lined" | number

interface Outline {
  readonly form: Form
  /** What is added to the size of the text. */
  readonly around: readonly [width: number, height: number]
}

/** How far the slanted sides of a shape reach in. */
const SLANT = 12
const PILL: Outline = { form: 999, around: [32, 12] }
const SLANTED: Outline = { form: "polygon", around: [2 * SLANT + 16, 18] }

const OUTLINES: Record<Look, Outline> = {
  start: PILL,
  output: PILL,
  limit: PILL,
  end: PILL,
  box: { form: 3, around: [28, 18] },
  agent: { form: 12, around: [28, 18] },
  tool: SLANTED,
  human: SLANTED,
  handoff: SLANTED,
  state: { form: "cylinder", around: [28, 32] },
  workflow: { form: "lined", around: [40, 18] },
  choice: { form: "polygon", around: [12, 12] },
  bar: { form: 3, around: [24, 8] },
  frame: { form: 6, around: [0, 0] },
}

export function formOf(look: Look): Form {
  return OUTLINES[look].form
}

/** The box that a shape needs around text of a size. */
export function sizeAround(look: Look, text: Size): Size {
  const [dx, dy] = OUTLINES[look].around
  const [width, height] = [text.width + dx, text.height + dy]
  if (look === "bar") return { width: Math.max(width, 90), height }
  if (look !== "choice") return { width, height }
  // A rhombus holds a box if width/w + height/h is at most 1.
  const tall = height + text.height
  return { width: Math.ceil(text.width / (1 - text.height / tall)) + dx, height: tall }
}

/** The corners of a shape around its middle, clockwise. */
export function corners({ look, x, y, width, height }: Point & Size & { readonly look: Look }): Point[] {
  return around(look, width / 2, height / 2).map(([dx, dy]) => ({ x: x + dx, y: y + dy }))
}

type Offset = readonly [dx: number, dy: number]

function around(look: Look, w: number, h: number): readonly Offset[] {
  const ring = (...offsets: Offset[]) => offsets
  const mirrored = (right: readonly Offset[]) => [...right, ...right.map(([dx, dy]): Offset => [-dx, -dy])]
  switch (look) {
    case "choice":
      return ring([0, -h], [w, 0], [0, h], [-w, 0])
    case "tool":
      return mirrored(ring([w - 8, -h], [w, 8 - h], [w, h - 8], [w - 8, h]))
    case "human":
      return ring([-w, -h], [w, -h], [w - SLANT, h], [-w + SLANT, h])
    case "handoff":
      return ring([-w, -h], [w - SLANT, -h], [w, 0], [w - SLANT, h], [-w, h])
  }
  if (OUTLINES[look] !== PILL) return ring([-w, -h], [w, -h], [w, h], [-w, h])
  const angles = Array.from({ length: 9 }, (_, i) => (i / 8) * Math.PI - Math.PI / 2)
  return mirrored(angles.map((angle): Offset => [w - h + h * Math.cos(angle), h * Math.sin(angle)]))
}

/** Where a line from the middle of a shape towards a point leaves the shape. */
export function borderPoint(polygon: readonly Point[], middle: Point, towards: Point): Point {
  const [dx, dy] = [towards.x - middle.x, towards.y - middle.y]
  let best = Number.POSITIVE_INFINITY
  for (const [i, a] of polygon.entries()) {
    const b = polygon[(i + 1) % polygon.length] as Point
    const [ex, ey] = [b.x - a.x, b.y - a.y]
    const cross = dx * ey - dy * ex
    if (Math.abs(cross) < 1e-9) continue
    const t = ((a.x - middle.x) * ey - (a.y - middle.y) * ex) / cross
    const along = ((a.x - middle.x) * dy - (a.y - middle.y) * dx) / cross
    if (t > 0 && along >= -1e-9 && along <= 1 + 1e-9) best = Math.min(best, t)
  }
  return best === Number.POSITIVE_INFINITY ? middle : { x: middle.x + best * dx, y: middle.y + best * dy }
}
