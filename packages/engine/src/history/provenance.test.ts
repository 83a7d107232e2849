import { expect, test } from "vitest"
import { append, type Context, channel, memoryStore, node, replace, workflow } from "../index.ts"
import { provenance } from "./index.ts"

const log = channel("log", append<string>())
const last = channel("last", replace<string>("none"))

async function ran() {
  const start = node("start", (n: number) => n)
  const write = (id: string) =>
    node(id, async (n: number, ctx: Context) => {
      const text = await ctx.step("look up", () => `${id} ${n}`)
      ctx.state.write(log, [text])
      ctx.state.write(last, text)
      return n
    })
  const [left, right] = [write("left"), write("right")]
  const sum = node("sum", ([a, b]: readonly [number, number]) => a + b)
  const flow = workflow("w", { state: [log, last] })
    .start(start)
    .fanOut(start, [left, right])
    .fanIn([left, right], sum)
    .build()
  const store = memoryStore()
  await flow.run(2, { store, runId: "r" })
  return store
}

test("a channel that is replaced comes from its last write, one that is added to from all of them", async () => {
  const store = await ran()
  const from = [{ task: 1, node: "start", seq: 2 }]
  const right = { task: 3, node: "right", input: 2, from, steps: ["step:look up"] }
  expect(await provenance(store, "r", { channel: "last" })).toMatchObject({
    value: "right 2",
    sources: [{ kind: "task", reducer: "replace", value: "right 2", task: right }],
  })
  const { value, sources } = await provenance(store, "r", { channel: "log" })
  expect(value).toEqual(["left 2", "right 2"])
  expect(sources.map(({ value, task }) => [value, task?.node])).toEqual([
    // The initial value.
    [[], undefined],
    [["left 2"], "left"],
    [["right 2"], "right"],
  ])
})

test("before anything was written, it comes from the initial state", async () => {
  const store = await ran()
  expect(await provenance(store, "r", { channel: "last", at: { seq: 2 } })).toEqual({
    runId: "r",
    seq: 2,
    value: "none",
    sources: [{ seq: 1, kind: "start", value: "none" }],
  })
})

test("an output comes from the task that sent it, and that from all sources of its join", async () => {
  const store = await ran()
  const { value, sources } = await provenance(store, "r", { output: 0 })
  expect(value).toBe(4)
  expect(sources[0]?.task).toMatchObject({ node: "sum", input: [2, 2] })
  expect(sources[0]?.task?.from.map(({ node }) => node)).toEqual(["left", "right"])
})

test("what the run does not have is named in the error", async () => {
  const store = await ran()
  await expect(provenance(store, "r", { channel: "lost" })).rejects.toMatchObject({ code: "UNKNOWN_CHANNEL" })
  await expect(provenance(store, "r", { output: 1 })).rejects.toMatchObject({ code: "OUTPUT_MISSING" })
  await expect(provenance(store, "r", {})).rejects.toMatchObject({ code: "OPTION_INVALID" })
})
