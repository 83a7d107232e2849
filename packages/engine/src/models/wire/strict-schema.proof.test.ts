/** Schemas rewritten for providers that enforce them (S1 to S3): accepted by OpenAI's subset, and values are restored. */
import { Ajv2020 } from "ajv/dist/2020.js"
import fc from "fast-check"
import { describe, expect, inject, test } from "vitest"
import { z } from "zod"
import { strictProblem } from "../../../../../tests/models/rules/strict-subset.ts"
import { fillIn, user } from "../offline/asking.test-support.ts"
import { schemas } from "../offline/random-schema.test-support.ts"
import { strictSchema } from "./strict-schema.ts"

type Data = { readonly [key: string]: unknown }
const LIMITS = { levels: 10, properties: 5_000 }
const ajv = () => new Ajv2020({ strict: false, allErrors: true, ownProperties: true, validateFormats: false })

const isData = (value: unknown): value is Data =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A value in the form of the rewritten schema; undefined if it cannot be expressed. */
function written(root: Data, schema: Data, value: unknown): unknown {
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.replace("#/$defs/", "")
    return written(root, (root.$defs as Data)[name] as Data, value)
  }
  if (Array.isArray(schema.anyOf)) {
    for (const one of schema.anyOf) {
      const made = written(root, one, value)
      if (made !== undefined && fits(root, one, made)) return made
    }
    return undefined
  }
  if (schema.type === "array") {
    const items = schema.items as Data
    // Only a map is a list of entries: an empty object is no empty list.
    const entry = isData(items.properties) ? Object.keys(items.properties) : []
    const isMap = entry.length === 2 && entry.includes("key") && entry.includes("value")
    const list =
      isData(value) && isMap ? Object.entries(value).map(([key, one]) => ({ key, value: one })) : value
    const made = Array.isArray(list) ? list.map((one) => written(root, items, one)) : undefined
    return made?.includes(undefined) === true ? undefined : made
  }
  if (schema.type !== "object") return value
  const properties = schema.properties as Data
  if (!isData(value) || Object.keys(value).some((name) => !Object.hasOwn(properties, name))) return undefined
  const made = Object.entries(properties).map(([name, one]) => [
    name,
    Object.hasOwn(value, name) ? written(root, one as Data, value[name]) : null,
  ])
  return made.some(([, one]) => one === undefined) ? undefined : Object.fromEntries(made)
}

function fits(root: Data, schema: Data, value: unknown): boolean {
  return ajv().validate({ ...schema, $defs: root.$defs }, value)
}

/** The schema without properties that its objects do not name. */
function closed(schema: unknown): Data {
  if (Array.isArray(schema)) return schema.map(closed) as never
  if (!isData(schema)) return schema as never
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, one]) => [
      key,
      ["enum", "const", "required"].includes(key) ? one : closed(one),
    ]),
  )
  return isData(schema.properties) && schema.type === "object" && schema.additionalProperties === undefined
    ? { ...inner, additionalProperties: false }
    : inner
}

