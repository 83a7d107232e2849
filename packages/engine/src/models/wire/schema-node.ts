/** Parts of a schema that was rewritten for a provider: the schema to send, and a function that restores values. */
import type { Json } from "../../core/index.ts"

export type Shape = { readonly [key: string]: Json | undefined }

/** A rewritten part of the schema. */
export interface Node {
  readonly schema: Shape
  /** Whether a value matches the rewritten schema: distinguishes the branches of a union. */
  fits(value: Json): boolean
  restore(value: Json): Json
}

export interface Property {
  readonly node: Node
  readonly schema: Shape
  /** Null represents an absent property. */
  readonly isAbsent: (value: Json) => boolean
}

export function property(node: Node, isRequired: boolean): Property {
  if (isRequired || node.fits(null)) return { node, schema: node.schema, isAbsent: () => false }
  return { node, schema: nullable(node.schema), isAbsent: (value) => value === null }
}

function nullable(schema: Shape): Shape {
  const { type, enum: values, anyOf, description, ...rest } = schema
  const words = description === undefined ? {} : { description }
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] }
  if (typeof type === "string" && type !== "object" && type !== "array") {
    return {
      type: [type, "null"],
      ...(Array.isArray(values) && { enum: [...values, null] }),
      ...rest,
      ...words,
    }
  }
  return { anyOf: [{ ...schema, description: undefined }, { type: "null" }].map(compact), ...words }
}

export function objectOf(properties: ReadonlyMap<string, Property>, words: Shape): Node {
  const names = [...properties.keys()]
  return {
    schema: {
      type: "object",
      ...words,
      properties: Object.fromEntries([...properties].map(([name, { schema }]) => [name, schema])) as Json,
      required: names,
      additionalProperties: false,
    },
    fits(value) {
      if (!isShape(value) || Object.keys(value).some((name) => !properties.has(name))) return false
      return [...properties].every(([name, { node, isAbsent }]) => {
        const one = value[name]
        // A model whose schema is not enforced may omit properties.
        return one === undefined ? isAbsent(null) : isAbsent(one) || node.fits(one)
      })
    },
    restore(value) {
      if (!isShape(value)) return value
      const entries = Object.entries(value).flatMap(([name, one]) => {
        const known = properties.get(name)
        if (known === undefined || one === undefined) return [[name, one] as const]
        return known.isAbsent(one) ? [] : [[name, known.node.restore(one)] as const]
      })
      return Object.fromEntries(entries) as Json
    },
  }
}

export function unionOf(alternatives: readonly Node[], words: Shape): Node {
  const nodes = distinct(alternatives)
  const [only] = nodes
  if (nodes.length === 1 && only !== undefined && only.schema.$ref === undefined) {
    return { ...only, schema: { ...only.schema, ...words } }
  }
  // Flattens nested unions.
  const flat = nodes.flatMap(({ schema }) =>
    Array.isArray(schema.anyOf) && Object.keys(schema).length === 1 ? (schema.anyOf as Json[]) : [schema],
  )
  return {
    schema: { anyOf: flat as Json, ...words },
    fits: (value) => nodes.some((node) => node.fits(value)),
    restore: (value) => nodes.find((node) => node.fits(value))?.restore(value) ?? value,
  }
}

/** Removes duplicate alternatives. */
function distinct(nodes: readonly Node[]): Node[] {
  const seen = new Set<string>()
  return nodes.filter(({ schema }) => {
    const text = JSON.stringify(schema)
    return seen.has(text) ? false : seen.add(text)
  })
}

export function leaf(schema: Shape, fits: (value: Json) => boolean): Node {
  return { schema, fits, restore: (value) => value }
}

/** The property that wraps a value that is not allowed at the root. */
export const WRAP = "value"

export function wrapped(node: Node): Node {
  const whole = objectOf(new Map([[WRAP, property(node, true)]]), {})
  return { ...whole, restore: (value) => node.restore(unwrapped(value, node.fits)) }
}

export function unwrapped(value: Json, fits: (value: Json) => boolean): Json {
  if (!isShape(value) || Object.keys(value).length !== 1 || value[WRAP] === undefined) return value
  // A value that has a property with this name, and that the model wrote without the wrapper, stays.
  return !fits(value[WRAP]) && fits(value) ? value : value[WRAP]
}

export function isShape(value: Json | undefined): value is Shape {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

export function compact(shape: Shape): Shape {
  return Object.fromEntries(Object.entries(shape).filter(([, value]) => value !== undefined)) as Shape
}

export function mapped(shape: Shape, change: (value: Json) => Json): Json {
  return Object.fromEntries(
    Object.entries(shape).flatMap(([key, value]) => (value === undefined ? [] : [[key, change(value)]])),
  )
}
