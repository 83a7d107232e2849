import { describe, expect, test } from "vitest"
import { agent } from "../agents/index.ts"
import { memoryStore, Runtime } from "../index.ts"
import { scriptedModel } from "../models/index.ts"
import { userPrompt } from "./user-prompt.ts"

const choice = { type: "string", enum: ["tea", "coffee"] }

function waiter(schema: unknown) {
  const call = { id: "c1", name: "user_prompt", args: { message: "What would you like?", schema } as never }
  const model = scriptedModel([{ tool_calls: [call] }, { text: "Coming." }])
  return { model, waiter: agent({ name: "waiter", model, tools: [userPrompt({ to: "guest" })] }) }
}

describe("user_prompt", () => {
  test("asks a person once, and the answer survives the process", async () => {
    const store = memoryStore()
    const { waiter: first } = waiter(choice)
    const before = new Runtime({ store, workflows: [first] })
    const asked = await before.start(first, "Hello", { runId: "r" })
    expect(asked.status).toBe("waiting")
    expect(asked.requests).toMatchObject([
      { prompt: "What would you like?", to: "guest", data: { kind: "user-prompt", agent: "waiter" } },
    ])
    await before.close()

    const { waiter: second, model } = waiter(choice)
    const runtime = new Runtime({ store, workflows: [second] })
    const run = runtime.get("r")
    const [{ id } = { id: "" as never }] = await runtime.requests()
    await expect(runtime.respond("r", id, "wine")).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    await runtime.respond("r", id, "tea")
    const ended = await run.result
    expect(ended.outputs).toEqual(["Coming."])
    // The first reply came from the journal.
    expect(model.calls).toHaveLength(1)
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('{"action":"accept","content":"tea"}')
    await runtime.close()
  })

  test("shows the model the problem with its schema, and asks nobody", async () => {
    const { waiter: one, model } = waiter({ type: "string", pattern: "(a)\\1" })
    const ended = await one.run("Hello")
    expect(ended.outputs).toEqual(["Coming."])
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("Ask again with a valid schema")
  })
})
