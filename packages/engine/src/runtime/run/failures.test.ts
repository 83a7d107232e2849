import { describe, expect, test } from "vitest"
import {
  type Context,
  type Failure,
  node,
  type RunEvent,
  type Settled,
  SuperstepError,
  workflow,
} from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"

const start = node("start", (n: number) => n)
const boom = () => {
  throw new SuperstepError("BOOM", "it broke")
}

describe("retry", () => {
  test("tries again after its delay, by the clock, and counts the attempts", async () => {
    const clock = manualClock()
    const flaky = controlled<number, string>("flaky", {
      retry: { attempts: 3, backoff: "exponential", delay: 100 },
    })
    const run = workflow("w").start(flaky).build().run(1, { clock })
    const attempts: number[] = []
    for (const wait of [100, 200]) {
      attempts.push((await flaky.started()).ctx.attempt)
      flaky.fail(new Error("not yet"))
      await clock.advance(wait - 1)
      expect(flaky.atWork).toHaveLength(0)
      await clock.advance(1)
    }
    const last = await flaky.started()
    last.finish(`attempt ${last.ctx.attempt} after ${attempts.join(" and ")}`)
    expect((await run).outputs).toEqual(["attempt 3 after 1 and 2"])
    expect(clock.pending).toBe(0)
  })

  test("gives up after the last attempt, with its error, its number and its cause", async () => {
    let ran = 0
    const flaky = node({
      id: "flaky",
      retry: { attempts: 3, delay: 0 },
      run: () => {
        throw new Error(`failure ${++ran}`)
      },
    })
    const { status, error } = await workflow("w").start(flaky).build().run(1).result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ node: "flaky", attempt: 3, message: "failure 3" })
    expect(error?.cause).toMatchObject({ message: "failure 3" })
    expect(ran).toBe(3)
  })

  test("says to those who watch when it tries again, and when it was the last time", async () => {
    const flaky = node({ id: "flaky", retry: { attempts: 2, delay: 50 }, run: boom })
    const clock = manualClock(1_000)
    const run = workflow("w").start(flaky).build().stream(1, { clock })
    const failed: RunEvent[] = []
    const watched = (async () => {
      for await (const event of run) if (event.type === "task.failed") failed.push(event)
    })()
    await clock.advance(50)
    await watched
    expect(failed).toMatchObject([
      { attempt: 1, retryAt: 1_050, error: { code: "BOOM" } },
      { attempt: 2, error: { code: "BOOM" } },
    ])
    expect(failed[1]).not.toHaveProperty("retryAt")
  })

  test("is only for the codes that are named", async () => {
    let ran = 0
    const picky = node({
      id: "picky",
      retry: { attempts: 5, delay: 0, on: ["RATE_LIMIT"] },
      run: () => {
        throw new SuperstepError(++ran < 3 ? "RATE_LIMIT" : "OTHER", "no")
      },
    })
    expect((await workflow("w").start(picky).build().run(1).result).error).toMatchObject({
      code: "OTHER",
      attempt: 3,
    })
  })

  test("is not for an error that says it cannot be helped", async () => {
    let ran = 0
    const hopeless = node({
      id: "hopeless",
      retry: { attempts: 5, delay: 0 },
      run: () => {
        ran++
        throw new SuperstepError("AUTH", "no key", { retryable: false })
      },
    })
    await workflow("w").start(hopeless).build().run(1).result
    expect(ran).toBe(1)
  })

  test("holds the superstep: siblings' messages wait for the last attempt", async () => {
    const clock = manualClock()
    const flaky = controlled<number, number>("flaky", { retry: { attempts: 2, delay: 100 } })
    const other = node("other", (n: number) => n)
    const next = controlled<number, number>("next")
    const run = workflow("w")
      .start(start)
      .fanOut(start, [flaky, other])
      .edge(other, next)
      .build()
      .run(1, { clock })
    await flaky.started()
    flaky.fail(new Error("again"))
    await settled()
    expect(next.atWork).toHaveLength(0)
    await clock.advance(100)
    flaky.finish(1)
    await next.started()
    next.finish(2)
    expect((await run).outputs).toEqual([1, 2])
  })

  test("a handler of an attempt that is over no longer counts", async () => {
    const clock = manualClock()
    const slow = controlled<number, string>("slow", { timeout: 100, retry: { attempts: 2, delay: 0 } })
    const run = workflow("w").start(slow).build().run(1, { clock })
    const first = await slow.started()
    await clock.advance(100)
    const second = await slow.started()
    first.ctx.output("from the first")
    first.finish("first")
    await settled()
    second.finish("second")
    expect((await run).outputs).toEqual(["second"])
  })
})

