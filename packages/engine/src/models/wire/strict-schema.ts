/**
 * JSON Schemas in the subset that providers enforce ("strict"): an object at the root, every property required, no other
 * properties, no bounds. Unsupported constructs are rewritten: an optional property becomes nullable, `oneOf` becomes
 * `anyOf`, a map becomes a list of entries, a tuple becomes a list, and bounds become part of the description. `restore`
 * converts a value of the rewritten schema to a value of the original.
 *
 * S1 the rewritten schema never allows less than the original, except properties that an object does not name; what it
 *    allows in addition is found when the value is checked.
 * S2 `restore` does not change a value that matches the original, and never throws: values are written by models.
 * S3 a construct that cannot be rewritten (a value of any type, an object with unknown properties) is a `problem`, never
 *    a guess.
 */
import type { Json } from "../../core/index.ts"
import {
  compact,
  isShape,
  leaf,
  mapped,
  type Node,
  objectOf,
  property,
  type Shape,
  unionOf,
  unwrapped,
  WRAP,
  wrapped,
} from "./schema-node.ts"

export interface StrictSchema {
  readonly schema: Shape
  restore(value: Json): Json
}

/** The maximum size of a schema. */
export interface StrictLimits {
  readonly levels: number
  readonly properties: number
}

const MAX_ENUM_VALUES = 500
/** The total length of all names and values. */
const MAX_CHARACTERS = 15_000

/** The schema in the subset, or why it cannot be rewritten. */
export function strictSchema(
  schema: Json,
  limits: StrictLimits,
): StrictSchema | { readonly problem: string } {
  try {
    return new Compiler(schema, limits).root()
  } catch (error) {
    if (error instanceof NotStrict) return { problem: error.message }
    throw error
  }
}

class NotStrict extends Error {}

type Path = readonly string[]

class Compiler {
  readonly #root: Json
  readonly #limits: StrictLimits
  readonly #definitions = new Map<string, Node | undefined>()
  #properties = 0
  #values = 0
  #characters = 0

  constructor(root: Json, limits: StrictLimits) {
    this.#root = root
    this.#limits = limits
  }

