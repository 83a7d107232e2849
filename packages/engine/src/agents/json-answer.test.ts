import { describe, expect, test } from "vitest"
import { jsonAnswer } from "./json-answer.ts"

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

  test("is told from other text at once, however long the gaps are", () => {
    expect(jsonAnswer(`\`\`\`\n${"\n".repeat(1_000_000)}x`)).toBeUndefined()
    expect(jsonAnswer(`\`\`\`\n${" \n".repeat(1_000_000)}1\`\`\``)).toEqual({ value: 1 })
  })
})
