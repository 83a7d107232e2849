import { expect, test } from "vitest"
import { manualClock, settled } from "../../testing/index.ts"
import type { Model, ReplyDelta } from "../model.ts"
import { priceTable } from "../prices.ts"
import { CallMeter } from "../usage.ts"
import { type CallModelOptions, callModel } from "./call-model.ts"
import {
  ASKED,
  apiError,
  drivenModel,
  FINISH,
  NO_USAGE,
  STOP,
  textDelta,
  USAGE,
} from "./driven-model.test-support.ts"

const prices = priceTable({ "acme/*": { input: 1, output: 10 } })

function streaming(models: readonly Model[], more: Partial<CallModelOptions> = {}) {
  const controller = new AbortController()
  const clock = manualClock()
  const deltas: ReplyDelta[] = []
  const onDelta = (delta: ReplyDelta) => deltas.push(delta)
  const options = { signal: controller.signal, clock, prices, onDelta, random: () => 0, ...more }
  const reply = callModel(models, ASKED, options)
  reply.catch(() => undefined)
  return { reply, clock, controller, deltas }
}

/** The text of a watcher that follows the deltas. */
function screen(deltas: readonly ReplyDelta[]): Record<string, string> {
  const shown: Record<string, string> = {}
  for (const { kind, text, offset, tool } of deltas) {
    const place = tool === undefined ? kind : `${tool.name} ${tool.id}`
    shown[place] = (shown[place] ?? "").slice(0, offset) + text
  }
  return shown
}

test("text, reasoning and the arguments of tool calls are sent as they arrive, and the reply has all of them", async () => {
  const { model, called } = drivenModel()
  const { reply, deltas } = streaming([model])
  const call = await called(1)
  call.send(
    { type: "stream-start", warnings: [] },
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "Let me " },
    { type: "reasoning-delta", id: "r", delta: "see." },
    { type: "reasoning-end", id: "r", providerMetadata: { acme: { signature: "s1" } } },
    { type: "text-start", id: "t" },
    textDelta("Look", "t"),
    textDelta("ing it up.", "t"),
    { type: "text-end", id: "t" },
    { type: "tool-input-start", id: "c1", toolName: "find" },
    { type: "tool-input-delta", id: "c1", delta: '{"q":' },
    { type: "tool-input-delta", id: "c1", delta: '"x"}' },
    { type: "tool-input-end", id: "c1" },
    { type: "tool-call", toolCallId: "c1", toolName: "find", input: '{"q":"x"}' },
    { type: "tool-call", toolCallId: "c2", toolName: "list", input: "{}" },
    { type: "finish", finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage: USAGE },
  )
  call.end()
  expect(await reply).toMatchObject({
    finish: "tool-calls",
    content: [
      { type: "reasoning", text: "Let me see.", providerMetadata: { acme: { signature: "s1" } } },
      { type: "text", text: "Looking it up." },
      { type: "tool-call", id: "c1", name: "find", args: '{"q":"x"}' },
      { type: "tool-call", id: "c2", name: "list", args: "{}" },
    ],
  })
  expect(deltas).toEqual([
    { kind: "reasoning", text: "Let me ", offset: 0 },
    { kind: "reasoning", text: "see.", offset: 7 },
    { kind: "text", text: "Look", offset: 0 },
    { kind: "text", text: "ing it up.", offset: 4 },
    { kind: "tool", text: '{"q":', offset: 0, tool: { id: "c1", name: "find" } },
    { kind: "tool", text: '"x"}', offset: 5, tool: { id: "c1", name: "find" } },
    { kind: "tool", text: "{}", offset: 0, tool: { id: "c2", name: "list" } },
  ])
})

