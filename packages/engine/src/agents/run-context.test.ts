/** The context of a run: tools read it, and it is never journaled. */
import { describe, expect, expectTypeOf, test } from "vitest"
import { z } from "zod"
import { memoryStore, node, type RunOptions, Runtime, workflow } from "../index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { type Tool, type ToolCallContext, tool } from "../tools/index.ts"
import { type Agent, agent } from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

interface Deps {
  readonly user: string
  readonly db: { find(id: string): string }
}
const SECRET = "a-password-that-nobody-may-read"
const deps: Deps = { user: `ada ${SECRET}`, db: { find: (id) => `row ${id}` } }

const find = tool({
  name: "find",
  description: "Finds a row.",
  input: z.object({ id: z.string() }),
  run: ({ id }, { context }: ToolCallContext<Deps>) => context.db.find(id),
})
const ask = tool({
  name: "ask",
  description: "Asks.",
  durable: true,
  run: (_: unknown, { ctx }) => ctx.ask<string>("?"),
})

const callOf = (name: string, args: object = {}) => ({ tool_calls: [{ name, args: args as never }] })

test("tools, instructions and hooks read the context of their run, and the journal has none of it", async () => {
  const model = scriptedModel([callOf("find", { id: "7" }), "done"])
  const store = memoryStore()
  const clerk = agent({
    name: "clerk",
    model,
    instructions: (_, { context }) => `Serve ${context.user.split(" ")[0]}.`,
    tools: [find],
    prepareStep: ({ ctx }) => void (ctx.context as Deps).user,
  })
  await clerk.run("go", { store, runId: "r", context: deps })
  expect(shown(model, 1)).toEqual([
    "system: Serve ada.",
    "user: go",
    'assistant: find{"id":"7"}',
    'tool: "row 7"',
  ])
  const records = JSON.stringify(await store.read("r", 0))
  expect(records).not.toContain(SECRET)
  expect(records).toContain('"context":["user","db"]')
})

test("sub-agents, sub-workflows and plain nodes read it too", async () => {
  const inner = agent({
    name: "inner",
    model: scriptedModel([callOf("find", { id: "1" }), "in"]),
    tools: [find],
  })
  const model = scriptedModel([callOf("inner", { input: "go" }), "out"])
  const outer = agent({ name: "outer", model, tools: [inner.asTool()] })
  const plain = node("plain", (text: string, ctx) => `${text} ${(ctx.context as Deps).db.find("2")}`)
  const flow = workflow("w").chain(outer, workflow("sub").start(plain).build().asNode()).build()
  expect((await flow.run("go", { context: deps })).outputs).toEqual(["out row 2"])
})

test("a run without a context fails with an error that names what to pass, not with a result for the model", async () => {
  const model = scriptedModel([callOf("find", { id: "7" })])
  const clerk = agent({ name: "clerk", model, tools: [find] }) as Agent<unknown, string>
  const { error } = await clerk.run("go").result
  expect(error).toMatchObject({
    code: "CONTEXT_MISSING",
    message: expect.stringMatching(/needs its context.*`context`/),
  })
})

describe("a run that is resumed", () => {
  const build = () => {
    const model = pureModel((last, turn) =>
      turn === 0
        ? { calls: [{ name: "ask" }] }
        : turn === 1
          ? { calls: [{ name: "find", args: { id: "7" } }] }
          : last,
    )
    return agent({ name: "clerk", model, tools: [ask, find] })
  }

  test("needs its context again: without it resuming is rejected and the run keeps waiting", async () => {
    const store = memoryStore()
    const { requests } = await build().run("go", { store, runId: "r", context: deps })
    const refused = build().resume("r", { store, takeOver: true })
    await expect(refused).rejects.toMatchObject({
      code: "CONTEXT_MISSING",
      message: expect.stringMatching(/"user", "db"/),
    })
    const run = build().resume("r", { store, takeOver: true, context: deps })
    await run.respond(requests[0]?.id ?? "", "yes")
    expect((await run).outputs).toEqual(['tool: "row 7"'])
    // A finished run needs none.
    expect((await build().resume("r", { store })).outputs).toEqual(['tool: "row 7"'])
  })

  test("gets it from its runtime, which creates contexts for the runs that it starts and recovers", async () => {
    const store = memoryStore()
    const made: unknown[] = []
    const options = {
      store,
      context: async (run: { runId: string; workflow: string; labels?: unknown }) => {
        made.push([run.workflow, run.labels])
        return deps
      },
    }
    const first = build()
    const one = new Runtime({ ...options, workflows: [first] })
    const { requests } = await one.start(first, "go", { runId: "r", labels: { user: "ada" } })
    await one.close()
    const second = build()
    await using two = new Runtime({ ...options, workflows: [second] })
    await two.recover()
    await two.respond("r", requests[0]?.id ?? "", "yes")
    expect((await two.get("r")).outputs).toEqual(['tool: "row 7"'])
    expect(made).toEqual([
      ["clerk", { user: "ada" }],
      ["clerk", { user: "ada" }],
    ])
  })
})

