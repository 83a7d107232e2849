import { describe, expect, test } from "vitest"
import { file, LOOP, load, play } from "./steps.test-support.ts"

const no = { json: { is_approved: false } }
const yes = { json: { is_approved: true } }

describe("a condition that refers to a later step, and a branch that loops back", () => {
  test("runs gen, trans, qa, trans, qa, publisher", async () => {
    const { status, outputs, agents, prompts } = await play(LOOP, {
      generator: ["text"],
      translator: ["one", "two"],
      qa_agent: [{ text: '{ "is_approved": false }' }, yes],
      publisher: ["done"],
    })
    expect(status).toBe("completed")
    expect(agents).toEqual(["generator", "translator", "qa_agent", "translator", "qa_agent", "publisher"])
    expect(outputs).toEqual(["done"])
    expect(prompts[3]).toBe(`--- Prior Step Outputs ---

[gen (agent: generator)]:
text

[trans (agent: translator)]:
one

[qa (agent: qa_agent)]:
{ "is_approved": false }

--- End Prior Step Outputs ---

Go`)
    // Only the latest output of every step.
    expect(prompts[4]).toContain("[trans (agent: translator)]:\ntwo\n\n[qa")
    expect(prompts[4]).not.toContain("one")
  })

  test("a step may run up to the limit; the next time fails", async () => {
    const [head = "", steps = ""] = LOOP.split("workflow:\n")
    const text = `${head}workflow:\n  max_loop_iterations: 3\n  steps:\n${steps.trimEnd().replace(/^/gm, "  ")}\n`
    const { status, error, agents } = await play(text, {
      generator: ["text"],
      translator: ["1", "2", "3"],
      qa_agent: [no, no, no],
    })
    expect(status).toBe("failed")
    expect(error?.code).toBe("MAX_LOOP_ITERATIONS")
    expect(error?.message).toBe("workflow: max loop iterations exceeded (step: trans, limit: 3)")
    expect(agents.filter((name) => name === "translator")).toHaveLength(3)
    const more = text.replace(
      "max_loop_iterations: 3",
      "max_loop_iterations: 3\n  overrides: { max_loop_iterations: 4 }",
    )
    const again = await play(more, {
      generator: ["text"],
      translator: ["1", "2", "3", "4"],
      qa_agent: [no, no, no, yes],
      publisher: ["done"],
    })
    expect(again.status).toBe("completed")
  })

  test("the default limit is 100", async () => {
    const { error, agents } = await play(LOOP, {
      generator: ["text"],
      translator: [{ text: "x", repeat: true }],
      qa_agent: [{ json: { is_approved: false }, repeat: true }],
    })
    expect(error?.message).toBe("workflow: max loop iterations exceeded (step: trans, limit: 100)")
    expect(agents.filter((name) => name === "translator")).toHaveLength(100)
  })

  test("loop: false makes it a plain step", async () => {
    const { agents } = await play(
      LOOP.replace("id: back_to_trans", "id: back_to_trans\n        loop: false"),
      {
        generator: ["text"],
        translator: ["one", "two"],
        qa_agent: [no],
      },
    )
    expect(agents).toEqual(["generator", "translator", "qa_agent", "translator"])
  })

  test("an agent that two earlier steps run is a plain step too", async () => {
    const text = file(
      ["a", "b"],
      `
  - { type: agent, name: a }
  - { type: agent, name: a }
  - { type: condition, condition: "false", false: [{ type: agent, name: a }] }`,
    )
    expect((await play(text, { a: ["1", "2", "3"] })).outputs).toEqual(["3"])
  })

  test("the id of the step that loops back is an alias for its target", async () => {
    const text = LOOP.replace(
      "publisher: { model: offline }",
      'publisher: { model: offline, instruction: "Print: {{ $steps.back_to_trans.output }}" }',
    )
    const { systems } = await play(text, {
      generator: ["text"],
      translator: ["one", "two"],
      qa_agent: [no, yes],
      publisher: ["done"],
    })
    expect(systems.at(-1)).toBe("Print: two")
  })
})

