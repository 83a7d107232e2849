import { describe, expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { pureModel, shown } from "../../agents/stand-ins.test-support.ts"
import { crashTest } from "../../testing/simulation/crash-test.test-support.ts"
import { groupChat, person } from "./index.ts"
import { cast, teamEvents } from "./team-play.test-support.ts"

const say = (text: string) => ({ text, repeat: true }) as const

describe("the next speaker", () => {
  test("rotates by default, up to the maximum number of rounds", async () => {
    const { a, b } = cast({ a: [say("A")], b: [say("B")] }, ["a", "b"])
    const { outputs, state } = await groupChat({ agents: [a, b], maxRounds: 3 }).run("Go")
    expect(outputs).toEqual(["A"])
    expect((state.said as { speaker: string }[]).map(({ speaker }) => speaker)).toEqual(["a", "b", "a"])
    expect(state.team).toEqual({ round: 3, speaker: "a", ended: "rounds" })
  })

  test("is the one the function returns; undefined ends the chat; an unknown name fails it", async () => {
    const { model, a, b } = cast({ a: [say("A")], b: [say("B")] }, ["a", "b"])
    const asked: unknown[] = []
    const team = groupChat({
      agents: [a, b],
      select: ({ messages, round, members, last }) => {
        asked.push([messages.length, round, members, last])
        return round < 2 ? "b" : undefined
      },
    })
    expect((await team.run("Go")).outputs).toEqual(["B"])
    expect(asked).toEqual([
      [1, 0, ["a", "b"], undefined],
      [2, 1, ["a", "b"], "b"],
      [3, 2, ["a", "b"], "b"],
    ])
    expect(shown(model, 1)).toEqual(["user: Go", "assistant: B", "user: Continue."])
    const { error } = await groupChat({ agents: [a, b], select: () => "c" }).run("Go").result
    expect(error?.message).toContain('has no member "c"; it has "a", "b"')
  })

  test("is nobody when termination is true", async () => {
    const { a, b } = cast({ a: [say("not yet")], b: [say("APPROVED")] }, ["a", "b"])
    const team = groupChat({ agents: [a, b], terminate: (said) => said.at(-1)?.text === "APPROVED" })
    const run = team.stream("Go")
    const events = teamEvents(run)
    expect((await run).outputs).toEqual(["APPROVED"])
    expect(await events).toEqual(["turn a 1", "message a 1", "turn b 2", "message b 2", "ended terminated 2"])
  })
})

describe("a manager", () => {
  const choose = (next: string | null, more: object = {}) => ({
    json: { is_finished: next === null, next_speaker: next, instruction: null, answer: null, ...more },
  })

  test("chooses, instructs, and ends with its own answer", async () => {
    const { model, a, b, boss } = cast(
      {
        a: ["A"],
        b: ["B"],
        boss: [choose("b", { instruction: "Be brief." }), choose("a"), choose(null, { answer: "B, then A" })],
      },
      ["a", "b", "boss"],
    )
    const { outputs, state } = await groupChat({ agents: [a, b], manager: boss }).run("Go")
    expect(outputs).toEqual(["B, then A"])
    expect(shown(model, 1)).toEqual(["user: Go", "user: Be brief."])
    expect(shown(model, 2).slice(0, 2)).toEqual(["user: Go", "user: b: B"])
    expect(shown(model, 2).at(-1)).toContain("- a: the a\n- b: the b")
    expect(state.team).toMatchObject({ ended: "answered", round: 2 })
    expect((state.said as { speaker: string }[]).at(-1)).toEqual({ speaker: "boss", text: "B, then A" })
  })

  test("that names no member is asked again; one that never names a member is replaced by rotation", async () => {
    const { model, a, boss } = cast(
      { a: ["A", "A2"], boss: [choose("x"), choose("a"), { text: "well", repeat: 3 }] },
      ["a", "boss"],
    )
    const { outputs } = await groupChat({ agents: [a], manager: boss, maxRounds: 2 }).run("Go")
    expect(outputs).toEqual(["A2"])
    expect(model.calls.map(({ agent: name }) => name)).toEqual([
      "boss",
      "boss",
      "a",
      "boss",
      "boss",
      "boss",
      "a",
    ])
  })
})

test("a person is a member like any other", async () => {
  const { a } = cast({ a: [say("What do you think?")] }, ["a"])
  const ada = person({ name: "ada", to: "editors" })
  const run = groupChat({ agents: [a, ada], maxRounds: 2 }).run("Go")
  const [request] = (await run).requests
  expect(request).toMatchObject({ prompt: "user: Go\n\na: What do you think?", to: "editors" })
  await run.respond(request?.id ?? "", "Fine.")
  expect((await run.result).outputs).toEqual(["Fine."])
})

test("the chat has the same result wherever processes crash, and no reply is paid for twice", async () => {
  const model = pureModel((last, turn, name) => {
    if (name !== "boss") return `${name} ${turn}`
    const next = last.includes("lead this conversation") && turn === 0 ? "a" : null
    return JSON.stringify({ is_finished: false, next_speaker: next ?? "b", instruction: null, answer: null })
  })
  const member = (name: string) => agent({ name, model, stream: false })
  const team = groupChat({
    agents: [member("a"), member("b")],
    manager: member("boss"),
    maxRounds: 3,
  })
  const { outcome, crashes, writes } = await crashTest(team, "hello")
  expect(outcome).toMatchObject({ status: "completed", usage: { modelCalls: 6 } })
  expect(crashes).toBeGreaterThanOrEqual(writes)
})

test("a person who answers nothing adds no message", async () => {
  const { a } = cast({ a: [say("What do you think?")] }, ["a"])
  const run = groupChat({ agents: [a, person({ name: "ada" })], maxRounds: 2 }).run("Go")
  const [request] = (await run).requests
  expect(request).toMatchObject({ to: "ada" })
  await run.respond(request?.id ?? "", null)
  const { outputs, state } = await run.result
  expect(outputs).toEqual(["What do you think?"])
  expect(state.said).toEqual([{ speaker: "a", text: "What do you think?" }])
})

test("a chat without members, with both a manager and a function, or with a manager who is a member, is refused", () => {
  const { a, boss } = cast({ "*": [] }, ["a", "boss"])
  expect(() => groupChat({ agents: [], manager: boss })).toThrow("it needs at least one agent")
  expect(() => groupChat({ agents: [a], manager: boss, select: () => "a" })).toThrow(
    "set either manager or select to choose who speaks next.",
  )
  expect(() => groupChat({ agents: [a, boss], manager: boss })).toThrow('its manager "boss" is also one')
})

test("invalid numbers are refused", () => {
  const { a } = cast({ "*": [] }, ["a"])
  expect(() => groupChat({ agents: [a], maxRounds: 0 })).toThrow(
    "maxRounds must be a whole number of at least 1, not 0",
  )
})

test("a chat that ends without any message fails, and reports why it ended", async () => {
  const { a, b } = cast({ a: ["", ""], b: [""] }, ["a", "b"])
  const failed = async (options: Partial<Parameters<typeof groupChat>[0]>) => {
    const run = groupChat({ name: "talk", agents: [a, b], ...options }).stream("Go")
    const events = teamEvents(run)
    const { status, outputs, error } = await run.result
    return { status, outputs, error, last: (await events).at(-1) }
  }
  expect(await failed({ select: () => undefined })).toMatchObject({
    status: "failed",
    outputs: [],
    error: {
      code: "TEAM_NO_ANSWER",
      message:
        'Team "talk" ended after 0 turns without an answer: nobody was chosen to speak next, and no member wrote anything.',
    },
    last: "ended answered 0",
  })
  const { error } = await failed({ maxRounds: 1 })
  expect(error?.message).toContain("ended after 1 turn without an answer: it ran out of rounds")
  expect((await failed({ terminate: () => true })).error?.message).toContain("terminate returned true")
})
