import type { LanguageModelV3Content } from "@ai-sdk/provider"
import { expect, test } from "vitest"
import { jsonProblem } from "../../core/index.ts"
import { priceTable } from "../prices.ts"
import { ASKED, drivenModel, STOP, USAGE } from "./driven-model.test-support.ts"
import { type Answer, replyOf } from "./reply-stream.ts"

const { model } = drivenModel()
const reply = (content: LanguageModelV3Content[], more: Partial<Answer> = {}) =>
  replyOf(model, ASKED, { content, finishReason: STOP, usage: USAGE, ...more }, priceTable())

test("calls with a duplicate or missing id get a unique one", () => {
  const call = (toolCallId: string) => ({
    type: "tool-call" as const,
    toolCallId,
    toolName: "t",
    input: "{}",
  })
  const { content } = reply([call("a"), call(""), call("a"), call(""), call("a_2")])
  expect(content.map((part) => part.type === "tool-call" && part.id)).toEqual([
    "a",
    "call",
    "a_2",
    "call_2",
    "a_2_2",
  ])
})

test("arguments stay as the model wrote them, even if they are not JSON; missing ones are an empty object", () => {
  const call = (toolCallId: string, input: string) => ({
    type: "tool-call" as const,
    toolCallId,
    toolName: "t",
    input,
  })
  const { content } = reply([call("1", '{"a": 1'), call("2", ""), call("3", ' {"b":2} ')])
  expect(content.map((part) => part.type === "tool-call" && part.args)).toEqual([
    '{"a": 1',
    "{}",
    ' {"b":2} ',
  ])
})

test("the item id of text is kept: the provider expects it back", () => {
  const part = { type: "text" as const, text: "Hi", providerMetadata: { openai: { itemId: "msg_1" } } }
  expect(reply([part]).content).toEqual([part])
})

test("empty texts are removed; empty reasoning stays if it has metadata for the provider", () => {
  const { content } = reply([
    { type: "text", text: "" },
    { type: "reasoning", text: "" },
    { type: "reasoning", text: "", providerMetadata: { acme: { redacted: "x" } } },
  ])
  expect(content).toEqual([{ type: "reasoning", text: "", providerMetadata: { acme: { redacted: "x" } } }])
})

test("files become base64 text in every form", () => {
  const { content } = reply([
    { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2, 3]) },
    { type: "file", mediaType: "image/png", data: "AQID" },
  ])
  expect(content).toEqual([
    { type: "file", mediaType: "image/png", data: "AQID" },
    { type: "file", mediaType: "image/png", data: "AQID" },
  ])
})

test("warnings of the provider are kept with its metadata", () => {
  const warnings = [{ type: "unsupported" as const, feature: "topK" }]
  expect(reply([], { warnings, providerMetadata: { acme: { id: 1 } } }).metadata).toEqual({
    acme: { id: 1 },
    warnings: [{ type: "unsupported", feature: "topK" }],
  })
})

test("a reply can always be journaled, whatever a provider puts into its metadata", () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  for (const odd of [cyclic, { at: new Date(0) }, { big: 1n }, { f: () => 1 }, { n: Number.NaN }]) {
    const made = reply([{ type: "reasoning", text: "Hm", providerMetadata: { acme: odd } as never }], {
      providerMetadata: { acme: odd },
    })
    expect(jsonProblem(made)).toBeUndefined()
    expect(made.content).toMatchObject([{ type: "reasoning", text: "Hm" }])
  }
})
