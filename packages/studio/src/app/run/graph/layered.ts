/**
 * Places boxes in layers from top to bottom, and routes lines between them, in time linear in what is drawn: 300 nodes take
 * a few milliseconds, where a general layout takes most of a second. The same input gives the same vertices.
 *
 * In the order of the code: edges that close a circle are turned around; a box is one layer below the last of those that
 * lead to it; an edge has a joint in every layer that it crosses, and its label is such a joint; sweeps order each layer by
 * its neighbours and keep the order with the fewest crossings; then every box moves as close to its neighbours as the
 * others of its layer allow.
 */

export interface LayeredBox {
  readonly id: string
  readonly width: number
  readonly height: number
}

export interface LayeredEdge {
  readonly from: string
  readonly to: string
  /** The room that its label needs; 0: none. */
  readonly label: number
}

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Layered {
  /** The centre of each box. */
  readonly boxes: ReadonlyMap<string, Point>
  /** For each edge, from its start to its end; the second is where its label stands. */
  readonly lines: readonly { readonly points: readonly Point[]; readonly label: Point }[]
  readonly width: number
  readonly height: number
}

const GAP_X = 28
const JOINT = 14
const GAP_Y = 44
const LABEL = 18
const MARGIN = 8
const SWEEPS = 8
/** Pixels between the ends of edges at one side of a box. */
const PORT = 16

/** A box, or a joint of an edge. */
interface Vertex {
  readonly width: number
  readonly height: number
  readonly isJoint: boolean
  layer: number
  x: number
  readonly above: Vertex[]
  readonly below: Vertex[]
}

interface Route {
  readonly isTurned: boolean
  readonly vertices: Vertex[]
  label: Vertex | undefined
}

export function layered(boxes: readonly LayeredBox[], edges: readonly LayeredEdge[]): Layered {
  const vertices = new Map<string, Vertex>()
  for (const { id, width, height } of boxes)
    vertices.set(id, { width, height, isJoint: false, layer: 0, x: 0, above: [], below: [] })
  const turned = circleEdges(boxes, edges)
  const ranks = ranksOf(boxes, edges, turned)
  const { layers, routes } = layersOf(vertices, ranks, edges, turned)
  order(layers)
  spread(layers)
  return drawn(vertices, layers, routes, edges)
}

/** The edges that lead back to a box on the way to them, found without recursion: graphs may be long. */
function circleEdges(boxes: readonly LayeredBox[], edges: readonly LayeredEdge[]): ReadonlySet<number> {
  const leaving = new Map<string, number[]>()
  const entered = new Set<string>()
  for (const [i, { from, to }] of edges.entries()) {
    leaving.set(from, [...(leaving.get(from) ?? []), i])
    entered.add(to)
  }
  const turned = new Set<number>()
  const state = new Map<string, "open" | "done">()
  const starts = [...boxes.filter(({ id }) => !entered.has(id)), ...boxes]
  for (const { id: start } of starts) {
    if (state.has(start)) continue
    const stack = [{ id: start, next: 0 }]
    state.set(start, "open")
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const edge = leaving.get(top.id)?.[top.next++]
      if (edge === undefined) {
        state.set(top.id, "done")
        stack.pop()
        continue
      }
      const { to } = edges[edge] as LayeredEdge
      if (state.get(to) === "open") turned.add(edge)
      else if (!state.has(to)) {
        state.set(to, "open")
        stack.push({ id: to, next: 0 })
      }
    }
  }
  return turned
}

/** One below the last of those that lead to it. */
function ranksOf(
  boxes: readonly LayeredBox[],
  edges: readonly LayeredEdge[],
  turned: ReadonlySet<number>,
): ReadonlyMap<string, number> {
  const waiting = new Map(boxes.map(({ id }) => [id, 0]))
  const next = new Map<string, string[]>()
  for (const [i, edge] of edges.entries()) {
    const [from, to] = turned.has(i) ? [edge.to, edge.from] : [edge.from, edge.to]
    waiting.set(to, (waiting.get(to) ?? 0) + 1)
    next.set(from, [...(next.get(from) ?? []), to])
  }
  const ranks = new Map(boxes.map(({ id }) => [id, 0]))
  const ready = boxes.filter(({ id }) => waiting.get(id) === 0).map(({ id }) => id)
  for (const id of ready) {
    for (const to of next.get(id) ?? []) {
      ranks.set(to, Math.max(ranks.get(to) ?? 0, (ranks.get(id) ?? 0) + 1))
      const left = (waiting.get(to) ?? 0) - 1
      waiting.set(to, left)
      if (left === 0) ready.push(to)
    }
  }
  return ranks
}

