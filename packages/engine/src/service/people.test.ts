/** People and other processes ask things of runs that may be at work anywhere. */
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Context, memoryStore, node, pastEvents, type RunEvent, workflow } from "../index.ts"
import { deferred } from "../runtime/internal.ts"
import { settled } from "../testing/index.ts"
import { ask, nap, pass, processOn } from "./processes.test-support.ts"

describe("people, from any process", () => {
  test("see all open questions, and answer one where its run is at work", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store), processOn(store)]
    const run = a.runtime.start(ask, 1, { runId: "r" })
    await run
    expect(await b.runtime.requests()).toMatchObject([
      { runId: "r", id: "r1", workflow: "ask", outcome: "open" },
    ])
    const answered = b.runtime.respond("r", "r1", "yes", { by: "Ada" })
    await pass(2_000, a.clock, b.clock)
    await answered
    expect((await run).outputs).toEqual(["1: yes"])
    await expect(b.runtime.respond("r", "r1", "no")).rejects.toMatchObject({ code: "RUN_OVER" })
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("answer a run that is taken from their process before its handler asks again", async () => {
    let ready = Promise.resolve()
    const flow = workflow("slow")
      .start(
        node("slow", async (n: number, ctx: Context) => {
          await ready
          return `${n}: ${await ctx.ask<string>("Continue?")}`
        }),
      )
      .build()
    const store = memoryStore()
    const [first, second] = [1, 2].map(() => processOn(store, { workflows: [flow] })) as [
      ReturnType<typeof processOn>,
      ReturnType<typeof processOn>,
    ]
    await first.runtime.start(flow, 1, { runId: "r" })
    await first.runtime.close()
    ready = new Promise(() => undefined)
    const answered = second.runtime.respond("r", "r1", "yes")
    while ((await store.run("r"))?.holder === undefined) await settled()
    ready = Promise.resolve()
    const third = processOn(store, { workflows: [flow] })
    const taken = third.runtime.resume(flow, "r", { takeOver: true })
    expect((await taken).status).toBe("waiting")
    let isAnswered = false
    const done = answered.finally(() => {
      isAnswered = true
    })
    while (!isAnswered) await pass(1_000, second.clock, third.clock)
    expect(await done).toBe("taken")
    expect((await taken).outputs).toEqual(["1: yes"])
    await Promise.all([second.runtime.close(), third.runtime.close()])
  })

  test("are heard before a deadline that passed while no process executed the run", async () => {
    const flow = workflow("late")
      .start(
        node("late", (_: number, ctx: Context) =>
          ctx.ask({ prompt: "Go?", timeout: 10_000, default: "late" }),
        ),
      )
      .build()
    const store = memoryStore()
    const first = processOn(store, { workflows: [flow] })
    await first.runtime.start(flow, 1, { runId: "r" })
    await first.runtime.close()
    const visitor = processOn(store, { workflows: [] })
    expect(await visitor.runtime.respond("r", "r1", "in time")).toBe("stored")
    const second = processOn(store, { workflows: [flow] })
    await second.clock.advance(60_000)
    await second.runtime.recover()
    const result = second.runtime.get("r").result
    await pass(2_000, second.clock)
    expect((await result).outputs).toEqual(["in time"])
    await Promise.all([visitor.runtime.close(), second.runtime.close()])
  })

  test("get the same errors as where the run is: unknown, answered, not fitting", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store), processOn(store)]
    await a.runtime.start(ask, 1, { runId: "r" })
    const wrong = expect(b.runtime.respond("r", "r9", "yes")).rejects.toMatchObject({
      code: "REQUEST_UNKNOWN",
    })
    await pass(2_000, a.clock, b.clock)
    await wrong
    expect(await b.runtime.requests()).toHaveLength(1)
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("may be in a process that does not have the workflow: its mail waits for one that has", async () => {
    const store = memoryStore()
    const a = processOn(store)
    await a.runtime.start(ask, 1, { runId: "r" })
    await a.runtime.close()
    const clerk = processOn(store, { workflows: [] })
    const answered = clerk.runtime.respond("r", "r1", "yes")
    await pass(1_000, clerk.clock)
    const worker = processOn(store)
    await worker.runtime.recover()
    await pass(2_000, clerk.clock, worker.clock)
    await answered
    expect(await store.run("r")).toMatchObject({ status: "completed" })
  })

  test("answer a run that no process executes: the answer is checked, stored, and delivered when it resumes", async () => {
    const store = memoryStore()
    const a = processOn(store)
    await a.runtime.start(ask, 1, { runId: "r" })
    await a.runtime.close()
    const clerk = processOn(store, { workflows: [] })
    await expect(clerk.runtime.respond("r", "r9", "yes")).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
    expect(await clerk.runtime.respond("r", "r1", "yes")).toBe("stored")
    expect(await clerk.runtime.requests()).toEqual([])
    expect(await clerk.runtime.requests({ outcome: ["delivering"] })).toMatchObject([{ id: "r1" }])
    await expect(clerk.runtime.respond("r", "r1", "no")).rejects.toMatchObject({ code: "REQUEST_ANSWERED" })
    const worker = processOn(store)
    await worker.runtime.recover()
    await settled()
    expect(await store.run("r")).toMatchObject({ status: "completed" })
  })

  test("answer a run that no process executes: whoever resumes and awaits it gets what follows from the answer", async () => {
    const store = memoryStore()
    const a = processOn(store)
    await a.runtime.start(ask, 1, { runId: "r" })
    await a.runtime.start(ask, 2, { runId: "s" })
    await a.runtime.close()
    const clerk = processOn(store, { workflows: [] })
    for (const runId of ["r", "s"]) expect(await clerk.runtime.respond(runId, "r1", "yes")).toBe("stored")
    await clerk.runtime.close()
    expect(await ask.resume("r", { store })).toMatchObject({ status: "completed", outputs: ["1: yes"] })
    const worker = processOn(store, { recover: false })
    expect(await worker.runtime.resume(ask, "s")).toMatchObject({ status: "completed", outputs: ["2: yes"] })
    await worker.runtime.close()
  })

  test("are refused at once when an answer does not fit, also where no process executes the run", async () => {
    const store = memoryStore()
    const amount = workflow("amount")
      .start(
        node("amount", (_: number, ctx: Context) =>
          ctx.ask({ prompt: "How much?", schema: z.number().refine((n) => n !== 13, "not 13") }),
        ),
      )
      .build()
    const first = processOn(store, { workflows: [amount] })
    await first.runtime.start(amount, 1, { runId: "r" })
    await first.runtime.close()
    const clerk = processOn(store, { workflows: [] })
    await expect(clerk.runtime.respond("r", "r1", "many")).rejects.toMatchObject({
      code: "REQUEST_INVALID",
      run: "r",
    })
    expect(await clerk.runtime.requests()).toHaveLength(1)
    // What only the schema of the handler refuses is found when the run resumes: the question is open again.
    expect(await clerk.runtime.respond("r", "r1", 13)).toBe("stored")
    expect(await clerk.runtime.requests()).toEqual([])
    const worker = processOn(store, { workflows: [amount] })
    await worker.runtime.recover()
    await settled()
    await settled()
    expect(await clerk.runtime.requests()).toMatchObject([{ id: "r1", outcome: "open" }])
    await worker.runtime.respond("r", "r1", 5)
    expect((await worker.runtime.get("r")).outputs).toEqual([5])
    await Promise.all([clerk.runtime.close(), worker.runtime.close()])
  })

  test("pass a question on where its run is at work, and where no process executes it", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store), processOn(store, { workflows: [] })]
    await a.runtime.start(ask, 1, { runId: "r" })
    const passed = b.runtime.escalate("r", "r1", { to: "ada" })
    await pass(2_000, a.clock, b.clock)
    expect(await passed).toBe("taken")
    expect(await b.runtime.requests({ to: "ada" })).toMatchObject([{ id: "r1" }])
    await a.runtime.close()
    expect(await b.runtime.escalate("r", "r1", { to: "bob", note: "Your turn." })).toBe("stored")
    await expect(b.runtime.escalate("r", "r9", { to: "bob" })).rejects.toMatchObject({
      code: "REQUEST_UNKNOWN",
    })
    const worker = processOn(store)
    await worker.runtime.recover()
    await settled()
    expect(await b.runtime.requests()).toMatchObject([
      { id: "r1", to: "bob", note: "Your turn.", outcome: "open" },
    ])
    await worker.runtime.respond("r", "r1", "yes", { by: "bob" })
    expect((await worker.runtime.get("r")).outputs).toEqual(["1: yes"])
    await Promise.all([b.runtime.close(), worker.runtime.close()])
  })

  test("cancel a run that is at work elsewhere", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store), processOn(store)]
    const run = a.runtime.start(nap, 1, { runId: "r" })
    await settled()
    const cancelled = b.runtime.cancel("r", "no longer needed")
    await pass(2_000, a.clock, b.clock)
    await cancelled
    expect(await run.result).toMatchObject({ status: "cancelled", error: { message: "no longer needed" } })
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("learn in time that a cancellation is on its way to a process that does not answer", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store), processOn(store)]
    const run = a.runtime.start(nap, 1, { runId: "r" })
    await settled()
    expect(await b.runtime.cancel("r", "no longer needed", { timeout: 0 })).toBe("stored")
    expect(await store.run("r")).not.toMatchObject({ status: "cancelled" })
    await pass(2_000, a.clock, b.clock)
    expect(await run.result).toMatchObject({ status: "cancelled", error: { message: "no longer needed" } })
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("cancel a run that nobody holds, without having its workflow", async () => {
    const store = memoryStore()
    const worker = processOn(store)
    await worker.runtime.start(ask, 1, { runId: "r" })
    await worker.runtime.close()
    const clerk = processOn(store, { workflows: [] })
    await clerk.runtime.cancel("r", "the file is gone")
    expect(await store.run("r")).toMatchObject({ status: "cancelled", holder: undefined })
    expect(await clerk.runtime.requests()).toEqual([])
    const events: string[] = []
    for await (const { type } of clerk.runtime.get("r").events({ after: 0 })) events.push(type)
    expect(events.at(-1)).toBe("run.finished")
    expect(await clerk.runtime.get("r").result).toMatchObject({
      status: "cancelled",
      error: { message: "the file is gone" },
    })
    await expect(clerk.runtime.cancel("r")).rejects.toMatchObject({ code: "RUN_OVER" })
    await expect(clerk.runtime.cancel("nope")).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    await clerk.runtime.close()
  })

  test("watch a run that is at work elsewhere, from its first event, and read nothing of it twice", async () => {
    const store = memoryStore()
    const read: number[] = []
    const watched: typeof store = {
      ...store,
      async read(runId, afterSeq) {
        const records = await store.read(runId, afterSeq)
        read.push(...records.map(({ seq }) => seq))
        return records
      },
    }
    const [a, b] = [processOn(store), processOn(watched)]
    const run = a.runtime.start(ask, 1, { runId: "r" })
    await run
    const events: RunEvent[] = []
    const watching = (async () => {
      for await (const event of b.runtime.get("r").events({ after: 0 })) events.push(event)
    })()
    await pass(1_000, a.clock, b.clock)
    expect(events.at(-1)?.type).toBe("run.waiting")
    await run.respond("r1", "yes")
    await pass(1_000, a.clock, b.clock)
    await watching
    expect(events.at(-1)?.type).toBe("run.finished")
    expect(events).toEqual(await pastEvents(store, "r"))
    expect(read).toEqual((await store.read("r", 0)).map(({ seq }) => seq))
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })
})

