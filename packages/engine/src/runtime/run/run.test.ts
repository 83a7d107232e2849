import { describe, expect, expectTypeOf, test } from "vitest"
import { z } from "zod"
import {
  isSuperstepError,
  memoryStore,
  node,
  on,
  RunError,
  type RunResult,
  SuperstepError,
  workflow,
} from "../../index.ts"
import { controlled } from "../../testing/index.ts"

const upper = node("upper", (text: string) => text.toUpperCase())
const reverse = node("reverse", async (text: string) => [...text].reverse().join(""))
const shout = workflow("shout").chain(upper, reverse).build()

describe("a run that completes", () => {
  test("gives its outputs when it is awaited", async () => {
    const result = await shout.run("hello world", { runId: "r1" })
    expect(result).toEqual({
      runId: "r1",
      status: "completed",
      outputs: ["DLROW OLLEH"],
      state: {},
      requests: [],
      waits: [],
      undelivered: [],
      usage: {},
      supersteps: 2,
    })
  })

  test("gives the same result to everyone who awaits it, however often and late", async () => {
    const run = shout.run("ab")
    const first = await run
    expect(await run).toEqual(first)
    expect(await run.result).toEqual(first)
  })

  test("has an id of its own where none is given", async () => {
    const [one, other] = [shout.run("a"), shout.run("a")]
    expect(one.id).not.toBe(other.id)
    expect((await one).runId).toBe(one.id)
  })

  test("a handler that returns nothing sends nothing, and the run ends there", async () => {
    const quiet = node("quiet", (_: string): string | undefined => undefined)
    const result = await workflow("w").chain(quiet, upper).build().run("x")
    expect(result).toMatchObject({ status: "completed", outputs: [], undelivered: [] })
  })

  test("null is a message like any other", async () => {
    const nothing = node("nothing", (_: string) => null)
    const got = node("got", (value: null) => [value])
    expect((await workflow("w").chain(nothing, got).build().run("x")).outputs).toEqual([[null]])
  })

  test("every node without an edge out gives outputs, in the order of the tasks", async () => {
    const start = node("start", (n: number) => n)
    const [a, b] = [node("a", (n: number) => n + 1), node("b", (n: number) => n + 2)]
    expect((await workflow("w").start(start).fanOut(start, [a, b]).build().run(1)).outputs).toEqual([2, 3])
  })
})

describe("a run that fails", () => {
  const cause = new Error("no connection")
  const broken = node("broken", (_: string): string => {
    throw cause
  })
  const failing = workflow("failing").chain(upper, broken, reverse).build()

  test("throws a RunError with the code, the node, the attempt and the cause", async () => {
    const error = await failing.run("x", { runId: "r1" }).then(undefined, (thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RunError)
    expect(error).toMatchObject({ code: "ERROR", node: "broken", attempt: 1, cause })
    expect((error as Error).message).toContain('"broken"')
    expect((error as Error).message).toContain("no connection")
    expect((error as RunError).result).toMatchObject({ runId: "r1", status: "failed" })
  })

  test("does not throw where one looks at its result", async () => {
    const { status, error } = await failing.run("x").result
    expect(status).toBe("failed")
    expect(error).toMatchObject({
      code: "ERROR",
      node: "broken",
      attempt: 1,
      message: "no connection",
      cause,
    })
  })

  test("keeps the code that the handler gave its error", async () => {
    const coded = node("coded", (_: string): string => {
      throw new SuperstepError("RATE_LIMIT", "slow down")
    })
    const error = await workflow("w")
      .start(coded)
      .build()
      .run("x")
      .then(undefined, (thrown: unknown) => thrown)
    expect(isSuperstepError(error, "RATE_LIMIT")).toBe(true)
  })

  test("keeps the outputs of the supersteps before", async () => {
    const early = node("early", (text: string) => text)
    const result = await workflow("w")
      .start(upper)
      .fanOut(upper, [early, reverse])
      .edge(reverse, broken)
      .build()
      .run("ab").result
    expect(result).toMatchObject({ status: "failed", outputs: ["AB"] })
  })

  test("keeps the output of a sibling that had finished in the same superstep", async () => {
    const early = node("early", (text: string) => text)
    const late = controlled<string, string>("late")
    const run = workflow("w").start(upper).fanOut(upper, [early, late]).build().run("ab")
    await late.started()
    late.fail(new Error("boom"))
    expect(await run.result).toMatchObject({ status: "failed", outputs: ["AB"] })
  })

  test.each<[string, unknown, string]>([
    ["a string", "just text", "just text"],
    ["undefined", undefined, "undefined was thrown"],
    ["an object", { odd: true }, "odd"],
  ])("also when %s is thrown", async (_, thrown, message) => {
    const odd = node("odd", () => Promise.reject(thrown))
    const { status, error } = await workflow("w").start(odd).build().run(1).result
    expect(status).toBe("failed")
    expect(error?.message).toContain(message)
  })

  test("that nobody awaits does not bring the process down", async () => {
    failing.run("x")
    await shout.run("x")
  })
})

describe("the start input", () => {
  const strict = node({ id: "strict", input: z.object({ id: z.number() }), run: ({ id }) => id })
  const takesTwo = node({
    id: "takesTwo",
    handlers: [on(z.string(), (text) => `text ${text}`), on(z.number(), (n) => `number ${n}`)],
  })

  test("that no handler takes is an error at once, and no handler runs", async () => {
    let ran = 0
    const counted = node({ id: "counted", input: z.string(), run: () => ++ran })
    const run = workflow("w")
      .start(counted)
      .build()
      .run(5 as never)
    await expect(run).rejects.toMatchObject({ code: "INPUT_INVALID" })
    await expect(run.result).rejects.toThrow(/"w".*"counted"/)
    expect(ran).toBe(0)
  })

  test("that is refused leaves no journal", async () => {
    const store = memoryStore()
    const run = workflow("w")
      .start(strict)
      .build()
      .run({ id: "x" } as never, { store, runId: "r" })
    await expect(run).rejects.toThrow(/id: /)
    expect(await store.read("r", 0)).toEqual([])
  })

  test("goes to the first handler that takes it", async () => {
    const built = workflow("w").start(takesTwo).build()
    expect((await built.run("a")).outputs).toEqual(["text a"])
    expect((await built.run(1)).outputs).toEqual(["number 1"])
    await expect(built.run(true as never)).rejects.toThrow(/string.*\|.*number/i)
  })

  test("reaches the handler as its schema reads it", async () => {
    const trimmed = node({ id: "trimmed", input: z.string().trim(), run: (text) => text })
    expect((await workflow("w").start(trimmed).build().run("  x ")).outputs).toEqual(["x"])
  })

  test("may be checked by a schema that takes its time", async () => {
    const slow = z.string().refine(async (text) => text !== "bad")
    const checked = workflow("w")
      .start(node({ id: "checked", input: slow, run: (text) => text }))
      .build()
    expect((await checked.run("good")).outputs).toEqual(["good"])
    await expect(checked.run("bad")).rejects.toMatchObject({ code: "INPUT_INVALID" })
  })

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["a BigInt", { n: 1n }],
    ["NaN", Number.NaN],
    ["a Date", new Date(0)],
    ["a key __proto__", JSON.parse('{"__proto__": {}}')],
  ])("that JSON cannot hold is refused: %s", async (_, input) => {
    const anything = workflow("w")
      .start(node("x", () => 1))
      .build()
    await expect(anything.run(input)).rejects.toMatchObject({ code: "INPUT_INVALID" })
  })
})

