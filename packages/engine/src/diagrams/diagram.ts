/**
 * A diagram of a graph, independent of syntax: shapes, arrows, and a frame around each nested workflow. Ids are generated
 * (n0, n1, …), so that no name in a graph can break the text of its diagram. The same graph always yields the same diagram.
 */
import {
  type EdgeGroup,
  type FanInEdge,
  type Graph,
  type GraphNode,
  type MapEdge,
  type NodeId,
  nodeTitle,
  passesTurns,
  type SwitchCase,
  type SwitchEdge,
} from "../core/index.ts"
import { cellWidth, graphemes } from "../text/index.ts"
import type { Arrow, Ends } from "./arrow.ts"
import { keepAuthorNodes } from "./author-nodes.ts"

/** A workflow, or the graph of one. */
export type Drawable = Graph | { readonly program: { readonly graph: Graph } }

/** The diagram of a graph. */
export interface Diagram {
  readonly name: string
  readonly parts: readonly (Shape | Frame)[]
  readonly arrows: readonly Arrow[]
}

/** The look of a shape: the marks, and one look for each kind of node. */
export type Look =
  | "start"
  | "output"
  | "limit"
  | "box"
  | "agent"
  | "tool"
  | "human"
  | "handoff"
  | "state"
  | "workflow"
  | "end"
  | "choice"
  | "bar"

export interface Shape {
  readonly kind: Look
  readonly id: string
  readonly label: string
  /** The kind of the node, if it is more specific than "node". */
  readonly caption: string
  /** The worker of a map: it runs once per item. */
  readonly many: boolean
}

/** A nested workflow: arrows to it lead to its start, arrows from it leave its output. */
export interface Frame {
  readonly kind: "frame"
  readonly id: string
  /** The id of the node, and the name of the workflow if it differs. */
  readonly label: string
  readonly node: string
  readonly many: boolean
  readonly diagram: Diagram
  /** The inner shapes at which arrows to and from the frame end. */
  readonly entry: string
  readonly exit: string
}

interface Sketch {
  readonly graph: Graph
  readonly newId: () => string
  readonly parts: (Shape | Frame)[]
  readonly arrows: Arrow[]
  readonly ends: Map<NodeId, Ends>
  /** Created by the first arrow that leads there. */
  output: string | undefined
}

/** Kinds of nodes with their own look. All others are boxes. */
const LOOKS: ReadonlyMap<string, Look> = new Map<string, Look>([
  ["agent", "agent"],
  ["tool", "tool"],
  ["human", "human"],
  ["handoff", "handoff"],
  ["state", "state"],
  ["workflow", "workflow"],
  ["end", "end"],
  ["condition", "choice"],
  ["decision", "choice"],
  ["loop", "choice"],
  ["parallel", "bar"],
  ["merge", "bar"],
  ["map", "bar"],
])

/** The same graph always yields the same diagram. */
export function diagramOf(drawable: Drawable): Diagram {
  let ids = 0
  const graph = "program" in drawable ? drawable.program.graph : drawable
  return finished(sketch(graph, () => `n${ids++}`))
}

function finished({ graph, parts, arrows }: Sketch): Diagram {
  return { name: graph.name, parts, arrows }
}

function sketch(graph: Graph, newId: () => string): Sketch {
  const s: Sketch = { graph, newId, parts: [], arrows: [], ends: new Map(), output: undefined }
  const start = addShape(s, "start", "start")
  for (const node of graph.nodes) s.ends.set(node.id, addNode(s, node))
  connect(s, start, entry(s, (graph.nodes[graph.start] as GraphNode).id))
  for (const group of graph.spec.edges) addGroup(s, group)
  for (const node of graph.nodes) {
    // The result of a worker belongs to its map, whatever the list of outputs contains.
    if (node.isOutput && !node.isWorker) connect(s, exit(s, node.id), output(s))
  }
  const atLimit = graph.onLimit === undefined ? undefined : graph.nodes[graph.onLimit]
  if (atLimit !== undefined) connect(s, addShape(s, "limit", "limit"), entry(s, atLimit.id), "", "dashed")
  for (const node of graph.nodes)
    if (passesTurns(node.spec)) connect(s, exit(s, node.id), output(s), "END", "dashed")
  const asChoice = (id: string) => {
    const at = s.parts.findIndex((part) => part.id === id)
    s.parts[at] = { ...(s.parts[at] as Shape), kind: "choice" }
  }
  keepAuthorNodes({ ...s, asChoice })
  return s
}