test("the type of the context follows from the tools", () => {
  const model = scriptedModel([])
  expectTypeOf(find).toEqualTypeOf<Tool<Deps>>()
  expectTypeOf(ask).toEqualTypeOf<Tool>()
  const log = tool({
    name: "log",
    description: "Logs.",
    run: (_, { context }: ToolCallContext<Pick<Deps, "user">>) => context.user,
  })
  const both = agent({ name: "x", model, tools: [find, log, ask] })
  expectTypeOf(both.run).parameter(1).toEqualTypeOf<RunOptions & { readonly context: Deps }>()
  const none = agent({ name: "x", model, tools: [ask] })
  expectTypeOf(none).toEqualTypeOf<Agent<unknown, string>>()
  expectTypeOf(none.run).parameter(1).toEqualTypeOf<RunOptions | undefined>()
  // @ts-expect-error: the tools of this agent need a context
  const missing = () => both.run("go")
  // @ts-expect-error: and the whole of it
  const partial = () => both.run("go", { context: { user: "ada" } })
  expect([missing, partial]).toHaveLength(2)
})

describe("the result of a run", () => {
  test("reports what its agent did: transcript, steps, finish reason, reasoning, last agent", async () => {
    const model = scriptedModel({
      desk: [
        { reasoning: "Hm.", text: "One moment.", ...callOf("find", { id: "7" }) },
        callOf("handoff_to_office"),
      ],
      office: [{ reasoning: "Easy.", text: "It is row 7." }],
    })
    const office = agent({ name: "office", model })
    const desk = agent({ name: "desk", model, tools: [find], handoffs: [office] })
    const { agents } = await desk.run("Which row?", { context: deps })
    expect(agents).toHaveLength(1)
    const [report] = agents ?? []
    expect(report).toMatchObject({
      agent: "desk",
      lastAgent: "office",
      finishReason: "stop",
      reasoning: "Easy.",
      sources: [],
    })
    expect(report?.transcript.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
    ])
    expect(report?.steps.map(({ agent: by, text, finishReason }) => [by, text, finishReason])).toEqual([
      ["desk", "One moment.", "tool-calls"],
      ["desk", "", "tool-calls"],
      ["office", "It is row 7.", "stop"],
    ])
    expect(report?.steps[0]).toMatchObject({
      model: "scripted/script",
      reasoning: "Hm.",
      usage: { modelCalls: 1 },
      calls: [{ name: "find", args: { id: "7" }, result: "row 7", ok: true }],
    })
  })

  test("has one report for each task of an agent, including failed ones, and only of the last attempt", async () => {
    let isDown = true
    const model = pureModel((_, __, name) => `from ${name}`)
    const a = agent({ name: "a", model })
    const b = agent({
      name: "b",
      model,
      retry: { attempts: 2, delay: 0 },
      instructions() {
        if (!isDown) return "Go."
        isDown = false
        throw new Error("down")
      },
    })
    const { agents, outputs } = await workflow("w").chain(a, b).build().run("go")
    expect([outputs, agents?.map(({ agent: by, steps }) => [by, steps.length])]).toEqual([
      ["from b"],
      [
        ["a", 1],
        ["b", 1],
      ],
    ])
    const failing = agent({
      name: "c",
      model: scriptedModel([callOf("ask")]),
      tools: [ask],
      limits: { iterations: 0 },
    })
    const { agents: reports } = await failing.run("go").result
    expect(reports).toMatchObject([{ agent: "c", steps: [], transcript: [{ role: "user" }] }])
    expect(
      (
        await workflow("w")
          .start(node("n", () => 1))
          .build()
          .run("x")
      ).agents,
    ).toBeUndefined()
  })

  test("of a resumed run has the steps from before the restart too", async () => {
    const store = memoryStore()
    const build = () =>
      agent({
        name: "x",
        model: pureModel((last, turn) => (turn === 0 ? { calls: [{ name: "ask" }] } : last)),
        tools: [ask],
      })
    const { requests } = await build().run("go", { store, runId: "r" })
    const run = build().resume("r", { store, takeOver: true })
    await run.respond(requests[0]?.id ?? "", "yes")
    expect((await run).agents?.[0]?.steps.map(({ calls }) => calls.map(({ result }) => result))).toEqual([
      ["yes"],
      [],
    ])
  })
})
