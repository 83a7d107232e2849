import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { manualClock, settled } from "../../testing/index.ts"
import { asked, file, load, play } from "./steps.test-support.ts"

describe("a human step", () => {
  const text = file(
    ["a", "b"],
    `
  - { type: agent, name: a }
  - id: ask
    type: human
    prompt: "Publish {{ $steps.a.output }}?"
    choices: [publish, drop]
    to: editors
    timeout: 1h
    default: drop
  - { type: agent, name: b, when: "$steps.ask.output == 'publish'" }`,
  )

  test("asks, waits, and has the answer as its output", async () => {
    const model = scriptedModel({ a: ["the draft"], b: ["done"] })
    const run = load(text, { model }).workflow.run("Go")
    const [request] = (await run).requests
    expect(request).toMatchObject({
      prompt: "Publish the draft?",
      to: "editors",
      schema: { enum: ["publish", "drop"] },
    })
    await expect(run.respond(request?.id ?? "", "perhaps")).rejects.toThrow()
    await run.respond(request?.id ?? "", "publish")
    expect((await run.result).outputs).toEqual(["done"])
    expect(asked(model).prompts[1]).toContain("[ask]:\npublish\n")
  })

  test("uses the default if no answer arrives in time", async () => {
    const clock = manualClock()
    const model = scriptedModel({ a: ["the draft"] }, { clock })
    const run = load(text, { model }).workflow.run("Go", { clock })
    await run
    await clock.advance(3_600_000)
    expect((await run.result).outputs).toEqual(["drop"])
  })
})

describe("a wait step", () => {
  const text = file(
    ["a"],
    `
  - id: payment
    type: wait
    signal: paid
    schema: { type: object, required: [usd], properties: { usd: { type: number } } }
    timeout: 1h
    default: { usd: 0 }
  - { type: agent, name: a, when: "$steps.payment.output.usd > 0", prompt: "Got {{ $steps.payment.output.usd }}" }`,
  )

  test("waits for the signal, whose value is its output", async () => {
    const model = scriptedModel({ a: ["thanks"] })
    const run = load(text, { model }).workflow.run("Go")
    expect((await run).waits).toMatchObject([{ name: "paid", node: "payment", schema: { type: "object" } }])
    await expect(run.signal("paid", { usd: "5" })).rejects.toMatchObject({ code: "SIGNAL_INVALID" })
    await run.signal("paid", { usd: 5 })
    expect((await run.result).outputs).toEqual(["thanks"])
    expect(asked(model).prompts[0]).toContain("Got 5")
  })

  test("takes the default when no signal comes in time", async () => {
    const clock = manualClock()
    const run = load(text, { model: scriptedModel({ a: [] }, { clock }) }).workflow.run("Go", { clock })
    await run
    await clock.advance(3_600_000)
    expect((await run.result).outputs).toEqual([{ usd: 0 }])
  })
})

describe("a tool step", () => {
  const folder = mkdtempSync(join(tmpdir(), "steps-"))
  writeFileSync(join(folder, "note.txt"), "tea at four\n")

  test("calls one tool of a toolset, with templates in its arguments", async () => {
    const text = `agents: { a: { model: offline }, b: { model: offline } }
workflow:
  - { type: agent, name: a }
  - { id: note, type: tool, tool: read_file, toolset: { type: filesystem, root: ${folder}, readonly: true }, args: { path: "{{ $steps.a.output }}.txt" } }
  - { type: agent, name: b, prompt: "{{ $steps.note.output }}" }
`
    const { status, prompts, error } = await play(text, { a: ["note"], b: ["B"] })
    expect(error).toBeUndefined()
    expect(status).toBe("completed")
    expect(prompts[1]).toContain("tea at four")
  })

  test("needs approval like an agent's call, and a refusal fails the step", async () => {
    const text = `agents:
  writer: { model: offline, toolsets: [{ type: filesystem, root: ${folder} }] }
workflow:
  - { id: save, type: tool, tool: write_file, agent: writer, args: { path: out.txt, content: hello } }
`
    const run = load(text).workflow.run("Go")
    const [request] = (await run).requests
    expect(request).toMatchObject({ node: "save" })
    await run.respond(request?.id ?? "", { approve: false })
    expect((await run.result).status).toBe("failed")
    const again = load(text).workflow.run("Go")
    await again.respond((await again).requests[0]?.id ?? "", { approve: true })
    expect((await again.result).status).toBe("completed")
  })

  test("is called again on a retry", async () => {
    const text = `agents: { a: { model: offline } }
workflow:
  - id: read
    type: tool
    tool: read_file
    toolset: { type: filesystem, root: ${folder}, readonly: true }
    args: { path: later.txt }
    retry: { max_attempts: 1, on: FILE_ }
`
    const clock = manualClock()
    const run = load(text).workflow.run("Go", { clock })
    for await (const event of run.events()) if (event.type === "task.failed") break
    writeFileSync(join(folder, "later.txt"), "now")
    await clock.advance(1_000)
    expect((await run.result).status).toBe("completed")
  })
})

