/**
 * The cost of hostile schemas and values. Each of these took minutes, or would never have ended, so a slow check makes
 * its test time out.
 */
import { describe, expect, test } from "vitest"
import type { Json } from "../index.ts"
import { checkJsonSchema, jsonSchema } from "./json-schema.ts"
import { withoutUncheckedPatterns } from "./schema-limits.ts"

async function reasonsFor(schema: Json, value: unknown): Promise<string[]> {
  const result = await jsonSchema(schema)["~standard"].validate(value)
  return (result.issues ?? []).map(({ path, message }) => `${(path ?? []).join(".")}: ${message}`)
}

describe("patterns of a JSON Schema", () => {
  const long = `${"a".repeat(20_000)}!`

  test.each(["^(a+)+$", "^(a|a)*$", "^(([a-z])+.)+[A-Z]([a-z])+$", "^(a|aa)+$", "^(.*)*$x"])(
    "take linear time: %s",
    async (pattern) => {
      expect(await reasonsFor({ type: "string", pattern }, long)).toEqual([
        `: must match pattern "${pattern}"`,
      ])
      const keys = { type: "object", patternProperties: { [pattern]: false }, additionalProperties: true }
      expect(await reasonsFor(keys, { [long]: 1 })).toEqual([])
      const names = { type: "object", propertyNames: { pattern } }
      expect(await reasonsFor(names, { [long]: 1 })).not.toEqual([])
    },
  )

  test("mean what they mean in ECMAScript", async () => {
    const fits: [string, string, boolean][] = [
      ["^\\p{L}+$", "naïve", true],
      ["^\\u00e9$", "é", true],
      ["^[\\w.+-]+@[\\w-]+\\.[a-z]{2,}$", "a.b@c.org", true],
      ["^(?=.*\\d)(?!.*\\s).{8,}$", "passw0rd", true],
      ["^(?=.*\\d)(?!.*\\s).{8,}$", "pass w0rd", false],
      ["^(?:foo|bar)$", "foobar", false],
      ["b", "abc", true],
    ]
    for (const [pattern, value, expected] of fits) {
      expect([pattern, (await reasonsFor({ pattern }, value)).length === 0]).toEqual([pattern, expected])
    }
  })

  test("are distinguished from each other", async () => {
    const schema = {
      properties: { a: { pattern: "^a+$" }, b: { pattern: "^b+$" } },
      patternProperties: { "^c+$": false },
    }
    expect(await reasonsFor(schema, { a: "aa", b: "bb", d: 1 })).toEqual([])
    expect(await reasonsFor(schema, { a: "bb", b: "aa", cc: 1 })).toHaveLength(3)
  })

  test.each(["(?<=a)b", "(a)\\1", "a(?=b)", "(?<x>a)\\k<x>", "(a{1000}){1000}"])(
    "that have no linear algorithm are rejected with their position: %s",
    async (pattern) => {
      const schema = { type: "object", properties: { name: { type: "string", pattern } } }
      const refused = expect.objectContaining({
        code: "SCHEMA_INVALID",
        message: expect.stringMatching(/pattern .* at properties\.name\.pattern/),
      })
      expect(() => jsonSchema(schema)).toThrowError(refused)
      await expect(checkJsonSchema(schema)).rejects.toThrowError(refused)
      expect(() => jsonSchema({ patternProperties: { [pattern]: true } })).toThrowError(/patternProperties/)
    },
  )

  test("are refused wherever a reference leads to", async () => {
    const schema = { $ref: "#/x-hidden", "x-hidden": { pattern: "(?<=a)b" } }
    await expect(checkJsonSchema(schema)).rejects.toMatchObject({
      code: "SCHEMA_INVALID",
      message: expect.stringContaining("look-around"),
    })
  })

  test("are searched for in schemas only", () => {
    jsonSchema({
      default: { pattern: "(" },
      enum: [{ pattern: "(" }],
      "x-note": { pattern: "(" },
      properties: { pattern: { type: "string" }, patternProperties: { type: "object" } },
    })
  })

  test("stop a check that would take too long", async () => {
    const schema = { pattern: `(${"a?".repeat(400)}){5}b` }
    expect(await reasonsFor(schema, "a".repeat(1_000_000))).toEqual([
      expect.stringContaining("too large to be checked"),
    ])
    // The next check starts anew.
    expect(await reasonsFor(schema, "b")).toEqual([])
  })
})

