import { describe, expect, onTestFinished, test, vi } from "vitest"
import { file, load, play } from "./steps.test-support.ts"

/** The prompt that an agent receives for a template, after steps of several kinds. */
async function promptFor(prompt: string, options: Parameters<typeof play>[3] = {}) {
  const text = `agents:
  a: { model: offline }
  reader: { model: offline }
  qa:
    model: offline
    structured_output:
      name: verdict
      schema: { type: object, properties: { ok: { type: boolean }, notes: { type: array, items: { type: string } } } }
workflow:
  - { id: gen, type: agent, name: a }
  - { id: check, type: agent, name: qa }
  - type: parallel
    id: par
    steps:
      - { id: x, type: agent, name: a }
      - { id: y, type: agent, name: qa }
  - { type: agent, name: reader, prompt: ${JSON.stringify(prompt)} }
`
  const script = {
    a: ['{"title": "Tea"}', "plain"],
    qa: [{ json: { ok: true, notes: ["n1", "n2"] } }, { json: { ok: false } }],
    reader: ["read"],
  }
  const { prompts, status, error } = await play(text, script, "Hello", options)
  if (status !== "completed") throw error
  return (prompts.at(-1) as string).split("--- End Prior Step Outputs ---\n\n")[1]
}

describe("templates", () => {
  test.each([
    ["{{ $steps.par.outputs.x.output }}", "plain"],
    ["{{ $steps.par.outputs[0].output }}", "plain"],
    ["{{ $steps.par.outputs[1].output.ok }}", "false"],
    ["{{ $steps.par.outputs[-1].agent }}", "qa"],
    ["{{ $steps.par.order }}", '["x","y"]'],
    [
      "{{ $steps.par.output }}",
      '{"steps":{"x":{"output":"plain","agent":"a"},"y":{"output":{"ok":false},"agent":"qa"}},"order":["x","y"]}',
    ],
    ["{{ $steps.check.output.notes[1] }} {{ $steps.check.output.ok }}", "n2 true"],
    ["{{ $steps.check.output }}", '{"ok":true,"notes":["n1","n2"]}'],
    ["{{ size($steps.check.output.notes) }}", "2"],
    ["{{ $steps.gen.agent }}", "a"],
    ["{{ $steps.gen.output.title }} of {{ $steps.gen.output }}", 'Tea of {"title": "Tea"}'],
    ["{{ size($steps) }}", "3"],
    ["<{{ $input }}>", "<Hello>"],
    ["{{ $steps.check.output.nothing.there }}.", "."],
    ["\\{{ $input }}", "{{ $input }}"],
  ])("%s", async (prompt, expected) => {
    expect(await promptFor(prompt)).toBe(expected)
  })

  test("read into text that is JSON, even without structured output", async () => {
    expect(await promptFor("{{ $steps.gen.output.title }}")).toBe("Tea")
    expect(await promptFor("{{ $steps.gen.output }}")).toBe('{"title": "Tea"}')
  })

  test("read into an input that is JSON", async () => {
    const text = `agents:
  a: { model: offline, instruction: "For {{ $input.customer.name }}" }
workflow:
  - { type: agent, name: a, prompt: "Order {{ $input.order }} of {{ $input.items[1] }}: {{ $input }}" }
`
    const input = '{"order": 7, "items": ["tea", "milk"], "customer": {"name": "Ada"}}'
    const { prompts, systems } = await play(text, { a: ["done"] }, input)
    expect(prompts.at(-1)).toContain(`Order 7 of milk: ${input}`)
    expect(systems).toEqual(["For Ada"])
  })

  test("count the steps that have an output, and read into the right one", async () => {
    const text = file(
      ["a", "reader"],
      `
  - type: parallel
    id: par
    steps:
      - { id: skipped, type: agent, name: a, when: "false" }
      - { id: x, type: agent, name: a }
      - { id: y, type: agent, name: a }
  - type: agent
    name: reader
    prompt: "{{ $steps.par.order }} {{ $steps.par.outputs[0].output.title }} {{ $steps.par.outputs[-1].output.title }} {{ $steps.par.outputs.x.output }}"`,
    )
    const { prompts } = await play(text, { a: ['{"title": "T1"}', '{"title": "T2"}'], reader: ["R"] })
    expect(prompts[2]).toMatch(/\["x","y"\] T1 T2 \{"title": "T1"\}$/)
  })

  test("treat null as no answer if the agent's data is null", async () => {
    const text = `agents:
  a: { model: offline, structured_output: { name: maybe, schema: { type: [boolean, "null"] } } }
  b: { model: offline }
workflow:
  - { type: agent, name: a }
  - { type: agent, name: b, when: "{{ $steps.a.output }}" }
`
    expect(await play(text, { a: [{ text: "null" }] })).toMatchObject({ status: "completed", agents: ["a"] })
  })

  test("name steps by any id", async () => {
    const text = file(
      ["a", "reader"],
      `
  - { id: 'Größe "x"', type: agent, name: a }
  - { id: constructor, type: agent, name: a }
  - type: agent
    name: reader
    prompt: "{{ $steps['Größe \\"x\\"'].output }} {{ $steps.constructor.output }}"`,
    )
    const { prompts } = await play(text, { a: ["one", "two"], reader: ["R"] })
    expect(prompts[2]).toContain('[Größe "x" (agent: a)]:\none')
    expect(prompts[2]).toMatch(/one two$/)
  })

  test("see the run, the environment and variables", async () => {
    expect(await promptFor("{{ $run.id }}")).toMatch(/^[0-9a-f-]{36}$/)
    vi.stubEnv("STEPS_TEST_CITY", "Ulm")
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await promptFor("{{ $env.STEPS_TEST_CITY }}|{{ $env.STEPS_TEST_NOBODY }}")).toBe("Ulm|")
    expect(await promptFor("{{ $vars.tone }}", { variables: { tone: "dry" } })).toBe("dry")
  })

  test("are filled in instructions, for the step that runs the agent", async () => {
    const text = `agents:
  a: { model: offline, instruction: "Before: {{ $steps.first.output }}; asked: {{ $input }}" }
workflow:
  - { id: first, type: agent, name: a }
  - { id: second, type: agent, name: a }
`
    const { systems } = await play(text, { a: ["one", "two"] }, "Hi")
    expect(systems).toEqual(["Before: ; asked: Hi", "Before: one; asked: Hi"])
  })

  test("in instructions see the outputs of their branch, also in sub-agents of the step's agent", async () => {
    const text = `agents:
  boss: { model: offline, sub_agents: [helper] }
  helper: { model: offline, instruction: "Known: {{ $steps.a.output }}" }
  a: { model: offline }
workflow:
  - { type: agent, name: a }
  - { type: agent, name: boss }
`
    const { systems, status } = await play(text, {
      a: ["A"],
      boss: [{ tool_calls: [{ name: "transfer_task", args: { agent: "helper", task: "Help" } }] }, "done"],
      helper: ["helped"],
    })
    expect(status).toBe("completed")
    expect(systems).toContain("Known: A")
  })

  test("of other tools stay text in instructions", () => {
    const text =
      'agents:\n  a: { model: offline, instruction: "Write {{name}}" }\nworkflow: [{ type: agent, name: a }]\n'
    expect(load(text).code).toContain('instructions: "Write {{name}}"')
  })

  test("refer to a step in the same block by its id alone", async () => {
    const text = file(
      ["a", "b", "c"],
      `
  - type: parallel
    id: par
    steps:
      - type: condition
        condition: "true"
        true: [{ type: agent, name: a }, { type: agent, name: b, prompt: "Was {{ $steps.a.output }}" }]
      - { type: agent, name: c }`,
    )
    const { agents, prompts } = await play(text, { a: ["A"], b: ["B"], c: ["C"] })
    expect(prompts[agents.indexOf("b")]).toMatch(/Was A$/)
  })
})

