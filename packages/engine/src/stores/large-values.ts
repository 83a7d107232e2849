/**
 * Large values, which a store keeps once, however often they are sent, written or snapshotted. If the JSON of a body is
 * longer than 64 K UTF-16 units, its smallest parts above that length are extracted: the string of an object with a long
 * string and a counter. Each part is addressed by the SHA-256 of its JSON; the rest of the body stays in its row. Smaller
 * bodies cost a check of their length.
 *
 * The paths of extracted parts are stored next to the body, so that no value can be mistaken for an extracted one.
 */
import { createHash } from "node:crypto"

export const LARGE_VALUE = 65_536

type Path = readonly (string | number)[]

export interface LargeValue {
  readonly hash: string
  /** JSON. */
  readonly text: string
}

export interface StoredBody {
  /** The value as JSON, with null in place of each extracted part. */
  readonly text: string
  /** JSON of `[path, hash]` for each large value; null if there is none. */
  readonly places: string | null
  readonly values: readonly LargeValue[]
  /** The size of the whole value as UTF-8. */
  readonly bytes: number
}

const NONE: readonly LargeValue[] = []

/** Throws what JSON.stringify throws. */
export function toStoredBody(value: unknown): StoredBody {
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  if (text.length <= LARGE_VALUE) return { text, places: null, values: NONE, bytes }
  const paths: Path[] = []
  measure(value, [], paths)
  if (paths.length === 0) return { text, places: null, values: NONE, bytes }
  const values = paths
    .map((path) => JSON.stringify(at(value, path)))
    .map((part) => ({ hash: hashOf(part), text: part }))
  const places = JSON.stringify(paths.map((path, i) => [path, values[i]?.hash]))
  return { text: JSON.stringify(paths.reduce(without, value)), places, values, bytes }
}

/** The length of a value's JSON; adds the paths of the smallest parts above the limit. */
function measure(value: unknown, path: (string | number)[], found: Path[]): number {
  if (typeof value !== "object" || value === null) {
    const length = JSON.stringify(value)?.length ?? 0
    if (length > LARGE_VALUE && path.length > 0) found.push([...path])
    return length
  }
  const before = found.length
  let length = 2
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    path.push(key)
    length += measure((value as Record<string | number, unknown>)[key], path, found) + 1
    if (typeof key === "string") length += JSON.stringify(key).length + 1
    path.pop()
  }
  if (length > LARGE_VALUE && path.length > 0 && found.length === before) found.push([...path])
  return length
}

function at(value: unknown, path: Path): unknown {
  return path.reduce((part, key) => (part as Record<string | number, unknown> | null)?.[key], value)
}

/** A copy with null at the path; copies only what changes. */
function without(value: unknown, path: Path): unknown {
  const [key, ...rest] = path
  if (key === undefined) return null
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<
    string | number,
    unknown
  >
  copy[key] = without(copy[key], rest)
  return copy
}

function hashOf(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex")
}

/** Reads the parts of a body, and creates the error for a damaged one. */
export interface BodyParts {
  /** JSON of a large value, as text or UTF-8; undefined if it is missing. */
  find(hash: string): string | Uint8Array | undefined
  /** Values by their hashes. Bodies that are read with the same map share what they have in common. */
  readonly known?: Map<string, unknown> | undefined
  /** `what` ends a sentence about the body. */
  damaged(what: string, cause?: unknown): Error
}

export function fromStoredBody(
  text: string | Uint8Array,
  places: string | null,
  { find, known = new Map(), damaged }: BodyParts,
): unknown {
  const body = parsed(text, "it is not JSON", damaged)
  if (places === null) return body
  for (const [path, hash] of toPlaces(places, damaged)) {
    const which = `the large value at ${JSON.stringify(path)}`
    if (!known.has(hash)) {
      const part = find(hash)
      if (part === undefined) throw damaged(`${which} is missing`)
      if (hashOf(part) !== hash) throw damaged(`${which} does not match what was written`)
      known.set(hash, parsed(part, `${which} is not JSON`, damaged))
    }
    putBack(body, path, known.get(hash), damaged)
  }
  return body
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

function parsed(text: string | Uint8Array, what: string, damaged: BodyParts["damaged"]): unknown {
  try {
    return JSON.parse(typeof text === "string" ? text : decoder.decode(text))
  } catch (error) {
    throw damaged(what, error)
  }
}

function putBack(body: unknown, path: Path, value: unknown, damaged: BodyParts["damaged"]): void {
  const parent = at(body, path.slice(0, -1)) as Record<string | number, unknown> | null | undefined
  const key = path.at(-1) as string | number
  // The path holds null as an own property, so this never sets a prototype, whatever the key.
  if (typeof parent !== "object" || parent === null || !Object.hasOwn(parent, key)) {
    throw damaged(`it has no reference to its large value at ${JSON.stringify(path)}`)
  }
  parent[key] = value
}

function toPlaces(
  text: string,
  damaged: BodyParts["damaged"],
): readonly (readonly [path: Path, hash: string])[] {
  const isSound = (one: unknown) =>
    Array.isArray(one) && Array.isArray(one[0]) && one[0].length > 0 && typeof one[1] === "string"
  let places: unknown
  try {
    places = JSON.parse(text)
  } catch {
    // Reported below.
  }
  if (Array.isArray(places) && places.every(isSound)) return places
  throw damaged("it does not record where its large values belong")
}
