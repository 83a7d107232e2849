import { expect, test } from "vitest"
import { append, channel, node, workflow } from "../../index.ts"
import { type CrashProgress, crashTest, type SimulateOptions } from "../index.ts"
import { withChangingRoutes } from "./broken-engine.test-support.ts"
import { simulate } from "./simulation.ts"

const log = channel("log", append<string>())
const upper = node("upper", (text: string, ctx) => {
  ctx.state.write(log, [text])
  return ctx.step("upper", () => text.toUpperCase())
})
const keep = node("keep", async (text: string, ctx) => {
  await ctx.sleep(1_000)
  ctx.use({ modelCalls: 1 })
  return `${text}: ${await ctx.ask<string>("keep?")}`
})
const shout = workflow("shout", { state: [log] })
  .chain(upper, keep)
  .build()

test("a process dies before, right after and some time after every write, and at moments of the seed's choice", async () => {
  const progress: CrashProgress[] = []
  const report = await crashTest(shout, "hi", {
    answers: () => "yes",
    seeds: 20,
    onProgress: (one) => progress.push(one),
  })
  expect(report.outcome).toEqual({
    status: "completed",
    outputs: ["HI: yes"],
    state: { log: ["hi"] },
    usage: { modelCalls: 1 },
  })
  expect(report.writes).toBe(8)
  expect(report.runs).toBe(1 + 3 * 8 + 20)
  expect(report.crashes).toBeGreaterThan(3 * 8)
  expect(progress).toHaveLength(report.runs)
  expect(progress.at(-1)).toEqual({ done: report.runs, total: report.runs, crashes: report.crashes })
})

test("the process dies at exactly these points", async () => {
  const points = [{ before: 2 }, { after: 2 }, 2] as const
  for (const point of points) {
    const { crashes, journal } = await simulate(shout, "hi", {
      seed: 1,
      faults: { crash: [point] },
      answers: () => 1,
    })
    expect([crashes, journal.length]).toEqual([1, 8])
  }
  const never = await simulate(shout, "hi", { seed: 1, faults: { crash: [{ after: 99 }] }, answers: () => 1 })
  expect(never.crashes).toBe(0)
})

test("an effect that happens twice after a crash is found, with the crash point and the code that repeats it", async () => {
  let sent = 0
  const begin = node("begin", () => {
    sent = 0
    return "mail"
  })
  const send = node("send", async (_: string, ctx) => {
    // Not a step, so the mail is sent again after a crash.
    sent++
    await ctx.sleep(1)
    return sent
  })
  const flow = workflow("sending").chain(begin, send).build()
  const error = await crashTest(flow, null).catch((e) => e)
  expect(error).toMatchObject({ code: "CRASH_TEST_FAILED" })
  const [, end, json] =
    /^Seed 1, crash .* record.*: it ends with .*"outputs":\[(\d)\].*; undisturbed, .*\nReplay it: simulate\(workflow, null, (.*)\)$/.exec(
      error.message,
    ) ?? []
  expect(end).toBe("2")
  const { result } = await simulate(flow, null, JSON.parse(json as string) as SimulateOptions)
  expect(result.outputs).toEqual([2])
})

test("a broken invariant is named with its crash point", async () => {
  const built = workflow("w")
    .start(node("n", () => 1))
    .build()
  const testing = crashTest(withChangingRoutes(built), { a: [1] } as never)
  await expect(testing).rejects.toThrow(
    /^Seed \d+, .*\(M6\).*\nReplay it: simulate\(workflow, \{"a":\[1\]\}, \{ /s,
  )
})

test("order-dependent outcomes are compared by the test's own function", async () => {
  const asking = node({
    id: "asking",
    run: (_: null, ctx) => {
      ctx.request("a?")
      ctx.request("b?")
    },
    onAnswer: (answer: string) => answer,
  })
  const flow = workflow("inbox").start(asking).build()
  const answers = ({ prompt }: { prompt: string }) => prompt
  await expect(crashTest(flow, null, { answers })).rejects.toThrow(
    "define with `compare` what must be the same",
  )
  const { outcome } = await crashTest(flow, null, {
    answers,
    compare: ({ result }) => [...result.outputs].sort(),
  })
  expect(outcome).toEqual(["a?", "b?"])
})

test("in flow mode the order of outputs and lists does not count", async () => {
  const start = node("start", (n: number) => n)
  const step = (id: string) =>
    node(id, async (n: number, ctx) => {
      ctx.state.write(log, [id])
      return n
    })
  const flow = workflow("race", { schedule: "flow", state: [log] })
    .start(start)
    .fanOut(start, [step("a"), step("b"), step("c")])
    .build()
  expect(await crashTest(flow, 1)).toMatchObject({ runs: 1 + 3 * 5 + 200 })
})

test("the options of any run are supported", async () => {
  const { outcome } = await crashTest(shout, "hi", {
    seeds: 5,
    answers: () => "no",
    run: { budget: { modelCalls: 0 } },
    status: "limit",
  })
  expect(outcome).toMatchObject({ status: "limit", error: "BUDGET_EXCEEDED" })
})
