/** Hooks around an agent's steps: what they can decide, and that each decision is made once. */
import { expect, expectTypeOf, test } from "vitest"
import { z } from "zod"
import { memoryStore } from "../index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { crashTest } from "../testing/simulation/crash-test.test-support.ts"
import { type Tool, tool } from "../tools/index.ts"
import { agent, type Middleware, type PrepareInfo, type StepPlan, stepCount, toolCalled } from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const echo = tool({
  name: "echo",
  description: "Says it again.",
  input: z.object({ text: z.string() }),
  run: ({ text }) => `echo ${text}`,
})
const look = tool({ name: "look", description: "Looks.", run: () => "saw it" })
const callOf = (name: string, args: object = {}) => ({ tool_calls: [{ name, args: args as never }] })

test("prepareStep chooses the model, the tools, the tool choice, the instructions and the settings of a step", async () => {
  const cheap = scriptedModel([callOf("echo", { text: "a" })])
  const strong = pureModel(() => "done")
  const x = agent({
    name: "x",
    model: cheap,
    models: { strong },
    instructions: "Own.",
    tools: [echo, look],
    prepareStep({ step, steps, tools, messages }) {
      expect([step, steps.length, tools]).toEqual([step, step - 1, ["echo", "look"]])
      expect(messages.length).toBe(step === 1 ? 1 : 3)
      if (step === 1) return { tools: ["echo"], toolChoice: { tool: "echo" }, instructions: "Echo it." }
      return { model: "strong", toolChoice: "none", settings: { temperature: 0.5 } }
    },
  })
  expect((await x.run("go")).outputs).toEqual(["done"])
  expect(shown(cheap, 0)[0]).toBe("system: Echo it.")
  expect(cheap.calls[0]?.options).toMatchObject({ toolChoice: { type: "tool", toolName: "echo" } })
  expect(cheap.calls[0]?.options.tools?.map(({ name }) => name)).toEqual(["echo"])
  expect(shown(strong, 0)[0]).toBe("system: Own.")
  expect(strong.calls[0]).toMatchObject({ toolChoice: { type: "none" }, temperature: 0.5 })
})

test("a tool that a step does not offer is unknown in it", async () => {
  const model = scriptedModel([callOf("look"), "ok"])
  const x = agent({ name: "x", model, tools: [echo, look], prepareStep: () => ({ tools: ["echo"] }) })
  await x.run("go")
  expect(shown(model, 1).at(-1)).toMatch(/no tool \\"look\\".*\\"echo\\"/)
})

test("beforeModel changes the request, or answers without a model call", async () => {
  const model = scriptedModel([callOf("look")])
  const seen: number[] = []
  const x = agent({
    name: "x",
    model,
    instructions: "Own.",
    tools: [look],
    beforeModel({ messages, step }) {
      seen.push(messages.length)
      return step === 1
        ? { messages: [...messages, { role: "user", content: [{ type: "text", text: "P.S." }] }] }
        : { reply: "cached" }
    },
  })
  const { outputs, usage } = await x.run("go")
  expect([outputs, usage.modelCalls]).toEqual([["cached"], 1])
  expect(shown(model, 0)).toEqual(["system: Own.", "user: go", "user: P.S."])
  expect(seen).toEqual([2, 4])
})

test("afterModel changes the text of a reply, or retries", async () => {
  const model = scriptedModel([{ text: "hmm", ...callOf("look") }, "rude answer"])
  const x = agent({
    name: "x",
    model,
    tools: [look],
    afterModel: ({ step, text, calls }) =>
      step === 1 ? { retry: `No ${calls[0]?.name}.` } : { text: text.replace("rude", "kind") },
  })
  expect((await x.run("go")).outputs).toEqual(["kind answer"])
  // The call of the discarded reply has a result, as providers require.
  expect(shown(model, 1)).toEqual([
    "user: go",
    "assistant: hmm | look{}",
    'tool: "The call was not made."',
    "user: No look.",
  ])
})

test("onToolCall lets a call continue, denies it, changes its arguments, or answers it", async () => {
  const calls = ["as it is", "refused", "changed", "answered"].map((text) => ({
    name: "echo",
    args: { text },
  }))
  const model = scriptedModel([{ tool_calls: calls }, "ok"])
  const x = agent({
    name: "x",
    model,
    tools: [echo],
    onToolCall({ args }) {
      const { text } = args as { text: string }
      if (text === "refused") return { deny: "Not today." }
      if (text === "changed") return { args: { text: "other" } }
      return text === "answered" ? { result: { from: "cache" } } : undefined
    },
  })
  const { usage } = await x.run("go")
  expect(usage.toolCalls).toBe(2)
  const [as, refused, changed, answered] = (shown(model, 1).at(-1) ?? "").replace("tool: ", "").split(" | ")
  expect(as).toBe('"echo as it is"')
  expect(refused).toMatch(/not allowed.*Not today/)
  expect(changed).toBe('"echo other"')
  expect(answered).toBe('{"from":"cache"}')
  // The model sees the arguments that were used.
  expect(shown(model, 1)[1]).toContain('echo{"text":"other"}')
})

