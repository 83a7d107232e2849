import { PassThrough } from "node:stream"
import type { OpenRequest } from "@superstep/engine"
import { describe, expect, it } from "vitest"
import { askPerson } from "./ask-person.ts"

const [ENTER, DOWN, CTRL_C] = ["\r", "\x1B[B", "\x03"]

/** Answers a question by pressing keys, each when its prompt is on the screen. */
async function asked(
  question: Partial<OpenRequest>,
  ...keys: readonly (readonly [seen: string, keys: string[]])[]
) {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 })
  let screen = ""
  let step = 0
  output.setEncoding("utf8").on("data", (text: string) => {
    screen += text
    const [seen, pressed] = keys[step] ?? []
    if (seen === undefined || !screen.includes(seen)) return
    step++
    screen = ""
    setImmediate(() => {
      for (const key of pressed ?? []) input.write(key)
    })
  })
  const shown: string[] = []
  output.on("data", (text: string) => shown.push(text))
  const request = { id: "r1", node: "n", task: 1, prompt: "Well?", openedAt: 0, ...question }
  const answer = await askPerson(request, { input, output, signal: new AbortController().signal, by: "ada" })
  return { answer, screen: shown.join("") }
}

const answered = (value: unknown) => ({ kind: "answer", value, by: "ada" })

describe("a question at the terminal", () => {
  it("accepts text", async () => {
    expect((await asked({}, ["Well?", ["yes", ENTER]])).answer).toEqual(answered("yes"))
  })

  it("offers the choices", async () => {
    const schema = { enum: ["red", { mix: 1 }, "green"] }
    expect((await asked({ schema }, ["Well?", [DOWN, ENTER]])).answer).toEqual(answered({ mix: 1 }))
    const constants = { oneOf: [{ const: "a" }, { const: "b" }] }
    expect((await asked({ schema: constants }, ["Well?", [DOWN, ENTER]])).answer).toEqual(answered("b"))
  })

  it("is yes or no for a boolean", async () => {
    expect((await asked({ schema: { type: "boolean" } }, ["Well?", ["n"]])).answer).toEqual(answered(false))
  })

  it("is yes or no if that is the only required field, with a reason after no", async () => {
    const properties = { approve: { type: "boolean" }, feedback: { type: "string" } }
    const schema = { type: "object", properties, required: ["approve"] }
    expect((await asked({ schema }, ["Well?", ["y"]])).answer).toEqual(answered({ approve: true }))
    const no = await asked({ schema }, ["Well?", ["n"]], ["Why not?", ["too dear", ENTER]])
    expect(no.answer).toEqual(answered({ approve: false, feedback: "too dear" }))
  })

  it("accepts a number, and asks again for anything else", async () => {
    const { answer, screen } = await asked(
      { schema: { type: "integer" } },
      ["Well?", ["x", ENTER]],
      ["Enter a whole number.", ["\b", "7", ENTER]],
    )
    expect(answer).toEqual(answered(7))
    expect(screen).toContain("Enter a whole number.")
  })

  it("accepts JSON for an object", async () => {
    const schema = { type: "object" }
    expect((await asked({ schema }, ["Well?", ['{"a":[1]}', ENTER]])).answer).toEqual(answered({ a: [1] }))
  })

  it("shows its data, sanitized", async () => {
    const { screen } = await asked({ data: { note: "\x1B[2Jlook" }, to: "ops" }, ["Well?", [ENTER]])
    expect(screen).toContain("(for ops)")
    expect(screen).not.toContain("\x1B[2Jlook")
  })

  it("is cancelled with Ctrl-C", async () => {
    expect((await asked({}, ["Well?", [CTRL_C]])).answer).toEqual({ kind: "interrupt" })
  })
})

describe("whether a tool may run", () => {
  const data = { kind: "tool-approval", agent: "clerk", tool: "pay", call: "c1", args: { amount: 5 } }

  it("shows its arguments, and accepts yes", async () => {
    const { answer, screen } = await asked({ data }, ['" to call "', [ENTER]])
    expect(answer).toEqual(answered({ approve: true }))
    expect(screen).toContain('"amount": 5')
  })

  it("accepts edited arguments", async () => {
    const edited = ["\b", ',"to":"bob"}', ENTER]
    const { answer } = await asked({ data }, ['" to call "', [DOWN, ENTER]], ["Arguments, as JSON", edited])
    expect(answer).toEqual(answered({ approve: true, args: { amount: 5, to: "bob" } }))
  })

  it("accepts no, with a reason for the agent", async () => {
    const { answer } = await asked(
      { data },
      ['" to call "', [DOWN, DOWN, ENTER]],
      ["Why not?", ["too dear", ENTER]],
    )
    expect(answer).toEqual(answered({ approve: false, reason: "too dear" }))
  })
})