describe("goto", () => {
  const counted = (target: string | number) =>
    file(
      ["a", "b", "c"],
      `
  - { id: first, type: agent, name: a }
  - { id: second, type: agent, name: b }
  - type: condition
    condition: "{{ $steps.second.output == 'again' }}"
    true: [{ goto: ${target} }]
  - { type: agent, name: c }`,
    )

  test("leads to a step by its id", async () => {
    const { agents } = await play(counted("second"), { a: ["x"], b: ["again", "ok"], c: ["end"] })
    expect(agents).toEqual(["a", "b", "b", "c"])
  })

  test("leads to a step by its index in the list", async () => {
    const { agents } = await play(counted(0), { a: ["x", "y"], b: ["again", "ok"], c: ["end"] })
    expect(agents).toEqual(["a", "b", "a", "b", "c"])
  })

  test("leads forward over other steps, if its condition holds", async () => {
    const text = file(
      ["a", "b", "c"],
      `
  - { type: agent, name: a }
  - { goto: c, when: "{{ $steps.a.output == 'skip' }}" }
  - { type: agent, name: b }
  - { type: agent, name: c }`,
    )
    expect((await play(text, { a: ["skip"], c: ["end"] })).agents).toEqual(["a", "c"])
    expect((await play(text, { a: ["stay"], b: ["x"], c: ["end"] })).agents).toEqual(["a", "b", "c"])
  })

  test("restarts the count if the loop is entered from outside again", async () => {
    const text = file(
      ["a", "b", "c"],
      `
  max_loop_iterations: 2
  steps:
    - { type: agent, name: a }
    - { type: agent, name: b }
    - { type: condition, condition: "{{ $steps.b.output == 'again' }}", true: [{ goto: b }] }
    - { type: agent, name: c }
    - { type: condition, condition: "{{ $steps.c.output == 'again' }}", true: [{ goto: a }] }`,
    )
    const { status, agents, outputs } = await play(text, {
      a: ["1", "2"],
      b: ["again", "ok", "again", "ok"],
      c: ["again", "fine"],
    })
    expect(status).toBe("completed")
    expect(agents.join("")).toBe("abbcabbc")
    expect(outputs).toEqual(["fine"])
  })

  test("is not limited by the engine's limits of a run", () => {
    expect(load(LOOP).workflow.program.graph.spec.limits).toEqual({ supersteps: 1_000_000 })
  })
})

describe("a goto to a step that needs a later one", () => {
  const needing = (target: string | number) => `agents:
  gen: { model: offline }
  fix: { model: offline }
  judge: { model: offline }
  end: { model: offline }
workflow:
  - { type: agent, name: gen }
  - id: check
    type: condition
    condition: "{{ $steps.qa.output }}"
    false: [{ type: agent, name: fix }, { goto: ${target} }]
  - { id: qa, type: agent, name: judge }
  - { type: agent, name: end }
`
  const script = { gen: ["G"], fix: ["F1", "F2"], judge: ["no", "no", "yes"], end: ["E"] }

  test.each(["check", 1])(
    "%s: the later step runs again before the condition is evaluated",
    async (target) => {
      const { agents, status } = await play(needing(target), script)
      expect(status).toBe("completed")
      expect(agents).toEqual(["gen", "judge", "fix", "judge", "fix", "judge", "end"])
    },
  )

  test("also if a `when` needs it", async () => {
    const text = file(
      ["a", "b", "judge"],
      `
  - { type: agent, name: a }
  - { id: maybe, type: agent, name: b, when: "$steps.qa.output == 'more'" }
  - { type: condition, condition: "$steps.qa.output == 'more'", true: [{ goto: maybe }] }
  - { id: qa, type: agent, name: judge }`,
    )
    const { agents } = await play(text, { a: ["A"], b: ["B"], judge: ["more", "enough"] })
    expect(agents).toEqual(["a", "judge", "b", "judge"])
  })
})

test("a loop in a map names the step of the item that exceeded the limit", async () => {
  const text = file(
    ["a"],
    `
  max_loop_iterations: 2
  steps:
    - id: each
      type: map
      over: "['once', 'ever']"
      steps:
        - { id: try, type: agent, name: a, prompt: "{{ $item }}" }
        - { type: condition, condition: "$item == 'ever'", true: [{ goto: try }] }`,
  )
  const { error } = await play(text, { a: [{ text: "x", repeat: true }] })
  expect(error?.message).toBe("workflow: max loop iterations exceeded (step: each/1/try, limit: 2)")
})