test.each([
  ["breaks with an error", (call: Driven) => call.end(new TypeError("terminated"))],
  ["ends without a word", (call: Driven) => call.end()],
  [
    "has an error in it, though it continues",
    (call: Driven) => call.send({ type: "error", error: { type: "server_error", message: "Oops" } }, FINISH),
  ],
  [
    "ends with garbage",
    (call: Driven) =>
      call.send({ type: "error", error: Object.assign(new Error("bad"), { name: "AI_JSONParseError" }) }),
  ],
  [
    "is cut off without its provider's noticing",
    (call: Driven) => {
      call.send({ type: "finish", finishReason: { unified: "other", raw: undefined }, usage: NO_USAGE })
      call.end()
    },
  ],
])("a stream that %s is retried from the start, and nothing of it remains (C1)", async (_, breakOff) => {
  const { model, called } = drivenModel()
  const { reply, clock, deltas } = streaming([model], { retry: { delay: 100 } })
  const first = await called(1)
  first.send(
    textDelta("Half an ans"),
    { type: "reasoning-delta", id: "r", delta: "Hm" },
    { type: "tool-input-start", id: "c1", toolName: "find" },
    { type: "tool-input-delta", id: "c1", delta: '{"q' },
  )
  await settled()
  expect(screen(deltas)).toEqual({ text: "Half an ans", reasoning: "Hm", "find c1": '{"q' })
  breakOff(first)
  await clock.advance(100)
  expect(screen(deltas)).toEqual({ text: "", reasoning: "", "find c1": "" })
  const second = await called(2)
  second.send(textDelta("Half"), textDelta(" past nine."), FINISH)
  second.end()
  expect((await reply).content).toEqual([{ type: "text", text: "Half past nine." }])
  expect(screen(deltas)).toEqual({ text: "Half past nine.", reasoning: "", "find c1": "" })
})

type Driven = Awaited<ReturnType<ReturnType<typeof drivenModel>["called"]>>

test("the text of a stream that failed counts: it is in the usage, estimated (C3)", async () => {
  const { model, called } = drivenModel()
  const { reply, clock } = streaming([model], { retry: { delay: 100 } })
  const first = await called(1)
  first.send(textDelta("x".repeat(400)))
  await settled()
  first.end(new TypeError("terminated"))
  await clock.advance(100)
  const second = await called(2)
  second.send(textDelta("Done."), FINISH)
  second.end()
  const { usage } = await reply
  expect(usage).toMatchObject({ modelCalls: 2, estimatedCalls: 1, outputTokens: 110, inputTokens: 106 })
  expect(usage.usd).toBeCloseTo((106 + 110 * 10) / 1_000_000, 12)
})

test("the cost of dropped streams is metered per model, even if the call ends without a reply (C3)", async () => {
  const one = drivenModel()
  const two = drivenModel("m2")
  const meter = new CallMeter()
  const { reply, clock } = streaming([one.model, two.model], { retry: { attempts: 2, delay: 100 }, meter })
  for (const n of [1, 2]) {
    const call = await one.called(n)
    call.send(textDelta("x".repeat(40)))
    await settled()
    call.end(new TypeError("terminated"))
    await clock.advance(100)
  }
  ;(await two.called(1)).fail(apiError(401, "Bad key"))
  await expect(reply).rejects.toMatchObject({ code: "MODEL_FAILED" })
  expect(meter.spent).toMatchObject([
    { model: "acme/m1", usage: { modelCalls: 2, outputTokens: 20 } },
    { model: "acme/m2", usage: { modelCalls: 1 } },
  ])
})

test("a stream is metered while it is in progress, and when its caller stopped it", async () => {
  const { model, called } = drivenModel()
  const meter = new CallMeter()
  const { reply, controller } = streaming([model], { meter })
  const call = await called(1)
  const used = { inputTokens: 6, outputTokens: 0, modelCalls: 1, usd: 6 / 1_000_000, estimatedCalls: 1 }
  expect(meter.spent).toEqual([{ model: "acme/m1", usage: used }])
  call.send(textDelta("x".repeat(40)))
  await settled()
  const stopped = [{ model: "acme/m1", usage: { ...used, outputTokens: 10, usd: 106 / 1_000_000 } }]
  expect(meter.spent).toEqual(stopped)
  controller.abort()
  await expect(reply).rejects.toMatchObject({ code: "CANCELLED" })
  expect(meter.spent).toEqual(stopped)
})

