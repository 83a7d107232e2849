import { expect, test } from "vitest"
import { SuperstepError, toErrorData } from "../../core/index.ts"
import { callFailure } from "./call-failure.ts"
import { apiError } from "./driven-model.test-support.ts"

const named = (name: string, message: string, more: Record<string, unknown> = {}) =>
  Object.assign(new Error(message), { name, ...more })

const AGAIN = { retry: true, fallback: true }
const ELSEWHERE = { retry: false, fallback: true }
const NOWHERE = { retry: false, fallback: false }

test.each([
  ["a server that is down", apiError(500, "Oops"), AGAIN],
  ["an overloaded server", apiError(529, "overloaded_error"), AGAIN],
  ["a rate limit", apiError(429, "Rate limit reached"), AGAIN],
  ["a request that took too long", apiError(408, "Request timeout"), AGAIN],
  ["a bad key", apiError(401, "Incorrect API key"), ELSEWHERE],
  ["a key that may not", apiError(403, "Not allowed"), ELSEWHERE],
  ["no money left", apiError(402, "Payment required"), ELSEWHERE],
  ["an unknown model", apiError(404, "The model does not exist"), ELSEWHERE],
  ["a bad request", apiError(400, "Unknown parameter"), NOWHERE],
  ["an unprocessable request", apiError(422, "Unprocessable"), NOWHERE],
  ["a content filter", apiError(400, "Filtered", { data: { error: { code: "content_filter" } } }), NOWHERE],
  [
    "a quota that is used up, which looks like a rate limit",
    apiError(429, "You exceeded your current quota", { data: { error: { code: "insufficient_quota" } } }),
    ELSEWHERE,
  ],
  [
    "a prompt that is too long, which looks like a bad request",
    apiError(400, "This model's maximum context length is 8192 tokens"),
    ELSEWHERE,
  ],
  [
    "a provider that says it is of no use to try again",
    apiError(503, "Gone", { isRetryable: false }),
    ELSEWHERE,
  ],
  ["an answer that is no JSON", apiError(200, "Invalid JSON response", { isRetryable: false }), AGAIN],
  ["a stream that is no JSON", named("AI_JSONParseError", "JSON parsing failed"), AGAIN],
  ["a stream of another shape", named("AI_TypeValidationError", "Type validation failed"), AGAIN],
  ["an answer without a body", named("AI_EmptyResponseBodyError", "Empty response body"), AGAIN],
  ["a connection that was reset", named("Error", "read", { code: "ECONNRESET" }), AGAIN],
  [
    "a server that is not there, two causes down",
    named("TypeError", "wrapped", { cause: named("Error", "x", { cause: { code: "ECONNREFUSED" } }) }),
    AGAIN,
  ],
  ["a fetch that failed", new TypeError("fetch failed"), AGAIN],
  ["a timeout of the provider's own", new DOMException("The operation timed out", "TimeoutError"), AGAIN],
  ["an overload inside a stream", { type: "overloaded_error", message: "Overloaded" }, AGAIN],
  ["a failure inside a stream", { type: "server_error", message: "Oops" }, AGAIN],
  ["a status inside a stream", { code: 503, message: "Oops" }, AGAIN],
  ["a bad request inside a stream", { type: "invalid_request_error", message: "No" }, NOWHERE],
  ["a bad key inside a stream", { type: "authentication_error", message: "No" }, ELSEWHERE],
  ["something a model cannot do", named("AI_UnsupportedFunctionalityError", "No images"), ELSEWHERE],
  ["a key that is missing", named("AI_LoadAPIKeyError", "OpenAI API key is missing"), ELSEWHERE],
  ["an unknown error", new Error("Boo"), ELSEWHERE],
  ["a thrown string", "boo", ELSEWHERE],
  ["a thrown undefined", undefined, ELSEWHERE],
  ["an error of ours that may pass", new SuperstepError("X", "x", { retryable: true }), AGAIN],
  ["an error of ours", new SuperstepError("X", "x"), NOWHERE],
])("%s is classified by its fields", (_, error, expected) => {
  expect(callFailure(error, 0)).toMatchObject(expected)
})

test("the message has the model, the problem, the number of attempts and advice", () => {
  const { error } = callFailure(apiError(429, "Rate limit reached"), 0)
  expect(error("openai/gpt-5", 3).message).toBe(
    "openai/gpt-5 is rate limited (429) after 3 attempts: Rate limit reached. Try again later, set limits for its provider, or set a fallback model.",
  )
})

test("a very long message is cut, and its lines are joined", () => {
  const { error } = callFailure(apiError(500, `Oops\n\n  ${"long ".repeat(1_000)}`), 0)
  const { message } = error("a/b", 1)
  expect(message.length).toBeLessThan(700)
  expect(message).toContain("Oops long long")
})

test("circular causes are followed for a few steps only", () => {
  const error = named("Error", "round")
  error.cause = error
  const data = toErrorData(callFailure(error, 0).error("a/b", 1))
  expect(data.cause?.cause?.message).toBe("round")
})
