/** Renders a workflow as text for a terminal: boxes and lines if they fit, else an indented tree. */

import { cellWidth } from "../text/index.ts"
import type { Arrow } from "./arrow.ts"
import { drawBoxes, type Pen, shapeName } from "./boxes.ts"
import { ASCII, type Canvas, canvasLines, lineTone, NORTH, put, SOUTH, toneOf, UNICODE } from "./canvas.ts"
import {
  type Diagram,
  type Drawable,
  diagramOf,
  type Frame,
  partsByEnd,
  type Shape,
  textLines,
  wrap,
} from "./diagram.ts"

export interface TextOptions {
  /** Columns of the terminal; fewer than 24 count as 24. Default 80. */
  readonly width?: number | undefined
  /** With the colour codes of a terminal. Default false. */
  readonly color?: boolean | undefined
  /** Only ASCII characters; other letters in names become their plain forms, or question marks. Default false. */
  readonly ascii?: boolean | undefined
}

/** The width at which text in a drawing wraps: the wide one if that fits, else the narrow one. */
const WRAPS = [28, 14]

export function toText(workflow: Drawable, options: TextOptions = {}): string {
  const { color = false, ascii = false } = options
  const width = Math.max(24, Math.floor(options.width ?? 80))
  const pen: Pen = { symbols: ascii ? ASCII : UNICODE, ascii, maxWidth: width }
  const diagram = diagramOf(workflow)
  const lines: string[] = []
  const sections = [{ title: diagram.name, diagram }]
  for (let section = sections.shift(); section !== undefined; section = sections.shift()) {
    const heading: Canvas = []
    for (const line of textLines(section.title, width, ascii)) put(heading, 0, heading.length, line, "bold")
    if (lines.length > 0) lines.push("")
    const { canvas, apart } = drawn(section.diagram, width, pen)
    lines.push(...canvasLines(heading, color), "", ...canvasLines(canvas, color))
    sections.unshift(...apart.map((frame) => ({ title: titleOf(frame), diagram: frame.diagram })))
  }
  return `${lines.join("\n")}\n`
}

function titleOf({ node, diagram }: Frame): string {
  return node === diagram.name ? `${node}:` : `${node} (${diagram.name}):`
}

interface Drawn {
  readonly canvas: Canvas
  /** Nested workflows that are drawn separately, for lack of space. */
  readonly apart: readonly Frame[]
}

function drawn(diagram: Diagram, width: number, pen: Pen): Drawn {
  const frames = diagram.parts.filter((part) => part.kind === "frame")
  const folded = frames.length === 0 ? undefined : withoutFrames(diagram)
  for (const [one, apart] of [[diagram, []] as const, [folded, frames] as const]) {
    for (const maxWidth of one === undefined ? [] : WRAPS) {
      const drawing = drawBoxes(one as Diagram, width, { ...pen, maxWidth })
      if (drawing !== undefined) return { canvas: drawing.canvas, apart }
    }
  }
  return { canvas: drawTree(diagram, width, pen), apart: frames }
}

/** Each nested workflow as one box. */
function withoutFrames(diagram: Diagram): Diagram {
  const box = new Map<string, string>()
  const parts = diagram.parts.map((part) => {
    if (part.kind !== "frame") return part
    box.set(part.entry, part.id).set(part.exit, part.id)
    const { id, label, many } = part
    return { kind: "workflow" as const, id, label, caption: "workflow", many }
  })
  const end = (id: string) => box.get(id) ?? id
  const arrows = diagram.arrows.map((arrow) => ({ ...arrow, from: end(arrow.from), to: end(arrow.to) }))
  return { ...diagram, parts, arrows }
}

// The indented tree. A single successor continues on the next line; several are branches. Every part is drawn once and
// referenced afterwards; an arrow that goes back is marked.

type Part = Shape | Frame

/** A part whose successors are still to be written. */
interface Root {
  readonly part: Part
  /** The parts on the path to it: an arrow to one of them goes back. */
  readonly path: ReadonlySet<Part>
  readonly continued: boolean
}

interface Indent {
  /** Before the first line, and before the others of the same row. */
  readonly first: string
  readonly rest: string
}

interface Tree {
  readonly diagram: Diagram
  readonly ends: ReadonlyMap<string, Part>
  readonly names: ReadonlyMap<Part, string>
  readonly width: number
  readonly pen: Pen
  readonly canvas: Canvas
  readonly met: Set<Part>
  /** Parts that continue further down, for lack of space. */
  readonly waiting: Root[]
}

