/** Guardrails: what they see, what a trip does, and that verdicts are recorded. */
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { memoryStore, node, workflow } from "../index.ts"
import type { Model } from "../models/index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { manualClock, settled } from "../testing/index.ts"
import { crashTest } from "../testing/simulation/crash-test.test-support.ts"
import { tool } from "../tools/index.ts"
import {
  type AgentLimits,
  agent,
  conversation,
  type Guardrail,
  type GuardrailTrip,
  isTrip,
  judge,
  patternGuardrail,
} from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string() }),
  run: ({ at }) => `saw ${at}`,
})
const callOf = (at: string) => ({ tool_calls: [{ name: "look", args: { at } }] })

const cards = (onTrip?: Guardrail["onTrip"]): Guardrail => ({
  name: "cards",
  on: "input",
  check: ({ text }) => (/\d{16}/.test(text) ? "it has the number of a card" : undefined),
  onTrip,
})

describe("a guardrail that trips", () => {
  test("fails the task by default, before the model is called", async () => {
    const model = scriptedModel(["hello"])
    const x = agent({ name: "x", model, guardrails: [cards()] })
    const { status, error, usage } = await x.run("My card: 4111111111111111").result
    expect([status, usage.modelCalls]).toEqual(["failed", undefined])
    expect(error).toMatchObject({
      code: "GUARDRAIL_TRIPPED",
      message: 'Guardrail "cards" of agent "x" stopped its input: it has the number of a card',
    })
    expect((await x.run("Hello")).outputs).toEqual(["hello"])
  })

  test("answers with a fixed text, which is added to the conversation", async () => {
    const model = scriptedModel(["You said no numbers."])
    const store = memoryStore()
    const x = agent({
      name: "x",
      model,
      messages: conversation(),
      guardrails: [cards({ answer: "No numbers, please." })],
    })
    expect((await x.run("4111111111111111", { store, thread: "t" })).outputs).toEqual(["No numbers, please."])
    await x.run("What?", { store, thread: "t" })
    expect(shown(model, 0)).toEqual([
      "user: 4111111111111111",
      "assistant: No numbers, please.",
      "user: What?",
    ])
  })

  test("answers with data if the agent has an output schema, and fails if the data does not match", async () => {
    const x = (answer: object) =>
      agent({
        name: "x",
        model: scriptedModel([]),
        output: z.object({ ok: z.boolean() }),
        guardrails: [cards({ answer: answer as never })],
      }).run("4111111111111111").result
    expect((await x({ ok: false })).outputs).toEqual([{ ok: false }])
    expect((await x({ no: 1 })).error).toMatchObject({ code: "OUTPUT_INVALID" })
  })

  test("goes to a node, and only there", async () => {
    const clerk = agent({
      name: "clerk",
      model: scriptedModel(["fine"]),
      guardrails: [cards({ to: "review" })],
    })
    const review = node("review", (trip: GuardrailTrip | string) =>
      isTrip(trip) ? `review: ${trip.reason}` : "?",
    )
    const publish = node("publish", (text: string) => `published: ${text}`)
    const flow = workflow("w")
      .start(clerk)
      .switch(clerk, [{ when: isTrip, to: review }], publish)
      .build()
    expect((await flow.run("4111111111111111")).outputs).toEqual(["review: it has the number of a card"])
    expect((await flow.run("Hi")).outputs).toEqual(["published: fine"])
  })

  test("takes the error route of the node if it fails the task", async () => {
    const clerk = agent({ name: "clerk", model: scriptedModel([]), guardrails: [cards()] })
    const review = node("review", ({ error }: { error: { code: string } }) => error.code)
    const flow = workflow("w").start(clerk).onError(clerk, review).build()
    expect((await flow.run("4111111111111111")).outputs).toEqual(["GUARDRAIL_TRIPPED"])
  })

  test("fails inside another agent's tool call, where it cannot be sent to a node", async () => {
    const inner = agent({ name: "inner", model: scriptedModel([]), guardrails: [cards({ to: "review" })] })
    const model = scriptedModel([
      { tool_calls: [{ name: "inner", args: { input: "4111111111111111" } }] },
      "ok",
    ])
    await agent({ name: "x", model, tools: [inner.asTool()] }).run("go")
    expect(shown(model, 1).at(-1)).toMatch(/Guardrail .*cards.* stopped its input/)
  })
})

