/**
 * Every request to a model counts from the moment it is sent: retries, fallbacks, streams that are stopped in the middle.
 * The number of requests equals the usage, and never exceeds a budget.
 */
import { describe, expect, test } from "vitest"
import { memoryStore, node, type Run, type RunResult, workflow } from "../index.ts"
import { apiError, FINISH, textDelta } from "../models/call/driven-model.test-support.ts"
import { type Model, priceTable } from "../models/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { agent } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

type Behaviour = "hangs" | "silent" | "refuses" | "answers"

/** A provider that counts its requests. `hangs`: sends ten tokens, then nothing. */
function provider(behaviour: Behaviour | ((request: number) => Behaviour), name = "m1") {
  const behave = typeof behaviour === "function" ? behaviour : () => behaviour
  const model: Model & { requests: number } = {
    specificationVersion: "v3",
    provider: "acme",
    modelId: name,
    supportedUrls: {},
    requests: 0,
    doGenerate: () => Promise.reject(new Error("only streams are requested")),
    async doStream() {
      const how = behave(++model.requests)
      if (how === "refuses") throw apiError(500, "Oops")
      const stream = new ReadableStream({
        start(controller) {
          if (how === "silent") return
          controller.enqueue(textDelta("x".repeat(40)))
          if (how === "hangs") return
          controller.enqueue(FINISH)
          controller.close()
        },
      })
      return { stream }
    },
  }
  return model
}

/** Watches a run, so that its models stream, while a clock runs ahead in steps of 100 ms. */
async function watched(
  run: Run,
  clock: ReturnType<typeof manualClock>,
  act?: () => unknown,
): Promise<RunResult> {
  let isOver = false
  const watching = (async () => {
    for await (const _ of run);
  })().catch(() => undefined)
  const result = run.result.finally(() => {
    isOver = true
  })
  await settled()
  await act?.()
  for (let i = 0; i < 100 && !isOver; i++) await clock.advance(100)
  await watching
  return await result
}

describe("a budget of 2 model calls", () => {
  const retry = { attempts: 6, delay: 0 }
  const cases: [string, Behaviour, object][] = [
    ["a model's time limit", "silent", { calling: { timeout: 100 }, retry }],
    ["a model's time limit, in the middle", "hangs", { calling: { timeout: 100 }, retry }],
    ["a first token that never comes", "silent", { calling: { firstTokenTimeout: 50 }, retry }],
    ["a stream that stops", "hangs", { calling: { idleTimeout: 50 }, retry }],
    ["a node's time limit", "hangs", { timeout: 100, retry }],
    ["a provider's errors", "refuses", { calling: { retry: { attempts: 3, delay: 10 } }, retry }],
    ["errors and fallbacks", "refuses", { calling: { retry: { attempts: 1 } }, retry }],
  ]
  test.each(cases)("is enforced with retries and %s", async (what, behaviour, options) => {
    const clock = manualClock()
    const one = provider(behaviour)
    const other = provider(behaviour, "m2")
    const model = what.includes("fallbacks") ? [one, other] : one
    const x = agent({ name: "x", model, ...options })
    const result = await watched(x.stream("go", { clock, budget: { modelCalls: 2 } }), clock)
    expect([result.status, result.error?.code]).toEqual(["limit", "BUDGET_EXCEEDED"])
    expect(one.requests + other.requests).toBe(2)
    expect(result.usage.modelCalls).toBe(2)
  })

  test("is enforced across parallel sub-agents whose requests are retried", async () => {
    const clock = manualClock()
    const model = provider("refuses")
    const subAgents = Array.from({ length: 8 }, (_, i) =>
      agent({
        name: `clerk${i}`,
        description: "Works.",
        model,
        calling: { retry: { attempts: 3, delay: 10 } },
      }),
    )
    const boss = pureModel(() => ({
      calls: subAgents.map(({ name }) => ({ name: "transfer_task", args: { agent: name, task: "go" } })),
    }))
    const x = agent({ name: "boss", model: boss, subAgents: subAgents as never })
    const { status, usage } = await watched(x.stream("go", { clock, budget: { modelCalls: 3 } }), clock)
    expect(status).toBe("limit")
    expect(model.requests + boss.calls.length).toBe(3)
    expect(usage.modelCalls).toBe(3)
  })
})

