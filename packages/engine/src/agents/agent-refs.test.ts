/** Agents with agents and workflows: hand-offs, sub-agents, tools. */
import { expect, expectTypeOf, test } from "vitest"
import { z } from "zod"
import { node, workflow } from "../index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import type { ApprovalRules } from "../tools/index.ts"
import { tool } from "../tools/index.ts"
import { type Agent, agent, workflowTool } from "./index.ts"
import { shown } from "./stand-ins.test-support.ts"

const look = tool({ name: "look", description: "Looks something up.", run: () => "found" })

test("after a hand-off the other agent continues the conversation, with its own instructions and tools", async () => {
  const model = scriptedModel({
    desk: [{ tool_calls: [{ name: "handoff_to_tax_office", args: {} }] }],
    "tax office": [{ tool_calls: [{ name: "look", args: {} }] }, "You pay nothing."],
  })
  const office = agent({
    name: "tax office",
    description: "Knows taxes.",
    model,
    instructions: "Taxes.",
    tools: [look],
  })
  const desk = agent({ name: "desk", model, instructions: "Desk.", handoffs: [office] })
  const { outputs, status } = await desk.run("What do I pay?")
  expect([status, outputs]).toEqual(["completed", ["You pay nothing."]])
  expect(shown(model, 1)).toEqual([
    "system: Taxes.",
    "user: What do I pay?",
    "assistant: handoff_to_tax_office{}",
    'tool: "Handed over to \\"tax office\\"."',
  ])
  expect(model.calls[1]?.options.tools?.map(({ name }) => name)).toEqual(["look"])
})

test("one tool for all hand-offs takes the agent's name, and an unknown name is reported to the model", async () => {
  const model = scriptedModel({
    desk: [
      { tool_calls: [{ name: "handoff", args: { agent: "nobody" } }] },
      {
        tool_calls: [
          { name: "handoff", args: { agent: "b" } },
          { name: "handoff", args: { agent: "a" } },
        ],
      },
    ],
    b: ["B here"],
  })
  const fellows = ["a", "b"].map((name) => agent({ name, model }))
  const { outputs } = await agent({ name: "desk", model, handoffs: fellows, handoffTools: "one" }).run("hi")
  expect(outputs).toEqual(["B here"])
  expect(shown(model, 1).at(-1)).toMatch(/must be one of \\"a\\", \\"b\\"/)
  // An agent without tools sees calls and results as text: some providers refuse them otherwise.
  expect(shown(model, 2).every((line) => !line.startsWith("tool:"))).toBe(true)
  expect(shown(model, 2).at(-1)).toMatch(/handed over to "b" already/)
})

test("the agent's approval rules apply to hand-offs too", async () => {
  const model = () =>
    scriptedModel({
      desk: [
        {
          tool_calls: [
            { name: "handoff_to_a", args: {} },
            { name: "handoff_to_b", args: {} },
          ],
        },
        { text: "I stay." },
      ],
      a: ["A here"],
      b: ["B here"],
    })
  const desk = (approval: ApprovalRules, used = model()) => {
    const handoffs = ["a", "b"].map((name) => agent({ name, model: used }))
    return agent({ name: "desk", model: used, handoffs, approval })
  }
  expect((await desk({ deny: ["handoff_to_a"] }).run("hi")).outputs).toEqual(["B here"])
  expect((await desk({ deny: ["handoff_*"] }).run("hi")).outputs).toEqual(["I stay."])
  const asked = desk({ ask: ["handoff_to_a"] }).run("hi")
  await asked.respond((await asked).requests[0]?.id ?? "", { approve: true })
  expect((await asked).outputs).toEqual(["A here"])
})

test("the first agent's output schema applies to the agent that answers", async () => {
  const model = scriptedModel({
    desk: [{ tool_calls: [{ name: "handoff_to_b", args: {} }] }],
    b: ["forty-two", { json: { n: 42 } }],
  })
  const b = agent({ name: "b", model })
  const { outputs } = await agent({
    name: "desk",
    model,
    handoffs: [b],
    output: z.object({ n: z.number() }),
  }).run("?")
  expect(outputs).toEqual([{ n: 42 }])
})

test("a sub-agent does its task in its own conversation and returns the answer", async () => {
  const model = scriptedModel({
    boss: [
      {
        tool_calls: [
          { name: "transfer_task", args: { agent: "clerk", task: "Count.", expected_output: "A number." } },
          {
            name: "transfer_task",
            args: { agent: "clerk", task: "Count again.", expected_output: "A number." },
          },
        ],
      },
      "Seven and eight.",
    ],
    clerk: [{ text: "7" }, { text: "8" }],
  })
  const clerk = agent({ name: "clerk", model, instructions: "Count." })
  const { outputs, usage } = await agent({ name: "boss", model, subAgents: [clerk] }).run("How many?")
  expect(outputs).toEqual(["Seven and eight."])
  expect(shown(model, 1)).toEqual(["system: Count.", "user: Count.\n\nExpected output: A number."])
  expect(shown(model, 3).at(-1)).toBe('tool: "7" | "8"')
  expect(usage).toMatchObject({ modelCalls: 4, toolCalls: 2 })
})

