/** A real provider's package over real HTTP: what its calls tell OpenTelemetry, and what its requests carry on. */
import { createOpenAI } from "@ai-sdk/openai"
import { context, trace } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { agent } from "@superstep/engine/agents"
import { telemetry } from "@superstep/engine/telemetry"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { type ModelServer, modelServer } from "./model-server.ts"
import { DONE, ends, refused, says, stream, text, used } from "./openai-replies.ts"

let server: ModelServer
let exporter: InMemorySpanExporter
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
beforeEach(async () => {
  server = await modelServer()
  exporter = new InMemorySpanExporter()
})
afterEach(() => server.close())
afterAll(() => context.disable())

/** As an instrumentation of HTTP does it. */
const carrying: typeof fetch = (url, init) => {
  const span = trace.getActiveSpan()?.spanContext()
  const headers = new Headers(init?.headers)
  if (span !== undefined) headers.set("traceparent", `00-${span.traceId}-${span.spanId}-01`)
  return fetch(url, { ...init, headers })
}

function asked() {
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const openai = createOpenAI({ baseURL: server.url, apiKey: "k-1", fetch: carrying })
  const guide = agent({ name: "guide", model: openai.chat("m1"), calling: { retry: { delay: 0 } } })
  return { guide, options: { telemetry: telemetry({ tracer: provider.getTracer("test"), messages: false }) } }
}

const chat = () => {
  const spans = exporter.getFinishedSpans().filter(({ name }) => name === "chat m1")
  expect(spans).toHaveLength(1)
  return spans[0] as (typeof spans)[number]
}

const expected = {
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "m1",
  "gen_ai.response.id": "chatcmpl-1",
  "gen_ai.response.model": "m1",
  "gen_ai.response.finish_reasons": ["stop"],
  "gen_ai.usage.input_tokens": 100,
  "gen_ai.usage.output_tokens": 10,
}

test("every attempt's request carries the call's one span on", async () => {
  server.serve(refused(503, "Overloaded"), text("12 °C."))
  const { guide, options } = asked()
  expect((await guide.run("How warm?", options)).outputs).toEqual(["12 °C."])
  const { attributes, events } = chat()
  expect(attributes).toMatchObject({ ...expected, "superstep.model.attempts": 2 })
  expect(events.map(({ attributes }) => attributes?.["error.type"])).toEqual(["HTTP_503"])
  const { traceId, spanId } = chat().spanContext()
  expect(server.requests.map(({ headers }) => headers.traceparent)).toEqual(
    Array(2).fill(`00-${traceId}-${spanId}-01`),
  )
  expect(JSON.stringify(exporter.getFinishedSpans().map(({ attributes }) => attributes))).not.toContain("k-1")
})

test("a stream tells the same, and when it began", async () => {
  server.serve(stream(says("12"), says(" °C."), ends("stop"), used, DONE))
  const { guide, options } = asked()
  const run = guide.stream("How warm?", options)
  for await (const _ of run);
  expect(chat().attributes).toMatchObject({ ...expected, "gen_ai.request.stream": true })
  expect(chat().attributes["gen_ai.response.time_to_first_chunk"]).toBeGreaterThanOrEqual(0)
})
