/** Renders a workflow as a self-contained SVG: no scripts, no fonts, no external resources. */
import { type Drawable, diagramOf, labelLines } from "@superstep/engine/diagrams"
import {
  corners,
  FONT,
  formOf,
  LEADING,
  moved,
  type Placed,
  type PlacedArrow,
  type PlacedFrame,
  type PlacedShape,
  type Point,
  place,
  textWidth,
} from "./layout.ts"

/** Colours for light screens, for dark screens, or by the reader's setting. */
export type Theme = "auto" | "light" | "dark"

export interface SvgOptions {
  /** `auto` follows the reader's setting. Default `auto`. */
  readonly theme?: Theme | undefined
}

const MARGIN = 16
const TITLE = 28

/** Returns the text of an SVG file. The same graph returns the same text. */
export function toSvg(workflow: Drawable, options: SvgOptions = {}): string {
  const diagram = diagramOf(workflow)
  const title = labelLines(diagram.name).join(" ")
  const placed = place(diagram)
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

/** Draws frames below lines, lines below shapes, and labels on top. */
function content({ parts, arrows }: Placed, ground = "p"): string[] {
  return [
    ...parts.flatMap((part) => (part.look === "frame" ? frameMarkup(part) : [])),
    ...arrows.flatMap(arrowMarkup),
    ...parts.flatMap((part) => (part.look === "frame" ? [] : shapeMarkup(part))),
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

/** A label covers the line behind it with the background colour. */
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

const CLASSES: Partial<Record<PlacedShape["look"], string>> = { start: "mark", output: "mark", end: "mark" }
/** The height of a cylinder's lid. */
const LID = 6

function shapeMarkup(shape: PlacedShape): string[] {
  const name = CLASSES[shape.look] ?? shape.look
  const copies = shape.many ? [5, 0] : [0]
  return [
    `<g class="n ${name}">`,
    ...copies.flatMap((by) => shapeBody({ ...shape, x: shape.x + by, y: shape.y + by }, name)),
    ...words(shape),
    "</g>",
  ]
}

function shapeBody(shape: PlacedShape, name: string): string[] {
  const { x, y, width, height } = shape
  const [left, top] = [x - width / 2, y - height / 2]
  const form = formOf(shape.look)
  const rect = (rx: number) => element("rect", { class: name, x: left, y: top, width, height, rx })
  if (form === "polygon") return [element("polygon", { class: name, points: points(corners(shape)) })]
  if (form === "cylinder") return [cylinder(left, top, width, height, name)]
  if (form === "lined") {
    const side = (at: number) => `M${number(at)} ${number(top)}v${number(height)}`
    return [rect(2), element("path", { class: name, d: `${side(left + 7)}${side(left + width - 7)}` })]
  }
  return [rect(Math.min(form, height / 2))]
}

function cylinder(left: number, top: number, width: number, height: number, name: string): string {
  const arc = (sweep: number, dx: number) => `a${number(width / 2)} ${LID} 0 0 ${sweep} ${number(dx)} 0`
  const start = `M${number(left)} ${number(top + LID)}`
  const wall = number(height - 2 * LID)
  const d = `${start}${arc(1, width)}v${wall}${arc(1, -width)}z${start}${arc(0, width)}`
  return element("path", { class: name, d })
}

function words({ x, y, lines, caption, look }: PlacedShape): string[] {
  const small = caption === "" ? 0 : LEADING.small
  const height = lines.length * LEADING.name + small
  // The lid of a cylinder contains no text.
  const top = y - height / 2 + (look === "state" ? LID : 0)
  const rows = lines.map((line, i) =>
    element("text", { class: "t", x, y: top + small + i * LEADING.name + 13 }, line),
  )
  return caption === "" ? rows : [element("text", { class: "s", x, y: top + 10 }, caption), ...rows]
}

/** The radius of a bend. */
const BEND = 10

function element(name: string, attributes: Record<string, string | number>, text?: string): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === "number" ? number(value) : escaped(value)}"`,
  )
  return text === undefined
    ? `<${name}${list.join("")}/>`
    : `<${name}${list.join("")}>${escaped(text)}</${name}>`
}

/** At most two decimals: precise enough to see, and equal on every machine. */
function number(value: number): string {
  return `${Math.round(value * 100) / 100 || 0}`
}

function points(list: readonly Point[]): string {
  return list.map(({ x, y }) => `${number(x)},${number(y)}`).join(" ")
}

