/** One shape with its text. */
import { LEADING, type PlacedShape } from "./layout.ts"
import { element, number, points } from "./markup.ts"
import { formOf, type Point } from "./outline.ts"

const CLASSES: Partial<Record<PlacedShape["look"], string>> = { start: "mark", output: "mark", end: "mark" }
/** How high the lid of a cylinder is. */
const LID = 6

export function shapeMarkup(shape: PlacedShape, outline: readonly Point[]): string[] {
  const name = CLASSES[shape.look] ?? shape.look
  const copies = shape.many ? [5, 0] : [0]
  return [
    `<g class="n ${name}">`,
    ...copies.flatMap((by) =>
      body(
        { ...shape, x: shape.x + by, y: shape.y + by },
        outline.map(({ x, y }) => ({ x: x + by, y: y + by })),
        name,
      ),
    ),
    ...words(shape),
    "</g>",
  ]
}

function body(shape: PlacedShape, outline: readonly Point[], name: string): string[] {
  const { x, y, width, height } = shape
  const [left, top] = [x - width / 2, y - height / 2]
  const form = formOf(shape.look)
  const rect = (rx: number) => element("rect", { class: name, x: left, y: top, width, height, rx })
  if (form === "polygon") return [element("polygon", { class: name, points: points(outline) })]
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
  // The lid of a cylinder is not for writing on.
  const top = y - height / 2 + (look === "state" ? LID : 0)
  const rows = lines.map((line, i) =>
    element("text", { class: "t", x, y: top + small + i * LEADING.name + 13 }, line),
  )
  return caption === "" ? rows : [element("text", { class: "s", x, y: top + 10 }, caption), ...rows]
}
