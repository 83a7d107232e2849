/** Flat readings of a JSON Schema: references resolved, `allOf` merged, one reading for each branch and type. */

export type SchemaNode = boolean | SchemaObject
/** An unchecked schema from a user: every keyword is checked before use. */
export type SchemaObject = { readonly [keyword: string]: unknown }

export function isSchema(value: unknown): value is SchemaNode {
  return typeof value === "boolean" || isObject(value)
}

function isObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

export function schemasIn(value: unknown): Readonly<Record<string, SchemaNode>> {
  return isObject(value) ? (value as Record<string, SchemaNode>) : {}
}

function branches(value: unknown): readonly SchemaNode[] {
  return Array.isArray(value) ? value.filter(isSchema) : []
}

export function strings(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).filter((item) => typeof item === "string")
}

const MAX_REFS = 50
const MAX_READINGS = 64
const MAX_NESTED = 8

/** The schema that a reference resolves to. Undefined if it does not exist or is circular. */
function resolve(node: SchemaNode, root: SchemaNode): SchemaNode | undefined {
  let at: SchemaNode | undefined = node
  for (let followed = 0; typeof at === "object" && typeof at.$ref === "string"; followed++) {
    const { $ref, ...beside }: SchemaObject = at
    const target = followed > MAX_REFS ? undefined : lookUp(String($ref), root)
    if (target === undefined) return undefined
    at = merge(target, beside)
  }
  return at
}

function lookUp(ref: string, root: SchemaNode): SchemaNode | undefined {
  let at: unknown = root
  for (const part of ref.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~").replaceAll("%24", "$")
    at =
      isObject(at) || Array.isArray(at) ? Object.entries(at).find(([name]) => name === key)?.[1] : undefined
  }
  return /^#(?:\/|$)/.test(ref) && isSchema(at) ? at : undefined
}

/** The references of a schema itself and of its branches. */
export function refsIn(node: SchemaNode): readonly string[] {
  if (typeof node !== "object") return []
  const inner = [...branches(node.anyOf), ...branches(node.oneOf), ...branches(node.allOf)]
  return [...strings(node.$ref), ...inner.flatMap(refsIn)]
}

/**
 * Every value of the schema matches one of its readings. Constraints that a reading cannot express are found when the
 * value is checked.
 */
export function readings(node: SchemaNode, root: SchemaNode): SchemaObject[] {
  return flat(node, root, 0).flatMap((reading) => (typeof reading === "object" ? typed(reading) : []))
}

function flat(node: SchemaNode, root: SchemaNode, depth: number): SchemaNode[] {
  const here = resolve(node, root)
  if (here === undefined || here === false) return []
  if (here === true) return [{}]
  const { allOf, anyOf, oneOf, if: condition, then, else: otherwise, ...own } = here
  let found: SchemaNode[] = [own]
  if (depth > MAX_NESTED) return found
  const combine = (parts: readonly SchemaNode[]) => {
    const inner = parts.flatMap((part) => flat(part, root, depth + 1))
    found = found.flatMap((left) => inner.map((right) => merge(left, right))).slice(0, MAX_READINGS)
  }
  for (const part of branches(allOf)) combine([part])
  if (Array.isArray(anyOf)) combine(branches(anyOf))
  if (Array.isArray(oneOf)) combine(branches(oneOf))
  if (isSchema(condition)) {
    const holds = isSchema(then) ? merge(condition, then) : condition
    combine([isSchema(otherwise) ? otherwise : {}, holds, ...(isSchema(then) ? [then] : [])])
  }
  return found
}

const KEYWORDS: Readonly<Record<string, RegExp>> = {
  object: /^(?:properties|required|additionalProperties|patternProperties|minProperties|propertyNames)$/,
  array: /^(?:items|prefixItems|minItems|maxItems|uniqueItems|contains)$/,
  number: /^(?:minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf)$/,
}
const TYPES = ["string", "number", "boolean", "object", "array", "null"]

/** One reading for each type, `null` last. Without a type, the keywords determine the likely ones. */
function typed(schema: SchemaObject): SchemaObject[] {
  if (Object.hasOwn(schema, "const") || Array.isArray(schema.enum)) return [schema]
  const said = strings(schema.type)
  const isLikely = (type: string) => Object.keys(schema).some((key) => KEYWORDS[type]?.test(key))
  const types =
    said.length > 0 ? said : [...TYPES.filter(isLikely), ...TYPES.filter((type) => !isLikely(type))]
  const sorted = [...types].sort((a, b) => Number(a === "null") - Number(b === "null"))
  return sorted.map((type) => ({ ...schema, type }))
}

/** The conjunction of both schemas, as far as one flat schema can express it. */
function merge(left: SchemaNode, right: SchemaNode): SchemaNode {
  if (left === false || right === false) return false
  if (left === true) return right
  if (right === true) return left
  const merged = new Map(Object.entries(left))
  for (const [key, value] of Object.entries(right)) {
    merged.set(key, merged.has(key) ? both(key, merged.get(key), value) : value)
  }
  return Object.fromEntries(merged)
}

function both(key: string, left: unknown, right: unknown): unknown {
  if (/^(?:properties|patternProperties|\$defs|definitions)$/.test(key)) {
    const all = new Map<string, SchemaNode>(Object.entries(schemasIn(left)))
    for (const [name, node] of Object.entries(schemasIn(right))) {
      const other = all.get(name)
      all.set(name, other === undefined ? node : { allOf: [other, node] })
    }
    return Object.fromEntries(all)
  }
  if (key === "required") return [...new Set([...strings(left), ...strings(right)])]
  if (key === "enum" && Array.isArray(left) && Array.isArray(right)) {
    const texts = new Set(right.map((item) => JSON.stringify(item)))
    return left.filter((item) => texts.has(JSON.stringify(item)))
  }
  if (key === "type") return commonTypes(strings(left), strings(right))
  if (/^(?:min|exclusiveMin)/.test(key)) return Math.max(Number(left), Number(right))
  if (/^(?:max|exclusiveMax)/.test(key)) return Math.min(Number(left), Number(right))
  const isNested = key === "items" || key === "additionalProperties" || key === "contains"
  return isNested && isSchema(left) && isSchema(right) ? { allOf: [left, right] } : right
}

function commonTypes(left: readonly string[], right: readonly string[]): readonly string[] {
  const isNumber = (type: string) => type === "number" || type === "integer"
  return left.flatMap((type) => {
    if (right.includes(type)) return [type]
    return isNumber(type) && right.some(isNumber) ? ["integer"] : []
  })
}
