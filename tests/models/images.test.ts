/** Images and files in every documented shape reach every provider in its own shape, or are refused before a request. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { agent } from "@superstep/engine/agents"
import type { Model } from "@superstep/engine/models"
import { filePart, tool } from "@superstep/engine/tools"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { claude, toolUse } from "./anthropic-replies.ts"
import { type ModelServer, modelServer } from "./model-server.ts"
import { text, toolCalls } from "./openai-replies.ts"
import { callItem, messageItem, responds } from "./responses-replies.ts"

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const PDF = Buffer.from("%PDF-1.4\n%%EOF\n").toString("base64")
const URL_OF_IMAGE = "https://example.com/cat"
const bytes = new Uint8Array(Buffer.from(PNG, "base64"))

let server: ModelServer
beforeEach(async () => {
  server = await modelServer()
})
afterEach(async () => {
  await server.close()
  expect(server.refusals).toEqual([])
})

const calling = { retry: { attempts: 1 } }
const providers: [string, () => Model][] = [
  ["OpenAI's Responses", () => createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "k" })("gpt-5")],
  [
    "OpenAI's Chat Completions",
    () => createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "k" }).chat("gpt-5"),
  ],
  ["a compatible server", () => createOpenAICompatible({ name: "local", baseURL: `${server.url}/v1` })("m1")],
  ["Anthropic", () => createAnthropic({ baseURL: `${server.url}/v1`, apiKey: "k" })("claude-sonnet-4-5")],
]
const says = (name: string, words: string) => {
  if (name.includes("Responses")) return responds([messageItem("msg_1", words)])
  return name === "Anthropic" ? claude([{ type: "text", text: words }], "end_turn") : text(words)
}
const sent = (n = 0) => JSON.stringify(server.requests[n]?.body)

const IMAGES: [string, object][] = [
  ["image: base64", { type: "image", image: PNG }],
  ["image: bytes", { type: "image", image: bytes }],
  ["image: data URL", { type: "image", image: `data:image/png;base64,${PNG}` }],
  ["image: data with a type", { type: "image", data: PNG, mimeType: "image/png" }],
  ["image: source", { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } }],
  ["image: of another type than it says", { type: "image", image: PNG, mediaType: "image/jpeg" }],
  ["image_url: data URL", { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } }],
  ["input_image", { type: "input_image", image_url: `data:image/png;base64,${PNG}`, detail: "low" }],
  ["file: bytes", { type: "file", data: bytes, mediaType: "image/png" }],
  ["file: filePart", filePart(bytes)],
]
const ADDRESSES: [string, object][] = [
  ["image: address", { type: "image", image: URL_OF_IMAGE }],
  ["image: URL", { type: "image", image: new URL(URL_OF_IMAGE) }],
  ["image: source", { type: "image", source: { type: "url", url: URL_OF_IMAGE } }],
  ["image_url", { type: "image_url", image_url: { url: URL_OF_IMAGE } }],
  ["image_url: plain", { type: "image_url", image_url: URL_OF_IMAGE }],
  ["file: address", { type: "file", data: URL_OF_IMAGE, mediaType: "image/*" }],
]

describe.each(providers)("%s", (name, model) => {
  const looker = () => agent({ name: "looker", model: model(), calling })
  const look = (...parts: object[]) =>
    looker().run({ messages: [{ role: "user", content: [{ type: "text", text: "What is it?" }, ...parts] }] })

  test.each(IMAGES)("gets the bytes of an image: %s", async (_, part) => {
    server.serve(says(name, "A dot."))
    expect((await look(part)).outputs).toEqual(["A dot."])
    expect(sent()).toContain(name === "Anthropic" ? `"data":"${PNG}"` : `data:image/png;base64,${PNG}`)
  })

  test.each(ADDRESSES)("gets the address of an image: %s", async (_, part) => {
    server.serve(says(name, "A cat."))
    expect((await look(part)).outputs).toEqual(["A cat."])
    expect(sent()).toMatch(/"(?:url|image_url)":"https:\/\/example\.com\/cat"/)
    expect(sent()).not.toContain("base64")
  })

  test("gets documents, and text files as text", async () => {
    server.serve(says(name, "Read."))
    const pdf = { type: "file", file: { file_data: `data:application/pdf;base64,${PDF}`, filename: "a.pdf" } }
    const csv = filePart(Buffer.from("a,b\n1,2"), { filename: "numbers.csv" })
    expect((await look(pdf, csv)).outputs).toEqual(["Read."])
    expect(sent()).toContain(PDF)
    expect(sent()).toContain("a,b\\\\n1,2".replace("\\\\", "\\"))
  })

  test.each<[string, object]>([
    ["a type that nobody takes", filePart(Buffer.from("PK"), { mediaType: "application/zip" })],
    ["an image type that nobody takes", filePart(Buffer.from("<svg/>"), { mediaType: "image/svg+xml" })],
  ])("%s is refused before the run starts, with what the model takes", async (_, part) => {
    await expect(look(part)).rejects.toMatchObject({
      code: "MODEL_MEDIA_UNSUPPORTED",
      message: expect.stringMatching(/cannot work on this input: .* It accepts image\/png/),
    })
    expect(server.requests).toEqual([])
  })

  test("a tool may return an image beside text, and the model gets both", async () => {
    const draw = tool({
      name: "draw",
      description: "Draws.",
      run: () => ["A dot:", filePart(bytes), filePart(Buffer.from("notes"), { mediaType: "text/plain" })],
    })
    const calls = () => {
      if (name.includes("Responses")) return responds([callItem("fc_1", "call_1", "draw", {})])
      if (name === "Anthropic") return claude([toolUse("toolu_1", "draw", {})], "tool_use")
      return toolCalls({ id: "call_1", name: "draw", args: "{}" })
    }
    server.serve(calls(), says(name, "Drawn."))
    const artist = agent({ name: "artist", model: model(), calling, tools: [draw] })
    expect((await artist.run("Draw.")).outputs).toEqual(["Drawn."])
    expect(sent(1)).toContain(PNG)
    // As an image, not as thousands of letters.
    expect(sent(1)).toMatch(/"(?:input_image|image_url|image)"/)
    expect(sent(1)).toContain("A dot:")
    expect(sent(1)).toContain("notes")
  })
})

test("an id of a file at OpenAI reaches OpenAI, and no other provider", async () => {
  const [responses, , , anthropic] = providers.map(([, make]) => make) as [
    () => Model,
    never,
    never,
    () => Model,
  ]
  const messages = [{ role: "user", content: [{ type: "file", file: { file_id: "file-abc" } }] }]
  server.serve(says("OpenAI's Responses", "Read."))
  expect((await agent({ name: "x", model: responses(), calling }).run({ messages })).outputs).toEqual([
    "Read.",
  ])
  expect(sent()).toContain('"file_id":"file-abc"')
  const other = agent({ name: "x", model: anthropic(), calling }).run({ messages })
  await expect(other).rejects.toMatchObject({ code: "MODEL_MEDIA_UNSUPPORTED" })
})

test("a model that takes the file answers in place of one that does not", async () => {
  server.serve(says("a compatible server", "Heard."))
  const [, , compatible, anthropic] = providers.map(([, make]) => make) as [
    never,
    never,
    () => Model,
    () => Model,
  ]
  const listener = agent({ name: "listener", model: [anthropic(), compatible()], calling })
  const audio = { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }
  const messages = [{ role: "user", content: [{ type: "text", text: "Who?" }, audio] }]
  expect((await listener.run({ messages })).outputs).toEqual(["Heard."])
})

test.each<[string, unknown, RegExp]>([
  ["an unknown part", { type: "video", data: "x" }, /"video" is not a part type/],
  ["no data", { type: "image" }, /no bytes, no base64 and no URL/],
  ["not base64", { type: "image", image: "not base64!" }, /neither base64 nor an http URL/],
  ["a local address", { type: "image", image: "file:///etc/passwd" }, /must begin with http/],
  ["unknown bytes", { type: "file", data: "AAAA" }, /do not reveal its type/],
  ["text that is none", { type: "text", text: 5 }, /not a string/],
])("%s is refused before the run starts", async (_, part, why) => {
  const [, [, model]] = providers as [unknown, [string, () => Model]]
  const run = agent({ name: "x", model: model(), calling }).run({
    messages: [{ role: "user", content: [part] }],
  })
  await expect(run).rejects.toMatchObject({ code: "INPUT_INVALID", message: expect.stringMatching(why) })
  expect(server.requests).toEqual([])
})
