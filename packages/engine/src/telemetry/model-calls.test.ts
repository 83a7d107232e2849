/** Model calls, according to the conventions for generative AI. */
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { z } from "zod"
import { agent } from "../agents/index.ts"
import { apiError, drivenModel, FINISH, textDelta } from "../models/call/driven-model.test-support.ts"
import { withSettings } from "../models/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { idOf, parentOf, type Recorder, recorder } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

let recorded: Recorder
let time: number
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
beforeEach(() => {
  recorded = recorder()
  time = 0
})
afterEach(() => expect(recorded.open()).toEqual([]))
afterAll(() => context.disable())

const recording = () =>
  telemetry({ tracer: recorded.tracer, meter: recorded.meter, messages: false, now: () => time })

const ANSWER = {
  response: { id: "resp-1", modelId: "m1-2026-01-01" },
  usage: {
    inputTokens: { total: 100, noCache: 60, cacheRead: 30, cacheWrite: 10 },
    outputTokens: { total: 20, text: 15, reasoning: 5 },
  },
}

describe("a call", () => {
  it("is a client span below the agent's, with the request and the provider's response", async () => {
    const { model, called } = drivenModel()
    const writer = agent({
      name: "writer",
      model,
      settings: {
        temperature: 0.5,
        maxOutputTokens: 300,
        topP: 0.9,
        topK: 40,
        seed: 7,
        stopSequences: ["."],
      },
    })
    const run = writer.run("Hello?", { telemetry: recording(), runId: "r" })
    const call = await called(1)
    time = 1_500
    call.answer("Hello.", ANSWER)
    await run

    const span = recorded.span("chat m1")
    expect(span.kind).toBe(SpanKind.CLIENT)
    expect(span.status.code).toBe(SpanStatusCode.UNSET)
    expect(span.attributes).toEqual({
      "workflow.name": "writer",
      "superstep.run.id": "r",
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "acme",
      "gen_ai.request.model": "m1",
      "gen_ai.request.temperature": 0.5,
      "gen_ai.request.max_tokens": 300,
      "gen_ai.request.top_p": 0.9,
      "gen_ai.request.top_k": 40,
      "gen_ai.request.seed": 7,
      "gen_ai.request.stop_sequences": ["."],
      "gen_ai.output.type": "text",
      "gen_ai.agent.name": "writer",
      "gen_ai.response.id": "resp-1",
      "gen_ai.response.model": "m1-2026-01-01",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.cache_read.input_tokens": 30,
      "gen_ai.usage.cache_creation.input_tokens": 10,
      "gen_ai.usage.output_tokens": 20,
      "gen_ai.usage.reasoning.output_tokens": 5,
      "superstep.model.attempts": 1,
    })
    const work = recorded.span("invoke_agent writer")
    expect(parentOf(span)).toBe(idOf(work))
    expect(parentOf(work)).toBe(idOf(recorded.span("executor.process writer")))
  })

  it("is measured, with its tokens", async () => {
    const { model, called } = drivenModel()
    const run = agent({ name: "writer", model }).run("Hello?", { telemetry: recording() })
    const call = await called(1)
    time = 1_500
    call.answer("Hello.", ANSWER)
    await run
    const about = {
      "workflow.name": "writer",
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "acme",
      "gen_ai.request.model": "m1",
      "gen_ai.response.model": "m1-2026-01-01",
    }
    expect(await recorded.points("gen_ai.client.operation.duration")).toEqual([
      { attributes: about, value: { count: 1, sum: 1.5 } },
    ])
    expect(await recorded.points("gen_ai.client.token.usage")).toEqual([
      { attributes: { ...about, "gen_ai.token.type": "input" }, value: { count: 1, sum: 100 } },
      { attributes: { ...about, "gen_ai.token.type": "output" }, value: { count: 1, sum: 20 } },
    ])
    expect(await recorded.points("gen_ai.client.operation.time_to_first_chunk")).toEqual([])
  })

  it("has no tokens if the provider did not report them: estimates do not count (G2)", async () => {
    const { model, called } = drivenModel()
    const run = agent({ name: "writer", model }).run("Hello?", { telemetry: recording() })
    const garbage = { inputTokens: { total: Number.NaN }, outputTokens: {} } as never
    ;(await called(1)).answer("Hello.", { usage: garbage })
    expect((await run).usage.estimatedCalls).toBe(1)
    const names = Object.keys(recorded.span("chat m1").attributes)
    expect(names.filter((name) => name.startsWith("gen_ai.usage"))).toEqual([])
    expect(await recorded.points("gen_ai.client.token.usage")).toEqual([])
  })

  it("has the model's own settings, overridden by those of the agent", async () => {
    const { model, called } = drivenModel()
    const set = withSettings(model, { temperature: 0.1, seed: 3 })
    const run = agent({ name: "writer", model: set, settings: { temperature: 0.9 } }).run("Hello?", {
      telemetry: recording(),
    })
    ;(await called(1)).answer("Hello.")
    await run
    expect(recorded.span("chat m1").attributes).toMatchObject({
      "gen_ai.request.temperature": 0.9,
      "gen_ai.request.seed": 3,
    })
  })

  it("has the output type if JSON is requested", async () => {
    const { model, called } = drivenModel()
    const reader = agent({ name: "reader", model, output: z.object({ n: z.number() }) })
    const run = reader.run("1", { telemetry: recording() })
    ;(await called(1)).answer('{"n":1}')
    expect((await run).outputs).toEqual([{ n: 1 }])
    expect(recorded.span("chat m1").attributes["gen_ai.output.type"]).toBe("json")
  })

  it("is active while the provider is called: its requests are traced below it", async () => {
    const { model } = drivenModel()
    const seen: (string | undefined)[] = []
    const plain: typeof model = {
      ...model,
      doGenerate: async () => {
        seen.push(trace.getActiveSpan()?.spanContext().spanId)
        await Promise.resolve()
        seen.push(trace.getActiveSpan()?.spanContext().spanId)
        throw apiError(400, "no")
      },
    }
    const run = agent({ name: "writer", model: plain }).run("Hello?", { telemetry: recording() })
    await expect(Promise.resolve(run)).rejects.toThrow("no")
    const id = idOf(recorded.span("chat m1"))
    expect(seen).toEqual([id, id])
  })
})

