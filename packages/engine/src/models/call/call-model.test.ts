import { getEventListeners } from "node:events"
import { inspect } from "node:util"
import { expect, test } from "vitest"
import { SuperstepError, toErrorData } from "../../core/index.ts"
import { manualClock, settled } from "../../testing/index.ts"
import type { Model, ModelReply } from "../model.ts"
import { priceTable } from "../prices.ts"
import { type CallModelOptions, callModel } from "./call-model.ts"
import { ASKED, apiError, drivenModel } from "./driven-model.test-support.ts"
import { providerLimits } from "./provider-limits.ts"

const prices = priceTable({ "acme/*": { input: 1, output: 10 } })

function calling(models: readonly Model[], more: Partial<CallModelOptions> = {}) {
  const controller = new AbortController()
  const clock = manualClock()
  const options = { signal: controller.signal, clock, prices, random: () => 0, ...more }
  const reply = callModel(models, ASKED, options)
  reply.catch(() => undefined)
  return { reply, clock, controller }
}

const errorOf = (reply: Promise<ModelReply>): Promise<SuperstepError> =>
  reply.then(
    () => Promise.reject(new Error("the call did not fail")),
    (error) => error,
  )

test("a reply is plain data, with the model's name, its usage and its cost", async () => {
  const { model, called } = drivenModel()
  const { reply } = calling([model])
  ;(await called(1)).answer("Hi!", { providerMetadata: { acme: { offline: true } } })
  expect(await reply).toEqual({
    content: [{ type: "text", text: "Hi!" }],
    finish: "stop",
    model: "acme/m1",
    usage: { inputTokens: 100, outputTokens: 10, modelCalls: 1, usd: 0.0002 },
    metadata: { acme: { offline: true } },
  })
})

test("the model receives its caller next to the options of its provider", async () => {
  const { model, called } = drivenModel()
  const controller = new AbortController()
  const call = { ...ASKED, temperature: 0.5, providerOptions: { acme: { fast: true } } }
  const reply = callModel([model], call, { signal: controller.signal })
  const { options, answer } = await called(1)
  expect(options.providerOptions).toEqual({
    acme: { fast: true },
    superstep: { agent: "greeter", ordinal: 0 },
  })
  expect(options.temperature).toBe(0.5)
  expect(options).not.toHaveProperty("caller")
  answer("Hi!")
  await reply
})

test("a transient error is retried with exponential backoff", async () => {
  const { model, calls, called } = drivenModel()
  const { reply, clock } = calling([model], { retry: { attempts: 4, delay: 100 } })
  for (const [n, wait] of [100, 200, 400].entries()) {
    ;(await called(n + 1)).fail(apiError(503, "Overloaded"))
    await clock.advance(wait - 1)
    expect(calls).toHaveLength(n + 1)
    await clock.advance(1)
  }
  ;(await called(4)).answer("At last.")
  expect((await reply).content).toEqual([{ type: "text", text: "At last." }])
})

test("Retry-After is respected in every format", async () => {
  const { model, calls, called } = drivenModel()
  const { reply, clock } = calling([model], { retry: { attempts: 4, delay: 100 } })
  const asks = [
    { "retry-after": "7" },
    { "Retry-After": new Date(clock.now() + 7_000 + 5_000).toUTCString() },
    { "retry-after-ms": "2500", "retry-after": "900" },
  ]
  for (const [n, wait] of [7_000, 5_000, 2_500].entries()) {
    ;(await called(n + 1)).fail(apiError(429, "Slow down", { responseHeaders: asks[n] }))
    await clock.advance(wait - 1)
    expect(calls).toHaveLength(n + 1)
    await clock.advance(1)
  }
  ;(await called(4)).answer("Now.")
  await reply
})

test("a provider that requests a longer wait than allowed is skipped at once", async () => {
  const { model, calls, called } = drivenModel()
  const { reply } = calling([model], { retry: { maxDelay: 60_000 } })
  ;(await called(1)).fail(
    apiError(429, "Come back tomorrow", { responseHeaders: { "retry-after": "86400" } }),
  )
  const error = await errorOf(reply)
  expect(error).toMatchObject({ code: "MODEL_FAILED", retryable: true })
  expect(calls).toHaveLength(1)
})

