/**
 * JSON Schemas of mappings whose fields depend on a kind, such as a step's `type`. A flat schema has the shape of every
 * field; a table says which fields each kind has. Checks use the same table, so editors and checks agree.
 */

/** One kind of a mapping: what it is for, the fields it has, and those it needs. */
export interface Kind<Field extends string = string> {
  /** A sentence for people. */
  readonly about: string
  readonly fields: readonly Field[]
  /** In the order in which missing ones are reported. A list: at least one of them. */
  readonly required?: readonly (Field | readonly Field[])[] | undefined
  /** Pairs of which exactly one is needed. */
  readonly either?: readonly (readonly [readonly Field[], readonly Field[]])[] | undefined
  /** What a field means in this kind, where it differs from the field's own description. */
  readonly meaning?: Readonly<Partial<Record<Field, string>>> | undefined
}

export type JsonSchema = { readonly [keyword: string]: unknown }

interface Variant {
  /** What editors call it. */
  readonly title: string
  /** Values of fields that this kind fixes, such as its `type`. */
  readonly fixed?: Readonly<Record<string, JsonSchema>> | undefined
  /** Fields that are accepted and not offered: other spellings. */
  readonly quiet?: readonly string[] | undefined
}

/** The schema of one kind: the fields of the flat schema that it has. */
export function kindSchema(
  flat: JsonSchema,
  kind: Kind,
  { title, fixed = {}, quiet = [] }: Variant,
): JsonSchema {
  const { about, fields, required = [], either = [], meaning = {} } = kind
  const shapes = flat.properties as Readonly<Record<string, JsonSchema>>
  const single = required.filter((one) => typeof one === "string")
  const groups = required.filter((one) => typeof one !== "string")
  const own = fields.map((name) => {
    const shape = shapes[name] ?? {}
    return [name, described(single.includes(name) ? filled(shape) : shape, meaning[name])] as const
  })
  const offered = own.map(([name, shape]) => {
    return [name, quiet.includes(name) ? { ...shape, doNotSuggest: true } : shape] as const
  })
  // Rows of a database have empty columns for the fields of other kinds.
  const empty = Object.entries(shapes)
    .filter(([name, shape]) => !fields.includes(name) && isNullable(shape))
    .map(([name]) => [name, { type: "null", doNotSuggest: true }] as const)
  const rules = [
    ...groups.map((names) => ({ anyOf: names.map(has) })),
    ...either.map((pair) => ({ oneOf: pair.map((names) => anyOf(names.map(has))) })),
  ]
  return {
    title,
    type: "object",
    description: about,
    properties: { ...Object.fromEntries([...offered, ...empty]), ...fixed },
    ...(single.length > 0 && { required: single }),
    additionalProperties: false,
    ...(rules.length > 0 && { allOf: rules }),
  }
}

/** The field is there and not empty. */
export function has(name: string): JsonSchema {
  // Editors would offer the field here, whether it is quiet or not.
  return {
    type: "object",
    required: [name],
    properties: { [name]: { not: { type: "null" }, doNotSuggest: true } },
  }
}

/** A mapping whose schema depends on conditions: each choice applies if its condition holds. */
export function chosen(base: JsonSchema, choices: readonly JsonSchema[]): JsonSchema {
  // A value that is no mapping would meet every condition.
  return { type: "object", ...base, ...ifThen({ type: "object" }, { allOf: choices }) }
}

export function ifThen(condition: JsonSchema, met: JsonSchema, otherwise?: JsonSchema): JsonSchema {
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema names it so.
  return { if: condition, then: met, ...(otherwise && { else: otherwise }) }
}

/** The field has one of these values. */
export function isOneOf(field: string, values: readonly unknown[]): JsonSchema {
  const [only] = values
  const value = values.length === 1 ? { const: only } : { enum: values }
  return { properties: { [field]: value }, required: [field] }
}

function anyOf(options: readonly JsonSchema[]): JsonSchema {
  return options.length === 1 ? (options[0] ?? {}) : { anyOf: options }
}

function described(shape: JsonSchema, meaning: string | undefined): JsonSchema {
  if (meaning === undefined) return shape
  // Draft 7 ignores what stands beside a reference.
  return "$ref" in shape ? { description: meaning, allOf: [shape] } : { ...shape, description: meaning }
}

/** Without null, empty strings and empty lists: a required field with one of them is missing. */
function filled(shape: JsonSchema): JsonSchema {
  const { type, anyOf: options } = shape
  if (Array.isArray(options)) {
    const rest = options.filter((one) => !isNullable(one)).map(filled)
    const { anyOf: _, ...more } = shape
    return rest.length === 1 ? { ...rest[0], ...more } : { ...more, anyOf: rest }
  }
  if (type === "string") return { minLength: 1, ...shape }
  return type === "array" ? { minItems: 1, ...shape } : shape
}

function isNullable({ type, anyOf: options }: JsonSchema): boolean {
  if (type === "null" || (Array.isArray(type) && type.includes("null"))) return true
  return Array.isArray(options) && options.some((one) => isNullable(one as JsonSchema))
}
