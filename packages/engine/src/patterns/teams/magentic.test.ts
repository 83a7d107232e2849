import { describe, expect, test } from "vitest"
import { z } from "zod"
import { agent } from "../../agents/index.ts"
import { shown } from "../../agents/stand-ins.test-support.ts"
import type { ScriptEntry } from "../../models/index.ts"
import { tool } from "../../tools/index.ts"
import { type MagenticOptions, magentic } from "./index.ts"
import { cast, ledger, teamEvents } from "./team-play.test-support.ts"

const stuck = { ...ledger("a", { progress: false }), repeat: true as const }

function team(manager: readonly ScriptEntry[], options: Partial<MagenticOptions> = {}) {
  const people = cast({ manager, a: [{ text: "A", repeat: true }], b: [{ text: "B", repeat: true }] }, [
    "manager",
    "a",
    "b",
  ])
  const workflow = magentic({ manager: people.manager, agents: [people.a, people.b], ...options })
  const asked = () => people.model.calls.map(({ agent: name }) => name)
  return { ...people, workflow, asked }
}

describe("the manager", () => {
  test("writes facts and a plan, gives turns by the progress ledger, and answers", async () => {
    const { model, workflow, asked } = team([
      "F",
      "P",
      ledger("b"),
      ledger("a"),
      ledger("a", { done: true }),
      "42",
    ])
    const run = workflow.stream("How much?")
    const events = teamEvents(run)
    const { outputs, state } = await run
    expect(outputs).toEqual(["42"])
    expect(asked()).toEqual(["manager", "manager", "manager", "b", "manager", "a", "manager", "manager"])
    expect(shown(model, 1).at(-1)).toContain("What is known:\nF")
    expect(shown(model, 1).at(-1)).toContain("- a: the a\n- b: the b")
    expect(shown(model, 2)[1]).toBe(
      "user: ledger: The team:\n- a: the a\n- b: the b\n\nWhat is known:\nF\n\nThe plan:\nP",
    )
    // A member sees the request, the messages of others, and its instruction.
    expect(shown(model, 5)).toEqual([
      "user: How much?",
      "user: manager: b, go",
      "user: b: B",
      "user: manager: a, go",
    ])
    expect(state.ledger).toEqual({ facts: "F", plan: "P" })
    expect(state.team).toMatchObject({ round: 3, stalls: 0, resets: 0, ended: "answered" })
    expect(await events).toEqual([
      "plan manager 0",
      "progress manager 1",
      "message manager 1",
      "turn b 1",
      "message b 1",
      "progress manager 2",
      "message manager 2",
      "turn a 2",
      "message a 2",
      "progress manager 3",
      "message manager 3",
      "ended answered 3",
    ])
  })

  test("may omit the reasons", async () => {
    const plain = {
      is_request_satisfied: true,
      is_in_loop: false,
      is_progress_being_made: true,
      next_speaker: "a",
      instruction_or_question: "",
    }
    const { workflow } = team(["F", "P", { json: plain }, "42"])
    expect((await workflow.run("How much?")).outputs).toEqual(["42"])
  })

  test("need not name a speaker when the request is satisfied", async () => {
    const { is_request_satisfied, is_in_loop, is_progress_being_made } = ledger("a", { done: true }).json
    const done = { is_request_satisfied, is_in_loop, is_progress_being_made }
    for (const more of [
      {},
      { next_speaker: null },
      { next_speaker: "nobody", instruction_or_question: "" },
    ]) {
      const { workflow, asked } = team(["F", "P", { json: { ...done, ...more } }, "42"])
      expect((await workflow.run("How much?")).outputs).toEqual(["42"])
      expect(asked()).toHaveLength(4)
    }
  })

  test("must return a valid ledger, with the names of the members", async () => {
    const { model, workflow } = team(["F", "P", ledger("a", { done: true }), "42"])
    await workflow.run("How much?")
    expect(model.calls.map(({ options }) => options.responseFormat?.type)).toEqual([
      undefined,
      undefined,
      "json",
      undefined,
    ])
    const found = { required: ["reason", "answer"] }
    expect(model.calls[2]?.options.responseFormat).toMatchObject({
      schema: {
        properties: {
          is_request_satisfied: found,
          is_in_loop: found,
          is_progress_being_made: found,
          next_speaker: { properties: { answer: { enum: ["a", "b"] } } },
          instruction_or_question: found,
        },
      },
    })
  })
})

