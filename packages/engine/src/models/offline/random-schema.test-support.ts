/** Random satisfiable JSON Schemas, within bounds, as people and libraries write them. */
import fc from "fast-check"

export type Made = { readonly [keyword: string]: unknown }

const word = fc.constantFrom(
  "answer",
  "reason",
  "count",
  "path",
  "url",
  "email",
  "is_done",
  "tags",
  "name",
  "next",
  "confidence",
  "x",
  "größe",
  "constructor",
  "sources",
)
const PATTERNS = [
  "^[A-Z]{3}-\\d{4}$",
  "^\\d+$",
  "^(foo|bar)[a-c]?$",
  "^[a-z][a-z0-9_-]{2,8}$",
  "\\w+@\\w+\\.com",
  "^#[0-9a-fA-F]{6}$",
  "^[^\\s]+$",
  "^(?:\\d{3}\\.){2}x{1,3}$",
  "^\\p{Lu}\\p{L}*$",
]
const FORMATS = ["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6", "hostname", "duration"]

const stringSchema = fc.oneof(
  fc.constant({ type: "string" }),
  fc
    .record({ least: fc.nat(60), room: fc.nat(40) })
    .map(({ least, room }) => ({ type: "string", minLength: least, maxLength: least + room })),
  fc.nat(12).map((maxLength) => ({ type: "string", maxLength })),
  fc.constantFrom(...PATTERNS).map((pattern) => ({ type: "string", pattern })),
  fc.constantFrom(...FORMATS).map((format) => ({ type: "string", format })),
  fc
    .uniqueArray(fc.oneof(word, fc.constantFrom("accept", "revise", "billing", "", "🙂")), {
      minLength: 1,
      maxLength: 5,
    })
    .map((values) => ({ type: "string", enum: values })),
  fc
    .record({ pattern: fc.constantFrom("^[a-z]+$", "^\\d+$", "^.*$"), minLength: fc.nat(30) })
    .map((rest) => ({ type: "string", ...rest })),
)

const numberSchema = fc
  .record({
    type: fc.constantFrom("number", "integer"),
    low: fc.integer({ min: -50, max: 50 }),
    room: fc.integer({ min: 5, max: 500 }),
    step: fc.constantFrom(1, 2, 3, 5, 0.5, 0.1),
    use: fc.nat(5),
  })
  .map(({ type, low, room, step, use }) => {
    if (use === 0) return { type }
    if (use === 1) return { type, minimum: low, maximum: low + room }
    if (use === 2) return { type, exclusiveMinimum: low, exclusiveMaximum: low + room }
    if (use === 3)
      return {
        type,
        multipleOf: type === "integer" ? Math.ceil(step) : step,
        minimum: low,
        maximum: low + room,
      }
    if (use === 4) return { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }
    return { type, minimum: low }
  })

const plain: fc.Arbitrary<Made> = fc.oneof(
  stringSchema as fc.Arbitrary<Made>,
  numberSchema as fc.Arbitrary<Made>,
  fc.constant({ type: "boolean" }),
  fc.constant({ type: "null" }),
  fc.constant({}),
  fc.constant({ type: ["string", "null"] }),
  fc.constant({ type: ["integer", "string"] }),
  fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), word).map((value) => ({ const: value })),
  fc.constant({ enum: [1, "two", null, { three: 3 }, [4]] }),
)

const { schema } = fc.letrec<{ schema: Made; object: Made; list: Made; branches: Made }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { arbitrary: plain, weight: 4 },
    { arbitrary: tie("object"), weight: 3 },
    { arbitrary: tie("list"), weight: 2 },
    { arbitrary: tie("branches"), weight: 1 },
  ),
  object: fc
    .record({
      fields: fc.dictionary(word, tie("schema"), { maxKeys: 5, noNullPrototype: true }),
      required: fc.array(fc.nat(4), { maxLength: 5 }),
      more: fc.constantFrom(undefined, false, true, { type: "string" }),
      least: fc.nat(3),
      extra: fc.boolean(),
    })
    .map(({ fields, required, more, least, extra }) => {
      const keys = Object.keys(fields)
      const needed = [...new Set(required.flatMap((at) => keys[at] ?? []))]
      return {
        type: "object",
        properties: fields,
        required: extra && more !== false ? [...needed, "unnamed"] : needed,
        ...(more === undefined ? {} : { additionalProperties: more }),
        ...(more === false ? { minProperties: Math.min(least, keys.length) } : { minProperties: least }),
      }
    }),
  list: fc
    .record({ items: tie("schema"), least: fc.nat(4), room: fc.nat(3), use: fc.nat(4), first: tie("schema") })
    .map(({ items, least, room, use, first }) => {
      if (use === 0) return { type: "array", items }
      if (use === 1)
        return {
          type: "array",
          items: { type: "string", minLength: 3 },
          uniqueItems: true,
          minItems: least,
          maxItems: least + room,
        }
      if (use === 2)
        return { type: "array", prefixItems: [first], items, minItems: least + 1, maxItems: least + room + 1 }
      if (use === 3)
        return {
          type: "array",
          items: { type: "integer" },
          contains: { minimum: 7 },
          uniqueItems: true,
          minItems: least,
        }
      return { type: "array", items, minItems: least, maxItems: least + room }
    }),
  branches: fc
    .record({ left: tie("schema"), right: tie("object"), use: fc.nat(4) })
    .map(({ left, right, use }) => {
      if (use === 0) return { anyOf: [left, right] }
      if (use === 1)
        return {
          oneOf: [
            {
              type: "object",
              properties: { kind: { const: "a" }, value: left },
              required: ["kind", "value"],
            },
            {
              type: "object",
              properties: { kind: { const: "b" }, value: right },
              required: ["kind", "value"],
            },
          ],
        }
      if (use === 2)
        return {
          allOf: [
            { type: "object", properties: { left }, required: ["left"] },
            { type: "object", properties: { right }, required: ["right"] },
          ],
        }
      if (use === 3)
        return {
          type: "object",
          properties: { kind: { enum: ["x", "y"] } },
          required: ["kind"],
          if: { properties: { kind: { const: "x" } } },
          // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
          then: { required: ["left"], properties: { left } },
          else: { required: ["right"], properties: { right } },
        }
      return {
        type: "object",
        $defs: {},
        properties: { value: left, not: { not: { type: "string" } } },
        required: ["value", "not"],
      }
    }),
}))

/** A schema, alone or by reference, next to a recursive one. */
export const schemas: fc.Arbitrary<Made> = fc.record({ schema, wrap: fc.nat(3) }).map(({ schema, wrap }) => {
  if (wrap === 0) return schema
  if (wrap === 1) return { $ref: "#/$defs/it", $defs: { it: schema } }
  if (wrap === 2) {
    const tree = {
      type: "object",
      properties: {
        value: schema,
        children: { type: "array", items: { $ref: "#/$defs/tree" } },
        next: { anyOf: [{ $ref: "#/$defs/tree" }, { type: "null" }] },
      },
      required: ["value", "children", "next"],
    }
    return {
      type: "object",
      properties: { root: { $ref: "#/$defs/tree" } },
      required: ["root"],
      $defs: { tree },
    }
  }
  return { allOf: [schema, { description: "Whatever it is." }] }
})
