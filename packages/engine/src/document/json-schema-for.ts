/** Exports the schemas of documents as JSON Schemas for editors. */
import { z } from "zod"
import { chosen, ifThen, isOneOf, type JsonSchema } from "./kind-schemas.ts"

/** A schema for editors, in draft 7, which VS Code's JSON and YAML extensions and most other editors fully support. */
export function jsonSchemaFor(
  schema: z.ZodType,
  { id, title }: { readonly id: string; readonly title: string },
): Record<string, unknown> {
  const { $schema, ...body } = z.toJSONSchema(schema, {
    target: "draft-7",
    // The input type, before defaults and transforms.
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      tidy(jsonSchema)
      const cases = casesOf(zodSchema)
      if (cases !== undefined) jsonSchema[CASES] = cases
    },
  })
  return { $schema, $id: id, title, ...(withPlainReferences(body) as object) }
}

/** Where the values that choose a branch of a union are kept until its branches are converted. */
const CASES = "x-cases"

interface Cases {
  readonly field: string
  readonly values: readonly (readonly unknown[])[]
}

/** The field that chooses the branch of a union, and its values by branch. */
function casesOf(schema: z.core.$ZodType): Cases | undefined {
  const def: { readonly type: string; readonly discriminator?: string; readonly options?: unknown } =
    schema._zod.def
  const { discriminator: field, options } = def
  if (field === undefined) return undefined
  const branches = options as readonly z.core.$ZodType[]
  return { field, values: branches.map((one) => [...(one._zod.propValues?.[field] ?? [])]) }
}

/** Only the branch that the field chooses applies, so editors offer its fields alone and report its problems alone. */
function unionSchema({ [CASES]: cases, oneOf, anyOf, ...rest }: JsonSchema): JsonSchema {
  const { field, values } = cases as Cases
  const branches = (oneOf ?? anyOf) as readonly JsonSchema[]
  const about = branches.flatMap((one, i) => (values[i] ?? []).map(() => one.description ?? ""))
  const property = {
    enum: values.flat(),
    ...(about.some((one) => one !== "") && { enumDescriptions: about }),
  }
  const base = { ...rest, required: [field], properties: { [field]: property } }
  return chosen(
    base,
    branches.map((branch, i) => ifThen(isOneOf(field, values[i] ?? []), branch)),
  )
}

/** zod wraps some references (`{ allOf: [{ $ref }] }`) without any sibling keywords. */
function withPlainReferences(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withPlainReferences)
  if (typeof part !== "object" || part === null) return part
  const entries = Object.entries(part)
  const [first] = entries
  if (entries.length === 1 && first?.[0] === "allOf" && Array.isArray(first[1]) && first[1].length === 1) {
    return withPlainReferences(first[1][0])
  }
  const plain = Object.fromEntries(entries.map(([key, value]) => [key, withPlainReferences(value)]))
  return CASES in plain ? unionSchema(plain) : plain
}

/** Removes noise from an editor's hints. */
function tidy(schema: z.core.JSONSchema.BaseSchema): void {
  // z.int() limits every whole number to the safe integers.
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  // Keys are always strings.
  const keys = schema.propertyNames
  if (typeof keys === "object" && Object.keys(keys).length === 1 && keys.type === "string") {
    delete schema.propertyNames
  }
}
