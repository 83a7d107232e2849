import { expect, test } from "vitest"
import { add, append, channel, node, reducer, settle, workflow } from "../../index.ts"
import { explore } from "../index.ts"
import { withChangingRoutes } from "./broken-engine.test-support.ts"
import { simulate } from "./simulation.ts"

const log = channel("log", append<string>())
const sum = channel("sum", add())
const most = channel(
  "most",
  reducer<number>("most", (a, b) => Math.max(a ?? 0, b)),
)

const writing = (id: string) =>
  node(id, async (n: number, ctx) => {
    ctx.state.write(log, [id])
    ctx.state.write(sum, n)
    ctx.state.write(most, n)
    ctx.use({ modelCalls: 1 })
    return n + 1
  })

test("a correct workflow ends the same way under every seed", async () => {
  const [a, b, c] = [writing("a"), writing("b"), writing("c")]
  const joined = node("joined", (list: readonly number[], ctx) => [
    list,
    ctx.state.get(log),
    ctx.state.get(sum),
  ])
  const flow = workflow("diamond", { state: [log, sum, most] })
    .start(a)
    .fanOut(a, [b, c])
    .fanIn([b, c], joined)
    .build()
  const { runs, crashes, outcome } = await explore(flow, 1, { runs: 60 })
  expect(runs).toBe(60)
  expect(crashes).toBeGreaterThan(30)
  expect(outcome).toEqual({ status: "completed", outputs: [[[3, 3], ["a", "b", "c"], 5]] })
})

test("in flow mode the order of the outputs does not count", async () => {
  const start = node("start", (n: number) => n)
  const flow = workflow("race", { schedule: "flow" })
    .start(start)
    .fanOut(start, [node("a", async (n: number) => n + 1), node("b", async (n: number) => n + 2)])
    .build()
  expect(await explore(flow, 1, { runs: 50 })).toMatchObject({ outcome: { outputs: ["2", "3"] } })
})

test("a seed with a different end is reported with the code that repeats it", async () => {
  const racer = (id: string) => node(id, async (_: null, ctx) => ctx.state.write(log, [id]))
  const start = node("start", () => null)
  const flow = workflow("race", { schedule: "flow", state: [log] })
    .start(start)
    .fanOut(start, [racer("a"), racer("b")])
    .build()
  const byOrder = { compare: ({ result }: { result: { state: object } }) => result.state }
  const error = await explore(flow, null, { runs: 50, seed: 1_000, faults: {}, ...byOrder }).catch((e) => e)
  expect(error).toMatchObject({ code: "EXPLORATION_FAILED" })
  const [, seed] =
    /^Seed (\d+): it ends with (\{.*\}); undisturbed, with (\{.*\})\. .*\n/.exec(error.message) ?? []
  expect(Number(seed)).toBeGreaterThanOrEqual(1_000)
  expect(error.message).toContain(`Reproduce: simulate(workflow, null, { "faults":{},"seed":${seed} })`)
  const again = await simulate(flow, null, { faults: {}, seed: Number(seed) })
  expect(error.message).toContain(`it ends with ${JSON.stringify(again.result.state)}`)
})

test("a broken invariant is named with its seed", async () => {
  const built = workflow("w")
    .start(node("n", () => 1))
    .build()
  const exploring = explore(withChangingRoutes(built), { a: [1] } as never)
  await expect(exploring).rejects.toThrow(
    /^Seed \d+: .*\(M6\).*\nReproduce: simulate\(workflow, \{"a":\[1\]\}, \{ .*"seed":\d+ \}\)$/s,
  )
})

test("the compared outcome can be customized", async () => {
  let calls = 0
  const counting = workflow("counting")
    .start(node("n", () => ++calls))
    .build()
  await expect(explore(counting, null, { runs: 5 })).rejects.toThrow("Seed 1: it ends with")
  const { outcome } = await explore(counting, null, { runs: 5, compare: ({ result }) => result.status })
  expect(outcome).toBe("completed")
})

test("sub-workflows with questions, steps, retries, maps and joins survive all faults", async () => {
  const asked = node("asked", async (n: number, ctx) => n + (await ctx.ask<number>("how many?")))
  const inner = workflow("inner").start(asked).build()
  const split = node("split", (n: number) => [n, n + 1, n + 2])
  const worker = node({
    id: "worker",
    concurrency: 2,
    retry: { attempts: 10, delay: 50, backoff: "exponential", jitter: 0.5 },
    run: async (n: number, ctx) => {
      const squared = await ctx.step("square", () => n * n)
      if (n % 2 === 0) await ctx.sleep(100 * n)
      return squared
    },
  })
  const total = node("total", (list: readonly number[]) => list.reduce((a, b) => a + b, 0))
  const bad = node("bad", (): number => {
    throw new Error("always")
  })
  const good = node("good", (n: number) => n)
  const ending = node("ending", (list: readonly { ok: boolean }[]) => list)
  const whole = workflow("whole")
    .chain(inner.asNode(), split)
    .map(split, worker, total)
    .fanOut(total, [bad, good])
    .fanIn([bad, good], ending, { join: settle() })
    .build()
  const { outcome } = await explore(whole, 1, {
    runs: 40,
    faults: { crash: 4, fail: 0.3, duplicateTimers: 0.2 },
    answers: () => 2,
  })
  expect(outcome).toMatchObject({ status: "completed", outputs: [[{ ok: false }, { ok: true, value: 50 }]] })
})

test("the usage of a sub-workflow counts once, whenever the process dies (M8)", async () => {
  const using = node("using", async (n: number, ctx) => {
    ctx.use({ modelCalls: 1, usd: 0.5 })
    await ctx.step("paid", () => 1, { usage: () => ({ modelCalls: 1 }) })
    return n
  })
  const inner = workflow("inner").start(using).build()
  const outer = workflow("outer")
    .chain(
      inner.asNode(),
      node("after", (n: number) => n),
    )
    .build()
  const { outcome } = await explore(outer, 1, { runs: 60, compare: ({ result }) => result.usage })
  expect(outcome).toEqual({ modelCalls: 2, usd: 0.5 })
})