test("arguments that a hook changed are validated, and approval rules apply to them", async () => {
  const model = scriptedModel([callOf("echo", { text: "a" }), callOf("echo", { text: "b" }), "ok"])
  const x = agent({
    name: "x",
    model,
    tools: [echo],
    approval: { deny: ["echo:text=evil"], allow: ["echo"] },
    onToolCall: ({ args }) => ({
      args: (args as { text: string }).text === "a" ? { text: 1 } : { text: "evil" },
    }),
  })
  await x.run("go")
  expect(shown(model, 1).at(-1)).toMatch(/are invalid: text/)
  expect(shown(model, 2).at(-1)).toMatch(/not allowed/)
})

test("a hook sees masked secrets, preserves them, and cannot set them", async () => {
  const pins: unknown[] = []
  const door = tool({
    name: "door",
    description: "Opens.",
    input: z.object({ pin: z.string(), slow: z.boolean().optional() }),
    secret: ["pin"],
    run: (args) => {
      pins.push(args)
      return "open"
    },
  })
  const run = (onToolCall: Middleware["onToolCall"]) => {
    const model = scriptedModel([callOf("door", { pin: "4711-0815" }), "ok"])
    return agent({ name: "x", model, tools: [door], onToolCall }).run("go", { store: memoryStore() }).result
  }
  const kept = await run(({ args }) => {
    expect(args).toEqual({ pin: "[secret]" })
    return { args: { ...(args as object), slow: true } }
  })
  expect([kept.status, pins]).toEqual(["completed", [{ pin: "4711-0815", slow: true }]])
  expect((await run(() => ({ args: { pin: "other" } }))).error).toMatchObject({ code: "HOOK_INVALID" })
})

test("middleware runs in order, each with the result of the previous one, after the agent's own hooks", async () => {
  const order: string[] = []
  const named = (name: string, plan: StepPlan = {}): Middleware => ({
    prepareStep: () => {
      order.push(name)
      return plan
    },
    afterModel: ({ text }) => ({ text: `${text} ${name}` }),
    onToolCall: ({ args }) => ({ args: { text: `${(args as { text: string }).text}${name}` } }),
  })
  const model = scriptedModel([callOf("echo", { text: "" }), "ok"])
  const x = agent({
    name: "x",
    model,
    tools: [echo],
    ...named("own", { instructions: "one", toolChoice: "required" }),
    middleware: [named("a", { instructions: "two" }), named("b")],
  })
  expect((await x.run("go")).outputs).toEqual(["ok own a b"])
  expect(order.slice(0, 3)).toEqual(["own", "a", "b"])
  expect(shown(model, 0)[0]).toBe("system: two")
  expect(model.calls[0]?.options.toolChoice).toEqual({ type: "required" })
  expect(shown(model, 1).at(-1)).toBe('tool: "echo ownab"')
})

test("decisions of hooks are recorded: wherever the process dies, the requests are the same, and nothing is decided twice", async () => {
  const requests = new Map<number, Set<string>>()
  let count = 0
  const build = () => {
    const model = pureModel((last, turn) => {
      return turn < 2
        ? { calls: [{ name: "echo", args: { text: `${turn}` } }, { name: "look" }] }
        : `end ${last}`
    })
    const asked = { ...model }
    asked.doGenerate = async (options) => {
      const turn = options.prompt.filter(({ role }) => role === "assistant").length
      const { prompt, tools, toolChoice } = options
      const seen = requests.get(turn) ?? new Set()
      requests.set(turn, seen.add(JSON.stringify({ prompt, tools, toolChoice })))
      return model.doGenerate(options)
    }
    return agent({
      name: "x",
      model: asked,
      stream: false,
      tools: () => [echo, look],
      // Every call of a hook returns another decision.
      instructions: () => `Instructions ${count++}`,
      prepareStep: ({ step }) => (step === 2 ? { instructions: `Step ${count++}` } : undefined),
      beforeModel: ({ messages }) => ({
        messages: [...messages, { role: "user", content: [{ type: "text", text: `${count++}` }] }],
      }),
      afterModel: ({ text }) => ({ text: `${text}${count++}` }),
      onToolCall: ({ tool: name, args }) =>
        name === "echo"
          ? { args: { text: `${(args as { text: string }).text}-${count++}` } }
          : { result: count++ },
      beforeAgent: () => ({ instructions: `Begun ${count++}` }),
      afterToolCall: () => ({ note: `Note ${count++}` }),
      afterAgent: () => void count++,
    })
  }
  await crashTest(build, "go", {
    before: () => {
      requests.clear()
      count = 0
    },
    compare: ({ result }) => result.status,
    effects: { requests: () => [...requests.values()].reduce((sum, seen) => sum + seen.size, 0) },
  })
})

