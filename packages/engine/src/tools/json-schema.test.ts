import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Json } from "../index.ts"
import { isCollected } from "../testing/garbage.test-support.ts"
import { checkJsonSchema, jsonSchema } from "./json-schema.ts"

async function reasonsFor(schema: Json, value: unknown): Promise<string[]> {
  const result = await jsonSchema(schema)["~standard"].validate(value)
  return (result.issues ?? []).map(({ path, message }) => `${(path ?? []).join(".")}: ${message}`)
}

describe("a raw JSON Schema", () => {
  test("returns the value unchanged", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", default: 3 } } }
    const value = Object.freeze({ other: "5" })
    expect(await jsonSchema(schema)["~standard"].validate(value)).toEqual({ value })
  })

  test("reports every position that does not match, and what is expected", async () => {
    const schema = {
      type: "object",
      properties: {
        unit: { enum: ["C", "F"] },
        deep: { type: "array", items: { type: "object", properties: { "a/b": { type: "string" } } } },
        kind: { const: "x" },
      },
      required: ["city"],
      additionalProperties: false,
    }
    const reasons = await reasonsFor(schema, { unit: "K", deep: [{}, { "a/b": 1 }], kind: "y", more: 1 })
    expect(reasons.sort()).toEqual(
      [
        ": must have required property 'city'",
        ': "more" is not a known property',
        'unit: must be one of "C", "F"',
        "deep.1.a/b: must be string",
        'kind: must be "x"',
      ].sort(),
    )
  })

  test("keeps its report short, however many problems there are", async () => {
    const schema = { type: "array", items: { type: "string" } }
    const reasons = await reasonsFor(
      schema,
      Array.from({ length: 5_000 }, (_, index) => index),
    )
    expect(reasons).toHaveLength(9)
    expect(reasons.at(-1)).toBe(": and 4992 more")
  })

  test("is checked in its own draft", async () => {
    const list = { type: "array", items: [{ type: "string" }, { type: "number" }] }
    const draft07 = { $schema: "http://json-schema.org/draft-07/schema#", ...list }
    expect(await reasonsFor(draft07, ["a", "b"])).toEqual(["1: must be number"])
    expect(await reasonsFor(list, ["a", "b"])).toEqual(["1: must be number"])
    const draft2020 = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      prefixItems: [{ type: "string" }],
    }
    expect(await reasonsFor(draft2020, [1])).toEqual(["0: must be string"])
    const draft2019 = {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      dependentRequired: { a: ["b"] },
    }
    expect(await reasonsFor(draft2019, { a: 1 })).toHaveLength(1)
  })

  test("may have the same $id as another one", async () => {
    const one = { $id: "https://example.com/args", type: "object" }
    const other = { $id: "https://example.com/args", type: "string" }
    expect(await reasonsFor(one, {})).toEqual([])
    expect(await reasonsFor(other, {})).toEqual([": must be string"])
    expect(await reasonsFor({ ...one }, {})).toEqual([])
  })

  test("may refer to itself, but not to another document", async () => {
    const tree = {
      $defs: { tree: { type: "object", properties: { left: { $ref: "#/$defs/tree" } } } },
      $ref: "#/$defs/tree",
    }
    expect(await reasonsFor(tree, { left: { left: 1 } })).toEqual(["left.left: must be object"])
    await expect(checkJsonSchema({ $ref: "https://example.com/schema.json" })).rejects.toMatchObject({
      code: "SCHEMA_INVALID",
    })
  })

  test("treats a format as a hint", async () => {
    expect(await reasonsFor({ type: "string", format: "email" }, "nobody")).toEqual([])
    expect(await reasonsFor({ type: "string", format: "made-up" }, "x")).toEqual([])
  })

  test("is rejected with the problem if it is invalid", async () => {
    const wrong: [Json, RegExp][] = [
      ["string", /it is "string"/],
      [null, /it is null/],
      [[], /it is \[\]/],
      [{ type: "strnig" }, /type/],
      [{ type: "object", required: "name" }, /required/],
      [{ $schema: "https://example.com/mine" }, /an unsupported draft/],
      [{ pattern: "(" }, /[Rr]egular expression|pattern/],
    ]
    for (const [schema, message] of wrong) {
      const error = await checkJsonSchema(schema).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: "SCHEMA_INVALID", message: expect.stringMatching(message) })
    }
  })

  test("cannot disable its own check", async () => {
    await expect(checkJsonSchema({ $async: true, type: "string" })).rejects.toThrow(/\$async/)
    const nested = { $defs: { a: { $async: true, type: "string" } }, $ref: "#/$defs/a" }
    await expect(checkJsonSchema(nested)).rejects.toThrow(/async/)
  })

  test("accepts every JSON value under `true`, and none under `false`", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        expect(await jsonSchema(true)["~standard"].validate(value)).toEqual({ value })
        expect(await reasonsFor(false, value)).toHaveLength(1)
      }),
      { numRuns: 50 },
    )
  })
})

describe("the schemas that were compiled", () => {
  test("are released when nothing references them", async () => {
    const used = async () => {
      const properties = { a: { type: "string" } }
      await jsonSchema({ type: "object", properties })["~standard"].validate({ a: "x" })
      await jsonSchema({ $id: "https://example.com/one", type: "object", properties })["~standard"].validate(
        {},
      )
      return new WeakRef(properties)
    }
    const properties = await used()
    expect(await isCollected(properties)).toBe(true)
  })

  test("are compiled once, however many tools use them", async () => {
    const schema = { type: "object", properties: { a: { type: "string" } } }
    let reads = 0
    const counted = new Proxy(schema, {
      ownKeys(target) {
        reads++
        return Reflect.ownKeys(target)
      },
    })
    await jsonSchema(counted)["~standard"].validate({ a: "x" })
    const once = reads
    expect(once).toBeGreaterThan(0)
    for (let i = 0; i < 3; i++) await jsonSchema(counted)["~standard"].validate({ a: "x" })
    expect(reads).toBe(once)
  })

  test("cannot replace a draft that others need", async () => {
    const draft = "https://json-schema.org/draft/2020-12/schema"
    await reasonsFor({ $id: draft, type: "string" }, 1).catch(() => [])
    expect(await reasonsFor({ $schema: draft, type: "string" }, 1)).toEqual([": must be string"])
  })
})