function addNode(s: Sketch, node: GraphNode): Ends {
  const { nested, name } = node.spec
  // A manager decides whose turn it is.
  const kind = passesTurns(node.spec) && name !== undefined ? "agent" : node.spec.kind
  if (nested === undefined) {
    const caption = kind === "node" ? "" : kind
    const id = addShape(s, LOOKS.get(kind) ?? "box", nodeTitle(node.spec), caption, node.isWorker)
    return { entry: id, exit: id }
  }
  const id = s.newId()
  const inner = sketch(nested, s.newId)
  const ends = { entry: (inner.parts[0] as Shape).id, exit: output(inner) }
  const title = nodeTitle(node.spec)
  const label = [title, node.id].includes(nested.name as NodeId) ? title : `${title}\n${nested.name}`
  s.parts.push({
    kind: "frame",
    id,
    label,
    node: node.id,
    many: node.isWorker,
    diagram: finished(inner),
    ...ends,
  })
  return ends
}

function addGroup(s: Sketch, group: EdgeGroup): void {
  switch (group.kind) {
    case "single": {
      const label = words(group.label ?? (group.conditional ? "when" : ""), atMost(group.max))
      return connect(s, exit(s, group.from), entry(s, group.to), label)
    }
    case "fan-out": {
      const label = group.label ?? (group.selective ? "select" : "")
      const style = group.selective ? "dashed" : "solid"
      for (const to of group.to) connect(s, exit(s, group.from), entry(s, to), label, style)
      return
    }
    case "fan-in": {
      const join = addShape(s, "bar", joinLabel(group))
      for (const from of group.from) connect(s, exit(s, from), join)
      return connect(s, join, entry(s, group.to))
    }
    case "switch":
      return addSwitch(s, group)
    case "map":
      return addMap(s, group)
    case "error":
      return connect(s, exit(s, group.from), entry(s, group.to), "error", "error")
  }
}

function joinLabel({ join, from, timeout }: FanInEdge): string {
  const policy = join.kind === "quorum" ? `${join.count} of ${from.length}` : join.kind
  return words(`join ${policy}`, timeout === undefined ? "" : `timeout ${timeout} ms`)
}

function addSwitch(s: Sketch, group: SwitchEdge): void {
  const loop = isLoop(s.graph, group)
  const shape = choiceOf(s, group.from) ?? addShape(s, "choice", loop ? "loop" : "switch")
  if (shape !== exit(s, group.from)) connect(s, exit(s, group.from), shape)
  const isYesNo = group.cases.length === 2 && group.cases[0]?.label === "true"
  for (const [i, one] of group.cases.entries()) {
    const otherwise = loop ? "exit" : isYesNo ? "false" : one.to === undefined ? "END" : "default"
    const name = one.conditional ? (loop ? "again" : `case ${i + 1}`) : otherwise
    connect(s, shape, one.to === undefined ? output(s) : entry(s, one.to), caseLabel(one, name))
  }
}

/** A node that looks like a choice is the shape of its switch, unless it has several. */
function choiceOf(s: Sketch, id: NodeId): string | undefined {
  const node = s.graph.nodes[s.graph.index.get(id) as number] as GraphNode
  const switches = node.out.filter(({ kind }) => kind === "switch")
  const isChoice = node.spec.nested === undefined && LOOKS.get(node.spec.kind) === "choice"
  return isChoice && switches.length === 1 ? exit(s, id) : undefined
}

/** The builder implements a loop as a switch: one case that goes back, and the exit. */
function isLoop(graph: Graph, { from, cases }: SwitchEdge): boolean {
  const again = cases.filter((one) => one.conditional)
  const to = again.length === 1 ? again[0]?.to : undefined
  const source = graph.nodes[graph.index.get(from) as number] as GraphNode
  return to !== undefined && source.counted.get(to)?.back === true
}

