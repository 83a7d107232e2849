/** JSON Schema as the offline model reads it: references looked up, `allOf` merged, branches laid out one by one. */

export type SchemaNode = boolean | SchemaObject
// Whatever a user's schema holds; each keyword is looked at before it is used.
export type SchemaObject = { readonly [keyword: string]: unknown }

export function isSchema(value: unknown): value is SchemaNode {
  return typeof value === "boolean" || (typeof value === "object" && value !== null && !Array.isArray(value))
}

export function schemaMap(value: unknown): Readonly<Record<string, SchemaNode>> {
  return isSchema(value) && typeof value === "object" ? (value as Record<string, SchemaNode>) : {}
}

export function schemaList(value: unknown): readonly SchemaNode[] {
  return Array.isArray(value) ? value.filter(isSchema) : []
}

export function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : []
}

const MAX_REFS = 50
const MAX_BRANCHES = 64

/** What a schema says where it stands, its references followed. Undefined: a reference to nowhere, or to itself. */
export function resolve(node: SchemaNode, root: SchemaNode): SchemaNode | undefined {
  let at: SchemaNode | undefined = node
  for (let followed = 0; typeof at === "object" && typeof at.$ref === "string"; followed++) {
    if (followed > MAX_REFS) return undefined
    const { $ref, ...beside }: SchemaObject = at
    const target = lookUp(String($ref), root)
    if (target === undefined) return undefined
    at = Object.keys(beside).some((key) => !NOTES.has(key))
      ? merge(target, beside)
      : described(target, beside)
  }
  return at
}

const NOTES = new Set([
  "description",
  "title",
  "$schema",
  "$defs",
  "definitions",
  "default",
  "examples",
  "$comment",
])

function described(target: SchemaNode, { description }: SchemaObject): SchemaNode {
  return typeof target === "object" && description !== undefined ? { ...target, description } : target
}

function lookUp(ref: string, root: SchemaNode): SchemaNode | undefined {
  if (ref === "#") return root
  if (!ref.startsWith("#")) return undefined
  if (!ref.startsWith("#/")) return anchored(ref.slice(1), root)
  let at: unknown = root
  for (const part of ref.slice(2).split("/")) {
    const key = unescaped(part)
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined
    at = (at as Record<string, unknown>)[key]
  }
  return isSchema(at) ? at : undefined
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")
  } catch {
    return part
  }
}

function anchored(name: string, root: SchemaNode): SchemaNode | undefined {
  if (typeof root !== "object") return undefined
  const definitions = [...Object.values(schemaMap(root.$defs)), ...Object.values(schemaMap(root.definitions))]
  return definitions.find(
    (node) => typeof node === "object" && (node.$anchor === name || node.$id === `#${name}`),
  )
}

/** The references that a schema makes where it stands, itself or in its branches. */
export function refsIn(node: SchemaNode): readonly string[] {
  if (typeof node !== "object") return []
  const branches = [...schemaList(node.anyOf), ...schemaList(node.oneOf), ...schemaList(node.allOf)]
  return [...(typeof node.$ref === "string" ? [node.$ref] : []), ...branches.flatMap(refsIn)]
}

/** True when a schema refers to what is being filled in already. */
export function leadsRound(node: SchemaNode, { refs }: { readonly refs: readonly string[] }): boolean {
  return refsIn(node).some((ref) => refs.includes(ref))
}

/** Flat readings of a schema: without `$ref`, `allOf`, `anyOf`, `oneOf`, `if`. Any value of the schema fits one of them. */
export function readings(node: SchemaNode, root: SchemaNode, depth = 0): SchemaNode[] {
  const here = resolve(node, root)
  if (here === undefined || here === false) return []
  if (here === true) return [{}]
  const { allOf, anyOf, oneOf, if: condition, then, else: otherwise, ...own } = here
  let found: SchemaNode[] = [own]
  if (depth > 8) return found
  const combine = (branches: readonly SchemaNode[]) => {
    const flat = branches.flatMap((branch) => readings(branch, root, depth + 1))
    found = found.flatMap((left) => flat.map((right) => merge(left, right))).slice(0, MAX_BRANCHES)
  }
  for (const part of schemaList(allOf)) combine([part])
  if (Array.isArray(anyOf)) combine(schemaList(anyOf))
  if (Array.isArray(oneOf)) combine(schemaList(oneOf))
  if (isSchema(condition)) {
    const holds = isSchema(then) ? merge(condition, then) : condition
    combine([isSchema(otherwise) ? otherwise : {}, holds, ...(isSchema(then) ? [then] : [])])
  }
  return found
}

/** Both at once, as far as one flat schema can say it; what it cannot, the check of the value finds. */
function merge(left: SchemaNode, right: SchemaNode): SchemaNode {
  if (left === false || right === false) return false
  if (left === true) return right
  if (right === true) return left
  const merged: Record<string, unknown> = { ...left }
  for (const [key, value] of Object.entries(right)) {
    const other = left[key]
    merged[key] = other === undefined ? value : both(key, other, value)
  }
  return merged
}

function both(key: string, left: unknown, right: unknown): unknown {
  switch (key) {
    case "properties":
    case "patternProperties":
    case "$defs":
    case "definitions":
      return mergeMaps(schemaMap(left), schemaMap(right))
    case "required":
      return [...new Set([...strings(left), ...strings(right)])]
    case "enum":
      return Array.isArray(left) && Array.isArray(right)
        ? left.filter((item) => includes(right, item))
        : right
    case "type":
      return commonTypes(left, right)
    case "minimum":
    case "exclusiveMinimum":
    case "minLength":
    case "minItems":
    case "minProperties":
      return Math.max(Number(left), Number(right))
    case "maximum":
    case "exclusiveMaximum":
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return Math.min(Number(left), Number(right))
    case "multipleOf":
      return Number.isInteger(left) && Number.isInteger(right) ? lcm(Number(left), Number(right)) : right
    case "items":
    case "additionalProperties":
    case "contains":
      return isSchema(left) && isSchema(right) ? merge(left, right) : right
    default:
      return right
  }
}

function mergeMaps(left: Readonly<Record<string, SchemaNode>>, right: Readonly<Record<string, SchemaNode>>) {
  const merged: Record<string, SchemaNode> = { ...left }
  for (const [key, node] of Object.entries(right)) {
    const other = Object.hasOwn(left, key) ? left[key] : undefined
    // Two schemas of one property both hold; a reference among them is followed later.
    const value = other === undefined ? node : { allOf: [other, node] }
    Object.defineProperty(merged, key, { value, enumerable: true, writable: true, configurable: true })
  }
  return merged
}

function commonTypes(left: unknown, right: unknown): unknown {
  const many = (value: unknown) => (typeof value === "string" ? [value] : strings(value))
  const common = many(left).flatMap((type) =>
    many(right).includes(type)
      ? [type]
      : type === "number" && many(right).includes("integer")
        ? ["integer"]
        : type === "integer" && many(right).includes("number")
          ? ["integer"]
          : [],
  )
  return common.length === 1 ? common[0] : common
}

function includes(list: readonly unknown[], item: unknown): boolean {
  const text = JSON.stringify(item)
  return list.some((other) => JSON.stringify(other) === text)
}

function lcm(a: number, b: number): number {
  const gcd = (x: number, y: number): number => (y === 0 ? x : gcd(y, x % y))
  return a === 0 || b === 0 ? b : Math.abs((a * b) / gcd(a, b))
}
