import { describe, expect, test } from "vitest"
import type { Script } from "./script.ts"
import { scriptedModel } from "./scripted-model.ts"

describe("an invalid script", () => {
  test.each<[unknown, string]>([
    ["hello", "it is a string; it must be a list of entries, or one list per agent"],
    [{ writer: "hello" }, '"writer" is a string; an agent needs a list of entries'],
    [[null], "entry 1 is empty"],
    [[{}], "entry 1 is empty"],
    [[{ text: "a", json: 1 }], "entry 1.json cannot be combined with text"],
    [[{ tool_calls: [{ name: "t" }], error: { code: 1 } }], "entry 1.error cannot be combined with"],
    [["a", { txet: "a" }], "entry 2.txet is unknown; known are text, json"],
    [{ w: [{ text: 5 }] }, '"w"[1].text is a number; it must be a string'],
    [[{ json: { a: Number.NaN } }], "entry 1.json cannot be JSON"],
    [[{ tool_calls: [] }], "entry 1.tool_calls must be a list of at least one"],
    [[{ tool_calls: [{ args: {} }] }], "entry 1.tool_calls[1].name is missing"],
    [[{ tool_calls: [{ name: "t", arguments: {} }] }], "entry 1.tool_calls[1].arguments is unknown"],
    [[{ error: {} }], "entry 1.error needs a code or a message"],
    [[{ error: "no" }], "entry 1.error is a string; it is { code, message, retryable }"],
    [[{ error: { code: 1, retryable: "yes" } }], "entry 1.error.retryable is a string; it must be a boolean"],
    [[{ text: "a", usage: { input: -1 } }], "entry 1.usage.input must be a number of at least 0"],
    [[{ text: "a", usage: { tokens: 1 } }], "entry 1.usage.tokens is unknown"],
    [[{ text: "a", delay: Number.NaN }], "entry 1.delay must be a number"],
    [[{ text: "a", when: "" }], "entry 1.when must be a part of"],
    [[{ text: "a", when: "/(/" }], "entry 1.when is not a valid pattern"],
    [[{ text: "a", repeat: 0 }], "entry 1.repeat must be how often"],
    [[{ text: "a", repeat: true }, "b"], "entry 2 is never reached"],
    [[{ error: { code: 1 }, reasoning: "hm" }], "entry 1.reasoning cannot be combined with an error"],
  ])("%j is rejected before the first call", (script, why) => {
    const make = () => scriptedModel(script as Script)
    expect(make).toThrow(expect.objectContaining({ code: "SCRIPT_INVALID" }))
    expect(make).toThrow(`The script is invalid: ${why}`)
  })
})
