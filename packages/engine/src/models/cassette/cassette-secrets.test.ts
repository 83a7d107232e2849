import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import type { Json } from "../../core/index.ts"
import { apiError, drivenModel, FINISH, textDelta } from "../call/driven-model.test-support.ts"
import { SecretStripper } from "../redact.ts"
import { scriptedModel } from "../script/scripted-model.ts"
import { cassette } from "./cassette.ts"

const strip = (value: Json, fields: readonly string[] = []) =>
  new SecretStripper({ secretFields: fields }).data(value)

afterEach(() => vi.unstubAllEnvs())

describe("what looks like a key", () => {
  // Concatenated, so that secret scanners do not report this file.
  test.each([
    ["OpenAI", `${"sk"}-proj-Ab3dEf6hIj9lMn2p_Qr5t`],
    ["a masked one", `${"sk"}-abc1*********wxyz`],
    ["Anthropic", `${"sk"}-ant-api03-Ab3dEf6hIj9lMn2pQr5t`],
    ["Groq", `${"gsk"}_Ab3dEf6hIj9lMn2pQr5tUv8x`],
    ["GitHub", `${"ghp"}_Ab3dEf6hIj9lMn2pQr5tUv8xYz1b`],
    ["GitHub, fine-grained", `${"github_pat"}_11ABCDEFG0abcdefghijkl`],
    ["Slack", `${"xoxb"}-123456789012-abcdefghijkl`],
    ["AWS", `${"AKIA"}IOSFODNN7EXAMPLE`],
    ["Google", `${"AIza"}SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6q`],
    ["a JSON Web Token", `${"eyJ"}hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl`],
    ["without a known beginning", "aB3dEf6hIj9lMn2pQr5tUv8xYz1bC4eF7g"],
  ])("of %s is masked everywhere", (_, key) => {
    expect(strip(`the key is ${key}, keep it`)).toBe("the key is [secret], keep it")
    expect(JSON.stringify(strip({ a: [{ b: `x=${key}` }], [`k ${key}`]: 1 }))).not.toContain(key)
    expect(strip(JSON.stringify({ note: key }))).not.toContain(key)
    expect(strip({ text: `{"broken": "${key}` })).not.toContain(key)
  })

  test.each([
    ["Authorization: Bearer abc.def-123", "abc.def-123"],
    ["curl -H 'Authorization: Basic dXNlcjpwYXNz'", "dXNlcjpwYXNz"],
    ["postgres://app:hunter2@db:5432/x", "hunter2"],
    ["https://x.test/?api_key=abcd1234&q=1", "abcd1234"],
    ["password = correcthorse", "correcthorse"],
    ['{\\"password\\": \\"correcthorse\\"', "correcthorse"],
    ["token: 12ab34cd56", "12ab34cd56"],
    [`-----BEGIN RSA ${"PRIVATE"} KEY-----\nMIIE\nabc\n-----END RSA ${"PRIVATE"} KEY-----`, "MIIE"],
    [`-----BEGIN ${"PRIVATE"} KEY-----\nMIIE`, "MIIE"],
  ])("is masked in %j", (text, secret) => {
    expect(strip(text)).not.toContain(secret)
  })

  test.each([
    "skyscrapers and sk-learn, a risk-based desk-research-approach",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "max tokens: 4096, the token is counted, the secret: be kind",
    "https://x.test:8080/a/b?q=password",
    "/Users/Someone/Projects/superstep2/packages/engine/index.ts",
    "see user@example.com: thanks",
  ])("is not in %j", (text) => {
    expect(strip(text)).toBe(text)
  })

  test("is not masked in ids, which link calls with results, nor in files", () => {
    const id = "aB3dEf6hIj9lMn2pQr5tUv8xYz1bC4eF7g"
    const parts = [
      { type: "tool-call", toolCallId: id, toolName: "t", input: "{}" },
      { type: "file", mediaType: "image/png", data: id },
    ]
    expect(strip(parts)).toEqual(parts)
  })

  test("is found in linear time", () => {
    const texts = [
      "sk-".repeat(20_000),
      " ".repeat(60_000),
      "a:".repeat(30_000),
      `://${"a".repeat(60_000)}`,
      "aA1".repeat(20_000),
    ]
    const began = process.cpuUsage()
    for (const text of texts) strip(text)
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(5_000)
  })
})

