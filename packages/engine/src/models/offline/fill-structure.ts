/** Objects and lists: which fields, how many items. */
import { clueKind, findClues } from "./clues.ts"
import type { Filling } from "./fill-json.ts"
import type { Place } from "./fill-text.ts"
import { leadsRound, resolve, type SchemaNode, type SchemaObject, schemaMap, strings } from "./json-schema.ts"
import { listedLabels } from "./label.ts"
import { patternSamples } from "./pattern-sample.ts"
import { canonical, fits, isRecord, itemAt, propertySchemas } from "./schema-check.ts"
import { rootsOf, spaced } from "./words.ts"

const DEEP = 5
const USUAL_ITEMS = 3
const MAX_ITEMS = 1_000
const UNIQUE_TRIES = 30

export function fillObject(filling: Filling, schema: SchemaObject, place: Place): Record<string, unknown> {
  const entries = new Map<string, unknown>()
  const required = requiredOf(schema)
  const most = typeof schema.maxProperties === "number" ? schema.maxProperties : Number.POSITIVE_INFINITY
  const least = typeof schema.minProperties === "number" ? schema.minProperties : 0
  const properties = Object.keys(schemaMap(schema.properties))
  const put = (key: string) => entries.set(key, fillProperty(filling, schema, key, place))
  // In the order in which the schema lists them: a reason that is asked for before a verdict comes before it.
  for (const key of properties) {
    if (required.has(key)) put(key)
    else if (entries.size + required.size < most && place.depth <= DEEP && hasEvidence(filling, schema, key))
      put(key)
  }
  for (const key of required) if (!entries.has(key)) put(key)
  for (const key of extraKeys(schema, properties)) {
    if (entries.size >= least || filling.effort <= 0) break
    if (entries.has(key) || !mayHave(filling, schema, key)) continue
    put(key)
  }
  return toRecord(entries)
}

/** With the fields that those need in their turn. */
function requiredOf(schema: SchemaObject): Set<string> {
  const required = new Set(strings(schema.required))
  const needs = Object.entries(schemaMap(schema.dependentRequired))
  for (let size = -1; size !== required.size; ) {
    size = required.size
    for (const [key, names] of needs)
      if (required.has(key)) for (const name of strings(names)) required.add(name)
  }
  return required
}

function fillProperty(filling: Filling, schema: SchemaObject, key: string, place: Place): unknown {
  const [first = {}, ...others] = propertySchemas(schema, key)
  const all = others.length === 0 ? first : { allOf: [first, ...others] }
  const value = filling.fill(all, {
    name: key,
    description: "",
    nth: place.nth,
    depth: place.depth + 1,
    refs: place.refs,
  })
  if (filling.knowledge.isForTool && (typeof value === "string" || typeof value === "number")) {
    filling.knowledge.taken.add(String(value))
  }
  return value
}

/** `__proto__` is a key like any other. */
function toRecord(entries: ReadonlyMap<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(entries)
}

function mayHave(filling: Filling, schema: SchemaObject, key: string): boolean {
  const { propertyNames } = schema
  if (propertyNames !== undefined && !fits(propertyNames as SchemaNode, key, filling.root)) return false
  return !propertySchemas(schema, key).includes(false)
}

function* extraKeys(schema: SchemaObject, properties: readonly string[]): Generator<string> {
  yield* properties
  for (const pattern of Object.keys(schemaMap(schema.patternProperties))) yield* patternSamples(pattern)
  const { propertyNames } = schema
  if (isRecord(propertyNames)) {
    if (Array.isArray(propertyNames.enum)) yield* strings(propertyNames.enum)
    if (typeof propertyNames.pattern === "string") yield* patternSamples(propertyNames.pattern)
  }
  for (let index = 1; index <= 100; index++) yield `field_${index}`
  for (const letter of "abcdefghijklmnopqrstuvwxyz") yield letter
}

