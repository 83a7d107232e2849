/** Limits of model providers that several processes share through the store of their runs. */
import { describe, expect, test } from "vitest"
import { memoryStore, Runtime } from "../index.ts"
import { type Model, type ModelConfig, providerLimits, registerProvider } from "../models/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { agent } from "./index.ts"

/** A model whose requests are answered by hand. */
function heldModel() {
  const open: { prompt: string; answer(tokens?: number): void; refuse(seconds: number): void }[] = []
  const model = {
    specificationVersion: "v3",
    provider: "acme",
    modelId: "m",
    supportedUrls: {},
    doGenerate: ({ prompt }) =>
      new Promise((resolve, reject) => {
        const usage = (total: number) => ({
          inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 0, text: 0, reasoning: 0 },
        })
        open.push({
          prompt: JSON.stringify(prompt.at(-1)?.content),
          answer: (tokens = 10) =>
            resolve({
              content: [{ type: "text", text: "Hi!" }],
              finishReason: { unified: "stop", raw: "stop" },
              usage: usage(tokens),
              warnings: [],
            }),
          refuse: (seconds) =>
            reject(
              Object.assign(new Error("Slow down"), {
                name: "AI_APICallError",
                statusCode: 429,
                isRetryable: true,
                responseHeaders: { "retry-after": String(seconds) },
                url: "https://acme.example",
                requestBodyValues: {},
              }),
            ),
        })
      }),
    doStream: () => Promise.reject(new Error("not streamed")),
  } satisfies Model as Model
  return { model, open }
}

function processes(make: () => ReturnType<typeof agent>, count = 2) {
  const store = memoryStore()
  const clock = manualClock(1_000_000)
  const all = Array.from({ length: count }, (_, i) => {
    const own = make()
    return { own, runtime: new Runtime({ store, workflows: [own], clock, machine: `m${i}` }) }
  })
  const start = (i: number, text: string) => {
    const { own, runtime } = all[i] as (typeof all)[0]
    return runtime.start(own, text)
  }
  const close = async () => {
    for (const { runtime } of all) await runtime.close()
  }
  return { store, clock, start, close }
}

const limited = (model: Model, limit: Parameters<typeof providerLimits>[0][string]) => () =>
  agent({ name: "a", model, stream: false, calling: { limits: providerLimits({ acme: limit }) } })

describe("limits of providers", () => {
  test("hold for the requests of all processes", async () => {
    const { model, open } = heldModel()
    const { store, start, close } = processes(limited(model, { concurrency: 1 }))
    const first = start(0, "one")
    await settled()
    const second = start(1, "two")
    await settled()
    expect(open.map(({ prompt }) => prompt)).toEqual([expect.stringContaining("one")])
    expect(await store.slots.ofRun((await store.runs({}))[0]?.runId ?? "")).toMatchObject([
      { node: "a", pool: "model acme", lanes: ["concurrency"], taken: false, ahead: 0 },
    ])
    open[0]?.answer()
    await first
    await settled()
    expect(open).toHaveLength(2)
    open[1]?.answer()
    expect((await second).outputs).toEqual(["Hi!"])
    await close()
  })

  test("a Retry-After of one process holds all of them", async () => {
    const { model, open } = heldModel()
    const { clock, start, close } = processes(limited(model, { concurrency: 5 }))
    const first = start(0, "one")
    await settled()
    open[0]?.refuse(7)
    await settled()
    const second = start(1, "two")
    await settled()
    await clock.advance(6_999)
    expect(open).toHaveLength(1)
    await clock.advance(1_000)
    expect(open).toHaveLength(3)
    for (const request of open.slice(1)) request.answer()
    for (const run of [first, second]) expect((await run).status).toBe("completed")
    await close()
  })

  test("tokens that a process used are missing in the others", async () => {
    const { model, open } = heldModel()
    const { clock, start, close } = processes(limited(model, { tokensPerMinute: 1_000 }))
    const first = start(0, "one")
    await settled()
    open[0]?.answer(1_500)
    await first
    const second = start(1, "two")
    await settled()
    await clock.advance(29_000)
    expect(open).toHaveLength(1)
    await clock.advance(3_000)
    expect(open).toHaveLength(2)
    open[1]?.answer()
    expect((await second).status).toBe("completed")
    await close()
  })

  test("a run that is cancelled leaves the line", async () => {
    const { model, open } = heldModel()
    const { store, start, close } = processes(limited(model, { concurrency: 1 }))
    const first = start(0, "one")
    await settled()
    const second = start(1, "two")
    await settled()
    await second.cancelled()
    await settled()
    expect(await store.slots.ofRun(second.id)).toEqual([])
    open[0]?.answer()
    await first
    expect(open).toHaveLength(1)
    await close()
  })
})

describe("limits of a model's configuration", () => {
  const configured = (limits: ModelConfig["limits"]) => {
    const { model, open } = heldModel()
    const undo = registerProvider("acme", () => model)
    const make = () => agent({ name: "a", model: { provider: "acme", model: "m", limits }, stream: false })
    return { make, open, undo }
  }

  test("hold for the requests of all processes", async () => {
    const { make, open, undo } = configured({ concurrency: 1 })
    const { start, close } = processes(make)
    const runs = [start(0, "one"), start(1, "two")]
    await settled()
    expect(open).toHaveLength(1)
    open[0]?.answer()
    await settled()
    open[1]?.answer()
    for (const run of runs) expect((await run).status).toBe("completed")
    await close()
    undo()
  })

  test("hold within the process for runs without a store", async () => {
    const { make, open, undo } = configured({ concurrency: 1 })
    const runs = [make().run("one"), make().run("two")]
    await settled()
    expect(open).toHaveLength(1)
    open[0]?.answer()
    await settled()
    open[1]?.answer()
    for (const run of runs) expect((await run).status).toBe("completed")
    undo()
  })

  test("that are invalid are refused", async () => {
    const { make, undo } = configured({ rpm: 5 } as never)
    await expect(make().run("one")).rejects.toThrow('"rpm" is not a limit of a provider')
    undo()
  })
})
