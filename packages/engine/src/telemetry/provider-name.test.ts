import { expect, it } from "vitest"
import { providerName } from "./attributes.ts"

it.each([
  ["openai.responses", "openai"],
  ["openai.chat", "openai"],
  ["anthropic.messages", "anthropic"],
  ["azure.chat", "azure.ai.openai"],
  ["azure-openai.chat", "azure.ai.openai"],
  ["amazon-bedrock", "aws.bedrock"],
  ["google.generative-ai", "gcp.gemini"],
  ["google.vertex.chat", "gcp.vertex_ai"],
  ["mistral.chat", "mistral_ai"],
  ["xai.chat", "x_ai"],
  ["ollama", "ollama"],
  ["openai-compatible.chat", "openai-compatible"],
  ["my-own.thing", "my-own"],
  [".odd", ".odd"],
  ["", ""],
])("%s is %s", (provider, name) => {
  expect(providerName(provider)).toBe(name)
})
