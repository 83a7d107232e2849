/** Answers that were cut off, refused, filtered or empty: how an agent handles them, and what a watcher sees. */
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type ScriptEntry, scriptedModel } from "../models/index.ts"
import { agent, type OnTruncated } from "./index.ts"
import { shown } from "./stand-ins.test-support.ts"

const schema = z.object({ n: z.number() })

function made(entries: readonly ScriptEntry[], onTruncated?: OnTruncated, output?: z.ZodType) {
  const model = scriptedModel(entries)
  const options = { name: "x", model, onTruncated, ...(output !== undefined && { output }) }
  return { model, ask: agent(options as { name: string; model: typeof model }) }
}

async function finishes(entries: readonly ScriptEntry[]) {
  const { ask } = made(entries)
  const run = ask.stream("?")
  const found: unknown[] = []
  for await (const event of run) {
    if (event.type === "step.recorded") found.push((event.value as { finish?: unknown }).finish)
  }
  return { found, outputs: (await run.result).outputs }
}

describe("a finish reason is recorded", () => {
  test.each<[string, ScriptEntry, string]>([
    ["complete", "Yes.", "stop"],
    ["cut off", { text: "Ye", finish: "length" }, "length"],
    ["a refusal", { text: "No.", finish: "refusal" }, "refusal"],
    ["a filtered one", { text: "Y", finish: "content-filter" }, "content-filter"],
    ["an empty one", { text: "" }, "empty"],
  ])("%s", async (_, entry, finish) => {
    const { found, outputs } = await finishes([entry])
    expect(found).toEqual([finish])
    expect(outputs).toEqual([typeof entry === "string" ? entry : entry.text])
  })
})

describe("an answer as text", () => {
  const cut: ScriptEntry = { text: "One, two, ", finish: "length" }

  test("is accepted by default", async () => {
    expect((await made([cut]).ask.run("?")).outputs).toEqual(["One, two, "])
  })

  test("fails the task", async () => {
    await expect(made([cut], "fail").ask.run("?")).rejects.toMatchObject({
      cause: { code: "MODEL_TRUNCATED" },
    })
  })

  test("is continued, and the answer is the complete text", async () => {
    const { ask, model } = made([cut, { text: "three, ", finish: "length" }, "four."], "continue")
    expect((await ask.run("?")).outputs).toEqual(["One, two, three, four."])
    expect(shown(model, 2).slice(-3)).toEqual([
      expect.stringMatching(/^user: Your answer was cut off/),
      "assistant: three, ",
      expect.stringMatching(/^user: Your answer was cut off/),
    ])
  })

  test("is not continued endlessly", async () => {
    const { ask, model } = made([{ ...cut, repeat: true }], "continue")
    await expect(ask.run("?")).rejects.toMatchObject({ cause: { code: "MODEL_TRUNCATED" } })
    expect(model.calls).toHaveLength(5)
  })
})

describe("an answer with a schema", () => {
  const cut: ScriptEntry = { text: '{"n": 1', finish: "length" }

  test.each<OnTruncated | undefined>([undefined, "accept", "fail"])(
    "that was cut off uses no repair: %s",
    async (policy) => {
      const { ask, model } = made([cut], policy, schema)
      await expect(ask.run("?")).rejects.toMatchObject({ cause: { code: "MODEL_TRUNCATED" } })
      expect(model.calls).toHaveLength(1)
    },
  )

  test("is accepted if it matches nevertheless", async () => {
    const { ask } = made([{ text: '{"n": 1} and furth', finish: "length" }], undefined, schema)
    expect((await ask.run("?")).outputs).toEqual([{ n: 1 }])
  })

  test("is written again, without any part of the first attempt", async () => {
    const { ask, model } = made([cut, { json: { n: 2 } }], "continue", schema)
    expect((await ask.run("?")).outputs).toEqual([{ n: 2 }])
    expect(shown(model, 1).at(-1)).toContain("shorter")
  })

  test.each<["refusal" | "content-filter", string]>([
    ["refusal", "MODEL_REFUSED"],
    ["content-filter", "MODEL_FILTERED"],
  ])("that is a %s uses no repair", async (finish, code) => {
    const { ask, model } = made([{ text: "I cannot help with that.", finish }], undefined, schema)
    await expect(ask.run("?")).rejects.toMatchObject({ cause: { code } })
    expect(model.calls).toHaveLength(1)
  })
})

test("an unknown policy is rejected when the agent is created", () => {
  expect(() => made(["x"], "retry" as never)).toThrow(/onTruncated is "fail", "continue" or "accept"/)
})

describe("an agent that took over", () => {
  const other = z.object({ s: z.string() })
  const handsOver: ScriptEntry = { tool_calls: [{ name: "handoff_to_second" }] }

  test("answers in its own format, which is sent and checked", async () => {
    const model = scriptedModel({ first: [handsOver], second: [{ json: { s: 1 } }, { json: { s: "one" } }] })
    const second = agent({ name: "second", model, output: other })
    const first = agent({ name: "first", model, output: schema, handoffs: [second] })
    expect((await first.run("?")).outputs).toEqual([{ s: "one" }])
    expect(JSON.stringify(model.calls[1]?.options.responseFormat)).toContain('"s"')
    expect(shown(model, 2).at(-1)).toContain("does not match the schema")
  })

  test("answers in the format of the first agent if it has none", async () => {
    const model = scriptedModel({ first: [handsOver], second: [{ json: { n: 1 } }] })
    const second = agent({ name: "second", model })
    const first = agent({ name: "first", model, output: schema, handoffs: [second] })
    expect((await first.run("?")).outputs).toEqual([{ n: 1 }])
  })
})