/** A line through points, with rounded bends. */
function pathThrough(list: readonly Point[]): string {
  const at = ({ x, y }: Point) => `${number(x)} ${number(y)}`
  const parts = list.map((point, i) => {
    const [before, after] = [list[i - 1], list[i + 1]]
    if (before === undefined) return `M${at(point)}`
    if (after === undefined) return `L${at(point)}`
    return `L${at(towards(point, before))}Q${at(point)} ${at(towards(point, after))}`
  })
  return parts.join("")
}

function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y)
  const share = length === 0 ? 0 : Math.min(BEND, length / 2) / length
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}

/** XML allows neither these two noncharacters nor unescaped markup characters. */
function escaped(text: string): string {
  return text
    .replace(/[\ufffe\uffff]/g, "\ufffd")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;")
}

interface Palette {
  readonly paper: string
  readonly ink: string
  readonly muted: string
  readonly line: string
  readonly frame: string
  readonly error: string
  /** The fill and the border of each look that has a colour. */
  readonly looks: Readonly<Record<string, readonly [string, string]>>
}

const LIGHT: Palette = {
  paper: "#ffffff",
  ink: "#1f2328",
  muted: "#59636e",
  line: "#6e7781",
  frame: "#f6f8fa",
  error: "#cf222e",
  looks: {
    box: ["#f6f8fa", "#8c959f"],
    agent: ["#ddf4ff", "#0969da"],
    tool: ["#eef0fb", "#5a63c7"],
    human: ["#fbefff", "#8250df"],
    handoff: ["#e6fbf5", "#1b7c63"],
    state: ["#fff3e6", "#b35900"],
    workflow: ["#f6f8fa", "#57606a"],
    choice: ["#fff8c5", "#9a6700"],
    bar: ["#424a53", "#424a53"],
    mark: ["#dafbe1", "#1a7f37"],
    limit: ["#ffebe9", "#cf222e"],
  },
}

const DARK: Palette = {
  paper: "#0d1117",
  ink: "#e6edf3",
  muted: "#9198a1",
  line: "#8b949e",
  frame: "#151b23",
  error: "#ff7b72",
  looks: {
    box: ["#212830", "#656c76"],
    agent: ["#0c2d4d", "#4493f8"],
    tool: ["#1e2352", "#8f99f5"],
    human: ["#2f1d4d", "#ab7df8"],
    handoff: ["#0b3329", "#3fb598"],
    state: ["#3d2407", "#e09b13"],
    workflow: ["#212830", "#9198a1"],
    choice: ["#372a05", "#d29922"],
    bar: ["#c9d1d9", "#c9d1d9"],
    mark: ["#0f2d18", "#3fb950"],
    limit: ["#3d1214", "#f85149"],
  },
}

/** The style rules for one theme, or for both themes with a media query. */
function styleSheet(theme: Theme): string {
  const fixed = [
    `.superstep text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}`,
    ".superstep .t{font-size:13px;text-anchor:middle}",
    ".superstep .s{font-size:11px;text-anchor:middle}",
    ".superstep .h{font-size:13px;font-weight:600}",
    ".superstep .e,.superstep .n{fill:none;stroke-width:1.5}",
    ".superstep .n path,.superstep .n rect,.superstep .n polygon{stroke-width:1.5}",
    ".superstep .dashed,.superstep .error{stroke-dasharray:5 4}",
  ]
  const colours = theme === "dark" ? rules(DARK) : rules(LIGHT)
  const other = theme === "auto" ? [`@media(prefers-color-scheme:dark){${rules(DARK).join("")}}`] : []
  return [...fixed, ...colours, ...other].join("\n")
}

function rules({ paper, ink, muted, line, frame, error, looks }: Palette): string[] {
  return [
    `.superstep .p{fill:${paper}}`,
    `.superstep .q{fill:${frame}}`,
    `.superstep text{fill:${ink};stroke:none}`,
    `.superstep .s{fill:${muted}}`,
    `.superstep .e{stroke:${line}}`,
    `.superstep .a{fill:${line};stroke:none}`,
    `.superstep .e.error{stroke:${error}}`,
    `.superstep .a.error,.superstep .s.error{fill:${error}}`,
    `.superstep .frame{fill:${frame};stroke:${muted}}`,
    ...Object.entries(looks).map(
      ([name, [fill, stroke]]) => `.superstep .${name}{fill:${fill};stroke:${stroke}}`,
    ),
    `.superstep .bar .t{fill:${paper}}`,
  ]
}
