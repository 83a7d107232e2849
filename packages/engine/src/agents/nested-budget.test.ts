/** The budget of a workflow, a team or an agent is enforced wherever it is nested. */
import { describe, expect, test } from "vitest"
import { type Context, memoryStore, node, workflow } from "../index.ts"
import { groupChat, sequential } from "../patterns/index.ts"
import { agent, workflowTool } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

/** Calls its model five times, unless its budget is exhausted. */
function five(model: ReturnType<typeof pureModel>, budget: object = { modelCalls: 1 }) {
  const steps = Array.from({ length: 5 }, (_, i) => agent({ name: `step${i}`, model, stream: false }))
  return workflow("five", { budget })
    .chain(...(steps as [(typeof steps)[number]]))
    .build()
}

describe("a workflow with a budget of one model call makes one", () => {
  const cases = {
    "as a run": (flow: ReturnType<typeof five>) => flow,
    "as a node": (flow: ReturnType<typeof five>) => workflow("w").start(flow.asNode()).build(),
    "in ctx.call": (flow: ReturnType<typeof five>) =>
      workflow("w")
        .start(node("calls", (text: string, ctx: Context) => ctx.call(flow as never, text)))
        .build(),
    "as a member of a team": (flow: ReturnType<typeof five>) => sequential([flow as never]),
    "two levels down": (flow: ReturnType<typeof five>) =>
      workflow("w")
        .start(
          workflow("middle")
            .start(flow.asNode())
            .build()
            .asNode({ id: "middle" } as never),
        )
        .build(),
  }
  test.each(Object.entries(cases))("%s", async (_, nest) => {
    const model = pureModel(() => "hm")
    const flow = nest(five(model)) as ReturnType<typeof five>
    const result = await flow.run("go").result
    expect(model.calls).toHaveLength(1)
    expect(result.error?.code).toBe("BUDGET_EXCEEDED")
    expect(result.usage.modelCalls).toBe(1)
  })

  test("as a tool: its failure is a result, and the agent that called it continues", async () => {
    const inner = pureModel(() => "hm")
    const boss = pureModel((last, turn) =>
      turn === 0 ? { calls: [{ name: "five", args: { input: "go" } }] } : last,
    )
    const tools = [workflowTool(five(inner) as never, { name: "five", description: "Five." })]
    const { outputs, usage } = await agent({ name: "boss", model: boss, stream: false, tools }).run("go")
    expect(inner.calls).toHaveLength(1)
    expect(outputs[0]).toContain("Budget exceeded: modelCalls")
    expect(usage.modelCalls).toBe(3)
  })

  test("after a restart too, because the journal has the budget", async () => {
    const model = pureModel(() => "hm")
    const ask = node(
      "ask",
      async (text: string, ctx: Context) => `${text} ${await ctx.ask<string>("continue?")}`,
    )
    const x = agent({ name: "x", model, stream: false })
    const y = agent({ name: "y", model, stream: false })
    const z = agent({ name: "z", model, stream: false })
    const inner = workflow("inner", { budget: { modelCalls: 2 } })
      .chain(x, ask, y, z)
      .build()
    const flow = workflow("w").start(inner.asNode()).build()
    const store = memoryStore()
    await flow.run("go", { store, runId: "r" }).result
    const again = flow.resume("r", { store, takeOver: true })
    const [request] = (await again).requests
    await again.respond(request?.id ?? "", "yes")
    expect((await again.result).error?.code).toBe("BUDGET_EXCEEDED")
    expect(model.calls).toHaveLength(2)
  })
})

test("a team's budget is enforced inside a workflow, and its limit answer is its output", async () => {
  const model = pureModel((_, turn, name) => `${name} ${turn}`)
  const agents = ["a", "b"].map((name) => agent({ name, model, stream: false }))
  const team = groupChat({ agents, next: "round-robin", maxRounds: 10, budget: { modelCalls: 3 } } as never)
  const { outputs } = await workflow("w").start(team.asNode()).build().run("go")
  expect(model.calls).toHaveLength(3)
  expect(outputs).toHaveLength(1)
})

test("an agent's own budget is enforced as a tool and after a hand-off", async () => {
  const model = pureModel((last, turn, name) => {
    if (name === "boss") return turn === 0 ? { calls: [{ name: "clerk", args: { input: "go" } }] } : last
    return { calls: [{ name: "nothing" }] }
  })
  const clerk = agent({ name: "clerk", model, stream: false, budget: { modelCalls: 2 } })
  const { outputs } = await agent({ name: "boss", model, stream: false, tools: [clerk.asTool()] }).run("go")
  expect(model.calls).toHaveLength(4)
  expect(outputs[0]).toMatch(/limit of 2 model calls. Raise budget.modelCalls/)

  const handing = pureModel((_, turn, name) =>
    name === "desk" && turn === 0
      ? { calls: [{ name: "handoff_to_clerk" }] }
      : { calls: [{ name: "nothing" }] },
  )
  const target = agent({ name: "clerk", model: handing, stream: false, budget: { modelCalls: 2 } })
  const desk = agent({ name: "desk", model: handing, stream: false, handoffs: [target] })
  expect(await desk.run("go").result).toMatchObject({ status: "limit", error: { code: "AGENT_LIMIT" } })
  expect(handing.calls).toHaveLength(3)
})

test("a run whose budget is exhausted inside a sub-workflow ends at its limit, whichever branch reaches it", async () => {
  const model = pureModel(() => "hm")
  const clerks = Array.from({ length: 8 }, (_, i) => agent({ name: `clerk${i}`, model }))
  const all = node("all", (text: string, ctx: Context) =>
    Promise.all(clerks.map((clerk) => ctx.call(clerk, text as never))),
  )
  const run = workflow("w")
    .start(all)
    .build()
    .stream("go", { budget: { modelCalls: 3 } })
  for await (const _ of run);
  expect(await run.result).toMatchObject({ status: "limit", error: { code: "BUDGET_EXCEEDED" } })
  expect(model.calls).toHaveLength(3)
})

test("a misspelled part of a budget is rejected with the nearest name, before anything runs", async () => {
  const budget = { modelcalls: 1 } as object
  const model = pureModel(() => "hm")
  const meant = /modelcalls.*did you mean "modelCalls"\?/
  expect(() => agent({ name: "x", model, budget })).toThrow(meant)
  expect(() => agent({ name: "x", model, limits: budget })).toThrow(meant)
  expect(() =>
    workflow("w", { budget })
      .start(node("n", () => 1))
      .build(),
  ).toThrow(meant)
  expect(() =>
    workflow("w")
      .start(node({ id: "n", budget, run: () => 1 }))
      .build(),
  ).toThrow(meant)
  expect(() => sequential([agent({ name: "x", model })], { budget })).toThrow(meant)
  await expect(agent({ name: "x", model }).run("go", { budget })).rejects.toThrow(meant)
  expect(model.calls).toHaveLength(0)
})
