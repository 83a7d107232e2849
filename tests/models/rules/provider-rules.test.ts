/** The fakes refuse what the providers refuse, and nothing that they take. */
import { describe, expect, test } from "vitest"
import { ProviderRules } from "./provider-rules.ts"
import type { Data } from "./refusal.ts"
import { strictProblem } from "./strict-subset.ts"

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

function refused(path: string, body: Data, rules = new ProviderRules()): string | undefined {
  const refusal = rules.refusal(path, body)
  return refusal === undefined ? undefined : JSON.stringify(refusal.body)
}

const user = { role: "user", content: "Hi" }
const object = (properties: Data, more: Data = {}) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
})

describe("OpenAI Chat Completions", () => {
  const call = { id: "c1", type: "function", function: { name: "find", arguments: "{}" } }
  const asks = { role: "assistant", content: null, tool_calls: [call] }
  const result = { role: "tool", tool_call_id: "c1", content: "found" }
  const chat = (...messages: Data[]) => refused("/v1/chat/completions", { model: "m", messages })
  const image = (url: string) => ({ role: "user", content: [{ type: "image_url", image_url: { url } }] })

  test("takes calls with their results, and images as data and as addresses", () => {
    expect(chat(user, asks, result)).toBeUndefined()
    expect(chat(image(`data:image/png;base64,${PNG}`))).toBeUndefined()
    expect(chat(image("https://example.com/a.png"))).toBeUndefined()
  })

  test.each<[string, Data[], string]>([
    ["no messages", [], "empty array"],
    ["a call without a result", [user, asks, user], "did not have response messages: c1"],
    ["a call without a result at the end", [user, asks], "did not have response messages: c1"],
    ["a result without its call", [user, result], "must be a response to a preceeding message"],
    ["an assistant that says nothing", [user, { role: "assistant", content: null }], "expected a string"],
    [
      "an id that is too long",
      [user, { ...asks, tool_calls: [{ ...call, id: "c".repeat(41) }] }],
      "too long",
    ],
    ["an address that is read as data", [image("data:image/png;base64,https://example.com/a.png")], "base64"],
    ["an image of another type", [image(`data:image/jpeg;base64,${PNG}`)], "does not match"],
    [
      "an image's own shape",
      [{ role: "user", content: [{ type: "image", image: PNG }] }],
      "Invalid value: 'image'",
    ],
  ])("refuses %s", (_, messages, why) => {
    expect(chat(...messages)).toContain(why)
  })

  test("refuses a schema outside the strict subset when it is strict, and takes it when it is not", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } }
    const asked = (strict: boolean) =>
      refused("/v1/chat/completions", {
        messages: [user],
        response_format: { type: "json_schema", json_schema: { name: "x", schema, strict } },
      })
    expect(asked(true)).toContain("'additionalProperties' is required to be supplied and to be false")
    expect(asked(false)).toBeUndefined()
  })

  test("refuses a union at the root of a tool's parameters, strict or not", () => {
    const parameters = { type: "object", anyOf: [object({ a: { type: "string" } })] }
    const tools = [{ type: "function", function: { name: "find", parameters } }]
    expect(refused("/v1/chat/completions", { messages: [user], tools })).toContain(
      "not have 'anyOf' at the top level",
    )
  })
})

describe("OpenAI Responses", () => {
  const reasoning = { type: "reasoning", id: "rs_1", summary: [] }
  const call = { type: "function_call", id: "fc_1", call_id: "c1", name: "find", arguments: "{}" }
  const sent = { type: "function_call", call_id: "c1", name: "find", arguments: "{}" }
  const output = { type: "function_call_output", call_id: "c1", output: "found" }
  const message = {
    type: "message",
    id: "msg_1",
    role: "assistant",
    content: [{ type: "output_text", text: "Yes" }],
  }

  function continued(answer: readonly Data[], input: readonly Data[], more: Data = {}) {
    const rules = new ProviderRules()
    const body = { model: "gpt-5", input: [user], ...more }
    expect(refused("/v1/responses", body, rules)).toBeUndefined()
    rules.answered("/v1/responses", body, JSON.stringify({ output: answer }))
    return refused("/v1/responses", { model: "gpt-5", ...more, input: [user, ...input] }, rules)
  }
  const reference = { type: "item_reference", id: "rs_1" }

  test("takes reasoning with the item that followed it, whole or by reference", () => {
    expect(continued([reasoning, call], [reference, sent, output])).toBeUndefined()
    expect(
      continued([reasoning, message], [reference, { type: "item_reference", id: "msg_1" }]),
    ).toBeUndefined()
  })

  test.each<[string, Data[], Data[], string]>([
    ["reasoning alone", [reasoning, call], [reference, user], "without its required following item"],
    ["reasoning at the end", [reasoning, message], [reference], "without its required following item"],
    [
      "reasoning before another item",
      [reasoning, call],
      [reference, { role: "assistant", content: "[called find]" }],
      "without its required following item",
    ],
    [
      "a message without its reasoning",
      [reasoning, message],
      [message],
      "without its required 'reasoning' item: 'rs_1'",
    ],
    [
      "an item twice",
      [reasoning, message],
      [reference, message, reference, message],
      "Duplicate item found with id rs_1",
    ],
    ["a call without its output", [call], [sent], "No tool output found for function call c1"],
    [
      "an output without its call",
      [call],
      [output],
      "No tool call found for function call output with call_id c1",
    ],
    [
      "an item of somebody else",
      [call],
      [{ type: "item_reference", id: "rs_9" }],
      "Item with id 'rs_9' not found",
    ],
  ])("refuses %s", (_, answer, input, why) => {
    expect(continued(answer, input)).toContain(why)
  })

  test("refuses references to what was not stored, and reasoning for a model that does not reason", () => {
    expect(continued([reasoning, message], [reference, message], { store: false })).toContain("not persisted")
    expect(continued([reasoning, call], [reference, sent, output], { model: "gpt-4.1" })).toContain(
      "only be provided to a reasoning",
    )
  })
})

