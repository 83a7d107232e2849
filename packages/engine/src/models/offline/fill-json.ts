/**
 * Fills in a schema. Every reading of it is tried in the order of meaning, and what is given has been checked against it;
 * only a schema that asks for what this cannot make gets a value that does not fit.
 */
import { fillBoolean, fillNumber } from "./fill-number.ts"
import { fillArray, fillObject } from "./fill-structure.ts"
import { fillText, type Place } from "./fill-text.ts"
import { leadsRound, readings, refsIn, type SchemaNode, type SchemaObject, strings } from "./json-schema.ts"
import type { Knowledge } from "./knowledge.ts"
import { orderLabels } from "./label.ts"
import { canonical, fits } from "./schema-check.ts"

export interface Filling {
  readonly root: SchemaNode
  readonly knowledge: Knowledge
  /** Steps that are left before it stops to try other ways: no schema may keep it busy. */
  effort: number
  fill(schema: SchemaNode, place: Place): unknown
}

const EFFORT = 4_000
const TRIES = 6
const DEEP = 5
const DEEPEST = 24

export function fillJson(schema: SchemaNode, knowledge: Knowledge, name = ""): unknown {
  const filling: Filling = {
    root: schema,
    knowledge,
    effort: EFFORT,
    fill: (part, place) => fillAt(filling, part, place),
  }
  return filling.fill(schema, { name, description: "", nth: 0, depth: 0, refs: [] })
}

function fillAt(filling: Filling, schema: SchemaNode, place: Place): unknown {
  filling.effort--
  if (place.depth > DEEPEST) return null
  const refs = [...place.refs, ...refsIn(schema)]
  const flat = orderReadings(filling, readings(schema, filling.root), {
    ...place,
    depth: leadsRound(schema, place) ? DEEPEST : place.depth,
  })
  let last: unknown = null
  for (let again = 0; again < TRIES; again++) {
    for (const reading of flat) {
      const here = {
        ...place,
        refs,
        description: noteOf(reading) ?? place.description,
        nth: place.nth + again,
      }
      last = fillFlat(filling, reading, here)
      if (fits(schema, last, filling.root)) return last
      if (filling.effort <= 0) return last
    }
  }
  return last
}

function noteOf(schema: SchemaNode): string | undefined {
  const note = typeof schema === "object" ? schema.description : undefined
  return typeof note === "string" ? note : undefined
}

/** By meaning, where the branches are labels or say what they are for; the plain ones first when it gets deep. */
function orderReadings(filling: Filling, flat: readonly SchemaNode[], place: Place): SchemaObject[] {
  const found = flat.filter((reading): reading is SchemaObject => typeof reading === "object")
  if (found.length < 2) return found
  if (place.depth > DEEP) return [...found].sort((a, b) => weightOf(a) - weightOf(b))
  const labels = found.map((reading) => ({ value: labelOf(reading), description: noteOf(reading) }))
  const { order, isMeant } = orderLabels(labels, place.description, filling.knowledge)
  const sorted = isMeant
    ? order.map((index) => found[index] as SchemaObject)
    : [...found].sort((a, b) => Number(isNull(a)) - Number(isNull(b)))
  return place.nth === 0
    ? sorted
    : [...sorted.slice(place.nth % sorted.length), ...sorted.slice(0, place.nth % sorted.length)]
}

function isNull({ type, const: only }: SchemaObject): boolean {
  return type === "null" || only === null
}

function weightOf({ type, properties, items }: SchemaObject): number {
  return type === "null"
    ? 0
    : properties !== undefined || type === "object"
      ? 3
      : items !== undefined || type === "array"
        ? 2
        : 1
}

/** What a branch is called: its constant, the constant of its first field that has one, its title. */
function labelOf(schema: SchemaObject): string {
  if (typeof schema.const === "string") return schema.const
  for (const part of Object.values(schema.properties ?? {})) {
    const only = typeof part === "object" && part !== null && "const" in part ? part.const : undefined
    if (typeof only === "string") return only
  }
  return typeof schema.title === "string" ? schema.title : ""
}

function fillFlat(filling: Filling, schema: SchemaObject, place: Place): unknown {
  if (Object.hasOwn(schema, "const")) return schema.const
  if (Array.isArray(schema.enum)) return fillEnum(filling, schema, schema.enum, place)
  const types = typesOf(schema)
  const [first = "string"] = types
  for (const type of types) {
    const value = fillType(filling, type, schema, place)
    if (fits(schema, value, filling.root) || filling.effort <= 0) return value
  }
  return fillType(filling, first, schema, place)
}

function fillType(filling: Filling, type: string, schema: SchemaObject, place: Place): unknown {
  const own = { ...schema, type }
  switch (type) {
    case "object":
      return fillObject(filling, own, place)
    case "array":
      return fillArray(filling, own, place)
    case "number":
    case "integer":
      return fillNumber(own, place, filling.knowledge)
    case "boolean":
      return fillBoolean(place, filling.knowledge)
    case "null":
      return null
    default:
      return fillText(own, place, filling.knowledge)
  }
}

function fillEnum(filling: Filling, schema: SchemaObject, values: readonly unknown[], place: Place): unknown {
  const { enum: _, ...others } = schema
  const fitting = values.filter((value) => fits(others, value, filling.root))
  const seen = new Set<string>()
  const distinct = fitting.filter((value) => !seen.has(canonical(value)) && seen.add(canonical(value)))
  const { order, isMeant } = orderLabels(
    distinct.map((value) => ({ value })),
    place.description,
    filling.knowledge,
  )
  if (!isMeant) filling.knowledge.madeUp.push(place.name)
  return distinct[order[place.nth % Math.max(1, order.length)] ?? 0] ?? values[0] ?? null
}

/** The types it may have: as it says, or as its keywords tell. `null` only when there is nothing else. */
function typesOf(schema: SchemaObject): string[] {
  const said = typeof schema.type === "string" ? [schema.type] : [...strings(schema.type)]
  if (said.length > 0) return said.sort((a, b) => Number(a === "null") - Number(b === "null"))
  const tells = (keys: readonly string[]) => keys.some((key) => schema[key] !== undefined)
  const told: string[] = []
  if (
    tells([
      "properties",
      "required",
      "additionalProperties",
      "patternProperties",
      "minProperties",
      "propertyNames",
    ])
  )
    told.push("object")
  if (tells(["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"])) told.push("array")
  if (tells(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])) told.push("number")
  if (tells(["minLength", "maxLength", "pattern", "format"])) told.push("string")
  return [
    ...told,
    ...["string", "number", "boolean", "object", "array", "null"].filter((type) => !told.includes(type)),
  ]
}
