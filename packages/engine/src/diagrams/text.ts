/** A workflow as text for a terminal: boxes and lines where they fit, else an indented tree. */

import type { Pen } from "./blocks.ts"
import { drawBoxes } from "./boxes.ts"
import { ASCII, type Canvas, canvasLines, put, UNICODE } from "./canvas.ts"
import { type Diagram, type Drawable, diagramOf, type Frame } from "./diagram.ts"
import { textLines } from "./labels.ts"
import { drawTree } from "./tree.ts"

export interface TextOptions {
  /** Columns of the terminal; fewer than 24 count as 24. Default 80. */
  readonly width?: number | undefined
  /** With the colour codes of a terminal. Default false. */
  readonly color?: boolean | undefined
  /** Only ASCII characters; other letters in names become their plain forms, or question marks. Default false. */
  readonly ascii?: boolean | undefined
}

/** How wide text in a drawing may be before it wraps: wide if that fits, else narrow. */
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
  /** Nested workflows that are drawn by themselves, for want of room. */
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
