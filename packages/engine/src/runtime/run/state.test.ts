import { describe, expect, test } from "vitest"
import {
  add,
  append,
  type Context,
  channel,
  merge,
  node,
  reducer,
  replace,
  union,
  workflow,
} from "../../index.ts"
import { controlled, settled } from "../../testing/index.ts"

const start = node("start", (n: number) => n)

describe("shared state", () => {
  const last = channel("last", replace("none"))
  const log = channel("log", append<string>())
  const tags = channel("tags", union<string>(["a"]))
  const facts = channel("facts", merge<{ x?: number; y?: number }>({}))
  const total = channel("total", add(10))
  const state = [last, log, tags, facts, total]

  const writer = (id: string, x: number) =>
    node(id, (_: number, ctx: Context) => {
      ctx.state.write(last, id)
      ctx.state.write(log, [id])
      ctx.state.write(tags, ["a", id])
      ctx.state.write(facts, id === "one" ? { x } : { y: x })
      ctx.state.write(total, x)
    })

  test("combines the writes of a superstep with each channel's reducer", async () => {
    const built = workflow("w", { state })
      .start(start)
      .fanOut(start, [writer("one", 1), writer("two", 2)])
      .build()
    expect((await built.run(0)).state).toEqual({
      last: "two",
      log: ["one", "two"],
      tags: ["a", "one", "two"],
      facts: { x: 1, y: 2 },
      total: 13,
    })
  })

  test("has its first values before anything is written, and those of the run's options before these", async () => {
    const built = workflow("w", { state }).start(start).build()
    expect((await built.run(0)).state).toEqual({ last: "none", log: [], tags: ["a"], facts: {}, total: 10 })
    const first = { total: 5, log: ["first"] }
    expect((await built.run(0, { state: first })).state).toMatchObject(first)
    expect(first).toEqual({ total: 5, log: ["first"] })
  })

  test("of one run is not that of another", async () => {
    const built = workflow("w", { state }).start(writer("one", 1)).build()
    const results = await Promise.all([built.run(0), built.run(0), built.run(0)])
    for (const result of results) expect(result.state).toMatchObject({ total: 11, log: ["one"] })
  })

  test("that was read stays as it was read, whatever is written later", async () => {
    const reads: (readonly string[])[] = []
    const loop = node("loop", (n: number, ctx: Context) => {
      reads.push(ctx.state.get(log))
      ctx.state.write(log, [`pass ${n}`])
      return n + 1
    })
    const built = workflow("w", { state })
      .start(loop)
      .loop(loop, loop, { while: (n) => n < 3 })
      .build()
    const result = await built.run(0)
    expect(reads).toEqual([[], ["pass 0"], ["pass 0", "pass 1"]])
    expect(result.state.log).toEqual(["pass 0", "pass 1", "pass 2"])
  })

  test("is copied once for all reads between two writes, and every copy is frozen", async () => {
    const reads: (readonly unknown[])[] = []
    const read = (_: number, ctx: Context) => {
      const all = [ctx.state.get(log), ctx.state.get(tags), ctx.state.get(facts)]
      const again = [ctx.state.get(log), ctx.state.get(tags), ctx.state.get(facts)]
      for (const [i, value] of all.entries()) expect(value).toBe(again[i])
      for (const value of all) expect(Object.isFrozen(value)).toBe(true)
      reads.push(all)
      ctx.state.write(log, [`${reads.length}`])
      ctx.state.write(tags, [`${reads.length}`])
      ctx.state.write(facts, { x: reads.length })
      return 0
    }
    const built = workflow("w", { state })
      .chain(node("first", read), node("second", read), node("third", read))
      .build()
    const result = await built.run(0)
    expect(reads).toEqual([
      [[], ["a"], {}],
      [["1"], ["a", "1"], { x: 1 }],
      [["1", "2"], ["a", "1", "2"], { x: 2 }],
    ])
    expect(result.state).toMatchObject({ log: ["1", "2", "3"], tags: ["a", "1", "2", "3"], facts: { x: 3 } })
  })

  test("may be written several times by one task, in that order", async () => {
    const twice = node("twice", (_: number, ctx: Context) => {
      ctx.state.write(log, ["a"])
      ctx.state.write(last, "first")
      ctx.state.write(log, ["b"])
      ctx.state.write(last, "second")
    })
    const { state: end } = await workflow("w", { state }).start(twice).build().run(0)
    expect(end).toMatchObject({ log: ["a", "b"], last: "second" })
  })

  test("keeps what was written before the run failed", async () => {
    const fails = node("fails", (_: number, ctx: Context) => {
      ctx.state.write(total, 100)
      throw new Error("boom")
    })
    const one = node("one", (n: number, ctx: Context) => {
      ctx.state.write(total, 1)
      return n
    })
    const result = await workflow("w", { state }).chain(one, fails).build().run(0).result
    expect(result).toMatchObject({ status: "failed", state: { total: 11 } })
  })

  test("of a workflow is not seen by its sub-workflow, nor the other way round", async () => {
    const inner = workflow("inner", { state: [total] })
      .start(node("in", (n: number, ctx: Context) => ctx.state.get(total) + n))
      .build()
    const outer = node("out", (n: number, ctx: Context) => {
      ctx.state.write(total, 1_000)
      return n
    })
    const result = await workflow("w", { state: [total] })
      .chain(outer, inner.asNode())
      .build()
      .run(0)
    expect(result).toMatchObject({ outputs: [10], state: { total: 1_010 } })
  })
})