test("a request that the provider refuses is not retried, and no other model is called", async () => {
  const first = drivenModel()
  const second = drivenModel("m2")
  const { reply } = calling([first.model, second.model])
  ;(await first.called(1)).fail(apiError(400, "Invalid schema for function 'x'"))
  const error = await errorOf(reply)
  expect(error).toMatchObject({ code: "MODEL_FAILED", retryable: false })
  expect(error.message).toBe(
    "acme/m1 refused the request (400): Invalid schema for function 'x'. Check the agent's settings, tools and schema.",
  )
  expect(first.calls).toHaveLength(1)
  expect(second.calls).toHaveLength(0)
})

test("when a model has used all its attempts the next one is called, and the reply names the model that answered", async () => {
  const first = drivenModel()
  const second = drivenModel("m2")
  const { reply, clock } = calling([first.model, second.model], { retry: { attempts: 2, delay: 10 } })
  ;(await first.called(1)).fail(apiError(500, "Oops"))
  await clock.advance(10)
  ;(await first.called(2)).fail(apiError(500, "Oops"))
  ;(await second.called(1)).answer("Here.")
  expect((await reply).model).toBe("acme/m2")
})

test.each([
  [401, "Incorrect key"],
  [404, "No such model"],
  [413, "Too large"],
])("a permanent failure of one model falls back to the next at once: %i", async (status, message) => {
  const first = drivenModel()
  const second = drivenModel("m2")
  const { reply } = calling([first.model, second.model])
  ;(await first.called(1)).fail(apiError(status, message))
  ;(await second.called(1)).answer("Here.")
  expect((await reply).model).toBe("acme/m2")
  expect(first.calls).toHaveLength(1)
})

test("a reply that a content filter cut is a reply: no other model is called", async () => {
  const first = drivenModel()
  const second = drivenModel("m2")
  const { reply } = calling([first.model, second.model])
  ;(await first.called(1)).answer("", { finishReason: { unified: "content-filter", raw: "content_filter" } })
  expect(await reply).toMatchObject({ finish: "content-filter", content: [], model: "acme/m1" })
  expect(second.calls).toHaveLength(0)
})

test("when no model answers, the error names each with its reason", async () => {
  const first = drivenModel()
  const second = drivenModel("m2")
  const { reply } = calling([first.model, second.model], { retry: { attempts: 1 } })
  ;(await first.called(1)).fail(apiError(503, "Overloaded"))
  ;(await second.called(1)).fail(apiError(401, "Bad key"))
  const error = await errorOf(reply)
  expect(error).toMatchObject({ code: "MODEL_FAILED", retryable: true })
  expect(error.message).toContain("None of 2 models answered. acme/m1 failed (503): Overloaded.")
  expect(error.message).toContain("acme/m2 refused the key (401): Bad key.")
})

test("an empty list of models is an error", async () => {
  expect(await errorOf(calling([]).reply)).toMatchObject({ code: "MODEL_MISSING" })
})

test("an error of the engine is thrown unchanged, without a fallback", async () => {
  const first = drivenModel()
  const second = drivenModel("m2")
  const { reply } = calling([first.model, second.model])
  const exhausted = new SuperstepError("SCRIPT_EXHAUSTED", "No reply is left.", { retryable: false })
  ;(await first.called(1)).fail(exhausted)
  expect(await errorOf(reply)).toBe(exhausted)
  expect(second.calls).toHaveLength(0)
})

test("no key, header or prompt is in an error, however it is printed", async () => {
  const { model, called } = drivenModel()
  const { reply } = calling([model])
  const key = "sk-proj-abcdefghijklmnop1234567890"
  ;(await called(1)).fail(
    apiError(401, `Incorrect API key provided: ${key}.`, {
      responseHeaders: { "x-secret": key },
      requestBodyValues: { messages: ["my private prompt"] },
      responseBody: `{"key":"${key}"}`,
      cause: new Error(`Authorization: Bearer ${key}`),
    }),
  )
  const error = await errorOf(reply)
  const printed = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(toErrorData(error))
  expect(printed).not.toContain(key)
  expect(printed).not.toContain("abcdefghij")
  expect(printed).not.toContain("private prompt")
  expect(printed).toContain("HTTP_401")
})

test("a stopped call ends at once with the reason, even if its model ignores the signal", async () => {
  const { model, called } = drivenModel()
  const { reply, controller } = calling([model])
  const { options } = await called(1)
  const reason = new SuperstepError("CANCELLED", "The run was cancelled.", { retryable: false })
  controller.abort(reason)
  expect(await errorOf(reply)).toBe(reason)
  expect(options.abortSignal?.aborted).toBe(true)
})