describe("a stream in progress is counted, with its prompt and what was received", () => {
  const used = { modelCalls: 1, inputTokens: 5, outputTokens: 10, estimatedCalls: 1 }
  const x = (model: Model, more: object = {}) => agent({ name: "x", model, ...more })

  test("when the run is cancelled", async () => {
    const clock = manualClock()
    const model = provider("hangs")
    const store = memoryStore()
    const run = x(model).stream("go", { clock, store, runId: "r" })
    const result = await watched(run, clock, () => run.cancel("enough"))
    expect(result).toMatchObject({ status: "cancelled", usage: used })
    // The journal has it.
    expect((await x(model).resume("r", { store }).result).usage).toEqual(result.usage)
  })

  test("when the run's time is up, even in a workflow that it calls", async () => {
    const clock = manualClock()
    const flow = workflow("w")
      .start(x(provider("hangs")).asNode())
      .build()
    const result = await watched(flow.stream("go", { clock, timeout: 500 }), clock)
    expect(result).toMatchObject({ status: "limit", error: { code: "RUN_TIMEOUT" }, usage: used })
  })

  test("when its node's time is up, for the model that was called", async () => {
    const clock = manualClock()
    const run = x(provider("hangs"), { timeout: 100 }).stream("go", { clock })
    const sources: unknown[] = []
    const counting = (async () => {
      for await (const event of run.events()) if (event.type === "usage.recorded") sources.push(event.source)
    })().catch(() => undefined)
    const result = await watched(run, clock)
    await counting
    expect(result).toMatchObject({ status: "failed", error: { code: "TIMEOUT" }, usage: used })
    expect(sources).toEqual([{ agent: "x", model: "acme/m1" }])
  })

  test("when another branch of the run fails", async () => {
    const clock = manualClock()
    const split = node("split", (text: string) => text)
    let fail = () => {}
    const failing = node(
      "failing",
      () =>
        new Promise<string>((_, reject) => {
          fail = () => reject(new Error("boom"))
        }),
    )
    const flow = workflow("w")
      .start(split)
      .fanOut(split, [x(provider("hangs")), failing])
      .build()
    const result = await watched(flow.stream("go", { clock }), clock, () => fail())
    expect(result).toMatchObject({ status: "failed", usage: used })
  })

  test("when the agent's own time is up", async () => {
    const clock = manualClock()
    const run = x(provider("hangs"), { limits: { seconds: 1 } }).stream("go", { clock })
    expect(await watched(run, clock)).toMatchObject({ error: { code: "AGENT_LIMIT" }, usage: used })
  })

  test("within its reservation: a limit on the reply counts in full only if the usage is unknown", async () => {
    const clock = manualClock()
    const run = x(provider("hangs"), { settings: { maxOutputTokens: 500 } }).stream("go", { clock })
    expect((await watched(run, clock, () => run.cancel())).usage).toMatchObject(used)
  })
})

test("attempts are billed to the model that was called, not to the one that answered", async () => {
  const clock = manualClock()
  const prices = priceTable({ "acme/a": { input: 100, output: 100 }, "acme/b": { input: 1, output: 1 } })
  const model = [provider("hangs", "a"), provider("answers", "b")]
  const x = agent({ name: "x", model, calling: { prices, idleTimeout: 50, retry: { attempts: 1 } } })
  const run = x.stream("go", { clock })
  const billed: Record<string, unknown> = {}
  const counting = (async () => {
    for await (const event of run.events())
      if (event.type === "usage.recorded") billed[event.source?.model ?? ""] = event.usage
  })()
  const { status, usage } = await watched(run, clock)
  await counting
  expect(status).toBe("completed")
  expect(billed).toEqual({
    "acme/a": { modelCalls: 1, inputTokens: 5, outputTokens: 10, usd: 0.0015, estimatedCalls: 1 },
    "acme/b": { modelCalls: 1, inputTokens: 100, outputTokens: 10, usd: 0.00011, iterations: 1 },
  })
  expect(usage).toMatchObject({ modelCalls: 2, inputTokens: 105, outputTokens: 20 })
})

test("cached and reasoning tokens are part of a run's usage", async () => {
  const model = pureModel(() => "hi")
  const { doGenerate } = model
  model.doGenerate = async (options) => ({
    ...(await doGenerate(options)),
    usage: {
      inputTokens: { total: 100, noCache: 10, cacheRead: 60, cacheWrite: 30 },
      outputTokens: { total: 20, text: 5, reasoning: 15 },
    },
  })
  const { usage } = await agent({ name: "x", model, stream: false }).run("go")
  expect(usage).toMatchObject({
    inputTokens: 100,
    cachedInputTokens: 60,
    cacheWriteTokens: 30,
    outputTokens: 20,
    reasoningTokens: 15,
  })
})