describe("a workflow step", () => {
  const files = {
    "inner.yaml": file(["x", "y"], "\n  - { type: agent, name: x }\n  - { type: agent, name: y }"),
  }
  const text = file(
    ["a", "b"],
    `
  - { type: agent, name: a }
  - { type: workflow, file: inner.yaml, prompt: "Do it" }
  - { type: agent, name: b }`,
  )

  test("runs the workflow of another file, with a prompt like an agent's", async () => {
    const { prompts, outputs } = await play(text, { a: ["A"], x: ["X"], y: ["Y"], b: ["B"] }, "Go", { files })
    expect(prompts[1]).toBe(
      "--- Prior Step Outputs ---\n\n[a (agent: a)]:\nA\n\n--- End Prior Step Outputs ---\n\nDo it",
    )
    expect(prompts[3]).toContain("[a (agent: a)]:\nA\n\n[inner]:\nY\n\n--- End")
    expect(outputs).toEqual(["B"])
  })

  test("has a time limit for the whole workflow", async () => {
    const clock = manualClock()
    const limited = text.replace("file: inner.yaml", "file: inner.yaml, timeout: 5, on_error: continue")
    const model = scriptedModel({ a: ["A"], x: [{ text: "X", delay: 9_000 }], b: ["B"] }, { clock })
    const run = load(limited, { model, files }).workflow.run("Go", { clock })
    await settled()
    await clock.advance(5_000)
    expect(await run.result).toMatchObject({ status: "completed", outputs: ["B"] })
  })
})

