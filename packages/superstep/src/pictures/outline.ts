/** What each sort of shape looks like: how big it is around its text, its corners, and where an arrow meets it. */
import type { Look } from "@superstep/engine/pictures"

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** How a shape is drawn: by its corners, or as a box with so round ones. */
export type Form = "polygon" | "cylinder" | "lined" | number

const FORMS: Record<Look | "frame", Form> = {
  start: 999,
  output: 999,
  limit: 999,
  end: 999,
  box: 3,
  agent: 12,
  tool: "polygon",
  human: "polygon",
  handoff: "polygon",
  state: "cylinder",
  workflow: "lined",
  choice: "polygon",
  bar: 3,
  frame: 6,
}

export function formOf(look: Look | "frame"): Form {
  return FORMS[look]
}

/** How far the slanted sides of a shape reach in. */
const SLANT = 12

/** The box that a shape needs around text of a size. */
export function sizeAround(look: Look, { width, height }: Size): Size {
  switch (look) {
    case "choice": {
      // A rhombus holds a box if width/w + height/h is at most 1.
      const tall = 2 * height + 12
      return { width: Math.ceil(width / (1 - height / tall)) + 12, height: tall }
    }
    case "bar":
      return { width: Math.max(width + 24, 90), height: height + 8 }
    case "human":
    case "handoff":
    case "tool":
      return { width: width + 2 * SLANT + 16, height: height + 18 }
    case "state":
      return { width: width + 28, height: height + 32 }
    case "workflow":
      return { width: width + 40, height: height + 18 }
    case "start":
    case "output":
    case "limit":
    case "end":
      return { width: width + 32, height: height + 12 }
    default:
      return { width: width + 28, height: height + 18 }
  }
}

/** The corners of a shape around a middle, clockwise. */
export function corners(look: Look | "frame", { x, y }: Point, { width, height }: Size): Point[] {
  const [w, h] = [width / 2, height / 2]
  const at = (...list: readonly (readonly [number, number])[]) =>
    list.map(([dx, dy]) => ({ x: x + dx, y: y + dy }))
  switch (look) {
    case "choice":
      return at([0, -h], [w, 0], [0, h], [-w, 0])
    case "tool":
      return at(
        [-w + 8, -h],
        [w - 8, -h],
        [w, -h + 8],
        [w, h - 8],
        [w - 8, h],
        [-w + 8, h],
        [-w, h - 8],
        [-w, -h + 8],
      )
    case "human":
      return at([-w, -h], [w, -h], [w - SLANT, h], [-w + SLANT, h])
    case "handoff":
      return at([-w, -h], [w - SLANT, -h], [w, 0], [w - SLANT, h], [-w, h])
    case "start":
    case "output":
    case "limit":
    case "end":
      return pill(x, y, w, h)
    default:
      return at([-w, -h], [w, -h], [w, h], [-w, h])
  }
}

function pill(x: number, y: number, w: number, h: number): Point[] {
  const steps = Array.from({ length: 9 }, (_, i) => (i / 8) * Math.PI - Math.PI / 2)
  const right = steps.map((a) => ({ x: x + w - h + h * Math.cos(a), y: y + h * Math.sin(a) }))
  return [...right, ...right.map((point) => ({ x: 2 * x - point.x, y: 2 * y - point.y }))]
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