describe("a reducer of one's own", () => {
  const highest = channel(
    "highest",
    reducer<number>("highest", (current, write) => Math.max(current ?? 0, write)),
  )
  const words = channel(
    "words",
    reducer<string, string[]>("words", (current, write) => [current ?? "", ...write].join(" "), "start"),
  )
  const writes = (id: string, n: number) =>
    node(id, (_: number, ctx: Context) => {
      ctx.state.write(highest, n)
      ctx.state.write(words, [id])
    })
  const built = (a: number, b: number) =>
    workflow("w", { state: [highest, words] })
      .start(start)
      .fanOut(start, [writes("a", a), writes("b", b)])
      .build()

  test("is given the writes of a superstep one by one, in the order of the tasks", async () => {
    expect((await built(5, 3).run(0)).state).toEqual({ highest: 5, words: "start a b" })
  })

  test("has done its work before the next superstep starts", async () => {
    const writes = node("writes", (n: number, ctx: Context) => {
      ctx.state.write(highest, n)
      return n
    })
    const reads = node("reads", (_: number, ctx: Context) => ctx.state.get(highest))
    const chain = workflow("w", { state: [highest] })
      .chain(writes, reads)
      .build()
    expect((await chain.run(7)).outputs).toEqual([7])
  })

  test.each<[string, () => number, RegExp]>([
    [
      "throws",
      () => {
        throw new Error("cannot")
      },
      /cannot/,
    ],
    ["returns what JSON cannot hold", () => 1n as never, /bigint/],
    ["returns nothing", () => undefined as never, /undefined/],
  ])("that %s fails the run and is named with its channel", async (_, reduce, message) => {
    const broken = channel("broken", reducer<number>("mine", reduce))
    const writes = node("writes", (n: number, ctx: Context) => {
      ctx.state.write(broken, n)
      return n
    })
    const next = controlled<number, number>("next")
    const { status, error } = await workflow("w", { state: [broken] })
      .chain(writes, next)
      .build()
      .run(1).result
    expect(status).toBe("failed")
    expect(error?.code).toBe("REDUCER_FAILED")
    expect(error?.message).toMatch(/"mine" of channel "broken"/)
    expect(error?.message).toMatch(message)
    await settled()
    expect(next.atWork).toHaveLength(0)
  })

  test("whose name another function has is refused at build", () => {
    const one = channel(
      "one",
      reducer<number>("same", (_, write) => write),
    )
    const other = channel(
      "other",
      reducer<number>("same", (_, write) => -write),
    )
    const build = () =>
      workflow("w", { state: [one, other] })
        .start(start)
        .build()
    expect(build).toThrow(expect.objectContaining({ code: "REDUCER_NAME_TAKEN" }))
  })

  test("may not take the name of a built-in one", () => {
    const fake = channel(
      "fake",
      reducer<number>("add", (_, write) => write),
    )
    expect(() =>
      workflow("w", { state: [fake] })
        .start(start)
        .build(),
    ).toThrow(/add/)
  })
})