function caseLabel({ label, max }: SwitchCase, name: string): string {
  const cap = atMost(max)
  return words(label === undefined || label === cap ? name : label, cap)
}

function addMap(s: Sketch, { from, worker, to, concurrency, settle }: MapEdge): void {
  const spec = s.graph.nodes[s.graph.index.get(worker) as number]?.spec
  const limit = concurrency ?? spec?.concurrency
  const items = words("×n", limit === undefined ? "" : `concurrency ${limit}`)
  connect(s, exit(s, from), entry(s, worker), items)
  const results = words("list", settle ? "settled" : "")
  connect(s, exit(s, worker), to === undefined ? output(s) : entry(s, to), results)
}

function addShape(s: Sketch, kind: Look, label: string, caption = "", many = false): string {
  const id = s.newId()
  s.parts.push({ kind, id, label, caption, many })
  return id
}

function connect(s: Sketch, from: string, to: string, label = "", style: Arrow["style"] = "solid"): void {
  s.arrows.push({ from, to, style, label })
}

function entry(s: Sketch, id: NodeId): string {
  return (s.ends.get(id) as Ends).entry
}

function exit(s: Sketch, id: NodeId): string {
  return (s.ends.get(id) as Ends).exit
}

function output(s: Sketch): string {
  s.output ??= addShape(s, "output", "output")
  return s.output
}

function atMost(max: number | undefined): string {
  return max === undefined ? "" : `at most ${max}`
}

function words(...parts: readonly string[]): string {
  return parts.filter((part) => part.trim() !== "").join(", ")
}

/** Maps each end of an arrow to its part: the shape itself, or the frame around it. */
export function partsByEnd({ parts }: Diagram): ReadonlyMap<string, Shape | Frame> {
  const ends = new Map<string, Shape | Frame>()
  for (const part of parts) {
    ends.set(part.id, part)
    if (part.kind === "frame") ends.set(part.entry, part).set(part.exit, part)
  }
  return ends
}

/** Labels as lines for a drawing. Names are arbitrary, so characters that no drawing can contain are replaced. */

const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/
/** Control characters and halves of surrogate pairs: no diagram's text may contain them. */
const NOT_TEXT = /[\p{Cc}\p{Cs}]/gu

/** The lines of a label, with white space collapsed. Empty if there is nothing to show. */
export function labelLines(label: string): string[] {
  return label
    .split(LINE_BREAK)
    .map((line) => line.replace(/\s+/g, " ").trim().replace(NOT_TEXT, "\uFFFD"))
    .filter((line) => line !== "")
}

/** Breaks after spaces and symbols inside names, or anywhere if there are none. */
export function wrap(line: string, maxWidth: number, measure: (text: string) => number): string[] {
  const lines: string[] = []
  let current = ""
  for (const piece of line.split(/(?<=[\s\-_/.:,])/u).flatMap((word) => split(word, maxWidth, measure))) {
    if (current !== "" && measure((current + piece).trimEnd()) > maxWidth) {
      lines.push(current.trimEnd())
      current = ""
    }
    current += piece
  }
  return [...lines, current.trimEnd()]
}

function split(word: string, maxWidth: number, measure: (text: string) => number): string[] {
  if (measure(word.trimEnd()) <= maxWidth) return [word]
  const pieces: string[] = []
  let current = ""
  for (const grapheme of graphemes(word)) {
    if (current !== "" && measure(current + grapheme) > maxWidth) {
      pieces.push(current)
      current = ""
    }
    current += grapheme
  }
  return [...pieces, current]
}

const TURNS_OR_HIDES = /[\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/gu

/** A label as lines of limited width, in ASCII only if asked for. Empty if there is nothing to show. */
export function textLines(label: string, maxWidth: number, ascii: boolean): string[] {
  return labelLines(label)
    .map((line) => (ascii ? inAscii(line) : line.replace(TURNS_OR_HIDES, "\ufffd")))
    .flatMap((line) => wrap(line, maxWidth, cellWidth))
}

function inAscii(text: string): string {
  return text
    .replace(/×/g, "x")
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^ -~]/gu, "?")
}