/** Boxes in layers, with a layer of joints between two of them where a label or an edge upwards needs one. */
function layersOf(
  vertices: ReadonlyMap<string, Vertex>,
  ranks: ReadonlyMap<string, number>,
  edges: readonly LayeredEdge[],
  turned: ReadonlySet<number>,
): { readonly layers: Vertex[][]; readonly routes: readonly Route[] } {
  const ends = edges.map(({ from, to }, i) => (turned.has(i) ? [to, from] : [from, to]) as [string, string])
  const needed = new Set<number>()
  const labelled = ends.map(([from, to], i) => {
    const [top, bottom] = [ranks.get(from) ?? 0, ranks.get(to) ?? 0]
    const gap = top + Math.floor((bottom - top - 1) / 2)
    if ((edges[i]?.label ?? 0) > 0 || turned.has(i)) needed.add(gap)
    return gap
  })
  const depth = Math.max(0, ...ranks.values())
  const indexOf: number[] = []
  let count = 0
  for (let rank = 0; rank <= depth; rank++) {
    indexOf[rank] = count++
    if (needed.has(rank)) count++
  }
  const layers: Vertex[][] = Array.from({ length: count }, () => [])
  for (const [id, vertex] of vertices) {
    vertex.layer = indexOf[ranks.get(id) ?? 0] as number
    layers[vertex.layer]?.push(vertex)
  }
  const routes = ends.map(([from, to], i): Route => {
    const [first, last] = [vertices.get(from) as Vertex, vertices.get(to) as Vertex]
    const gap = labelled[i] as number
    const labelLayer = needed.has(gap) ? (indexOf[gap] as number) + 1 : -1
    const route: Route = { isTurned: turned.has(i), vertices: [first], label: undefined }
    for (let layer = first.layer + 1; layer < last.layer; layer++) {
      const width = layer === labelLayer ? Math.max(JOINT, edges[i]?.label ?? 0) : JOINT
      const height = layer === labelLayer && (edges[i]?.label ?? 0) > 0 ? LABEL : 0
      const joint: Vertex = { width, height, isJoint: true, layer, x: 0, above: [], below: [] }
      layers[layer]?.push(joint)
      route.vertices.push(joint)
      if (layer === labelLayer) route.label = joint
    }
    route.vertices.push(last)
    for (const [n, vertex] of route.vertices.entries()) {
      const below = route.vertices[n + 1]
      if (below === undefined) continue
      vertex.below.push(below)
      below.above.push(vertex)
    }
    return route
  })
  return { layers, routes }
}

/** Orders each layer by the middle of its neighbours, downwards and upwards in turns; the best order is kept. */
function order(layers: Vertex[][]): void {
  const index = new Map<Vertex, number>()
  const number = () => {
    for (const layer of layers) for (const [i, vertex] of layer.entries()) index.set(vertex, i)
  }
  number()
  let best = layers.map((layer) => [...layer])
  let fewest = crossings(layers, index)
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const isDown = sweep % 2 === 0
    for (let n = 1; n < layers.length; n++) {
      const layer = layers[isDown ? n : layers.length - 1 - n] as Vertex[]
      const middle = new Map(
        layer.map((vertex, i) => {
          const near = isDown ? vertex.above : vertex.below
          const sum = near.reduce((total, one) => total + (index.get(one) as number), 0)
          return [vertex, near.length === 0 ? i : sum / near.length] as const
        }),
      )
      layer.sort((a, b) => (middle.get(a) as number) - (middle.get(b) as number))
      for (const [i, vertex] of layer.entries()) index.set(vertex, i)
    }
    const now = crossings(layers, index)
    if (now >= fewest) continue
    fewest = now
    best = layers.map((layer) => [...layer])
  }
  for (const [i, layer] of best.entries()) layers[i] = layer
}

function crossings(layers: readonly (readonly Vertex[])[], index: ReadonlyMap<Vertex, number>): number {
  let count = 0
  for (const layer of layers) {
    const ends = layer.flatMap(({ below }) =>
      below.map((one) => index.get(one) as number).sort((a, b) => a - b),
    )
    // Those that end before one that began earlier: counted in a tree, so that a layer of thousands stays quick.
    const tree = new Uint32Array(Math.max(0, ...ends) + 2)
    for (const [i, end] of ends.entries()) {
      let smaller = 0
      for (let at = end + 1; at > 0; at -= at & -at) smaller += tree[at] as number
      count += i - smaller
      for (let at = end + 1; at < tree.length; at += at & -at) tree[at] = (tree[at] as number) + 1
    }
  }
  return count
}

/** Moves every vertex towards its neighbours: the least squares that keep the order and the distances of a layer. */
function spread(layers: readonly (readonly Vertex[])[]): void {
  for (const layer of layers) settle(layer, (_, i) => i)
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0
    for (let n = 0; n < layers.length; n++) {
      const layer = layers[isDown ? n : layers.length - 1 - n] as readonly Vertex[]
      settle(layer, (vertex) => {
        const near = isDown ? vertex.above : vertex.below
        const all = near.length > 0 ? near : isDown ? vertex.below : vertex.above
        return all.length === 0 ? vertex.x : all.reduce((sum, { x }) => sum + x, 0) / all.length
      })
    }
  }
}