describe("Anthropic Messages", () => {
  const thinking = { type: "thinking", thinking: "Hm.", signature: "sig" }
  const use = { type: "tool_use", id: "t1", name: "find", input: {} }
  const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "found" }] }
  const tools = [{ name: "find", input_schema: { type: "object" } }]
  const enabled = { type: "enabled", budget_tokens: 1_024 }

  function claude(messages: readonly Data[], more: Data = {}) {
    const rules = new ProviderRules()
    rules.answered("/v1/messages", {}, JSON.stringify({ content: [thinking] }))
    return refused("/v1/messages", { max_tokens: 4_096, messages, tools, ...more }, rules)
  }
  const says = (...content: Data[]) => ({ role: "assistant", content })

  test("takes signed thinking before a call, and its result", () => {
    expect(claude([user, says(thinking, use), result], { thinking: enabled })).toBeUndefined()
  })

  test.each<[string, Data[], Data, string]>([
    ["a first message of the assistant", [says({ type: "text", text: "Hi" })], {}, "first message must use"],
    ["an empty message", [user, says(), user], {}, "must have non-empty content"],
    ["empty text", [{ role: "user", content: [{ type: "text", text: "" }] }], {}, "must be non-empty"],
    [
      "a call without a result",
      [user, says(use), user],
      {},
      "without `tool_result` blocks immediately after: t1",
    ],
    [
      "a result after other content",
      [user, says(use), { role: "user", content: [{ type: "text", text: "Well" }, ...result.content] }],
      {},
      "without `tool_result` blocks",
    ],
    [
      "a result without its call",
      [user, says({ type: "text", text: "Hi" }), result],
      {},
      "unexpected `tool_use_id`",
    ],
    [
      "calls in a request without tools",
      [user, says(use), result],
      { tools: undefined },
      "must define tools",
    ],
    [
      "thinking that was changed",
      [user, says({ ...thinking, thinking: "…" }, use), result],
      {},
      "Invalid `signature`",
    ],
    [
      "thinking at the end",
      [user, says(use), result, says(thinking), user],
      {},
      "final block in an assistant message",
    ],
    [
      "a call without the thinking before it",
      [user, says(use), result],
      { thinking: enabled },
      "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    ],
    ["one id twice", [user, says(use), result, says(use), result], {}, "ids must be unique"],
    ["arguments that are no object", [user, says({ ...use, input: "x" }), result], {}, "valid dictionary"],
  ])("refuses %s", (_, messages, more, why) => {
    expect(claude(messages, more)).toContain(why)
  })
})

describe("the strict subset", () => {
  const text = { type: "string" }

  test.each<[string, Data]>([
    ["nested objects", object({ a: object({ b: text }), list: { type: "array", items: text } })],
    [
      "nullable properties",
      object({ a: { type: ["string", "null"] }, b: { anyOf: [object({}), { type: "null" }] } }),
    ],
    [
      "references, also to itself",
      object({ a: { $ref: "#/$defs/n" } }, { $defs: { n: object({ n: { $ref: "#" } }) } }),
    ],
  ])("takes %s", (_, schema) => {
    expect(strictProblem(schema)).toBeUndefined()
  })

  test.each<[string, Data, string]>([
    ["a list at the root", { type: "array", items: text }, 'type: "object"'],
    ["a union at the root", { anyOf: [object({})] }, 'type: "object"'],
    ["an optional property", object({ a: text }, { required: [] }), "Missing 'a'"],
    ["an open object", object({}, { additionalProperties: true }), "to be false"],
    ["oneOf", object({ a: { oneOf: [text] } }), "'oneOf' is not permitted"],
    ["a default", object({ a: { ...text, default: "x" } }), "'default' is not permitted"],
    ["a length", object({ a: { ...text, minLength: 1 } }), "'minLength' is not permitted"],
    ["an unknown format", object({ a: { ...text, format: "uri" } }), "'uri' is not a valid format"],
    ["anything", object({ a: {} }), "must have a 'type' key"],
    ["a reference with keywords", object({ a: { $ref: "#", title: "x" } }), "$ref cannot have keywords"],
    ["eleven levels", deep(11), "11 levels of nesting exceeds limit of 10"],
  ])("refuses %s", (_, schema, why) => {
    expect(strictProblem(schema)).toContain(why)
  })

  function deep(levels: number): Data {
    return levels === 1 ? object({}) : object({ a: deep(levels - 1) })
  }
})
