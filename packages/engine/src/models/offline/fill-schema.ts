/**
 * Fills in a JSON Schema from the facts of a prompt. Ajv checks the value; a part that does not match is filled in
 * another way until it does. Only a schema that is unsatisfiable or too large gets a value that does not match.
 */
import { isSuperstepError, type Json } from "../../core/index.ts"
import { spaced } from "../../text/internal.ts"
import { patternSamples } from "../../text/patterns/index.ts"
import { jsonSchema } from "../../tools/internal.ts"
import {
  type FieldPosition,
  fillBoolean,
  fillNumber,
  fillString,
  isMentioned,
  matches,
  orderLabels,
} from "./fill-values.ts"
import type { Facts } from "./quote.ts"
import {
  isSchema,
  readings,
  refsIn,
  type SchemaNode,
  type SchemaObject,
  schemasIn,
  strings,
} from "./schema-readings.ts"

export interface Filled {
  readonly value: unknown
  /** Fields for which the prompt has no value. */
  readonly invented: ReadonlySet<string>
}

const MAX_ATTEMPTS = 40

export async function fillSchema(schema: SchemaNode, facts: Facts, name = ""): Promise<Filled> {
  const turns = new Map<string, number>()
  for (let attempt = 1; ; attempt++) {
    const filling = new Filling(schema, facts, turns)
    const value = filling.fill(schema, { name, description: "", path: "", nth: 0, depth: 0, refs: [] })
    const misfits = await misfitsIn(schema, value)
    if (misfits.size === 0 || attempt === MAX_ATTEMPTS) return { value, invented: filling.invented }
    for (const path of misfits) turns.set(path, (turns.get(path) ?? 0) + 1)
  }
}

/** The paths at which the value does not match. Empty for a schema that cannot be checked. */
async function misfitsIn(schema: SchemaNode, value: unknown): Promise<ReadonlySet<string>> {
  try {
    const { issues = [] } = await jsonSchema(schema as Json)["~standard"].validate(value)
    return new Set(issues.map(({ path = [] }) => path.map((part) => `/${String(part)}`).join("")))
  } catch (error) {
    if (isSuperstepError(error, "SCHEMA_INVALID")) return new Set()
    throw error
  }
}

const MAX_VALUES = 4_000
const MAX_DEPTH = 24
/** Beyond this depth, the simplest reading is used. */
const DEEP = 5
const USUAL_ITEMS = 3
const MAX_ITEMS = 1_000
const UNIQUE_TRIES = 30

class Filling {
  readonly invented = new Set<string>()
  readonly #root: SchemaNode
  readonly #facts: Facts
  readonly #turns: ReadonlyMap<string, number>
  #room = MAX_VALUES

  constructor(root: SchemaNode, facts: Facts, turns: ReadonlyMap<string, number>) {
    this.#root = root
    this.#facts = facts
    this.#turns = turns
  }