describe("fields", () => {
  test("with a secret name are masked, at any depth and in JSON within text", () => {
    const input = {
      user: "ann",
      password: "x",
      apiKey: "y",
      nested: [{ access_token: "z", pin: 1234 }],
      openaiApiKey: "k",
    }
    const clean = {
      user: "ann",
      password: "[secret]",
      apiKey: "[secret]",
      nested: [{ access_token: "[secret]", pin: "[secret]" }],
      openaiApiKey: "[secret]",
    }
    expect(strip(input)).toEqual(clean)
    expect(strip({ input: JSON.stringify(input) })).toEqual({ input: JSON.stringify(clean) })
  })

  test("of a schema or a count stay", () => {
    const input = {
      properties: { password: { type: "string" } },
      inputTokens: { total: 5 },
      maxOutputTokens: 9,
      secret: true,
    }
    expect(strip(input)).toEqual(input)
  })

  test("that the user names are masked too, whatever they contain", () => {
    expect(strip({ iban: "DE1", Card: { number: 4111 } }, ["iban", "card"])).toEqual({
      iban: "[secret]",
      Card: "[secret]",
    })
    expect(strip('call({"iban":"DE89', ["iban"])).toBe('call({"iban":"[secret]')
  })

  test("JSON without a secret stays unchanged", () => {
    expect(strip('{ "a" : 1.0 }')).toBe('{ "a" : 1.0 }')
  })
})

