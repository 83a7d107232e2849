/** A workflow as an SVG that stands by itself: no script, no font, nothing loaded. */
import { type Drawable, labelLines, pictureOf } from "@superstep/engine/pictures"
import { outlineOf } from "./arrow-line.ts"
import type { PlacedFrame } from "./layout.ts"
import { FONT, LEADING, moved, type Placed, type PlacedArrow, place } from "./layout.ts"
import { element, number, pathThrough, points } from "./markup.ts"
import { textWidth } from "./measure.ts"
import { shapeMarkup } from "./shape.ts"
import { styleSheet, type Theme } from "./style.ts"

export interface SvgOptions {
  /** `auto` follows the reader's setting. Default `auto`. */
  readonly theme?: Theme | undefined
}

const MARGIN = 16
const TITLE = 28

/** The text of an SVG file; the same graph gives the same text. */
export function toSvg(workflow: Drawable, options: SvgOptions = {}): string {
  const picture = pictureOf(workflow)
  const title = labelLines(picture.name).join(" ")
  const placed = place(picture)
  const inner = Math.max(placed.width, textWidth(title, FONT.name))
  const [width, height] = [inner + 2 * MARGIN, placed.height + TITLE + 2 * MARGIN]
  const drawing = moved(placed, MARGIN + (inner - placed.width) / 2, MARGIN + TITLE)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="superstep" role="img" width="${number(width)}" height="${number(height)}" viewBox="0 0 ${number(width)} ${number(height)}">`,
    element("title", {}, title),
    `<style>\n${styleSheet(options.theme ?? "auto")}\n</style>`,
    element("rect", { class: "p", width, height }),
    element("text", { class: "h", x: MARGIN, y: MARGIN + FONT.name }, title),
    ...content(drawing),
    "</svg>",
    "",
  ].join("\n")
}

/** Frames lie below lines, lines below shapes, labels on top. */
function content({ parts, arrows }: Placed, ground = "p"): string[] {
  return [
    ...parts.flatMap((part) => (part.look === "frame" ? frameMarkup(part) : [])),
    ...arrows.flatMap(arrowMarkup),
    ...parts.flatMap((part) => (part.look === "frame" ? [] : shapeMarkup(part, outlineOf(part)))),
    ...arrows.flatMap((arrow) => labelMarkup(arrow, ground)),
  ]
}

function frameMarkup({ x, y, width, height, lines, many, inside }: PlacedFrame): string[] {
  const [left, top] = [x - width / 2, y - height / 2]
  const box = { class: "frame", width, height, rx: 6 }
  return [
    ...(many ? [element("rect", { ...box, x: left + 5, y: top + 5 })] : []),
    element("rect", { ...box, x: left, y: top }),
    ...lines.map((line, i) =>
      element("text", { class: "h", x: left + 12, y: top + 20 + i * LEADING.name }, line),
    ),
    ...content(inside, "q"),
  ]
}

function arrowMarkup({ style, points: line }: PlacedArrow): string[] {
  const [tip, before] = [line.at(-1), line.at(-2)]
  if (tip === undefined || before === undefined) return []
  const length = Math.hypot(tip.x - before.x, tip.y - before.y) || 1
  const [ux, uy] = [(tip.x - before.x) / length, (tip.y - before.y) / length]
  const back = { x: tip.x - 8 * ux, y: tip.y - 8 * uy }
  const head = [tip, { x: back.x - 4 * uy, y: back.y + 4 * ux }, { x: back.x + 4 * uy, y: back.y - 4 * ux }]
  const name = style === "solid" ? "" : ` ${style}`
  return [
    element("path", { class: `e${name}`, d: pathThrough(line) }),
    element("polygon", { class: `a${style === "error" ? " error" : ""}`, points: points(head) }),
  ]
}

/** A label hides the line behind it with the colour of the ground it stands on. */
function labelMarkup({ label, style }: PlacedArrow, ground: string): string[] {
  if (label === undefined) return []
  const { x, y, width, height, lines } = label
  const first = y - height / 2 + FONT.small + 1
  return [
    element("rect", { class: ground, x: x - width / 2, y: y - height / 2, width, height, rx: 3 }),
    ...lines.map((line, i) =>
      element("text", { class: style === "error" ? "s error" : "s", x, y: first + i * LEADING.small }, line),
    ),
  ]
}
