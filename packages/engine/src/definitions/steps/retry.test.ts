import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { manualClock, settled } from "../../testing/index.ts"
import { asked, load, file as plainFile, play } from "./steps.test-support.ts"

/** A retryable error. The model's own retries are off, so that only a step's are counted. */
const broken = (message = "boom") => ({ error: { code: 503, message } })
const refused = (message = "boom") => ({ error: { code: 400, message } })

const file: typeof plainFile = (agents, workflow) =>
  plainFile(agents, workflow).replaceAll("model: offline }", "model: offline, fallback: { retries: -1 } }")

describe("retry", () => {
  const step = (retry: string) =>
    file(["a", "b"], `\n  - { type: agent, name: a, retry: ${retry} }\n  - { type: agent, name: b }`)

  test("repeats the step up to max_attempts times; later steps see only the success", async () => {
    const { status, agents, prompts } = await play(step("{ max_attempts: 2, initial_delay_seconds: 0 }"), {
      a: [broken(), broken(), "A"],
      b: ["B"],
    })
    expect(status).toBe("completed")
    expect(agents).toEqual(["a", "a", "a", "b"])
    expect(prompts[3]).toContain("[a (agent: a)]:\nA\n")
  })

  test("fails the workflow if all attempts fail, and is off by default", async () => {
    const two = await play(step("{ max_attempts: 1, initial_delay_seconds: 0 }"), { a: [broken(), broken()] })
    expect(two).toMatchObject({ status: "failed", agents: ["a", "a"] })
    const none = await play(step("{ backoff: exponential }"), { a: [broken()] })
    expect(none).toMatchObject({ status: "failed", agents: ["a"] })
  })

  test("only for the errors that `on` names, by code or message, in any case", async () => {
    const text = step("{ max_attempts: 1, initial_delay_seconds: 0, on: [timeout, RATE_limit] }")
    expect((await play(text, { a: [broken("a Rate_Limit was hit"), "A"], b: ["B"] })).status).toBe(
      "completed",
    )
    expect(await play(text, { a: [broken("something else")] })).toMatchObject({
      status: "failed",
      agents: ["a"],
    })
  })

  test("never repeats an error that is not retryable, unless `on` names it", async () => {
    const plain = step("{ max_attempts: 2, initial_delay_seconds: 0 }")
    expect(await play(plain, { a: [refused()] })).toMatchObject({ status: "failed", agents: ["a"] })
    const named = step("{ max_attempts: 2, initial_delay_seconds: 0, on: boom }")
    const { status, agents } = await play(named, { a: [refused(), "A"], b: ["B"] })
    expect({ status, agents }).toEqual({ status: "completed", agents: ["a", "a", "b"] })
  })

  test.each([
    ["{ max_attempts: 3 }", [1_000, 1_000, 1_000]],
    ["{ max_attempts: 3, backoff: exponential }", [1_000, 2_000, 4_000]],
    ["{ max_attempts: 2, backoff: exponential, initial_delay_seconds: 0.5 }", [500, 1_000]],
  ])("%s waits", async (retry, waits) => {
    const clock = manualClock()
    const model = scriptedModel({ a: [...waits.map(() => broken()), "A"], b: ["B"] }, { clock })
    const run = load(step(retry), { model }).workflow.run("Go", { clock })
    for (const [i, wait] of waits.entries()) {
      await settled()
      expect(model.calls).toHaveLength(i + 1)
      await clock.advance(wait - 1)
      await settled()
      expect(model.calls).toHaveLength(i + 1)
      await clock.advance(1)
    }
    expect((await run.result).status).toBe("completed")
  })

  test("of a parallel block repeats the whole block, and a failed attempt writes nothing", async () => {
    const text = file(
      ["a", "b", "c", "d"],
      `
  - { type: agent, name: d }
  - type: parallel
    id: par
    retry: { max_attempts: 2, initial_delay_seconds: 0 }
    steps: [{ type: agent, name: a }, { type: agent, name: b }]
  - { type: agent, name: c }`,
    )
    const { status, agents, prompts, state } = await play(text, {
      a: ["a1", "a2"],
      b: [broken(), "b2"],
      c: ["C"],
      d: ["D"],
    })
    expect(status).toBe("completed")
    expect(agents).toEqual(["d", "a", "b", "a", "b", "c"])
    expect(prompts[1]).toContain("[d (agent: d)]:\nD\n\n--- End")
    expect(prompts[5]).toBe(`--- Prior Step Outputs ---

[d (agent: d)]:
D

[par/a (agent: a)]:
a2

[par/b (agent: b)]:
b2

--- End Prior Step Outputs ---

Go`)
    expect(JSON.stringify(state.steps)).not.toContain("a1")
  })

  test("of a parallel block depends on the error of the failed step", async () => {
    const text = file(
      ["a", "b"],
      `
  - type: parallel
    id: par
    retry: { max_attempts: 1, initial_delay_seconds: 0, on: [rate_limit] }
    steps: [{ type: agent, name: a }, { type: agent, name: b }]`,
    )
    const again = await play(text, { a: ["a1", "a2"], b: [broken("a Rate_Limit was hit"), "b2"] })
    expect(again).toMatchObject({ status: "completed", agents: ["a", "b", "a", "b"] })
    const once = await play(text, { a: ["a1"], b: [broken("something else")] })
    expect(once).toMatchObject({ status: "failed", agents: ["a", "b"] })
    expect(once.error?.message).toContain("something else")
  })

  test("of a block does not hide the errors of its steps", async () => {
    const text = (retry: string) =>
      file(
        ["a"],
        `
  - type: parallel
    id: par
    ${retry}
    steps:
      - { type: agent, name: a }
      - { type: condition, condition: "{{ $input }}", true: [{ id: b, type: agent, name: a }] }`,
      )
    const retry = "retry: { max_attempts: 1, initial_delay_seconds: 0 }"
    for (const block of [text(""), text(retry), text("timeout: 1h")]) {
      const { status, error } = await play(block, { a: [{ text: "A", repeat: true }] }, "maybe")
      expect(status).toBe("failed")
      expect(error).toMatchObject({
        code: "CONDITION_NOT_BOOLEAN",
        message: 'workflow: condition did not resolve to boolean: "maybe"',
      })
    }
  })

  test("of a nested block sees the same outputs in each attempt", async () => {
    const text = file(
      ["a", "b", "c", "d"],
      `
  - { type: agent, name: d }
  - type: parallel
    id: outer
    steps:
      - type: condition
        condition: "true"
        true:
          - { type: agent, name: c }
          - type: parallel
            id: inner
            retry: { max_attempts: 1, initial_delay_seconds: 0 }
            steps: [{ type: agent, name: a }, { type: agent, name: b }]
      - { id: other, type: agent, name: d }
  - { id: end, type: agent, name: d }`,
    )
    const { status, agents, prompts } = await play(text, {
      a: ["a1", "a2"],
      b: [broken(), "b2"],
      c: ["C"],
      d: ["d1", "d2", "d3"],
    })
    expect(status).toBe("completed")
    const seen = (i: number) => [...(prompts[i] as string).matchAll(/^\[(.*) \(/gm)].map(([, id]) => id)
    expect(seen(agents.lastIndexOf("a"))).toEqual(["d", "outer/c"])
    expect(seen(prompts.length - 1)).toEqual([
      "d",
      "outer/c",
      "outer/inner/a",
      "outer/inner/b",
      "outer/other",
    ])
  })
})

describe("a timeout", () => {
  test("of a step fails it, and allows a retry", async () => {
    const text = file(["a"], "\n  - { type: agent, name: a, timeout: 2, retry: { max_attempts: 1 } }")
    const clock = manualClock()
    const model = scriptedModel({ a: [{ text: "late", delay: 5_000 }, "A"] }, { clock })
    const run = load(text, { model }).workflow.run("Go", { clock })
    await settled()
    await clock.advance(2_000)
    await settled()
    await clock.advance(1_000)
    expect(await run.result).toMatchObject({ status: "completed", outputs: ["A"] })
    expect(asked(model).agents).toEqual(["a", "a"])
  })

  test("of a block fails it as a whole, in each attempt separately", async () => {
    const text = file(
      ["a", "b"],
      `
  - type: parallel
    id: par
    timeout: 3s
    retry: { max_attempts: 1, initial_delay_seconds: 0, on: TIMEOUT }
    steps: [{ type: agent, name: a }, { type: agent, name: b }]`,
    )
    const clock = manualClock()
    const model = scriptedModel(
      {
        a: ["a1", "a2"],
        b: [
          { text: "late", delay: 5_000 },
          { text: "b2", delay: 2_000 },
        ],
      },
      { clock },
    )
    const run = load(text, { model }).workflow.run("Go", { clock })
    await settled()
    await clock.advance(3_000)
    await settled()
    await clock.advance(2_000)
    expect(await run.result).toMatchObject({
      status: "completed",
      outputs: [{ steps: { a: { output: "a2" }, b: { output: "b2" } } }],
    })
    const late = scriptedModel({ a: ["a1"], b: [{ text: "late", delay: 5_000 }] }, { clock })
    const failing = load(text.replace(/ {4}retry.*\n/, ""), { model: late }).workflow.run("Go", { clock })
    await settled()
    await clock.advance(3_000)
    const { status, error } = await failing.result
    expect(status).toBe("failed")
    expect(late.calls.find(({ agent }) => agent === "b")?.options.abortSignal?.aborted).toBe(true)
    expect(error).toMatchObject({ code: "TIMEOUT", message: 'Step "par" took longer than 3000 ms.' })
  })
})
