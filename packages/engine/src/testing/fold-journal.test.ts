import { expect, test } from "vitest"
import { add, channel, memoryStore, node, workflow } from "../index.ts"
import { foldJournal } from "./index.ts"

const total = channel("total", add())
const count = node("count", (n: number, ctx) => {
  ctx.state.write(total, n)
  return n + 1
})
const double = node("double", (n: number) => n * 2)
const counting = workflow("counting", { state: [total] })
  .chain(count, double)
  .build()

test("a journal gives the state that the run had", async () => {
  const store = memoryStore()
  const result = await counting.run(4, { store, runId: "r" })
  const machine = foldJournal(counting, await store.read("r", 0))
  expect(machine.status).toBe("completed")
  expect(machine.outputs).toEqual(result.outputs)
  expect(machine.allState()).toEqual(result.state)
})

test("a prefix of a journal gives the state at that point", async () => {
  const store = memoryStore()
  await counting.run(4, { store, runId: "r" })
  const records = await store.read("r", 0)
  const started = foldJournal(counting, records.slice(0, 1))
  expect([...started.tasks()].map((task) => task.node.id)).toEqual(["count"])
  expect(started.allState()).toEqual({ total: 0 })
  const counted = foldJournal(counting, records.slice(0, 2))
  expect([...counted.tasks()].map((task) => [task.node.id, task.message])).toEqual([["double", 5]])
  expect(counted.allState()).toEqual({ total: 4 })
})

test("a sub-workflow's part is folded with its own workflow", async () => {
  const outer = workflow("outer").chain(double, counting.asNode()).build()
  const store = memoryStore()
  await outer.run(2, { store, runId: "r" })
  const records = await store.read("r", 0)
  const frame = records.find((record) => record.frame !== "")?.frame
  expect(foldJournal(counting, records, frame).outputs).toEqual([10])
  expect(foldJournal(outer, records).outputs).toEqual([10])
})

test("an invalid journal is rejected", () => {
  expect(() => foldJournal(counting, [])).toThrow(expect.objectContaining({ code: "JOURNAL_INVALID" }))
  expect(() => foldJournal(counting, [], "1.1:call:x")).toThrow('for the sub-workflow "1.1:call:x"')
})
