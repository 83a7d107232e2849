/** At a limit the conversations of all working agents are saved: sub-agents, and agents of other branches. */
import { describe, expect, test } from "vitest"
import { type Context, type LimitNotice, memoryStore, node, workflow } from "../index.ts"
import type { Message } from "../models/index.ts"
import { concurrent, groupChat, handoff, sequential } from "../patterns/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { tool } from "../tools/index.ts"
import { type Agent, type AgentOptions, agent, conversation, workflowTool } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

const poke = tool({ name: "poke", description: "Pokes.", run: () => "poked" })

/** Calls `poke` endlessly. An agent called `boss` calls the clerk instead; `desk` hands over to it. */
const restless = () =>
  pureModel((_, _turn, name) => {
    if (name === "boss") return { text: "Asking.", calls: [{ name: "clerk", args: { input: "go" } }] }
    if (name === "desk") return { text: "Not mine.", calls: [{ name: "handoff_to_clerk" }] }
    return { text: `${name} pokes.`, calls: [{ name: "poke" }] }
  })

const poking = (name: string, more: Partial<AgentOptions> = {}) =>
  agent({ name, model: restless(), stream: false, tools: [poke], ...more })

/** What the node of the limit route received. */
async function noticed(first: unknown, run: object): Promise<LimitNotice> {
  const late = node("late", (notice: LimitNotice) => notice as never)
  const { outputs } = await workflow("w")
    .start(first as never)
    .onLimit(late as never)
    .build()
    .run("go" as never, run)
  return outputs[0] as unknown as LimitNotice
}

const roles = (messages: readonly unknown[] = []) => (messages as Message[]).map(({ role }) => role)
const turn = ["user", "assistant", "tool"]

describe("the node of the limit route receives the conversation", () => {
  const budget = { modelCalls: 3 }
  const boss = (tools: AgentOptions["tools"], more: Partial<AgentOptions> = {}) =>
    agent({ name: "boss", model: restless(), stream: false, tools, ...more })
  const below: [string, Agent][] = [
    ["an agent as a tool", boss([poking("clerk").asTool()])],
    [
      "a workflow as a tool",
      boss([
        workflowTool(workflow("clerk").start(poking("clerk")).build() as never, { description: "Clerk." }),
      ]),
    ],
  ]
  test.each(below)("of %s, after that of the agent which called it", async (_, one) => {
    const { agent: name, messages, others } = await noticed(one, { budget })
    expect([name, roles(messages)]).toEqual(["boss", turn])
    expect(others).toMatchObject([{ agent: "clerk", answer: "clerk pokes." }])
    expect(roles(others?.[0]?.messages).slice(0, 3)).toEqual(turn)
  })

  test("of a sub-agent", async () => {
    const model = pureModel((_, _turn, name) =>
      name === "boss"
        ? { calls: [{ name: "transfer_task", args: { agent: "clerk", task: "go", expected_output: "" } }] }
        : { text: "clerk pokes.", calls: [{ name: "poke" }] },
    )
    const clerk = agent({ name: "clerk", model, stream: false, tools: [poke] })
    const one = agent({ name: "boss", model, stream: false, subAgents: [clerk] })
    const { others } = await noticed(one, { budget })
    expect(others).toMatchObject([{ agent: "clerk", answer: "clerk pokes." }])
  })

  const alone: [string, unknown][] = [
    ["an agent in ctx.call", node("calls", (text: string, ctx: Context) => ctx.call(poking("clerk"), text))],
    ["a workflow as a node", workflow("inner").start(poking("clerk")).build().asNode()],
    [
      "two workflows down",
      workflow("outer")
        .start(workflow("inner").start(poking("clerk")).build().asNode())
        .build()
        .asNode(),
    ],
    ["a member of a team", sequential([poking("clerk")]).asNode()],
  ]
  test.each(alone)("of %s", async (_, first) => {
    const { code, agent: name, messages, answer } = await noticed(first, { budget })
    expect([code, name, answer]).toEqual(["BUDGET_EXCEEDED", "clerk", "clerk pokes."])
    expect(roles(messages).slice(0, 3)).toEqual(turn)
  })

  test("when the time of the run is up, from every depth", async () => {
    const clock = manualClock()
    const slow = tool({
      name: "poke",
      description: "Never.",
      run: () => new Promise<string>(() => undefined),
    })
    const clerk = agent({ name: "clerk", model: restless(), stream: false, tools: [poke, slow].slice(1) })
    const first = workflow("inner")
      .start(boss([clerk.asTool()]))
      .build()
      .asNode()
    const notice = noticed(first, { timeout: 1_000, clock })
    for (let i = 0; i < 10; i++) await settled()
    await clock.advance(1_000)
    expect(await notice).toMatchObject({
      code: "RUN_TIMEOUT",
      limit: "timeout",
      agent: "boss",
      messages: [{ role: "user" }, { role: "assistant" }, { role: "tool" }],
      others: [{ agent: "clerk", messages: [{ role: "user" }, { role: "assistant" }, { role: "tool" }] }],
    })
  })

  test("not of a sub-agent that has finished", async () => {
    const model = pureModel((_, _turn, name) =>
      name === "boss" ? { text: "Asking.", calls: [{ name: "clerk", args: { input: "go" } }] } : "Done.",
    )
    const clerk = agent({ name: "clerk", model, stream: false })
    const notice = await noticed(agent({ name: "boss", model, stream: false, tools: [clerk.asTool()] }), {
      budget: { modelCalls: 2 },
    })
    expect(notice.agent).toBe("boss")
    expect(notice.others).toBeUndefined()
  })
})

