import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, expect, test } from "vitest"
import { callModel } from "./call/call-model.ts"
import { ASKED, drivenModel } from "./call/driven-model.test-support.ts"
import { type Model, type ModelRef, modelName } from "./model.ts"
import { registerProvider, resolveModel } from "./named-models.ts"

const undo: (() => void)[] = []
afterEach(() => {
  for (const one of undo.splice(0)) one()
})

const env = {
  OPENAI_API_KEY: "k1",
  ANTHROPIC_API_KEY: "k2",
  AZURE_API_KEY: "k3",
  AZURE_RESOURCE_NAME: "res",
  MY_KEY: "k4",
  GOOGLE_API_KEY: "k5",
  MISTRAL_API_KEY: "k6",
  XAI_API_KEY: "k7",
  GROQ_API_KEY: "k8",
  DEEPSEEK_API_KEY: "k9",
  OPENROUTER_API_KEY: "k10",
  NEBIUS_API_KEY: "k11",
  AWS_BEARER_TOKEN_BEDROCK: "k12",
  AWS_REGION: "eu-central-1",
}

test.each<[ModelRef, string]>([
  ["openai/gpt-5", "openai/gpt-5"],
  ["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"],
  ["azure/my-deployment", "azure/my-deployment"],
  ["ollama/library/llama3.2:1b", "ollama/library/llama3.2:1b"],
  [
    { provider: "openai-compatible", model: "a/b", baseUrl: "http://127.0.0.1:1/v1", tokenKey: "MY_KEY" },
    "openai-compatible/a/b",
  ],
  [{ provider: "openai-compatible", model: "m", baseUrl: "http://127.0.0.1:1/v1" }, "openai-compatible/m"],
  ["google/gemini-2.5-flash", "google/gemini-2.5-flash"],
  ["mistral/mistral-small-latest", "mistral/mistral-small-latest"],
  ["xai/grok-4", "xai/grok-4"],
  ["groq/openai/gpt-oss-20b", "groq/openai/gpt-oss-20b"],
  ["deepseek/deepseek-chat", "deepseek/deepseek-chat"],
  ["openrouter/openrouter/auto", "openrouter/openrouter/auto"],
  ["nebius/m", "nebius/m"],
  ["amazon-bedrock/anthropic.claude", "amazon-bedrock/anthropic.claude"],
  ["dmr/ai/qwen3", "dmr/ai/qwen3"],
  ["auto", "openai/gpt-5-mini"],
])("%j is a model of its provider's package", async (ref, name) => {
  expect(modelName(await resolveModel(ref, { env }))).toBe(name)
})

test.each([
  ["openai", "/responses", "authorization", "Bearer k1", "responses"],
  ["openai", "/chat/completions", "authorization", "Bearer k1", undefined],
  ["anthropic", "/messages", "x-api-key", "k2", undefined],
  ["google", "/models/m:generateContent", "x-goog-api-key", "k5", undefined],
  ["mistral", "/chat/completions", "authorization", "Bearer k6", undefined],
  ["xai", "/chat/completions", "authorization", "Bearer k7", undefined],
  ["groq", "/chat/completions", "authorization", "Bearer k8", undefined],
  ["deepseek", "/chat/completions", "authorization", "Bearer k9", undefined],
  ["openrouter", "/chat/completions", "authorization", "Bearer k10", undefined],
  ["nebius", "/responses", "authorization", "Bearer k11", "responses"],
  ["amazon-bedrock", "/model/m/converse", "authorization", "Bearer k12", undefined],
  ["dmr", "/chat/completions", "authorization", undefined, undefined],
] as const)("%s is asked at %s, with its key in %s", async (provider, path, header, value, api) => {
  const asked: { url: string; key: unknown }[] = []
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? "", key: request.headers[header] })
    response.writeHead(400, { "content-type": "application/json" }).end("{}")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const model = await resolveModel({ provider, model: "m", baseUrl, api }, { env })
    const call = callModel([model], ASKED, { signal: new AbortController().signal })
    await expect(call).rejects.toMatchObject({ code: expect.any(String) })
    expect(asked).toEqual([{ url: path, key: value }])
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
})

