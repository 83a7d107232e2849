/** A guardrail that trips decides which step is next. */
import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { load } from "./steps.test-support.ts"

const FILE = `
agents:
  clerk:
    model: offline
    guardrails: [{ name: cards, on: input, pattern: '\\d{16}', on_trip: { answer: blocked } }]
  teller: { model: offline }
workflow:
  - { id: ask, type: agent, name: clerk }
  - type: condition
    condition: "$steps.ask.output == 'blocked'"
    true: [{ type: agent, name: teller, prompt: "Ask for the order instead." }]
`

describe("a step whose guardrail trips", () => {
  test.each([
    ["routes to another step by its answer", "Card 4111111111111111", ["Which order?"], 1],
    ["is asked where nothing trips", "Where is my lamp?", ["On its way."], 1],
  ])("%s", async (_, input, outputs, calls) => {
    const model = scriptedModel({ clerk: ["On its way."], teller: ["Which order?"] })
    const { workflow } = load(FILE, { model })
    expect(await workflow.run(input)).toMatchObject({ outputs })
    expect(model.calls).toHaveLength(calls)
  })
})
