/** The points of an arrow: dagre says where it runs between layers, this says where it leaves and meets shapes. */
import type { PlacedPart } from "./layout.ts"
import { borderPoint, corners, type Point, type Size } from "./outline.ts"

/** Before its tip an arrow that comes from the side turns to come from above or below. */
const APPROACH = 12

export function outlineOf(part: PlacedPart): Point[] {
  return corners(part.look, part, part)
}

/** From one part to another, through what lies between. */
export function between(first: PlacedPart, last: PlacedPart, inner: readonly Point[]): Point[] {
  const start = meet(first, inner[0] ?? last)
  const end = meet(last, inner.at(-1) ?? first)
  return [start, ...inner, ...approach(last, inner.at(-1) ?? start, end), end]
}

/** From a part back to itself, around a label beside it. */
export function around(part: PlacedPart, x: number, { height }: Size): Point[] {
  const far = Math.max(14, height / 2 + 6)
  const inner = [
    { x, y: part.y - far },
    { x, y: part.y + far },
  ] as const
  const outline = outlineOf(part)
  return [borderPoint(outline, part, inner[0]), ...inner, borderPoint(outline, part, inner[1])]
}

/** Straight above or below the point if it can, else as near to that as the shape reaches. */
function meet(part: PlacedPart, point: Point): Point {
  const outline = outlineOf(part)
  if (Math.abs(point.y - part.y) < part.height / 2) return borderPoint(outline, part, point)
  const reach = part.width * 0.35
  const x = Math.min(Math.max(point.x, part.x - reach), part.x + reach)
  return borderPoint(outline, { x, y: part.y }, { x, y: point.y })
}

function approach(part: PlacedPart, before: Point, end: Point): Point[] {
  const room = Math.abs(before.y - end.y)
  const fromSide = Math.abs(before.x - end.x) > 1
  if (!fromSide || room < APPROACH || Math.abs(before.y - part.y) < part.height / 2) return []
  return [{ x: end.x, y: end.y + Math.sign(before.y - end.y) * APPROACH }]
}