test("the failure of a sub-agent, or its own limit, is a result for its caller", async () => {
  const model = scriptedModel({
    boss: [
      {
        tool_calls: [
          { name: "clerk", args: { input: "go" } },
          { name: "lazy", args: { input: "go" } },
        ],
      },
      "Nobody could.",
    ],
    clerk: [{ error: { code: 400, message: "no such thing" } }],
    lazy: [{ tool_calls: [{ name: "look", args: {} }] }],
  })
  const clerk = agent({ name: "clerk", model })
  const lazy = agent({ name: "lazy", model, tools: [look], limits: { iterations: 1 } })
  const { outputs, status } = await agent({
    name: "boss",
    model,
    tools: [clerk.asTool(), lazy.asTool()],
  }).run("go")
  expect([status, outputs]).toEqual(["completed", ["Nobody could."]])
  expect(shown(model, 3).at(-1)).toMatch(/no such thing.*reached its limit of 1 iterations/)
})

test("an agent with an object as input is a tool with that object's parameters", () => {
  const clerk = agent({ name: "the clerk", model: scriptedModel([]), input: z.object({ file: z.string() }) })
  expect(clerk.asTool()).toMatchObject({
    name: "the_clerk",
    parameters: { properties: { file: { type: "string" } } },
  })
})

test("agents that delegate the same task to each other endlessly are stopped", async () => {
  const again = {
    tool_calls: [{ name: "transfer_task", args: { agent: "x", task: "t", expected_output: "" } }],
  }
  const model = scriptedModel([
    { ...again, repeat: 20 },
    { text: "enough", repeat: true },
  ])
  const x: Agent = agent({ name: "x", model, subAgents: () => [x], limits: { iterations: 40 } })
  const { outputs } = await x.run("go" as never)
  expect(outputs).toEqual(["enough"])
  const deepest = model.calls.filter(({ prompt }) => JSON.stringify(prompt).includes("levels deep"))
  expect(deepest.length).toBeGreaterThan(0)
})

test("agents hand over to each other and back", async () => {
  const model = scriptedModel({
    a: [{ tool_calls: [{ name: "handoff_to_b", args: {} }] }, "A again"],
    b: [{ tool_calls: [{ name: "handoff_to_a", args: {} }] }],
  })
  const b: Agent = agent({ name: "b", model, handoffs: () => [a] })
  const a: Agent<unknown, string> = agent({ name: "a", model, handoffs: [b] })
  expect((await a.run("hi")).outputs).toEqual(["A again"])
})

test("a workflow works as a tool, with its own questions and its own part of the journal", async () => {
  const double = workflow("double")
    .start(
      node("double", async ({ n }: { n: number }, ctx) => {
        const ok = await ctx.ask<boolean>(`Double ${n}?`)
        return ok ? n * 2 : n
      }),
    )
    .build()
  const model = scriptedModel([
    {
      tool_calls: [
        { name: "double", args: { n: 2 } },
        { name: "double", args: { n: 5 } },
      ],
    },
    "4 and 5",
  ])
  const doubling = workflowTool(double, { description: "Doubles.", input: z.object({ n: z.number() }) })
  const run = agent({ name: "x", model, tools: [doubling] }).run("go")
  const asked: string[] = []
  for (let { requests } = await run; requests.length > 0; { requests } = await run) {
    const last = requests.at(-1)
    asked.push(last?.prompt ?? "")
    await run.respond(last?.id ?? "", last?.prompt === "Double 2?")
  }
  expect(asked.toSorted()).toEqual(["Double 2?", "Double 5?"])
  expect((await run).outputs).toEqual(["4 and 5"])
  expect(shown(model, 1).at(-1)).toBe("tool: 4 | 5")
})

test("a fatal workflow tool fails with the error that was thrown inside it", async () => {
  class StockError extends Error {}
  const check = node("check", (_: { item: string }): number => {
    throw new StockError("none left")
  })
  const stock = workflowTool(workflow("stock").start(check).build(), {
    description: "Looks at the stock.",
    input: z.object({ item: z.string() }),
    fatal: true,
  })
  const model = scriptedModel([{ tool_calls: [{ name: "stock", args: { item: "tea" } }] }])
  const { status, error } = await agent({ name: "x", model, tools: [stock] }).run("Any tea?").result
  expect(status).toBe("failed")
  const chain: unknown[] = []
  for (let one: unknown = error; one instanceof Error; one = one.cause) chain.push(one)
  expect(chain.at(-1)).toBeInstanceOf(StockError)
})

test("agents that refer to each other need no type annotation", async () => {
  const model = scriptedModel({
    front: [{ tool_calls: [{ name: "handoff_to_back", args: {} }] }, "Here again."],
    back: [{ tool_calls: [{ name: "handoff_to_front", args: {} }] }],
  })
  const front = agent({ name: "front", model, handoffs: () => [back] })
  const back = agent({
    name: "back",
    model,
    handoffs: () => [front],
    subAgents: () => [front, back],
    output: z.object({ n: z.number() }),
  })
  expectTypeOf(front).toEqualTypeOf<Agent<unknown, string>>()
  expectTypeOf(back).toEqualTypeOf<Agent<unknown, { n: number }>>()
  expect((await front.run("hi")).outputs).toEqual(["Here again."])
})

test("a function that does not return agents is rejected when it is called", async () => {
  const x = agent({ name: "x", model: scriptedModel(["hi"]), handoffs: () => ["y"] })
  const { error } = await x.run("go").result
  expect(error).toMatchObject({
    code: "AGENT_INVALID",
    message: expect.stringMatching(/handoffs must be a list of agents/),
  })
})
