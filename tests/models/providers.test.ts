/** The real provider packages, each against replies of its own provider's form. */
import { createOpenAI } from "@ai-sdk/openai"
import {
  callModel,
  type Model,
  type ModelCall,
  priceTable,
  type ReplyDelta,
  resolveModel,
} from "@superstep/engine/models"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { claude, claudeStream } from "./anthropic-replies.ts"
import { type ModelServer, modelServer, type ServedReply } from "./model-server.ts"
import { DONE, ends, json, piece, says, stream, text, toolCalls, toolPiece, used } from "./openai-replies.ts"

const schema = {
  type: "object" as const,
  properties: { city: { type: "string" as const } },
  required: ["city"],
  additionalProperties: false,
}
const call: ModelCall = {
  prompt: [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "How warm is it in Oslo?" }] },
  ],
  tools: [{ type: "function", name: "weather", description: "The weather in a city", inputSchema: schema }],
  caller: { agent: "guide", ordinal: 0 },
}
const env = { KEY: "k-1" }

let server: ModelServer
let deltas: ReplyDelta[]
beforeEach(async () => {
  server = await modelServer()
  deltas = []
})
afterEach(() => server.close())

const generate = (model: Model, asked: ModelCall = call) =>
  callModel([model], asked, { signal: new AbortController().signal, retry: { attempts: 1 } })
const streaming = (model: Model, asked: ModelCall = call) =>
  callModel([model], asked, {
    signal: new AbortController().signal,
    retry: { attempts: 1 },
    onDelta: (delta) => deltas.push(delta),
  })

const chat = {
  text: text("12 °C."),
  tools: toolCalls(
    { id: "c1", name: "weather", args: '{"city":"Oslo"}' },
    { id: "c2", name: "weather", args: '{"city":"Rome"}' },
  ),
  textStream: stream(says("12"), says(" °C."), ends("stop"), used, DONE),
  toolStream: stream(
    toolPiece(0, { id: "c1", type: "function", function: { name: "weather", arguments: "" } }),
    toolPiece(0, { function: { arguments: '{"city":' } }),
    toolPiece(0, { function: { arguments: '"Oslo"}' } }),
    toolPiece(1, { id: "c2", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }),
    ends("tool_calls"),
    used,
    DONE,
  ),
}

const toolUseEvents = (index: number, id: string, ...args: string[]): Record<string, unknown>[] => [
  { type: "content_block_start", index, content_block: { type: "tool_use", id, name: "weather", input: {} } },
  ...args.map((partial_json) => ({
    type: "content_block_delta",
    index,
    delta: { type: "input_json_delta", partial_json },
  })),
  { type: "content_block_stop", index },
]
const anthropic = {
  text: claude([{ type: "text", text: "12 °C." }], "end_turn"),
  tools: claude(
    [
      { type: "tool_use", id: "c1", name: "weather", input: { city: "Oslo" } },
      { type: "tool_use", id: "c2", name: "weather", input: { city: "Rome" } },
    ],
    "tool_use",
  ),
  textStream: claudeStream(
    "end_turn",
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "12" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: " °C." } },
    { type: "content_block_stop", index: 0 },
  ),
  toolStream: claudeStream(
    "tool_use",
    ...toolUseEvents(0, "c1", '{"city":', '"Oslo"}'),
    ...toolUseEvents(1, "c2", '{"city":"Rome"}'),
  ),
}

const ollamaHead = { model: "m1", created_at: "2025-07-01T12:00:00Z" }
const ollamaEnd = { done: true, done_reason: "stop", prompt_eval_count: 100, eval_count: 10 }
const lines =
  (...parts: Record<string, unknown>[]): ServedReply =>
  (response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" })
    for (const part of parts) response.write(`${JSON.stringify({ ...ollamaHead, ...part })}\n`)
    response.end()
  }
const ollamaCalls = [
  { id: "c1", function: { name: "weather", arguments: { city: "Oslo" } } },
  { id: "c2", function: { name: "weather", arguments: { city: "Rome" } } },
]
const assistant = (content: string) => ({ role: "assistant", content })
const ollama = {
  text: json({ ...ollamaHead, message: assistant("12 °C."), ...ollamaEnd }),
  tools: json({ ...ollamaHead, message: { ...assistant(""), tool_calls: ollamaCalls }, ...ollamaEnd }),
  textStream: lines(
    { message: assistant("12"), done: false },
    { message: assistant(" °C."), done: false },
    { message: assistant(""), ...ollamaEnd },
  ),
  toolStream: lines(
    { message: { ...assistant(""), tool_calls: ollamaCalls }, done: false },
    { message: assistant(""), ...ollamaEnd },
  ),
}

