/** Hand-offs with a payload and a filter, and threads that continue with the last agent. */
import { expect, test } from "vitest"
import { z } from "zod"
import { memoryStore } from "../index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { crashTest } from "../testing/simulation/crash-test.test-support.ts"
import { agent, conversation } from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const handsOver = (to: string, args: object = {}) => ({
  tool_calls: [{ name: `handoff_to_${to}`, args: args as never }],
})

test("a hand-off has a payload, which is checked and passed to the agent that takes over", async () => {
  const model = scriptedModel({
    desk: [handsOver("office", { amount: "much" }), handsOver("office", { amount: 3 })],
    office: ["done"],
  })
  const seen: unknown[] = []
  const office = agent({
    name: "office",
    model,
    instructions(_, __, handoff) {
      seen.push(handoff)
      return `From ${handoff?.from}.`
    },
  })
  const desk = agent({
    name: "desk",
    model,
    handoffs: [{ agent: office, payload: z.object({ amount: z.number() }), description: "For refunds." }],
  })
  expect((await desk.run("go")).outputs).toEqual(["done"])
  expect(model.calls[0]?.options.tools).toMatchObject([
    {
      name: "handoff_to_office",
      description: expect.stringMatching(/For refunds/),
      inputSchema: { required: ["amount"] },
    },
  ])
  expect(shown(model, 1).at(-1)).toMatch(/are invalid: amount/)
  expect(seen).toEqual([{ from: "desk", payload: { amount: 3 } }])
  expect(shown(model, 2)[0]).toBe("system: From desk.")
  expect(shown(model, 2).join()).toContain('{"amount":3}')
})

test("a filter selects what the agent that takes over sees, and the conversation stays complete", async () => {
  const model = scriptedModel({ desk: [handsOver("office", { why: "tax" }), "again"], office: ["done"] })
  const office = agent({ name: "office", model })
  const desk = agent({
    name: "desk",
    model,
    messages: conversation(),
    handoffs: [
      {
        agent: office,
        payload: z.object({ why: z.string() }),
        filter: (messages, { from, payload }) => [
          ...messages.filter(({ role }) => role === "user"),
          { role: "user", content: [{ type: "text", text: `${from}: ${(payload as { why: string }).why}` }] },
        ],
      },
    ],
  })
  const store = memoryStore()
  await desk.run("go", { store, thread: "t" })
  expect(shown(model, 1)).toEqual(["user: go", "user: desk: tax"])
  await desk.run("more", { store, thread: "t" })
  expect(shown(model, 2).map((line) => line.split(":")[0])).toEqual([
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ])
})

test("invalid hand-offs are rejected", () => {
  const model = scriptedModel([])
  const office = agent({ name: "office", model })
  expect(() => agent({ name: "x", model, handoffs: [{ agent: office, payload: z.string() }] })).toThrow(
    /must be an object schema/,
  )
  const payload = z.object({})
  expect(() =>
    agent({ name: "x", model, handoffTools: "one", handoffs: [{ agent: office, payload }] }),
  ).toThrow(/handoffTools/)
  expect(() => agent({ name: "x", model, handoffs: [{ to: office } as never] })).toThrow(
    /handoffs must be a list/,
  )
  expect(() => agent({ name: "x", model, continueWith: "last" })).toThrow(/needs a conversation/)
  expect(() => agent({ name: "x", model, continueWith: "previous" as never })).toThrow(/"first" or "last"/)
})

test("the last agent continues the thread if continueWith is last; otherwise the first one does", async () => {
  const chat = (continueWith: "first" | "last" | undefined) => {
    const model = pureModel((last, _, name) => {
      if (last.includes("to office")) return { calls: [{ name: "handoff_to_office" }] }
      if (last.includes("to desk")) return { calls: [{ name: "handoff_to_desk" }] }
      return name
    })
    const office = agent({ name: "office", model, handoffs: () => [desk] })
    const desk = agent({
      name: "desk",
      model,
      handoffs: () => [office],
      messages: conversation(),
      continueWith,
    })
    const store = memoryStore()
    const say = async (text: string) => (await desk.run(text, { store, thread: "t" })).outputs[0]
    return { say, model }
  }
  const last = chat("last")
  expect([
    await last.say("hi"),
    await last.say("to office"),
    await last.say("hi"),
    await last.say("hi"),
  ]).toEqual(["desk", "office", "office", "office"])
  expect([await last.say("to desk"), await last.say("hi")]).toEqual(["desk", "desk"])
  // Providers see no marks.
  expect(JSON.stringify(last.model.calls.map(({ prompt }) => prompt))).not.toContain("speaker")
  const first = chat(undefined)
  expect([await first.say("to office"), await first.say("hi")]).toEqual(["office", "desk"])
})

test("the first agent continues the thread if the last one no longer exists", async () => {
  const model = pureModel((last, _, name) =>
    last.includes("over") ? { calls: [{ name: "handoff_to_office" }] } : name,
  )
  const store = memoryStore()
  const options = { name: "desk", model, messages: conversation(), continueWith: "last" } as const
  await agent({ ...options, handoffs: [agent({ name: "office", model })] }).run("over", {
    store,
    thread: "t",
  })
  expect((await agent(options).run("hi", { store, thread: "t" })).outputs).toEqual(["desk"])
})

test("hand-offs with payloads and filters end the same, wherever the process dies", async () => {
  const model = pureModel((last, _, name) =>
    name === "desk" ? { calls: [{ name: "handoff_to_office", args: { n: 1 } }] } : `${name} saw ${last}`,
  )
  const office = agent({
    name: "office",
    model,
    stream: false,
    instructions: (_, __, handoff) => JSON.stringify(handoff),
  })
  const desk = agent({
    name: "desk",
    model,
    stream: false,
    handoffs: [
      { agent: office, payload: z.object({ n: z.number() }), filter: (messages) => messages.slice(0, 1) },
    ],
  })
  const { outcome } = await crashTest(desk, "go", { compare: ({ result }) => result.outputs })
  expect(outcome).toEqual(["office saw user: go"])
})