test("a conversation that is too large to store is left out, and only that one", async () => {
  const long = tool({ name: "poke", description: "Pokes.", run: () => "poked ".repeat(300) })
  const clerk = agent({ name: "clerk", model: restless(), stream: false, tools: [long] })
  const boss = agent({ name: "boss", model: restless(), stream: false, tools: [clerk.asTool()] })
  const notice = await noticed(boss, { budget: { modelCalls: 5 }, limits: { valueBytes: 4_000 } })
  expect(notice.agent).toBe("boss")
  expect(notice.others).toBeUndefined()
})

test("an agent sees the last text of a sub-agent that reached its own limit", async () => {
  const model = pureModel((last, at, name) => {
    if (name !== "boss") return { text: "I found three.", calls: [{ name: "poke" }] }
    return at === 0 ? { calls: [{ name: "clerk", args: { input: "go" } }] } : last
  })
  const ask = async (guardrails: AgentOptions["guardrails"]) => {
    const limits = { modelCalls: 2 }
    const clerk = agent({ name: "clerk", model, stream: false, tools: [poke], limits, guardrails })
    return (await agent({ name: "boss", model, stream: false, tools: [clerk.asTool()] }).run("go")).outputs[0]
  }
  expect(await ask([])).toMatch(/limit of 2 model calls.*Its last text: I found three\./)
  // Text that guardrails have not checked is not passed on.
  expect(await ask([{ name: "g", on: "output", check: () => "no" }])).not.toContain("three")
})

test("a limit after a hand-off saves the conversation in the thread of the first agent", async () => {
  const model = restless()
  const clerk = agent({ name: "clerk", model, stream: false, tools: [poke] })
  const desk = agent({
    name: "desk",
    model,
    stream: false,
    handoffs: [clerk],
    messages: conversation(),
    continueWith: "last",
  })
  const store = memoryStore()
  const { status } = await desk.run("go", { store, thread: "t", budget: { modelCalls: 2 } }).result
  expect(status).toBe("limit")
  const next = await desk.run("and?", { store, thread: "t", budget: { modelCalls: 1 } }).result
  expect(roles(next.state.messages as Message[])).toEqual([
    ...["user", "assistant", "tool", "assistant", "tool"],
    ...["user", "assistant", "tool"],
  ])
  expect(next.agents?.[0]?.lastAgent).toBe("clerk")
})

type Member = ReturnType<typeof poking>

describe("a team saves what its members did in a turn that a limit ended", () => {
  const teams: [string, (members: Member[]) => unknown, number][] = [
    ["sequential", (members) => sequential(members), 1],
    ["concurrent", (members) => concurrent(members), 2],
    ["handoff", (agents) => handoff({ agents }), 1],
    ["groupChat", (agents) => groupChat({ agents }), 1],
  ]
  test.each(teams)("%s", async (_, team, many) => {
    const members = [poking("a"), poking("b")]
    const { status, state } = await (team(members) as Agent<string>).run("go", { budget: { modelCalls: 3 } })
      .result
    expect(status).toBe("limit")
    const { unfinished } = state as unknown as { unfinished: { agent: string; messages: Message[] }[] }
    expect(unfinished.map((one) => one.agent).sort()).toEqual(["a", "b"].slice(0, many))
    for (const one of unfinished) expect(roles(one.messages).slice(0, 3)).toEqual(turn)
  })
})

