/** Forks of runs that reached a limit: with a larger one they continue where they stopped. */
import { describe, expect, test } from "vitest"
import { node, workflow } from "../index.ts"
import { textStore } from "../runtime/journal/stores.test-support.ts"
import { controlled, manualClock, settled } from "../testing/index.ts"
import { fork, rerun } from "./index.ts"

describe("a run that reached a limit", () => {
  /** Three steps that cost one each; each call of `work` is logged. */
  function spending(ran: string[], onLimit = false) {
    const step = (id: string) =>
      node(id, async (n: number, ctx) => {
        const work = () => {
          ran.push(id)
          return n
        }
        await ctx.step("work", work, { usage: () => ({ modelCalls: 1 }) })
        return n + 1
      })
    const [a, b, c] = [step("a"), step("b"), step("c")]
    const built = workflow("spending").chain(a, b, c)
    return onLimit ? built.onLimit(node("sorry", () => -1)).build() : built.build()
  }

  test("continues with a larger budget where it stopped, and does nothing twice", async () => {
    const store = textStore()
    const ran: string[] = []
    const built = spending(ran)
    const stopped = await built.run(0, { store, runId: "r", budget: { modelCalls: 2 } }).result
    expect(stopped).toMatchObject({ status: "limit", error: { code: "BUDGET_EXCEEDED" } })
    expect(ran).toEqual(["a", "b"])
    await fork(store, "r", { runId: "f", budget: { modelCalls: 9 } })
    expect(await built.resume("f", { store })).toMatchObject({ status: "completed", outputs: [3] })
    expect(ran).toEqual(["a", "b", "c"])
    await rerun(store, "r", { runId: "g", budget: { modelCalls: 3 } })
    expect(await built.resume("g", { store })).toMatchObject({
      status: "completed",
      usage: { modelCalls: 3 },
    })
  })

  test("reaches it again without a larger one, since previous usage counts", async () => {
    const store = textStore()
    const built = spending([])
    await built.run(0, { store, runId: "r", budget: { modelCalls: 2 } }).result
    await fork(store, "r", { runId: "same" })
    expect(await built.resume("same", { store }).result).toMatchObject({ status: "limit" })
    await fork(store, "r", { runId: "other", budget: { tokens: 5 } })
    expect(await built.resume("other", { store }).result).toMatchObject({ status: "limit" })
  })

  test("continues before its limit route, with more supersteps", async () => {
    const store = textStore()
    const ran: string[] = []
    const built = spending(ran, true)
    const stopped = await built.run(0, { store, runId: "r", limits: { supersteps: 2 } }).result
    expect(stopped.outputs).toEqual([-1])
    await rerun(store, "r", { runId: "f", limits: { supersteps: 3 } })
    expect(await built.resume("f", { store })).toMatchObject({ status: "completed", outputs: [3] })
    expect(ran).toEqual(["a", "b", "c"])
  })

  test("and failed on its limit route continues on that route", async () => {
    const store = textStore()
    let isBroken = true
    const sorry = node("sorry", () => {
      if (isBroken) throw new Error("broken")
      return "fixed"
    })
    const built = workflow("w")
      .chain(
        node("a", (n: number) => n),
        node("b", (n: number) => n),
      )
      .onLimit(sorry)
      .build()
    const failed = await built.run(1, { store, runId: "r", limits: { supersteps: 1 } }).result
    expect(failed).toMatchObject({ status: "failed", error: { message: "broken" } })
    isBroken = false
    await rerun(store, "r", { runId: "f" })
    expect(await built.resume("f", { store })).toMatchObject({ outputs: ["fixed"] })
  })

  test("gets more time, from now on", async () => {
    const store = textStore()
    const clock = manualClock()
    const slow = controlled("slow")
    const built = workflow("slow").start(slow).build()
    const late = built.run(1, { store, runId: "r", timeout: 100, clock })
    await settled()
    await clock.advance(101)
    expect(await late.result).toMatchObject({ error: { code: "RUN_TIMEOUT" } })
    await rerun(store, "r", { runId: "f", timeout: 1_000, clock })
    const again = built.resume("f", { store, clock })
    await settled()
    await clock.advance(900)
    slow.finish("done")
    expect(await again).toMatchObject({ status: "completed", outputs: ["done"] })
  })

  test("invalid bounds are rejected", async () => {
    const store = textStore()
    await spending([]).run(0, { store, runId: "r", budget: { modelCalls: 2 } }).result
    await expect(fork(store, "r", { budget: { modelCalls: -1 } })).rejects.toThrow(
      "budget.modelCalls must be a number of at least 0, not -1",
    )
    await expect(fork(store, "r", { input: 1, limits: { steps: 1 } as never })).rejects.toThrow(
      'limits has no "steps"',
    )
  })
})
