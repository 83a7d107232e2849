/** A value that is too large is refused where it is handed over, and the process lives on. */
import { describe, expect, test } from "vitest"
import {
  append,
  type Context,
  channel,
  fork,
  isSuperstepError,
  memoryStore,
  node,
  reducer,
  replace,
  workflow,
} from "../../index.ts"

/** 41 lists in memory, and 2 to the power of 40 as JSON. */
function endless(): unknown {
  let value: unknown = ["x"]
  for (let i = 0; i < 40; i++) value = [value, value]
  return value
}

const LARGE: readonly (readonly [string, () => unknown])[] = [
  ["a long text", () => "x".repeat(1_000)],
  ["a long list", () => Array.from({ length: 600 }, () => 1)],
  ["a long key", () => ({ ["k".repeat(1_000)]: 1 })],
  ["a list that is endless as JSON", endless],
]

const limits = { valueBytes: 1_000 }
const numbers = channel("numbers", append<unknown>())
const last = channel("last", replace<unknown>(null))
const joined = channel(
  "joined",
  reducer<string>("", (a, b) => a + b),
)

/** A workflow whose one node does this. */
const flow = (act: (ctx: Context) => unknown) =>
  workflow("w", { state: [numbers, last, joined] })
    .start(
      node({ id: "acts", onAnswer: () => 1, run: async (_: unknown, ctx: Context) => (await act(ctx)) ?? 1 }),
    )
    .build()

describe.each(LARGE)("%s", (_, large) => {
  test.each<[string, (ctx: Context) => unknown, RegExp]>([
    [
      "returned",
      () => large(),
      /^What "acts" returned in run r is too large: more than \d+ bytes as JSON, and the limit is 1000\. .*limits\.valueBytes/,
    ],
    ["sent", (ctx) => ctx.send(large()), /What "acts" sent/],
    ["put out", (ctx) => ctx.output(large()), /An output of "acts"/],
    ["the result of a step", (ctx) => ctx.step("s", large), /step "s" of "acts"/],
    ["written to state", (ctx) => ctx.state.write(last, large()), /channel "last"/],
    ["appended to state", (ctx) => ctx.state.write(numbers, [large()]), /channel "numbers"/],
    ["kept by the node", (ctx) => ctx.local.set("k", large()), /kept under "k"/],
    ["emitted", (ctx) => ctx.emit("e", large()), /event "e" of "acts"/],
    ["logged", (ctx) => ctx.log("info", "m", large()), /log entry "m" of "acts"/],
    [
      "shown with a question",
      (ctx) => ctx.ask({ prompt: "p?", data: large() }),
      /data of the question "p\?"/,
    ],
    ["a default answer", (ctx) => ctx.ask({ prompt: "p?", default: large() }), /default answer to "p\?"/],
    [
      "the input of a call",
      (ctx) =>
        ctx.call(
          flow(() => 1),
          large(),
        ),
      /The input of workflow "w"/,
    ],
  ])("that is %s fails the task, and names it", async (_, act, message) => {
    const { status, error } = await flow(act).run(1, { runId: "r", limits }).result
    expect([status, error?.code]).toEqual(["failed", "VALUE_TOO_LARGE"])
    expect(error?.message).toMatch(message)
  })

  test("that is the input, or the first state, starts nothing", async () => {
    let ran = 0
    const built = flow(() => ++ran)
    await expect(built.run(large(), { limits }).result).rejects.toMatchObject({ code: "VALUE_TOO_LARGE" })
    await expect(built.run(1, { limits, state: { last: large() } }).result).rejects.toThrow(
      /^state\.last of a run of workflow "w" is too large/,
    )
    expect(ran).toBe(0)
  })

  test("that is an answer is not taken, and another one is", async () => {
    const run = flow((ctx) => ctx.ask("p?")).run(1, { limits })
    const [request] = (await run).requests
    const answer = run.respond(request?.id ?? "", large())
    await expect(answer).rejects.toMatchObject({ code: "VALUE_TOO_LARGE" })
    await run.respond(request?.id ?? "", "short")
    expect((await run).outputs).toEqual(["short"])
  })

  test("that a fork is given is refused", async () => {
    const store = memoryStore()
    await flow(() => 1).run(1, { store, runId: "r", limits })
    const refused = { code: "VALUE_TOO_LARGE" }
    await expect(fork(store, "r", { at: { seq: 1 }, state: { last: large() } })).rejects.toMatchObject(
      refused,
    )
    await expect(fork(store, "r", { input: large() })).rejects.toMatchObject(refused)
  })
})

test("what a reducer makes of writes is bounded too", async () => {
  const built = flow((ctx) => ctx.state.write(joined, "x".repeat(2_000)))
  const { error } = await built.run(1, {
    limits: { valueBytes: 5_000 },
    state: { joined: "y".repeat(4_000) },
  }).result
  expect(error?.code).toBe("REDUCER_FAILED")
  expect(error?.message).toMatch(/"joined" failed: Its result in run .* is too large/)
})

test("a limit of the workflow holds, one of the run comes first, and both outlive the process", async () => {
  const small = workflow("small", { limits: { valueBytes: 10 } })
    .start(
      node("asks", async (_: number, ctx: Context) => "x".repeat((await ctx.ask<number>("how many?")) + 1)),
    )
    .build()
  const ends = async (limit: number | undefined) => {
    const store = memoryStore()
    await small.run(1, {
      store,
      runId: "r",
      ...(limit === undefined ? {} : { limits: { valueBytes: limit } }),
    })
    const run = small.resume("r", { store, takeOver: true })
    await run.respond((await run).requests[0]?.id ?? "", 20)
    return (await run.result).error?.code
  }
  expect(await ends(undefined)).toBe("VALUE_TOO_LARGE")
  expect(await ends(100)).toBeUndefined()
})

test("without a limit a run takes 32 MB and no more", async () => {
  const returns = (length: number) =>
    workflow("w")
      .start(node("returns", () => "x".repeat(length)))
      .build()
      .run(1).result
  const most = 32 * 1_024 * 1_024 - 2
  expect((await returns(most)).status).toBe("completed")
  expect((await returns(most + 1)).error?.code).toBe("VALUE_TOO_LARGE")
})

test("the limit is for one value: a channel that is appended to may hold more in all", async () => {
  const grows = node("grows", (n: number, ctx: Context) => {
    ctx.state.write(numbers, ["x".repeat(600)])
    return n + 1
  })
  const built = workflow("w", { state: [numbers] })
    .chain(grows)
    .loop(grows, grows, { until: (n: number) => n > 3, max: 9 })
    .build()
  const { state } = await built.run(1, { limits })
  expect(JSON.stringify(state.numbers).length).toBeGreaterThan(1_000)
})

test("a bad limit is refused before anything starts", async () => {
  await expect(flow(() => 1).run(1, { limits: { valueBytes: 0.5 } }).result).rejects.toSatisfy((error) =>
    isSuperstepError(error, "OPTION_INVALID"),
  )
})