test("with a meter the reply's usage is its own, and that of other attempts is under their model", async () => {
  const one = drivenModel()
  const two = drivenModel("m2")
  const meter = new CallMeter()
  const { reply } = streaming([one.model, two.model], { retry: { attempts: 1 }, meter })
  const first = await one.called(1)
  first.send(textDelta("x".repeat(40)))
  await settled()
  first.end(new TypeError("terminated"))
  const second = await two.called(1)
  second.send(textDelta("Done."), FINISH)
  second.end()
  expect((await reply).usage).toEqual({ inputTokens: 100, outputTokens: 10, modelCalls: 1, usd: 0.0002 })
  expect(meter.spent).toMatchObject([{ model: "acme/m1", usage: { modelCalls: 1, outputTokens: 10 } }])
})

test("the usage that a stream reported before it was dropped counts, and nothing is estimated", async () => {
  const { model, called } = drivenModel()
  const { reply, clock } = streaming([model], { retry: { delay: 100 } })
  const first = await called(1)
  first.send(textDelta("Half"), FINISH)
  await settled()
  first.end(new TypeError("terminated"))
  await clock.advance(100)
  const second = await called(2)
  second.send(textDelta("Done."), FINISH)
  second.end()
  expect((await reply).usage).toEqual({ inputTokens: 200, outputTokens: 20, modelCalls: 2, usd: 0.0004 })
})

test("a stream that opens after its call was stopped is closed", async () => {
  const { model, called } = drivenModel()
  let isCancelled = false
  const open: Model["doStream"] = async (options) => {
    const { stream } = await model.doStream(options)
    const reader = stream.getReader()
    const watched = new ReadableStream({
      cancel: () => {
        isCancelled = true
        return reader.cancel()
      },
    })
    return { stream: watched }
  }
  const { reply, controller } = streaming([{ ...model, doStream: open }])
  const call = await called(1)
  controller.abort()
  await expect(reply).rejects.toMatchObject({ code: "CANCELLED" })
  call.send(textDelta("Too late"))
  await settled()
  expect(isCancelled).toBe(true)
})

test("if every stream is interrupted, the error has the model and advice", async () => {
  const { model, called } = drivenModel()
  const { reply, clock } = streaming([model], { retry: { attempts: 2, delay: 100 } })
  for (const n of [1, 2]) {
    ;(await called(n)).end()
    await clock.advance(100)
  }
  await expect(reply).rejects.toMatchObject({
    code: "MODEL_FAILED",
    message:
      "acme/m1 failed after 2 attempts: The stream was interrupted: it ended without a finish reason. Try again later, or set a fallback model.",
  })
})

test("a request that the provider refuses counts as a call, and costs no tokens", async () => {
  const { model, called } = drivenModel()
  const { reply, clock } = streaming([model], { retry: { delay: 100 } })
  ;(await called(1)).fail(apiError(429, "Slow down"))
  await clock.advance(100)
  const second = await called(2)
  second.send(textDelta("Done."), FINISH)
  second.end()
  expect((await reply).usage).toEqual({ inputTokens: 100, outputTokens: 10, modelCalls: 2, usd: 0.0002 })
})

test("a request that was never sent does not count; one without an answer counts with its prompt", async () => {
  const used = async (error: unknown) => {
    const { model, called } = drivenModel()
    const meter = new CallMeter()
    const { reply } = streaming([model], { retry: { attempts: 1 }, meter })
    ;(await called(1)).fail(error)
    await reply.catch(() => undefined)
    return meter.spent[0]?.usage
  }
  expect(await used(Object.assign(new Error("no key"), { name: "AI_LoadAPIKeyError" }))).toBeUndefined()
  expect(await used(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }))).toEqual({ modelCalls: 1 })
  expect(await used(Object.assign(new Error("reset"), { code: "ECONNRESET" }))).toMatchObject({
    modelCalls: 1,
    inputTokens: 6,
    estimatedCalls: 1,
  })
})