test("auto is the model of the first provider whose key is set", async () => {
  const one = await resolveModel("auto", { env: { ANTHROPIC_API_KEY: " ", MISTRAL_API_KEY: "k" } })
  expect(modelName(one)).toBe("mistral/mistral-small-latest")
  await expect(resolveModel("auto", { env: {} })).rejects.toMatchObject({
    code: "MODEL_KEY_MISSING",
    message: expect.stringMatching(/^The model auto needs a key: set one of OPENAI_API_KEY, /),
  })
})

test("Bedrock takes access keys of AWS, and needs a region", async () => {
  const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "s" }
  const model = await resolveModel("amazon-bedrock/m", { env: { ...keys, AWS_REGION: "us-east-1" } })
  expect(modelName(model)).toBe("amazon-bedrock/m")
  await expect(resolveModel("amazon-bedrock/m", { env: keys })).rejects.toMatchObject({
    code: "MODEL_CONFIG_INVALID",
    message: "amazon-bedrock/m needs a region: set AWS_REGION.",
  })
})

test("the offline model needs no key and no package, and its reply states what it is", async () => {
  const model = await resolveModel("offline", {
    env: {},
    load: () => Promise.reject(new Error("not to be loaded")),
  })
  const { content, metadata } = await callModel([model], ASKED, { signal: new AbortController().signal })
  expect(content).toMatchObject([{ type: "text" }])
  expect(JSON.stringify(metadata)).toContain("not a language model")
})

test("a model object is used unchanged", async () => {
  const { model } = drivenModel()
  expect(await resolveModel(model)).toBe(model)
})

test("a model of another interface version is rejected with advice", async () => {
  const old = { ...drivenModel().model, specificationVersion: "v2" } as unknown as Model
  await expect(resolveModel(old)).rejects.toMatchObject({
    code: "MODEL_VERSION",
    message:
      "A model must be a LanguageModelV3 of the AI SDK, not version v2. Use a provider package for @ai-sdk/provider 3.",
  })
})

test.each([
  ["openai/gpt-5", "@ai-sdk/openai"],
  ["anthropic/claude-sonnet-4-5", "@ai-sdk/anthropic"],
  ["azure/d", "@ai-sdk/azure"],
  ["ollama/llama3.2", "ollama-ai-provider-v2"],
  ["google/g", "@ai-sdk/google"],
  ["amazon-bedrock/m", "@ai-sdk/amazon-bedrock"],
  ["nebius/m", "@ai-sdk/openai-compatible"],
  [{ provider: "openai-compatible", model: "m", baseUrl: "http://x.org" }, "@ai-sdk/openai-compatible"],
])("a missing package is reported with its name: %j", async (ref, name) => {
  const load = async (wanted: string) => {
    throw Object.assign(new Error(`Cannot find package '${wanted}'`), { code: "ERR_MODULE_NOT_FOUND" })
  }
  await expect(resolveModel(ref, { env, load })).rejects.toMatchObject({
    code: "MODEL_PROVIDER_MISSING",
    message: expect.stringMatching(
      `^The model .* needs the package ${name}, which is not installed: npm install ${name}$`,
    ),
    retryable: false,
  })
})

test("an installed package that lacks one of its own is not reported as missing", async () => {
  const load = async () => {
    throw Object.assign(new Error("Cannot find package 'left-pad'"), { code: "ERR_MODULE_NOT_FOUND" })
  }
  await expect(resolveModel("openai/gpt-5", { env, load })).rejects.toThrow(
    /is installed but does not load: Cannot find package 'left-pad'/,
  )
})

test.each<[ModelRef, string]>([
  ["openai/gpt-5", "OPENAI_API_KEY"],
  ["anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"],
  ["azure/d", "AZURE_API_KEY"],
  [{ provider: "openai", model: "m", tokenKey: "SPECIAL" }, "SPECIAL"],
  [{ provider: "openai-compatible", model: "m", baseUrl: "http://x.org", tokenKey: "SPECIAL" }, "SPECIAL"],
])("a missing or blank key is reported with the name of its variable: %j", async (ref, variable) => {
  for (const lacking of [{}, { [variable]: "" }, { [variable]: "  " }]) {
    await expect(resolveModel(ref, { env: lacking })).rejects.toMatchObject({
      code: "MODEL_KEY_MISSING",
      message: expect.stringContaining(`set the environment variable ${variable}.`),
    })
  }
})

