/** The loop of model calls and tool calls, what the model sees, and the result. */
import { expect, test } from "vitest"
import { z } from "zod"
import { memoryStore, node, workflow } from "../index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { isCollected } from "../testing/garbage.test-support.ts"
import { tool } from "../tools/index.ts"
import { agent, conversation } from "./index.ts"
import { shown } from "./stand-ins.test-support.ts"

const add = tool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
})

test("an agent without tools answers with text", async () => {
  const model = scriptedModel(["Hello, Ada."])
  const greeter = agent({ name: "greeter", model, instructions: "Be kind." })
  const { outputs, usage } = await greeter.run("I am Ada")
  expect(outputs).toEqual(["Hello, Ada."])
  expect(shown(model, 0)).toEqual(["system: Be kind.", "user: I am Ada"])
  expect(usage).toMatchObject({ modelCalls: 1, iterations: 1 })
})

test("tools are called until the model answers, and the model sees their results", async () => {
  const model = scriptedModel([{ tool_calls: [{ name: "add", args: { a: 1, b: 2 } }] }, "It is 3."])
  const { outputs, usage } = await agent({ name: "sum", model, tools: [add] }).run("1 + 2?")
  expect(outputs).toEqual(["It is 3."])
  expect(shown(model, 1)).toEqual(["user: 1 + 2?", 'assistant: add{"a":1,"b":2}', "tool: 3"])
  expect(usage).toMatchObject({ modelCalls: 2, toolCalls: 1 })
})

test("an agent works as a node between other nodes", async () => {
  const model = scriptedModel(["HI"])
  const writer = agent({ name: "writer", model, instructions: (input) => `Write about ${String(input)}.` })
  const flow = workflow("w")
    .chain(
      node("in", (text: string) => text.trim()),
      writer,
      node("out", (text: string) => text.toLowerCase()),
    )
    .build()
  expect((await flow.run(" cats ")).outputs).toEqual(["hi"])
  expect(shown(model, 0)[0]).toBe("system: Write about cats.")
  expect(flow.program.graph.nodes.map(({ spec }) => spec.kind)).toEqual(["node", "agent", "node"])
})

test("the tools of one turn run concurrently, and their results have the order of the calls", async () => {
  const ends: Record<string, (value: string) => void> = {}
  const order: string[] = []
  let isReady = () => {}
  const ready = new Promise<void>((resolve) => {
    isReady = resolve
  })
  const slow = tool({
    name: "slow",
    description: "Takes its time.",
    input: z.object({ id: z.string() }),
    run: ({ id }) =>
      new Promise<string>((resolve) => {
        ends[id] = (value) => {
          order.push(id)
          resolve(value)
        }
        if (Object.keys(ends).length === 2) isReady()
      }),
  })
  const model = scriptedModel([
    {
      tool_calls: [
        { name: "slow", args: { id: "a" } },
        { name: "slow", args: { id: "b" } },
      ],
    },
    "done",
  ])
  const run = agent({ name: "x", model, tools: [slow] }).run("go")
  await ready
  ends.b?.("B")
  ends.a?.("A")
  await run
  expect(order).toEqual(["b", "a"])
  expect(shown(model, 1).at(-1)).toBe('tool: "A" | "B"')
})

test("bad JSON, bad arguments, an unknown tool and a failure are results for the model", async () => {
  const broken = tool({
    name: "broken",
    description: "Fails.",
    run: () => {
      throw new Error("no power")
    },
  })
  const model = scriptedModel([
    {
      tool_calls: [
        { name: "add", args: "{oops" },
        { name: "add", args: { a: "one", b: 2 } },
        { name: "minus", args: {} },
        { name: "broken", args: {} },
      ],
    },
    "sorry",
  ])
  const { status } = await agent({ name: "x", model, tools: [add, broken] }).run("go")
  expect(status).toBe("completed")
  const [bad, misfit, unknown, failed] = (shown(model, 1).at(-1) ?? "").split(" | ")
  expect(bad).toMatch(/not JSON/)
  expect(misfit).toMatch(/are invalid: a:/)
  expect(unknown).toMatch(/no tool \\"minus\\".*\\"add\\", \\"broken\\"/)
  expect(failed).toMatch(/no power/)
})

