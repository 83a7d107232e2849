/** K5: however runs are recovered, started, joined and resumed at once, a process executes each of them once. */
import { describe, expect, test } from "vitest"
import { type Context, memoryStore, node, Runtime, type Store, workflow } from "../index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { seededRandom } from "../testing/simulation/simulate-options.ts"

/** The same store, whose answers take a random number of turns. */
function slowStore(inner: Store, seed: number): Store {
  const random = seededRandom(seed)
  const turns = async () => {
    for (let left = random.below(4); left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
  }
  const slow = Object.entries(inner).map(([name, method]) => {
    if (typeof method !== "function") return [name, method]
    return [
      name,
      async (...args: unknown[]) => {
        await turns()
        const result = await method(...args)
        await turns()
        return result
      },
    ]
  })
  return Object.fromEntries(slow) as Store
}

function counted() {
  let calls = 0
  const flow = workflow("flow")
    .start(
      node("once", async (n: number, ctx: Context) => {
        calls++
        return n + (await ctx.ask<number>("How many?"))
      }),
    )
    .build()
  return { flow, calls: () => calls }
}

describe("a run", () => {
  test("that is recovered and started at once is executed once", async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const inner = memoryStore()
      const left = counted()
      const dead = new Runtime({
        store: inner,
        workflows: [left.flow],
        clock: manualClock(1),
        machine: "dead",
      })
      await dead.start(left.flow, 1, { key: "k", runId: "r" })
      for (const { id } of await inner.holders()) await inner.dismiss(id, { reason: "died" })
      const { flow, calls } = counted()
      const store = slowStore(inner, seed)
      const runtime = new Runtime({ store, workflows: [flow], machine: "alive" })
      const row = await inner.run("r")
      // Free, so that recovery claims it too.
      const lease = await inner.claim("r", row?.token ?? 0, "nobody")
      if (lease !== undefined) await inner.release(lease, 0)
      const recovered = runtime.recover()
      const runs = [
        runtime.start(flow, 1, { key: "k" }),
        runtime.start(flow, 1, { runId: "r", key: "k" }),
        runtime.get<number>("r"),
        runtime.resume(flow, "r"),
      ]
      for (const run of runs) expect((await run).status, `seed ${seed}`).toBe("waiting")
      await recovered
      expect(calls(), `seed ${seed}`).toBe(1)
      await (runs[0] as (typeof runs)[0]).respond("r1", 2)
      for (const run of runs) expect((await run).outputs, `seed ${seed}`).toEqual([3])
      expect(calls(), `seed ${seed}`).toBe(1)
      await runtime.close()
    }
  })

  test("that is resumed while it is executed here is the one that is here, after start, fork and rerun", async () => {
    const { flow, calls } = counted()
    const runtime = new Runtime({ store: memoryStore(), workflows: [flow], clock: manualClock(1) })
    const run = runtime.start(flow, 1, { runId: "r" })
    await run
    const again = runtime.resume(flow, "r")
    expect((await again).status).toBe("waiting")
    expect(calls()).toBe(1)
    const forked = await runtime.fork("r")
    expect((await runtime.resume(flow, forked)).status).toBe("waiting")
    await settled()
    expect(calls()).toBe(2)
    await again.respond("r1", 5)
    expect((await run).outputs).toEqual([6])
    expect((await again).outputs).toEqual([6])
    const rerun = await runtime.rerun("r", { from: { node: "once" } })
    expect((await runtime.resume(flow, rerun)).status).toBe("waiting")
    expect(calls()).toBe(3)
    await runtime.close()
  })

  test("that is executed here with another version of its workflow is RUN_HELD, unless it is taken over", async () => {
    const store = memoryStore()
    const { flow } = counted()
    await flow.run(1, { store, runId: "r" })
    const other = counted()
    await expect(other.flow.resume("r", { store }).result).rejects.toMatchObject({
      code: "RUN_HELD",
      run: "r",
    })
    expect(other.calls()).toBe(0)
    expect((await other.flow.resume("r", { store, takeOver: true })).status).toBe("waiting")
    expect(other.calls()).toBe(1)
  })
})
