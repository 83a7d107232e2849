/** Values that may enter the journal: plain JSON data. `own-json.ts` checks it. */
import { clipped } from "../text/internal.ts"

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined }

export interface JsonProblem {
  /** The path in the value, such as `items[3].name`; empty for the value itself. */
  path: string
  reason: string
  /** Set if the value is too large: its size up to where counting stopped. */
  tooLarge?: number
}

/** The default of `limits.valueBytes`: 32 MB. */
export const DEFAULT_VALUE_BYTES: number = 32 * 1024 * 1024

/** The problem as the middle of a sentence: `items[3].name is undefined; use null`. */
export function printJsonProblem({ path, reason }: JsonProblem): string {
  return `${path === "" ? "it" : path} ${reason}`
}

export function printPath(path: readonly (string | number)[]): string {
  let text = ""
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`
    else if (/^[A-Za-z_$][\w$]*$/.test(part)) text += text === "" ? part : `.${part}`
    else text += `[${JSON.stringify(part)}]`
    if (text.length > 200) return clipped(text, 200)
  }
  return text
}

/** Removes properties that are undefined, as JSON does. */
export function omitUndefined<T extends object>(
  parts: T | undefined,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const known: { [K in keyof T]?: Exclude<T[K], undefined> } = {}
  if (parts === undefined) return known
  for (const key of Object.keys(parts) as (keyof T)[]) {
    const value = parts[key]
    if (value !== undefined) known[key] = value as Exclude<T[keyof T], undefined>
  }
  return known
}

/**
 * A frozen copy of an object whose keys are known: `Object.assign` would take one named `__proto__` for the prototype. Not by a
 * spread: on Node 20 every frozen object would then have a hidden class of its own, which takes time and memory.
 */
export function frozenCopy<T extends object>(value: T): T {
  return Object.freeze(Object.assign({}, value))
}
