import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { manualClock, settled } from "../../testing/index.ts"
import { asked, file, load, play, outputs as stepOutputs } from "./steps.test-support.ts"

const PARALLEL = file(
  ["generator", "translator"],
  `
  - type: parallel
    id: par_gen
    steps:
      - { id: gen_1, type: agent, name: generator }
      - { id: gen_2, type: agent, name: generator }
  - { type: agent, name: translator }`,
)

describe("a parallel block", () => {
  test("waits for all, and the next step sees their outputs under the ids of the block", async () => {
    const { prompts, outputs } = await play(
      PARALLEL,
      { generator: ["one", "two"], translator: ["both"] },
      "Hi",
    )
    expect(prompts.slice(0, 2)).toEqual(["Hi", "Hi"])
    expect(prompts[2]).toBe(`--- Prior Step Outputs ---

[par_gen/gen_1 (agent: generator)]:
one

[par_gen/gen_2 (agent: generator)]:
two

--- End Prior Step Outputs ---

Hi`)
    expect(outputs).toEqual(["both"])
  })

  test("has its own output: by id, with the order of definition", async () => {
    const last = PARALLEL.replace("  - { type: agent, name: translator }\n", "")
    const { outputs } = await play(last, { generator: ["one", "two"] })
    expect(outputs).toEqual([
      {
        steps: {
          gen_1: { output: "one", agent: "generator" },
          gen_2: { output: "two", agent: "generator" },
        },
        order: ["gen_1", "gen_2"],
      },
    ])
  })

  test("its steps see the outputs from before it, and those of their own branch", async () => {
    const text = file(
      ["a", "b", "c", "d", "e"],
      `
  - { type: agent, name: a }
  - type: parallel
    id: par
    steps:
      - type: condition
        condition: "true"
        true: [{ type: agent, name: b }, { type: agent, name: c }]
      - { type: agent, name: d }
  - { type: agent, name: e }`,
    )
    const model = scriptedModel({ a: ["A"], b: ["B"], c: ["C"], d: ["D"], e: ["E"] })
    await load(text, { model }).workflow.run("Go")
    const { agents, prompts } = asked(model)
    const seen = (name: string) =>
      [...(prompts[agents.indexOf(name)] as string).matchAll(/^\[(.*) \(/gm)].map(([, id]) => id)
    expect(seen("b")).toEqual(["a"])
    expect(seen("c")).toEqual(["a", "par/b"])
    expect(seen("d")).toEqual(["a"])
    expect(seen("e")).toEqual(["a", "par/b", "par/c", "par/d"])
  })

  test("can be nested to any depth", async () => {
    const text = file(
      ["generator", "researcher", "summarizer", "publisher"],
      `
  - type: parallel
    id: outer
    steps:
      - { type: agent, name: generator }
      - type: parallel
        id: inner
        steps:
          - { type: agent, name: researcher }
          - { type: agent, name: summarizer }
  - { type: agent, name: publisher, prompt: "{{ $steps.outer.outputs.inner.outputs.researcher.output }}!" }`,
    )
    const { prompts, state } = await play(text, {
      generator: ["G"],
      researcher: ["R"],
      summarizer: ["S"],
      publisher: ["P"],
    })
    expect(prompts[3]).toBe(`--- Prior Step Outputs ---

[outer/generator (agent: generator)]:
G

[outer/inner/researcher (agent: researcher)]:
R

[outer/inner/summarizer (agent: summarizer)]:
S

--- End Prior Step Outputs ---

R!`)
    expect(stepOutputs(state)).toEqual({
      "outer/generator": "G",
      "outer/inner/researcher": "R",
      "outer/inner/summarizer": "S",
      publisher: "P",
    })
  })

  test("has its steps in the order of definition, even if their ids are numbers", async () => {
    const text = file(
      ["a", "b"],
      `
  - type: parallel
    id: par
    steps: [{ id: "2", type: agent, name: a }, { id: "1", type: agent, name: a }]
  - { type: agent, name: b, prompt: "{{ $steps.par.order }} {{ $steps.par.outputs[0].output }}" }`,
    )
    const { prompts } = await play(text, { a: ["two", "one"], b: ["B"] })
    expect(prompts[2]).toMatch(/\["2","1"\] two$/)
    const last = text.replace(/ {2}- \{ type: agent, name: b.*\n/, "")
    expect((await play(last, { a: ["two", "one"] })).outputs).toMatchObject([{ order: ["2", "1"] }])
  })

  test("with one step is that step", async () => {
    const text = file(["a"], "\n  - { type: parallel, id: par, steps: [{ type: agent, name: a }] }")
    const { outputs } = await play(text, { a: ["A"] })
    expect(outputs).toEqual([{ steps: { a: { output: "A", agent: "a" } }, order: ["a"] }])
  })

  test("runs again as a whole in a loop", async () => {
    const text = file(
      ["a", "b", "c"],
      `
  - type: parallel
    id: par
    steps: [{ type: agent, name: a }, { type: agent, name: b }]
  - { type: agent, name: c }
  - { type: condition, condition: "{{ $steps.c.output == 'again' }}", true: [{ goto: par }] }`,
    )
    const { agents, prompts, outputs } = await play(text, {
      a: ["a1", "a2"],
      b: ["b1", "b2"],
      c: ["again", "ok"],
    })
    expect(agents.join("")).toBe("abcabc")
    expect(prompts[5]).toContain(
      "[par/a (agent: a)]:\na2\n\n[par/b (agent: b)]:\nb2\n\n[c (agent: c)]:\nagain",
    )
    expect(outputs).toEqual(["ok"])
  })

  test("is skipped if its `when` is false", async () => {
    const text = PARALLEL.replace("id: par_gen", "id: par_gen\n    when: \"$input == 'now'\"")
    expect((await play(text, { translator: ["x"] }, "later")).agents).toEqual(["translator"])
    expect((await play(text, { generator: ["1", "2"], translator: ["x"] }, "now")).agents).toHaveLength(3)
  })
})

describe("a failure in a parallel block", () => {
  const broken = { error: { code: 400, message: "no such thing" } }

  test("fails the workflow: siblings are aborted, and nothing after it runs", async () => {
    const model = scriptedModel({
      generator: [broken, { text: "never", delay: 1_000_000 }],
      translator: ["no"],
    })
    const { status, error } = await load(PARALLEL, { model }).workflow.run("Go").result
    expect(status).toBe("failed")
    expect(error?.node).toBe("par_gen/gen_1")
    expect(asked(model).agents).toEqual(["generator", "generator"])
    expect(model.calls[1]?.options.abortSignal?.aborted).toBe(true)
  })

  test("also aborts siblings in nested blocks", async () => {
    const text = file(
      ["a", "b", "c"],
      `
  - type: parallel
    id: outer
    retry: { max_attempts: 1, on: [something else] }
    steps:
      - { type: agent, name: a }
      - type: parallel
        id: inner
        timeout: 1h
        steps: [{ type: agent, name: b }, { type: agent, name: c }]`,
    )
    const late = { text: "never", delay: 1_000_000 }
    const clock = manualClock()
    const model = scriptedModel({ a: [{ ...broken, delay: 5 }], b: [late], c: [late] }, { clock })
    const run = load(text, { model }).workflow.run("Go", { clock })
    await settled()
    await clock.advance(5)
    expect((await run.result).status).toBe("failed")
    const calls = model.calls.map(({ agent, options }) => [agent, options.abortSignal?.aborted])
    expect(calls).toEqual([
      ["a", expect.anything()],
      ["b", true],
      ["c", true],
    ])
  })

  test("with on_error: continue lets the others continue", async () => {
    const text = PARALLEL.replace("id: par_gen", "id: par_gen\n    on_error: continue")
    const { status, prompts } = await play(text, {
      generator: [broken, "two"],
      translator: ["one is enough"],
    })
    expect(status).toBe("completed")
    expect(prompts[2]).toContain("[par_gen/gen_2 (agent: generator)]:\ntwo\n\n--- End")
    expect(prompts[2]).not.toContain("gen_1")
  })

  test("with on_error: continue, a branch of several steps, or of blocks, fails as one", async () => {
    const text = file(
      ["a", "b", "c", "d"],
      `
  - type: parallel
    id: par
    on_error: continue
    steps:
      - type: condition
        id: cond
        condition: "true"
        true: [{ type: agent, name: a }, { type: agent, name: b }]
      - type: parallel
        id: inner
        steps: [{ type: agent, name: c }, { type: agent, name: a }]
  - { type: agent, name: d }`,
    )
    const failed = await play(text, { a: ["a1", "a2"], b: [broken], c: ["C"], d: ["D"] })
    expect(failed.status).toBe("completed")
    expect(failed.prompts.at(-1)).not.toContain("par/b")
    expect(failed.prompts.at(-1)).toContain("[par/inner/c (agent: c)]:\nC")
    const fine = await play(text, { a: ["a1", "a2"], b: ["B"], c: ["C"], d: ["D"] })
    expect([...(fine.prompts.at(-1) as string).matchAll(/^\[(.*) \(/gm)].map(([, id]) => id)).toEqual([
      "par/a",
      "par/b",
      "par/inner/c",
      "par/inner/a",
    ])
  })

  test("a single step with on_error: continue is skipped", async () => {
    const text = file(
      ["a", "b"],
      `
  - { type: agent, name: a, on_error: continue }
  - { type: agent, name: b }`,
    )
    const { prompts, outputs } = await play(text, { a: [broken], b: ["B"] }, "Hello")
    expect(prompts[1]).toBe("Hello")
    expect(outputs).toEqual(["B"])
    const last = file(
      ["a", "b"],
      "\n  - { type: agent, name: b }\n  - { type: agent, name: a, on_error: continue }",
    )
    expect((await play(last, { a: [broken], b: ["B"] })).outputs).toEqual(["B"])
  })
})
