/** Tasks of nodes with placement `spread` execute on any worker, each once. */
import { append, channel, memoryStore, node, workflow } from "@superstep/engine"
import { agent } from "@superstep/engine/agents"
import { loadDefinition } from "@superstep/engine/definitions"
import { scriptedModel } from "@superstep/engine/models"
import { expect, test } from "vitest"
import { application } from "./workers.test-support.ts"

/** The machine may be busy. */
const PATIENT = { timeout: 30_000 }
const seen = channel("seen", append<number>())

test("a map is spread in chunks: results in order, state, steps and outputs as if they were inline", async () => {
  const list = node("list", (n: number, ctx) => {
    ctx.state.write(seen, [n])
    return Array.from({ length: n }, (_, i) => i)
  })
  const square = node({
    id: "square",
    placement: "spread",
    run: async (i: number, ctx) => {
      if (i === 7) {
        ctx.state.write(seen, [i])
        ctx.output(`seven of ${ctx.state.get(seen).join()}`)
        ctx.use({ toolCalls: 1 })
      }
      return (await ctx.step("square", () => i * i)) + 0
    },
  })
  const sum = node("sum", (all: readonly number[], ctx) => {
    ctx.output([...ctx.state.get(seen)])
    return all.reduce((a, b) => a + b, 0)
  })
  const flow = workflow("squares", { state: [seen], limits: { visits: 1_000 } })
    .start(list)
    .map(list, square, sum)
    .build()
  const app = application([flow])
  await app.fleet([flow], 2)
  const { outputs, usage } = await app.runtime.start(flow, 200)
  // The sum of the squares below 200: 199 · 200 · 399 / 6.
  expect(outputs).toEqual(["seven of 200", [200, 7], 2_646_700])
  expect(usage.toolCalls).toBe(1)
  // Without a dispatcher the same workflow does the same.
  expect((await flow.run(200, { store: memoryStore() })).outputs).toEqual(outputs)
  await expect.poll(() => app.store.records.list("spread-step"), PATIENT).toEqual([])
})

test("a spread handler that would have to wait is refused, and one that fails is retried", async () => {
  const asks = node({
    id: "asks",
    placement: "spread",
    run: async (_: number, ctx) => await ctx.ask<string>("Who?"),
  })
  let attempts = 0
  const flaky = node({
    id: "flaky",
    placement: "spread",
    retry: { attempts: 3, delay: 1 },
    run: (n: number, ctx) => {
      attempts++
      if (ctx.attempt < 3) throw new Error("not yet")
      return n
    },
  })
  const [one, two] = [workflow("asks").chain(asks).build(), workflow("flaky").chain(flaky).build()]
  const app = application([one, two])
  await app.worker([one, two])
  await expect(app.runtime.start(one, 1)).rejects.toMatchObject({ code: "SPREAD_UNAVAILABLE" })
  expect((await app.runtime.start(two, 5)).outputs).toEqual([5])
  expect(attempts).toBe(3)
})

test.each([
  [
    "steps.yaml",
    `agents: { writer: { model: offline } }
workflow:
  - { id: words, type: agent, name: writer, prompt: "three words", placement: spread }
  - { id: end, type: agent, name: writer, prompt: "after: $steps.words.output", when: "$steps.words.output != ''" }`,
  ],
  [
    "graph.json",
    JSON.stringify({
      agents: { writer: { model: "offline" } },
      nodes: [
        { id: "words", type: "agent", agent_id: "writer", prompt: "three words", placement: "spread" },
        { id: "end", type: "agent", agent_id: "writer", prompt: "after: {{ words.output }}" },
      ],
      edges: [{ from_node: "words", to_node: "end", condition: "words.output != ''" }],
    }),
  ],
])("nodes of %s are spread, and the run ends as it does in memory", async (file, text) => {
  const { definition, diagnostics } = loadDefinition({ text, file })
  expect(diagnostics).toEqual([])
  const { workflow: flow } = definition as NonNullable<typeof definition>
  const app = application([flow])
  const performed: string[] = []
  const worker = await app.worker([flow])
  const { perform } = worker.runtime.worker
  Object.assign(worker.runtime.worker, {
    perform: (...args: Parameters<typeof perform>) => {
      performed.push(args[0].node)
      return perform.apply(worker.runtime.worker, args)
    },
  })
  const { outputs } = await app.runtime.start(flow, "go" as never)
  expect(outputs).toEqual((await flow.run("go" as never, { store: memoryStore() })).outputs)
  expect(performed).toEqual(["words"])
})

