/**
 * Reading values by path. What can be reached: own data of plain objects, and elements of arrays. Prototypes,
 * functions, getters, instances of classes and `__proto__` are not there, whoever put them into the value.
 */
import type { Json } from "../../core/index.ts"

export type Path = readonly (string | number)[]

export function valueAt(root: unknown, path: Path): Json | undefined {
  let value = readable(root)
  for (let i = 0; i < path.length && value !== undefined; i++)
    value = member(value, path[i] as string | number)
  return value
}

/** A negative index counts from the end. A number also finds an object's key of that name. */
export function member(value: Json | undefined, key: string | number): Json | undefined {
  if (typeof value !== "object" || value === null) return undefined
  if (Array.isArray(value)) {
    if (typeof key !== "number" || !Number.isInteger(key)) return undefined
    const index = key < 0 ? value.length + key : key
    return index >= 0 && index < value.length ? readable(value[index]) : undefined
  }
  if (key === "__proto__") return undefined
  return readable(Object.getOwnPropertyDescriptor(value, key)?.value)
}

/** The value if it is data, else undefined. Looks at the value itself, not into it. */
export function readable(value: unknown): Json | undefined {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value
    case "object":
      return value === null || Array.isArray(value) || isPlain(value) ? (value as Json) : undefined
    default:
      return undefined
  }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
