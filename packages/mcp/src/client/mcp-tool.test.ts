import { expect, test } from "vitest"
import { failureText, toolValue } from "./mcp-tool.ts"

const text = (content: string) => ({ type: "text" as const, text: content })

test("texts are joined, and no content is an empty string", () => {
  expect(toolValue({ content: [text("one"), text("two")] })).toBe("one\ntwo")
  expect(toolValue({ content: [] })).toBe("")
})

test("structured content is kept; its copy as text is dropped, other text is not", () => {
  const structuredContent = { sum: 3 }
  expect(toolValue({ content: [text('{ "sum": 3 }')], structuredContent })).toEqual({ sum: 3 })
  const result = toolValue({ content: [text("It is three.")], structuredContent })
  expect(result).toEqual({ structured: { sum: 3 }, content: "It is three." })
})

test("files have their text, links their URL, binary data its size", () => {
  const content = [
    { type: "resource" as const, resource: { uri: "memo://one", text: "Buy milk." } },
    { type: "resource" as const, resource: { uri: "memo://two", blob: "AAAAAA==" } },
    { type: "resource_link" as const, uri: "memo://three", name: "three" },
    { type: "audio" as const, data: "AAAA", mimeType: "audio/wav" },
  ]
  expect(toolValue({ content })).toEqual([
    { type: "resource", uri: "memo://one", text: "Buy milk." },
    { type: "resource", uri: "memo://two", bytes: 4 },
    { type: "resource_link", uri: "memo://three", name: "three" },
    { type: "audio", mimeType: "audio/wav", bytes: 3 },
  ])
})

test("a failure without text is reported as such", () => {
  expect(failureText({ content: [] })).toBe("The tool failed without a reason.")
})

test("text that is a value of the structured content is not repeated", () => {
  const structuredContent = { status: "completed", outputs: [{ text: "done by Ada" }] }
  const text = (content: string) => ({ type: "text" as const, text: content })
  expect(toolValue({ content: [text("done by Ada")], structuredContent })).toEqual(structuredContent)
  expect(toolValue({ content: [text("done by Bob")], structuredContent })).toEqual({
    structured: structuredContent,
    content: "done by Bob",
  })
})
