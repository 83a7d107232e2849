/**
 * Large values, which a store keeps once, however often they are sent, written or snapshotted. If the JSON of a body is
 * longer than 64 K UTF-16 units, its smallest parts above that length are extracted: the string of an object with a long
 * string and a counter. Each part is addressed by the SHA-256 of its JSON; the rest of the body stays in its row. Smaller
 * bodies cost a check of their length.
 *
 * The paths of extracted parts are stored next to the body, so that no value can be mistaken for an extracted one.
 *
 * In an encrypted store all three are sealed: the body and the paths for the place of the body, each part for its address.
 */
import { isSealed, plainCodec, type ValueCodec } from "./key-ring.ts"

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
  /** The size of the whole value as UTF-8, before encryption. */
  readonly bytes: number
  /** How much of it is in large values. */
  readonly largeBytes: number
}

/** Where a body belongs, and how it is written. */
export interface BodyPlace {
  readonly codec: ValueCodec
  readonly kind: "record" | "snapshot"
  /** The run, as it is stored. */
  readonly owner: string
  readonly seq: number
}

const NONE: readonly LargeValue[] = []

/** Throws what JSON.stringify throws. */
export function toStoredBody(value: unknown, { codec, kind, owner, seq }: BodyPlace): StoredBody {
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  const paths: Path[] = []
  if (text.length > LARGE_VALUE) measure(value, [], paths)
  if (paths.length === 0) {
    return { text: codec.seal(text, kind, owner, seq), places: null, values: NONE, bytes, largeBytes: 0 }
  }
  const values = paths
    .map((path) => JSON.stringify(at(value, path)))
    .map((part) => ({ hash: codec.address(part), part }))
  const places = JSON.stringify(paths.map((path, i) => [path, values[i]?.hash]))
  const rest = JSON.stringify(paths.reduce(without, value))
  return {
    text: codec.seal(rest, kind, owner, seq),
    places: codec.seal(places, placesKind(kind), owner, seq),
    values: values.map(({ hash, part }) => ({ hash, text: codec.seal(part, VALUE, hash) })),
    bytes,
    largeBytes: bytes - Buffer.byteLength(rest),
  }
}

/** The kind of a sealed large value, whose owner is its address. */
export const VALUE = "value"

/** The kind of the paths that belong to a body. */
export function placesKind(kind: BodyPlace["kind"]): string {
  return `${kind} places`
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
  { codec, kind, owner, seq }: BodyPlace,
  { find, known = new Map(), damaged }: BodyParts,
): unknown {
  const body = parsed(opened(codec, text, damaged, kind, owner, seq), "it is not JSON", damaged)
  if (places === null) return body
  const paths = codec.open(places, damaged, placesKind(kind), owner, seq)
  for (const [path, hash] of toPlaces(paths, damaged)) {
    const which = `the large value at ${JSON.stringify(path)}`
    if (!known.has(hash)) {
      const part = find(hash)
      if (part === undefined) throw damaged(`${which} is missing`)
      const found = opened(codec, part, (what) => damaged(`${which}: ${what}`), VALUE, hash)
      // An address that a key made is no hash of the content: the value was authenticated, if it was sealed.
      const isSound = isSealed(hash) ? found !== part : plainCodec.address(found) === hash
      if (!isSound) throw damaged(`${which} does not match what was written`)
      known.set(hash, parsed(found, `${which} is not JSON`, damaged))
    }
    putBack(body, path, known.get(hash), damaged)
  }
  return body
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Plain bytes stay bytes. */
function opened(
  codec: ValueCodec,
  text: string | Uint8Array,
  damaged: BodyParts["damaged"],
  kind: string,
  owner: string,
  part: string | number = "",
): string | Uint8Array {
  if (!isSealed(text)) return text
  return codec.open(
    typeof text === "string" ? text : new TextDecoder().decode(text),
    damaged,
    kind,
    owner,
    part,
  )
}

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
