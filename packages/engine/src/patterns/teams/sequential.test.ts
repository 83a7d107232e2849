import { expect, test } from "vitest"
import { z } from "zod"
import { agent, workflowTool } from "../../agents/index.ts"
import { shown } from "../../agents/stand-ins.test-support.ts"
import { node, workflow } from "../../builder/index.ts"
import { scriptedModel } from "../../models/index.ts"
import { concurrent, sequential } from "./index.ts"
import { cast, teamEvents } from "./team-play.test-support.ts"

test("each member sees all earlier messages under the speakers' names; the last answer is the team's", async () => {
  const { model, writer, critic } = cast({ writer: ["draft", "final"], critic: ["too short"] }, [
    "writer",
    "critic",
  ])
  const run = sequential([writer, critic, writer]).stream("Write.")
  const events = teamEvents(run)
  const { outputs, state } = await run
  expect(outputs).toEqual(["final"])
  expect(shown(model, 1)).toEqual(["user: Write.", "user: writer: draft"])
  expect(shown(model, 2)).toEqual(["user: Write.", "assistant: draft", "user: critic: too short"])
  expect(state.said).toEqual([
    { speaker: "writer", text: "draft" },
    { speaker: "critic", text: "too short" },
    { speaker: "writer", text: "final" },
  ])
  expect(await events).toEqual([
    "turn writer 1",
    "message writer 1",
    "turn critic 2",
    "message critic 2",
    "turn writer 3",
    "message writer 3",
  ])
})

test("an answer that is data stays data", async () => {
  const model = scriptedModel({ a: [{ json: { n: 1 } }] })
  const a = agent({ name: "a", model, output: z.object({ n: z.number() }) })
  const { outputs, state } = await sequential([a]).run("Go")
  expect(outputs).toEqual([{ n: 1 }])
  expect(state.said).toEqual([{ speaker: "a", text: '{"n":1}', data: { n: 1 } }])
})

test("accepts a conversation, and is a node of a workflow and a tool of an agent", async () => {
  const { model, a, b, boss } = cast(
    { a: [{ text: "A", repeat: true }], b: [{ text: "B", repeat: true }], boss: ["?"] },
    ["a", "b", "boss"],
  )
  const team = sequential([a, b], { name: "two", description: "Two of them." })
  const messages = [
    { role: "user", content: "One" },
    { role: "assistant", content: "Uno" },
    { role: "user", content: "Two" },
  ]
  expect((await team.run({ messages })).outputs).toEqual(["B"])
  expect(shown(model, 0)).toEqual(["user: One", "assistant: Uno", "user: Two"])

  const shout = node("shout", (text: unknown) => `${String(text)}!`)
  const flow = workflow("flow").chain(team.asNode(), shout).build()
  expect((await flow.run("Go")).outputs).toEqual(["B!"])

  const asked = scriptedModel([{ tool_calls: [{ name: "two", args: { input: "Go" } }] }, "done"])
  const user = agent({
    name: "user-of-it",
    model: asked,
    tools: [workflowTool(team, { description: "Two." })],
  })
  expect((await user.run("Go")).outputs).toEqual(["done"])
  expect(shown(asked, 1).at(-1)).toBe('tool: "B"')
  expect(boss.name).toBe("boss")
})

test("a team is a member of another team", async () => {
  const { model, a, b, c } = cast({ a: ["A"], b: ["B"], c: ["C"] }, ["a", "b", "c"])
  const inner = sequential([a, b], { name: "inner" })
  const { outputs, state } = await sequential([inner, c]).run("Go")
  expect(outputs).toEqual(["C"])
  expect(shown(model, 2)).toEqual(["user: Go", "user: inner: B"])
  expect(state.said).toMatchObject([{ speaker: "inner" }, { speaker: "c" }])
})

test("concurrent: all members run at the same time and see only the input; the default result is their messages, in order", async () => {
  const { model, a, b } = cast({ a: ["A"], b: ["B"] }, ["a", "b"])
  const { outputs } = await concurrent([b, a]).run("Go")
  expect(outputs).toEqual([
    [
      { speaker: "b", text: "B" },
      { speaker: "a", text: "A" },
    ],
  ])
  expect([shown(model, 0), shown(model, 1)]).toEqual([["user: Go"], ["user: Go"]])
})

test("concurrent: a function, or an agent, combines the answers", async () => {
  const { model, a, b, judge } = cast(
    { a: [{ text: "A", repeat: true }], b: [{ text: "B", repeat: true }], judge: ["A and B"] },
    ["a", "b", "judge"],
  )
  const joined = concurrent([a, b], { aggregate: (said) => said.map(({ text }) => text).join("+") })
  expect((await joined.run("Go")).outputs).toEqual(["A+B"])
  expect((await concurrent([a], { aggregate: (said) => said.length }).run("Go")).outputs).toEqual([1])
  expect((await concurrent([a, b], { aggregate: judge }).run("Go")).outputs).toEqual(["A and B"])
  expect(shown(model, 5)).toEqual(["user: Go", "user: a: A", "user: b: B", "user: Make one answer of these."])
})

test("concurrent: a failed member ends the team, or is omitted", async () => {
  const no = { error: { code: 400, message: "no" }, repeat: true } as const
  const { a, b } = cast({ a: [{ text: "A", repeat: true }], b: [no] }, ["a", "b"])
  expect((await concurrent([a, b]).run("Go").result).status).toBe("failed")
  const lenient = concurrent([a, b], { onError: "continue" })
  expect((await lenient.run("Go")).outputs).toEqual([[{ speaker: "a", text: "A" }]])
  const alone = concurrent([b], { onError: "continue" })
  expect((await alone.run("Go").result).error?.code).toBe("TEAM_FAILED")
})

test("rejects a team without members, or with two of the same name", () => {
  const { a, user } = cast({ "*": [] }, ["a", "user"])
  expect(() => sequential([])).toThrow('Team "sequential": it needs at least one agent.')
  expect(() => concurrent([a, a])).toThrow('two members are named "a"')
  expect(() => sequential([user])).toThrow('"user" cannot be the name of a member')
  expect(() => sequential([{} as never])).toThrow("its members must be agents")
})
