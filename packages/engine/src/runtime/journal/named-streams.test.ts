/** A name, an id or a key, changes which run is meant; it does not change what its stream shows. */
import { expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import {
  type Context,
  memoryStore,
  node,
  type RunEvent,
  type RunOptions,
  Runtime,
  type Store,
  workflow,
} from "../../index.ts"
import { scriptedModel } from "../../models/index.ts"

/** Every write takes its time, as in a file or a database. */
function slowStore(): Store {
  const store = memoryStore()
  return {
    ...store,
    beat: async (holder) => store.beat(holder),
    async append(...given) {
      await new Promise((resolve) => setImmediate(resolve))
      await store.append(...given)
    },
  }
}

const NAMES: readonly [string, Pick<RunOptions, "runId" | "key">][] = [
  ["without a name", {}],
  ["with an id", { runId: "r" }],
  ["with a key", { key: "k" }],
  ["with both", { runId: "r", key: "k" }],
]

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of events) all.push(event)
  return all
}
const textOf = (events: readonly RunEvent[]) =>
  events.map((event) => (event.type === "model.delta" ? event.text : "")).join("")

test.each(NAMES)("the first model call of a run %s is streamed", async (_, name) => {
  const clerk = agent({
    name: "clerk",
    instructions: "Help.",
    model: scriptedModel(["Hello, Ada, how are you?"]),
  })
  const events = await collect(clerk.stream("Hi", { store: slowStore(), ...name }))
  expect(textOf(events)).toBe("Hello, Ada, how are you?")
  expect(events.filter(({ type }) => type === "model.delta").length).toBeGreaterThan(1)
})

test.each(NAMES)("what a handler of a run %s says at once is in its stream, in order", async (_, name) => {
  const talks = node("talks", (n: number, ctx: Context) => {
    ctx.emit("first")
    ctx.log("info", "second")
    return n
  })
  const flow = workflow("flow").start(talks).build()
  const types = (await collect(flow.stream(1, { store: slowStore(), ...name }))).map(({ type }) => type)
  const started = types.indexOf("task.started")
  expect(types.slice(0, 2)).toEqual(["run.started", "superstep.started"])
  expect(types.slice(started, started + 4)).toEqual(["task.started", "custom", "log", "task.finished"])
  expect(types.at(-1)).toBe("run.finished")
})

test("a stream that starts a run and finds it finished shows every event once, and ends", async () => {
  const store = slowStore()
  const flow = workflow("flow")
    .start(node("n", (n: number) => n + 1))
    .build()
  const first = await collect(flow.stream(1, { store, key: "k" }))
  const second = await collect(flow.stream(1, { store, key: "k" }))
  expect(second).toEqual(first)
})

test("a stream whose name belongs to another run throws RUN_EXISTS", async () => {
  const store = slowStore()
  const flow = workflow("flow")
    .start(node("n", (n: number) => n + 1))
    .build()
  await flow.run(1, { store, key: "k" })
  await expect(collect(flow.stream(2, { store, key: "k" }))).rejects.toMatchObject({ code: "RUN_EXISTS" })
})

test.each(NAMES)("a run %s is found right after it was started, before the store has it", async (_, name) => {
  const store = slowStore()
  const talks = node("talks", (n: number, ctx: Context) => {
    ctx.emit("first")
    return n + 1
  })
  const flow = workflow("flow").start(talks).build()
  const runtime = new Runtime({ store, workflows: [flow] })
  const run = runtime.start(flow, 1, name)
  const found = runtime.get(run.id)
  const [events, result] = await Promise.all([collect(found), found.result])
  expect(result.outputs).toEqual([2])
  expect(events.filter(({ type }) => type !== "custom").map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7])
  await runtime.close()
})
