/**
 * Routes the lines between two ranks: where each net leaves and enters, and the row of its horizontal part.
 *
 * 1. No two nets share a part of a row or of a column; they only cross.
 * 2. A net that goes straight down needs no row.
 */
import { type Canvas, EAST, lineTone, NORTH, put, SOUTH, type Symbols, WEST } from "./canvas.ts"
import { type Layers, type Line, leftOf, rightOf, type Vertex } from "./layers.ts"

interface Route {
  readonly net: string
  readonly lines: readonly Line[]
  /** By vertex: the column in which it leaves the rank above, and enters the one below. */
  readonly tops: ReadonlyMap<Vertex, number>
  readonly bottoms: ReadonlyMap<Vertex, number>
  /** Undefined: straight down. */
  track: number | undefined
}

export interface Channel {
  readonly routes: readonly Route[]
  readonly tracks: number
}

type Side = "upper" | "lower"

/** Widens each vertex so that each net has its own column, with a free one between. */
export function makeRoom({ lines }: Layers): void {
  for (const side of ["upper", "lower"] as const) {
    for (const [vertex, nets] of netsAt(lines, side)) {
      vertex.width = Math.max(vertex.width, nets.length === 1 ? 1 : 2 * nets.length + 1)
    }
  }
}

/** One channel below each rank except the last; undefined if two nets would have to pass through each other. */
export function routesOf(layers: Layers): Channel[] | undefined {
  const channels: Channel[] = []
  for (let rank = 0; rank < layers.ranks.length - 1; rank++) {
    const lines = layers.lines.filter(({ upper }) => upper.rank === rank)
    const tops = ports(lines, "upper")
    const bottoms = ports(lines, "lower")
    straighten(lines, tops, bottoms)
    const routes = [...byNet(lines)].map(([net, own]) => {
      const columns = (side: Side, all: Ports) =>
        new Map(own.map((line) => [line[side], all.get(line[side])?.get(net) as number]))
      return {
        net,
        lines: own,
        tops: columns("upper", tops),
        bottoms: columns("lower", bottoms),
        track: undefined,
      }
    })
    const tracks = setTracks(routes)
    if (tracks === undefined) return undefined
    channels.push({ routes, tracks })
  }
  return channels
}

type Ports = Map<Vertex, Map<string, number>>

function byNet(lines: readonly Line[]): Map<string, Line[]> {
  const nets = new Map<string, Line[]>()
  for (const line of lines) nets.set(line.net, [...(nets.get(line.net) ?? []), line])
  return nets
}

function netsAt(lines: readonly Line[], side: Side): Map<Vertex, string[]> {
  const nets = new Map<Vertex, string[]>()
  for (const line of lines) {
    const at = nets.get(line[side]) ?? []
    if (!at.includes(line.net)) nets.set(line[side], [...at, line.net])
  }
  return nets
}

/** Places nets side by side around the centre, in the order of their targets. */
function ports(lines: readonly Line[], side: Side): Ports {
  const other = side === "upper" ? "lower" : "upper"
  const all: Ports = new Map()
  for (const [vertex, nets] of netsAt(lines, side)) {
    const pull = new Map(
      nets.map((net) => {
        const ends = lines.filter((line) => line.net === net && line[side] === vertex)
        return [net, ends.reduce((sum, line) => sum + line[other].center, 0) / ends.length]
      }),
    )
    const sorted = nets.toSorted((a, b) => (pull.get(a) as number) - (pull.get(b) as number))
    const step = Math.min(6, Math.max(2, Math.floor((vertex.width - 1) / nets.length)))
    const first = Math.round(vertex.center - ((nets.length - 1) * step) / 2)
    all.set(vertex, new Map(sorted.map((net, i) => [net, first + i * step])))
  }
  return all
}

/** If a box is wide enough and has no other line on that side, its line is straightened. */
function straighten(lines: readonly Line[], tops: Ports, bottoms: Ports): void {
  for (const [net, own] of byNet(lines)) {
    const uppers = new Set(own.map(({ upper }) => upper))
    const lowers = new Set(own.map(({ lower }) => lower))
    const [upper] = uppers
    const [lower] = lowers
    if (lowers.size === 1 && lower !== undefined) align(net, lower, bottoms, uppers, tops)
    if (uppers.size === 1 && upper !== undefined) align(net, upper, tops, lowers, bottoms)
  }
}

