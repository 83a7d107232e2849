/** What Prometheus scrapes, and the traces that runs belong to. */
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { telemetry } from "@superstep/engine/telemetry"
import { expect, onTestFinished, test } from "vitest"
import { served } from "./serve.test-support.ts"
import { createServer } from "./server.ts"

/** The value of a sample, by its name and labels. */
function sample(text: string, name: string): number | undefined {
  const line = text.split("\n").find((one) => one.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

test("metrics count runs, tasks, tokens, cost and requests, and a histogram's buckets add up", async () => {
  const { ask, key } = served()
  const admin = await key({})
  await ask("POST", "/v1/workflows/greet/runs", { key: admin, body: { input: "Ada" } })
  await ask("POST", "/v1/workflows/spend/runs", { key: admin, body: { input: 500 } })
  await ask("POST", "/v1/workflows/fail/runs", { key: admin, body: { input: "x" } })
  await ask("GET", "/v1/runs/none", { key: admin })
  await ask("GET", "/nothing/here", { key: admin })
  const scraped = await ask("GET", "/metrics", { key: admin })
  expect(scraped.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
  const text = await scraped.text()
  expect(sample(text, 'superstep_runs_total{workflow="greet",status="completed"}')).toBe(1)
  expect(sample(text, 'superstep_runs_total{workflow="fail",status="failed"}')).toBe(1)
  expect(sample(text, 'superstep_tasks_total{workflow="greet",node="greet",outcome="completed"}')).toBe(1)
  expect(sample(text, 'superstep_tokens_total{workflow="spend",type="input"}')).toBe(500)
  expect(sample(text, 'superstep_cost_usd_total{workflow="spend"}')).toBe(0.5)
  const requests = "superstep_http_requests_total"
  expect(sample(text, `${requests}{method="POST",route="/v1/workflows/:workflow/runs",status="200"}`)).toBe(3)
  expect(sample(text, `${requests}{method="GET",route="/v1/runs/:run",status="404"}`)).toBe(1)
  expect(text).not.toContain("nothing")
  expect(sample(text, 'superstep_run_duration_seconds_bucket{workflow="greet",le="+Inf"}')).toBe(1)
  expect(sample(text, 'superstep_run_duration_seconds_count{workflow="greet"}')).toBe(1)
  expect(sample(text, "superstep_queue_depth")).toBe(0)
  expect(sample(text, "superstep_open_streams")).toBe(0)
  expect(sample(text, "superstep_event_loop_delay_p99_seconds")).toBeGreaterThanOrEqual(0)
  for (const line of text.trim().split("\n")) {
    expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.e+-]+)$/)
  }
})

test("metrics show the queue, and need the role viewer of a key that is for the whole server", async () => {
  const { ask, key, runtime, store } = served()
  const elsewhere = new Runtime({ store, workflows: [later], recover: false })
  onTestFinished(() => elsewhere.close())
  await elsewhere.enqueue(later, "x")
  const viewer = await key({ role: "viewer" })
  const text = await (await ask("GET", "/metrics", { key: viewer })).text()
  expect(sample(text, "superstep_queue_depth")).toBe(1)
  expect(sample(text, "superstep_queue_age_seconds")).toBeGreaterThanOrEqual(0)
  expect((await ask("GET", "/metrics")).status).toBe(401)
  for (const part of [{ tenant: "a" }, { workflows: ["greet"] }]) {
    expect((await ask("GET", "/metrics", { key: await key(part) })).status).toBe(403)
  }
  await runtime.close()
})

const later = workflow("later")
  .start(node("later", (text: string) => text))
  .build()
const ask = workflow("ask")
  .start(node("ask", (text: string, ctx) => ctx.ask<string>(text)))
  .build()

test("a run belongs to the trace of the request that started it, also after a restart", async () => {
  const trace = "0af7651916cd43dd8448eb211c80319c"
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const store = memoryStore()
  const begin = () =>
    new Runtime({ store, workflows: [ask], telemetry: telemetry({ tracer: provider.getTracer("test") }) })
  const first = begin()
  const start = (runtime: Runtime, traceparent: string, runId: string) =>
    createServer({ runtime, workflows: [ask] as never }).fetch(
      new Request("http://local/v1/workflows/ask/runs", {
        method: "POST",
        headers: { "content-type": "application/json", traceparent },
        body: JSON.stringify({ input: "?", runId }),
      }),
    )
  expect((await start(first, `00-${trace}-b7ad6b7169203331-01`, "r")).status).toBe(200)
  expect((await start(first, `00-${trace}-not-valid`, "other")).status).toBe(200)
  await first.close()
  const second = begin()
  onTestFinished(() => second.close())
  await second.respond("r", "r1", "yes")
  await second.respond("other", "r1", "yes")
  expect((await second.get("r").result).outputs).toEqual(["yes"])
  expect((await second.get("other").result).outputs).toEqual(["yes"])
  await provider.forceFlush()
  const spans = exporter.getFinishedSpans()
  const of = (runId: string) => spans.filter(({ attributes }) => attributes["superstep.run.id"] === runId)
  const runs = of("r").filter(({ name }) => name === "workflow.run")
  expect(runs.length).toBeGreaterThanOrEqual(1)
  expect(new Set(of("r").map((span) => span.spanContext().traceId))).toEqual(new Set([trace]))
  expect(of("other").map((span) => span.spanContext().traceId)).not.toContain(trace)
})
