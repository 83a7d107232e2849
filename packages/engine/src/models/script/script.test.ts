import { describe, expect, test } from "vitest"
import type { Message } from "../model.ts"
import { scriptFromYaml } from "./script.ts"
import { scriptedModel } from "./scripted-model.ts"

function user(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] }
}

const call = (agent: string, text = "hello") => ({
  prompt: [user(text)],
  providerOptions: { superstep: { agent } },
})

describe("a script in YAML", () => {
  test("supports everything that one in code does", async () => {
    const script = await scriptFromYaml(`
writer:
  - Hello there
  - text: |
      Two
      lines
    usage: { input: 5, output: 2 }
  - json: { ok: true, list: [1, two] }
    repeat: 2
  - tool_calls:
      - { name: search, args: { q: cats } }
  - error: { code: 429, message: slow down, retryable: true }
critic:
  - text: fine
    when: /hel+o/i
    delay: 0
    repeat: true
`)
    expect(script).toEqual({
      writer: [
        { text: "Hello there" },
        { text: "Two\nlines\n", usage: { input: 5, output: 2 } },
        { json: { ok: true, list: [1, "two"] }, repeat: 2 },
        { tool_calls: [{ name: "search", args: { q: "cats" } }] },
        { error: { code: 429, message: "slow down", retryable: true } },
      ],
      critic: [{ text: "fine", when: "/hel+o/i", delay: 0, repeat: true }],
    })
    const model = scriptedModel(script)
    expect((await model.doGenerate(call("writer"))).content).toEqual([{ type: "text", text: "Hello there" }])
    expect((await model.doGenerate(call("critic", "HELLLO"))).content).toEqual([
      { type: "text", text: "fine" },
    ])
  })

  test("may be a plain list, with anchors", async () => {
    const script = await scriptFromYaml("- &a { text: again }\n- *a\n")
    expect(script).toEqual([{ text: "again" }, { text: "again" }])
  })

  test("reports the line of an entry that does not match, and of the last one when it is exhausted", async () => {
    const model = scriptedModel(
      await scriptFromYaml("w:\n  - text: a\n    when: cats\n  - b\n", "replies.yaml"),
    )
    await expect(model.doGenerate(call("w", "dogs"))).rejects.toThrow(
      "(replies.yaml:2) expects a last message with",
    )
    await model.doGenerate(call("w", "cats"))
    await model.doGenerate(call("w"))
    await expect(model.doGenerate(call("w"))).rejects.toThrow("Add an entry after replies.yaml:4")
  })

  test.each([
    ["w:\n  - text: a\n    repaet: 2", '"w"[1].repaet is unknown', "s.yaml:3"],
    ["w:\n  - a\n  - 42", '"w"[2] is a number', "s.yaml:3"],
    ["w:\n  - a\n  -", '"w"[2] is empty', "s.yaml:3"],
    ["w: hello", '"w" is a string; an agent needs a list of entries', "s.yaml:1"],
    ["- tool_calls:\n    - args: {}", "entry 1.tool_calls[1].name is missing", "s.yaml:2"],
    ["", "it is empty", "s.yaml"],
  ])("%j is rejected with its line", async (text, why, where) => {
    const error = await scriptFromYaml(text, "s.yaml").then(
      () => expect.unreachable("it should have failed"),
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({ code: "SCRIPT_INVALID", retryable: false })
    expect(String(error)).toContain(why)
    expect(String(error)).toContain(`(${where}`)
  })

  test.each([
    ["a key that is given twice", "w: [a]\nw: [b]"],
    ["what is no YAML", "w: [a\nb: }"],
    ["an unknown tag", "- !!js/function 'x'"],
    ["an alias to nothing", "- *nothing"],
    [
      "aliases that expand exponentially",
      `${["a: &a [x,x,x,x,x,x,x,x,x]", ..."bcdefgh".split("").map((c, i) => `${c}: &${c} [${Array(9).fill(`*${"abcdefg"[i]}`).join()}]`)].join("\n")}`,
    ],
  ])("%s is refused", async (_, text) => {
    await expect(scriptFromYaml(text, "s.yaml")).rejects.toMatchObject({ code: "SCRIPT_INVALID" })
  })
})