test("a fatal tool fails the task, and so does any tool with onToolError: fail", async () => {
  const broken = (fatal: boolean) =>
    tool({
      name: "broken",
      description: "Fails.",
      fatal,
      run: () => {
        throw new Error("no power")
      },
    })
  const model = () => scriptedModel([{ tool_calls: [{ name: "broken", args: {} }] }])
  const one = await agent({ name: "x", model: model(), tools: [broken(true)] }).run("go").result
  expect(one).toMatchObject({ status: "failed", error: { code: "TOOL_FAILED" } })
  const two = await agent({ name: "x", model: model(), tools: [broken(false)], onToolError: "fail" }).run(
    "go",
  ).result
  expect(two).toMatchObject({ status: "failed", error: { code: "TOOL_FAILED" } })
})

test("the message that the model sees for a failure can be customized", async () => {
  const broken = tool({
    name: "broken",
    description: "Fails.",
    run: () => {
      throw new Error("stack and all")
    },
  })
  const model = scriptedModel([{ tool_calls: [{ name: "broken", args: {} }] }, "ok"])
  await agent({
    name: "x",
    model,
    tools: [broken],
    onToolError: (_, { tool }) => `${tool} is out of order`,
  }).run("")
  expect(shown(model, 1).at(-1)).toBe('tool: "broken is out of order"')
})

test("structured output: an answer that does not match goes back to the model with the reason", async () => {
  const output = z.object({ city: z.string(), days: z.number() })
  const model = scriptedModel(["not JSON", { json: { city: "Rome" } }, { json: { city: "Rome", days: 3 } }])
  const { outputs } = await agent({ name: "trip", model, output }).run("Where to?")
  expect(outputs).toEqual([{ city: "Rome", days: 3 }])
  expect(shown(model, 1).at(-1)).toMatch(/does not match the schema: it is not JSON/)
  expect(shown(model, 2).at(-1)).toMatch(/days/)
  expect(model.calls[0]?.options.responseFormat).toMatchObject({
    type: "json",
    name: "trip",
    schema: { type: "object", required: ["city", "days"], additionalProperties: false },
  })
})

test("the number of repairs is limited", async () => {
  const model = scriptedModel([{ text: "no", repeat: true }])
  const run = await agent({ name: "x", model, output: z.object({}), repairs: 1 }).run("go").result
  expect(run).toMatchObject({ status: "failed", error: { code: "OUTPUT_INVALID" }, usage: { modelCalls: 2 } })
})

test("a schema that transforms parses the answer once", async () => {
  const output = z.object({ n: z.string().transform(Number) })
  const model = scriptedModel([{ text: '```json\n{"n":"4"}\n```' }])
  expect((await agent({ name: "x", model, output }).run("go")).outputs).toEqual([{ n: 4 }])
})

test("a conversation continues from run to run of a thread", async () => {
  const model = scriptedModel([
    { tool_calls: [{ name: "add", args: { a: 1, b: 1 } }] },
    "Two.",
    "I said two.",
  ])
  const chat = agent({ name: "chat", model, tools: [add], messages: conversation() })
  const store = memoryStore()
  await chat.run("1 + 1?", { store, thread: "t" })
  const { outputs } = await chat.run("What did you say?", { store, thread: "t" })
  expect(outputs).toEqual(["I said two."])
  expect(shown(model, 2)).toEqual([
    "user: 1 + 1?",
    'assistant: add{"a":1,"b":1}',
    "tool: 2",
    "assistant: Two.",
    "user: What did you say?",
  ])
})

test("valid messages as input are used unchanged", async () => {
  const model = scriptedModel(["ok"])
  const messages = [
    { role: "user", content: "a" },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "1", toolName: "add", input: {} }] },
    { role: "user", content: "b" },
  ]
  await agent({ name: "x", model, tools: [add] }).run({ messages })
  expect(shown(model, 0).map((line) => line.split(":")[0])).toEqual(["user", "assistant", "tool", "user"])
})

test("two calls with the same id are kept separate", async () => {
  const call = { name: "add", id: "c", args: { a: 1, b: 1 } }
  const model = scriptedModel([{ tool_calls: [call, call] }, { tool_calls: [call] }, "ok"])
  const { status } = await agent({ name: "x", model, tools: [add] }).run("go")
  expect(status).toBe("completed")
  const ids = (model.calls[2]?.prompt ?? []).flatMap(({ role, content }) =>
    role === "tool" ? content.map((part) => (part as { toolCallId: string }).toolCallId) : [],
  )
  expect(ids).toEqual(["c", "c_2", "c_3"])
})

