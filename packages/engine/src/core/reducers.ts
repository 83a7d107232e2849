/** Reducers: how writes change shared state. Built-in reducers are pure data; the runtime runs all others. */
import type { Json } from "./json.ts"

export type BuiltInReducer = "replace" | "append" | "merge" | "add" | "union"

export interface ChannelSpec {
  readonly key: string
  /** A built-in reducer, or the name of a function that the runtime holds. */
  readonly reducer: BuiltInReducer | (string & {})
  readonly initial?: Json | undefined
  /** Kept from run to run of a thread. Declared with `persist`. */
  readonly lasting?: boolean | undefined
}

const BUILT_IN: ReadonlySet<string> = new Set<BuiltInReducer>(["replace", "append", "merge", "add", "union"])

export function isBuiltInReducer(name: string): name is BuiltInReducer {
  return BUILT_IN.has(name)
}

/** Whether its writes change the current list or object. */
export function writesInPlace(reducer: string): boolean {
  return reducer === "append" || reducer === "union" || reducer === "merge"
}

/** Why a reducer rejects a write, or undefined. Checked before anything is journaled. */
export function writeProblem(reducer: string, write: Json): string | undefined {
  switch (reducer) {
    case "append":
    case "union":
      return Array.isArray(write) ? undefined : `"${reducer}" needs a list`
    case "merge":
      return isRecord(write) ? undefined : '"merge" needs an object'
    case "add":
      return typeof write === "number" ? undefined : '"add" needs a number'
    default:
      return undefined
  }
}

/**
 * Appends to `current` in place: the caller owns it, and the cost of a write is the write's own size, not the
 * state's.
 */
export function reduce(reducer: BuiltInReducer, current: Json | undefined, write: Json): Json {
  switch (reducer) {
    case "replace":
      return write
    case "append": {
      const list = (current ?? []) as Json[]
      for (const item of write as readonly Json[]) list.push(item)
      return list
    }
    case "union":
      return unite((current ?? []) as Json[], write as readonly Json[])
    case "merge": {
      const record = (current ?? {}) as Record<string, Json | undefined>
      // The journal's JSON omits a key without a value too.
      for (const [key, value] of Object.entries(write as object)) if (value !== undefined) record[key] = value
      return record
    }
    case "add":
      return ((current as number | undefined) ?? 0) + (write as number)
  }
}

/** A copy that the machine may write into: its own top level, with the items by reference. */
export function ownCopy(value: Json): Json {
  if (Array.isArray(value)) return value.slice()
  return isRecord(value) ? { ...value } : value
}

/** The members of a `union` list, so that a write costs its own size and not the list's. Derived, never stored. */
const members = new WeakMap<Json[], Set<string>>()

function unite(list: Json[], write: readonly Json[]): Json[] {
  let seen = members.get(list)
  if (seen === undefined) {
    seen = new Set(list.map(canonicalJson))
    members.set(list, seen)
  }
  for (const item of write) {
    const identity = canonicalJson(item)
    if (seen.has(identity)) continue
    seen.add(identity)
    list.push(item)
  }
  return list
}

/** JSON with sorted keys, so that equal data has equal text. */
export function canonicalJson(value: Json): string {
  return canonicalText(value, undefined)
}

/** The same; objects whose text is in `written` are not serialized again. */
export function canonicalText(value: Json, written: WeakMap<object, string> | undefined): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item, written)).join(",")}]`
  if (!isRecord(value)) return JSON.stringify(value)
  const known = written?.get(value)
  if (known !== undefined) return known
  const parts: string[] = []
  for (const key of Object.keys(value).sort()) {
    const item = value[key]
    if (item !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalText(item, written)}`)
  }
  return `{${parts.join(",")}}`
}

export function isRecord(value: Json | undefined): value is { readonly [key: string]: Json | undefined } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
