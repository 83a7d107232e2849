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

  it("asks for an object field by field: choices, numbers with their limits, and optional fields", async () => {
    const schema = {
      type: "object",
      required: ["team", "amount", "ship"],
      properties: {
        team: { enum: ["red", "blue"], title: "Team" },
        amount: { type: "integer", minimum: 10, description: "In euros" },
        urgent: { type: "boolean" },
        note: { type: "string" },
        tags: { type: "array", items: { enum: ["a", "b"] } },
        ship: { type: "object", required: ["city"], properties: { city: { type: "string", minLength: 2 } } },
      },
    }
    const { answer, screen } = await asked(
      { schema },
      ["Team (team)", [DOWN, ENTER]],
      ["amount: In euros", ["x", ENTER]],
      ["Enter a whole number.", ["\b", "7", ENTER]],
      [">= 10", ["12", ENTER]],
      ["urgent (optional)", [ENTER]],
      ["note (optional)", [ENTER]],
      ["tags (optional)", [" ", ENTER]],
      ["ship.city", ["B", ENTER]],
      ["fewer than 2", ["Bonn", ENTER]],
    )
    expect(answer).toEqual(answered({ team: "blue", amount: 12, tags: ["a"], ship: { city: "Bonn" } }))
    expect(screen).toContain("Well?")
  })

  it("is cancelled by Ctrl-C in any field", async () => {
    const schema = {
      type: "object",
      required: ["a", "b"],
      properties: { a: { type: "string" }, b: { type: "string" } },
    }
    const { answer } = await asked({ schema }, ["◆  a", ["x", ENTER]], ["◆  b", [CTRL_C]])
    expect(answer).toEqual({ kind: "interrupt" })
  })

  it("accepts JSON for an object without known fields", async () => {
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

describe("a hand-off", () => {
  const data = {
    messages: [{ role: "user", text: "Where is my \x1B[2Jorder?" }],
    routes: ["Billing", "Sales"],
  }
  const menu = "Answer, and let the agents continue"

  it("shows the conversation, and sends it to a route by its name", async () => {
    const { answer, screen } = await asked(
      { data },
      [menu, [DOWN, DOWN, ENTER]],
      ["A message with it", [ENTER]],
    )
    expect(answer).toEqual(answered({ route: "Sales" }))
    expect(screen).toContain("user: Where is my ␛[2Jorder?")
    expect(screen).toContain("Send to Billing")
  })

  it("is answered, or ended", async () => {
    const said = await asked({ data }, [menu, [ENTER]], ["Your answer", ["On its way", ENTER]])
    expect(said.answer).toEqual(answered({ message: "On its way" }))
    const ended = await asked(
      { data },
      [menu, [DOWN, DOWN, DOWN, ENTER]],
      ["A message with it", ["Bye", ENTER]],
    )
    expect(ended.answer).toEqual(answered({ end: true, message: "Bye" }))
  })
})

describe("whether a tool may run", () => {
  const data = { kind: "tool-approval", agent: "clerk", tool: "pay", call: "c1", args: { amount: 5 } }

  it("shows its arguments, and accepts yes", async () => {
    const { answer, screen } = await asked({ data }, ['" to call "', [ENTER]])
    expect(answer).toEqual(answered({ approve: true }))
    expect(screen).toContain('"amount": 5')
  })

  it("accepts always, for the rest of the run", async () => {
    const { answer } = await asked({ data }, ['" to call "', [DOWN, DOWN, DOWN, ENTER]])
    expect(answer).toEqual(answered({ approve: true, always: true }))
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
