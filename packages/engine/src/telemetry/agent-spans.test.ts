/** Agents and tools: the hierarchy of their spans, and that a restart does not repeat spans. */
import { context, SpanKind, SpanStatusCode } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { z } from "zod"
import { agent, conversation, summarise, workflowTool } from "../agents/index.ts"
import { pureModel } from "../agents/stand-ins.test-support.ts"
import { memoryStore, node, workflow } from "../index.ts"
import { settled } from "../testing/index.ts"
import { tool } from "../tools/index.ts"
import { idOf, parentOf, type Recorder, recorder, traceIdsOf } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

let recorded: Recorder
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
beforeEach(() => {
  recorded = recorder()
})
afterEach(() => expect(recorded.open()).toEqual([]))
afterAll(() => context.disable())

const to = ({ tracer, meter }: Recorder) => telemetry({ tracer, meter, messages: false })
const mine = (name: string) => recorded.tracer.startActiveSpan(name, (span) => span.end())
const parentNamed = (name: string, parent: string) =>
  expect(parentOf(recorded.span(name)), `parent of ${name}`).toBe(idOf(recorded.span(parent)))

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string() }),
  run: ({ at }) => {
    mine(`looking at ${at}`)
    if (at === "the sun") throw new Error("too bright")
    return `saw ${at}`
  },
})

describe("a tool's call", () => {
  const once = (at: string) =>
    pureModel((_, turn) => (turn === 0 ? { calls: [{ name: "look", args: { at }, id: "c1" }] } : "done"))

  it("is a child of its agent's span, and the parent of the tool's work", async () => {
    await agent({ name: "eye", description: "Sees.", model: once("home"), tools: [look] }).run("go", {
      telemetry: to(recorded),
      runId: "r",
    })
    const span = recorded.span("execute_tool look")
    expect(span.kind).toBe(SpanKind.INTERNAL)
    expect(span.attributes).toEqual({
      "workflow.name": "eye",
      "superstep.run.id": "r",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "look",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.description": "Looks.",
      "gen_ai.tool.call.id": "c1",
      "gen_ai.agent.name": "eye",
    })
    parentNamed("execute_tool look", "invoke_agent eye")
    parentNamed("looking at home", "execute_tool look")
    const work = recorded.span("invoke_agent eye")
    expect(work.kind).toBe(SpanKind.INTERNAL)
    expect(work.attributes).toEqual({
      "workflow.name": "eye",
      "superstep.run.id": "r",
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "eye",
      "gen_ai.agent.description": "Sees.",
      "gen_ai.provider.name": "pure",
      "gen_ai.request.model": "model",
    })
    for (const chat of recorded.spans("chat model")) expect(parentOf(chat)).toBe(idOf(work))
  })

  it("that fails is an error; the agent that continues is not", async () => {
    await agent({ name: "eye", model: once("the sun"), tools: [look] }).run("go", { telemetry: to(recorded) })
    const span = recorded.span("execute_tool look")
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: "ERROR: too bright" })
    expect(span.attributes["error.type"]).toBe("ERROR")
    expect(recorded.span("invoke_agent eye").status.code).toBe(SpanStatusCode.UNSET)
  })

  it("that is not made has no span", async () => {
    const model = pureModel((_, turn) =>
      turn === 0
        ? { calls: [{ name: "look", args: { nowhere: 1 } }, { name: "hear" }, { name: "look", args: "{" }] }
        : "done",
    )
    await agent({ name: "eye", model, tools: [look] }).run("go", { telemetry: to(recorded) })
    expect(recorded.spans("execute_tool look")).toEqual([])
    expect(recorded.spans("execute_tool hear")).toEqual([])
  })

  it("that was stopped because another one of its turn failed permanently is not an error", async () => {
    const model = pureModel(() => ({ calls: [{ name: "wait" }, { name: "fail" }] }))
    const nothing = z.object({})
    const wait = tool({
      name: "wait",
      description: "Waits.",
      input: nothing,
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    })
    const fail = tool({
      name: "fail",
      description: "Fails.",
      input: nothing,
      fatal: true,
      run: () => {
        throw new Error("broken")
      },
    })
    const run = agent({ name: "eye", model, tools: [wait, fail] }).run("go", { telemetry: to(recorded) })
    await expect(Promise.resolve(run)).rejects.toThrow("broken")
    expect(recorded.span("execute_tool wait").status.code).toBe(SpanStatusCode.UNSET)
    expect(recorded.span("execute_tool fail").attributes["error.type"]).toBe("TOOL_FAILED")
  })
})