  root(): StrictSchema {
    const node = this.#node(this.#root, [])
    const made = node.schema.type === "object" ? node : wrapped(node)
    const definitions = [...this.#definitions].map(([name, one]) => [name, one?.schema] as const)
    const { levels, properties } = this.#limits
    if (this.#properties > properties) throw new NotStrict(`it has more than ${properties} properties`)
    if (this.#values > MAX_ENUM_VALUES)
      throw new NotStrict(`its enums have more than ${MAX_ENUM_VALUES} values`)
    if (this.#characters > MAX_CHARACTERS) throw new NotStrict("its names and enum values are too long")
    const depth = Math.max(depthOf(made.schema), ...definitions.map(([, one]) => depthOf(one) + 1))
    if (depth > levels) throw new NotStrict(`it is nested more than ${levels} levels deep`)
    return {
      schema:
        definitions.length === 0 ? made.schema : { ...made.schema, $defs: Object.fromEntries(definitions) },
      restore: (value) => made.restore(value),
    }
  }

  #node(schema: Json, path: Path): Node {
    if (!isShape(schema)) throw this.#problem(path, "may be anything")
    const refused = UNKNOWN.find((key) => schema[key] !== undefined)
    if (refused !== undefined) throw this.#problem(path, `uses ${refused}`)
    if (schema.$ref !== undefined) return this.#reference(schema, path)
    if (schema.allOf !== undefined) return this.#node(this.#merged(schema, path), path)
    const branches = schema.anyOf ?? schema.oneOf
    if (branches !== undefined) return this.#union(schema, branches, path)
    if (schema.const !== undefined) return this.#enum(schema, [schema.const], path)
    if (schema.enum !== undefined) return this.#enum(schema, schema.enum, path)
    if (Array.isArray(schema.type)) {
      const single = schema.type.map((type: Json) => ({ ...schema, type, description: undefined }))
      return this.#union({ description: schema.description, title: schema.title }, single, path)
    }
    return this.#typed(schema, path)
  }

  #typed(schema: Shape, path: Path): Node {
    const type = schema.type ?? (isShape(schema.properties) ? "object" : undefined)
    switch (type) {
      case "object":
        return this.#object(schema, path)
      case "array":
        return this.#list(schema, path)
      case "string":
      case "number":
      case "integer":
      case "boolean":
      case "null":
        return leaf(
          { type, ...described(schema) },
          (value) => typeOf(value) === type || isInteger(value, type),
        )
      default:
        throw this.#problem(path, "may be anything")
    }
  }

  #object(schema: Shape, path: Path): Node {
    const { properties, additionalProperties: others, required = [] } = schema
    if (!isShape(properties) || Object.keys(properties).length === 0) {
      if (isShape(others) && Object.keys(others).length > 0) return this.#map(schema, others, path)
      if (others !== false && properties === undefined)
        throw this.#problem(path, "is an object with any properties")
    }
    if (others !== undefined && others !== false) throw this.#problem(path, "may have other properties")
    const named = Object.entries(isShape(properties) ? properties : {}).flatMap(([name, one]) =>
      one === undefined ? [] : [[name, one] as const],
    )
    const needed = new Set(Array.isArray(required) ? required : [])
    const unnamed = [...needed].find((name) => !named.some(([known]) => known === name))
    if (unnamed !== undefined)
      throw this.#problem(path, `requires "${String(unnamed)}", which it does not describe`)
    this.#properties += named.length
    const parts = named.map(([name, one]) => {
      this.#characters += name.length
      return [name, property(this.#node(one, [...path, name]), needed.has(name))] as const
    })
    return objectOf(new Map(parts), described(schema))
  }

  /** A map becomes a list of `{ key, value }`. */
  #map(schema: Shape, values: Shape, path: Path): Node {
    const { propertyNames } = schema
    const key = isShape(propertyNames)
      ? this.#node({ type: "string", ...propertyNames }, [...path, "*"])
      : leaf({ type: "string" }, (value) => typeof value === "string")
    const value = this.#node(values, [...path, "*"])
    this.#properties += 2
    const entry = objectOf(
      new Map([
        ["key", property(key, true)],
        ["value", property(value, true)],
      ]),
      {},
    )
    const list: Shape = { type: "array", items: entry.schema, ...described(schema, "one entry per key") }
    const isEntries = (one: Json): one is Json[] => Array.isArray(one) && one.every(entry.fits)
    return {
      schema: list,
      fits: isEntries,
      restore(one) {
        if (isEntries(one)) {
          const entries = one.map((item) => item as { readonly key: string; readonly value: Json })
          return Object.fromEntries(entries.map((item) => [item.key, value.restore(item.value)]))
        }
        return isShape(one) ? mapped(one, value.restore) : one
      },
    }
  }

  #list(schema: Shape, path: Path): Node {
    const { prefixItems, items } = schema
    if (items === true || items === undefined) {
      if (prefixItems === undefined) throw this.#problem(path, "is a list of anything")
    }
    const fixed = (Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []).map(
      (one: Json, at) => this.#node(one, [...path, String(at)]),
    )
    const rest = isShape(items) ? this.#node(items, [...path, "*"]) : undefined
    const all = [...fixed, ...(rest === undefined ? [] : [rest])]
    if (all.length === 0) throw this.#problem(path, "is a list of anything")
    const item = all.length === 1 ? (all[0] as Node) : unionOf(all, {})
    const nodeAt = (at: number) => fixed[at] ?? rest ?? item
    const order = fixed.length === 0 ? undefined : `${fixed.length} items in this order`
    return {
      schema: { type: "array", items: item.schema, ...described(schema, order) },
      fits: (value) => Array.isArray(value) && value.every((one: Json, at) => nodeAt(at).fits(one)),
      restore: (value) =>
        Array.isArray(value) ? value.map((one: Json, at) => nodeAt(at).restore(one)) : value,
    }
  }

  #union(schema: Shape, branches: Json, path: Path): Node {
    if (!Array.isArray(branches) || branches.length === 0) throw this.#problem(path, "has no alternatives")
    const { type } = schema
    const other = STRUCTURE.find((key) => schema[key] !== undefined)
    if (other !== undefined) throw this.#problem(path, `has ${other} beside alternatives`)
    const nodes = branches.map((one: Json) => {
      // A type next to the alternatives applies to each of them.
      const typed =
        isShape(one) && one.type === undefined && typeof type === "string" && isPlain(one)
          ? { type, ...one }
          : one
      return this.#node(typed, path)
    })
    return unionOf(nodes, described(schema))
  }