test("a recorded decision is reused when the run resumes, and its hook is not called again", async () => {
  const store = memoryStore()
  let calls = 0
  const asking = tool({
    name: "asking",
    description: "Asks.",
    durable: true,
    run: (args, { ctx }) => ctx.ask(`${args.n}?`),
    input: z.object({ n: z.number().optional() }),
  })
  const build = () => {
    const model = pureModel((last, turn) => (turn === 0 ? { calls: [{ name: "asking" }] } : last))
    const x = agent({
      name: "x",
      model,
      tools: [asking],
      prepareStep: () => ({ instructions: `call ${++calls}` }),
      onToolCall: () => ({ args: { n: ++calls } }),
      afterModel: () => void calls++,
    })
    return { x, model }
  }
  const { requests } = await build().x.run("go", { store, runId: "r" })
  expect([requests[0]?.prompt, calls]).toEqual(["3?", 3])
  const { x, model } = build()
  const run = x.resume("r", { store, takeOver: true })
  await run.respond(requests[0]?.id ?? "", "yes")
  expect((await run).outputs).toEqual(['tool: "yes"'])
  // Only the second step: the first is recorded.
  expect(calls).toBe(5)
  expect(shown(model, 0)).toEqual(["system: call 4", "user: go", 'assistant: asking{"n":3}', 'tool: "yes"'])
})

test("an invalid decision is rejected with the name of the hook", async () => {
  const failed = async (options: object) => {
    const model = scriptedModel([{ tool_calls: [{ name: "echo", args: { text: "a" } }], repeat: true }])
    const { error } = await agent({
      name: "x",
      model,
      tools: [echo],
      limits: { iterations: 2 },
      ...options,
    }).run("go").result
    return `${error?.code} ${error?.message}`
  }
  expect(await failed({ prepareStep: () => ({ modell: "a" }) })).toMatch(
    /HOOK_INVALID prepareStep of agent "x": .*"model"\?/,
  )
  expect(await failed({ prepareStep: () => ({ model: scriptedModel([]) }) })).toMatch(
    /HOOK_INVALID.*model must be a name/,
  )
  expect(await failed({ prepareStep: () => ({ tools: ["gone"] }) })).toMatch(/TOOL_UNKNOWN.*"gone"/)
  expect(await failed({ prepareStep: () => ({ toolChoice: "any" }) })).toMatch(/HOOK_INVALID.*toolChoice is/)
  expect(await failed({ beforeModel: () => "text" })).toMatch(/HOOK_INVALID beforeModel/)
  expect(await failed({ beforeModel: () => ({ messages: [1] }) })).toMatch(/INPUT_INVALID Message 0/)
  expect(await failed({ afterModel: () => ({ txt: "a" }) })).toMatch(/HOOK_INVALID afterModel/)
  expect(await failed({ onToolCall: () => ({ allow: true }) })).toMatch(/HOOK_INVALID onToolCall/)
  const model = scriptedModel([])
  expect(() => agent({ name: "x", model, prepareStep: 1 as never })).toThrow(/prepareStep must be a function/)
  expect(() => agent({ name: "x", model, middleware: [{ before: () => {} } as never] })).toThrow(
    /middleware has no hook "before"/,
  )
  expect(() => agent({ name: "x", model, toolChoice: "any" as never })).toThrow(/toolChoice is/)
  expect(() => agent({ name: "x", model, stopWhen: stepCount(0) })).toThrow(/stopWhen must be/)
})

test("tools and instructions may be functions of the input; a resumed task has the same tools", async () => {
  const model = scriptedModel([callOf("echo", { text: "a" }), "ok"])
  const x = agent({
    name: "x",
    model,
    input: z.object({ vip: z.boolean() }),
    instructions: ({ vip }) => (vip ? "Be quick." : "Be brief."),
    tools: ({ vip }) => (vip ? [echo] : []),
  })
  await x.run({ vip: true })
  expect(shown(model, 0)[0]).toBe("system: Be quick.")
  expect(model.calls[0]?.options.tools?.map(({ name }) => name)).toEqual(["echo"])

  const store = memoryStore()
  const asking = tool({
    name: "asking",
    description: "Asks.",
    durable: true,
    run: (_: unknown, { ctx }) => ctx.ask("?"),
  })
  const build = (tools: readonly Tool[]) =>
    agent({
      name: "y",
      model: pureModel((last, turn) => (turn === 0 ? { calls: [{ name: "asking" }] } : last)),
      tools: () => tools,
    })
  expect((await build([asking, look]).run("go", { store, runId: "r" })).status).toBe("waiting")
  const gone = build([look]).resume("r", { store, takeOver: true })
  expect((await gone.result).error).toMatchObject({ code: "TOOL_UNKNOWN" })
})