test("a run that waits again without a record of it, after its process died, is stored as waiting and stays so", async () => {
  const store = memoryStore()
  /** Where the handlers of the process that executes the run are held up. */
  let gates: Record<string, Promise<void>> = { early: Promise.resolve(), late: new Promise(() => undefined) }
  const calling = (id: string) =>
    node(id, async (n: number, ctx: Context) => {
      await gates[id]
      return await ctx.call(ask, n)
    })
  const start = node("start", (n: number) => n)
  const flow = workflow("flow")
    .start(start)
    .fanOut(start, [calling("early"), calling("late")])
    .build()
  const open = async () => (await store.requests({ runId: "r", outcome: ["open"] })).length
  const first = processOn(store, { workflows: [flow, ask] })
  first.runtime.start(flow, 1, { runId: "r" }).catch(() => undefined)
  await expect.poll(open).toBe(1)

  const [early, called, written] = [deferred(), deferred(), deferred()]
  gates = { early: early.promise, late: Promise.resolve() }
  const second = processOn(store, { workflows: [flow, ask] })
  const { append } = store
  store.append = async (lease, seq, records, change) => {
    if (records.some(({ entry }) => entry.type === "run.started")) {
      called.resolve()
      await written.promise
    }
    await append(lease, seq, records, change)
  }
  await second.runtime.recover()
  await pass(60_000, second.clock)
  await called.promise
  // Its call, which is recorded, is about to begin again when the other one asks.
  early.resolve()
  await settled()
  written.resolve()
  await expect.poll(open).toBe(2)
  await pass(2_000, second.clock)
  const row = await store.run("r")
  expect(row).toMatchObject({ status: "waiting", executing: false })
  await pass(60_000, second.clock)
  expect(await store.run("r")).toMatchObject({ status: "waiting", token: row?.token })
  await Promise.all([first.runtime.close(), second.runtime.close()])
})