test("a call that is stopped while it waits makes no further attempt, and leaves no timer", async () => {
  const { model, calls, called } = drivenModel()
  const { reply, clock, controller } = calling([model])
  ;(await called(1)).fail(apiError(503, "Overloaded"))
  await settled()
  expect(clock.pending).toBe(1)
  controller.abort(new Error("enough"))
  expect(await errorOf(reply)).toMatchObject({ code: "CANCELLED", retryable: false })
  expect(clock.pending).toBe(0)
  await clock.advance(60_000)
  expect(calls).toHaveLength(1)
})

test("a call with an aborted signal calls no model", async () => {
  const { model, calls } = drivenModel()
  const reply = callModel([model], ASKED, { signal: AbortSignal.abort() })
  expect(await errorOf(reply)).toMatchObject({ code: "CANCELLED" })
  expect(calls).toHaveLength(0)
})

test("an abort together with a provider's error is an abort, without a fallback", async () => {
  const first = drivenModel()
  const second = drivenModel("m2")
  const { reply, controller } = calling([first.model, second.model])
  const call = await first.called(1)
  call.fail(new DOMException("This operation was aborted", "AbortError"))
  controller.abort()
  expect(await errorOf(reply)).toMatchObject({ code: "CANCELLED" })
  await settled()
  expect(second.calls).toHaveLength(0)
})

test("the timeout of the call includes attempts and waits", async () => {
  const { model, called } = drivenModel()
  const { reply, clock } = calling([model], { timeout: 1_500, retry: { delay: 1_000 } })
  ;(await called(1)).fail(apiError(503, "Overloaded"))
  await clock.advance(1_000)
  const second = await called(2)
  await clock.advance(499)
  expect(second.options.abortSignal?.aborted).toBe(false)
  await clock.advance(1)
  expect(await errorOf(reply)).toMatchObject({ code: "MODEL_TIMEOUT", retryable: true })
  expect(second.options.abortSignal?.aborted).toBe(true)
  expect(clock.pending).toBe(0)
})

test("a call that is answered in time leaves no timer and no listener behind", async () => {
  const { model, called } = drivenModel()
  const { reply, clock, controller } = calling([model], { timeout: 1_500 })
  ;(await called(1)).answer("Hi!")
  await reply
  expect(clock.pending).toBe(0)
  expect(getEventListeners(controller.signal, "abort")).toEqual([])
})

test("a call waits for a slot of its provider, and releases it between attempts", async () => {
  const clock = manualClock()
  const limits = providerLimits({ acme: { concurrency: 1 } }, { clock })
  const one = drivenModel()
  const other = drivenModel("m2")
  const first = calling([one.model], { clock, limits, retry: { delay: 1_000 } })
  const second = calling([other.model], { clock, limits })
  const failing = await one.called(1)
  await settled()
  expect(other.calls).toHaveLength(0)
  failing.fail(apiError(503, "Overloaded"))
  const waiting = await other.called(1)
  await clock.advance(1_000)
  expect(one.calls).toHaveLength(1)
  waiting.answer("Second")
  await second.reply
  ;(await one.called(2)).answer("First")
  await first.reply
})

test("a Retry-After blocks the provider's whole queue, and no other provider's", async () => {
  const clock = manualClock()
  const limits = providerLimits({ acme: { concurrency: 1 }, other: { concurrency: 1 } }, { clock })
  const one = drivenModel()
  const two = drivenModel("m2")
  const elsewhere = drivenModel("m3", "other")
  const first = calling([one.model], { clock, limits })
  const second = calling([two.model], { clock, limits })
  ;(await one.called(1)).fail(apiError(429, "Slow down", { responseHeaders: { "retry-after": "7" } }))
  await settled()
  const third = calling([elsewhere.model], { clock, limits })
  ;(await elsewhere.called(1)).answer("Third")
  await third.reply
  await clock.advance(6_999)
  expect([one.calls.length, two.calls.length]).toEqual([1, 0])
  await clock.advance(1)
  ;(await two.called(1)).answer("Second")
  await second.reply
  ;(await one.called(2)).answer("First")
  await first.reply
})

test("a wait that exceeds the maximum of a call does not block other calls", async () => {
  const clock = manualClock()
  const limits = providerLimits({ acme: { concurrency: 1 } }, { clock })
  const one = drivenModel()
  const two = drivenModel("m2")
  const first = calling([one.model], { clock, limits })
  const second = calling([two.model], { clock, limits })
  ;(await one.called(1)).fail(apiError(429, "Tomorrow", { responseHeaders: { "retry-after": "86400" } }))
  expect(await errorOf(first.reply)).toMatchObject({ code: "MODEL_FAILED" })
  ;(await two.called(1)).answer("Second")
  await second.reply
})

