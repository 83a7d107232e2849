import { describe, expect, test } from "vitest"
import type { Json } from "./json.ts"
import { schemaMismatch } from "./schemas.ts"

const text = { type: "string" }
const number = { type: "number" }
const record = (properties: { [key: string]: Json }, more: { [key: string]: Json } = {}) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  ...more,
})

describe("a mismatch is reported when no value can fit", () => {
  test.each<[string, Json, Json, RegExp]>([
    ["different types", text, number, /string is sent, number is accepted/],
    ["none of several types", { type: ["string", "null"] }, { type: ["number", "array"] }, /string or null/],
    ["items of a list", { type: "array", items: text }, { type: "array", items: number }, /^\[\]: string/],
    ["a property", record({ a: text }), record({ a: number }), /^a: string/],
    ["a property inside", record({ a: record({ b: text }) }), record({ a: record({ b: number }) }), /^a\.b:/],
    [
      "a property that is required and never sent",
      record({}, { additionalProperties: false }),
      record({ id: text }),
      /"id" is required but never sent/,
    ],
    ["constants", { const: "a" }, { const: "b" }, /"a" is sent, "b" is accepted/],
    ["values", { enum: ["a", "b"] }, { enum: ["c"] }, /"a" or "b" is sent/],
    ["a union in which nothing fits", { anyOf: [text, number] }, { type: "boolean" }, /boolean is accepted/],
    ["a union that takes nothing of it", text, { oneOf: [number, { type: "null" }] }, /string is sent/],
  ])("%s", (_, from, to, message) => {
    expect(schemaMismatch(from, to)).toMatch(message)
  })
})

describe("nothing is reported when a value might fit", () => {
  test.each<[string, Json | undefined, Json | undefined]>([
    ["the same schema", record({ a: text }), record({ a: text })],
    ["an integer where a number is taken, and the other way round", { type: "integer" }, number],
    ["a number where an integer is taken", number, { type: "integer" }],
    ["one type in common", { type: ["string", "null"] }, text],
    ["one alternative that fits", { anyOf: [text, number] }, number],
    ["one alternative that is taken", text, { oneOf: [number, text] }],
    ["a value in common", { enum: ["a", "b"] }, { const: "b" }],
    ["no schema at all", undefined, text],
    ["a schema that takes anything", text, {}],
    ["a schema that is true", text, true],
    ["a property that may come beyond those named", record({}), record({ id: text })],
    ["a property that is sent and not taken", record({ a: text, b: text }), record({ a: text })],
    [
      "a property that is optional on the taking side",
      record({}),
      { type: "object", properties: { a: text } },
    ],
    ["a reference, which is not followed", { $ref: "#/definitions/a" }, text],
    ["lists without a word about their items", { type: "array" }, { type: "array", items: text }],
  ])("%s", (_, from, to) => {
    expect(schemaMismatch(from, to)).toBeUndefined()
  })
})

test("a schema that contains itself through a reference ends", () => {
  const tree = record({ value: number, next: { anyOf: [{ $ref: "#" }, { type: "null" }] } })
  expect(schemaMismatch(tree, tree)).toBeUndefined()
})
