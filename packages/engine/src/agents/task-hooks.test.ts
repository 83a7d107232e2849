/** Hooks around an agent's whole task and around the results of its tools, and the models that read these results. */
import { describe, expect, test } from "vitest"
import { memoryStore } from "../index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { filePart, tool, toolsetWith } from "../tools/index.ts"
import { agent, modelPicker, pickedModel } from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const look = tool({ name: "look", description: "Looks.", run: () => "saw it" })
const callOf = (name: string, args: object = {}) => ({ tool_calls: [{ name, args: args as never }] })

describe("beforeAgent and afterAgent", () => {
  test("add instructions for the whole task, and receive its answer or its error", async () => {
    const ends: unknown[] = []
    const build = (model: ReturnType<typeof scriptedModel>) =>
      agent({
        name: "x",
        model,
        instructions: "Own.",
        tools: [look],
        beforeAgent: ({ input }) => ({ instructions: `About ${String(input)}.` }),
        middleware: [
          { beforeAgent: () => ({ instructions: "Be brief." }) },
          { afterAgent: ({ end }) => void ends.push(end) },
        ],
      })
    const model = scriptedModel([callOf("look"), "done"])
    await build(model).run("tea")
    for (const n of [0, 1]) expect(shown(model, n)[0]).toBe("system: Own.\n\nAbout tea.\n\nBe brief.")
    expect(ends).toEqual([{ answer: "done" }])
    const { result } = build(scriptedModel([])).run("tea", { store: memoryStore() })
    expect((await result).status).toBe("failed")
    expect(ends).toHaveLength(2)
    expect(ends[1]).toMatchObject({ error: { code: "SCRIPT_EXHAUSTED" } })
  })

  test("run once for each agent that takes part, also one that takes over twice", async () => {
    const begun: string[] = []
    const hooks = (name: string) => ({
      beforeAgent: () => void begun.push(`${name} begins`),
      afterAgent: () => void begun.push(`${name} ends`),
    })
    const to = (name: string) => callOf(`handoff_to_${name}`)
    const a: ReturnType<typeof agent> = agent({
      name: "a",
      model: scriptedModel([to("b"), "done"]),
      handoffs: () => [b],
      ...hooks("a"),
    })
    const b: ReturnType<typeof agent> = agent({
      name: "b",
      model: scriptedModel([to("a")]),
      handoffs: () => [a],
      ...hooks("b"),
    })
    expect((await a.run("go" as never)).outputs).toEqual(["done"])
    expect(begun).toEqual(["a begins", "b begins", "a ends", "b ends"])
  })

  test("a failing afterAgent fails a task that has an answer, and does not hide another error", async () => {
    const broken = { afterAgent: () => Promise.reject(new Error("disk full")) }
    const run = (script: readonly string[]) =>
      agent({ name: "x", model: scriptedModel(script), ...broken }).run("go", { store: memoryStore() }).result
    expect((await run(["done"])).error?.message).toContain("disk full")
    expect((await run([])).error?.code).toBe("SCRIPT_EXHAUSTED")
  })
})

describe("afterToolCall", () => {
  test("adds a note to a result of any form, or replaces it", async () => {
    const results: Record<string, unknown> = {
      text: "saw it",
      data: { n: 1 },
      file: filePart(Buffer.from("iVBORw0KGgo=", "base64")),
      other: "secret",
    }
    const tools = Object.entries(results).map(([name, result]) =>
      tool({ name, description: name, run: () => result }),
    )
    const failing = tool({
      name: "failing",
      description: "Fails.",
      run: () => Promise.reject(new Error("no")),
    })
    const calls = [...Object.keys(results), "failing"].map((name) => ({ name, args: {} }))
    const model = scriptedModel([{ tool_calls: calls }, "ok"])
    const x = agent({
      name: "x",
      model,
      tools: [...tools, failing],
      afterToolCall: ({ tool: name, ok }) =>
        name === "other" ? { result: "***" } : { note: `checked ${ok}` },
    })
    await x.run("go")
    const parts = model.calls.flatMap(
      ({ prompt }) => prompt.at(-1)?.content as readonly { output?: unknown }[],
    )
    expect(JSON.stringify(parts)).not.toContain("secret")
    expect(parts.flatMap(({ output }) => output ?? [])).toMatchObject([
      { type: "text", value: "saw it\n\nchecked true" },
      { type: "json", value: { result: { n: 1 }, note: "checked true" } },
      { type: "content", value: [{ type: "image-data" }, { type: "text", text: "checked true" }] },
      { type: "text", value: "***" },
      { type: "error-text", value: "no\nchecked false" },
    ])
  })
})

test("onAsk is called once before a person is asked, also if the run resumes", async () => {
  const store = memoryStore()
  let asked = 0
  const build = () =>
    agent({
      name: "x",
      model: pureModel((last, turn) => (turn === 0 ? { calls: [{ name: "look" }] } : last)),
      tools: [look],
      approval: { ask: ["look"] },
      onAsk: ({ tool: name }) => {
        expect(name).toBe("look")
        asked++
      },
    })
  const { requests } = await build().run("go", { store, runId: "r" })
  const run = build().resume("r", { store, takeOver: true })
  await run.respond(requests[0]?.id ?? "", { approve: true })
  expect((await run).outputs).toEqual(['tool: "saw it"'])
  expect(asked).toBe(1)
})

describe("models", () => {
  /** Each model writes down which turns it had. */
  const turns = (replies: readonly (string | object)[]) => {
    const had: string[] = []
    const named = (name: string) =>
      pureModel((_, turn) => {
        had.push(name)
        return replies[turn] as string
      })
    return { had, named }
  }
  const calls = (name: string, args: object = {}) => ({ calls: [{ name, args }] })

  test("of a toolset read its results; the agent's own model does the rest", async () => {
    const { had, named } = turns([calls("look"), calls("own"), calls("think"), "done"])
    const own = tool({ name: "own", description: "Own.", run: () => "mine" })
    const think = tool({ name: "think", description: "Thinks.", model: "large", run: () => "thought" })
    const x = agent({
      name: "x",
      model: named("own"),
      models: { small: named("small"), large: named("large"), planned: named("planned") },
      tools: [toolsetWith({ name: "files", tools: () => [look] }, { model: "small" }), own, think],
      // The model of a tool comes before that of the plan.
      prepareStep: ({ step }) => (step === 2 ? { model: "planned" } : {}),
    })
    expect((await x.run("go")).outputs).toEqual(["done"])
    expect(had).toEqual(["own", "small", "own", "large"])
  })

  test("are picked by the agent itself until it reverts", async () => {
    const change = (model: string) => calls("change_model", { model })
    const { had, named } = turns([change("strong"), change("unknown"), calls("revert_model"), "done"])
    const names = ["strong"]
    const x = agent({
      name: "x",
      model: named("own"),
      models: { strong: named("strong") },
      tools: [modelPicker(names)],
      prepareStep: pickedModel(names),
    })
    expect((await x.run("go")).outputs).toEqual(["done"])
    expect(had).toEqual(["own", "strong", "strong", "own"])
  })
})
