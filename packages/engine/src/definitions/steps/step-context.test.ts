import { expect, test } from "vitest"
import { stepContext } from "./nodes/view.ts"
import { file, play } from "./steps.test-support.ts"

test("the outputs of a run are one object, even if it failed", async () => {
  const text = file(
    ["a", "b", "c"],
    `
  - { type: agent, name: a }
  - type: parallel
    id: par
    steps: [{ type: agent, name: b }, { type: parallel, id: inner, steps: [{ type: agent, name: c }] }]
  - { id: end, type: agent, name: a }`,
  )
  const { state } = await play(text, {
    a: ["A", { error: { code: 400, message: "no" } }],
    b: ["B"],
    c: ["C"],
  })
  expect(stepContext(state)).toEqual({
    a: { output: "A", agent: "a" },
    par: {
      steps: {
        b: { output: "B", agent: "b" },
        inner: { steps: { c: { output: "C", agent: "c" } }, order: ["c"] },
      },
      order: ["b", "inner"],
    },
  })
  expect(stepContext({})).toEqual({})
})