describe("a node's own state", () => {
  const counts = node("counts", (n: number, ctx: Context) => {
    const seen = (ctx.local.get<number>("seen") ?? 0) + 1
    ctx.local.set("seen", seen)
    return [n, seen, ctx.local.get("seen"), ctx.local.get("nothing") ?? null]
  })

  test("is kept from one message to the next, and a task sees its own writes", async () => {
    const source = node("source", (_: number, ctx: Context) => {
      ctx.send(10)
      return 20
    })
    expect((await workflow("w").chain(source, counts).build().run(0)).outputs).toEqual([
      [10, 1, 1, null],
      [20, 2, 2, null],
    ])
  })

  test("is its own: not another node's, not another run's", async () => {
    const other = node("other", (_: number, ctx: Context) => ctx.local.get("seen") ?? "nothing")
    const built = workflow("w").start(start).fanOut(start, [counts, other]).build()
    expect((await built.run(1)).outputs).toEqual([[1, 1, 1, null], "nothing"])
    expect((await built.run(2)).outputs).toEqual([[2, 1, 1, null], "nothing"])
  })

  test("takes any key, those of Object's own too", async () => {
    const odd = node("odd", (_: number, ctx: Context) => {
      const before = ["__proto__", "constructor", "toString"].map((key) => ctx.local.get(key) ?? null)
      for (const key of ["__proto__", "constructor", "toString"]) ctx.local.set(key, `own ${key}`)
      return before
    })
    const reads = workflow("w")
      .start(odd)
      .loop(odd as never, odd, { max: 1 })
      .build()
    expect((await reads.run(0)).outputs).toEqual([["own __proto__", "own constructor", "own toString"]])
  })

  test("that a failed attempt wrote is gone", async () => {
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: (_: number, ctx: Context) => {
        const before = ctx.local.get("key") ?? "nothing"
        ctx.local.set("key", "written")
        if (ctx.attempt === 1) throw new Error("again")
        return before
      },
    })
    expect((await workflow("w").start(flaky).build().run(1)).outputs).toEqual(["nothing"])
  })
})

describe("what a handler sends and puts out", () => {
  test("ctx.output adds to the outputs, before the value that is returned", async () => {
    const speaks = node("speaks", (n: number, ctx: Context) => {
      ctx.output("first")
      ctx.output("second")
      return n
    })
    expect((await workflow("w").start(speaks).build().run(3)).outputs).toEqual(["first", "second", 3])
  })

  test("ctx.output works in a node with edges too, and only there it is apart from its messages", async () => {
    const speaks = node("speaks", (n: number, ctx: Context) => {
      ctx.output("aside")
      return n
    })
    expect((await workflow("w").chain(speaks, start).build().run(3)).outputs).toEqual(["aside", 3])
  })

  test("ctx.send is no output, also in a node that is a declared output", async () => {
    const sends = node("sends", (n: number, ctx: Context) => {
      ctx.send(n * 10)
      return n
    })
    const next = node("next", () => undefined)
    expect((await workflow("w").chain(sends, next).output(sends).build().run(3)).outputs).toEqual([3])
  })

  test("a node that is a declared output and has edges does both with what it returns", async () => {
    const next = node("next", (n: number) => n + 1)
    expect((await workflow("w").chain(start, next).output(start, next).build().run(3)).outputs).toEqual([
      3, 4,
    ])
  })
})
