/**
 * What may enter the journal: plain JSON data. A value is checked once, when a handler hands it over, so that
 * a run in memory and a run that came back from disk see the same thing.
 */

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined }

export interface JsonProblem {
  /** Where in the value, like `items[3].name`; empty for the value itself. */
  path: string
  reason: string
  /** Set when the value is larger than it may be: its size up to where the count was broken off. */
  tooLarge?: number
}

const MAX_DEPTH = 500

/** The largest value that a run takes unless `limits.valueBytes` says otherwise: 32 MB. */
export const DEFAULT_VALUE_BYTES: number = 32 * 1024 * 1024

/** A value on its way through the check. */
interface Walk {
  readonly path: (string | number)[]
  readonly parents: object[]
  readonly most: number
  /** The length of its JSON text so far: what occurs in several places counts in each. */
  size: number
}

/**
 * The first reason why a value cannot be journaled, or undefined when it can. Its size is counted on the way, as the length
 * of its JSON text; the walk ends where `most` is exceeded, so that data which is small in memory and endless as text (a
 * list that holds another twice, which holds another twice, …) costs no more than other data.
 */
export function jsonProblem(value: unknown, most: number = DEFAULT_VALUE_BYTES): JsonProblem | undefined {
  // The common messages are decided here, without a walk.
  if (value === null || typeof value === "boolean") return undefined
  if (typeof value === "string" && value.length + 2 <= most) return undefined
  const walk: Walk = { path: [], parents: [], most, size: 0 }
  const reason = problemIn(value, walk)
  if (reason === undefined && walk.size <= most) return undefined
  if (walk.size <= most) return { path: printPath(walk.path), reason: reason as string }
  return { path: "", reason: `is larger than ${most} bytes as JSON`, tooLarge: walk.size }
}

/** Ends a walk in which the value has grown too large; `jsonProblem` says so. */
const TOO_LARGE = "is too large"

function problemIn(value: unknown, walk: Walk): string | undefined {
  switch (typeof value) {
    case "string":
      walk.size += value.length + 2
      break
    case "boolean":
      walk.size += 4
      break
    case "number":
      if (!Number.isFinite(value)) return `is ${value}, which JSON cannot hold`
      walk.size += numberLength(value)
      break
    case "object":
      if (value !== null) return problemInObject(value, walk)
      walk.size += 4
      break
    case "undefined":
      return "is undefined; use null"
    default:
      return `is a ${typeof value}, which JSON cannot hold`
  }
  return walk.size > walk.most ? TOO_LARGE : undefined
}

/** About as long as the text of a number is: it is looked at for every number there is. */
function numberLength(value: number): number {
  if (value !== Math.trunc(value)) return 18
  const amount = Math.abs(value)
  return amount < 10 ? 1 : amount < 100 ? 2 : amount < 10_000 ? 4 : amount < 1e7 ? 7 : 14
}

function problemInObject(value: object, walk: Walk): string | undefined {
  const { parents } = walk
  // A cycle always gets this deep, so nobody looks for one before.
  if (parents.length >= MAX_DEPTH) return tooDeep([...parents, value], walk.path)
  walk.size += 2
  parents.push(value)
  const problem = Array.isArray(value) ? problemInArray(value, walk) : problemInRecord(value, walk)
  parents.pop()
  return problem ?? (walk.size > walk.most ? TOO_LARGE : undefined)
}

/** Leaves in `path` the place where a cycle closes. */
function tooDeep(chain: readonly object[], path: (string | number)[]): string {
  const seen = new Set<object>()
  for (const [depth, link] of chain.entries()) {
    if (seen.has(link)) {
      path.length = depth
      return "is cyclic: it contains itself"
    }
    seen.add(link)
  }
  return `is nested deeper than ${MAX_DEPTH} levels`
}

function problemInArray(value: readonly unknown[], walk: Walk): string | undefined {
  const { path } = walk
  walk.size += value.length
  for (let i = 0; i < value.length; i++) {
    const item = value[i]
    if (item === null) walk.size += 4
    else if (typeof item === "string") walk.size += item.length + 2
    else {
      path.push(i)
      const problem = problemIn(item, walk)
      if (problem !== undefined) return problem
      path.pop()
    }
    if (walk.size > walk.most) return TOO_LARGE
  }
  return undefined
}

function problemInRecord(value: object, walk: Walk): string | undefined {
  const { path } = walk
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    const name = prototype.constructor?.name ?? "a class"
    return `is an instance of ${name}; send plain data instead`
  }
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key]
    if (key === "__proto__") {
      path.push(key)
      return "is a key that is not allowed"
    }
    if (item === undefined) continue
    walk.size += key.length + 4
    if (item === null) walk.size += 4
    else if (typeof item === "string") walk.size += item.length + 2
    else {
      path.push(key)
      const problem = problemIn(item, walk)
      if (problem !== undefined) return problem
      path.pop()
    }
    if (walk.size > walk.most) return TOO_LARGE
  }
  return undefined
}

/** The problem as the middle of a sentence: `items[3].name is undefined; use null`. */
export function printJsonProblem({ path, reason }: JsonProblem): string {
  return `${path === "" ? "it" : path} ${reason}`
}

function printPath(path: readonly (string | number)[]): string {
  let text = ""
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`
    else if (/^[A-Za-z_$][\w$]*$/.test(part)) text += text === "" ? part : `.${part}`
    else text += `[${JSON.stringify(part)}]`
    if (text.length > 200) return `${text.slice(0, 200)}…`
  }
  return text
}