function align(net: string, one: Vertex, own: Ports, others: ReadonlySet<Vertex>, ports: Ports): void {
  const mine = own.get(one) as Map<string, number>
  const now = mine.get(net) as number
  const near = [...others]
    .map((other) => ports.get(other)?.get(net) as number)
    .toSorted((a, b) => Math.abs(a - now) - Math.abs(b - now))[0] as number
  const limit = others.size === 1 ? Number.POSITIVE_INFINITY : 2
  if (mine.size === 1 && Math.abs(near - now) <= limit && inside(one, near)) mine.set(net, near)
}

function inside(vertex: Vertex, column: number): boolean {
  return vertex.kind === "part" && column > leftOf(vertex) && column < rightOf(vertex)
}

function setTracks(routes: Route[]): number | undefined {
  const waiting = routes.filter((route) => new Set(columnsOf(route)).size > 1)
  const placed: Route[] = []
  let tracks = 0
  while (waiting.length > 0) {
    const at = waiting.findIndex((route) => waiting.every((other) => other === route || !above(other, route)))
    if (at === -1) return undefined
    const [route] = waiting.splice(at, 1) as [Route]
    let track =
      Math.max(-1, ...placed.filter((other) => above(other, route)).map((other) => other.track as number)) + 1
    while (placed.some((other) => other.track === track && overlap(other, route))) track++
    route.track = track
    placed.push(route)
    tracks = Math.max(tracks, track + 1)
  }
  return tracks
}

/** Whether one leaves in a column in which the other enters the rank below: it must turn away first. */
function above(one: Route, other: Route): boolean {
  const columns = new Set(one.tops.values())
  return [...other.bottoms.values()].some((column) => columns.has(column))
}

function overlap(one: Route, other: Route): boolean {
  const [a, b] = [columnsOf(one), columnsOf(other)]
  return Math.min(...a) <= Math.max(...b) + 1 && Math.min(...b) <= Math.max(...a) + 1
}

function columnsOf({ tops, bottoms }: Route): number[] {
  return [...tops.values(), ...bottoms.values()]
}

export interface RankToDraw {
  /** Absent below the last rank. */
  readonly below: Channel | undefined
  readonly top: number
  readonly height: number
  /** The symbol with which a line leaves the border of a vertex. */
  readonly leave: (vertex: Vertex) => string | undefined
}

/** Returns the row in which the next rank begins. */
export function drawChannel(
  canvas: Canvas,
  { below, top, height, leave }: RankToDraw,
  symbols: Symbols,
): number {
  if (below === undefined) return top + height
  const isArrow = (one: Vertex, route: Route, up: boolean) => one.kind === "part" && route.lines[0]?.up === up
  const start = top + height
  const anyUp = below.routes.some((route) => [...route.tops.keys()].some((one) => isArrow(one, route, true)))
  const anyDown = below.routes.some((route) =>
    [...route.bottoms.keys()].some((one) => isArrow(one, route, false)),
  )
  const firstTrack = start + (anyUp ? 1 : 0)
  const end = firstTrack + below.tracks + (anyDown ? 1 : 0)
  // Level stretches first: where nets cross, the vertical line is visible.
  for (const route of below.routes) drawTrack(canvas, route, firstTrack, symbols)
  for (const route of below.routes) {
    const style = route.lines[0]?.style ?? "solid"
    const upright = style === "solid" ? (symbols.joints[NORTH | SOUTH] as string) : symbols.dashed.upright
    const track = route.track === undefined ? undefined : firstTrack + route.track
    const down = (x: number, from: number, to: number) => {
      for (let y = from; y < to; y++) put(canvas, x, y, upright, lineTone(style))
    }
    for (const [vertex, x] of route.tops) {
      const from = top + vertex.height
      const symbol = leave(vertex)
      if (symbol !== undefined) put(canvas, x, from - 1, symbol)
      down(x, from, track ?? end)
      if (isArrow(vertex, route, true)) put(canvas, x, from, symbols.up, lineTone(style))
    }
    for (const [vertex, x] of route.bottoms) {
      if (track !== undefined) down(x, track + 1, end)
      if (isArrow(vertex, route, false)) put(canvas, x, end - 1, symbols.down, lineTone(style))
    }
  }
  return end
}

function drawTrack(
  canvas: Canvas,
  { track, tops, bottoms, lines }: Route,
  first: number,
  symbols: Symbols,
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
      level ? symbols.dashed.level : (symbols.joints[ways] as string),
      lineTone(style),
    )
  }
}
