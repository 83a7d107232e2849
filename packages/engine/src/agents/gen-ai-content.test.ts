/** Spans name files with their type, and do not include them. */
import { expect, test } from "vitest"
import { filePart } from "../tools/index.ts"
import { resultsMessage } from "./conversation.ts"
import { genAiJson, genAiPrompt } from "./traced-calls.ts"

const PNG = "iVBORw0KGgo="

test("no bytes of a file, neither in a prompt nor in a tool's result", () => {
  const call = { type: "tool-call" as const, id: "1", name: "draw", args: "{}" }
  const result = ["A dot:", filePart(PNG)]
  const { input } = genAiPrompt([
    { role: "user", content: [{ type: "file", mediaType: "image/png", data: PNG }] },
    resultsMessage([call], [{ ok: true, value: result as never }]),
  ])
  expect(input).toContain("A dot:")
  expect(input).toContain("image/png")
  expect(input + genAiJson(result)).not.toContain(PNG)
  expect(genAiJson(filePart("https://example.com/a.png"))).toContain("https://example.com/a.png")
})