test("instructions that are not a string are rejected", async () => {
  const { error } = await agent({ name: "x", model: scriptedModel([]), instructions: () => 1 as never }).run(
    "go",
  ).result
  expect(error).toMatchObject({ code: "AGENT_INVALID" })
})

test("toolChoice applies until the agent has called a tool; none always applies", async () => {
  const chosen = async (toolChoice: "required" | "none" | { tool: string }) => {
    const model = scriptedModel([callOf("look"), "ok"])
    await agent({ name: "x", model, tools: [look], toolChoice }).run("go")
    return model.calls.map(({ options }) => options.toolChoice)
  }
  expect(await chosen("required")).toEqual([{ type: "required" }, undefined])
  expect(await chosen({ tool: "look" })).toEqual([{ type: "tool", toolName: "look" }, undefined])
  expect(await chosen("none")).toEqual([{ type: "none" }, { type: "none" }])
  const { error } = await agent({
    name: "x",
    model: scriptedModel([]),
    tools: [look],
    toolChoice: { tool: "luk" },
  }).run("go").result
  expect(error?.message).toMatch(/no tool "luk".*look/)
})

test("stopWhen ends the loop after tool calls: by steps, by a tool, by a function", async () => {
  const model = () =>
    scriptedModel([
      { text: "first", ...callOf("look") },
      { text: "second", ...callOf("echo", { text: "a" }) },
      "third",
    ])
  const ended = async (stopWhen: Parameters<typeof agent>[0]["stopWhen"]) => {
    const { outputs, usage } = await agent({ name: "x", model: model(), tools: [look, echo], stopWhen }).run(
      "go",
    )
    return [outputs[0], usage.modelCalls]
  }
  expect(await ended(stepCount(1))).toEqual(["first", 1])
  expect(await ended([stepCount(5), toolCalled("echo")])).toEqual(["second", 2])
  expect(await ended(({ steps }) => steps.at(-1)?.calls[0]?.result === "saw it")).toEqual(["first", 1])
  expect(await ended(() => false)).toEqual(["third", 3])
})

test("the verdict of a stop function is recorded", async () => {
  let verdicts = 0
  const build = () =>
    agent({
      name: "x",
      model: pureModel((_, turn) => ({ text: `turn ${turn}`, calls: [{ name: "look" }] })),
      stream: false,
      tools: [look],
      stopWhen: () => verdicts++ >= 2,
    })
  const { outcome } = await crashTest(build, "go", {
    before: () => {
      verdicts = 0
    },
    compare: ({ result }) => result.status,
  })
  expect(outcome).toBe("completed")
})

test("the result of a return-direct tool is the answer", async () => {
  const direct = tool({ name: "direct", description: "Ends it.", returnDirect: true, run: () => ({ n: 1 }) })
  const model = scriptedModel([{ tool_calls: [{ name: "look" }, { name: "direct" }] }])
  expect((await agent({ name: "x", model, tools: [look, direct] }).run("go")).outputs).toEqual(['{"n":1}'])
  const typed = (output: z.ZodType) =>
    agent({ name: "x", model: scriptedModel([callOf("direct")]), tools: [direct], output }).run("go").result
  expect((await typed(z.object({ n: z.number() }))).outputs).toEqual([{ n: 1 }])
  expect((await typed(z.object({ m: z.number() }))).error).toMatchObject({ code: "OUTPUT_INVALID" })
  // A failure is a result for the model, as usual.
  const broken = tool({
    name: "direct",
    description: "Fails.",
    returnDirect: true,
    run: () => {
      throw new Error("no")
    },
  })
  const other = scriptedModel([callOf("direct"), "sorry"])
  expect((await agent({ name: "x", model: other, tools: [broken] }).run("go")).outputs).toEqual(["sorry"])
})

test("hooks have types", () => {
  agent({
    name: "x",
    model: scriptedModel([]),
    prepareStep(info) {
      expectTypeOf(info).toEqualTypeOf<PrepareInfo>()
      return info.step > 1 ? { toolChoice: "none" } : undefined
    },
    // @ts-expect-error: the decision has no such part
    afterModel: () => ({ txt: "" }),
  })
})