/** Neighbours that would overlap become one block, at the mean of where its parts want to be. */
function settle(layer: readonly Vertex[], wanted: (vertex: Vertex, index: number) => number): void {
  const offsets: number[] = []
  let offset = 0
  for (const [i, vertex] of layer.entries()) {
    const before = layer[i - 1]
    if (before !== undefined) {
      const gap = before.isJoint && vertex.isJoint ? JOINT : GAP_X
      offset += before.width / 2 + gap + vertex.width / 2
    }
    offsets.push(offset)
  }
  const blocks: { sum: number; weight: number; count: number }[] = []
  for (const [i, vertex] of layer.entries()) {
    const weight = vertex.isJoint ? 2 : 1
    let block = { sum: (wanted(vertex, i) - (offsets[i] as number)) * weight, weight, count: 1 }
    for (let last = blocks.at(-1); last !== undefined; last = blocks.at(-1)) {
      if (last.sum / last.weight < block.sum / block.weight) break
      block = {
        sum: last.sum + block.sum,
        weight: last.weight + block.weight,
        count: last.count + block.count,
      }
      blocks.pop()
    }
    blocks.push(block)
  }
  let at = 0
  for (const { sum, weight, count } of blocks) {
    for (let i = 0; i < count; i++, at++) (layer[at] as Vertex).x = sum / weight + (offsets[at] as number)
  }
}

function drawn(
  vertices: ReadonlyMap<string, Vertex>,
  layers: readonly (readonly Vertex[])[],
  routes: readonly Route[],
  edges: readonly LayeredEdge[],
): Layered {
  let [left, right] = [0, 0]
  for (const layer of layers) {
    for (const { x, width } of layer) {
      left = Math.min(left, x - width / 2)
      right = Math.max(right, x + width / 2)
    }
  }
  const ys: number[] = []
  let y = MARGIN
  for (const layer of layers) {
    const height = layer.reduce((most, one) => Math.max(most, one.height), 0)
    const isJoints = layer.every(({ isJoint }) => isJoint)
    // Joints between two layers of boxes share the space between them.
    if (isJoints) y -= GAP_Y / 3
    ys.push(y + height / 2)
    y += height + (isJoints ? (GAP_Y * 2) / 3 : GAP_Y)
  }
  const move = MARGIN - left
  const centre = (vertex: Vertex): Point => ({ x: vertex.x + move, y: ys[vertex.layer] as number })
  const ports = portsOf(routes)
  const lines = routes.map((route, i) => {
    const [first, last] = [route.vertices[0] as Vertex, route.vertices.at(-1) as Vertex]
    const [out, into] = ports[i] as readonly [number, number]
    const points = route.vertices.map((vertex): Point => {
      const { x, y: middle } = centre(vertex)
      if (vertex === first) return { x: x + out, y: middle + first.height / 2 }
      if (vertex === last) return { x: x + into, y: middle - last.height / 2 }
      return { x, y: middle }
    })
    if (route.isTurned) points.reverse()
    const label = route.label === undefined ? middleOf(points) : centre(route.label)
    return { points, label }
  })
  const boxes = new Map([...vertices].map(([id, vertex]) => [id, centre(vertex)]))
  const hasBoxes = edges.length > 0 || vertices.size > 0
  return { boxes, lines, width: right - left + 2 * MARGIN, height: hasBoxes ? y - GAP_Y + MARGIN : 0 }
}

function middleOf(points: readonly Point[]): Point {
  const at = (points.length - 1) / 2
  const [a, b] = [points[Math.floor(at)] as Point, points[Math.ceil(at)] as Point]
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }
}

/** How far from the middle of its side each edge leaves and enters: in the order of where they come from and go to. */
function portsOf(routes: readonly Route[]): readonly (readonly [out: number, into: number])[] {
  const shifts = routes.map(() => [0, 0] as [number, number])
  for (const side of [0, 1] as const) {
    const byBox = new Map<Vertex, number[]>()
    for (const [i, { vertices }] of routes.entries()) {
      const box = (side === 0 ? vertices[0] : vertices.at(-1)) as Vertex
      byBox.set(box, [...(byBox.get(box) ?? []), i])
    }
    for (const [box, list] of byBox) {
      const towards = (i: number) => (routes[i] as Route).vertices.at(side === 0 ? 1 : -2)?.x ?? 0
      list.sort((a, b) => towards(a) - towards(b))
      const room = Math.max(0, box.width - 32)
      const step = Math.min(PORT, list.length > 1 ? room / (list.length - 1) : 0)
      for (const [n, i] of list.entries())
        (shifts[i] as [number, number])[side] = (n - (list.length - 1) / 2) * step
    }
  }
  return shifts
}
