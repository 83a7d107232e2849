import { describe, expect, test } from "vitest"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import { hash32 } from "../../core/retry.ts"
import { scriptedModel } from "../../models/index.ts"
import { memoryStore } from "../../stores/index.ts"
import { crashTest } from "../../testing/simulation/crash-test.test-support.ts"
import { asked, file, LOOP, load } from "./steps.test-support.ts"

/** Its answers depend on every letter of the prompt: a step that sees another prompt after a crash has another result. */
const attentive = pureModel((last, _, name) => `${name} heard ${hash32(last, 1)}`)

const BLOCKS = file(
  ["a", "b", "c", "d", "e"],
  `
  - { type: agent, name: a }
  - type: parallel
    id: par
    steps:
      - type: condition
        condition: "$steps.a.output != ''"
        true: [{ type: agent, name: b }, { type: agent, name: c, prompt: "{{ $steps.b.output }}" }]
      - type: parallel
        id: inner
        retry: { max_attempts: 1 }
        steps: [{ type: agent, name: d }, { type: agent, name: e }]
      - { id: ask, type: human, prompt: "{{ $steps.a.output }}?" }
  - id: each
    type: map
    over: "[1, 2]"
    steps: [{ type: agent, name: b, prompt: "{{ $item }}" }, { type: agent, name: c }]
  - { id: end, type: agent, name: e }`,
)

describe("a steps workflow whose process crashes", () => {
  test("ends with the same result wherever it crashes, and repeats no recorded model call", async () => {
    const { workflow } = load(BLOCKS, { model: attentive })
    const { outcome, crashes, writes } = await crashTest(workflow, "Go", { answers: () => "yes" })
    expect(outcome).toMatchObject({ status: "completed", usage: { modelCalls: 10 } })
    expect(crashes).toBeGreaterThanOrEqual(writes)
  })

  test("counts the passes of a loop", async () => {
    const model = pureModel((last, _, name) =>
      name === "qa_agent" ? '{"is_approved": false}' : `${name} ${hash32(last, 1)}`,
    )
    const [head = "", steps = ""] = LOOP.split("workflow:\n")
    const limited = `${head}workflow:\n  max_loop_iterations: 3\n  steps:\n${steps.trimEnd().replace(/^/gm, "  ")}\n`
    const { workflow } = load(limited, { model })
    // Loads the JSON Schema validator, which the simulator would wait for in vain.
    await workflow.run("Go").result
    const { outcome } = await crashTest(workflow, "Go", { status: "failed" })
    expect(outcome).toMatchObject({
      status: "failed",
      error: "MAX_LOOP_ITERATIONS",
      usage: { modelCalls: 7 },
    })
  })
})

test("does not see concurrent runs", async () => {
  const model = scriptedModel({
    a: [{ text: "A", repeat: true }],
    b: [{ text: "B", repeat: true }],
  })
  const text = file(["a", "b"], "\n  - { type: agent, name: a }\n  - { type: agent, name: b }")
  const { workflow } = load(
    text.replace("b: { model: offline }", 'b: { model: offline, instruction: "{{ $input }}" }'),
    {
      model,
    },
  )
  await Promise.all(["one", "two", "three"].map((prompt) => workflow.run(prompt)))
  const { prompts, systems, agents } = asked(model)
  const last = prompts.filter((_, i) => agents[i] === "b").map((prompt) => prompt.split("\n").at(-1))
  expect(last.sort()).toEqual(["one", "three", "two"])
  expect(systems.filter((system) => system !== "").sort()).toEqual(["one", "three", "two"])
})

test("has a journal that grows linearly with the steps", async () => {
  const bytes = async (count: number) => {
    // Tools instead of agents: prompts grow by themselves, although the journal does not contain them.
    const think = "tool: think, toolset: { type: think }, args: { thought: well }"
    const steps = Array.from({ length: count }, (_, i) => `  - { id: s${i}, type: tool, ${think} }`)
    const text = `workflow:\n${steps.join("\n")}\n`
    const store = memoryStore()
    const { workflow } = load(text)
    const { status, runId } = await workflow.run("Go", { store }).result
    expect(status).toBe("completed")
    return JSON.stringify(await store.read(runId, 0)).length
  }
  const [some, more] = [await bytes(50), await bytes(500)]
  expect(more / some).toBeLessThan(10.5)
})