describe("stalls", () => {
  test("increase on no progress or a loop, decrease otherwise, and are never negative", async () => {
    const { workflow } = team([
      "F",
      "P",
      ledger("a"),
      ledger("a", { progress: false }),
      ledger("a", { loop: true }),
      ledger("a"),
      ledger("a", { done: true }),
      "ok",
    ])
    const stalls: number[] = []
    for await (const event of workflow.stream("Go")) {
      if (event.type !== "state.written" || event.key !== "team") continue
      stalls.push((event.value as { stalls: number }).stalls)
    }
    // When the plan is made, in five rounds, and with the answer.
    expect(stalls).toEqual([0, 0, 1, 2, 1, 1, 1])
  })

  test("above the maximum: new facts, a new plan, and the conversation starts over", async () => {
    const four = [stuck.json, stuck.json, stuck.json, stuck.json].map((json) => ({ json }))
    const { model, workflow } = team([
      "F",
      "P",
      ...four,
      "F2",
      "P2",
      ledger("b"),
      ledger("b", { done: true }),
      "ok",
    ])
    const { outputs, state } = await workflow.run("Go")
    expect(outputs).toEqual(["ok"])
    expect(state.team).toMatchObject({ resets: 1, stalls: 0, round: 6 })
    expect(state.ledger).toEqual({ facts: "F2", plan: "P2" })
    // Three stalls are tolerated: three turns of a, and the fourth starts over.
    expect(model.calls.filter(({ agent: name }) => name === "a")).toHaveLength(3)
    const facts = model.calls.findIndex(({ prompt }) => JSON.stringify(prompt).includes("starts over"))
    expect(shown(model, facts).at(-1)).toContain("The list so far:\nF")
    expect(shown(model, facts).join("\n")).toContain("a: A")
    expect(shown(model, facts + 1).at(-1)).toContain("The plan before:\nP\n\nIt got stuck.")
    const b = model.calls.findIndex(({ agent: name }) => name === "b")
    expect(shown(model, b)).toEqual(["user: Go", "user: manager: b, go"])
  })

  test("end with an answer if there are no resets left", async () => {
    const { model, workflow } = team(
      ["F", "P", { ...stuck, repeat: 1 }, "F2", "P2", { ...stuck, repeat: 1 }, "sorry"],
      {
        maxStalls: 0,
        maxResets: 1,
      },
    )
    const { outputs, state } = await workflow.run("Go")
    expect(outputs).toEqual(["sorry"])
    expect(state.team).toMatchObject({ ended: "resets", resets: 1 })
    expect(shown(model, model.calls.length - 1).at(-1)).toContain("used up its resets")
  })

  test("count an unreadable ledger, after it was requested again", async () => {
    const bad = [{ text: "let me see", repeat: 3 }]
    const { workflow, asked } = team(["F", "P", ...bad, ledger("a", { done: true }), "ok"], { maxStalls: 1 })
    const { outputs, state } = await workflow.run("Go")
    expect(outputs).toEqual(["ok"])
    expect(asked()).toHaveLength(7)
    expect(state.team).toMatchObject({ stalls: 1, round: 2, ended: "answered" })
    const unknown = team(["F", "P", { ...ledger("nobody"), repeat: 3 }, "sorry"], {
      maxStalls: 0,
      maxResets: 0,
    })
    expect((await unknown.workflow.run("Go")).state.team).toMatchObject({ ended: "resets" })
  })
})

test("there is an answer even after the maximum number of rounds", async () => {
  const { workflow } = team(["F", "P", ledger("a"), ledger("b"), "so far"], { maxRounds: 2 })
  const { outputs, state } = await workflow.run("Go")
  expect(outputs).toEqual(["so far"])
  expect(state.team).toMatchObject({ ended: "rounds", round: 2 })
})

