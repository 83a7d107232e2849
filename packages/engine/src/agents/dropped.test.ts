/** The cost of failed calls counts for the run and for the agent, even after a restart (M8). */
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider"
import { expect, test } from "vitest"
import { z } from "zod"
import { memoryStore } from "../index.ts"
import { streamOf } from "../models/call/reply-stream.ts"
import type { Model } from "../models/index.ts"
import { tool } from "../tools/index.ts"
import { agent, summarise } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

/** Sends 40 characters, ten tokens, and fails; each time. */
function dropping(): Model & { calls: number } {
  const said = { type: "text-delta" as const, id: "0", delta: "x".repeat(40) }
  const model = {
    specificationVersion: "v3" as const,
    provider: "pure",
    modelId: "model",
    supportedUrls: {},
    calls: 0,
    doGenerate: () => Promise.reject(new Error("only streams are requested")),
    async doStream({ abortSignal }: LanguageModelV3CallOptions) {
      model.calls++
      return { stream: streamOf([said], { signal: abortSignal, broken: new TypeError("terminated") }) }
    },
  }
  return model
}

const calling = { retry: { attempts: 2, delay: 0 } }

test("dropped streams count even if no attempt succeeds", async () => {
  const run = agent({ name: "x", model: dropping(), calling }).stream("Hello?")
  const counted: unknown[] = []
  for await (const event of run) if (event.type === "usage.recorded") counted.push(event.source)
  const { status, error, usage } = await run.result
  expect([status, error?.code]).toEqual(["failed", "MODEL_FAILED"])
  expect(usage).toMatchObject({ modelCalls: 2, outputTokens: 20, estimatedCalls: 2, unpricedCalls: 2 })
  expect(counted).toEqual([{ agent: "x", model: "pure/model" }])
})

test("an agent's limits count them over all attempts of its node, also after the run is resumed", async () => {
  const model = dropping()
  const x = agent({
    name: "x",
    model,
    calling,
    limits: { modelCalls: 3 },
    retry: { attempts: 9, delay: 0 },
  })
  const store = memoryStore()
  const run = x.stream("Hello?", { store, runId: "r" })
  for await (const _ of run);
  const result = await run.result
  expect(result).toMatchObject({ status: "limit", error: { code: "AGENT_LIMIT" }, usage: { modelCalls: 3 } })
  expect(model.calls).toBe(3)
  expect((await x.resume("r", { store }).result).usage).toEqual(result.usage)
})

test("the budget of the run counts them", async () => {
  const model = dropping()
  const x = agent({ name: "x", model, calling, retry: { attempts: 9, delay: 0 } })
  const run = x.stream("Hello?", { budget: { tokens: 25 } })
  for await (const _ of run);
  expect(await run.result).toMatchObject({ status: "limit", error: { code: "BUDGET_EXCEEDED" } })
  expect(model.calls).toBe(2)
})

test("the cost of dropped streams is checked before each further attempt, and within the same call", async () => {
  const model = dropping()
  const x = agent({ name: "x", model, calling: { retry: { attempts: 9, delay: 0 } } })
  const run = x.stream("Hello?", { budget: { modelCalls: 3 } })
  for await (const _ of run);
  const { status, error, usage } = await run.result
  expect([status, error?.code]).toEqual(["limit", "BUDGET_EXCEEDED"])
  expect(model.calls).toBe(3)
  expect(usage).toMatchObject({ modelCalls: 3, outputTokens: 30 })
})

test("inside another agent's call the failure is a result, and its cost is recorded with it", async () => {
  const clerk = agent({ name: "clerk", model: dropping(), calling }).asTool()
  const model = pureModel((_, turn) =>
    turn === 0 ? { calls: [{ name: "clerk", args: { input: "go" } }] } : "ok",
  )
  const run = agent({ name: "boss", model, tools: [clerk] }).stream("go")
  const used = new Map<string, number>()
  for await (const event of run) {
    if (event.type !== "usage.recorded") continue
    const { agent: who = "" } = event.source ?? {}
    used.set(who, (used.get(who) ?? 0) + (event.usage.modelCalls ?? 0))
  }
  expect((await run).outputs).toEqual(["ok"])
  expect([...used]).toEqual([
    ["boss", 2],
    ["clerk", 2],
  ])
})

test("a summary that fails inside another agent's call stays a failure after a restart", async () => {
  let isUp = false
  const writer = pureModel(() => {
    if (isUp) return "summary"
    throw Object.assign(new Error("down"), { name: "AI_APICallError", statusCode: 400, isRetryable: false })
  })
  const messages = ["1", "2", "3"].map((content) => ({ role: "user", content }))
  const model = pureModel((last, turn, name) => {
    if (name === "clerk") return "clerk is up"
    if (turn === 0) return { calls: [{ name: "clerk", args: { messages } }, { name: "wait" }] }
    return last
  })
  const clerk = agent({
    name: "clerk",
    model,
    history: summarise({ after: 2, keep: 1, model: writer }),
    input: z.object({ messages: z.array(z.looseObject({ role: z.string() })) }),
  })
  const wait = tool({
    name: "wait",
    description: "Asks.",
    durable: true,
    run: (_, { ctx }) => ctx.ask("go?"),
  })
  const boss = agent({ name: "boss", model, tools: [clerk.asTool(), wait] })
  const store = memoryStore()
  await boss.run("go", { store, runId: "r" })
  isUp = true
  const again = boss.resume("r", { store, takeOver: true })
  await again.respond((await again).requests[0]?.id ?? "", "yes")
  expect((await again).outputs[0]).toMatch(/refused the request \(400\): down.* \| "yes"$/)
  expect(writer.calls).toHaveLength(1)
})
