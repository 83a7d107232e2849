/** SVG as text: elements, numbers, paths. */
import type { Point } from "./outline.ts"

/** How round a bend in a line is. */
const BEND = 10

export function element(name: string, attributes: Record<string, string | number>, text?: string): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === "number" ? number(value) : escaped(value)}"`,
  )
  return text === undefined
    ? `<${name}${list.join("")}/>`
    : `<${name}${list.join("")}>${escaped(text)}</${name}>`
}

/** At most two digits after the point: enough for the eye, and the same on every machine. */
export function number(value: number): string {
  return `${Math.round(value * 100) / 100 || 0}`
}

export function points(list: readonly Point[]): string {
  return list.map(({ x, y }) => `${number(x)},${number(y)}`).join(" ")
}

/** A line through points, its bends rounded. */
export function pathThrough(list: readonly Point[]): string {
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

/** XML allows neither these two characters nor a bare sign that begins an element or an entity. */
function escaped(text: string): string {
  return text
    .replace(/[\ufffe\uffff]/g, "\ufffd")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;")
}