test("an exhausted budget ends it with the last message", async () => {
  const { workflow } = team(["F", "P", ledger("b"), ledger("a")], { budget: { modelCalls: 4 } })
  const { outputs, state } = await workflow.run("Go")
  expect(outputs).toEqual(["B"])
  expect(state.team).toMatchObject({ ended: "limit", round: 1 })
  // The manager's instruction to a member is not an answer.
  const early = team(["F", "P", ledger("b")], { budget: { modelCalls: 3 } })
  const result = await early.workflow.run("Go").result
  expect(result).toMatchObject({ status: "limit", outputs: [], error: { code: "BUDGET_EXCEEDED" } })
})

test("an approved tool of a member runs in the middle of the team", async () => {
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: z.object({}),
    approval: "always",
    run: () => "paid",
  })
  const { model, manager } = cast(
    {
      manager: ["F", "P", ledger("payer"), ledger("payer", { done: true }), "ok"],
      payer: [{ tool_calls: [{ name: "pay" }] }, "It is paid."],
    },
    ["manager"],
  )
  const payer = agent({ name: "payer", model, tools: [pay], stream: false })
  const run = magentic({ manager, agents: [payer] }).run("Pay.")
  const [request] = (await run).requests
  expect(request).toMatchObject({ node: "payer" })
  await run.respond(request?.id ?? "", { approve: true })
  const { outputs, state } = await run.result
  expect(outputs).toEqual(["ok"])
  expect(state.said).toContainEqual({ speaker: "payer", text: "It is paid." })
})

test("rejects a team without members, or whose manager is not an agent or is one of the members", () => {
  const { a, manager } = cast({ "*": [] }, ["a", "manager"])
  expect(() => magentic({ manager, agents: [] })).toThrow('Team "magentic": it needs at least one agent.')
  expect(() => magentic({ manager: undefined as never, agents: [a] })).toThrow(
    "its manager must be an agent.",
  )
  expect(() => magentic({ manager: a, agents: [a] })).toThrow(
    'its manager "a" is also one of its agents; remove it there, or rename it.',
  )
  expect(() => magentic({ manager, agents: [a], maxStalls: -1 })).toThrow(
    "maxStalls must be a whole number of at least 0, not -1",
  )
  expect(() => magentic({ manager, agents: [a], maxResets: Number.NaN })).toThrow("maxResets")
})

describe("plan review", () => {
  test("a person rejects a plan with reasons, then changes the next one and accepts it", async () => {
    const { model, workflow } = team(["F", "P1", "P2", ledger("a", { done: true }), "ok"], {
      planReview: { to: "boss" },
    })
    const run = workflow.run("Go")
    const [first] = (await run).requests
    expect(first).toMatchObject({ to: "boss", data: { facts: "F", plan: "P1" } })
    await expect(run.respond(first?.id ?? "", "yes")).rejects.toThrow()
    await run.respond(first?.id ?? "", { approve: false, feedback: "Too dear." })
    const [second] = (await run).requests
    expect(second).toMatchObject({ data: { plan: "P2" } })
    expect(shown(model, 2).at(-1)).toContain("The plan before:\nP1\n\nA person did not accept it: Too dear.")
    await run.respond(second?.id ?? "", { approve: true, plan: "P3" })
    const { outputs, state } = await run.result
    expect(outputs).toEqual(["ok"])
    expect(state.ledger).toEqual({ facts: "F", plan: "P3" })
  })

  test("a plan that a person writes without accepting the manager's is passed to the manager", async () => {
    const { model, workflow } = team(["F", "P1", "P2", ledger("a", { done: true }), "ok"], {
      planReview: true,
    })
    const run = workflow.run("Go")
    await run.respond((await run).requests[0]?.id ?? "", { approve: false, plan: "Mine" })
    expect((await run).requests).toHaveLength(1)
    expect(shown(model, 2).at(-1)).toContain("A plan that is nearer to what is wanted:\nMine")
  })

  test("is requested again after a reset", async () => {
    const { workflow } = team(
      ["F", "P1", ledger("a", { progress: false }), "F2", "P2", ledger("a", { done: true }), "ok"],
      { planReview: true, maxStalls: 0 },
    )
    const run = workflow.run("Go")
    await run.respond((await run).requests[0]?.id ?? "", { approve: true })
    const [second] = (await run).requests
    expect(second).toMatchObject({ data: { facts: "F2", plan: "P2" } })
    await run.respond(second?.id ?? "", { approve: true })
    expect((await run.result).outputs).toEqual(["ok"])
  })
})
