import { describe, expect, test } from "vitest"
import { z } from "zod"
import { scriptedModel } from "../models/index.ts"
import { agent } from "./index.ts"
import { jsonAnswer, jsonAnswers } from "./structured-output.ts"

describe("an answer that is JSON", () => {
  test.each([
    ['{"a": 1}', { a: 1 }],
    ["  [1]\n", [1]],
    ['```json\n{"a": 1}\n```', { a: 1 }],
    ['\n```\n\n{"a": "```"}  ```\n ', { a: "```" }],
    ["```JSON \n5```", 5],
  ])("%j is read", (text, value) => {
    expect(jsonAnswer(text)).toEqual({ value })
  })

  test.each(["", "yes", "```json\n```", "```\n", "``````", '```json\n{"a": 1}', "```js\n1\n```"])(
    "%j is none",
    (text) => {
      expect(jsonAnswer(text)).toBeUndefined()
    },
  )

  test("is recognized in linear time, however long the gaps are", () => {
    expect(jsonAnswer(`\`\`\`\n${"\n".repeat(1_000_000)}x`)).toBeUndefined()
    expect(jsonAnswer(`\`\`\`\n${" \n".repeat(1_000_000)}1\`\`\``)).toEqual({ value: 1 })
  })
})

describe("an answer that contains JSON", () => {
  test.each<[string, unknown[]]>([
    ['Here it is: {"a": [1, "}"]}. As I said in [2].', [{ a: [1, "}"] }, [2]]],
    ['First:\n```json\n{"a": 1}\n```\nor rather\n```\n{"a": 2}\n```\nDone.', [{ a: 2 }, { a: 1 }]],
    ["{{{ and [ then {}", [{}]],
    ["no braces", []],
    ["[not json]", []],
  ])("%j is searched for it", (text, values) => {
    expect([...jsonAnswers(text)].slice(0, Math.max(values.length, 1))).toEqual(values)
  })

  test("is searched in linear time", () => {
    expect([...jsonAnswers("[".repeat(200_000))]).toEqual([])
    expect([...jsonAnswers('{"'.repeat(200_000))]).toEqual([])
  })

  test("needs no repair, and values that do not match are skipped", async () => {
    const said = 'As [1] says:\n```json\n{"n": "three"}\n```\nSo the answer is {"n": 3}.'
    const model = scriptedModel([said])
    const counter = agent({ name: "x", model, output: z.object({ n: z.number() }), repairs: 0 })
    expect((await counter.run("?")).outputs).toEqual([{ n: 3 }])
  })
})
