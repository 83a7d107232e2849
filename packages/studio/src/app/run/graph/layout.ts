/**
 * Places the nodes of a graph from top to bottom, once: the same graph and the same unfolded parts give the same places, so
 * that nothing moves while a run is watched. A nested workflow that is unfolded is laid out by itself and placed as one box.
 */
import { edgeKey, nodeKey, OUTPUT, START } from "../keys.ts"
import { authorGraph } from "./author-graph.ts"
import type { GraphEdge, GraphModel, GraphNode } from "./graph-model.ts"
import { type LayeredBox, layered, type Point } from "./layered.ts"

export interface PlacedNode {
  /** The nodes that lead to it, and its own id: "review/draft". The start and the output of a graph end in a sign of their own. */
  readonly key: string
  /** The path of the workflow that it is in, as `nodePath` has it. */
  readonly path: string
  readonly kind: "node" | "box" | "start" | "output"
  readonly node: GraphNode | undefined
  /** From the corner of the whole drawing. */
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface PlacedEdge {
  readonly key: string
  readonly path: string
  readonly edge: GraphEdge
  /** An SVG path with its arrow's end. */
  readonly line: string
  /** Where its label stands. */
  readonly label: { readonly x: number; readonly y: number }
}

export interface Layout {
  readonly nodes: readonly PlacedNode[]
  readonly edges: readonly PlacedEdge[]
  readonly width: number
  readonly height: number
}

const NODE = { width: 184, height: 52 }
const END = { width: 64, height: 26 }
const PADDING = 16
const HEAD = 30

export function layoutOf(graph: GraphModel, unfolded: ReadonlySet<string>, path = ""): Layout {
  const model = authorGraph(graph)
  const inner = new Map<string, Layout>()
  const boxes: LayeredBox[] = []
  // A file's graph has nodes of its own where it starts and ends: they are drawn as the start and the output.
  const own = new Map(model.nodes.flatMap(({ id, kind }) => (OWN_ENDS[`${id} ${kind}`] ? [[id, kind]] : [])))
  const fromOf = ({ from }: GraphEdge) => (from === undefined || own.get(from) === "start" ? START : from)
  const toOf = ({ to }: GraphEdge) => (to === undefined || own.get(to) === "end" ? OUTPUT : to)
  const shown = model.nodes.filter(({ id }) => !own.has(id))
  const between = model.edges.filter(
    ({ from, to }) => !(from === undefined && own.get(to ?? "") === "start") && own.get(from ?? "") !== "end",
  )
  const hasStart = between.some((edge) => fromOf(edge) === START)
  const hasOutput = between.some((edge) => toOf(edge) === OUTPUT)
  if (hasStart) boxes.push({ id: START, ...END })
  for (const node of shown) {
    const key = nodeKey(path, node.id)
    if (node.nested !== undefined && unfolded.has(key)) {
      const below = layoutOf(node.nested, unfolded, key)
      inner.set(node.id, below)
      boxes.push({
        id: node.id,
        width: below.width + 2 * PADDING,
        height: below.height + PADDING + HEAD,
      })
    } else boxes.push({ id: node.id, ...NODE })
  }
  if (hasOutput) boxes.push({ id: OUTPUT, ...END })
  const sizes = new Map(boxes.map((box) => [box.id, box]))
  const drawn = between.filter(
    (edge) => sizes.has(fromOf(edge)) && sizes.has(toOf(edge)) && edge.from !== edge.to,
  )
  const placed = layered(
    boxes,
    drawn.map((edge) => ({
      from: fromOf(edge),
      to: toOf(edge),
      label: edge.label === "" ? 0 : labelWidth(edge.label),
    })),
  )

  const nodes: PlacedNode[] = []
  const edges: PlacedEdge[] = []
  const place = (id: string, kind: PlacedNode["kind"], node: GraphNode | undefined) => {
    const { x, y } = placed.boxes.get(id) as Point
    const { width, height } = sizes.get(id) as LayeredBox
    const corner = { x: x - width / 2, y: y - height / 2 }
    nodes.push({ key: nodeKey(path, id), path, kind, node, ...corner, width, height })
  }
  for (const node of shown) {
    const below = inner.get(node.id)
    place(node.id, below === undefined ? "node" : "box", node)
    if (below === undefined) continue
    const box = nodes.at(-1) as PlacedNode
    const [dx, dy] = [box.x + PADDING, box.y + HEAD]
    nodes.push(...below.nodes.map((one) => ({ ...one, x: one.x + dx, y: one.y + dy })))
    edges.push(...below.edges.map((one) => moved(one, dx, dy)))
  }
  if (hasStart) place(START, "start", undefined)
  if (hasOutput) place(OUTPUT, "output", undefined)
  for (const [i, edge] of drawn.entries()) {
    const { points, label } = placed.lines[i] as { points: readonly Point[]; label: Point }
    edges.push({ key: keyOfEdge(path, edge), path, edge, line: lineOf(points), label })
  }
  const loops = model.edges.filter(({ from, to }) => from !== undefined && from === to)
  for (const edge of loops) {
    const { x, y } = placed.boxes.get(edge.from as string) as Point
    edges.push(selfLoop(edge, path, x + (sizes.get(edge.from as string) as LayeredBox).width / 2, y))
  }
  const { width, height } = placed
  return {
    nodes,
    edges,
    width: Math.max(width + (loops.length > 0 ? LOOP : 0), 120),
    height: Math.max(height, 60),
  }
}

/** Its name in the journal: counts and reasons are found by it. */
function keyOfEdge(path: string, { from, to, taken }: GraphEdge): string {
  return taken === undefined ? edgeKey(path, from, to) : edgeKey(path, taken.from, taken.to)
}

/** Id and kind of the nodes that a graph file starts and ends with. */
const OWN_ENDS: Readonly<Record<string, true>> = { "#start start": true, "#end end": true }

/** Room at the right for a node that sends to itself. */
const LOOP = 40

function labelWidth(label: string): number {
  return Math.min(160, 12 + label.length * 6.2)
}

/** Through the points, with soft bends. */
function lineOf(points: readonly Point[]): string {
  const [first, ...rest] = points as [Point, ...Point[]]
  let text = `M${at(first)}`
  for (const [i, point] of rest.entries()) {
    const next = rest[i + 1]
    if (next === undefined) text += ` L${at(point)}`
    else text += ` Q${at(point)} ${at({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`
  }
  return text
}

function at({ x, y }: Point): string {
  return `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`
}

/** A node that sends to itself: an arc at its right side. */
function selfLoop(edge: GraphEdge, path: string, right: number, y: number): PlacedEdge {
  return {
    key: keyOfEdge(path, edge),
    path,
    edge,
    line: `M${at({ x: right, y: y + 12 })} C${at({ x: right + 34, y: y + 16 })} ${at({ x: right + 34, y: y - 16 })} ${at({ x: right, y: y - 12 })}`,
    label: { x: right + 34, y },
  }
}

/** Paths have absolute numbers only, in pairs. */
function moved(edge: PlacedEdge, dx: number, dy: number): PlacedEdge {
  const line = edge.line.replace(/(-?[\d.]+),(-?[\d.]+)/g, (_, x: string, y: string) =>
    at({ x: Number(x) + dx, y: Number(y) + dy }),
  )
  return { ...edge, line, label: { x: edge.label.x + dx, y: edge.label.y + dy } }
}