  /** The values of an enum; their type is part of the subset. */
  #enum(schema: Shape, listed: Json, path: Path): Node {
    const values = Array.isArray(listed) ? (listed as readonly Json[]) : []
    if (values.length === 0 || values.some((value) => typeof value === "object" && value !== null)) {
      throw this.#problem(path, "has values that are not strings, numbers or booleans")
    }
    this.#values += values.length
    for (const value of values) this.#characters += typeof value === "string" ? value.length : 0
    const types = [...new Set(values.map(typeOf))]
    const type = types.length === 1 ? (types[0] as string) : types
    return leaf({ type, enum: [...new Set(values)], ...described(schema) }, (value) => values.includes(value))
  }

  #reference(schema: Shape, path: Path): Node {
    const target = String(schema.$ref)
    const other = Object.keys(schema).find((key) => key !== "$ref" && !ANNOTATIONS.has(key))
    if (other !== undefined) throw this.#problem(path, `has ${other} beside a reference`)
    const [, key, written] = /^#(?:\/(\$defs|definitions)\/([^/]+))?$/.exec(target) ?? []
    const name = key === undefined ? "root" : decoded(written ?? "")
    const found =
      target === "#" ? this.#root : key === undefined ? undefined : definition(this.#root, key, name)
    if (found === undefined)
      throw this.#problem(path, `refers to "${target}", which is not one of its definitions`)
    const unique = definitionName(key ?? "", name)
    if (!this.#definitions.has(unique)) {
      this.#characters += unique.length
      // A recursive schema finds the name here, and the node once it exists.
      this.#definitions.set(unique, undefined)
      this.#definitions.set(unique, this.#node(withoutDefinitions(found), [name]))
    }
    // A recursive schema is used before it is complete.
    return {
      schema: { $ref: `#/$defs/${unique}` },
      fits: (value) => this.#definitions.get(unique)?.fits(value) ?? false,
      restore: (value) => this.#definitions.get(unique)?.restore(value) ?? value,
    }
  }

  /** Merges the objects of `allOf` into one. */
  #merged({ allOf, ...own }: Shape, path: Path): Shape {
    const parts = [own, ...(Array.isArray(allOf) ? (allOf as readonly Json[]) : [])].filter(
      (one) => isShape(one) && Object.keys(one).some((key) => !ANNOTATIONS.has(key)),
    ) as Shape[]
    const [only] = parts
    const words = Object.fromEntries(Object.entries(own).filter(([key]) => ANNOTATIONS.has(key)))
    if (parts.length === 1 && only !== undefined)
      return only.$ref === undefined ? { ...words, ...only } : only
    if (only === undefined) throw this.#problem(path, "may be anything")
    const properties: Record<string, Json | undefined> = {}
    const required = new Set<Json>()
    for (const part of parts) {
      if (
        !(part.type === "object" || (part.type === undefined && isShape(part.properties))) ||
        !isOpenObject(part)
      ) {
        throw this.#problem(path, "is composed with allOf")
      }
      for (const [name, one] of Object.entries((part.properties ?? {}) as Shape)) {
        if (properties[name] !== undefined) throw this.#problem([...path, name], "is described twice")
        properties[name] = one
      }
      for (const name of Array.isArray(part.required) ? part.required : []) required.add(name)
    }
    return { ...words, type: "object", properties: properties as Json, required: [...required] }
  }

  #problem(path: Path, why: string): NotStrict {
    return new NotStrict(`${path.length === 0 ? "it" : `"${path.join(".")}"`} ${why}`)
  }
}

