import { expect, expectTypeOf, test } from "vitest"
import { type AnyNode, node, workflow } from "../index.ts"
import { controlled, manualClock, settled } from "./index.ts"

test("a controlled node runs until the test finishes it", async () => {
  const fetch = controlled<string, number>("fetch")
  const double = node("double", (n: number) => n * 2)
  const run = workflow("w").chain(fetch, double).build().run("question")
  const task = await fetch.started()
  expect(task.message).toBe("question")
  expect(task.ctx.node).toBe("fetch")
  fetch.finish(21)
  expect((await run).outputs).toEqual([42])
  expect(fetch.atWork).toEqual([])
})

test("it is typed like any other node", () => {
  const fetch = controlled<string, number>("fetch")
  expectTypeOf(fetch).toExtend<AnyNode>()
  expectTypeOf(fetch.started).returns.resolves.toHaveProperty("message").toBeString()
  expectTypeOf(fetch.finish).parameter(0).toEqualTypeOf<number | undefined>()
})

test("started(n) returns the n-th start at any time; without a number, the next one", async () => {
  const worker = controlled<number, number>("worker")
  const split = node("split", () => [10, 20, 30])
  const run = workflow("w").chain(split).map(split, worker).build().run(null)
  const third = await worker.started(3)
  expect(third.message).toBe(30)
  expect((await worker.started(1)).message).toBe(10)
  for (const task of worker.atWork) task.finish(task.message + 1)
  expect((await run).outputs).toEqual([[11, 21, 31]])
})

test("awaiting a start in advance, even twice, resolves when the task starts", async () => {
  const slow = controlled<string, string>("slow")
  const first = slow.started()
  const again = slow.started(1)
  const second = slow.started()
  const flow = workflow("w").start(slow).build()
  const runs = [flow.run("a"), flow.run("b")]
  expect((await first).message).toBe("a")
  expect(await again).toBe(await first)
  expect((await second).message).toBe("b")
  slow.finish("1")
  slow.finish("2")
  expect((await Promise.all(runs)).map((result) => result.outputs)).toEqual([["1"], ["2"]])
})

test("tasks end in the order that the test chooses, and results keep the order of the tasks", async () => {
  const worker = controlled<string, string>("worker")
  const split = node("split", () => ["a", "b", "c"])
  const run = workflow("w").start(split).map(split, worker).build().run(null)
  await worker.started(3)
  const [a, b, c] = worker.atWork.map(({ ctx }) => ctx.task)
  worker.finish("C", c)
  worker.finish("A", a)
  await settled()
  expect(worker.atWork.map(({ ctx }) => ctx.task)).toEqual([b])
  worker.finish("B", b)
  expect((await run).outputs).toEqual([["A", "B", "C"]])
})

test("a task that the test fails is retried like any other, and its retry is another start", async () => {
  const clock = manualClock()
  const flaky = controlled<null, string>("flaky", { retry: { attempts: 2, delay: 100 } })
  const run = workflow("w").start(flaky).build().run(null, { clock })
  await flaky.started()
  flaky.fail(new Error("down"))
  await clock.advance(99)
  expect(flaky.atWork).toEqual([])
  await clock.advance(1)
  const second = await flaky.started()
  expect(second.ctx.attempt).toBe(2)
  second.finish("up")
  expect((await run).outputs).toEqual(["up"])
})

test("undefined sends nothing", async () => {
  const quiet = controlled<null, string>("quiet")
  const run = workflow("w").start(quiet).build().run(null)
  await quiet.started()
  quiet.finish()
  expect((await run).outputs).toEqual([])
})

test("a stopped task is not executing, and a late result has no effect", async () => {
  const slow = controlled<null, string>("slow")
  const run = workflow("w").start(slow).build().run(null)
  const task = await slow.started()
  run.cancel("enough")
  const result = await run.result
  expect(task.ctx.signal.aborted).toBe(true)
  expect(slow.atWork).toEqual([])
  task.finish("late")
  await settled()
  expect(result).toMatchObject({ status: "cancelled", outputs: [] })
})

test("finishing an unknown task, or one twice, is an error", async () => {
  const slow = controlled<null, string>("slow")
  expect(() => slow.finish("x")).toThrow(/"slow" has no task to finish: 0 started so far.*Await started\(\)/)
  const run = workflow("w").start(slow).build().run(null)
  const task = await slow.started()
  expect(() => slow.fail(new Error("x"), 99)).toThrow("no task 99 to fail: 1 started so far, executing: 1")
  task.finish("x")
  expect(() => task.finish("y")).toThrow(expect.objectContaining({ code: "CONTROLLED_TWICE" }))
  expect(() => slow.finish("y")).toThrow(expect.objectContaining({ code: "CONTROLLED_IDLE" }))
  expect((await run).outputs).toEqual(["x"])
})