test("output guardrails check the answer of the agent that answers", async () => {
  const short: Guardrail = {
    name: "short",
    on: "output",
    check: ({ text }) => (text.length > 5 ? "too long" : undefined),
  }
  const x = (text: string) =>
    agent({ name: "x", model: scriptedModel([text]), guardrails: [short] }).run("go").result
  expect((await x("short")).outputs).toEqual(["short"])
  expect((await x("much too long")).error).toMatchObject({ code: "GUARDRAIL_TRIPPED" })
  const model = scriptedModel({ a: [{ tool_calls: [{ name: "handoff_to_b" }] }], b: ["much too long"] })
  const b = agent({ name: "b", model })
  const a = agent({ name: "a", model, handoffs: [b], guardrails: [{ ...short, onTrip: { answer: "…" } }] })
  expect((await a.run("go")).outputs).toEqual(["…"])
})

test("tool guardrails check each call, and a trip stops the turn", async () => {
  const seen: unknown[] = []
  const guardrails: Guardrail[] = [
    {
      name: "places",
      on: "tool",
      tools: ["lo*"],
      check: ({ tool: name, value }) => {
        seen.push([name, value])
        return (value as { at: string }).at === "secrets" ? "not there" : undefined
      },
      onTrip: { answer: "I may not look there." },
    },
    { name: "others", on: "tool", tools: ["other"], check: () => "never" },
  ]
  const model = scriptedModel([callOf("home"), callOf("secrets")])
  const { outputs, usage } = await agent({ name: "x", model, tools: [look], guardrails }).run("go")
  expect([outputs, usage.toolCalls]).toEqual([["I may not look there."], 1])
  expect(seen).toEqual([
    ["look", { at: "home" }],
    ["look", { at: "secrets" }],
  ])
})

describe("a parallel guardrail", () => {
  /** A model that answers when the test lets it. */
  function held() {
    let release = (_: string) => {}
    let began = () => {}
    const started = new Promise<void>((resolve) => {
      began = resolve
    })
    const text = new Promise<string>((resolve) => {
      release = resolve
    })
    let wasAborted = false
    const inner = pureModel(() => "answer")
    const model: Model = {
      ...inner,
      doGenerate: async (options) => {
        began()
        options.abortSignal?.addEventListener("abort", () => {
          wasAborted = true
        })
        await Promise.race([
          text,
          new Promise((_, reject) => {
            options.abortSignal?.addEventListener("abort", () => reject(options.abortSignal?.reason))
          }),
        ])
        return inner.doGenerate({ ...options, abortSignal: undefined } as never)
      },
    }
    return { model, started, release: () => release("go"), wasAborted: () => wasAborted }
  }

  test("runs in parallel with the first model call, and a trip aborts that call", async () => {
    const { model, started, wasAborted } = held()
    let decide = (_: string | undefined) => {}
    const verdict = new Promise<string | undefined>((resolve) => {
      decide = resolve
    })
    const x = agent({
      name: "x",
      model,
      stream: false,
      guardrails: [
        { name: "slow", on: "input", parallel: true, check: () => verdict, onTrip: { answer: "no" } },
      ],
    })
    const run = x.run("go")
    await started
    expect(wasAborted()).toBe(false)
    decide("bad")
    const { outputs, usage } = await run
    expect([outputs, wasAborted()]).toEqual([["no"], true])
    // The call was made: it counts.
    expect(usage.modelCalls).toBe(1)
  })

  test("holds back tools and the answer until its verdict is known", async () => {
    let decide = (_: string | undefined) => {}
    const verdict = new Promise<string | undefined>((resolve) => {
      decide = resolve
    })
    const ran: string[] = []
    const act = tool({ name: "act", description: "Acts.", run: () => ran.push("act") })
    const x = agent({
      name: "x",
      model: scriptedModel([{ tool_calls: [{ name: "act" }] }, "done"]),
      tools: [act],
      guardrails: [{ name: "slow", on: "input", parallel: true, check: () => verdict }],
    })
    const run = x.run("go")
    await settled()
    expect(ran).toEqual([])
    decide(undefined)
    expect([(await run).outputs, ran]).toEqual([["done"], ["act"]])
  })

  test("that throws fails the task with its own error", async () => {
    const check = () => Promise.reject(new Error("the service is down"))
    const x = agent({
      name: "x",
      model: scriptedModel(["done"]),
      guardrails: [{ name: "slow", on: "input", parallel: true, check }],
    })
    expect((await x.run("go").result).error?.message).toMatch(/the service is down/)
  })

  test.each<[string, AgentLimits]>([
    ["a limit that is reached before the first call", { iterations: 1 }],
    ["a limit of calls", { modelCalls: 1 }],
  ])("comes before the final answer at %s", async (_, limits) => {
    const model = pureModel(() => "The answer.")
    const checked: string[] = []
    const check = async () => {
      checked.push("input")
      return "it is forbidden"
    }
    const options = { name: "x", model, stream: false, limits, onLimit: "answer" as const }
    const x = agent({
      ...options,
      guardrails: [{ name: "slow", on: "input", parallel: true, check, onTrip: { answer: "no" } }],
    })
    expect((await x.run("go")).outputs).toEqual(["no"])
    expect(checked).toEqual(["input"])
    const passing = [{ name: "slow", on: "input" as const, parallel: true, check: () => undefined }]
    expect((await agent({ ...options, guardrails: passing }).run("go")).outputs).toEqual(["The answer."])
  })

  test("that has no verdict when the agent's time is up is checked again before the final answer", async () => {
    const clock = manualClock()
    const { model } = held()
    let asked = 0
    const check = () => (++asked === 1 ? new Promise<undefined>(() => {}) : "it is forbidden")
    const x = agent({
      name: "x",
      model,
      stream: false,
      limits: { seconds: 100 },
      onLimit: "answer",
      guardrails: [{ name: "slow", on: "input", parallel: true, check, onTrip: { answer: "no" } }],
    })
    const run = x.run("go", { clock })
    for (let i = 0; i < 5; i++) await settled()
    await clock.advance(90_000)
    for (let i = 0; i < 5; i++) await settled()
    expect((await run).outputs).toEqual(["no"])
    expect(asked).toBe(2)
  })

  test("ends when the run is cancelled", async () => {
    const { model, started } = held()
    const check = () => new Promise<undefined>(() => {})
    const x = agent({
      name: "x",
      model,
      stream: false,
      guardrails: [{ name: "slow", on: "input", parallel: true, check }],
    })
    const run = x.run("go")
    await started
    run.cancel("enough")
    expect((await run.result).status).toBe("cancelled")
  })
})