/** Keywords that the subset does not support, and that the later check cannot replace. */
const UNKNOWN = [
  "patternProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "dependentSchemas",
  "if",
  "$dynamicRef",
]
const STRUCTURE = ["properties", "items", "prefixItems", "enum", "const"]
const ANNOTATIONS = new Set([
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "discriminator",
  "nullable",
])
/** Bounds that are moved to the description. */
const BOUNDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "default",
]
/** Some libraries write these for every whole number. */
const EVERY_NUMBER = new Set<Json | undefined>([Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER])

function described(schema: Shape, more?: string): Shape {
  const bounds = BOUNDS.flatMap((key) => {
    const value = schema[key]
    return value === undefined || EVERY_NUMBER.has(value) ? [] : [`${key}: ${JSON.stringify(value)}`]
  })
  const words = [...(more === undefined ? [] : [more]), ...bounds].join(", ")
  const { description, title } = schema
  const text = [typeof description === "string" ? description : "", words === "" ? "" : `(${words})`]
    .join(" ")
    .trim()
  return {
    ...(typeof title === "string" && { title }),
    ...(text !== "" && { description: text }),
  }
}

/** A schema that providers accept for parameters and answers without enforcement: an object at the root. */
export function rootedSchema(schema: Json): StrictSchema {
  const own: Shape = isShape(schema) ? schema : {}
  const isObject = own.type === "object" && ROOT_REFUSED.every((key) => own[key] === undefined)
  if (isObject) return { schema: own, restore: (value) => value }
  const { $defs, definitions, $schema: _, ...inner } = own
  return {
    schema: compact({
      type: "object",
      properties: { [WRAP]: inner as Json },
      required: [WRAP],
      additionalProperties: false,
      $defs,
      definitions,
    }),
    restore: (value) => unwrapped(value, () => false),
  }
}

const ROOT_REFUSED = ["anyOf", "oneOf", "allOf", "enum", "not", "const", "$ref", "if"]

function typeOf(value: Json): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return typeof value
}

function isInteger(value: Json, type: Json): boolean {
  return type === "integer" && Number.isInteger(value)
}

/** Whether a type next to the schema cannot contradict it. */
function isPlain(schema: Shape): boolean {
  return ["anyOf", "oneOf", "allOf", "$ref", "enum", "const"].every((key) => schema[key] === undefined)
}

function isOpenObject({ additionalProperties: others, anyOf, oneOf, allOf, $ref }: Shape): boolean {
  return (
    [anyOf, oneOf, allOf, $ref].every((one) => one === undefined) &&
    (others === undefined || others === false)
  )
}

function definition(root: Json, key: string, name: string): Json | undefined {
  const all = isShape(root) ? root[key] : undefined
  return isShape(all) && Object.hasOwn(all, name) ? all[name] : undefined
}

function withoutDefinitions(schema: Json): Json {
  if (!isShape(schema)) return schema
  const { $defs: _, definitions: __, ...rest } = schema
  return compact(rest)
}

function decoded(name: string): string {
  let plain = name
  try {
    plain = decodeURIComponent(name)
  } catch {
    // A name may contain a percent sign.
  }
  return plain.replace(/~1/g, "/").replace(/~0/g, "~")
}

/** A name without characters that need escaping in a reference. Distinct names stay distinct. */
function definitionName(key: string, name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, (character) => `_${character.codePointAt(0)?.toString(16)}`)
  return key === "definitions" ? `definition_${plain}` : key === "" ? "_root" : plain
}

/** The nesting depth of objects and lists. */
function depthOf(schema: Json | undefined): number {
  if (Array.isArray(schema)) return Math.max(0, ...schema.map(depthOf))
  if (!isShape(schema)) return 0
  const { properties, items, anyOf } = schema
  const named = Object.values(isShape(properties) ? properties : {}).map(depthOf)
  const inside = Math.max(0, ...named, depthOf(items), depthOf(anyOf))
  return properties === undefined && items === undefined ? inside : inside + 1
}