test("an empty reply that ended with an error is not an answer, but counts", async () => {
  const { model, called } = drivenModel()
  const { reply, clock } = calling([model], { retry: { delay: 10 } })
  ;(await called(1)).answer([], { finishReason: { unified: "error", raw: "MALFORMED_FUNCTION_CALL" } })
  await clock.advance(10)
  ;(await called(2)).answer("Now.")
  expect(await reply).toMatchObject({
    content: [{ type: "text", text: "Now." }],
    usage: { modelCalls: 2, outputTokens: 20 },
  })
})

const patience = (seconds: number) =>
  apiError(429, "Slow down", { responseHeaders: { "retry-after": String(seconds) } })

test("a Retry-After is not waited for while another model is left; the model is called afterwards", async () => {
  const one = drivenModel("m1")
  const two = drivenModel("m2", "other")
  const { reply, clock } = calling([one.model, two.model], { retry: { attempts: 2 } })
  ;(await one.called(1)).fail(patience(30))
  ;(await two.called(1)).fail(patience(5))
  await clock.advance(4_999)
  expect([one.calls.length, two.calls.length]).toEqual([1, 1])
  await clock.advance(1)
  ;(await two.called(2)).fail(apiError(500, "Oops"))
  await clock.advance(24_999)
  expect(one.calls).toHaveLength(1)
  await clock.advance(1)
  ;(await one.called(2)).answer("Here.")
  expect(await reply).toMatchObject({ model: "acme/m1", usage: { modelCalls: 4 } })
})

test("later calls of the process call a model in its Retry-After window last", async () => {
  const clock = manualClock()
  const one = drivenModel("m1")
  const two = drivenModel("m2", "other")
  const models = [one.model, two.model]
  const first = calling(models, { clock })
  ;(await one.called(1)).fail(patience(30))
  ;(await two.called(1)).answer("Here.")
  await first.reply
  const second = calling(models, { clock, retry: { attempts: 1 } })
  ;(await two.called(2)).fail(apiError(500, "Oops"))
  await settled()
  expect(one.calls).toHaveLength(1)
  await clock.advance(30_000)
  ;(await one.called(2)).answer("I am back.")
  expect((await second.reply).model).toBe("acme/m1")
  const third = calling(models, { clock })
  ;(await one.called(3)).answer("First again.")
  await third.reply
  expect(two.calls).toHaveLength(2)
})

test("a single model is called in spite of its window, and one with a long window if no other answers", async () => {
  const clock = manualClock()
  const one = drivenModel("m1")
  const two = drivenModel("m2", "other")
  const first = calling([one.model], { clock })
  ;(await one.called(1)).fail(patience(86_400))
  expect(await errorOf(first.reply)).toMatchObject({ code: "MODEL_FAILED" })
  const second = calling([one.model, two.model], { clock, retry: { attempts: 1 } })
  ;(await two.called(1)).fail(apiError(500, "Oops"))
  ;(await one.called(2)).fail(patience(86_400))
  expect((await errorOf(second.reply)).message).toContain(
    "None of 2 models answered. acme/m1 is rate limited",
  )
  const third = calling([one.model], { clock })
  ;(await one.called(3)).answer("At last.")
  await third.reply
})

test("beforeRetry is called before every request except the first, and its error ends the call", async () => {
  const one = drivenModel("m1")
  const two = drivenModel("m2", "other")
  let asked = 0
  const beforeRetry = () => {
    if (++asked === 3) throw new SuperstepError("BUDGET_EXCEEDED", "No more.", { limit: true })
    return undefined
  }
  const { reply, clock } = calling([one.model, two.model], { retry: { attempts: 2, delay: 10 }, beforeRetry })
  ;(await one.called(1)).fail(apiError(500, "Oops"))
  await clock.advance(10)
  ;(await one.called(2)).fail(apiError(500, "Oops"))
  ;(await two.called(1)).fail(apiError(500, "Oops"))
  await clock.advance(10)
  expect(await errorOf(reply)).toMatchObject({ code: "BUDGET_EXCEEDED" })
  expect([one.calls.length, two.calls.length]).toEqual([2, 1])
})
