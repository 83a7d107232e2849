import { describe, expect, test } from "vitest"
import { z } from "zod"
import { agent } from "../../agents/index.ts"
import { pureModel, shown } from "../../agents/stand-ins.test-support.ts"
import { memoryStore } from "../../stores/index.ts"
import { manualClock } from "../../testing/index.ts"
import { crashTest } from "../../testing/simulation/crash-test.test-support.ts"
import { tool } from "../../tools/index.ts"
import { handoff } from "./index.ts"
import { cast, teamEvents } from "./team-play.test-support.ts"

const to = (name: string, text?: string) => ({
  ...(text === undefined ? {} : { text }),
  tool_calls: [{ name: `handoff_to_${name}` }],
})

describe("hand-offs", () => {
  test("use tools named after the others; each agent's turn is a separate task", async () => {
    const { model, triage, refunds, sales } = cast(
      { triage: [to("refunds", "Refunds will help.")], refunds: ["Paid back."] },
      ["triage", "refunds", "sales"],
    )
    const team = handoff({
      agents: [triage, refunds, sales],
      terminate: (said) => said.at(-1)?.speaker === "refunds",
    })
    const run = team.stream("Money back!")
    const events = teamEvents(run)
    const { outputs, state } = await run
    expect(outputs).toEqual(["Paid back."])
    expect(model.calls[0]?.options.tools?.map(({ name }) => name)).toEqual([
      "handoff_to_refunds",
      "handoff_to_sales",
    ])
    expect(shown(model, 1)).toEqual(["user: Money back!", "user: triage: Refunds will help."])
    expect(state.team).toMatchObject({ round: 2, speaker: "refunds", ended: "terminated" })
    expect(await events).toEqual([
      "turn triage 1",
      "message triage 1",
      "handoff triage refunds 1",
      "turn refunds 2",
      "message refunds 2",
      "ended terminated 2",
    ])
  })

  test("the message of a member that hands over passes its guardrails first", async () => {
    const model = pureModel((_, _turn, name) =>
      name === "triage"
        ? { text: "The code is 1234.", calls: [{ name: "handoff_to_refunds" }] }
        : "Paid back.",
    )
    const triage = (onTrip: "fail" | { answer: string }) =>
      agent({
        name: "triage",
        model,
        stream: false,
        guardrails: [
          {
            name: "codes",
            on: "output",
            check: ({ text }) => (/\d/.test(text) ? "a code" : undefined),
            onTrip,
          },
        ],
      })
    const refunds = agent({ name: "refunds", model, stream: false })
    const terminate = () => true
    const failing = await handoff({ agents: [triage("fail"), refunds], terminate }).run("Money!").result
    expect([failing.error?.code, failing.state.said]).toEqual(["GUARDRAIL_TRIPPED", []])
    const answering = handoff({ agents: [triage({ answer: "No codes." }), refunds], terminate })
    expect((await answering.run("Money!")).outputs).toEqual(["No codes."])
  })

  test("start at the configured agent and follow the defined routes", async () => {
    const { model, a, b, c } = cast({ b: [to("c")], c: ["done"] }, ["a", "b", "c"])
    const team = handoff({
      agents: [a, b, c],
      start: b,
      routes: { b: ["c"] },
      terminate: (said) => said.length > 1,
    })
    expect((await team.run("Go")).outputs).toEqual(["done"])
    expect(model.calls[0]?.options.tools?.map(({ name }) => name)).toEqual(["handoff_to_c"])
    expect(model.calls[1]?.options.tools ?? []).toEqual([])
    expect(() => handoff({ agents: [a], start: "x" })).toThrow('has no member "x"; it has "a"')
    expect(() => handoff({ agents: [a], routes: { a: ["y"] } })).toThrow('has no member "y"')
    expect(() => handoff({ agents: [a], routes: { y: ["a"] } })).toThrow('has no member "y"')
    const { é: one, è: two } = cast({ "*": [] }, ["é", "è"])
    expect(() => handoff({ agents: [a, one, two] })).toThrow(
      '"é" and "è" would share the hand-off tool handoff_to__; rename one of them.',
    )
  })

  test("an agent keeps its tools, and those that need approval ask a person", async () => {
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: z.object({}),
      approval: "always",
      run: () => "paid",
    })
    const { model, b } = cast({ a: [{ tool_calls: [{ name: "pay" }] }, to("b", "Paid.")], b: ["bye"] }, ["b"])
    const a = agent({ name: "a", model, tools: [pay], stream: false })
    const run = handoff({ agents: [a, b], terminate: (said) => said.at(-1)?.speaker === "b" }).run("Go")
    const [request] = (await run).requests
    expect(request).toMatchObject({ node: "a" })
    await run.respond(request?.id ?? "", { approve: true })
    expect((await run.result).outputs).toEqual(["bye"])
  })
})

