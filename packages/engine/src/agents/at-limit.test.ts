/**
 * Reaching a limit does not discard work: the conversation is kept, the limit route receives it, and an agent may still
 * answer.
 */
import { describe, expect, test } from "vitest"
import { type LimitNotice, memoryStore, node, workflow } from "../index.ts"
import type { Message } from "../models/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { tool } from "../tools/index.ts"
import { type AgentOptions, agent, conversation } from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const poke = tool({ name: "poke", description: "Pokes.", run: () => "poked" })
/** Calls `poke` endlessly, and answers when it has no tools. */
const restless = () => {
  const model = pureModel(() => {
    const { tools } = model.calls.at(-1) ?? {}
    return tools === undefined ? "What I know." : { text: "Poking.", calls: [{ name: "poke" }] }
  })
  return model
}
const x = (model: ReturnType<typeof pureModel>, more: Partial<AgentOptions> = {}) =>
  agent({ name: "x", model, stream: false, tools: [poke], ...more })

describe("the conversation is saved in the thread", () => {
  test.each<[string, Partial<AgentOptions>, object]>([
    ["an agent's limit", { limits: { modelCalls: 2 } }, {}],
    ["a limit on tools, with what was not called", { limits: { toolCalls: 1 } }, {}],
    ["the run's budget", {}, { budget: { modelCalls: 2 } }],
  ])("at %s", async (what, options, run) => {
    const store = memoryStore()
    const model = restless()
    const chat = x(model, { messages: conversation(), ...options })
    const { status, state } = await chat.run("go", { store, thread: "t", ...run }).result
    expect(status).toBe("limit")
    const roles = (state.messages as Message[]).map(({ role }) => role)
    expect(roles.slice(0, 3)).toEqual(["user", "assistant", "tool"])
    if (what.includes("tools")) expect(roles).toHaveLength(5)
    // A later run continues from it.
    const calm = pureModel(() => "Hello again.")
    await agent({ name: "x", model: calm, stream: false, tools: [poke], messages: conversation() }).run(
      "and?",
      {
        store,
        thread: "t",
      },
    )
    expect(shown(calm, 0).slice(0, 2)).toEqual(["user: go", "assistant: Poking. | poke{}"])
    expect(shown(calm, 0).at(-1)).toBe("user: and?")
  })

  test("when the run's time is up in the middle of a call", async () => {
    const clock = manualClock()
    const store = memoryStore()
    const model = restless()
    const { doGenerate } = model
    model.doGenerate = (options) =>
      model.calls.length < 1 ? doGenerate(options) : new Promise(() => undefined)
    const run = x(model, { messages: conversation() }).run("go", {
      store,
      thread: "t",
      clock,
      timeout: 1_000,
    })
    for (let i = 0; i < 5; i++) await settled()
    await clock.advance(1_000)
    const { error, state } = await run.result
    expect(error?.code).toBe("RUN_TIMEOUT")
    expect((state.messages as Message[]).map(({ role }) => role)).toEqual(["user", "assistant", "tool"])
  })

  test("and a run that fails saves nothing", async () => {
    const store = memoryStore()
    const failing = tool({ name: "poke", description: "Pokes.", run: () => Promise.reject(new Error("no")) })
    const chat = x(restless(), { messages: conversation(), tools: [failing], onToolError: "fail" })
    expect((await chat.run("go", { store, thread: "t" }).result).status).toBe("failed")
    const calm = pureModel(() => "Hello.")
    await x(calm, { messages: conversation() }).run("hi", { store, thread: "t" })
    expect(shown(calm, 0)).toEqual(["user: hi"])
  })
})

describe("the node of the limit route receives the conversation, the partial answer and the limit", () => {
  const cases: [string, Partial<AgentOptions>, object, string][] = [
    ["limits.iterations", { limits: { iterations: 1 } }, {}, "AGENT_LIMIT"],
    ["limits.toolCalls", { limits: { toolCalls: 1 } }, {}, "AGENT_LIMIT"],
    ["budget.modelCalls", {}, { budget: { modelCalls: 1 } }, "BUDGET_EXCEEDED"],
  ]
  test.each(cases)("%s", async (limit, options, run, code) => {
    const seen: LimitNotice[] = []
    const late = node("late", (notice: LimitNotice) => {
      seen.push(notice)
      return `late: ${notice.answer}`
    })
    const flow = workflow("w").start(x(restless(), options)).onLimit(late).build()
    const { outputs } = await flow.run("go", run)
    expect(outputs).toEqual(["late: Poking."])
    expect(seen).toMatchObject([{ code, limit, agent: "x", answer: "Poking." }])
    const messages = (seen[0]?.messages ?? []) as unknown as Message[]
    const roles = messages.map(({ role }) => role)
    expect(roles.slice(0, 3)).toEqual(["user", "assistant", "tool"])
  })
})