test("limits of a spread node hold across the workers that execute it", async () => {
  let [active, most] = [0, 0]
  let release: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const list = node("list", (n: number) => Array.from({ length: n }, (_, i) => i))
  const work = node({
    id: "work",
    placement: "spread",
    flow: { concurrency: 2 },
    run: async (i: number) => {
      most = Math.max(most, ++active)
      await gate
      active--
      return i
    },
  })
  const sum = node("sum", (all: readonly number[]) => all.reduce((a, b) => a + b, 0))
  const flow = workflow("limited").start(list).map(list, work, sum).build()
  const app = application([flow])
  await app.fleet([flow], 2)
  // Two runs share the limit: two of their sixteen tasks execute, and the others wait for a slot.
  const ids = await Promise.all([app.runtime.enqueue(flow, 8), app.runtime.enqueue(flow, 8)])
  const waiting = async () =>
    (await Promise.all(ids.map((id) => app.store.slots.ofRun(id)))).flat().filter(({ taken }) => !taken)
      .length
  await expect.poll(waiting, { timeout: 30_000 }).toBe(14)
  await expect.poll(() => active, { timeout: 30_000 }).toBe(2)
  release()
  const both = await Promise.all(ids.map((id) => app.runtime.get(id)))
  expect(both.map(({ outputs }) => outputs)).toEqual([[28], [28]])
  expect(most).toBe(2)
})

test("an agent is spread", async () => {
  const model = scriptedModel(["hello"])
  const greeter = agent({ name: "greeter", model, placement: "spread" })
  const flow = workflow("greeting").chain(greeter).build()
  const app = application([flow])
  await app.worker([flow])
  const { outputs, usage } = await app.runtime.start(flow, "hi")
  expect(outputs).toEqual(["hello"])
  expect(usage.modelCalls).toBe(1)
})

test("when the process that executes a run dies, its spread tasks continue, and those that ended are not executed again", async () => {
  const calls = new Map<number, number>()
  let release: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const list = node("list", (n: number) => Array.from({ length: n }, (_, i) => i))
  const work = node({
    id: "work",
    placement: "spread",
    run: async (i: number) => {
      calls.set(i, (calls.get(i) ?? 0) + 1)
      if (i % 2 === 1) await gate
      return i
    },
  })
  const all = node("all", (items: readonly number[]) => items)
  const flow = workflow("gated").start(list).map(list, work, all).build()
  const app = application([flow])
  let holder = -1
  const workers = await app.fleet([flow], 2, (i) => ({
    onRun: ({ type }) => {
      if (type === "started") holder = i
    },
  }))
  const runId = await app.runtime.enqueue(flow, 10)
  await expect.poll(() => calls.size, PATIENT).toBe(10)
  // The even ones have ended and are recorded, as is the list; then the worker that executes the run goes away.
  const ended = async () =>
    (await app.store.read(runId, 0)).filter(({ entry }) => entry.type === "task.finished").length
  await expect.poll(ended, PATIENT).toBe(6)
  await workers[holder]?.close()
  release()
  const { outputs } = await app.runtime.get(runId)
  expect(outputs).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]])
  for (const i of [0, 2, 4, 6, 8]) expect(calls.get(i)).toBe(1)
})
