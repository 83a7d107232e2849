import { describe, expect, test } from "vitest"
import { file, problemsOf, tryLoad } from "./steps.test-support.ts"

const agents = "agents:\n  writer: { model: offline }\n  reader: { model: offline }\n"
const problems = (workflow: string) => problemsOf(`${agents}workflow:\n${workflow}`)

describe("problems of a steps file are reported with their positions", () => {
  test.each([["workflow: []"], ["workflow: { steps: [] }"], ["workflow:"]])("%s: no steps", (workflow) => {
    expect(problemsOf(`${agents}${workflow}\n`)).toEqual([
      "NO_STEPS 4:1 workflow: no steps configured".replace("4:1", workflow === "workflow:" ? "4:1" : "4:11"),
    ])
  })

  test("types, names and fields of steps, all at once", () => {
    const found = problems(`  - { type: agent }
  - { type: agent, name: writter }
  - { type: condition, true: [{ type: agent, name: nobody_like_this }] }
  - { type: agnet, name: writer }
  - { name: writer }
  - type: parallel
    id: par
    steps:
      - { type: agent, name: x }
      - { type: parallel }
  - { type: agent, name: writer, choices: [a] }
  - { type: human }
  - { type: tool, tool: x }
  - { type: workflow }
  - { type: map, over: $input }
`)
    expect(found).toEqual([
      "MISSING_FIELD 5:5 workflow step[0]: agent step requires name",
      'UNKNOWN_AGENT 6:26 workflow step[1]: agent "writter" not found in agents (writer?)',
      "MISSING_FIELD 7:5 workflow step[2]: condition step requires condition",
      'UNKNOWN_AGENT 7:52 workflow step[2].true[0]: agent "nobody_like_this" not found in agents',
      'UNKNOWN_TYPE 8:13 workflow step[3]: unknown type "agnet" (agent?)',
      'UNKNOWN_TYPE 9:5 workflow step[4]: unknown type ""',
      'UNKNOWN_AGENT 13:30 workflow step[5].steps[0]: agent "x" not found in agents',
      "MISSING_FIELD 14:9 workflow step[5].steps[1]: parallel step requires steps",
      'FIELD_NOT_FOR_TYPE 15:34 workflow step[6]: an agent step has no "choices"',
      "MISSING_FIELD 16:5 workflow step[7]: human step requires prompt",
      "MISSING_FIELD 17:5 workflow step[8]: tool step requires toolset or agent",
      "MISSING_FIELD 18:5 workflow step[9]: workflow step requires file",
      "MISSING_FIELD 19:5 workflow step[10]: map step requires step or steps",
    ])
  })

  test("an unknown field", () => {
    expect(problems("  - { type: agent, name: writer, promt: x }\n")[0]).toMatch(
      /^UNKNOWN_FIELD 5:34 .*\(prompt\?\)$/,
    )
  })

  test("a pattern in a schema that has no linear-time match, wherever the schema is", () => {
    const found = problemsOf(`agents:
  writer:
    model: offline
    structured_output:
      name: out
      schema: { type: object, properties: { a: { type: string, pattern: "(?<=x)y" } } }
    toolsets:
      - type: script
        shell: { go: { cmd: echo, args: { b: { type: string, pattern: "(a)\\\\1" } } } }
workflow:
  - type: human
    prompt: Which?
    schema: { type: object, patternProperties: { "a(?=b)": { type: string } } }
`)
    expect(found).toEqual([
      expect.stringMatching(/^SCHEMA_INVALID 9:71 the argument "b" of the tool "go": the pattern .*back-ref/),
      expect.stringMatching(/^SCHEMA_INVALID 6:73 the structured_output of agent "writer": .*look-around/),
      expect.stringMatching(/^SCHEMA_INVALID 13:50 workflow step\[0\]: the schema of the answer: .*look-/),
    ])
  })

  test("a duplicate id, with both positions", () => {
    expect(
      problems("  - { id: a, type: agent, name: writer }\n  - { id: a, type: agent, name: reader }\n"),
    ).toEqual(['DUPLICATE_STEP 6:11 workflow step[1]: the id "a" is already used at line 5, column 11'])
    expect(problems("  - { id: a/b, type: agent, name: writer }\n")[0]).toMatch(/^STEP_ID_INVALID 5:11/)
  })

  test("templates that refer to nothing, at their position in the text", () => {
    const found = problemsOf(`agents:
  writer:
    model: offline
    instruction: |
      Write.
      Use {{ $steps.redaer.output }}.
  reader: { model: offline }
workflow:
  - { type: agent, name: writer, prompt: "About {{ $steps.nobody.output }} and {{ $inputt }}" }
  - { type: agent, name: reader, when: "{{ $steps.writer.ouput }}" }
  - { type: parallel, id: par, steps: [{ id: x, type: agent, name: reader }] }
  - { id: r2, type: agent, name: reader, prompt: "{{ $steps.par.outputs.y.output }} {{ $steps.x.output }}" }
  - { id: r3, type: agent, name: reader, prompt: "{{ $vars.tone }} {{ $item }} {{ $run.name }} {{ unclosed" }
`)
    expect(found).toEqual([
      'UNKNOWN_STEP 9:52 There is no step "nobody".',
      "UNKNOWN_NAME 9:83 There is no $inputt; use one of $steps, $input, $env, $run, $vars, $item, $index. ($input?)",
      'UNKNOWN_NAME 10:44 Step "writer" has no "ouput"; it has output, agent. (output?)',
      'UNKNOWN_STEP 12:54 There is no step "y" in "par".',
      'UNKNOWN_STEP 12:88 There is no step "x". ($steps.par.outputs.x?)',
      expect.stringMatching(/^EXPRESSION_INVALID 13:/),
      'UNKNOWN_STEP 6:14 There is no step "redaer". (reader?)',
    ])
  })

  test("outputs of a block by an index that is out of range", () => {
    const found = problems(`  - type: parallel
    id: par
    steps:
      - { id: x, type: agent, name: writer }
      - { type: condition, condition: "true", true: [{ id: y, type: agent, name: reader }] }
  - { id: r0, type: agent, name: reader, prompt: "{{ $steps.par.outputs[1].output }} {{ $steps.par.outputs[-2].output }}" }
  - { id: r1, type: agent, name: reader, prompt: "{{ $steps.par.outputs[2].output }}" }
  - { id: r2, type: agent, name: reader, prompt: "{{ $steps.par.outputs[-3].output }}" }
  - { id: r3, type: agent, name: reader, prompt: "{{ $steps.par.outputs[0].ouput }}" }
`)
    expect(found).toEqual([
      'UNKNOWN_STEP 11:54 There is no output 2 in "par"; it has 2, numbered from 0.',
      'UNKNOWN_STEP 12:54 There is no output -3 in "par"; it has 2, numbered from 0.',
      'UNKNOWN_NAME 13:54 Step "par/x" has no "ouput"; it has output, agent. (output?)',
    ])
  })

  test("a step in a map from outside, where only the map's items are visible", () => {
    expect(
      problems(`  - { id: each, type: map, over: "[1]", steps: [{ id: x, type: agent, name: writer }] }
  - { type: agent, name: reader, prompt: "{{ $steps.x.output }}" }
`),
    ).toEqual(['UNKNOWN_STEP 6:46 There is no step "x". ($steps.each?)'])
  })

  test("every step may have an id, retries, a time limit and a `when`", () => {
    const every = "id: ID, retry: { max_attempts: 1 }, timeout: 5, when: true"
    const steps = [
      "type: agent, name: writer",
      'type: condition, condition: "true", true: [{ type: agent, name: reader }]',
      "type: parallel, steps: [{ type: agent, name: reader }]",
      "type: human, prompt: Well?",
      "type: wait, signal: paid",
      "type: tool, tool: think, toolset: { type: think }",
      'type: map, over: "[1]", step: { type: agent, name: reader }',
      "type: team, mode: sequential, agents: [writer, reader]",
      "goto: end",
      "type: agent, name: writer",
    ]
    const list = steps.map((step, i) => `  - { ${step}, ${every.replace("ID", i === 9 ? "end" : `s${i}`)} }`)
    expect(problems(`${list.join("\n")}\n`)).toEqual([])
  })

  test("a path into plain text is a warning, and so is one that the schema does not have", () => {
    const found = problemsOf(`agents:
  writer: { model: offline }
  judge: { model: offline, structured_output: { name: v, schema: { type: object, properties: { good: {} } } } }
workflow:
  - { type: agent, name: writer }
  - { type: agent, name: judge }
  - { type: condition, condition: "$steps.writer.output.ok && $steps.judge.output.goood" }
`)
    expect(found).toEqual([
      'OUTPUT_NOT_STRUCTURED 7:36 The agent of step "writer" has no structured_output: "ok" exists only if its answer happens to be JSON.',
      'OUTPUT_UNKNOWN 7:63 The structured_output of step "judge" has no "goood"; it has good. (good?)',
    ])
  })

  test("gotos to missing steps, out of a block, or in a circle", () => {
    expect(problems("  - { type: agent, name: writer }\n  - { goto: writr }\n")).toEqual([
      'UNKNOWN_STEP 6:13 workflow step[1]: there is no step "writr" (writer?)',
    ])
    expect(problems("  - { type: agent, name: writer }\n  - { goto: 7 }\n")).toEqual([
      "UNKNOWN_STEP 6:13 workflow step[1]: there is no step 7",
    ])
    expect(
      problems(`  - { type: agent, name: writer }
  - type: parallel
    steps:
      - { type: condition, condition: "true", true: [{ goto: writer }] }
`),
    ).toEqual([
      'GOTO_INVALID 8:62 workflow step[1].steps[0].true[0]: "writer" is in another block, which a goto cannot enter',
    ])
    expect(problems("  - { id: a, goto: b }\n  - { id: b, goto: a }\n")[0]).toMatch(/^LOOP_WITHOUT_END/)
    expect(problems("  - { id: a, goto: a }\n")[0]).toMatch(/^LOOP_WITHOUT_END/)
    expect(problems("  - { type: agent, name: writer }\n  - { goto: writer }\n")[0]).toMatch(
      /^LOOP_WITHOUT_END 5:5 workflow step\[0\]: the loop that starts at step "writer" never ends/,
    )
  })

  test("thousands of steps that each need the next, or lead to it, are valid", () => {
    const steps = Array.from({ length: 1_000 }, (_, i) => {
      const when = `$steps.s${i + 1}.output == 'x'`
      return { id: `s${i}`, type: "human", prompt: "Well?", ...(i < 999 ? { when } : {}) }
    })
    const ways = Array.from({ length: 1_000 }, (_, i) => ({
      id: `g${i}`,
      goto: i < 999 ? `g${i + 1}` : "s0",
    }))
    const found = problemsOf(JSON.stringify({ workflow: [...ways, ...steps] }))
    expect(found).toEqual([])
  })

  test("an unreachable step is a warning", () => {
    const found = problems(`  - { type: agent, name: writer }
  - { goto: end }
  - { id: never, type: agent, name: reader }
  - { id: end, type: agent, name: reader }
`)
    expect(found).toEqual([
      'UNREACHABLE_STEP 7:5 workflow step[2]: step "never" is unreachable and never runs',
    ])
  })

  test("a step that loops back has no fields of its own", () => {
    expect(
      problemsOf(
        file(
          ["a"],
          `
  - { type: agent, name: a }
  - { type: condition, condition: "$steps.a.output == 'x'", true: [{ type: agent, name: a, prompt: Again }] }`,
        ),
      ),
    ).toEqual([
      'LOOP_BACK 5:92 workflow step[1].true[0]: this step loops back to "a", so its "prompt" has no effect; set loop: false to make it a separate step',
    ])
  })
})

test("an agent that several steps name wrongly is one error, which names the other lines", () => {
  const { diagnostics } = tryLoad(`agents: { writer: { model: offline } }
workflow:
  - { id: a, type: agent, name: writr }
  - { id: b, type: agent, name: writr }
  - { id: c, type: parallel, steps: [{ type: agent, name: writr }, { type: agent, name: writer }] }
`)
  expect(diagnostics.map(({ message, suggestion }) => [message, suggestion])).toEqual([
    ['workflow step[0]: agent "writr" not found in agents (also in lines 4 and 5)', "writer"],
  ])
})

test("an agent step with `agent` instead of `name` is one error, which suggests the field", () => {
  const { diagnostics } = tryLoad(`agents: { writer: { model: offline } }
workflow:
  - { id: a, type: agent, agent: writer }
`)
  expect(diagnostics.map(({ message, suggestion }) => [message, suggestion])).toEqual([
    ['workflow step[0]: an agent step names its agent with "name", not "agent"', "name"],
  ])
})
