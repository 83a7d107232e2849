/**
 * State by path. It is stored flat, with `report.title` beside `report.score`, so that nodes that write at the same time keep
 * each other's values. Reading assembles it.
 *
 * P1 If a path and a longer one below it both have a value, the longer one is newer: a write marks all paths below it.
 */
import type { Json } from "../../../core/index.ts"
import { isRecord } from "../../../core/internal.ts"
import { valueAt } from "../../../expressions/index.ts"

export type StatePath = readonly (string | number)[]
type FlatState = Readonly<Record<string, Json>>

/** Overwritten by a shorter path. */
const GONE = { $gone: true }

/** `outputs.my-node.items[0]`, `outputs["a.b"]`; undefined if it is not a path. */
export function readPath(text: string): StatePath | undefined {
  const part = /\.?([^.[\]"'\s]+)|\[(?:(-?\d+)|"([^"]*)"|'([^']*)')\]/y
  const path: (string | number)[] = []
  const source = text.trim()
  while (part.lastIndex < source.length) {
    const found = part.exec(source)
    if (found === null || (path.length === 0 && (found[2] !== undefined || source.startsWith("."))))
      return undefined
    const [, name, index, one, two] = found
    path.push(index === undefined ? (name ?? one ?? two ?? "") : Number(index))
  }
  return path.length === 0 || path.includes("__proto__") ? undefined : path
}

/** The writes that give `path` the value. */
export function writePath(current: FlatState, path: StatePath, value: Json): Record<string, Json> {
  const key = path.join(".")
  const writes: Record<string, Json> = { [key]: value }
  for (const other of Object.keys(current)) if (other.startsWith(`${key}.`)) writes[other] = GONE
  return writes
}

export function readState(state: FlatState, path: StatePath): Json | undefined {
  let value = written(state, path)
  const above = path.length === 0 ? "" : `${path.join(".")}.`
  for (const [key, one] of Object.entries(state)) {
    if (key.startsWith(above) && key.length > above.length && isLive(one)) {
      value = withAt(value, key.slice(above.length).split("."), one)
    }
  }
  return value
}

/** The value at the longest path at or above it. */
function written(state: FlatState, path: StatePath): Json | undefined {
  for (let length = path.length; length > 0; length--) {
    const key = path.slice(0, length).join(".")
    if (!Object.hasOwn(state, key) || !isLive(state[key])) continue
    return valueAt(state[key], path.slice(length))
  }
  return undefined
}

function withAt(value: Json | undefined, path: readonly string[], one: Json): Json {
  const [name, ...rest] = path
  if (name === undefined) return one
  if (Array.isArray(value) && /^\d+$/.test(name) && Number(name) < value.length) {
    return value.map((item: Json, i) => (i === Number(name) ? withAt(item, rest, one) : item))
  }
  const own = isRecord(value) ? value : {}
  return { ...own, [name]: withAt(Object.hasOwn(own, name) ? own[name] : undefined, rest, one) }
}

function isLive(value: Json | undefined): value is Json {
  return value !== undefined && !(isRecord(value) && value.$gone === true)
}