describe("agents and workflows as tools", () => {
  const double = workflow("double")
    .start(node("twice", ({ n }: { n: number }) => n * 2))
    .build()
  const times = workflowTool(double, { description: "Doubles.", input: z.object({ n: z.number() }) })
  const model = pureModel((_, turn, name) => {
    if (name === "clerk") return turn === 0 ? { calls: [{ name: "double", args: { n: 2 } }] } : "4"
    return turn === 0 ? { calls: [{ name: "clerk", args: { input: "two times two?" } }] } : "done"
  })
  const clerk = agent({ name: "clerk", model, tools: [times] })
  const boss = agent({ name: "boss", model, tools: [clerk.asTool()] })

  it("are below the call that they answer", async () => {
    await boss.run("go", { telemetry: to(recorded) })
    parentNamed("invoke_agent boss", "executor.process boss")
    parentNamed("execute_tool clerk", "invoke_agent boss")
    parentNamed("invoke_agent clerk", "execute_tool clerk")
    parentNamed("execute_tool double", "invoke_agent clerk")
    const run = recorded
      .spans("workflow.run")
      .find(({ attributes }) => attributes["workflow.name"] === "double")
    expect(parentOf(run as never)).toBe(idOf(recorded.span("execute_tool double")))
    const chats = recorded.spans("chat model").map(parentOf)
    const [bossId, clerkId] = ["boss", "clerk"].map((name) => idOf(recorded.span(`invoke_agent ${name}`)))
    expect(chats).toEqual([bossId, clerkId, clerkId, bossId])
    expect(traceIdsOf(recorded.spans())).toHaveLength(1)
  })
})

it("after a hand-off the calls have the name of the current agent", async () => {
  const model = pureModel((_, __, name) =>
    name === "front" ? { calls: [{ name: "handoff_to_back" }] } : "from the back",
  )
  const back = agent({ name: "back", model })
  const front = agent({ name: "front", model, handoffs: [back] })
  await front.run("go", { telemetry: to(recorded) })
  expect(recorded.spans("chat model").map(({ attributes }) => attributes["gen_ai.agent.name"])).toEqual([
    "front",
    "back",
  ])
  expect(recorded.spans().filter(({ name }) => name.startsWith("invoke_agent"))).toHaveLength(2)
})

it("a summary is a model call too", async () => {
  const model = pureModel((last) => (last.includes("assistant: ") ? "summary" : "answer"))
  const chat = agent({ name: "chat", model, history: summarise({ after: 3, keep: 1 }) })
  const message = (role: "user" | "assistant", text: string) => ({ role, content: text })
  const messages = [
    message("user", "a"),
    message("assistant", "b"),
    message("user", "c"),
    message("assistant", "d"),
    message("user", "e"),
  ]
  await chat.run({ messages }, { telemetry: to(recorded) })
  expect(recorded.spans("chat model")).toHaveLength(2)
})

describe("after a restart", () => {
  const peek = tool({ name: "peek", description: "Peeks.", input: z.object({}), run: () => "saw it" })
  const confirm = tool({
    name: "confirm",
    description: "Asks a person.",
    input: z.object({}),
    durable: true,
    run: (_, { ctx }) => ctx.ask<string>("Sure?"),
  })
  const model = pureModel((_, turn, name) => {
    if (name === "clerk") return "clerk says"
    if (turn === 0)
      return {
        calls: [{ name: "peek" }, { name: "clerk", args: { input: "?" } }],
      }
    return turn === 1 ? { calls: [{ name: "confirm" }] } : "done"
  })
  const clerk = agent({ name: "clerk", model })
  const boss = agent({ name: "boss", model, tools: [peek, confirm, clerk.asTool()] })

  it("calls that are answered from the record have no span, nor have those that only replay (W3)", async () => {
    const store = memoryStore()
    const first = recorder()
    await boss.run("go", { runId: "r", store, telemetry: to(first) })
    expect(first.spans("chat model")).toHaveLength(3)
    expect(first.spans("execute_tool peek")).toHaveLength(1)
    expect(first.spans("execute_tool clerk")).toHaveLength(1)

    const again = boss.resume("r", { takeOver: true, store, telemetry: to(recorded) })
    await again.respond((await again).requests[0]?.id as string, "yes")
    expect((await again).outputs).toEqual(["done"])
    expect(recorded.spans().map(({ name }) => name)).toEqual([
      "chat model",
      "invoke_agent boss",
      "executor.process boss",
      "workflow.run",
    ])
    parentNamed("chat model", "invoke_agent boss")
    expect(traceIdsOf([...first.spans(), ...recorded.spans()])).toHaveLength(1)
  })

  it("a durable tool has a span again from its first new operation (W3)", async () => {
    const asking = pureModel((last, turn, name) => {
      if (name === "clerk") return turn === 0 ? { calls: [{ name: "confirm" }] } : `clerk: ${last}`
      return turn === 0 ? { calls: [{ name: "clerk", args: { input: "?" } }] } : "done"
    })
    const helper = agent({ name: "clerk", model: asking, tools: [confirm] })
    const chief = agent({ name: "boss", model: asking, tools: [helper.asTool()] })
    const store = memoryStore()
    await chief.run("go", { runId: "r", store, telemetry: to(recorder()) })
    const again = chief.resume("r", { takeOver: true, store, telemetry: to(recorded) })
    await again.respond((await again).requests[0]?.id as string, "yes")
    expect((await again).outputs).toEqual(["done"])
    // The clerk continues with the answer, and so does the call of the clerk.
    parentNamed("invoke_agent clerk", "execute_tool clerk")
    parentNamed("execute_tool clerk", "invoke_agent boss")
    expect(recorded.spans("execute_tool confirm")).toEqual([])
    expect(recorded.spans("chat model").map(parentOf)).toEqual([
      idOf(recorded.span("invoke_agent clerk")),
      idOf(recorded.span("invoke_agent boss")),
    ])
  })
})

