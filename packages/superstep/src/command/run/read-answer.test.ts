import { describe, expect, test } from "vitest"
import { readAnswer, readJson } from "./read-input.ts"

const approval = { kind: "tool-approval", agent: "a", tool: "t", call: "1", args: {} }

const plan = {
  type: "object",
  properties: { approve: { type: "boolean" }, plan: { type: "string" }, feedback: { type: "string" } },
  required: ["approve"],
}

describe("an answer is parsed as the type that the question asks for", () => {
  test.each([
    [undefined, "true", "true"],
    [{ type: "string" }, "12", "12"],
    [{ type: "boolean" }, "yes", true],
    [{ type: "boolean" }, "No", false],
    [{ type: "boolean" }, "true", true],
    [{ type: "number" }, "1.5", 1.5],
    [{ enum: ["red", "green"] }, "green", "green"],
    [{ enum: [1, 2] }, "2", 2],
    [{ type: "object", required: ["a"] }, '{"a": 1}', { a: 1 }],
    [plan, "yes", { approve: true }],
    [plan, "no", { approve: false }],
    [plan, "No: too dear", { approve: false, feedback: "too dear" }],
    [plan, '{"approve": true, "plan": "mine"}', { approve: true, plan: "mine" }],
    [{ type: "object", properties: { a: { type: "boolean" } }, required: ["a"] }, "no: never", { a: false }],
    // A pattern that cannot be checked here is checked where the question was asked.
    [{ type: "string", pattern: "(?<=x)y" }, "12", "12"],
    [{ anyOf: [{ type: "string", pattern: "^(a+)+$" }, { type: "integer" }] }, "12", 12],
    [{ anyOf: [{ type: "null" }, { type: "integer" }] }, "null", null],
  ])("%j: %s", async (schema, text, value) => {
    expect(await readAnswer(text, { schema })).toEqual(value)
  })

  test("text that matches no interpretation stays text, and the engine refuses it", async () => {
    expect(await readAnswer("maybe", { schema: { type: "boolean" } })).toBe("maybe")
  })

  test("a tool is approved with a word, or denied with a reason after no", async () => {
    expect(await readAnswer("yes", { data: approval })).toEqual({ approve: true })
    expect(await readAnswer("Deny", { data: approval })).toEqual({ approve: false })
    expect(await readAnswer("no: too risky", { data: approval })).toEqual({
      approve: false,
      reason: "too risky",
    })
  })
})

test("an answer in JSON is used unchanged", () => {
  expect(readJson('"yes"', "It")).toBe("yes")
  expect(() => readJson("yes", "It")).toThrow(/It is not JSON/)
})