test("an openai-compatible server needs a base URL, Azure a resource", async () => {
  await expect(resolveModel("openai-compatible/m", { env })).rejects.toMatchObject({
    code: "MODEL_CONFIG_INVALID",
    message: "openai-compatible/m needs the server's base URL (base_url).",
  })
  await expect(resolveModel("azure/d", { env: { AZURE_API_KEY: "k" } })).rejects.toMatchObject({
    code: "MODEL_CONFIG_INVALID",
  })
})

test.each(["gpt-5", "", "/gpt-5", "openai/", " / "])("%j is not a model's name", async (name) => {
  await expect(resolveModel(name, { env })).rejects.toMatchObject({ code: "MODEL_NAME_INVALID" })
})

test.each(["nobody/m", "constructor/m", "__proto__/m"])(
  "%s: an unknown provider lists the known ones",
  async (name) => {
    undo.push(registerProvider("mine", () => drivenModel().model))
    await expect(resolveModel(name, { env })).rejects.toMatchObject({
      code: "MODEL_PROVIDER_UNKNOWN",
      message: expect.stringMatching(
        /known providers: openai, anthropic, google, .*, dmr, openai-compatible, offline, mine\./,
      ),
    })
  },
)

test("a registered provider receives the configuration, and overrides a built-in one until it is unregistered", async () => {
  const { model } = drivenModel("x", "mine")
  const seen: unknown[] = []
  const takeBack = registerProvider("openai", (config) => {
    seen.push(config)
    return model
  })
  expect(await resolveModel("openai/a/b", { env: {} })).toBe(model)
  expect(seen).toEqual([{ provider: "openai", model: "a/b" }])
  takeBack()
  await expect(resolveModel("openai/a", { env: {} })).rejects.toMatchObject({ code: "MODEL_KEY_MISSING" })
})

test("a provider that returns no model is reported", async () => {
  undo.push(registerProvider("mine", (() => undefined) as never))
  await expect(resolveModel("mine/m")).rejects.toMatchObject({ code: "MODEL_VERSION" })
})

test("settings of a configuration are defaults that a call can override", async () => {
  const { model, called } = drivenModel()
  undo.push(registerProvider("mine", () => model))
  const settings = { temperature: 0.2, topP: 0.9, providerOptions: { acme: { a: 1, b: 1 } } }
  const made = await resolveModel({ provider: "mine", model: "m", settings })
  const { prompt } = ASKED
  const options = { prompt, temperature: 0.7, topP: undefined, providerOptions: { acme: { b: 2 } } }
  void made.doGenerate(options as object as Parameters<Model["doGenerate"]>[0])
  const call = await called(1)
  expect(call.options).toMatchObject({
    temperature: 0.7,
    topP: 0.9,
    providerOptions: { acme: { a: 1, b: 2 } },
    prompt,
  })
  expect(modelName(made)).toBe("acme/m1")
})

test("the environment can contain a server's URL, and the name of its key's variable", async () => {
  const seen: unknown[] = []
  undo.push(
    registerProvider("mine", (config) => {
      seen.push(config)
      return drivenModel().model as Model
    }),
  )
  const [host, key] = ["HOST", "MY_KEY"].map((name) => `\${env.${name}}`)
  const config = { provider: "mine", model: "m", baseUrl: `https://${host}/v1`, tokenKey: `${key}` }
  await resolveModel(config, { env: { ...env, HOST: "h.example" } })
  expect(seen).toEqual([{ ...config, baseUrl: "https://h.example/v1", tokenKey: "MY_KEY" }])
  await expect(resolveModel(config, { env })).rejects.toMatchObject({
    code: "MODEL_CONFIG_INVALID",
    message: expect.stringContaining("HOST"),
  })
})