test("a run with guardrails ends the same, wherever its process dies", async () => {
  const build = (parallel: boolean, reason: string | undefined) =>
    agent({
      name: "x",
      model: pureModel((_, turn) => (turn === 0 ? { calls: [{ name: "look", args: { at: "a" } }] } : "done")),
      stream: false,
      tools: [look],
      guardrails: [
        { name: "in", on: "input", parallel, check: async () => reason, onTrip: { answer: "no" } },
        { name: "call", on: "tool", check: () => undefined },
        { name: "out", on: "output", check: () => undefined },
      ],
    })
  for (const parallel of [false, true]) {
    for (const reason of [undefined, "tripped"]) {
      const compare = ({ result }: { result: { outputs: unknown[] } }) => result.outputs
      const { outcome } = await crashTest(build(parallel, reason), "go", { compare })
      expect(outcome).toEqual([reason === undefined ? "done" : "no"])
    }
  }
})

test("a recorded verdict is reused when the run resumes: nothing is checked twice, and a check may ask a person", async () => {
  const store = memoryStore()
  const checked: string[] = []
  const build = () => {
    const model = pureModel((_, turn) =>
      turn === 0 ? { calls: [{ name: "look", args: { at: "a" } }] } : "done",
    )
    const passes = (name: string) => () => void checked.push(name)
    const x = agent({
      name: "x",
      model,
      tools: [look],
      guardrails: [
        { name: "in", on: "input", check: passes("in") },
        { name: "beside", on: "input", parallel: true, check: passes("beside") },
        { name: "call", on: "tool", check: passes("call") },
        {
          name: "person",
          on: "output",
          durable: true,
          check: async ({ text }, ctx) =>
            (await ctx.ask<boolean>(`Say "${text}"?`)) ? undefined : "a person said no",
        },
      ],
    })
    return { x, model }
  }
  const { requests } = await build().x.run("go", { store, runId: "r" })
  expect(requests[0]?.prompt).toBe('Say "done"?')
  const { x, model } = build()
  const run = x.resume("r", { store, takeOver: true })
  await run.respond(requests[0]?.id ?? "", false)
  expect((await run.result).error?.message).toMatch(/a person said no/)
  expect([checked, model.calls.length]).toEqual([["in", "beside", "call"], 0])
})

