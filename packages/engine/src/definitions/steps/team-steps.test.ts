import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { file, load, play, problemsOf } from "./steps.test-support.ts"

const say = (text: string) => ({ text, repeat: true }) as const

describe("a team step", () => {
  test("runs its agents one after the other, with a prompt like an agent's; the last answer is its output", async () => {
    const text = file(
      ["plan", "a", "b", "end"],
      `
  - { type: agent, name: plan }
  - { id: duo, type: team, mode: sequential, agents: [a, b], prompt: "Do it" }
  - { type: agent, name: end, prompt: "{{ $steps.duo.output }}" }`,
    )
    const { prompts, outputs, agents } = await play(text, { plan: ["P"], a: ["A"], b: ["B"], end: ["E"] })
    expect(agents).toEqual(["plan", "a", "b", "end"])
    expect(prompts[1]).toContain("[plan (agent: plan)]:\nP")
    expect(prompts[1]).toMatch(/Do it$/)
    expect(prompts[3]).toMatch(/\n\nB$/)
    expect(outputs).toEqual(["E"])
  })

  test("runs them concurrently, and an agent combines their answers", async () => {
    const text = file(
      ["a", "b", "judge"],
      "\n  - { type: team, mode: concurrent, agents: [a, b], aggregate: judge }",
    )
    const { outputs } = await play(text, { a: ["A"], b: ["B"], judge: ["both"] })
    expect(outputs).toEqual(["both"])
  })

  test("ends when its condition is true", async () => {
    const text = file(
      ["a", "b"],
      `
  - type: team
    mode: group_chat
    agents: [a, b]
    max_rounds: 9
    terminate: $speaker == "b" && $last.contains("OK") && $round > 2`,
    )
    const { agents, outputs } = await play(text, { a: [say("A")], b: [say("OK")] })
    expect(agents).toEqual(["a", "b", "a", "b"])
    expect(outputs).toEqual(["OK"])
  })

  test("asks the user, and a person to review the plan, from inside the step", async () => {
    const desk = file(
      ["a", "b"],
      "\n  - { id: desk, type: team, mode: handoff, agents: [a, b], start: b, to: ada }",
    )
    const run = load(desk, { model: scriptedModel({ b: ["Which?"] }) }).workflow.run("Go")
    const [request] = (await run).requests
    expect(request).toMatchObject({ prompt: "Which?", to: "ada" })
    await run.respond(request?.id ?? "", "")
    expect((await run.result).outputs).toEqual(["Which?"])

    const found = (answer: string | boolean) => ({ reason: "", answer })
    const done = {
      is_request_satisfied: found(true),
      is_in_loop: found(false),
      is_progress_being_made: found(true),
      next_speaker: found("a"),
      instruction_or_question: found(""),
    }
    const team = file(
      ["boss", "a"],
      `
  - { type: team, mode: magentic, manager: boss, agents: [a], plan_review: true, max_rounds: 3, max_stalls: 1, max_resets: 0, timeout: 1h }`,
    )
    const model = scriptedModel({ boss: ["F", "P", { json: done }, "42"] })
    const review = load(team, { model }).workflow.run("Go")
    await review.respond((await review).requests[0]?.id ?? "", { approve: true })
    expect((await review.result).outputs).toEqual(["42"])
  })

  test("is ejected as the calls that create it", () => {
    const text = file(
      ["a", "b"],
      `
  - { id: chat, type: team, mode: group_chat, agents: [a, b], terminate: "$round > 3" }`,
    )
    const { code } = load(text)
    expect(code).toContain('import { groupChat } from "superstep/patterns"')
    expect(code).toContain(
      'const chatTeam = groupChat({ name: "chat", agents: [a, b], terminate: teamEnds("$round > 3") })',
    )
    expect(code).toContain('workflowStep(steps, "chat", chatTeam, { last: true })')
  })
})

test("problems of a team are reported together, each at its position", () => {
  const text = file(
    ["a", "boss"],
    `
  - { id: t1, type: team, agents: [a] }
  - { id: t2, type: team, mode: magentic, agents: [a] }
  - { id: t3, type: team, mode: sequential, agents: [aa], max_stalls: 2 }
  - { id: t4, type: team, mode: group_chat, agents: [a], manager: bos, terminate: "$lst == 1" }
  - { id: t5, type: team, mode: handoff, agents: [], terminate: "1 +" }
  - { id: t6, type: agent, name: a, max_rounds: 1 }`,
  )
  expect(problemsOf(text).map((line) => line.replace(/ \d+:\d+/, ""))).toEqual([
    "MISSING_FIELD workflow step[0]: team step requires mode",
    "MISSING_FIELD workflow step[1]: team step requires manager",
    'UNKNOWN_AGENT workflow step[2]: agent "aa" not found in agents',
    'FIELD_NOT_FOR_TYPE workflow step[2]: a sequential team has no "max_stalls"',
    'UNKNOWN_AGENT workflow step[3]: agent "bos" not found in agents (boss?)',
    "MISSING_FIELD workflow step[4]: team step requires agents",
    'FIELD_NOT_FOR_TYPE workflow step[5]: an agent step has no "max_rounds"',
    "UNKNOWN_NAME There is no $lst in terminate; use one of $last, $speaker, $round. ($last?)",
    "EXPRESSION_INVALID This expression is incomplete.",
  ])
})

test("options that the team would refuse are reported at their position in the file", () => {
  const text = file(
    ["a", "b", "user"],
    `
  - { id: t1, type: team, mode: group_chat, agents: [a, b, a] }
  - { id: t2, type: team, mode: handoff, agents: [a], start: b }
  - { id: t3, type: team, mode: magentic, agents: [a, b], manager: a }
  - { id: t4, type: team, mode: sequential, agents: [a, user, a] }`,
  )
  expect(problemsOf(text).map((line) => line.replace(/ \d+:/, " "))).toEqual([
    'TEAM_INVALID 60 workflow step[0]: "a" is in the team twice',
    `TEAM_INVALID 62 workflow step[1]: "b" is not one of the team's agents`,
    `TEAM_INVALID 68 workflow step[2]: the manager "a" is also one of the team's agents`,
    'TEAM_INVALID 57 workflow step[3]: an agent of a team cannot be named "user"',
  ])
})

test("warns about templates in the instruction of a team's agent", () => {
  const text = `agents:
  a: { model: offline, instruction: "See {{ $steps.x.output }}" }
workflow:
  - { id: x, type: human, prompt: "?" }
  - { type: team, mode: sequential, agents: [a] }
`
  expect(problemsOf(text).join("\n")).toContain("TEMPLATE_IN_TEAM")
})