describe("a node's timeout", () => {
  test("fails the attempt that takes longer, and tells its handler", async () => {
    const clock = manualClock()
    const slow = controlled<number, number>("slow", { timeout: 1_000 })
    const run = workflow("w").start(slow).build().run(1, { clock })
    const { ctx } = await slow.started()
    await clock.advance(999)
    expect(ctx.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(ctx.signal.aborted).toBe(true)
    const { status, error } = await run.result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ code: "TIMEOUT", node: "slow" })
    expect(error?.message).toContain("1000 ms")
  })

  test("counts anew for every attempt", async () => {
    const clock = manualClock()
    const slow = controlled<number, number>("slow", { timeout: 100, retry: { attempts: 2, delay: 50 } })
    const run = workflow("w").start(slow).build().run(1, { clock })
    await slow.started()
    await clock.advance(150)
    await slow.started()
    await clock.advance(99)
    slow.finish(5)
    expect((await run).outputs).toEqual([5])
    expect(clock.pending).toBe(0)
  })

  test.each<[string, (ctx: Context) => Promise<unknown>]>([
    ["a person", (ctx) => ctx.ask("?")],
    ["a timer", (ctx) => ctx.sleep(60_000)],
    [
      "a sub-workflow",
      (ctx) =>
        ctx.call(
          workflow("in")
            .start(node("s", async (_: number, c) => c.sleep(60_000)))
            .build(),
          1,
        ),
    ],
  ])("stands still while the task waits for %s", async (_, wait) => {
    const clock = manualClock()
    const gates = [deferred(), deferred()]
    const waits = node({
      id: "waits",
      timeout: 100,
      run: async (_: number, ctx: Context) => {
        await gates[0]?.promise
        await wait(ctx)
        await gates[1]?.promise
        return "in time"
      },
    })
    const run = workflow("w").start(waits).build().run(1, { clock })
    await clock.advance(60)
    gates[0]?.open()
    await clock.advance(60_000)
    if ((await Promise.race([run.result, settled()]))?.status === "waiting") await run.respond("r1", 1)
    await clock.advance(39)
    gates[1]?.open()
    expect((await run).outputs).toEqual(["in time"])
  })

  test("continues where it stopped: time spent before the wait counts", async () => {
    const clock = manualClock()
    const gate = deferred()
    const waits = node({
      id: "waits",
      timeout: 100,
      run: async (_: number, ctx: Context) => {
        await gate.promise
        await ctx.ask("?")
        await new Promise(() => undefined)
      },
    })
    const run = workflow("w").start(waits).build().run(1, { clock })
    await clock.advance(60)
    gate.open()
    await run
    await clock.advance(1_000)
    await run.respond("r1", 1)
    await clock.advance(39)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    expect((await run.result).error).toMatchObject({ code: "TIMEOUT" })
  })

  test("continues after a question that could not be asked", async () => {
    const clock = manualClock()
    const careless = node({
      id: "careless",
      timeout: 100,
      run: async (_: number, ctx: Context) => {
        await ctx.ask({ prompt: "?", data: 1n }).catch(() => undefined)
        await new Promise(() => undefined)
      },
    })
    const run = workflow("w").start(careless).build().run(1, { clock })
    await clock.advance(100)
    expect((await run.result).error).toMatchObject({ code: "TIMEOUT" })
  })

  test("is found by a handler that asks for its signal only after its time is up", async () => {
    const clock = manualClock()
    let ctx: Context | undefined
    const deaf = node({
      id: "deaf",
      timeout: 100,
      run: (_: number, own: Context) => {
        ctx = own
        return new Promise<number>(() => undefined)
      },
    })
    workflow("w").start(deaf).build().run(1, { clock })
    await clock.advance(100)
    expect(ctx?.signal.aborted).toBe(true)
  })

  test("leaves no timer behind when the task ends in time", async () => {
    const clock = manualClock()
    const quick = node({ id: "quick", timeout: 1_000, run: (n: number) => n })
    await workflow("w").start(quick).build().run(1, { clock })
    expect(clock.pending).toBe(0)
  })
})