describe('onLimit: "answer"', () => {
  const cases: [string, Partial<AgentOptions>, object, number][] = [
    ["iterations", { limits: { iterations: 3 } }, {}, 3],
    ["model calls", { limits: { modelCalls: 3 } }, {}, 3],
    ["the run's model calls", {}, { budget: { modelCalls: 3 } }, 3],
    ["the node's model calls", { budget: { modelCalls: 3 } }, {}, 3],
    ["tool calls", { limits: { toolCalls: 2 } }, {}, 4],
    ["the run's iterations", {}, { budget: { iterations: 3 } }, 3],
  ]
  test.each(cases)(
    "asks once more without tools at a limit of %s, and stays within it",
    async (_, more, run, most) => {
      const model = restless()
      const { outputs, usage, status } = await x(model, { onLimit: "answer", ...more }).run("go", run)
      expect([status, outputs]).toEqual(["completed", ["What I know."]])
      expect(model.calls).toHaveLength(most)
      expect(usage.modelCalls).toBe(most)
      expect(model.calls.at(-1)?.tools).toBeUndefined()
      expect(shown(model, most - 1).at(-1)).toMatch(/^user: You have reached a limit/)
    },
  )

  test("reserves tokens for the answer: a call that would use them is not made", async () => {
    const model = restless()
    const settings = { maxOutputTokens: 200 }
    const { outputs, usage } = await x(model, { onLimit: "answer", settings }).run("go", {
      budget: { tokens: 700 },
    })
    expect(outputs).toEqual(["What I know."])
    expect((usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)).toBeLessThanOrEqual(700)
    expect(model.calls.at(-1)?.maxOutputTokens).toBe(200)
  })

  test("reserves a tenth of the time", async () => {
    const clock = manualClock()
    const slow = tool({
      name: "poke",
      description: "Never ends.",
      run: () => new Promise<string>(() => undefined),
    })
    const model = restless()
    const run = x(model, { onLimit: "answer", tools: [slow], limits: { seconds: 100 } }).run("go", { clock })
    for (let i = 0; i < 5; i++) await settled()
    await clock.advance(90_000)
    for (let i = 0; i < 5; i++) await settled()
    expect((await run).outputs).toEqual(["What I know."])
  })

  test("applies the output schema, and stores the conversation without the request for the answer", async () => {
    const model = pureModel(() =>
      model.calls.at(-1)?.tools === undefined ? "Known." : { calls: [{ name: "poke" }] },
    )
    const chat = x(model, { onLimit: "answer", messages: conversation(), limits: { iterations: 2 } })
    const { state } = await chat.run("go")
    expect((state.messages as Message[]).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
    ])
  })

  test("a restart answers from the record", async () => {
    const store = memoryStore()
    const model = restless()
    const after = node("after", async (text: string, ctx) => `${text} ${await ctx.ask<string>("?")}`)
    const flow = workflow("w")
      .chain(x(model, { onLimit: "answer", limits: { modelCalls: 3 } }), after)
      .build()
    await flow.run("go", { store, runId: "r" })
    const again = flow.resume("r", { store, takeOver: true })
    const [request] = (await again).requests
    await again.respond(request?.id ?? "", "yes")
    expect((await again).outputs).toEqual(["What I know. yes"])
    expect(model.calls).toHaveLength(3)
  })

  test("ends at the limit if nothing is left for an answer", async () => {
    const model = restless()
    const { status } = await x(model, { onLimit: "answer" }).run("go", { budget: { tokens: 5 } }).result
    expect(status).toBe("limit")
    expect(model.calls).toHaveLength(0)
  })

  test("accepts no other value", () => {
    expect(() => x(restless(), { onLimit: "finish" as never })).toThrow(
      /onLimit is "fail" or "answer", not "finish"/,
    )
  })
})