describe("a map step", () => {
  const plan = `agents:
  planner:
    model: offline
    structured_output: { name: plan, schema: { type: object, properties: { topics: { type: array } } } }
  writer: { model: offline }
  editor: { model: offline }
`
  const topics = { planner: [{ json: { topics: ["tea", "jam"] } }] }

  test("runs a step per item; its output is the list of their outputs, in order", async () => {
    const text = `${plan}workflow:
  - { id: plan, type: agent, name: planner }
  - id: each
    type: map
    over: $steps.plan.output.topics
    step: { type: agent, name: writer, prompt: "{{ $index }}: {{ $item }}" }
  - { type: agent, name: editor, prompt: "{{ $steps.each.output }} {{ $steps.each.outputs[1].output }}" }
`
    const { prompts, outputs, agents } = await play(text, { ...topics, writer: ["T", "J"], editor: ["E"] })
    expect(agents).toEqual(["planner", "writer", "writer", "editor"])
    expect(prompts[1]).toMatch(/\n\n0: tea$/)
    expect(prompts[2]).toMatch(/\n\n1: jam$/)
    expect(prompts[2]).not.toContain("each/0")
    expect(prompts[3]).toContain("[each/0 (agent: writer)]:\nT\n\n[each/1 (agent: writer)]:\nJ\n\n--- End")
    expect(prompts[3]).toMatch(/\["T","J"\] J$/)
    expect(outputs).toEqual(["E"])
  })

  test("runs several steps per item, in order", async () => {
    const text = `${plan}workflow:
  - { id: plan, type: agent, name: planner }
  - id: each
    type: map
    over: "{{ $steps.plan.output.topics }}"
    concurrency: 1
    steps:
      - { type: agent, name: writer, prompt: "{{ $item }}" }
      - { type: agent, name: editor, prompt: "Edit {{ $steps.writer.output }}" }
`
    const { prompts, outputs, state } = await play(text, {
      ...topics,
      writer: ["T", "J"],
      editor: ["T2", "J2"],
    })
    expect(outputs).toEqual([["T2", "J2"]])
    expect(prompts[2]).toMatch(/\[each\/0\/writer \(agent: writer\)\]:\nT\n[\s\S]*Edit T$/)
    expect(prompts[4]).toMatch(/\[each\/1\/writer \(agent: writer\)\]:\nJ\n[\s\S]*Edit J$/)
    expect(prompts[4]).not.toContain("each/0")
    expect(state.steps).toContainEqual({ id: "each/1", last: "each/1/editor" })
  })

  test("of an empty list is an empty list; of anything else, an error", async () => {
    const text = (over: string) => `${plan}workflow:
  - { id: each, type: map, over: ${JSON.stringify(over)}, step: { type: agent, name: writer } }
`
    expect((await play(text("[]"), {})).outputs).toEqual([[]])
    const { error } = await play(text("$input"), {})
    expect(error?.message).toBe('workflow: map "each" needs a list, but this is not a list: $input')
  })

  test("iterates over a list that a model wrote as text, also in a code block", async () => {
    const text = file(
      ["a", "b", "c"],
      `
  - { type: agent, name: a }
  - { id: each, type: map, over: $steps.a.output, step: { type: agent, name: b, prompt: "{{ $item }}" } }
  - { type: agent, name: c, prompt: "{{ $steps.each.outputs[-1].output }}" }`,
    )
    for (const list of ['["x", "y"]', '```json\n["x", "y"]\n```']) {
      const { prompts } = await play(text, { a: [list], b: ["X", "Y"], c: ["C"] })
      expect(prompts.slice(1, 3).map((prompt) => prompt.at(-1))).toEqual(["x", "y"])
      expect(prompts[3]).toMatch(/\n\nY$/)
    }
  })

  test("calls a tool per item, each under its own name", async () => {
    const text = `workflow:
  - id: each
    type: map
    over: "['a', 'b']"
    step: { type: tool, tool: think, toolset: { type: think }, args: { thought: "{{ $item }}" } }
`
    const run = load(text).workflow.stream("Go")
    const calls: string[] = []
    for await (const event of run) if (event.type === "step.recorded") calls.push(event.key)
    expect((await run.result).status).toBe("completed")
    expect(calls.sort()).toEqual(["0", "1"].map((i) => `step:attempt 1/tool:think:call_each_${i}`))
  })

  test("can be nested, also in blocks; failures are skipped with on_error: continue", async () => {
    const text = `${plan}workflow:
  - id: par
    type: parallel
    steps:
      - id: rows
        type: map
        on_error: continue
        over: "[['a', 'b'], ['c']]"
        steps:
          - id: cells
            type: map
            over: $item
            step: { type: agent, name: writer, prompt: "{{ $item }}" }
      - { type: agent, name: editor }
`
    const fine = await play(text, { writer: [{ text: "W", repeat: true }], editor: ["E"] })
    expect(fine.outputs).toMatchObject([
      {
        steps: { rows: { output: [["W", "W"], ["W"]] }, editor: { output: "E" } },
        order: ["rows", "editor"],
      },
    ])
    const { outputs, status } = await play(text, {
      writer: ["W", "W", { error: { code: 400, message: "no" } }],
      editor: ["E"],
    })
    expect(status).toBe("completed")
    expect(outputs).toMatchObject([{ steps: { rows: { output: [["W", "W"], null] } } }])
  })
})