it("an agent whose run another process claims ends its spans as stopped", async () => {
  const store = memoryStore()
  const model = pureModel(() => ({ calls: [{ name: "confirm" }] }))
  const confirm = tool({
    name: "confirm",
    description: "Asks a person.",
    input: z.object({}),
    durable: true,
    run: (_, { ctx }) => ctx.ask<string>("Sure?"),
  })
  const run = agent({ name: "boss", model, tools: [confirm] }).run("go", {
    runId: "r",
    store,
    telemetry: to(recorded),
  })
  expect((await run).status).toBe("waiting")
  expect(recorded.open()).toContain("execute_tool confirm")
  await store.beat({ id: "another process", machine: "another", pid: 1, born: "" })
  await store.claim("r", 1, "another process")
  // The request goes to the other process, which never answers.
  run.respond("r1", "yes").catch(() => undefined)
  await settled()
  for (const name of ["execute_tool confirm", "invoke_agent boss"]) {
    expect(recorded.span(name).status.code, name).toBe(SpanStatusCode.UNSET)
  }
})

describe("an agent that takes over", () => {
  it("has a span of its own inside that of the first agent, until it hands over in turn", async () => {
    const model = pureModel((_, turn, name) => {
      if (name === "a" && turn === 0) return { calls: [{ name: "handoff_to_b" }] }
      if (name === "b" && turn === 1) return { calls: [{ name: "look", args: { at: "home" } }] }
      return name === "b" ? { calls: [{ name: "handoff_to_c" }] } : "done"
    })
    const c = agent({ name: "c", model })
    const b = agent({ name: "b", description: "Second.", model, handoffs: [c], tools: [look] })
    const a = agent({ name: "a", model, handoffs: [b] })
    expect((await a.run("go", { telemetry: to(recorded) })).outputs).toEqual(["done"])
    parentNamed("invoke_agent b", "invoke_agent a")
    parentNamed("invoke_agent c", "invoke_agent a")
    parentNamed("execute_tool look", "invoke_agent b")
    const of = (name: string) =>
      recorded.spans("chat model").filter((one) => parentOf(one) === idOf(recorded.span(name)))
    expect(["a", "b", "c"].map((name) => of(`invoke_agent ${name}`).length)).toEqual([1, 2, 1])
    expect(recorded.span("invoke_agent b").attributes).toMatchObject({
      "gen_ai.agent.name": "b",
      "gen_ai.agent.description": "Second.",
      "gen_ai.request.model": "model",
    })
  })

  it("has a span that ends with the error that ended the task", async () => {
    const model = pureModel((_, turn, name) => {
      if (name === "a" && turn === 0) return { calls: [{ name: "handoff_to_b" }] }
      throw Object.assign(new Error("down"), { name: "AI_APICallError", isRetryable: false, statusCode: 400 })
    })
    const a = agent({ name: "a", model, handoffs: [agent({ name: "b", model })] })
    await a.run("go", { telemetry: to(recorded) }).result
    expect(recorded.span("invoke_agent b").status.code).toBe(SpanStatusCode.ERROR)
  })
})

it("the thread of a run is the conversation of its agents' spans", async () => {
  const model = pureModel((_, turn) =>
    turn === 0 ? { calls: [{ name: "look", args: { at: "home" } }] } : "done",
  )
  const chat = agent({ name: "chat", model, tools: [look], messages: conversation() })
  await chat.run("go", { telemetry: to(recorded), store: memoryStore(), thread: "t1" })
  for (const name of ["invoke_agent chat", "execute_tool look"]) {
    expect(recorded.span(name).attributes).toMatchObject({ "gen_ai.conversation.id": "t1" })
  }
  for (const span of recorded.spans("chat model")) {
    expect(span.attributes).toMatchObject({ "gen_ai.conversation.id": "t1" })
  }
})