describe.each([
  ["openai-compatible", "/v1", "/v1/chat/completions", chat, "authorization", "Bearer k-1"],
  ["openai", "/v1", "/v1/chat/completions", chat, "authorization", "Bearer k-1"],
  ["azure", "/openai", "/openai/chat/completions", chat, "api-key", "k-1"],
  ["anthropic", "/v1", "/v1/messages", anthropic, "x-api-key", "k-1"],
  ["ollama", "", "/api/chat", ollama, "authorization", "Bearer k-1"],
] as const)("%s", (provider, base, path, replies, header, key) => {
  const named = (more: Parameters<typeof resolveModel>[0] | object = {}) =>
    resolveModel(
      { provider, model: "m1", baseUrl: `${server.url}${base}`, tokenKey: "KEY", ...(more as object) },
      { env },
    )
  const usage = { inputTokens: 100, outputTokens: 10, modelCalls: 1 }

  test("text comes with the usage, and the key goes where it belongs", async () => {
    server.serve(replies.text)
    const reply = await generate(await named())
    expect(reply).toMatchObject({
      content: [{ type: "text", text: "12 °C." }],
      finish: "stop",
      model: `${provider}/m1`,
      usage,
    })
    const [request] = server.requests
    expect(request?.path.split("?")[0]).toBe(path)
    expect(request?.headers[header]).toBe(key)
    expect(JSON.stringify(request?.body)).toContain("How warm is it in Oslo?")
    expect(JSON.stringify(request?.body)).toContain("The weather in a city")
    expect(JSON.stringify(reply)).not.toContain("k-1")
  })

  test("text comes in pieces", async () => {
    server.serve(replies.textStream)
    expect(await streaming(await named())).toMatchObject({
      content: [{ type: "text", text: "12 °C." }],
      finish: "stop",
      usage,
    })
    expect(deltas).toEqual([
      { kind: "text", text: "12", offset: 0 },
      { kind: "text", text: " °C.", offset: 2 },
    ])
  })

  test.each(["tools", "toolStream"] as const)(
    "several tool calls come in order, with their arguments: %s",
    async (kind) => {
      server.serve(replies[kind])
      const model = await named()
      const reply = await (kind === "tools" ? generate(model) : streaming(model))
      const calls = reply.content.filter((part) => part.type === "tool-call")
      expect(calls.map(({ name, args }) => ({ name, args: JSON.parse(args) }))).toEqual([
        { name: "weather", args: { city: "Oslo" } },
        { name: "weather", args: { city: "Rome" } },
      ])
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
      if (kind === "tools") return
      for (const { id, args } of calls) {
        const own = deltas.filter(({ tool }) => tool?.id === id)
        expect(own.map((delta) => delta.text).join("")).toBe(args)
        expect(own[0]?.offset).toBe(0)
      }
    },
  )

  test("settings of the configuration, and a schema for the answer, are sent", async () => {
    server.serve(replies.text)
    const model = await named({ settings: { temperature: 0.25 } })
    const { tools: _, ...asked } = call
    await generate(model, { ...asked, responseFormat: { type: "json", name: "place", schema } })
    const sent = JSON.stringify(server.requests[0]?.body)
    expect(sent).toContain('"temperature":0.25')
    expect(sent).toContain('"required":["city"]')
  })
})

test("reasoning comes in pieces of its own kind", async () => {
  server.serve(
    stream(
      piece({ reasoning_content: "Warm " }),
      piece({ reasoning_content: "coat?" }),
      says("Yes."),
      ends("stop"),
      DONE,
    ),
  )
  const config = { provider: "openai-compatible", model: "m1", baseUrl: `${server.url}/v1` }
  const reply = await streaming(await resolveModel(config))
  expect(reply.content).toEqual([
    { type: "reasoning", text: "Warm coat?" },
    { type: "text", text: "Yes." },
  ])
  expect(deltas.map(({ kind, offset }) => `${kind} ${offset}`)).toEqual([
    "reasoning 0",
    "reasoning 5",
    "text 0",
  ])
  expect(reply.usage).toMatchObject({ estimatedCalls: 1, unpricedCalls: 1 })
})

test("the signature of what Anthropic's models think is kept, for it is wanted back", async () => {
  server.serve(
    claudeStream(
      "end_turn",
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "sig-1" } },
      { type: "content_block_stop", index: 0 },
    ),
  )
  const config = { provider: "anthropic", model: "m1", baseUrl: `${server.url}/v1`, tokenKey: "KEY" }
  const reply = await streaming(await resolveModel(config, { env }))
  expect(reply.content).toEqual([
    { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "sig-1" } } },
  ])
})

test("an object of a provider's package works as it is: OpenAI's newer interface, and its price by name", async () => {
  const message = { type: "message", role: "assistant", id: "msg_1", status: "completed" }
  server.serve(
    json({
      id: "resp_1",
      object: "response",
      created_at: 1_750_000_000,
      model: "gpt-5-2025-08-07",
      output: [{ ...message, content: [{ type: "output_text", text: "12 °C.", annotations: [] }] }],
      usage: {
        input_tokens: 1_000_000,
        output_tokens: 100_000,
        input_tokens_details: { cached_tokens: 400_000 },
      },
    }),
  )
  const openai = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "k-1" })
  const prices = priceTable({ "openai/gpt-5": { input: 1, output: 10, cacheRead: 0.1 } })
  const reply = await callModel([await resolveModel(openai("gpt-5"))], call, {
    signal: new AbortController().signal,
    prices,
  })
  expect(server.requests[0]?.path).toBe("/v1/responses")
  expect(reply).toMatchObject({ model: "openai/gpt-5", content: [{ type: "text", text: "12 °C." }] })
  expect(reply.usage.usd).toBeCloseTo(0.6 + 0.04 + 1)
})
