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
}

const MAX_DEPTH = 500

/** The first reason why a value cannot be journaled, or undefined when it can. */
export function jsonProblem(value: unknown): JsonProblem | undefined {
  // The common messages are decided here, without a walk.
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined
  const path: (string | number)[] = []
  const reason = problemIn(value, path, [])
  return reason === undefined ? undefined : { path: printPath(path), reason }
}

function problemIn(value: unknown, path: (string | number)[], parents: object[]): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined
    case "number":
      return Number.isFinite(value) ? undefined : `is ${value}, which JSON cannot hold`
    case "object":
      return value === null ? undefined : problemInObject(value, path, parents)
    case "undefined":
      return "is undefined; use null"
    default:
      return `is a ${typeof value}, which JSON cannot hold`
  }
}

function problemInObject(value: object, path: (string | number)[], parents: object[]): string | undefined {
  // A cycle always gets this deep, so nobody looks for one before.
  if (parents.length >= MAX_DEPTH) return tooDeep([...parents, value], path)
  parents.push(value)
  const problem = Array.isArray(value)
    ? problemInArray(value, path, parents)
    : problemInRecord(value, path, parents)
  parents.pop()
  return problem
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

function problemInArray(
  value: readonly unknown[],
  path: (string | number)[],
  parents: object[],
): string | undefined {
  for (let i = 0; i < value.length; i++) {
    const item = value[i]
    if (item === null || typeof item === "string") continue
    path.push(i)
    const problem = problemIn(item, path, parents)
    if (problem !== undefined) return problem
    path.pop()
  }
  return undefined
}

function problemInRecord(value: object, path: (string | number)[], parents: object[]): string | undefined {
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    const name = prototype.constructor?.name ?? "a class"
    return `is an instance of ${name}; send plain data instead`
  }
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key]
    if (item === null || item === undefined || typeof item === "string") {
      if (key !== "__proto__") continue
    }
    path.push(key)
    const problem = key === "__proto__" ? "is a key that is not allowed" : problemIn(item, path, parents)
    if (problem !== undefined) return problem
    path.pop()
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
