/** `why` of a definition: its conditions, with the values that they were decided with. */
import { expect, test } from "vitest"
import { memoryStore, why } from "../index.ts"
import { scriptedModel } from "../models/index.ts"
import { file, load } from "./steps/steps.test-support.ts"

test("the condition of a step has the values of its operands, at the edge that it decided about", async () => {
  const text = file(
    ["judge", "a", "b"],
    `
  - { type: agent, name: judge }
  - id: big
    type: condition
    condition: "$steps.judge.output.score > 5 && $input != 'no'"
    true: [{ type: agent, name: a }]
    false: [{ type: agent, name: b }]`,
  )
  const store = memoryStore()
  const model = scriptedModel({ judge: [{ text: '{ "score": 3 }' }], b: ["small"] })
  await load(text, { model }).workflow.run("Go", { store, runId: "r" })
  const { conditions, messages } = await why(store, "r", 2)
  const condition = {
    condition: "$steps.judge.output.score > 5 && $input != 'no'",
    holds: false,
    operands: [
      { text: "$steps.judge.output.score", value: 3 },
      { text: "$steps.judge.output.score > 5", value: false },
    ],
  }
  expect(conditions, "the second operand was not needed").toEqual([condition])
  expect(messages[0]?.edges).toMatchObject([
    { taken: false, condition, reason: "its condition did not hold" },
    { taken: true, condition },
  ])
})
