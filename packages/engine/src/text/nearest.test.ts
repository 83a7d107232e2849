import { describe, expect, test } from "vitest"
import { nearest } from "./nearest.ts"

describe("the nearest word", () => {
  test.each([
    ["transaltor", ["reviewer", "translator"], "translator", "two neighbours swapped"],
    ["modl", ["model", "mode"], "model", "one sign left out, rather than replaced by the wrong one"],
    ["MaxSteps", ["max_steps", "steps"], "max_steps", "case and one sign"],
    ["teh_stpes", ["the_steps", "steps"], "the_steps", "two swaps"],
    ["tol", ["url", "tool"], "tool", "of one slip each, the one that begins alike"],
    ["ID", ["id"], "id", "only case"],
    ["id", ["ids"], "ids", "a short word with one sign more"],
  ])("of %j among %j is %j: %s", (word, among, expected) => {
    expect(nearest(word, among)).toBe(expected)
  })

  test.each([
    ["banana", ["model", "agents"], "nothing is close"],
    ["a", ["b"], "one sign has nothing to be recognised by"],
    ["x", ["yz"], "one sign against two"],
    ["", ["a"], "no word"],
    ["model", [], "nothing is known"],
    ["model", ["model"], "the word itself is not suggested"],
    ["x".repeat(10_000), ["x".repeat(10_001)], "such words are not compared"],
    ["modle", ["model", ...Array.from({ length: 1_000 }, (_, i) => `m${i}`)], "there are too many"],
  ])("of %j among %j is none: %s", (word, among) => {
    expect(nearest(word, among)).toBeUndefined()
  })
})