export function drawTree(diagram: Diagram, width: number, pen: Pen): Canvas {
  const ends = partsByEnd(diagram)
  const names = distinctNames(diagram, pen)
  const tree: Tree = { diagram, ends, names, width, pen, canvas: [], met: new Set(), waiting: [] }
  // The start comes first; each part without incoming arrows begins another tree; the rest follows last.
  const led = new Set(
    diagram.arrows.filter(({ from, to }) => ends.get(from) !== ends.get(to)).map(({ to }) => ends.get(to)),
  )
  const roots = diagram.parts.filter((part, i) => i === 0 || !led.has(part))
  for (const part of [...roots, ...diagram.parts]) {
    if (!tree.met.has(part)) begin(tree, { part, path: new Set(), continued: false })
  }
  return tree.canvas
}

function begin(tree: Tree, root: Root): void {
  for (let next: Root | undefined = root; next !== undefined; next = tree.waiting.shift()) {
    const { part, path, continued } = next
    const name = tree.names.get(part) as string
    if (tree.canvas.length > 0) tree.canvas.push([])
    tree.met.add(part)
    row(tree, { first: "", rest: "" }, continued ? `... ${name}` : name, part, "solid")
    descend(tree, part, "", path)
  }
}

function waysOn({ diagram, ends }: Tree, part: Part): Arrow[] {
  return diagram.arrows.filter(({ from }) => ends.get(from) === part)
}

/** Follows single successors down to the first part with several. */
function descend(tree: Tree, from: Part, prefix: string, before: ReadonlySet<Part>): void {
  const path = new Set(before)
  for (let part: Part | undefined = from; part !== undefined; ) {
    path.add(part)
    const on: Arrow[] = waysOn(tree, part)
    const [only] = on
    if (on.length !== 1 || only === undefined) {
      for (const [i, arrow] of on.entries()) branch(tree, arrow, i === on.length - 1, prefix, path)
      return
    }
    // A bare reference has its own symbol.
    const bare = labelOf(tree, only) === "" && tree.met.has(tree.ends.get(only.to) as Part)
    const first = bare ? prefix : `${prefix}${tree.pen.symbols.chain} `
    part = lead(tree, only, { first, rest: `${prefix}  ` }, path)
  }
}

function branch(tree: Tree, arrow: Arrow, last: boolean, prefix: string, path: ReadonlySet<Part>): void {
  const { symbols } = tree.pen
  const first = `${prefix}${last ? symbols.lastBranch : symbols.branch} `
  const rest = `${prefix}${last ? " " : symbols.joints[NORTH | SOUTH]}  `
  const part = lead(tree, arrow, { first, rest }, path)
  if (part === undefined) return
  if (rest.length <= tree.width / 2 || waysOn(tree, part).length === 0) return descend(tree, part, rest, path)
  put(tree.canvas, 0, tree.canvas.length, `${rest}${symbols.chain} ...`, "dim")
  tree.waiting.push({ part, path, continued: true })
}

/** Writes the target of an arrow; returns it if its successors belong below it. */
function lead(tree: Tree, arrow: Arrow, indent: Indent, path: ReadonlySet<Part>): Part | undefined {
  const part = tree.ends.get(arrow.to) as Part
  const { symbols } = tree.pen
  const again = tree.met.has(part)
  const reference = again ? `${path.has(part) ? symbols.back : symbols.refer} ` : ""
  const label = labelOf(tree, arrow)
  const text = `${label === "" ? "" : `${label}: `}${reference}${tree.names.get(part)}`
  tree.met.add(part)
  row(tree, indent, text, part, arrow.style)
  return again ? undefined : part
}

function row({ canvas, width }: Tree, indent: Indent, text: string, part: Part, style: Arrow["style"]): void {
  for (const [i, line] of wrap(text, width - cellWidth(indent.rest), cellWidth).entries()) {
    const start = i === 0 ? indent.first : indent.rest
    const y = canvas.length
    put(canvas, 0, y, start, lineTone(style))
    put(canvas, cellWidth(start), y, line, style === "error" ? "red" : toneOf(part.kind))
  }
}

function labelOf({ pen }: Tree, { label }: Arrow): string {
  return textLines(label, Number.POSITIVE_INFINITY, pen.ascii).join(" ")
}

/** Unambiguous names of parts, for references. */
export function distinctNames({ parts }: Diagram, pen: Pen): ReadonlyMap<Part, string> {
  const used = new Map<string, number>()
  const names = new Map<Part, string>()
  for (const part of parts) {
    const name = shapeName(part, pen)
    const count = (used.get(name) ?? 0) + 1
    used.set(name, count)
    names.set(part, count === 1 ? name : `${name} #${count}`)
  }
  return names
}