describe("conditions", () => {
  const text = (condition: string) =>
    file(
      ["a", "yes", "no"],
      `
  - { type: agent, name: a }
  - type: condition
    condition: ${JSON.stringify(condition)}
    true: [{ type: agent, name: yes }]
    false: [{ type: agent, name: no }]`,
    )
  const way = async (condition: string, answer = "x") =>
    await play(text(condition), { a: [answer], yes: ["y"], no: ["n"] })

  test.each(["true", "TRUE", " Yes ", "1", "\tyes\n"])("%j is true", async (answer) => {
    expect((await way("{{ $steps.a.output }}", answer)).agents[1]).toBe("yes")
  })

  test.each([
    ["condition: true", "yes"],
    ["condition: 1", "yes"],
    ["condition: 0", "no"],
    ["condition: No", "no"],
  ])("written as a bare word or number: %s", async (written, expected) => {
    const bare = text("true").replace('condition: "true"', written)
    expect((await play(bare, { a: ["x"], yes: ["y"], no: ["n"] })).agents[1]).toBe(expected)
  })

  test.each(["false", "No", "0", "  ", " FALSE"])("%j is false", async (answer) => {
    expect((await way("{{ $steps.a.output }}", answer)).agents[1]).toBe("no")
  })

  test.each([
    ["$steps.a.output == 'x'", "yes"],
    ["{{ $steps.a.output != 'x' }}", "no"],
    ["$steps.a.output.startsWith('x') && size($input) == 2", "yes"],
    ["not ($steps.a.output in ['x', 'y'])", "no"],
    ["{{ $steps.a.output.missing.path }}", "no"],
    ["true", "yes"],
  ])("%s", async (condition, expected) => {
    expect((await way(condition)).agents[1]).toBe(expected)
  })

  test("anything else fails, with its value in the message", async () => {
    const { status, error, agents } = await way("{{ $steps.a.output }}", "maybe")
    expect(status).toBe("failed")
    expect(error?.message).toBe('workflow: condition did not resolve to boolean: "maybe"')
    expect(agents).toEqual(["a"])
  })

  test("without a matching branch continue; at the end the run's output is that of the last step", async () => {
    const open = file(
      ["a"],
      '\n  - { type: agent, name: a }\n  - { type: condition, condition: "false", true: [] }',
    )
    expect((await play(open, { a: ["A"] })).outputs).toEqual(["A"])
    const alone = file(
      ["a"],
      "\n  - { type: condition, condition: \"$input == 'x'\", true: [{ type: agent, name: a }] }",
    )
    expect(await play(alone, { a: ["A"] }, "y")).toMatchObject({
      status: "completed",
      outputs: [],
      undelivered: [],
    })
  })

  test("branches continue after the condition", async () => {
    const { agents } = await play(
      file(
        ["a", "b", "c"],
        `
  - { type: condition, condition: "true", true: [{ type: agent, name: a }], false: [{ type: agent, name: b }] }
  - { type: agent, name: c }`,
      ),
      { a: ["A"], c: ["C"] },
    )
    expect(agents).toEqual(["a", "c"])
  })

  test("`when` runs or skips a step", async () => {
    const optional = file(
      ["a", "b", "c"],
      `
  - { type: agent, name: a }
  - { type: agent, name: b, when: "{{ $steps.a.output }}" }
  - { type: agent, name: c }`,
    )
    expect((await play(optional, { a: ["yes"], b: ["B"], c: ["C"] })).agents).toEqual(["a", "b", "c"])
    expect((await play(optional, { a: ["no"], c: ["C"] })).agents).toEqual(["a", "c"])
    const off = optional.replace('when: "{{ $steps.a.output }}"', "when: false")
    expect((await play(off, { a: ["A"], c: ["C"] })).agents).toEqual(["a", "c"])
  })
})
