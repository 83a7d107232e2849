/** The schema that a provider receives for an answer: it never allows less than the agent's schema. */
import { expect, test } from "vitest"
import type { Json } from "../core/index.ts"
import { validate } from "../runtime/ports/values.ts"
import { jsonSchema } from "../tools/index.ts"
import { outputFormat } from "./structured-output.ts"

function offeredSchema(schema: Json): Json {
  const { responseFormat } = outputFormat("x", jsonSchema(schema))
  return (responseFormat as unknown as { schema: Json }).schema
}

const text: Json = { type: "string" }

test("objects are closed at every depth, unless they set additionalProperties themselves", () => {
  expect(
    offeredSchema({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        one: { type: "object", properties: { a: text } },
        list: { type: "array", items: { type: "object", properties: { b: text } } },
        open: { type: "object", properties: { c: text }, additionalProperties: text },
      },
    }),
  ).toEqual({
    type: "object",
    properties: {
      one: { type: "object", properties: { a: text }, additionalProperties: false },
      list: {
        type: "array",
        items: { type: "object", properties: { b: text }, additionalProperties: false },
      },
      open: { type: "object", properties: { c: text }, additionalProperties: text },
    },
    additionalProperties: false,
  })
})

test("properties may have the names of keywords", () => {
  const named: Json = { type: "object", properties: { a: text } }
  expect(
    offeredSchema({ type: "object", properties: { default: named, $schema: text, enum: named } }),
  ).toEqual({
    type: "object",
    properties: {
      default: { ...named, additionalProperties: false },
      $schema: text,
      enum: { ...named, additionalProperties: false },
    },
    additionalProperties: false,
  })
})

test.each<[string, Json]>([
  [
    "allOf",
    {
      allOf: [
        { type: "object", properties: { a: text } },
        { type: "object", properties: { b: text } },
      ],
    },
  ],
  ["allOf beside its own", { type: "object", properties: { a: text }, allOf: [{ properties: { b: text } }] }],
  ["patterns", { type: "object", properties: { a: text }, patternProperties: { "^b": text } }],
  [
    "a reference",
    {
      type: "object",
      properties: { a: text },
      $ref: "#/$defs/more",
      $defs: { more: { properties: { b: text } } },
    },
  ],
])("a composed object can still be written: %s", async (_, schema) => {
  expect(await validate(jsonSchema(offeredSchema(schema)), { a: "1", b: "2" })).toMatchObject({ ok: true })
})