describe("an agent that answers without a hand-off", () => {
  test("asks the user, who continues it, or ends it with an empty answer", async () => {
    const { model, a } = cast({ a: ["Which one?", "That one it is."] }, ["a"])
    const run = handoff({ agents: [a], to: "customer" }).run("I want one.")
    const [first] = (await run).requests
    expect(first).toMatchObject({ prompt: "Which one?", data: { speaker: "a" }, to: "customer" })
    await run.respond(first?.id ?? "", "The red one.")
    const [second] = (await run).requests
    expect(shown(model, 1)).toEqual(["user: I want one.", "assistant: Which one?", "user: The red one."])
    await run.respond(second?.id ?? "", "")
    const { outputs, state } = await run.result
    expect(outputs).toEqual(["That one it is."])
    expect(state.team).toMatchObject({ ended: "user" })
  })

  test("treats no answer as an empty one, and data as its JSON", async () => {
    const { model, a } = cast({ a: ["Which one?", "That one it is."] }, ["a"])
    const run = handoff({ agents: [a] }).run("I want one.")
    await run.respond((await run).requests[0]?.id ?? "", { colour: "red" })
    expect((await run).requests).toHaveLength(1)
    expect(shown(model, 1).at(-1)).toBe('user: {"colour":"red"}')
    await run.respond((await run).requests[0]?.id ?? "", null)
    expect((await run.result).state.team).toMatchObject({ ended: "user" })
  })

  test("continues by itself for its number of turns; then the user is asked", async () => {
    const { model, a } = cast({ a: ["1", "2", "3", "4", "5", "6"] }, ["a"])
    const run = handoff({ agents: [a], autonomous: { turns: 2 } }).run("Go")
    const [request] = (await run).requests
    expect(model.calls).toHaveLength(3)
    expect(shown(model, 1).at(-1)).toContain("Continue by yourself")
    expect(shown(model, 2)).toHaveLength(4)
    await run.respond(request?.id ?? "", "more")
    expect((await run).requests).toHaveLength(1)
    expect(model.calls).toHaveLength(6)
  })

  test("is ended by the user's message, and by the maximum number of rounds", async () => {
    const { a } = cast({ a: [{ text: "Anything else?", repeat: true }] }, ["a"])
    const polite = handoff({ agents: [a], terminate: (said) => said.at(-1)?.text === "no" }).run("Go")
    await polite.respond((await polite).requests[0]?.id ?? "", "no")
    expect((await polite.result).state.team).toMatchObject({ ended: "terminated" })
    const long = handoff({ agents: [a], autonomous: {}, maxRounds: 4 })
    const { outputs, state } = await long.run("Go")
    expect(outputs).toEqual(["Anything else?"])
    expect(state.team).toMatchObject({ ended: "rounds", round: 4 })
  })

  test("an exhausted budget ends it with the last message; without messages, at the limit", async () => {
    const { a } = cast({ a: [{ text: "so far", repeat: true }] }, ["a"])
    const { outputs, state } = await handoff({ agents: [a], autonomous: {}, budget: { modelCalls: 3 } }).run(
      "Go",
    )
    expect(outputs).toEqual(["so far"])
    expect(state.team).toMatchObject({ ended: "limit", round: 3 })
    const none = handoff({ agents: [a], budget: { modelCalls: 0 } })
    expect(await none.run("Go").result).toMatchObject({ status: "limit", error: { code: "BUDGET_EXCEEDED" } })
  })
})

test("the team's time limit includes waits for the user; when it ends, the last message is the answer", async () => {
  const { a } = cast({ a: ["Which one?"] }, ["a"])
  const clock = manualClock()
  const run = handoff({ agents: [a], timeout: 60_000 }).run("I want one.", { clock })
  expect((await run).requests).toHaveLength(1)
  await clock.advance(60_000)
  const { status, outputs, state } = await run.result
  expect({ status, outputs }).toEqual({ status: "completed", outputs: ["Which one?"] })
  expect(state.team).toMatchObject({ ended: "limit", round: 1 })
})

test("the conversation has the same result wherever processes crash, and no reply is paid for twice", async () => {
  const model = pureModel((last, turn, name) => {
    if (name === "triage") return { text: "over to you", calls: [{ name: "handoff_to_desk" }] }
    if (turn === 0) return "which?"
    return last.includes("red") ? { text: "back", calls: [{ name: "handoff_to_triage" }] } : "done"
  })
  const member = (name: string) => agent({ name, model, stream: false })
  const team = handoff({
    agents: [member("triage"), member("desk")],
    terminate: (said) => said.filter(({ speaker }) => speaker === "triage").length === 2,
  })
  const { outcome, crashes, writes } = await crashTest(team, "hello", {
    answers: () => "the red one",
  })
  expect(outcome).toMatchObject({ status: "completed", outputs: ["over to you"], usage: { modelCalls: 4 } })
  expect(crashes).toBeGreaterThanOrEqual(writes)
})

test("a conversation that waits for the user continues in another process", async () => {
  const store = memoryStore()
  const { model, a } = cast({ a: ["Which?", "Fine."] }, ["a"])
  const team = handoff({ agents: [a] })
  await team.run("Go", { store, runId: "r" })
  const run = team.resume("r", { store, takeOver: true })
  await run.respond((await run).requests[0]?.id ?? "", "This")
  await run.respond((await run).requests[0]?.id ?? "", "")
  expect((await run.result).outputs).toEqual(["Fine."])
  expect(model.calls).toHaveLength(2)
})

test("a conversation with only hand-offs, or that the user ends unanswered, fails with a reason", async () => {
  const { a, b } = cast({ a: [to("b"), to("b")], b: [to("a"), to("a")] }, ["a", "b"])
  const { status, error } = await handoff({ agents: [a, b], maxRounds: 3 }).run("Go").result
  expect(status).toBe("failed")
  expect(error).toMatchObject({
    code: "TEAM_NO_ANSWER",
    message:
      'Team "handoff" ended after 3 turns without an answer: it ran out of rounds, and no member wrote anything.',
  })
  const { mute } = cast({ mute: [""] }, ["mute"])
  const run = handoff({ agents: [mute], name: "desk" }).run("Go")
  const [request] = (await run).requests
  await run.respond(request?.id ?? "", "")
  expect((await run.result).error?.message).toContain("the user ended the conversation")
})