describe("an error edge", () => {
  const caught = node("caught", ({ node: from, error, input }: Failure) => ({ from, error, input }))

  test("gets the failure with the node, the error and the message, and the run continues", async () => {
    const fails = node({ id: "fails", retry: { attempts: 2, delay: 0 }, run: boom })
    const next = node("next", () => "not reached")
    const built = workflow("w").chain(start, fails, next).onError(fails, caught).build()
    const result = await built.run(7)
    expect(result.status).toBe("completed")
    expect(result.outputs).toEqual([
      {
        from: "fails",
        input: 7,
        error: { code: "BOOM", message: "it broke", node: "fails", attempt: 2 },
      },
    ])
  })

  test("is not taken when the node succeeds, nor while it has attempts left", async () => {
    let ran = 0
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: (n: number) => {
        if (++ran === 1) throw new Error("again")
        return n
      },
    })
    expect((await workflow("w").start(flaky).onError(flaky, caught).build().run(7)).outputs).toEqual([7])
  })

  test("also takes a timeout", async () => {
    const clock = manualClock()
    const slow = controlled<number, number>("slow", { timeout: 10 })
    const run = workflow("w").start(slow).onError(slow, caught).build().run(1, { clock })
    await clock.advance(10)
    expect((await run).outputs).toMatchObject([{ error: { code: "TIMEOUT" } }])
  })

  test("of the error handler's own failure fails the run", async () => {
    const fails = node("fails", boom)
    const alsoFails = node("alsoFails", (_: Failure): number => {
      throw new Error("worse")
    })
    const { status, error } = await workflow("w").start(fails).onError(fails, alsoFails).build().run(1).result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ node: "alsoFails", message: "worse" })
  })

  test("takes the failure of a sub-workflow", async () => {
    const inner = workflow("inner").start(node("fails", boom)).build().asNode()
    const { outputs } = await workflow("w").start(inner).onError(inner, caught).build().run(7)
    expect(outputs).toMatchObject([
      { from: "inner", input: 7, error: { code: "BOOM", cause: { node: "fails" } } },
    ])
  })

  test("keeps siblings going", async () => {
    const fails = node("fails", boom)
    const other = node("other", (n: number) => n)
    const built = workflow("w").start(start).fanOut(start, [fails, other]).onError(fails, caught).build()
    expect((await built.run(7)).outputs).toEqual([7, expect.objectContaining({ from: "fails" })])
  })
})

describe("a node that settles", () => {
  const show = node("show", (outcome: Settled<number>) => (outcome.ok ? outcome.value : outcome.error.code))
  const half = node({
    id: "half",
    onError: "settle",
    retry: { attempts: 2, delay: 0 },
    run: (n: number) => {
      if (n % 2 === 1) throw new SuperstepError("ODD", `${n} is odd`)
      return n / 2
    },
  })

  test("sends a value, or, when it failed for good, its error", async () => {
    const built = workflow("w").chain(half, show).build()
    expect((await built.run(8)).outputs).toEqual([4])
    expect((await built.run(7)).outputs).toEqual(["ODD"])
  })

  test("says which node and which attempt in the error", async () => {
    expect((await workflow("w").start(half).build().run(7)).outputs).toEqual([
      { ok: false, error: { code: "ODD", message: "7 is odd", node: "half", attempt: 2 } },
    ])
  })

  test("leaves nothing else of the failed attempt (M3)", async () => {
    const noisy = node({
      id: "noisy",
      onError: "settle",
      run: (_: number, ctx: Context): number => {
        ctx.send(1)
        ctx.output("noise")
        throw new Error("boom")
      },
    })
    const { outputs } = await workflow("w").chain(noisy, show).build().run(1)
    expect(outputs).toEqual(["ERROR"])
  })

  test("settles a timeout and a value that cannot be stored too", async () => {
    const clock = manualClock()
    const slow = node({
      id: "slow",
      onError: "settle",
      timeout: 10,
      run: () => new Promise<number>(() => undefined),
    })
    const run = workflow("w").chain(slow, show).build().run(1, { clock })
    await clock.advance(10)
    expect((await run).outputs).toEqual(["TIMEOUT"])
    const bad = node({ id: "bad", onError: "settle", run: () => 1n as unknown as number })
    expect((await workflow("w").chain(bad, show).build().run(1)).outputs).toEqual(["NOT_SERIALISABLE"])
  })
})

describe("a failure that nothing takes", () => {
  test("stops the siblings, and nothing follows", async () => {
    const [a, b] = [controlled<number, number>("a"), controlled<number, number>("b")]
    const next = controlled<number, number>("next")
    const run = workflow("w").start(start).fanOut(start, [a, b]).edge(a, next).build().run(1)
    const sibling = await a.started()
    await b.started()
    b.fail(new Error("boom"))
    expect((await run.result).error).toMatchObject({ node: "b" })
    expect(sibling.ctx.signal.aborted).toBe(true)
    sibling.finish(1)
    await settled()
    expect(next.atWork).toHaveLength(0)
  })

  test("gives the first failure when two siblings fail", async () => {
    const [a, b] = [controlled<number, number>("a"), controlled<number, number>("b")]
    const run = workflow("w").start(start).fanOut(start, [a, b]).build().run(1)
    const other = await a.started()
    await b.started()
    b.fail(new Error("first"))
    other.fail(new Error("second"))
    expect((await run.result).error).toMatchObject({ node: "b", message: "first" })
  })
})

function deferred(): { promise: Promise<void>; open: () => void } {
  let open: () => void = () => undefined
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open }
}
