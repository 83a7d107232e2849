import { expect, test } from "vitest"
import { failureText, toolValue } from "./tool-content.ts"

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

test("images, audio and embedded files are files, which models see and hear", () => {
  const content = [
    { type: "image" as const, data: "AAAA", mimeType: "image/png" },
    { type: "audio" as const, data: "AAAA", mimeType: "Audio/WAV; rate=8000" },
    {
      type: "resource" as const,
      resource: { uri: "memo://box/two.pdf?x", mimeType: "application/pdf", blob: "AAAAAA==" },
    },
    { type: "resource" as const, resource: { uri: "memo://", blob: "AAAA" } },
  ]
  expect(toolValue({ content })).toEqual([
    { type: "file", mediaType: "image/png", data: "AAAA" },
    { type: "file", mediaType: "audio/wav", data: "AAAA" },
    { type: "file", mediaType: "application/pdf", data: "AAAAAA==", filename: "two.pdf" },
    { type: "file", mediaType: "application/octet-stream", data: "AAAA" },
  ])
})

test("texts of resources and links are data, and text beside files", () => {
  const resource = { type: "resource" as const, resource: { uri: "memo://one", text: "Buy milk." } }
  const link = { type: "resource_link" as const, uri: "memo://three", name: "three" }
  const [first, second] = [
    { type: "resource", uri: "memo://one", text: "Buy milk." },
    { type: "resource_link", uri: "memo://three", name: "three" },
  ]
  expect(toolValue({ content: [resource, link] })).toEqual([first, second])
  const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" }
  expect(toolValue({ content: [link, image], structuredContent: { n: 1 } })).toEqual([
    '{"n":1}',
    JSON.stringify(second),
    { type: "file", mediaType: "image/png", data: "AAAA" },
  ])
})

test.each([
  ["no base64", { type: "image" as const, data: "<svg>", mimeType: "image/png" }],
  ["nothing", { type: "audio" as const, data: "", mimeType: "audio/wav" }],
  ["no media type", { type: "image" as const, data: "AAAA", mimeType: "image/png\r\nx: y" }],
])("a file that is %s is described, not passed on", (_, block) => {
  expect(toolValue({ content: [block] })).toMatchObject({ type: block.type, bytes: 0 })
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
