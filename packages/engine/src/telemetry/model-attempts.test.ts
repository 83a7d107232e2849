/** One span per call, with attempts, fallbacks, failures and stops. */
import { SpanStatusCode } from "@opentelemetry/api"
import { afterEach, beforeEach, expect, it } from "vitest"
import { agent } from "../agents/index.ts"
import { apiError, drivenModel, textDelta } from "../models/call/driven-model.test-support.ts"
import type { Model } from "../models/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { type Recorder, recorder } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

let recorded: Recorder
beforeEach(() => {
  recorded = recorder()
})
afterEach(() => expect(recorded.open()).toEqual([]))

function start(model: Model | readonly Model[], calling = {}) {
  const clock = manualClock()
  const writer = agent({ name: "writer", model, calling: { random: () => 0, ...calling } })
  const { tracer, meter } = recorded
  const run = writer.run("Hello?", { clock, telemetry: telemetry({ tracer, meter, messages: false }) })
  const ended = run.then(
    (result) => result.outputs[0],
    (error) => error as Error,
  )
  return { clock, run, ended }
}

const eventsOf = (name: string) =>
  recorded.span(name).events.map(({ name, attributes }) => [name, attributes] as const)

it("a failed attempt is an event of the call's span", async () => {
  const { model, called } = drivenModel()
  const { clock, ended } = start(model)
  ;(await called(1)).fail(apiError(429, "Slow down"))
  await settled()
  await clock.advance(1_000)
  ;(await called(2)).fail(Object.assign(new Error("gone"), { code: "ECONNRESET" }))
  await settled()
  await clock.advance(2_000)
  ;(await called(3)).answer("Hello.")
  expect(await ended).toBe("Hello.")
  expect(recorded.span("chat m1").status.code).toBe(SpanStatusCode.UNSET)
  expect(recorded.span("chat m1").attributes).toMatchObject({ "superstep.model.attempts": 3 })
  const about = { "gen_ai.provider.name": "acme", "gen_ai.request.model": "m1" }
  expect(eventsOf("chat m1")).toMatchObject([
    ["superstep.model.attempt_failed", { ...about, "superstep.model.attempt": 1, "error.type": "HTTP_429" }],
    [
      "superstep.model.attempt_failed",
      { ...about, "superstep.model.attempt": 2, "error.type": "ECONNRESET" },
    ],
  ])
  expect(await recorded.points("gen_ai.client.operation.duration")).toMatchObject([{ value: { count: 1 } }])
})

it("a fallback's answer is reported under its own name; the event names the model that did not answer (G3)", async () => {
  const first = drivenModel("m1", "acme.chat")
  const second = drivenModel("m2", "mistral.chat")
  const { ended } = start([first.model, second.model])
  ;(await first.called(1)).fail(apiError(401, "no key"))
  ;(await second.called(1)).answer("Hello.")
  expect(await ended).toBe("Hello.")
  expect(recorded.spans().filter(({ name }) => name.startsWith("chat"))).toHaveLength(1)
  expect(recorded.span("chat m2").attributes).toMatchObject({
    "gen_ai.provider.name": "mistral_ai",
    "gen_ai.request.model": "m2",
    "superstep.model.attempts": 2,
  })
  expect(eventsOf("chat m2")).toMatchObject([
    ["superstep.model.attempt_failed", { "gen_ai.request.model": "m1", "error.type": "HTTP_401" }],
  ])
  expect(await recorded.points("gen_ai.client.token.usage")).toMatchObject([
    { attributes: { "gen_ai.provider.name": "mistral_ai", "gen_ai.request.model": "m2" } },
    { attributes: { "gen_ai.provider.name": "mistral_ai", "gen_ai.request.model": "m2" } },
  ])
})

it("a call that fails permanently has the provider's error, and is measured as an error", async () => {
  const { model, called } = drivenModel()
  const { ended } = start(model)
  ;(await called(1)).fail(apiError(400, "Bad schema"))
  expect(await ended).toBeInstanceOf(Error)
  const span = recorded.span("chat m1")
  expect(span.status.code).toBe(SpanStatusCode.ERROR)
  expect(span.attributes["error.type"]).toBe("HTTP_400")
  expect(span.attributes["gen_ai.response.model"]).toBeUndefined()
  expect(span.events.map(({ name }) => name)).toEqual(["superstep.model.attempt_failed", "exception"])
  expect(recorded.span("invoke_agent writer").attributes["error.type"]).toBe("HTTP_400")
  expect(recorded.span("executor.process writer").attributes["error.type"]).toBe("MODEL_FAILED")
  expect(await recorded.points("gen_ai.client.operation.duration")).toMatchObject([
    { attributes: { "error.type": "HTTP_400" }, value: { count: 1 } },
  ])
  expect(await recorded.points("gen_ai.client.token.usage")).toEqual([])
})

it("a timeout is an error, even if the provider does not stop", async () => {
  const { model, called } = drivenModel()
  const { clock, ended } = start(model, { timeout: 5_000 })
  await called(1)
  await clock.advance(5_000)
  expect(await ended).toBeInstanceOf(Error)
  expect(recorded.span("chat m1").attributes["error.type"]).toBe("MODEL_TIMEOUT")
})

it("an interrupted stream is retried, and nothing of it is reported", async () => {
  const { model, called } = drivenModel()
  const { clock, ended } = start(model, { idleTimeout: 60_000 })
  const broken = await called(1)
  broken.send({ type: "response-metadata", id: "resp-1" }, textDelta("Hel"))
  await settled()
  broken.end(new Error("terminated"))
  await settled()
  await clock.advance(1_000)
  const whole = await called(2)
  whole.send(textDelta("Hello."), {
    type: "finish",
    finishReason: { unified: "stop", raw: "end_turn" },
    usage: { inputTokens: { noCache: 3, cacheRead: 4 }, outputTokens: { total: 2 } } as never,
  })
  whole.end()
  expect(await ended).toBe("Hello.")
  const { attributes, events } = recorded.span("chat m1")
  expect(events).toHaveLength(1)
  expect(attributes["gen_ai.response.id"]).toBeUndefined()
  expect(attributes).toMatchObject({
    "gen_ai.response.finish_reasons": ["end_turn"],
    // The parts, if the provider reports no total.
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 2,
  })
})

it("a call that is stopped with its run is not an error", async () => {
  const { model, called } = drivenModel()
  const { run, ended } = start(model)
  await called(1)
  await run.cancel("enough")
  await ended
  await settled()
  for (const name of ["chat m1", "invoke_agent writer"]) {
    const { status, attributes } = recorded.span(name)
    expect(status.code, name).toBe(SpanStatusCode.UNSET)
    expect(attributes["superstep.cancel.reason"], name).toMatch(/cancelled/)
    expect(attributes["error.type"], name).toBeUndefined()
  }
})