/** An absent property and one that may be null are the same to a model that must write every property. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isData(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (one === null ? [] : [[name, withoutNulls(one)]])),
  )
}

test("any schema is either accepted by OpenAI's subset, and its values are restored, or not strict", {
  timeout: 300_000,
}, async () => {
  let strict = 0
  await fc.assert(
    fc.asyncProperty(schemas, async (schema) => {
      const made = strictSchema(schema as never, LIMITS)
      if ("problem" in made) {
        expect(made.problem).not.toBe("")
        return
      }
      expect(strictProblem(made.schema)).toBeUndefined()
      const value = await fillIn([user("How much is it?")], schema)
      expect(ajv().validate(schema, made.restore(value as never))).toBe(true)
      const wrote = [value, { value }]
        .map((one) => written(made.schema, made.schema, one))
        .find((one) => one !== undefined && fits(made.schema, made.schema, one))
      if (wrote === undefined) {
        // It cannot be expressed only if it has properties that its schema does not name.
        expect(ajv().validate(closed(schema), value)).toBe(false)
        return
      }
      strict++
      const back = made.restore(wrote as never)
      expect(withoutNulls(back)).toEqual(withoutNulls(value))
      expect(ajv().validate(schema, back)).toBe(true)
    }),
    { numRuns: inject("isProof") ? 2_000 : 40 },
  )
  expect(strict).toBeGreaterThan(5)
})

test("any value is restored without an error, whatever the model wrote", () => {
  fc.assert(
    fc.property(schemas, fc.jsonValue(), (schema, value) => {
      const made = strictSchema(schema as never, LIMITS)
      if ("restore" in made) made.restore(value as never)
    }),
    { numRuns: inject("isProof") ? 3_000 : 150 },
  )
})

describe("common schemas", () => {
  const shape = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input" }) as never

  test.each<[string, z.ZodType, unknown, unknown]>([
    ["optional", z.object({ a: z.string(), b: z.number().optional() }), { a: "x", b: null }, { a: "x" }],
    ["defaults", z.object({ a: z.string().default("y") }), { a: null }, {}],
    ["nullable and optional", z.object({ a: z.string().nullish() }), { a: null }, { a: null }],
    [
      "bounds",
      z.object({ a: z.email().max(90), n: z.int().min(3) }),
      { a: "a@b.de", n: 4 },
      { a: "a@b.de", n: 4 },
    ],
    ["a list", z.array(z.object({ a: z.string().optional() })), { value: [{ a: null }] }, [{}]],
    ["a number", z.number(), { value: 3 }, 3],
    [
      "a union",
      z.discriminatedUnion("k", [
        z.object({ k: z.literal("a"), x: z.string().optional() }),
        z.object({ k: z.literal("b"), y: z.number() }),
      ]),
      { value: { k: "a", x: null } },
      { k: "a" },
    ],
    [
      "a map",
      z.object({ counts: z.record(z.string(), z.object({ n: z.number().optional() })) }),
      { counts: [{ key: "a", value: { n: null } }] },
      { counts: { a: {} } },
    ],
    ["a tuple", z.object({ at: z.tuple([z.number(), z.string()]) }), { at: [1, "x"] }, { at: [1, "x"] }],
    [
      "an intersection",
      z.intersection(z.object({ a: z.string() }), z.object({ b: z.string().optional() })),
      { a: "x", b: null },
      { a: "x" },
    ],
  ])("%s", (_, schema, wrote, expected) => {
    const made = strictSchema(shape(schema), LIMITS)
    if (!("restore" in made)) throw new Error(made.problem)
    expect(strictProblem(made.schema)).toBeUndefined()
    expect(made.restore(wrote as never)).toEqual(expected)
    // A model whose schema is not enforced writes the original form.
    expect(made.restore(expected as never)).toEqual(expected)
  })

  test("a recursive tree", () => {
    const tree = z.object({
      name: z.string(),
      get next() {
        return tree.optional()
      },
    })
    const made = strictSchema(shape(tree), LIMITS)
    if (!("restore" in made)) throw new Error(made.problem)
    expect(strictProblem(made.schema)).toBeUndefined()
    const wrote = { name: "a", next: { name: "b", next: null } }
    expect([wrote, { value: wrote }].map((one) => made.restore(one))).toContainEqual({
      name: "a",
      next: { name: "b" },
    })
  })

  test.each<[string, z.ZodType, string]>([
    ["anything", z.object({ a: z.unknown() }), '"a" may be anything'],
    ["other properties", z.looseObject({ a: z.string() }), "it may have other properties"],
    ["a map to anything", z.record(z.string(), z.any()), "it is an object with any properties"],
    ["eleven levels", deep(11), "it is nested more than 10 levels deep"],
  ])("%s is not strict, and the reason has its position", (_, schema, problem) => {
    expect(strictSchema(shape(schema), LIMITS)).toEqual({ problem })
  })

  function deep(levels: number): z.ZodType {
    return levels === 0 ? z.string() : z.object({ a: deep(levels - 1) })
  }
})