test("invalid options are rejected when the agent is created", () => {
  const model = scriptedModel([])
  expect(() => agent({ name: "", model })).toThrow(/name must be a non-empty string/)
  expect(() => agent({ name: "x", model: [] })).toThrow(/set a model/)
  expect(() => agent({ name: "x", model, tools: [add, add] })).toThrow(/two tools named "add"/)
  expect(() => agent({ name: "x", model, limits: { turns: 3 } as object })).toThrow(/limits has no "turns"/)
  expect(() => agent({ name: "x", model, instruction: "Write." } as never)).toThrow(
    /unknown option "instruction"; did you mean "instructions"\?/,
  )
  const unknown = (options: object) => () => agent({ name: "x", model, ...options })
  expect(unknown({ maxTurns: 3 })).toThrow(/unknown option "maxTurns"; did you mean "limits.iterations"\?/)
  expect(unknown({ system: "Write." })).toThrow(/unknown option "system"; did you mean "instructions"\?/)
  expect(unknown({ toolz: [] })).toThrow(/unknown option "toolz"; did you mean "tools"\?/)
  expect(unknown({ settings: { temprature: 1 } })).toThrow(
    /settings: .*"temprature"; did you mean "temperature"/,
  )
  expect(unknown({ settings: 1 })).toThrow(/settings must be an object, not 1/)
  expect(unknown({ calling: { timeOut: 1 } })).toThrow(/calling: .*"timeOut"; did you mean "timeout"/)
  expect(unknown({ calling: { retry: { attemps: 1 } } })).toThrow(/calling.retry: .*did you mean "attempts"/)
  // A misspelled list of rules would have no effect.
  expect(() => agent({ name: "x", model, approval: { denied: ["*"] } as object })).toThrow(/"denied"/)
  expect(() => agent({ name: "x", model, approval: "always" as never })).toThrow(/{ deny, allow, ask }/)
  expect(() => agent({ name: "x", model, history: "last" as never })).toThrow(/lastItems\(n\)/)
  const old = { ...model, specificationVersion: "v2" } as never
  expect(() => agent({ name: "x", model: [model, old] })).toThrow(/not version v2/)
})

test("each task sees the tools and instructions that its toolsets have then", async () => {
  const other = tool({ name: "other", description: "Does something else.", run: () => "" })
  const offered = [[add], [add], [add, other], [other], [add]]
  const instructions = ["first", "first", "first", "second", "second"]
  const model = scriptedModel(offered.map(() => "done"))
  let task = 0
  const toolset = {
    name: "set",
    get instructions() {
      return instructions[task]
    },
    tools: () => offered[task] ?? [],
  }
  const x = agent({ name: "x", model, tools: [toolset] })
  for (; task < offered.length; task++) await x.run("go")
  const seen = model.calls.map(({ options }) => [
    options.prompt[0]?.content,
    options.tools?.map(({ name }) => name),
  ])
  expect(seen).toEqual([
    ["first", ["add"]],
    ["first", ["add"]],
    ["first", ["add", "other"]],
    ["second", ["other"]],
    ["second", ["add"]],
  ])
})

test("tools that a toolset makes for one task are free for collection after it", async () => {
  let made: WeakRef<object> | undefined
  const toolset = {
    name: "set",
    tools() {
      const own = tool({ name: "own", description: "Knows its task.", run: () => "" })
      made = new WeakRef(own)
      return [own]
    },
  }
  const x = agent({ name: "x", model: scriptedModel(["done", "done"]), tools: [toolset] })
  await x.run("go")
  expect(await isCollected(made as WeakRef<object>)).toBe(true)
  expect((await x.run("go")).outputs).toEqual(["done"])
})

test("closing an agent closes all its toolsets, even if one of them fails", async () => {
  const closed: string[] = []
  const toolset = (name: string) => ({
    name,
    tools: () => [],
    close: () => {
      closed.push(name)
      if (name === "first") throw new Error("stuck")
    },
  })
  const x = agent({ name: "x", model: scriptedModel([]), tools: [toolset("first"), toolset("second")] })
  await expect(x.close()).rejects.toThrow("stuck")
  expect(closed).toEqual(["first", "second"])
})
