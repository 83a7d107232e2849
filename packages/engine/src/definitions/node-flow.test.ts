/** `flow` of steps and nodes, and `limits` of models, in files. */
import { describe, expect, test } from "vitest"
import { memoryStore, Runtime } from "../index.ts"
import { registerProvider, scriptedModel } from "../models/index.ts"
import { settled } from "../testing/index.ts"
import type { Definition } from "./definition.ts"
import { loadDefinition } from "./load.ts"

const AGENT =
  "flow: { concurrency: { key: $input.tenant, max: 1 }, rateLimit: { max: 9, period: 1m, burst: 9 } }"
const STEPS = `
agents:
  writer: { model: held/m }
workflow:
  - { id: first, type: agent, name: writer, prompt: one, ${AGENT} }
  - { id: second, type: agent, name: writer, prompt: two, ${AGENT} }
`
const GRAPH = `
agents:
  writer: { model: held/m }
nodes:
  - { id: first, type: agent, agent_id: writer, prompt: one, ${AGENT} }
  - { id: second, type: agent, agent_id: writer, prompt: two, ${AGENT} }
edges: [{ from_node: first, to_node: second }]
`

const load = (text: string) => loadDefinition({ text, file: "limited.yaml" })

/** A provider whose requests are answered by hand. */
function heldProvider() {
  const open: (() => void)[] = []
  const model = scriptedModel(Array(20).fill("Done."))
  const held = {
    ...model,
    specificationVersion: "v3" as const,
    provider: "held",
    modelId: "m",
    supportedUrls: {},
    doGenerate: async (options: Parameters<typeof model.doGenerate>[0]) => {
      await new Promise<void>((resolve) => open.push(resolve))
      return await model.doGenerate(options)
    },
    doStream: async (options: Parameters<typeof model.doStream>[0]) => {
      await new Promise<void>((resolve) => open.push(resolve))
      return await model.doStream(options)
    },
  }
  return { open, undo: registerProvider("held", () => held) }
}

describe.each([
  ["steps", STEPS],
  ["graph", GRAPH],
])("limits in a %s file", (_, text) => {
  test("of a node hold for all runs with the same key", async () => {
    const { open, undo } = heldProvider()
    const { workflow } = load(text).definition as Definition
    const store = memoryStore()
    const runtime = new Runtime({ store, workflows: [workflow] })
    const runs = ["a", "a", "b"].map((tenant, i) =>
      runtime.start(workflow, JSON.stringify({ tenant }) as never, { runId: `r${i}` }),
    )
    await settled()
    expect(open).toHaveLength(2)
    expect(await store.slots.ofRun("r1")).toMatchObject([
      { node: "first", pool: "limited/first", lanes: ["concurrency a", "rateLimit"], taken: false },
    ])
    for (let i = 0; i < 6; i++) {
      await settled()
      open[i]?.()
    }
    for (const run of runs) expect((await run).status).toBe("completed")
    await runtime.close()
    undo()
  })

  test("are checked, and ejected as they are written", async () => {
    const { definition } = load(text)
    expect(definition?.eject()).toMatch(/key: (step|graph)FlowKey\("\$input\.tenant"\)/)
    expect(load(text.replace("$input.tenant", "$inptu.tenant")).diagnostics).toContainEqual(
      expect.objectContaining({ code: "UNKNOWN_NAME", message: "A limit does not see $inptu; use $input." }),
    )
    expect(load(text.replace("max: 1", "max: 0")).definition).toBeUndefined()
  })
})

test("other steps have no limits", () => {
  const { diagnostics } = load(
    `workflow:\n  - { id: ask, type: human, prompt: "Now?", flow: { concurrency: 1 } }\n`,
  )
  expect(diagnostics.map(({ message }) => message).join()).toContain("flow")
})

describe("limits of models", () => {
  const MODELS = (limits: string) => `
models:
  main: { provider: held, model: m${limits} }
agents:
  writer: { model: main }
workflow:
  - { id: write, type: agent, name: writer, prompt: one }
`

  test("hold for all runs", async () => {
    const { open, undo } = heldProvider()
    const text = MODELS(
      ", limits: { concurrency: 1, per_minute: 100, tokens_per_minute: 100000, pool: acme }",
    )
    const { workflow } = load(text).definition as Definition
    const store = memoryStore()
    const runtime = new Runtime({ store, workflows: [workflow] })
    const runs = [0, 1].map((i) => runtime.start(workflow, "go" as never, { runId: `r${i}` }))
    await settled()
    expect(open).toHaveLength(1)
    expect(await store.slots.ofRun("r1")).toMatchObject([
      { pool: "model acme", lanes: ["concurrency", "requests", "tokens"], taken: false },
    ])
    open[0]?.()
    await settled()
    open[1]?.()
    for (const run of runs) expect((await run).status).toBe("completed")
    await runtime.close()
    undo()
  })

  test("of a provider are shared by its models", async () => {
    const { open, undo } = heldProvider()
    const text = `
providers:
  acme: { provider: held, limits: { concurrency: 1 } }
agents:
  a: { model: acme/one }
  b: { model: acme/two }
workflow:
  - id: both
    type: parallel
    steps:
      - { id: x, type: agent, name: a, prompt: one }
      - { id: y, type: agent, name: b, prompt: two }
`
    const { workflow } = load(text).definition as Definition
    const run = workflow.run("go" as never)
    await settled()
    expect(open).toHaveLength(1)
    open[0]?.()
    await settled()
    open[1]?.()
    expect((await run).status).toBe("completed")
    undo()
  })

  test("are checked", () => {
    expect(load(MODELS(", limits: { per_minute: 0 }")).definition).toBeUndefined()
    expect(load(MODELS(", limits: { rpm: 1 }")).definition).toBeUndefined()
  })
})