describe("the size of a check", () => {
  test("does not grow with the square of a list whose items are unique", async () => {
    const items = Array.from({ length: 100_000 }, (_, i) => ({ id: i, tags: [i, "x"] }))
    const schema = { type: "array", uniqueItems: true }
    expect(await reasonsFor(schema, items)).toEqual([])
    const reordered = { tags: [0, "x"], id: 0 }
    expect(await reasonsFor(schema, [...items, reordered])).toEqual([": must NOT have duplicate items"])
    expect(await reasonsFor(schema, [1, "1", true, [1], null])).toEqual([])
    expect(await reasonsFor({ uniqueItems: false }, [1, 1])).toEqual([])
  })

  test("does not grow with a list of allowed values for every value", async () => {
    const allowed = Array.from({ length: 20_000 }, (_, i) => `v${i}`)
    const values = Array.from({ length: 100_000 }, (_, i) => `v${i % 20_000}`)
    expect(await reasonsFor({ items: { enum: allowed } }, values)).toEqual([])
    expect(await reasonsFor({ enum: [{ a: 1, b: [2] }, null] }, { b: [2], a: 1 })).toEqual([])
    expect(await reasonsFor({ enum: ["C", "F"] }, { C: 1 })).toEqual([': must be one of "C", "F"'])
  })

  test("is bounded where references branch on the same value", async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    )
    const schema = { $defs: { ...$defs, d40: { type: "string" } }, $ref: "#/$defs/d0" }
    expect(await reasonsFor(schema, 1)).toEqual([expect.stringContaining("too large to be checked")])
  })

  test("is bounded where references branch at every level of a value", async () => {
    const inner = { properties: { a: { $ref: "#" } } }
    const schema = { allOf: [inner, inner], type: "object" }
    let value: Json = {}
    for (let i = 0; i < 60; i++) value = { a: value }
    expect(await reasonsFor(schema, value)).toEqual([expect.stringContaining("too large to be checked")])
  })

  test("is bounded for circular references, and for endlessly nested values", async () => {
    const round = [{ $ref: "#" }, { allOf: [{ $ref: "#/$defs/a" }], $defs: { a: { $ref: "#" } } }]
    for (const schema of round) expect(await reasonsFor(schema, 1)).toHaveLength(1)
    const deep = JSON.parse("[".repeat(50_000) + "]".repeat(50_000))
    expect(await reasonsFor({ items: { $ref: "#" } }, deep)).toEqual([expect.stringContaining("too deep")])
    expect(await reasonsFor({ uniqueItems: true }, [deep, deep])).toEqual([
      expect.stringContaining("too deep"),
    ])
  })

  test("allows large values that references describe", async () => {
    const list = Array.from({ length: 50_000 }, (_, i) => ({ id: i }))
    const schema = {
      $defs: { one: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } },
      type: "array",
      items: { $ref: "#/$defs/one" },
    }
    expect(await reasonsFor(schema, list)).toEqual([])
  })

  test("is bounded by that of the schema, and its nesting", async () => {
    const wide = { properties: Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`p${i}`, {}])) }
    expect(() => jsonSchema(wide)).toThrowError(/more than 50000 values/)
    let deep: Json = { type: "string" }
    for (let i = 0; i < 100_000; i++) deep = { not: deep }
    expect(() => jsonSchema(deep)).toThrowError(/deeper than 100 levels/)
    await expect(checkJsonSchema(deep)).rejects.toMatchObject({ code: "SCHEMA_INVALID" })
  })
})

test.each([
  "email",
  "date-time",
  "date",
  "time",
  "duration",
  "uri",
  "uri-template",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid",
  "regex",
  "json-pointer",
  "idn-email",
])("the format %s is a hint, which is not checked", async (format) => {
  for (const part of ["a", "a.", "a@", "1", ":", "1:", "(a+)+", "-", "P1Y", "{a,", "/~"]) {
    expect(await reasonsFor({ type: "string", format }, part.repeat(50_000))).toEqual([])
  }
})

describe("a schema without the patterns that cannot be checked here", () => {
  test("keeps the others, and returns those that are left out", () => {
    const schema = {
      properties: { a: { pattern: "(?<=x)y", minLength: 1 }, b: { pattern: "^b$" } },
      patternProperties: { "(a)\\1": { type: "string" }, "^x-": { type: "number" } },
      additionalProperties: false,
    }
    const before = structuredClone(schema)
    expect(withoutUncheckedPatterns(schema)).toEqual({
      schema: {
        properties: { a: { minLength: 1 }, b: { pattern: "^b$" } },
        patternProperties: { "^x-": { type: "number" } },
      },
      unchecked: ["(a)\\1", "(?<=x)y"],
    })
    expect(schema).toEqual(before)
  })

  test("is the same schema if all can be checked", () => {
    const schema = { pattern: "^b$" }
    expect(withoutUncheckedPatterns(schema).schema).toBe(schema)
  })
})
