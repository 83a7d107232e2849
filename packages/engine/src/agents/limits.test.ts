/** Limits of an agent: alone, as a node, as part of a run. And cancellation. */
import { expect, test } from "vitest"
import { z } from "zod"
import { type Budget, node, workflow } from "../index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import type { Context } from "../runtime/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { tool } from "../tools/index.ts"
import { Guard } from "./agent-limits.ts"
import type { AgentLimits } from "./index.ts"
import { agent } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

let ran = 0
const poke = tool({
  name: "poke",
  description: "Pokes.",
  run: () => {
    ran++
    return "poked"
  },
})

/** Calls `poke` endlessly: once in the first turn, twice in the second, and so on. */
const restless = () =>
  pureModel((_, turn) => ({ calls: Array.from({ length: turn + 1 }, () => ({ name: "poke" })) }))

async function limited(limits: AgentLimits) {
  ran = 0
  const model = restless()
  const { status, error } = await agent({ name: "x", model, tools: [poke], limits }).run("go").result
  return { status, code: error?.code, text: error?.message, calls: model.calls.length, ran }
}

test("an agent's limits end the run with status limit, and the error names the limit", async () => {
  expect(await limited({ iterations: 3 })).toMatchObject({
    status: "limit",
    code: "AGENT_LIMIT",
    calls: 3,
    ran: 6,
  })
  expect(await limited({ modelCalls: 2 })).toMatchObject({
    calls: 2,
    ran: 1,
    text: expect.stringMatching(/2 model calls.*limits.modelCalls/),
  })
  expect(await limited({ tokens: 16 })).toMatchObject({ calls: 2, text: expect.stringMatching(/16 tokens/) })
})

test("no more parallel tool calls run than the limit allows, and those that run may finish", async () => {
  expect(await limited({ toolCalls: 2 })).toMatchObject({ status: "limit", calls: 2, ran: 2 })
})

test("the default limit is twenty iterations", async () => {
  expect(await limited({})).toMatchObject({ code: "AGENT_LIMIT", calls: 20 })
})

test("an agent's limits count over all its tasks of a run", async () => {
  const model = scriptedModel([{ text: "hm", repeat: true }])
  const x = agent({ name: "x", model, limits: { modelCalls: 3 } })
  const flow = workflow("w")
    .start(x)
    .loop(x, x, { until: () => false, max: 10 })
    .build()
  const { status, usage } = await flow.run("go").result
  expect([status, usage.modelCalls]).toEqual(["limit", 3])
})

test("the budgets of the run and of the node apply inside an agent", async () => {
  const cases: { run?: Budget; node?: Budget; ran: number }[] = [
    { run: { modelCalls: 2 }, ran: 1 },
    { run: { toolCalls: 2 }, ran: 2 },
    // A call is made only if its prompt still fits.
    { node: { tokens: 60 }, ran: 1 },
  ]
  for (const one of cases) {
    ran = 0
    const x = agent({ name: "x", model: restless(), tools: [poke], budget: one.node })
    const result = await x.run("go", { budget: one.run }).result
    expect([result.status, result.error?.code, ran]).toEqual(["limit", "BUDGET_EXCEEDED", one.ran])
  }
})

test("a limit takes the limit route", async () => {
  const x = agent({ name: "x", model: restless(), tools: [poke], limits: { iterations: 1 } })
  const flow = workflow("w")
    .start(x)
    .onLimit(node("late", ({ code }: { code: string }) => `ended by ${code}`))
    .build()
  expect((await flow.run("go")).outputs).toEqual(["ended by AGENT_LIMIT"])
})

test("seconds count from the start, and abort a running tool", async () => {
  const clock = manualClock()
  let stopped: unknown
  const slow = tool({
    name: "slow",
    description: "Never ends.",
    run: (_: unknown, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          stopped = signal.reason
          reject(signal.reason)
        })
      }),
  })
  const model = pureModel(() => ({ calls: [{ name: "slow" }] }))
  const run = agent({ name: "x", model, tools: [slow], limits: { seconds: 5 } }).run("go", { clock })
  await clock.advance(4_999)
  expect(stopped).toBeUndefined()
  await clock.advance(1)
  expect(await run.result).toMatchObject({ status: "limit", error: { code: "AGENT_LIMIT" } })
  expect(stopped).toMatchObject({ code: "AGENT_LIMIT" })
})

test("a cancelled run stops the model and the tools", async () => {
  const model = scriptedModel([{ text: "late", delay: 60_000 }], { clock: manualClock() })
  const one = agent({ name: "x", model }).run("go")
  await settled()
  await one.cancel("enough")
  expect((await one.result).status).toBe("cancelled")
  expect(model.calls[0]?.options.abortSignal?.aborted).toBe(true)

  let signal: AbortSignal | undefined
  const slow = tool({
    name: "slow",
    description: "Never ends.",
    input: z.object({}),
    run: (_, call) => {
      signal = call.signal
      return new Promise(() => undefined)
    },
  })
  const calling = pureModel(() => ({ calls: [{ name: "slow" }] }))
  const two = agent({ name: "x", model: calling, tools: [slow] }).run("go")
  await settled()
  await settled()
  await two.cancel("enough")
  expect((await two.result).status).toBe("cancelled")
  expect(signal?.aborted).toBe(true)
})

test("a reply is streamed as it arrives, each piece with its call, agent and offset", async () => {
  const model = scriptedModel([
    { text: "Let me see.", tool_calls: [{ name: "poke", args: {} }] },
    { text: "It is so." },
  ])
  const run = agent({ name: "x", model, tools: [poke] }).stream("go")
  const streamed = new Map<string, string>()
  const order: string[] = []
  for await (const event of run) {
    if (event.type === "step.recorded") order.push(event.key)
    if (event.type !== "model.delta" || event.kind !== "text") continue
    const before = streamed.get(event.call) ?? ""
    expect([event.agent, event.offset]).toEqual(["x", before.length])
    streamed.set(event.call, before + event.text)
    if (before === "") order.push(`${event.call} begins`)
  }
  expect([...streamed]).toEqual([
    ["step:model", "Let me see."],
    ["step#2:model", "It is so."],
  ])
  expect(order.filter((one) => !one.includes("tool"))).toEqual([
    "step:model begins",
    "step:model",
    "step#2:model begins",
    "step#2:model",
  ])
})

test("without streaming the complete reply is requested", async () => {
  const model = pureModel(() => "hi")
  model.doStream = () => Promise.reject(new Error("no streams"))
  expect((await agent({ name: "x", model, stream: false }).run("go")).outputs).toEqual(["hi"])
})

test("reservations of pending calls are added up only if there is a limit", () => {
  let asked = 0
  const ctx = {
    clock: manualClock(),
    usedBy: () => {
      asked++
      return {}
    },
  } as unknown as Context
  for (const [limits, times] of [
    [{}, 0],
    [{ iterations: 5, seconds: 5 }, 0],
    [{ toolCalls: 5 }, 2],
  ] as const) {
    asked = 0
    const guard = new Guard("x", limits)
    guard.checkModelCall(ctx)
    guard.checkToolCall(ctx)
    expect(asked).toBe(times)
  }
})
