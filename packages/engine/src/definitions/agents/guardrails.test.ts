import { expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { scriptedModel } from "../../models/index.ts"
import { expressionGuardrail } from "./agent-functions.ts"

test("an expression sees the text, the value and the agent, and trips if it is false", async () => {
  const run = (expression: string, input: unknown) => {
    const guardrails = [expressionGuardrail({ name: "g", on: "input", expression, reason: "too much" })]
    return agent({ name: "x", model: scriptedModel(["ok"]), guardrails }).run(input).result
  }
  expect((await run("size($text) < 5", "hi")).outputs).toEqual(["ok"])
  expect((await run("size($text) < 5", "hello there")).error).toMatchObject({ code: "GUARDRAIL_TRIPPED" })
  expect((await run("$value.amount <= 10 && $agent == 'x'", { amount: 3 })).outputs).toEqual(["ok"])
  expect((await run("$value.amount <= 10", { amount: 30 })).error?.message).toMatch(/too much/)
})
