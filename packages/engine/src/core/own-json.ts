/**
 * The values of a run are its own. Input, messages, writes, recorded results and answers enter a run here: one walk checks
 * that a value is JSON of a bounded size, copies it and freezes the copy.
 *
 * V1 no code outside the machine can change a value that a run holds: every part of it is a frozen copy.
 * V2 an already owned part is passed on unchanged, whatever its size: it is marked, so no walk is needed.
 * V3 a live value equals the journaled one: undefined properties are omitted, and -0 is 0.
 */
import { DEFAULT_VALUE_BYTES, type Json, type JsonProblem, printPath } from "./json.ts"

const MAX_DEPTH = 500
/** The length that is counted for a number with a fraction: no number counts for more. */
const MAX_NUMBER = 18
const MANY_PARTS = 500
const TOO_LARGE = "is too large"
const TOO_DEEP = `is nested deeper than ${MAX_DEPTH} levels`

/** Returns its argument from the constructor, so that a derived class adds its private field to that object. */
class Itself {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: returning the object is what this class is for.
    return object
  }
}

/**
 * The mark of an owned part: a private field, which no other code can set, read or see. Unlike a WeakMap it costs the
 * garbage collector nothing and is almost free to set, so that even the smallest parts have it.
 */
class Mark extends Itself {
  /** The length of the part's JSON text, and how many levels it has. */
  readonly #size: number
  readonly #levels: number

  constructor(part: object, size: number, levels: number) {
    super(part)
    this.#size = size
    this.#levels = levels
  }

  static isOn(part: object): part is Mark {
    return #size in part
  }
  static size(part: Mark): number {
    return part.#size
  }
  static levels(part: Mark): number {
    return part.#levels
  }
}

/** A value during the check. */
interface Walk {
  readonly most: number
  /** The length of its JSON text so far: a part that occurs several times counts each time. */
  size: number
  /** The deepest level seen in the part that is being walked through. */
  deepest: number
  /** How many objects and lists it has visited. */
  parts: number
  /** Maps the value's parts to their copies: used only for values with many parts, since few values repeat a part. */
  copies: Map<object, Mark> | undefined
  /** Why the walk ended early, and where: the innermost key first. */
  reason: string | undefined
  readonly path: (string | number)[]
}

/**
 * The run's own copy of a value (V1 to V3). Throws the error that `refuse` creates for the first problem. The size is
 * counted on the way, the walk ends where `most` is exceeded, and a part that occurs often is copied once: data that is
 * small in memory and huge as text (a list that holds another twice, which holds another twice, …) costs no more than other
 * data.
 */
export function ownJson(value: unknown, most: number, refuse: (problem: JsonProblem) => Error): Json {
  const scalar = ownScalar(value, most)
  if (scalar !== undefined) return scalar
  const walk = walkUpTo(most)
  const owned = own(value, 0, walk)
  if (owned === undefined || walk.size > most) throw refuse(problemOf(value, walk))
  return owned
}

/** Handles common messages without a walk; undefined for all others. */
export function ownScalar(value: unknown, most: number): Json | undefined {
  if (value === null || typeof value === "boolean") return value
  if (typeof value === "string" && value.length + 2 <= most) return value
  if (typeof value === "number" && Number.isFinite(value) && most >= MAX_NUMBER) return value + 0
  return undefined
}

/** The first reason why a value cannot be journaled, or undefined if it can. */
export function jsonProblem(value: unknown, most: number = DEFAULT_VALUE_BYTES): JsonProblem | undefined {
  const walk = walkUpTo(most)
  return own(value, 0, walk) === undefined || walk.size > most ? problemOf(value, walk) : undefined
}

function walkUpTo(most: number): Walk {
  return { most, size: 0, deepest: 0, parts: 0, copies: undefined, reason: undefined, path: [] }
}

/** The owned value, or undefined if the walk found a problem. */
function own(value: unknown, depth: number, walk: Walk): Json | undefined {
  switch (typeof value) {
    case "string":
      walk.size += value.length + 2
      return value
    case "boolean":
      walk.size += 4
      return value
    case "number":
      if (!Number.isFinite(value)) return end(walk, `is ${value}, which JSON cannot hold`)
      walk.size += numberLength(value)
      // Adding 0 turns -0 into 0 and leaves every other number as it is (V3).
      return value + 0
    case "object":
      if (value !== null) return ownObject(value, depth, walk)
      walk.size += 4
      return null
    case "undefined":
      return end(walk, "is undefined; use null")
    default:
      return end(walk, `is a ${typeof value}, which JSON cannot hold`)
  }
}

function end(walk: Walk, reason: string): undefined {
  walk.reason = reason
}

