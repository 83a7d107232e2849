import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Context, node, workflow } from "../../index.ts"
import { controlled, settled } from "../../testing/index.ts"

const list = node("list", (length: number) => Array.from({ length }, (_, i) => i))
const twice = node("twice", (n: number) => n * 2)
const gather = node("gather", (values: readonly unknown[]) => values)

describe("a map", () => {
  test("runs the worker once per item and gives the results in the order of the items", async () => {
    const worker = controlled<number, string>("worker")
    const run = workflow("w").start(list).map(list, worker, gather).build().run(3)
    const tasks = [await worker.started(1), await worker.started(2), await worker.started(3)]
    for (const i of [2, 0, 1]) {
      tasks[i]?.finish(`item ${i}`)
      await settled()
    }
    expect((await run).outputs).toEqual([["item 0", "item 1", "item 2"]])
  })

  test("of an empty list gives an empty list at once", async () => {
    const built = workflow("w").start(list).map(list, twice, gather).build()
    expect(await built.run(0)).toMatchObject({ status: "completed", outputs: [[]] })
    expect((await workflow("w").start(list).map(list, twice).build().run(0)).outputs).toEqual([[]])
  })

  test("without a target puts the list of results out", async () => {
    expect((await workflow("w").start(list).map(list, twice).build().run(3)).outputs).toEqual([[0, 2, 4]])
  })

  test.each<[string, unknown]>([
    ["a number", 5],
    ["null", null],
    ["text", "abc"],
    ["an object", { length: 1, 0: "a" }],
  ])("of %s fails the task that sent it, without another try", async (_, value) => {
    const wrong = node({ id: "wrong", retry: { attempts: 3, delay: 0 }, run: () => value as number[] })
    const { status, error } = await workflow("w").start(wrong).map(wrong, twice, gather).build().run(1).result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ code: "MAP_NEEDS_LIST", node: "wrong", attempt: 1 })
  })

  test("runs all items at once where nothing limits it", async () => {
    const worker = controlled<number, number>("worker")
    const run = workflow("w").start(list).map(list, worker, gather).build().run(50)
    await worker.started(50)
    expect(worker.atWork).toHaveLength(50)
    for (const task of worker.atWork) task.finish(1)
    expect((await run).status).toBe("completed")
  })

  test.each([
    ["its own concurrency", { concurrency: 2 }, {}],
    ["the worker's concurrency", {}, { concurrency: 2 }],
  ])("keeps to %s, and starts the next item when one ends", async (_, options, policies) => {
    const worker = controlled<number, number>("worker", policies)
    const run = workflow("w").start(list).map(list, worker, gather, options).build().run(5)
    for (let i = 0; i < 5; i++) {
      await worker.started(i + 1)
      await settled()
      expect(worker.atWork.length).toBeLessThanOrEqual(2)
      if (i > 0) worker.finish(i)
    }
    worker.finish(5)
    expect((await run).outputs).toEqual([[1, 2, 3, 4, 5]])
  })

  test("keeps to the run's concurrency", async () => {
    const worker = controlled<number, number>("worker")
    const run = workflow("w")
      .start(list)
      .map(list, worker, gather)
      .build()
      .run(4, { limits: { concurrency: 3 } })
    await worker.started(3)
    await settled()
    expect(worker.atWork).toHaveLength(3)
    worker.finish(0)
    await worker.started(4)
    for (const task of worker.atWork) task.finish(0)
    expect((await run).status).toBe("completed")
  })

  test("fails the run when an item fails, stops the others, and names the worker", async () => {
    const worker = controlled<number, number>("worker")
    const run = workflow("w").start(list).map(list, worker, gather).build().run(2)
    const [first, second] = [await worker.started(1), await worker.started(2)]
    second.fail(new Error("boom"))
    const { status, error } = await run.result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ node: "worker" })
    expect(first.ctx.signal.aborted).toBe(true)
  })

  test("reports the items that had not started when the run ends (M5)", async () => {
    const worker = controlled<number, number>("worker")
    const run = workflow("w").start(list).map(list, worker, gather, { concurrency: 1 }).build().run(3)
    await worker.started()
    worker.fail(new Error("boom"))
    const { undelivered } = await run.result
    expect(undelivered.map(({ to, value }) => [to, value])).toEqual([
      ["worker", 1],
      ["worker", 2],
    ])
  })

  test("that settles gives a value or an error for each item", async () => {
    const odd = node("odd", (n: number) => {
      if (n % 2 === 1) throw new Error(`${n} is odd`)
      return n
    })
    const built = workflow("w").start(list).map(list, odd, gather, { settle: true }).build()
    expect((await built.run(3)).outputs).toEqual([
      [
        { ok: true, value: 0 },
        { ok: false, error: expect.objectContaining({ message: "1 is odd", node: "odd", attempt: 1 }) },
        { ok: true, value: 2 },
      ],
    ])
  })

  test("retries an item on its own", async () => {
    const attempts: [number, number][] = []
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: (n: number, ctx: Context) => {
        attempts.push([n, ctx.attempt])
        if (n === 1 && ctx.attempt === 1) throw new Error("once")
        return n
      },
    })
    expect((await workflow("w").start(list).map(list, flaky, gather).build().run(3)).outputs).toEqual([
      [0, 1, 2],
    ])
    expect(attempts).toHaveLength(4)
    expect(attempts.filter(([n]) => n === 1)).toEqual([
      [1, 1],
      [1, 2],
    ])
  })

  test("puts null where a worker gave nothing, or took nothing, and reports the latter", async () => {
    const some = node("some", (n: number): number | undefined => (n === 1 ? undefined : n))
    expect((await workflow("w").start(list).map(list, some, gather).build().run(3)).outputs).toEqual([
      [0, null, 2],
    ])
    const even = node({ id: "even", input: z.number().multipleOf(2), run: (n) => n })
    const result = await workflow("w").start(list).map(list, even, gather).build().run(3)
    expect(result.outputs).toEqual([[0, null, 2]])
    expect(result.undelivered).toMatchObject([{ to: "even", value: 1 }])
  })

  test("takes a list that names its worker, and nothing else that does", async () => {
    const sends = (value: unknown) =>
      node("sends", (_: number, ctx: Context) => ctx.send(value, { to: "twice" }))
    const [right, wrong] = [sends([1, 2]), sends(1)]
    expect((await workflow("w").start(right).map(right, twice, gather).build().run(0)).outputs).toEqual([
      [2, 4],
    ])
    const { error } = await workflow("w").start(wrong).map(wrong, twice, gather).build().run(0).result
    expect(error).toMatchObject({ code: "MAP_NEEDS_LIST", node: "sends" })
  })

  test("may be run several times in one run, each list on its own", async () => {
    const lists = node("lists", (_: number, ctx: Context) => {
      ctx.send([1, 2])
      return [3]
    })
    const built = workflow("w")
      .start(lists)
      .map(lists as typeof list, twice, gather)
      .build()
    expect((await built.run(0)).outputs).toEqual([[2, 4], [6]])
  })

  test("continues over a worker that is a sub-workflow", async () => {
    const inner = workflow("inner")
      .chain(
        twice,
        node("plus", (n: number) => n + 1),
      )
      .build()
    const built = workflow("w").start(list).map(list, inner.asNode(), gather).build()
    expect((await built.run(3)).outputs).toEqual([[1, 3, 5]])
  })

  test("whose workers ask waits for the person, and continues with the next items", async () => {
    const asks = node("asks", async (n: number, ctx: Context) => ctx.ask(`item ${n}?`))
    const run = workflow("w").start(list).map(list, asks, gather, { concurrency: 2 }).build().run(3)
    expect((await run).requests.map(({ prompt }) => prompt)).toEqual(["item 0?", "item 1?"])
    await run.respond("r2", "one")
    expect((await run).requests.map(({ prompt }) => prompt)).toEqual(["item 0?", "item 2?"])
    await run.respond("r1", "zero")
    await run.respond("r3", "two")
    expect((await run).outputs).toEqual([["zero", "one", "two"]])
  })

  test("in flow mode gives the same", async () => {
    const built = workflow("w", { schedule: "flow" })
      .start(list)
      .map(list, twice, gather, { concurrency: 2 })
      .build()
    expect((await built.run(5)).outputs).toEqual([[0, 2, 4, 6, 8]])
  })

  test("takes 100,000 items", async () => {
    const size = node("size", (values: readonly number[]) => [values.length, values.at(-1)])
    const built = workflow("w").start(list).map(list, twice, size).build()
    expect((await built.run(100_000)).outputs).toEqual([[100_000, 199_998]])
  })

  test("takes 100,000 items of an asynchronous worker, one after another", async () => {
    let [atOnce, most] = [0, 0]
    const worker = node("worker", async (n: number) => {
      most = Math.max(most, ++atOnce)
      await undefined
      atOnce--
      return n
    })
    const size = node("size", (values: readonly number[]) => values.length)
    const built = workflow("w").start(list).map(list, worker, size, { concurrency: 1 }).build()
    expect((await built.run(100_000)).outputs).toEqual([100_000])
    expect(most).toBe(1)
  })
})