describe("a recording", () => {
  const KEY = 'p4ss"word/with+odd chars'
  const GIVEN = "abc1"
  const FIELD = "4111-1111"
  let folder: string
  let file: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "cassette-"))
    file = join(folder, "talk.jsonl")
    vi.stubEnv("ACME_API_KEY", KEY)
    vi.stubEnv("MY_VARIABLE", GIVEN)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const OPTIONS = { mode: "record", secretEnv: ["MY_VARIABLE"], secretFields: ["card"] } as const
  const FORMS = [
    KEY,
    encodeURIComponent(KEY),
    Buffer.from(KEY).toString("base64"),
    JSON.stringify(KEY).slice(1, -1),
    GIVEN,
    FIELD,
  ]

  const call: LanguageModelV3CallOptions = {
    prompt: [
      { role: "system", content: `use ${KEY} and ${GIVEN}` },
      { role: "user", content: [{ type: "text", text: `https://x.test/${encodeURIComponent(KEY)}` }] },
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "1", toolName: "pay", input: { card: { number: FIELD } } },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "1",
            toolName: "pay",
            output: {
              type: "text",
              value: JSON.stringify({ card: FIELD, basic: Buffer.from(KEY).toString("base64") }),
            },
          },
        ],
      },
    ],
    headers: { authorization: KEY, "x-other": "header-value" },
    tools: [{ type: "function", name: "pay", description: `with ${KEY}`, inputSchema: {} }],
    providerOptions: { acme: { key: KEY } },
  }

  const kept = (): string => {
    const text = readFileSync(file, "utf8")
    expect(text.split("\n").length).toBeGreaterThan(2)
    return text
  }

  function expectClean(): void {
    const text = kept()
    for (const form of FORMS) {
      expect(text).not.toContain(form)
      expect(text).not.toContain(JSON.stringify(form).slice(1, -1))
    }
    expect(text).not.toContain("header-value")
  }

  test("of a reply has no secrets of the request, the response and the headers; the caller receives them", async () => {
    const { model, called } = drivenModel()
    const reply = cassette(file, model, OPTIONS).doGenerate(call)
    const input = JSON.stringify({ card: FIELD, to: KEY })
    ;(await called(1)).answer(
      [
        { type: "text", text: `it is ${KEY}` },
        { type: "tool-call", toolCallId: "2", toolName: "pay", input },
      ],
      {
        request: { body: { key: "body-value" } },
        response: { id: "r", headers: { "x-key": "header-value" }, body: "body-value" },
        providerMetadata: { acme: { echoed: KEY } },
      },
    )
    expect((await reply).content).toMatchObject([{ text: `it is ${KEY}` }, { input }])
    expectClean()
    expect(kept()).not.toContain("body-value")
    const replayed = await cassette(file, model, { ...OPTIONS, mode: "replay" }).doGenerate(call)
    expect(replayed.content).toMatchObject([
      { text: "it is [secret]" },
      { input: '{"card":"[secret]","to":"[secret]"}' },
    ])
  })

  test("of a failure has none", async () => {
    const { model, called } = drivenModel()
    const reply = Promise.resolve(cassette(file, model, OPTIONS).doGenerate(call)).catch(() => undefined)
    const more = {
      responseHeaders: { "x-echo": "header-value" },
      responseBody: KEY,
      requestBodyValues: { KEY },
      data: { error: { code: KEY } },
    }
    ;(await called(1)).fail(apiError(401, `bad key ${KEY}`, { ...more, cause: new Error(`with ${GIVEN}`) }))
    await reply
    expectClean()
  })

  const stream = async (parts: LanguageModelV3StreamPart[], end?: unknown) => {
    const { model, called } = drivenModel()
    const live = cassette(file, model, OPTIONS).doStream(call)
    const driven = await called(1)
    driven.send(...parts)
    const reader = (await live).stream.getReader()
    for (const _ of parts) await reader.read()
    driven.end(end)
    await reader.read().catch(() => undefined)
  }

  test("of a stream has none, however it is split", async () => {
    const input = JSON.stringify({ card: FIELD, note: KEY })
    await stream([
      { type: "text-start", id: "0" },
      ...[..."it is ", ...KEY].map((letter) => textDelta(letter)),
      textDelta("unharmed", "1"),
      { type: "tool-input-start", id: "2", toolName: "pay" },
      ...[...input].map((delta): LanguageModelV3StreamPart => ({ type: "tool-input-delta", id: "2", delta })),
      { type: "tool-call", toolCallId: "2", toolName: "pay", input },
      { type: "error", error: new Error(KEY) },
      FINISH,
    ])
    expectClean()
    const recording = JSON.parse(kept().split("\n")[1] ?? "") as {
      reply: { parts: LanguageModelV3StreamPart[] }
    }
    const deltas = recording.reply.parts.flatMap((part) => ("delta" in part ? [part.delta] : []))
    expect(deltas).toEqual(["it is [secret]", "unharmed", '{"card":"[secret]","note":"[secret]"}'])
  })

  test("of a stream that was interrupted within a secret has no prefix of it", async () => {
    await stream([textDelta("it is "), textDelta(KEY.slice(0, 12))], new Error("hang up"))
    expectClean()
    expect(kept()).not.toContain(KEY.slice(0, 4))
  })

  test("is compared in errors without revealing secrets", async () => {
    await cassette(file, scriptedModel(["a"]), OPTIONS).doGenerate(call)
    const changed = {
      ...call,
      prompt: [{ role: "system", content: `do not use ${KEY}` } as const, ...call.prompt.slice(1)],
    }
    const model = cassette(file, scriptedModel([]), { ...OPTIONS, mode: "replay" })
    const error = await Promise.resolve(model.doGenerate(changed)).then(
      () => expect.unreachable("it should have failed"),
      (thrown: Error) => thrown,
    )
    expect(error.message).toContain('was "use [secret] and [secret]" (system) and is "do not use [secret]"')
  })

  test("is found by users with another key", async () => {
    const asked = (key: string): LanguageModelV3CallOptions => ({
      prompt: [{ role: "system", content: `key: ${key}` }],
    })
    await cassette(file, scriptedModel(["a"]), OPTIONS).doGenerate(asked(KEY))
    vi.stubEnv("ACME_API_KEY", "quite another one")
    const model = cassette(file, scriptedModel([]), { ...OPTIONS, mode: "replay" })
    expect((await model.doGenerate(asked("quite another one"))).content).toEqual([
      { type: "text", text: "a" },
    ])
  })
})
