/** Draws the lines of one rank and of the channel below it. */
import { type Canvas, put } from "./canvas.ts"
import type { Vertex } from "./layers.ts"
import type { Channel, Route } from "./routes.ts"
import { EAST, lineTone, NORTH, type Signs, SOUTH, WEST } from "./signs.ts"

export interface RankToDraw {
  /** Absent below the last rank. */
  readonly below: Channel | undefined
  readonly top: number
  readonly height: number
  /** The sign with which a line leaves the border of a vertex. */
  readonly leave: (vertex: Vertex) => string | undefined
}

/** Returns the row in which the next rank begins. */
export function drawChannel(canvas: Canvas, { below, top, height, leave }: RankToDraw, signs: Signs): number {
  if (below === undefined) return top + height
  const isArrow = (one: Vertex, route: Route, up: boolean) => one.kind === "part" && route.lines[0]?.up === up
  const start = top + height
  const anyUp = below.routes.some((route) => [...route.tops.keys()].some((one) => isArrow(one, route, true)))
  const anyDown = below.routes.some((route) =>
    [...route.bottoms.keys()].some((one) => isArrow(one, route, false)),
  )
  const firstTrack = start + (anyUp ? 1 : 0)
  const end = firstTrack + below.tracks + (anyDown ? 1 : 0)
  // Level stretches first: where nets cross, the upright line is the one to be seen.
  for (const route of below.routes) drawTrack(canvas, route, firstTrack, signs)
  for (const route of below.routes) {
    const style = route.lines[0]?.style ?? "solid"
    const upright = style === "solid" ? (signs.joints[NORTH | SOUTH] as string) : signs.dashed.upright
    const track = route.track === undefined ? undefined : firstTrack + route.track
    const down = (x: number, from: number, to: number) => {
      for (let y = from; y < to; y++) put(canvas, x, y, upright, lineTone(style))
    }
    for (const [vertex, x] of route.tops) {
      const from = top + vertex.height
      const sign = leave(vertex)
      if (sign !== undefined) put(canvas, x, from - 1, sign)
      down(x, from, track ?? end)
      if (isArrow(vertex, route, true)) put(canvas, x, from, signs.up, lineTone(style))
    }
    for (const [vertex, x] of route.bottoms) {
      if (track !== undefined) down(x, track + 1, end)
      if (isArrow(vertex, route, false)) put(canvas, x, end - 1, signs.down, lineTone(style))
    }
  }
  return end
}

function drawTrack(
  canvas: Canvas,
  { track, tops, bottoms, lines }: Route,
  first: number,
  signs: Signs,
): void {
  if (track === undefined) return
  const style = lines[0]?.style ?? "solid"
  const [up, down] = [new Set(tops.values()), new Set(bottoms.values())]
  const left = Math.min(...up, ...down)
  const right = Math.max(...up, ...down)
  for (let x = left; x <= right; x++) {
    const ways =
      (up.has(x) ? NORTH : 0) | (down.has(x) ? SOUTH : 0) | (x < right ? EAST : 0) | (x > left ? WEST : 0)
    const level = style !== "solid" && ways === (EAST | WEST)
    put(
      canvas,
      x,
      first + track,
      level ? signs.dashed.level : (signs.joints[ways] as string),
      lineTone(style),
    )
  }
}