describe("one definition serves any number of runs at once", () => {
  test("two runs do not see each other", async () => {
    const hold = controlled<string, string>("hold")
    const built = workflow("w").chain(upper, hold).build()
    const [one, other] = [built.run("a"), built.run("b")]
    const second = await hold.started(2)
    const first = await hold.started(1)
    expect([first.message, second.message]).toEqual(["A", "B"])
    expect(first.ctx.runId).not.toBe(second.ctx.runId)
    second.finish("second")
    expect((await other).outputs).toEqual(["second"])
    first.fail(new Error("mine alone"))
    expect((await one.result).status).toBe("failed")
  })

  test("a hundred runs at once each get their own result", async () => {
    const runs = Array.from({ length: 100 }, (_, i) => shout.run(`r${i}`))
    const outputs = (await Promise.all(runs)).map((result) => result.outputs[0])
    expect(outputs).toEqual(runs.map((_, i) => [...`R${i}`].reverse().join("")))
  })
})

test("a result does not change when the run continues", async () => {
  const chatty = node("chatty", async (_: string, ctx) => {
    ctx.send("lost")
    await ctx.ask("continue?")
    return "done"
  })
  const run = workflow("w").start(chatty).build().run("x")
  const waiting = await run
  const before = structuredClone({ ...waiting })
  await run.respond(waiting.requests[0]?.id ?? "", true)
  expect((await run).outputs).toEqual(["done"])
  expect({ ...waiting }).toEqual(before)
})

describe("a run as a promise", () => {
  const failing = workflow("w")
    .start(
      node("bad", (): string => {
        throw new Error("no")
      }),
    )
    .build()
  const fine = workflow("w")
    .start(node("a", (text: string) => text))
    .build()

  test("is one, for the compiler and at run time", async () => {
    const run: Promise<RunResult<string>> = fine.run("x")
    expect(run).toBeInstanceOf(Promise)
    expectTypeOf(fine.run("x").finally(() => {})).toMatchTypeOf<Promise<RunResult<string>>>()
    expect((await Promise.all([run, fine.run("y")])).flatMap(({ outputs }) => outputs)).toEqual(["x", "y"])
    expect(await Promise.race([fine.run("z")])).toMatchObject({ outputs: ["z"] })
  })

  test("has catch and finally, which return ordinary promises", async () => {
    const seen: string[] = []
    const caught = failing.run("x").catch((error) => error.code)
    expect(caught.constructor).toBe(Promise)
    expect(await caught).toBe("ERROR")
    await fine.run("x").finally(() => seen.push("fine"))
    await expect(failing.run("x").finally(() => seen.push("failed"))).rejects.toThrow("no")
    expect(seen).toEqual(["fine", "failed"])
  })

  test("throws when it is awaited and not where one looks at its result, started by run and by stream", async () => {
    for (const start of [() => failing.run("x"), () => failing.stream("x")]) {
      await expect(start()).rejects.toBeInstanceOf(RunError)
      expect(await start().result).toMatchObject({ status: "failed" })
    }
  })

  test("raises no unhandled rejection when nobody awaits it", async () => {
    const seen: unknown[] = []
    const note = (reason: unknown) => seen.push(reason)
    process.on("unhandledRejection", note)
    failing.run("x")
    failing.stream("x")
    fine.run("x", { limits: 1 as never })
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    process.off("unhandledRejection", note)
    expect(seen).toEqual([])
  })
})