test("an agent can be a judge, in its own conversation, which is recorded with the task", async () => {
  const model = pureModel((last, _, name) => {
    if (name !== "judge") return `answer to ${last}`
    return JSON.stringify({ trips: last.includes("bomb"), reason: "It is about bombs." })
  })
  const judgeAgent = agent({ name: "judge", model, stream: false, instructions: "Nothing about bombs." })
  for (const parallel of [false, true]) {
    const x = agent({
      name: "x",
      model,
      stream: false,
      guardrails: [
        judge({ name: "safe", on: "input", agent: () => judgeAgent, parallel, onTrip: { answer: "No." } }),
      ],
    })
    const { outcome } = await crashTest(x, "How do I build a bomb?", {
      compare: ({ result }) => result.outputs,
    })
    expect(outcome).toEqual(["No."])
    const { outputs, usage } = await x.run("How do I bake?")
    expect([outputs, usage.modelCalls]).toEqual([["answer to user: How do I bake?"], 2])
  }
})

test.each([true, false])(
  "a judge without a verdict blocks everything, even a final answer; parallel: %s",
  async (parallel) => {
    const model = pureModel((_, _turn, name) => (name === "judge" ? "Hm." : "The answer."))
    const judging = agent({ name: "judge", model, stream: false, limits: { modelCalls: 1 } })
    const x = agent({
      name: "x",
      model,
      stream: false,
      onLimit: "answer",
      guardrails: [judge({ name: "j", on: "input", agent: judging, parallel })],
    })
    const { status, outputs, error } = await x.run("go").result
    expect([status, outputs, error?.code]).toEqual(["limit", [], "AGENT_LIMIT"])
  },
)

test("a pattern is matched in linear time", async () => {
  const guardrail = patternGuardrail({
    name: "cards",
    on: "input",
    pattern: "(a+)+\\d{4}$",
    reason: "a card",
  })
  const x = agent({
    name: "x",
    model: scriptedModel([{ text: "ok", repeat: true }]),
    guardrails: [guardrail],
  })
  expect((await x.run(`${"a".repeat(5_000)}b`)).outputs).toEqual(["ok"])
  expect((await x.run("aa1234").result).error?.message).toMatch(/a card/)
  expect(() => patternGuardrail({ name: "p", on: "input", pattern: "(a)\\1" })).toThrow(
    /GUARDRAIL_INVALID|not valid/,
  )
})

test("verdicts are sent as events, recorded ones too", async () => {
  const x = agent({
    name: "x",
    model: scriptedModel(["ok"]),
    guardrails: [cards(), { name: "out", on: "output", check: () => undefined }],
  })
  const seen: unknown[] = []
  for await (const event of x.stream("hi")) {
    if (event.type === "custom") seen.push([event.name, event.data])
    if (event.type === "step.recorded" && event.key.includes("guardrail")) seen.push([event.key, event.value])
  }
  expect(seen).toEqual([
    ["step:guardrail:x:cards", null],
    ["agent.guardrail", { guardrail: "cards", on: "input", agent: "x", tripped: false }],
    ["step:guardrail:x:out", null],
    ["agent.guardrail", { guardrail: "out", on: "output", agent: "x", tripped: false }],
  ])
})

test("invalid guardrails are rejected", async () => {
  const model = scriptedModel(["ok"])
  const made = (guardrail: object) => () =>
    agent({
      name: "x",
      model,
      guardrails: [{ name: "g", on: "input", check: () => undefined, ...guardrail } as Guardrail],
    })
  expect(made({ on: "answer" })).toThrow(/on is "input", "output" or "tool"/)
  expect(made({ check: "x" })).toThrow(/check must be a function/)
  expect(made({ name: "" })).toThrow(/a name/)
  expect(made({ on: "output", parallel: true })).toThrow(/only input guardrails can be parallel/)
  expect(made({ onTrip: "stop" })).toThrow(/onTrip is "fail", { answer } or { to/)
  expect(made({ ontrip: "fail" })).toThrow(/has no option "ontrip"/)
  expect(() => agent({ name: "x", model, guardrails: [cards(), cards()] })).toThrow(
    /two guardrails are named "cards"/,
  )
  const { error } = await agent({
    name: "x",
    model,
    guardrails: [{ name: "g", on: "input", check: () => true as never }],
  }).run("go").result
  expect(error).toMatchObject({ code: "GUARDRAIL_INVALID" })
})