/** The approximate length of a number's text: computed for every number, so it must be cheap. */
function numberLength(value: number): number {
  if (value !== Math.trunc(value)) return MAX_NUMBER
  const amount = Math.abs(value)
  return amount < 10 ? 1 : amount < 100 ? 2 : amount < 10_000 ? 4 : amount < 1e7 ? 7 : 14
}

/** The approximate length of the JSON text of plain data. Parts that a run owns know theirs. */
export function jsonSize(value: unknown): number {
  if (typeof value === "string") return value.length + 2
  if (typeof value === "number") return numberLength(value)
  if (typeof value !== "object" || value === null) return 4
  if (Mark.isOn(value)) return Mark.size(value)
  let size = 2
  if (Array.isArray(value)) for (const item of value) size += jsonSize(item) + 1
  else for (const [key, item] of Object.entries(value)) size += key.length + 4 + jsonSize(item)
  return size
}

function ownObject(value: object, depth: number, walk: Walk): Json | undefined {
  if (Mark.isOn(value)) return shared(value, depth, walk)
  if (depth >= MAX_DEPTH) return end(walk, TOO_DEEP)
  if (++walk.parts > MANY_PARTS) {
    walk.copies ??= new Map()
    const copied = walk.copies.get(value)
    if (copied !== undefined) return shared(copied, depth, walk)
  }
  const { size, deepest } = walk
  walk.size += 2
  walk.deepest = depth
  const copy = Array.isArray(value) ? ownArray(value, depth, walk) : ownRecord(value, depth, walk)
  if (copy === undefined) return undefined
  const owned = new Mark(copy, walk.size - size, walk.deepest - depth)
  Object.freeze(owned)
  walk.copies?.set(value, owned)
  walk.deepest = Math.max(walk.deepest, deepest)
  return owned as unknown as Json
}

/** V2 */
function shared(value: Mark, depth: number, walk: Walk): Json | undefined {
  const lowest = depth + Mark.levels(value)
  if (lowest >= MAX_DEPTH) return end(walk, TOO_DEEP)
  walk.size += Mark.size(value)
  walk.deepest = Math.max(walk.deepest, lowest)
  return value as unknown as Json
}

function ownArray(value: readonly unknown[], depth: number, walk: Walk): Json[] | undefined {
  const copy: Json[] = []
  walk.size += value.length
  for (let i = 0; i < value.length; i++) {
    const item = own(value[i], depth + 1, walk)
    if (item === undefined) return endAt(walk, i)
    if (walk.size > walk.most) return end(walk, TOO_LARGE)
    copy.push(item)
  }
  return copy
}

function ownRecord(value: object, depth: number, walk: Walk): object | undefined {
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    const name = prototype.constructor?.name ?? "a class"
    return end(walk, `is an instance of ${name}; send plain data instead`)
  }
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    if (key === "__proto__") {
      end(walk, "is a key that is not allowed")
      return endAt(walk, key)
    }
    const item = (value as Record<string, unknown>)[key]
    if (item === undefined) continue
    walk.size += key.length + 4
    const owned = own(item, depth + 1, walk)
    if (owned === undefined) return endAt(walk, key)
    if (walk.size > walk.most) return end(walk, TOO_LARGE)
    copy[key] = owned
  }
  return copy
}

function endAt({ path }: Walk, key: string | number): undefined {
  path.push(key)
}

function problemOf(value: unknown, { size, most, reason, path }: Walk): JsonProblem {
  if (size > most) return { path: "", reason: `is larger than ${most} bytes as JSON`, tooLarge: size }
  path.reverse()
  if (reason !== TOO_DEEP) return { path: printPath(path), reason: reason as string }
  const cycle = cycleOn(value, path)
  if (cycle === undefined) return { path: printPath(path), reason }
  return { path: printPath(path.slice(0, cycle)), reason: "is cyclic: it contains itself" }
}

/**
 * The number of path keys after which a value contains itself. A cycle is always too deep, so only deep values are checked.
 */
function cycleOn(value: unknown, path: readonly (string | number)[]): number | undefined {
  const seen = new Set<unknown>()
  let part = value
  for (let depth = 0; depth <= path.length; depth++) {
    if (seen.has(part)) return depth
    seen.add(part)
    part = (part as Record<string | number, unknown>)[path[depth] as string | number]
  }
  return undefined
}

/**
 * Deeply freezes plain data that the engine created (an entry, an event, a snapshot). A frozen part is owned or was frozen
 * here, so it is already deeply frozen.
 */
export function freezeData<T>(data: T): T {
  if (typeof data !== "object" || data === null || Object.isFrozen(data)) return data
  Object.freeze(data)
  if (Array.isArray(data)) for (let i = 0; i < data.length; i++) freezeData(data[i])
  else for (const key in data) freezeData(data[key])
  return data
}
