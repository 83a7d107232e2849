import { expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { listErrors, loadDefinition } from "../index.ts"
import { asked } from "./steps.test-support.ts"

function load(workflow: string, model = scriptedModel({ a: ["A"], b: ["B"], c: ["C"] })) {
  const agents = ["a", "b", "c"].map((name) => `${name}: { model: offline }`).join(", ")
  const text = `agents: { ${agents} }\nworkflow:\n${workflow}\n`
  return { model, loaded: loadDefinition({ file: "flow.yaml", text }, { model: () => model }) }
}

const STEPS = `
    - { type: agent, name: a }
    - { type: agent, name: b }`

test.each([
  ["prior_outputs: false", "Go"],
  [
    "prior_outputs: [b]",
    "--- Prior Step Outputs ---\n\n[b (agent: b)]:\nB\n\n--- End Prior Step Outputs ---\n\nGo",
  ],
])("a step with %s sees only those outputs in its prompt", async (field, prompt) => {
  const { model, loaded } = load(`  steps:${STEPS}\n    - { type: agent, name: c, ${field} }`)
  await loaded.definition?.workflow.run("Go")
  expect(asked(model).prompts[2]).toBe(prompt)
  expect(asked(model).prompts[1]).toContain("[a (agent: a)]")
})

test("a workflow sets it for all steps, and a step overrides it", async () => {
  const { model, loaded } = load(
    `  prior_outputs: false\n  steps:${STEPS}\n    - { type: agent, name: c, prior_outputs: true }`,
  )
  await loaded.definition?.workflow.run("Go")
  expect(asked(model).prompts[1]).toBe("Go")
  expect(asked(model).prompts[2]).toContain("[a (agent: a)]")
  expect(loaded.definition?.eject()).toContain("priorOutputs: []")
})

test("a parallel block stands for its steps", async () => {
  const { model, loaded } = load(`
  - { id: par, type: parallel, steps: [{ type: agent, name: a }] }
  - { type: agent, name: b }
  - { type: agent, name: c, prior_outputs: [par] }`)
  await loaded.definition?.workflow.run("Go")
  expect(asked(model).prompts[2]).toContain("[par/a (agent: a)]")
  expect(asked(model).prompts[2]).not.toContain("[b (agent: b)]")
})

test("an unknown id is an error with a suggestion", () => {
  const { loaded } = load(
    "  - { id: first, type: agent, name: a }\n  - { type: agent, name: b, prior_outputs: [frist] }",
  )
  expect(listErrors(loaded)).toBe('There is no step "frist" here.')
  expect(loaded.diagnostics[0]).toMatchObject({ suggestion: "first" })
})

test("the budget of a workflow ends the run, and the budget of a step counts that step alone", async () => {
  const whole = load(`  budget: { model_calls: 1 }\n  steps:${STEPS}`)
  expect(await whole.loaded.definition?.workflow.run("Go").result).toMatchObject({
    status: "limit",
    error: { code: "BUDGET_EXCEEDED" },
    usage: { modelCalls: 1 },
  })
  const step = load(`
  - { type: agent, name: a }
  - { type: agent, name: b, budget: { model_calls: 1 } }
  - { type: agent, name: c }`)
  expect(await step.loaded.definition?.workflow.run("Go").result).toMatchObject({ status: "completed" })
  const none = load("  - { type: agent, name: b, budget: { model_calls: 0, tool_calls: 2 } }")
  expect(await none.loaded.definition?.workflow.run("Go").result).toMatchObject({
    status: "limit",
    usage: {},
  })
  expect(none.loaded.definition?.eject()).toContain("budget: { modelCalls: 0, toolCalls: 2 }")
})

test.each([
  [
    "{ type: agent, name: a, budget: { seconds: 5 } }",
    'the budget of a step has no "seconds"; set its timeout',
  ],
  ["{ type: human, prompt: x, budget: { tokens: 5 } }", 'a human step has no "budget"'],
])("%s is refused", (step, message) => {
  expect(listErrors(load(`  - ${step}`).loaded)).toContain(message)
})
