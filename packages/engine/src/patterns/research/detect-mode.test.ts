/** Spec 3, mode detection: asked of the parser agent, by keywords when that fails. */
import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { detectResearchMode } from "./deep.ts"

test.each(["iterative", "deep"] as const)("the model answers %s", async (mode) => {
  const model = scriptedModel({ mode: [{ json: { mode } }] })
  expect(await detectResearchMode("What is tea?", model)).toBe(mode)
  expect(model.calls).toHaveLength(1)
})

describe("by keywords", () => {
  test.each([
    ["What is tea?", "iterative"],
    ["Who founded Acme, and when?", "iterative"],
    ["Write a comprehensive report on tea", "deep"],
    ["An in-depth look at tea", "deep"],
    ["A literature review on tea and sleep", "deep"],
  ] as const)("%s: %s", async (query, mode) => {
    const unreadable = scriptedModel(["no JSON"])
    expect(await detectResearchMode(query, unreadable)).toBe(mode)
    const failing = scriptedModel([{ error: { code: 400, message: "no" } }])
    expect(await detectResearchMode(query, failing)).toBe(mode)
    const other = scriptedModel([{ json: { mode: "both" } }])
    expect(await detectResearchMode(query, other)).toBe(mode)
  })
})