/**
 * Two agents at the same time: `calm` has looked around, and its last call does not end.  `eager` makes its fourth model
 * call, the last one of its limit, when `gate` opens.
 */
function branches(schedule: "superstep" | "flow", gate: Promise<unknown> | undefined, looks = 1) {
  const chat = conversation("chat")
  let arrived: () => void = () => undefined
  const waits = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const model = pureModel((_, at) => ({
    text: `calm ${at}.`,
    calls: at < looks ? [{ name: "look" }] : [{ name: "look" }, { name: "wait" }],
  }))
  const calm = agent({
    name: "calm",
    model,
    stream: false,
    tools: [
      tool({ name: "look", description: "Looks.", run: () => "seen" }),
      tool({
        name: "wait",
        description: "Waits.",
        run: () => {
          arrived()
          return new Promise<string>(() => undefined)
        },
      }),
    ],
    messages: chat,
    limits: { iterations: 100 },
  })
  const eager = agent({
    name: "eager",
    model: pureModel((_, at) => ({ text: "eager.", calls: [{ name: at < 2 ? "poke" : "pass" }] })),
    stream: false,
    tools: [
      poke,
      tool({
        name: "pass",
        description: "Passes the gate.",
        run: () => (gate ?? waits).then(() => "passed"),
      }),
    ],
    limits: { modelCalls: 4 },
  })
  const begin = node("begin", (text: string) => text)
  const late = node("late", (notice: LimitNotice) => notice as never)
  const flow = workflow("w", { schedule, state: [chat] })
    .start(begin)
    .fanOut(begin, [calm, eager] as never)
    .onLimit(late as never)
    .build()
  return { flow, waits }
}

describe("another branch reaches the limit while an agent is in the middle of its turn", () => {
  const check = ({ outputs, state }: { outputs: readonly unknown[]; state: object }, looks: number) => {
    const notice = outputs[0] as LimitNotice
    expect([notice.limit, notice.agent]).toEqual(["limits.modelCalls", "eager"])
    expect(notice.others).toMatchObject([{ agent: "calm", answer: `calm ${looks}.` }])
    const { chat } = state as { chat: Message[] }
    expect(roles(chat)).toHaveLength(2 * looks + 3)
    const results = (chat.at(-1) as Extract<Message, { role: "tool" }>).content
    expect(results).toMatchObject([{ output: { value: "seen" } }, { output: { type: "error-text" } }])
    expect(notice.others?.[0]?.messages).toEqual(chat)
  }

  test.each(["superstep", "flow"] as const)("its conversation is saved too: %s", async (schedule) => {
    check(await branches(schedule, undefined).flow.run("go" as never), 1)
  })

  test.each(["superstep", "flow"] as const)("even right after a crash: %s", async (schedule) => {
    const store = memoryStore()
    const looks = 20
    const first = branches(schedule, new Promise(() => undefined), looks)
    first.flow.run("go" as never, { store, runId: "r" })
    await first.waits
    const again = branches(schedule, Promise.resolve(), looks)
    check(await again.flow.resume("r", { store, takeOver: true }), looks)
  })
})

test("a crash between the end of a sub-workflow at a limit and that of its caller loses nothing", async () => {
  const store = memoryStore()
  const flow = () =>
    workflow("w")
      .start(workflow("inner").start(poking("clerk")).build().asNode())
      .onLimit(node("late", (notice: LimitNotice) => notice as never))
      .build()
  // The write of the caller's failure never completes.
  const died = new Promise<void>((resolve) => {
    const dying: typeof store = Object.create(store, {
      append: {
        value: (...[lease, seq, records, change]: Parameters<typeof store.append>) => {
          const isLast = records.some(({ frame, entry }) => frame === "" && entry.type === "task.failed")
          if (!isLast) return store.append(lease, seq, records, change)
          resolve()
          return new Promise<never>(() => undefined)
        },
      },
    })
    flow().run("go", { store: dying, runId: "r", budget: { tokens: 120 } })
  })
  await died
  const { outputs } = await flow().resume("r", { store, takeOver: true })
  expect(outputs[0]).toMatchObject({ agent: "clerk", answer: "clerk pokes.", limit: "budget.tokens" })
})
