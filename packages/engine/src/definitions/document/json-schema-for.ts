/** A dialect's JSON Schema for editors, made from the schema that checks it. */
import { z } from "zod"

/** Draft 7: what VS Code's JSON and YAML support, and most other editors, understand in full. */
export function jsonSchemaFor(
  schema: z.ZodType,
  { id, title }: { readonly id: string; readonly title: string },
): Record<string, unknown> {
  const { $schema, ...body } = z.toJSONSchema(schema, {
    target: "draft-7",
    // What people write, before defaults and transforms.
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => tidy(jsonSchema),
  })
  return { $schema, $id: id, title, ...(withPlainReferences(body) as object) }
}

/** zod wraps some references (`{ allOf: [{ $ref }] }`), although nothing stands beside them. */
function withPlainReferences(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withPlainReferences)
  if (typeof part !== "object" || part === null) return part
  const entries = Object.entries(part)
  const [first] = entries
  if (entries.length === 1 && first?.[0] === "allOf" && Array.isArray(first[1]) && first[1].length === 1) {
    return withPlainReferences(first[1][0])
  }
  return Object.fromEntries(entries.map(([key, value]) => [key, withPlainReferences(value)]))
}

/** Takes away what says nothing to a person: an editor shows it in its hints. */
function tidy(schema: z.core.JSONSchema.BaseSchema): void {
  // z.int() bounds every whole number by what a double holds exactly.
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  // Keys are always texts.
  const keys = schema.propertyNames
  if (typeof keys === "object" && Object.keys(keys).length === 1 && keys.type === "string") {
    delete schema.propertyNames
  }
}