describe("a stream", () => {
  it("has the time from the start of the attempt to its first chunk", async () => {
    const { model, called } = drivenModel()
    const clock = manualClock()
    const writer = agent({ name: "writer", model, calling: { firstTokenTimeout: 60_000, random: () => 0 } })
    const run = writer.run("Hello?", { telemetry: recording(), clock })
    ;(await called(1)).fail(apiError(503, "busy"))
    await settled()
    time = 1_000
    await clock.advance(1_000)
    const call = await called(2)
    time = 1_250
    call.send({ type: "stream-start", warnings: [] })
    call.send({ type: "response-metadata", id: "resp-9", modelId: "m1-x" })
    await settled()
    time = 3_000
    call.send({ type: "text-start", id: "0" }, textDelta("Hello."), { type: "text-end", id: "0" }, FINISH)
    call.end()
    expect((await run).outputs).toEqual(["Hello."])
    expect(recorded.span("chat m1").attributes).toMatchObject({
      "gen_ai.request.stream": true,
      "gen_ai.response.time_to_first_chunk": 0.25,
      "gen_ai.response.id": "resp-9",
      "gen_ai.response.model": "m1-x",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 100,
      "superstep.model.attempts": 2,
    })
    expect(await recorded.points("gen_ai.client.operation.time_to_first_chunk")).toMatchObject([
      { value: { count: 1, sum: 0.25 } },
    ])
  })
})