/** A field that may be left out is filled in only when the text speaks of it. */
function hasEvidence({ root, knowledge }: Filling, schema: SchemaObject, key: string): boolean {
  const [first] = propertySchemas(schema, key)
  const part = first === undefined ? undefined : resolve(first, root)
  if (typeof part !== "object") return false
  const { request } = knowledge
  if (Array.isArray(part.enum)) {
    const said = new Set(rootsOf(request))
    return part.enum.some(
      (value) => typeof value === "string" && rootsOf(spaced(value)).some((root) => said.has(root)),
    )
  }
  const kind = clueKind(key)
  if (part.type === "string" && kind !== undefined)
    return findClues(kind, request).some((clue) => !knowledge.taken.has(clue))
  if (part.type !== "number" && part.type !== "integer" && part.type !== "boolean" && part.type !== "string")
    return false
  const said = new Set(rootsOf(request))
  const isNamed = rootsOf(spaced(key)).some((root) => said.has(root))
  return isNamed && (part.type === "boolean" || (/\d/.test(request) && part.type !== "string"))
}

export function fillArray(filling: Filling, schema: SchemaObject, place: Place): unknown[] {
  const least = typeof schema.minItems === "number" ? schema.minItems : 0
  const most = typeof schema.maxItems === "number" ? schema.maxItems : MAX_ITEMS
  const must = mustContain(schema)
  const isEnough = place.depth > DEEP || leadsRound(itemAt(schema, 0), place)
  const usual = isEnough ? must : Math.max(must, countFor(filling, schema, place))
  const wanted = Math.min(most, Math.max(least, usual), MAX_ITEMS)
  const items: unknown[] = []
  const seen = new Set<string>()
  for (let index = 0; index < wanted; index++) {
    const part = itemWith(schema, index)
    const item = nextItem(
      filling,
      part,
      { ...place, depth: place.depth + 1 },
      index,
      schema.uniqueItems === true ? seen : undefined,
    )
    const key = canonical(item)
    // More than it must have only as long as there is more to say.
    if (items.length >= Math.max(least, must) && (seen.has(key) || !fits(part, item, filling.root))) break
    items.push(item)
    seen.add(key)
  }
  return items
}

function mustContain({ contains, minContains = 1 }: SchemaObject): number {
  return contains === undefined ? 0 : Number(minContains)
}

/** The schema of an item; the first ones also have what the list must contain. */
function itemWith(schema: SchemaObject, index: number): SchemaNode {
  const item = itemAt(schema, index)
  return index < mustContain(schema) ? { allOf: [item, schema.contains] } : item
}

function nextItem(
  filling: Filling,
  part: SchemaNode,
  place: Place,
  index: number,
  seen: ReadonlySet<string> | undefined,
): unknown {
  const first = filling.fill(part, { ...place, nth: place.nth + index })
  if (seen === undefined || !seen.has(canonical(first))) return first
  for (let again = 0; again < UNIQUE_TRIES && filling.effort > 0; again++) {
    const item = filling.fill(part, { ...place, nth: again })
    if (!seen.has(canonical(item))) return item
    const far = filling.fill(part, { ...place, nth: place.nth + index + again + 1 })
    if (!seen.has(canonical(far))) return far
  }
  return first
}

/** How many items the text is good for. */
function countFor({ root, knowledge }: Filling, schema: SchemaObject, place: Place): number {
  const first = resolve(itemAt(schema, 0), root)
  if (first === undefined || first === false) return 0
  if (typeof first === "object" && Array.isArray(first.enum)) return 1
  if (listedLabels(place.name, `${place.description}\n${knowledge.instructions}`).length > 0) return 1
  const name = spaced(place.name).toLowerCase()
  if (/\b(?:sources?|citations?|references?)\b/.test(name)) return Math.min(10, knowledge.sources().length)
  if (/\b(?:gaps?|errors?|problems?|issues|warnings?|missing)\b/.test(name)) return 0
  if (typeof schema.items === "object" && isTuple(schema)) return 0
  const found = knowledge.hasEvidence ? knowledge.sentences(knowledge.request).length : 1
  return Math.min(USUAL_ITEMS, Math.max(1, found))
}

function isTuple({ items, prefixItems }: SchemaObject): boolean {
  return Array.isArray(items) || Array.isArray(prefixItems)
}
