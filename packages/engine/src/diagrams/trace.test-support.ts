/** Reads a drawing like a person: follows lines from box to box, down or up but never both. */
import type { BoxArea, Drawing } from "./boxes.ts"
import { EAST, NORTH, SOUTH, UNICODE, WEST } from "./canvas.ts"

/** From one part to another, by their indexes in the list; the label by the index of its arrow. */
export interface Read {
  readonly from: number
  readonly to: number
  readonly label: number | undefined
}

type Stop = { readonly kind: "part" | "label"; readonly index: number; readonly place: BoxArea }

const WAYS = new Map<string, number>([
  ...Array.from(UNICODE.joints, (sign, ways): [string, number] => [sign, ways]),
  ["│", NORTH | SOUTH],
  ["─", EAST | WEST],
  [UNICODE.dashed.upright, NORTH | SOUTH],
  [UNICODE.dashed.level, EAST | WEST],
  [UNICODE.down, NORTH | SOUTH],
  [UNICODE.up, NORTH | SOUTH],
])

export function readDrawing(drawing: Drawing): Read[] {
  const stops = [
    ...drawing.parts.map((place, index): Stop => ({ kind: "part", index, place })),
    ...Array.from(drawing.labels, ([index, place]): Stop => ({ kind: "label", index, place })),
  ]
  const cells = new Map<string, Stop>()
  for (const stop of stops) {
    const { x, y, width, height } = stop.place
    for (let dy = 0; dy < height; dy++)
      for (let dx = 0; dx < width; dx++) cells.set(`${x + dx} ${y + dy}`, stop)
  }
  const sheet: Sheet = {
    sign: (x, y) => drawing.canvas[y]?.[x]?.text ?? " ",
    stop: (x, y) => cells.get(`${x} ${y}`),
  }
  return stops
    .filter(({ kind }) => kind === "part")
    .flatMap((stop) => [...leaving(sheet, stop, 1), ...leaving(sheet, stop, -1)])
}

interface Sheet {
  readonly sign: (x: number, y: number) => string
  readonly stop: (x: number, y: number) => Stop | undefined
}

/** The targets of the lines that leave a part on its lower or upper side. */
function leaving(sheet: Sheet, part: Stop, dy: 1 | -1): Read[] {
  const { x, width } = part.place
  const read: Read[] = []
  for (let at = x; at < x + width; at++) {
    for (const first of stopsFrom(sheet, at, edge(part, dy), dy, part)) {
      if (first.kind === "part") read.push({ from: part.index, to: first.index, label: undefined })
      else {
        for (const last of stopsFrom(sheet, middle(first), edge(first, dy), dy, first)) {
          read.push({ from: part.index, to: last.index, label: first.index })
        }
      }
    }
  }
  return read
}

function edge({ place }: Stop, dy: 1 | -1): number {
  return dy === 1 ? place.y + place.height : place.y - 1
}

function middle({ place }: Stop): number {
  return place.x + (place.width - 1) / 2
}

/** Where a line from a stop in a column leads, without turning back. */
function stopsFrom(sheet: Sheet, x: number, y: number, dy: 1 | -1, from: Stop): Stop[] {
  const touched = sheet.stop(x, y)
  // A label directly below a box needs no line to it.
  if (touched !== undefined)
    return dy === 1 && touched.kind === "label" && middle(touched) === x ? [touched] : []
  const arrives = dy === 1 ? UNICODE.up : UNICODE.down
  const back = dy === 1 ? NORTH : SOUTH
  if (sheet.sign(x, y) === arrives || ((WAYS.get(sheet.sign(x, y)) ?? 0) & back) === 0) return []
  const found: Stop[] = []
  const open: [x: number, y: number, without: number][] = [[x, y, back]]
  for (let cell = open.pop(); cell !== undefined; cell = open.pop()) {
    const [cx, cy, without] = cell
    const ways = (WAYS.get(sheet.sign(cx, cy)) ?? 0) & ~without & ~back
    if (ways & (dy === 1 ? SOUTH : NORTH)) {
      const stop = sheet.stop(cx, cy + dy)
      const head = sheet.sign(cx, cy) === (dy === 1 ? UNICODE.down : UNICODE.up)
      if (stop === undefined) open.push([cx, cy + dy, back])
      else if (stop.kind === "label" || head) found.push(stop)
      else throw new Error(`A line from ${from.kind} ${from.index} has no head at ${cx} ${cy}.`)
    }
    for (const [way, opposite, dx] of [[EAST, WEST, 1] as const, [WEST, EAST, -1] as const]) {
      if ((ways & way) === 0) continue
      let nx = cx + dx
      // A vertical line that meets a horizontal one without a joint only crosses it.
      while (((WAYS.get(sheet.sign(nx, cy)) ?? 0) & (EAST | WEST)) === 0) nx += dx
      open.push([nx, cy, opposite])
    }
  }
  return found
}