test("a model that does not begin in time is retried, then another is called; its request is aborted", async () => {
  const slow = drivenModel()
  const quick = drivenModel("m2")
  const { reply, clock } = streaming([slow.model, quick.model], {
    firstTokenTimeout: 5_000,
    retry: { attempts: 2, delay: 100 },
  })
  for (const n of [1, 2]) {
    const call = await slow.called(n)
    // Opening the stream does not count as a first token.
    call.send({ type: "stream-start", warnings: [] }, { type: "text-start", id: "0" })
    await clock.advance(4_999)
    expect(call.options.abortSignal?.aborted).toBe(false)
    await clock.advance(1)
    expect(call.options.abortSignal?.aborted).toBe(true)
    await clock.advance(100)
  }
  const call = await quick.called(1)
  call.send(textDelta("Quick."), FINISH)
  call.end()
  expect((await reply).model).toBe("acme/m2")
  expect(clock.pending).toBe(0)
})

test("each piece restarts the idle timeout; a model that exceeds it is too slow", async () => {
  const { model, called } = drivenModel()
  const { reply, clock } = streaming([model], {
    firstTokenTimeout: 1_000,
    idleTimeout: 2_000,
    retry: { attempts: 1 },
  })
  const call = await called(1)
  for (let n = 0; n < 5; n++) {
    call.send(textDelta("more "))
    await clock.advance(1_900)
  }
  expect(call.options.abortSignal?.aborted).toBe(false)
  await clock.advance(100)
  await expect(reply).rejects.toMatchObject({
    code: "MODEL_TIMEOUT",
    message:
      "acme/m1 stopped in the middle of its answer for 2000 ms. Allow more time, or set a fallback model.",
  })
})

test("a timeout for the first token uses a stream even without a watcher", async () => {
  const { model, called } = drivenModel()
  const { reply } = streaming([model], { onDelta: undefined, firstTokenTimeout: 1_000 })
  const call = await called(1)
  call.send(textDelta("Hi."), FINISH)
  call.end()
  expect((await reply).content).toEqual([{ type: "text", text: "Hi." }])
})

test("a stopped stream ends at once, sends nothing more and is not retried (C2)", async () => {
  const { model, calls, called } = drivenModel()
  const { reply, clock, controller, deltas } = streaming([model])
  const call = await called(1)
  call.send(textDelta("One"))
  await settled()
  controller.abort()
  await expect(reply).rejects.toMatchObject({ code: "CANCELLED" })
  expect(deltas).toEqual([{ kind: "text", text: "One", offset: 0 }])
  expect(call.options.abortSignal?.aborted).toBe(true)
  await clock.advance(60_000)
  expect(calls).toHaveLength(1)
})

test("pieces of several texts have increasing offsets, as one text", async () => {
  const { model, called } = drivenModel()
  const { reply, deltas } = streaming([model])
  const call = await called(1)
  call.send(
    { type: "text-start", id: "a" },
    textDelta("One. ", "a"),
    { type: "text-end", id: "a" },
    { type: "text-start", id: "b" },
    textDelta("Two.", "b"),
    { type: "text-end", id: "b" },
    { type: "finish", finishReason: STOP, usage: USAGE },
  )
  call.end()
  expect((await reply).content).toEqual([
    { type: "text", text: "One. " },
    { type: "text", text: "Two." },
  ])
  expect(screen(deltas)).toEqual({ text: "One. Two." })
})

test("calls of a provider's own tools are recorded with their results, and neither streamed nor passed to the agent", async () => {
  const { model, called } = drivenModel()
  const { reply, deltas } = streaming([model])
  const call = await called(1)
  call.send(
    { type: "tool-input-start", id: "w", toolName: "web_search", providerExecuted: true },
    { type: "tool-input-delta", id: "w", delta: "{}" },
    { type: "tool-call", toolCallId: "w", toolName: "web_search", input: "{}", providerExecuted: true },
    { type: "tool-result", toolCallId: "w", toolName: "web_search", result: "so f", preliminary: true },
    { type: "tool-result", toolCallId: "w", toolName: "web_search", result: "so far" },
    { type: "source", sourceType: "url", id: "s", url: "https://example.org", title: "Example" },
    textDelta("Found."),
    FINISH,
  )
  call.end()
  expect((await reply).content).toEqual([
    { type: "provider-call", id: "w", name: "web_search", args: "{}" },
    { type: "provider-result", id: "w", name: "web_search", result: "so far" },
    { type: "source", id: "s", title: "Example", url: "https://example.org" },
    { type: "text", text: "Found." },
  ])
  expect(screen(deltas)).toEqual({ text: "Found." })
})
