import { describe, expect, test } from "vitest"
import { z } from "zod"
import { append, type Context, channel, merge, node, replace, workflow } from "../../index.ts"

class Point {
  x = 1
}
const cyclic: Record<string, unknown> = {}
cyclic.self = { again: cyclic }

const bad: [string, unknown, RegExp][] = [
  ["a cyclic value", cyclic, /cyclic/],
  ["a key __proto__", JSON.parse('{"a": {"__proto__": {"admin": true}}}'), /a\.__proto__/],
  ["a BigInt", { n: 1n }, /n is a bigint/],
  ["NaN", [Number.NaN], /\[0\] is NaN/],
  ["Infinity", Number.POSITIVE_INFINITY, /Infinity/],
  ["an instance of a class", { at: new Point() }, /at is an instance of Point/],
  ["a Date", new Date(0), /Date/],
  ["a Map", new Map(), /Map/],
  ["a function", { call: () => 1 }, /call is a function/],
  ["a symbol", Symbol("s"), /symbol/],
]

const any = channel("any", replace<unknown>())

/** Runs one handler, twice if its policy lets it, and gives how it failed. */
async function failureOf(run: (value: unknown, ctx: Context) => unknown, next = false) {
  let runs = 0
  const counted = node({
    id: "counted",
    retry: { attempts: 2, delay: 0 },
    run: (value: unknown, ctx: Context) => {
      runs++
      return run(value, ctx)
    },
  })
  const start = workflow("w", { state: [any] }).start(counted)
  const built = (
    next
      ? start.edge(
          counted,
          node("next", (value: unknown) => value),
        )
      : start
  ).build()
  const { status, error, outputs, state } = await built.run(1).result
  return { status, code: error?.code, message: error?.message ?? "", node: error?.node, outputs, state, runs }
}

describe.each(bad)("%s", (_, value, reason) => {
  test.each<[string, (value: unknown, ctx: Context) => unknown]>([
    ["returned as an output", () => value],
    ["returned by an asynchronous handler", async () => value],
    ["sent", (_, ctx) => ctx.send(value)],
    ["put out", (_, ctx) => ctx.output(value)],
    ["written to shared state", (_, ctx) => ctx.state.write(any, value)],
    ["kept in the node's own state", (_, ctx) => ctx.local.set("key", value)],
    ["emitted", (_, ctx) => ctx.emit("name", value)],
    ["logged", (_, ctx) => ctx.log("info", "text", value)],
    ["the result of a step", (_, ctx) => ctx.step("step", () => value)],
    ["shown with a question", (_, ctx) => ctx.ask({ prompt: "?", data: value })],
    ["the default of a question", (_, ctx) => ctx.ask({ prompt: "?", default: value, timeout: 5 })],
  ])("%s fails the task, says why, and is not tried again", async (_, run) => {
    const failure = await failureOf(run)
    expect(failure).toMatchObject({ status: "failed", code: "NOT_SERIALISABLE", node: "counted", runs: 1 })
    expect(failure.message).toMatch(reason)
    expect(failure.outputs).toEqual([])
  })
})

test("a value that cannot be stored fails also on its way along an edge", async () => {
  expect(await failureOf(() => 1n, true)).toMatchObject({ status: "failed", code: "NOT_SERIALISABLE" })
})

test("a handler may catch what is thrown for a bad value, and continue", async () => {
  const careful = await failureOf((_, ctx) => {
    try {
      ctx.output(1n as never)
      return "taken"
    } catch {
      return "caught"
    }
  })
  expect(careful).toMatchObject({ status: "completed", outputs: ["caught"] })
})

test("an output that the node's own schema refuses fails the task", async () => {
  const wrong = node({ id: "wrong", output: z.number(), run: (): number => "text" as never })
  const { error } = await workflow("w").start(wrong).build().run(1).result
  expect(error).toMatchObject({ code: "OUTPUT_INVALID", node: "wrong" })
})

test("an output is passed on as the node's own schema reads it", async () => {
  const trimmed = node({ id: "trimmed", output: z.string().trim(), run: () => "  text " })
  expect((await workflow("w").start(trimmed).build().run(1)).outputs).toEqual(["text"])
})

describe("state", () => {
  const known = channel("known", append<number>())
  const unknown = channel("unknown", merge<{ a?: number }>({}))

  test.each<[string, (ctx: Context) => unknown]>([
    ["read", (ctx) => ctx.state.get(unknown)],
    ["written", (ctx) => ctx.state.write(unknown, { a: 1 })],
  ])(
    "a channel that the workflow does not have cannot be %s; the error lists those it has",
    async (_, use) => {
      const uses = node("uses", (_: number, ctx) => use(ctx))
      const { error } = await workflow("w", { state: [known] })
        .start(uses)
        .build()
        .run(1).result
      expect(error).toMatchObject({ code: "UNKNOWN_CHANNEL", node: "uses" })
      expect(error?.message).toMatch(/"unknown".*"known"/)
    },
  )

  test("a write that does not fit its reducer fails the task", async () => {
    const wrong = node("wrong", (_: number, ctx) => ctx.state.write(known, 5 as never))
    const { error } = await workflow("w", { state: [known] })
      .start(wrong)
      .build()
      .run(1).result
    expect(error).toMatchObject({ code: "WRITE_INVALID", node: "wrong" })
    expect(error?.message).toMatch(/"known".*needs a list/)
  })
})

describe("usage", () => {
  test.each<[string, object]>([
    ["a negative number", { inputTokens: -1 }],
    ["NaN", { usd: Number.NaN }],
    ["a counter that does not exist", { tokens: 5 }],
  ])("%s cannot be counted, neither from a step nor from ctx.use", async (_, usage) => {
    const direct = await failureOf((_, ctx) => ctx.use(usage))
    expect(direct).toMatchObject({ code: "USAGE_INVALID", runs: 1 })
    const stepped = await failureOf((_, ctx) => ctx.step("s", () => 1, { usage: () => usage }))
    expect(stepped).toMatchObject({ code: "USAGE_INVALID" })
  })
})

describe("times", () => {
  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, "5" as never])(
    "a sleep or a deadline of %s is refused",
    async (milliseconds) => {
      const sleeping = await failureOf((_, ctx) => ctx.sleep(milliseconds))
      expect(sleeping).toMatchObject({ status: "failed", node: "counted" })
      expect(sleeping.message).toContain(String(milliseconds))
      const asking = await failureOf((_, ctx) => ctx.ask({ prompt: "?", timeout: milliseconds }))
      expect(asking).toMatchObject({ status: "failed", node: "counted" })
      expect(asking.message).toContain(String(milliseconds))
    },
  )
})
