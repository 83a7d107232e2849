import { describe, expect, test } from "vitest"
import { type Context, type LimitNotice, node, RunError, type RunEvent, workflow } from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"

const add = node("add", (n: number) => n + 1)
const check = node("check", (n: number) => n)
const endless = workflow("endless")
  .chain(add, check)
  .edge(check, add, { when: () => true })
  .build()

describe("supersteps", () => {
  test("100 by default; then the run ends as limit, with a ConvergenceError that says what was pending", async () => {
    const error = await endless.run(0).then(undefined, (thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RunError)
    expect(error).toMatchObject({ name: "ConvergenceError", code: "CONVERGENCE" })
    expect((error as RunError).message).toMatch(/100 supersteps.*"add"/)
    expect((error as RunError).result).toMatchObject({ status: "limit", supersteps: 100 })
    expect((error as RunError).result.error?.name).toBe("ConvergenceError")
  })

  test("exactly as many as the limit may be used", async () => {
    const nodes = ["a", "b", "c"].map((id) => node(id, (n: number) => n + 1)) as [
      typeof add,
      typeof add,
      typeof add,
    ]
    const built = workflow("w")
      .chain(...nodes)
      .build()
    expect(await built.run(0, { limits: { supersteps: 3 } })).toMatchObject({ outputs: [3] })
    expect(await built.run(0, { limits: { supersteps: 2 } }).result).toMatchObject({
      status: "limit",
      supersteps: 2,
      undelivered: [{ from: "b", to: "c", value: 2 }],
    })
  })

  test("a run's limit goes before the workflow's", async () => {
    const strict = workflow("w", { limits: { supersteps: 2 } })
      .chain(
        add,
        check,
        node("end", () => 1),
      )
      .build()
    expect((await strict.run(0).result).status).toBe("limit")
    expect((await strict.run(0, { limits: { supersteps: 3 } })).status).toBe("completed")
  })

  test("in flow mode the longest chain of tasks counts", async () => {
    const built = workflow("w", { schedule: "flow", limits: { supersteps: 5 } })
      .chain(add, check)
      .edge(check, add, { when: () => true })
      .build()
    expect((await built.run(0).result).error).toMatchObject({ code: "CONVERGENCE" })
  })

  test("names every node that was to run, once", async () => {
    const many = node("many", (n: number, ctx: Context) => {
      ctx.send(n)
      return n
    })
    const built = workflow("w").start(many).fanOut(many, [add, check]).build()
    const { error, undelivered } = await built.run(0, { limits: { supersteps: 1 } }).result
    expect(error?.message).toContain('still to run: "add", "check".')
    expect(undelivered).toHaveLength(4)
  })
})

describe("visits", () => {
  test("a node's maxVisits ends the run with a limit that names it", async () => {
    const few = node({ id: "few", maxVisits: 3, run: (n: number) => n + 1 })
    const built = workflow("w").start(few).edge(few, few).build()
    const { status, error } = await built.run(0).result
    expect(status).toBe("limit")
    expect(error).toMatchObject({ code: "VISIT_LIMIT", node: "few" })
    expect(error?.message).toContain("3 times")
  })

  test("limits.visits holds for every node, the start included", async () => {
    const { error } = await endless.run(0, { limits: { visits: 2 } }).result
    expect(error).toMatchObject({ code: "VISIT_LIMIT", node: "add" })
  })

  test("a retry is no visit", async () => {
    const flaky = node({
      id: "flaky",
      maxVisits: 1,
      retry: { attempts: 3, delay: 0 },
      run: (n: number, ctx: Context) => {
        if (ctx.attempt < 3) throw new Error("again")
        return n
      },
    })
    expect((await workflow("w").start(flaky).build().run(1)).outputs).toEqual([1])
  })

  test("every item of a map is a visit of its worker", async () => {
    const list = node("list", () => [1, 2, 3])
    const worker = node({ id: "worker", maxVisits: 2, run: (n: number) => n })
    const built = workflow("w").start(list).map(list, worker).build()
    expect((await built.run(0).result).error).toMatchObject({ code: "VISIT_LIMIT", node: "worker" })
  })
})

describe("loops", () => {
  test("limits.loops counts the passes of each edge that goes back", async () => {
    const passes = async (loops: number) => {
      const events: RunEvent[] = []
      const run = endless.stream(0, { limits: { loops } })
      for await (const event of run) events.push(event)
      expect((await run.result).error).toMatchObject({ code: "LOOP_LIMIT" })
      return events.filter((event) => event.type === "task.started" && event.node === "add").length
    }
    expect(await passes(1)).toBe(2)
    expect(await passes(5)).toBe(6)
  })

  test("limits.loops does not count an edge that leads on, though that has a max of its own", async () => {
    const sends = node("sends", (n: number, ctx: Context) => {
      ctx.send(n)
      return n
    })
    const built = workflow("w").start(sends).edge(sends, check, { max: 5 }).build()
    expect((await built.run(1, { limits: { loops: 1 } })).outputs).toEqual([1, 1])
  })

  test("an edge's own max ends the run, and names the edge", async () => {
    const built = workflow("w").chain(add, check).edge(check, add, { max: 2 }).build()
    const { status, error } = await built.run(0).result
    expect(status).toBe("limit")
    expect(error?.code).toBe("LOOP_LIMIT")
    expect(error?.message).toContain('"check" -> "add"')
    expect(error?.message).toContain("2 times")
  })
})

describe("time", () => {
  test("a run that takes longer than its timeout ends as limit, and its handlers are aborted", async () => {
    const clock = manualClock()
    const slow = controlled<number, number>("slow")
    const run = workflow("w").chain(add, slow).build().run(1, { clock, timeout: 1_000 })
    const { ctx } = await slow.started()
    await clock.advance(999)
    expect(ctx.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(ctx.signal.aborted).toBe(true)
    expect(await run.result).toMatchObject({ status: "limit", error: { code: "RUN_TIMEOUT" } })
    expect(clock.pending).toBe(0)
  })

  test("a run that ends in time leaves no timer behind", async () => {
    const clock = manualClock()
    await workflow("w").start(add).build().run(1, { clock, timeout: 1_000 })
    expect(clock.pending).toBe(0)
  })

  test("a run's time runs while it waits for a person", async () => {
    const clock = manualClock()
    const asks = node("asks", async (_: number, ctx: Context) => ctx.ask("?"))
    const run = workflow("w").start(asks).build().run(1, { clock, timeout: 1_000 })
    expect((await run).status).toBe("waiting")
    await clock.advance(1_000)
    expect(await run.result).toMatchObject({ status: "limit", requests: [] })
  })
})

describe("the limit route", () => {
  const notice = node("notice", ({ code }: LimitNotice) => `stopped: ${code}`)
  const limited = workflow("w")
    .chain(add, check)
    .edge(check, add, { when: () => true })
    .onLimit(notice)
    .build()

  test.each([
    ["supersteps", { limits: { supersteps: 10 } }, "CONVERGENCE"],
    ["visits", { limits: { visits: 3 } }, "VISIT_LIMIT"],
    ["loops", { limits: { loops: 3 } }, "LOOP_LIMIT"],
    ["the budget", { budget: { iterations: 0 } }, "BUDGET_EXCEEDED"],
  ])("takes the run to its node when %s are used up, and the run completes", async (_, options, code) => {
    expect(await limited.run(0, options)).toMatchObject({
      status: "completed",
      outputs: [`stopped: ${code}`],
    })
  })

  test("is taken when the time is up: what is at work is stopped", async () => {
    const clock = manualClock()
    const slow = controlled<number, number>("slow")
    const run = workflow("w").chain(add, slow).onLimit(notice).build().run(1, { clock, timeout: 50 })
    const { ctx } = await slow.started()
    await clock.advance(50)
    expect(ctx.signal.aborted).toBe(true)
    expect(await run).toMatchObject({ status: "completed", outputs: ["stopped: RUN_TIMEOUT"] })
  })

  test("leaves nothing of what it left behind: no timer, no request", async () => {
    const clock = manualClock()
    const sleeps = node("sleeps", async (_: number, ctx: Context) => ctx.sleep(1_000))
    const asks = node("asks", async (_: number, ctx: Context) => ctx.ask({ prompt: "?", timeout: 1_000 }))
    const late = controlled<LimitNotice, string>("late")
    const run = workflow("w")
      .start(add)
      .fanOut(add, [sleeps, asks])
      .onLimit(late)
      .build()
      .run(1, { clock, timeout: 50 })
    await clock.advance(50)
    await late.started()
    expect(clock.pending).toBe(0)
    await expect(run.respond("r1", 1)).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
    late.finish("out")
    expect(await run).toMatchObject({ outputs: ["out"], requests: [] })
  })

  test("may be a chain of its own", async () => {
    const after = node("after", (text: string) => `${text}, then on`)
    const built = workflow("w")
      .chain(add, check)
      .edge(check, add, { when: () => true })
      .onLimit(notice)
      .edge(notice, after)
      .build()
    expect((await built.run(0)).outputs).toEqual(["stopped: CONVERGENCE, then on"])
  })

  test("is taken once: a limit on the way out ends the run", async () => {
    const again = node({ id: "again", maxVisits: 1, run: ({ code }: LimitNotice) => code })
    const back = node("back", (code: string) => ({ code, message: "" }))
    const built = workflow("w")
      .start(add)
      .edge(add, add, { when: () => true })
      .onLimit(again)
      .chain(again, back, again)
    const { status, error } = await built.build().run(0).result
    expect(status).toBe("limit")
    expect(error).toMatchObject({ code: "VISIT_LIMIT", node: "again" })
  })

  test("tells what it dropped, and where it goes", async () => {
    const events: RunEvent[] = []
    const run = limited.stream(0, { limits: { supersteps: 2 } })
    for await (const event of run) events.push(event)
    expect(events).toContainEqual(expect.objectContaining({ type: "limit.reached", goesTo: "notice" }))
    expect((await run).undelivered).toMatchObject([{ from: "check", to: "add" }])
  })
})

describe("concurrency", () => {
  /** Sends so many messages to one node by hand. */
  function flood(messages: number, policies: { concurrency?: number } = {}) {
    const source = node("source", (_: number, ctx: Context) => {
      for (let i = 0; i < messages; i++) ctx.send(i)
    })
    const worker = controlled<number, number>("worker", policies)
    return { worker, built: workflow("w").start(source).edge(source, worker).build() }
  }

  /** Finishes everything, one by one, and gives the most tasks that were at work at a time. */
  async function most(worker: ReturnType<typeof flood>["worker"], tasks: number): Promise<number> {
    let peak = 0
    for (let i = 1; i <= tasks; i++) {
      await worker.started(i)
      await settled()
      peak = Math.max(peak, worker.atWork.length)
      worker.finish(i)
    }
    return peak
  }

  test.each([
    [1, {}],
    [3, { concurrency: 3 }],
    [6, { concurrency: 10 }],
  ])("of a node: %i deliveries overlap with %j", async (expected, policies) => {
    const { worker, built } = flood(6, policies)
    const run = built.run(0)
    expect(await most(worker, 6)).toBe(expected)
    expect((await run).outputs).toHaveLength(6)
  })

  test("of a run goes over all its nodes", async () => {
    const workers = ["a", "b", "c", "d"].map((id) => controlled<number, number>(id))
    const run = workflow("w")
      .start(add)
      .fanOut(add, workers)
      .build()
      .run(0, { limits: { concurrency: 2 } })
    const atWork = () => workers.filter((worker) => worker.atWork.length > 0).map(({ id }) => id)
    await workers[1]?.started()
    await settled()
    expect(atWork()).toEqual(["a", "b"])
    workers[1]?.finish(1)
    await workers[2]?.started()
    expect(atWork()).toEqual(["a", "c"])
    workers[0]?.finish(1)
    await workers[3]?.started()
    workers[2]?.finish(1)
    workers[3]?.finish(1)
    expect((await run).outputs).toHaveLength(4)
  })

  test("of a run: a task that is tried again at once goes to the back of the line", async () => {
    const flaky = controlled<number, number>("flaky", { retry: { attempts: 2, delay: 0 } })
    const other = controlled<number, number>("other")
    const built = workflow("w").start(add).fanOut(add, [flaky, other]).build()
    const run = built.run(0, { limits: { concurrency: 1 } })
    await flaky.started()
    flaky.fail(new Error("again"))
    await other.started()
    expect(flaky.atWork).toHaveLength(0)
    other.finish(1)
    await flaky.started()
    flaky.finish(2)
    expect((await run).outputs).toEqual([2, 1])
  })

  test("of a run: a task that waits for a person gives its place away, one in backoff too", async () => {
    const clock = manualClock()
    const asks = node("asks", async (_: number, ctx: Context) => ctx.ask("?"))
    const flaky = controlled<number, number>("flaky", { retry: { attempts: 2, delay: 100 } })
    const last = controlled<number, number>("last")
    const run = workflow("w")
      .start(add)
      .fanOut(add, [asks, flaky, last])
      .build()
      .run(0, { clock, limits: { concurrency: 1 } })
    await flaky.started()
    await settled()
    expect(last.atWork).toHaveLength(0)
    flaky.fail(new Error("again"))
    await last.started()
    last.finish(1)
    await clock.advance(100)
    flaky.finish(2)
    expect((await run).status).toBe("waiting")
    await run.respond("r1", 3)
    expect((await run).outputs).toEqual([2, 1, 3])
  })
})
