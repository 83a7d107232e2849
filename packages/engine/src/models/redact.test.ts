import { afterEach, expect, test, vi } from "vitest"
import { withoutSecrets } from "./redact.ts"

afterEach(() => {
  vi.unstubAllEnvs()
})

test("a key of the environment is masked, however ordinary it looks; a short one may be any word", () => {
  vi.stubEnv("ACME_API_KEY", "correct-horse")
  vi.stubEnv("OTHER_TOKEN", "model")
  expect(withoutSecrets("correct-horse may not use this model")).toBe("[secret] may not use this model")
})

test.each([
  ["Incorrect API key provided: sk-abc***xyz1.", "Incorrect API key provided: [secret]"],
  ["key sk-ant-api03-AbC_d-123456789 is bad", "key [secret] is bad"],
  ["Authorization: Bearer abc.def.ghi-123", "Authorization: Bearer [secret]"],
  ['{"api_key": "hunter2hunter2"}', '{"api_key": "[secret]"}'],
  ["GET https://x.org/v1?api-key=abcdef123&q=1", "GET https://x.org/v1?api-key=[secret]&q=1"],
  ["https://me:pass@x.org/", "https://[secret]@x.org/"],
  ["token 0123456789abcdef0123456789abcdef ends", "token [secret] ends"],
  ["eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc_def", "[secret]"],
])("likely keys are masked: %s", (text, clean) => {
  expect(withoutSecrets(text)).toBe(clean)
})

test.each([
  "The model gpt-5-mini-2025-08-07 does not exist",
  "Rate limit reached for 30000 tokens per minute, limit 1, used 2",
  "Invalid schema for function 'search_documents': additionalProperties is needed",
  "See https://platform.openai.com/docs/guides/error-codes",
])("long or technical text stays: %s", (text) => {
  expect(withoutSecrets(text)).toBe(text)
})