  fill(node: SchemaNode, field: FieldPosition): unknown {
    if (field.depth > MAX_DEPTH || this.#room-- <= 0) return null
    const refs = refsIn(node)
    const isRound = refs.some((ref) => field.refs.includes(ref))
    const options = this.#ordered(readings(node, this.#root), field, isRound || field.depth > DEEP)
    const turn = this.#turns.get(field.path) ?? 0
    const reading = options[turn % Math.max(1, options.length)]
    if (reading === undefined) return null
    return this.#fillReading(reading, {
      ...field,
      refs: [...field.refs, ...refs],
      description: typeof reading.description === "string" ? reading.description : field.description,
      nth: field.nth + Math.floor(turn / options.length),
    })
  }

  #ordered(options: readonly SchemaObject[], field: FieldPosition, isDeep: boolean): readonly SchemaObject[] {
    if (options.length < 2) return options
    if (isDeep) return [...options].sort((a, b) => sizeOf(a) - sizeOf(b))
    const labels = options.map((option) => ({ value: labelOf(option), description: option.description }))
    const { order, isMeant } = orderLabels(labels, field.description, this.#facts)
    return isMeant ? order.map((index) => options[index] as SchemaObject) : options
  }

  #fillReading(schema: SchemaObject, field: FieldPosition): unknown {
    if (Object.hasOwn(schema, "const")) return schema.const
    if (Array.isArray(schema.enum)) return this.#fillEnum(schema.enum, field)
    switch (schema.type) {
      case "object":
        return this.#fillObject(schema, field)
      case "array":
        return this.#fillArray(schema, field)
      case "null":
        return null
      default: {
        const fillIn =
          schema.type === "boolean" ? fillBoolean : schema.type === "string" ? fillString : fillNumber
        const { value, isFound } = fillIn(schema, field, this.#facts)
        if (!isFound) this.invented.add(field.name)
        return value
      }
    }
  }

  #fillEnum(values: readonly unknown[], { name, description, nth }: FieldPosition): unknown {
    const labels = values.map((value) => ({ value }))
    const { order, isMeant } = orderLabels(labels, description, this.#facts)
    if (!isMeant) this.invented.add(name)
    return values[order[nth % Math.max(1, order.length)] ?? 0] ?? null
  }

  #fillObject(schema: SchemaObject, field: FieldPosition): Record<string, unknown> {
    const properties = Object.keys(schemasIn(schema.properties))
    const required = requiredIn(schema)
    const fields = new Map<string, unknown>()
    const put = (name: string) => {
      const parts = propertySchemas(schema, name)
      const node: SchemaNode = parts.length === 1 ? (parts[0] as SchemaNode) : { allOf: parts }
      if (parts.includes(false)) return
      const path = `${field.path}/${name}`
      fields.set(name, this.fill(node, { ...field, name, description: "", path, depth: field.depth + 1 }))
    }
    for (const name of properties) {
      const isWanted = field.depth <= DEEP && isMentioned(name, this.#facts)
      if (required.has(name) || isWanted) put(name)
    }
    for (const name of required) if (!fields.has(name)) put(name)
    for (const name of otherNames(schema, properties)) {
      if (fields.size >= numberIn(schema.minProperties, 0) || this.#room <= 0) break
      if (!fields.has(name)) put(name)
    }
    return Object.fromEntries(fields)
  }

  #fillArray(schema: SchemaObject, field: FieldPosition): unknown[] {
    const must = schema.contains === undefined ? 0 : numberIn(schema.minContains, 1)
    const least = Math.max(must, numberIn(schema.minItems, 0))
    const most = Math.min(numberIn(schema.maxItems, MAX_ITEMS), MAX_ITEMS)
    const isRound = refsIn(itemAt(schema, 0)).some((ref) => field.refs.includes(ref))
    const usual = isRound || field.depth > DEEP ? 0 : this.#usualItems(schema, field)
    const items: unknown[] = []
    const seen = new Set<string>()
    for (let index = 0; index < Math.min(most, Math.max(least, usual)); index++) {
      const item = itemAt(schema, index)
      const node = index < must ? { allOf: [item, schema.contains] } : item
      const fillAs = (nth: number) =>
        this.fill(node, { ...field, path: `${field.path}/${index}`, nth, depth: field.depth + 1 })
      let value = fillAs(field.nth + index)
      for (let again = 0; again < UNIQUE_TRIES && seen.has(JSON.stringify(value)); again++) {
        if (index >= least || schema.uniqueItems !== true) break
        value = fillAs(again % 2 === 0 ? again / 2 : field.nth + index + again)
      }
      // Optional items are added only while the prompt has values for them.
      if (index >= least && seen.has(JSON.stringify(value))) break
      seen.add(JSON.stringify(value))
      items.push(value)
    }
    return items
  }

  #usualItems(schema: SchemaObject, { name }: FieldPosition): number {
    const words = spaced(name).toLowerCase()
    const item = itemAt(schema, 0)
    if (/\b(?:gaps?|errors?|problems?|issues|warnings?|missing)\b/.test(words)) return 0
    if (/\b(?:sources?|citations?|references?)\b/.test(words))
      return Math.min(10, this.#facts.sources().length)
    if (item === false || Array.isArray(schema.prefixItems) || Array.isArray(schema.items)) return 0
    if (typeof item === "object" && Array.isArray(item.enum)) return 1
    return Math.min(USUAL_ITEMS, Math.max(1, this.#facts.sentences(this.#facts.request).length))
  }
}

/** The label of a branch: its constant, the first constant among its fields, or its title. */
function labelOf(schema: SchemaObject): string {
  const fields = Object.values(schemasIn(schema.properties)).map((part) => Object(part).const)
  return strings([schema.const, ...fields, schema.title])[0] ?? ""
}

function sizeOf({ type }: SchemaObject): number {
  return type === "null" ? 0 : type === "object" ? 3 : type === "array" ? 2 : 1
}

/** Required fields, including those that they require in turn. */
function requiredIn(schema: SchemaObject): ReadonlySet<string> {
  const required = new Set(strings(schema.required))
  const needs = schemasIn(schema.dependentRequired)
  // Iterating over a set also visits items that are added meanwhile.
  for (const name of required) for (const next of strings(needs[name] ?? [])) required.add(next)
  return required
}

/** The schemas that a property must match. */
function propertySchemas(schema: SchemaObject, name: string): SchemaNode[] {
  const own = Object.entries(schemasIn(schema.properties)).filter(([key]) => key === name)
  const patterned = Object.entries(schemasIn(schema.patternProperties)).filter(([key]) => matches(key, name))
  const found = [...own, ...patterned].map(([, node]) => node)
  if (found.length > 0) return found
  return [isSchema(schema.additionalProperties) ? schema.additionalProperties : true]
}

/** Names for additional properties. */
function* otherNames(schema: SchemaObject, properties: readonly string[]): Generator<string> {
  yield* properties
  for (const pattern of Object.keys(schemasIn(schema.patternProperties)))
    yield* patternSamples(pattern, 0, 10)
  const { enum: names, pattern } = Object(schema.propertyNames)
  yield* strings(names)
  if (typeof pattern === "string") yield* patternSamples(pattern, 0, 10)
  for (let index = 1; index <= 100; index++) yield `field_${index}`
}

/** The schema of the item at an index: its own in a tuple, otherwise that of all items. */
function itemAt({ prefixItems, items, additionalItems }: SchemaObject, index: number): SchemaNode {
  const tuple = Array.isArray(items) ? items : prefixItems
  const own: unknown = Array.isArray(tuple) ? tuple[index] : undefined
  const rest = Array.isArray(items) ? additionalItems : items
  return isSchema(own) ? own : isSchema(rest) ? rest : true
}

function numberIn(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise
}
