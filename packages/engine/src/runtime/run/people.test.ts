import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Context, memoryStore, node, type RunEvent, workflow } from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"
import { handDrivenStore } from "../journal/stores.test-support.ts"

const start = node("start", (n: number) => n)
const asks = (id: string, prompt = `${id}?`) => node(id, async (_: number, ctx: Context) => ctx.ask(prompt))
const approve = node("approve", async (n: number, ctx: Context) => {
  const yes = await ctx.ask({ prompt: "Approve?", data: { n }, schema: z.object({ yes: z.boolean() }) })
  return yes.yes ? "approved" : "refused"
})

describe("asking", () => {
  test("the run waits, and says what it waits for", async () => {
    const clock = manualClock(1_000)
    const run = workflow("w").start(approve).build().run(7, { clock })
    const result = await run
    expect(result).toMatchObject({ status: "waiting", outputs: [] })
    expect(result.requests).toEqual([
      {
        id: "r1",
        node: "approve",
        task: 1,
        prompt: "Approve?",
        data: { n: 7 },
        schema: expect.objectContaining({ type: "object" }),
        openedAt: 1_000,
      },
    ])
  })

  test("the answer goes to the handler, as its schema reads it, and the run continues", async () => {
    const loose = node("loose", async (_: number, ctx: Context) =>
      ctx.ask({ prompt: "?", schema: z.string().trim().toUpperCase() }),
    )
    const run = workflow("w").start(loose).build().run(1)
    const { requests } = await run
    await run.respond(requests[0]?.id ?? "", "  yes ")
    expect(await run).toMatchObject({ status: "completed", outputs: ["YES"], requests: [] })
  })

  test("a question may be plain text, and any data is an answer then", async () => {
    for (const answer of ["text", 5, null, false, { deep: [1] }]) {
      const run = workflow("w").start(asks("q")).build().run(1)
      await run
      await run.respond("r1", answer)
      expect((await run).outputs).toEqual([answer])
    }
  })

  test("the run continues with what else it can do, and only then waits", async () => {
    const work = controlled<number, number>("work")
    const after = controlled<number, string>("after")
    const run = workflow("w")
      .start(start)
      .fanOut(start, [asks("q"), work])
      .edge(work, after)
      .build()
      .run(1)
    let waits = false
    void run.result.then(() => {
      waits = true
    })
    await work.started()
    work.finish(1)
    await after.started()
    await settled()
    expect(waits).toBe(false)
    after.finish("meanwhile")
    expect(await run).toMatchObject({ status: "waiting", outputs: ["meanwhile"] })
    await run.respond("r1", "answer")
    expect((await run).outputs).toEqual(["meanwhile", "answer"])
  })

  test("one handler may ask again and again", async () => {
    const twice = node("twice", async (_: number, ctx: Context) => [
      await ctx.ask("one?"),
      await ctx.ask("two?"),
    ])
    const run = workflow("w").start(twice).build().run(1)
    expect((await run).requests).toMatchObject([{ id: "r1", prompt: "one?" }])
    await run.respond("r1", 1)
    expect((await run).requests).toMatchObject([{ id: "r2", prompt: "two?" }])
    await run.respond("r2", 2)
    expect((await run).outputs).toEqual([[1, 2]])
  })

  test("one handler may ask several things at once, answered in any order", async () => {
    const both = node("both", async (_: number, ctx: Context) => Promise.all([ctx.ask("a?"), ctx.ask("b?")]))
    const run = workflow("w").start(both).build().run(1)
    expect((await run).requests.map(({ prompt }) => prompt)).toEqual(["a?", "b?"])
    await run.respond("r2", "b")
    expect((await run).requests).toMatchObject([{ id: "r1" }])
    await run.respond("r1", "a")
    expect((await run).outputs).toEqual([["a", "b"]])
  })

  test("watchers see who answered", async () => {
    const run = workflow("w").start(asks("q")).build().stream(1)
    const events: RunEvent[] = []
    for await (const event of run) {
      events.push(event)
      if (event.type === "run.waiting") await run.respond("r1", 5, { by: "Ada" })
    }
    expect(events).toContainEqual(
      expect.objectContaining({ type: "request.answered", request: "r1", value: 5, by: "Ada" }),
    )
  })
})

describe("answering", () => {
  const three = workflow("w")
    .start(start)
    .fanOut(start, [asks("a"), asks("b"), asks("c")])
    .build()

  test("some of several works; the others stay open", async () => {
    const run = three.run(1)
    expect((await run).requests.map(({ node: asker }) => asker)).toEqual(["a", "b", "c"])
    await run.respond("r2", "B")
    expect(await run).toMatchObject({ status: "waiting", requests: [{ id: "r1" }, { id: "r3" }] })
    await run.respond("r3", "C")
    await run.respond("r1", "A")
    expect((await run).status).toBe("completed")
  })

  test("an id that is not known is an error that lists the open ones", async () => {
    const run = three.run(1)
    await run
    const wrong = run.respond("r9", 1)
    await expect(wrong).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
    await expect(wrong).rejects.toThrow(/"r9".*"r1", "r2", "r3"/)
    for (const id of ["", "/", "x/r1", "r1/", "constructor"]) {
      await expect(run.respond(id, 1)).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
    }
    expect((await run).requests).toHaveLength(3)
  })

  test("a value of the wrong shape is refused with the reason, and nothing is taken: one may answer again", async () => {
    const run = workflow("w").start(approve).build().run(1)
    await run
    const wrong = run.respond("r1", { yes: "maybe" })
    await expect(wrong).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    await expect(wrong).rejects.toThrow(/"r1".*yes/)
    expect(await run).toMatchObject({ status: "waiting", requests: [{ id: "r1" }] })
    await run.respond("r1", { yes: true })
    expect((await run).outputs).toEqual(["approved"])
  })

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["a BigInt", 1n],
    ["a Date", new Date(0)],
  ])("a value that JSON cannot hold is refused: %s", async (_, value) => {
    const run = workflow("w").start(asks("q")).build().run(1)
    await run
    await expect(run.respond("r1", value)).rejects.toMatchObject({ code: "NOT_SERIALISABLE" })
    expect((await run).status).toBe("waiting")
  })

  test("a second answer is an error, and changes nothing (M7)", async () => {
    const run = three.run(1)
    await run
    await run.respond("r1", "first")
    await expect(run.respond("r1", "second")).rejects.toMatchObject({ code: "REQUEST_ANSWERED" })
    await run.respond("r2", 2)
    await run.respond("r3", 3)
    expect((await run).outputs).toContain("first")
    await expect(run.respond("r1", "third")).rejects.toThrow(/is finished: completed/)
    await expect(run.respond("r1", "third")).rejects.toMatchObject({ code: "REQUEST_ANSWERED" })
  })

  test("of two answers at the same time one is taken, the other refused (M7)", async () => {
    const slow = z.number().refine(async () => true)
    const checked = node("checked", async (_: number, ctx: Context) => ctx.ask({ prompt: "?", schema: slow }))
    const run = workflow("w").start(checked).build().run(1)
    await run
    const answers = await Promise.allSettled([run.respond("r1", 1), run.respond("r1", 2)])
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected"])
    expect(answers[1]).toMatchObject({ reason: { code: "REQUEST_ANSWERED" } })
    expect((await run).outputs).toEqual([1])
  })

  test("resolves when the answer is durable, and not before", async () => {
    const store = handDrivenStore()
    const run = workflow("w").start(asks("q")).build().run(1, { store })
    await store.completeAll()
    expect((await run).status).toBe("waiting")
    let taken = false
    const responded = run.respond("r1", 5).then(() => {
      taken = true
    })
    await settled()
    expect(taken).toBe(false)
    await store.completeAll()
    await responded
    expect((await run).outputs).toEqual([5])
  })

  test("rejects when the answer could not be stored", async () => {
    const store = handDrivenStore()
    const run = workflow("w").start(asks("q")).build().run(1, { store })
    await store.completeAll()
    const responded = run.respond("r1", 5)
    const rejected = expect(responded).rejects.toMatchObject({ code: "JOURNAL_LOST" })
    await settled()
    await store.fail(new Error("disk full"))
    await rejected
    await expect(run.respond("r1", 6)).rejects.toMatchObject({ code: "JOURNAL_LOST" })
  })
})

describe("a deadline", () => {
  const withDefault = node("withDefault", async (_: number, ctx: Context) =>
    ctx.ask({ prompt: "?", schema: z.string(), timeout: 1_000, default: "nobody came" }),
  )
  const without = node("without", async (_: number, ctx: Context) =>
    ctx.ask({ prompt: "Ready?", timeout: 1_000 }),
  )

  test("with a default: that is the answer when it passes", async () => {
    const clock = manualClock(500)
    const run = workflow("w").start(withDefault).build().run(1, { clock })
    expect((await run).requests).toMatchObject([{ deadline: 1_500, default: "nobody came" }])
    await clock.advance(999)
    expect((await run).status).toBe("waiting")
    await clock.advance(1)
    expect((await run).outputs).toEqual(["nobody came"])
    await expect(run.respond("r1", "late")).rejects.toMatchObject({ code: "REQUEST_ANSWERED" })
  })

  test("without a default: the handler gets an error that says so", async () => {
    const clock = manualClock()
    const run = workflow("w").start(without).build().run(1, { clock })
    await run
    await clock.advance(1_000)
    const { status, error, requests } = await run.result
    expect({ status, requests }).toEqual({ status: "failed", requests: [] })
    expect(error).toMatchObject({ code: "REQUEST_EXPIRED", node: "without" })
    expect(error?.message).toContain("Ready?")
    await expect(run.respond("r1", "late")).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
  })

  test("without a default: the handler may catch it and continue", async () => {
    const clock = manualClock()
    const careful = node("careful", async (_: number, ctx: Context) => {
      try {
        return await ctx.ask({ prompt: "?", timeout: 10 })
      } catch (error) {
        return (error as { code: string }).code
      }
    })
    const run = workflow("w").start(careful).build().run(1, { clock })
    await run
    await clock.advance(10)
    expect((await run).outputs).toEqual(["REQUEST_EXPIRED"])
  })

  test("that does not pass leaves no timer behind", async () => {
    const clock = manualClock()
    const run = workflow("w").start(withDefault).build().run(1, { clock })
    await run
    expect(clock.pending).toBe(1)
    await run.respond("r1", "in time")
    expect((await run).outputs).toEqual(["in time"])
    expect(clock.pending).toBe(0)
  })

  test("whose default does not fit the schema is an error when it is asked, not when it passes", async () => {
    const wrong = node("wrong", async (_: number, ctx: Context) =>
      ctx.ask({ prompt: "?", schema: z.number(), timeout: 10, default: "text" as never }),
    )
    const { status, error } = await workflow("w").start(wrong).build().run(1, { clock: manualClock() }).result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ code: "REQUEST_INVALID", node: "wrong" })
  })
})

describe("request and onAnswer", () => {
  const answers = node({
    id: "answers",
    run: (n: number, ctx: Context) => {
      ctx.request({ prompt: "How many?", data: { n } })
      ctx.request("And now?")
      return "asked"
    },
    answer: z.number(),
    onAnswer: (count, ctx) => `answer ${count} in task ${ctx.task}`,
  })

  test("the task continues, and the node receives every answer as its own message", async () => {
    const run = workflow("w").start(answers).build().run(7)
    expect(await run).toMatchObject({
      status: "waiting",
      outputs: ["asked"],
      requests: [
        { id: "r1", node: "answers", prompt: "How many?", data: { n: 7 } },
        { id: "r2", prompt: "And now?" },
      ],
    })
    await run.respond("r2", 2)
    expect(await run).toMatchObject({ status: "waiting", outputs: ["asked", "answer 2 in task 2"] })
    await run.respond("r1", 1)
    expect(await run).toMatchObject({
      status: "completed",
      outputs: ["asked", "answer 2 in task 2", "answer 1 in task 3"],
    })
  })

  test("an answer of the wrong shape is refused, and nothing is taken", async () => {
    const run = workflow("w").start(answers).build().run(7)
    await run
    await expect(run.respond("r1", "many")).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    expect((await run).requests).toHaveLength(2)
  })

  test("what the answer's handler returns goes along the node's edges", async () => {
    const next = node("next", (text: string) => text.toUpperCase())
    const run = workflow("w")
      .chain(answers as never as typeof next, next)
      .build()
      .run(7 as never)
    await run
    await run.respond("r1", 1)
    expect((await run).outputs).toContain("ANSWER 1 IN TASK 3")
  })

  test("a default that the answer's schema refuses is an error when it is asked", async () => {
    const wrong = node({
      id: "wrong",
      run: (_: number, ctx: Context) => ctx.request({ prompt: "?", timeout: 10, default: "text" }),
      answer: z.number(),
      onAnswer: (n) => n,
    })
    const run = workflow("w").start(wrong).build().run(1, { clock: manualClock() })
    expect((await run.result).error).toMatchObject({ code: "REQUEST_INVALID", node: "wrong" })
  })

  test("a node without an answer's handler cannot ask this way", async () => {
    const wrong = node("wrong", (_: number, ctx: Context) => ctx.request("?"))
    expect((await workflow("w").start(wrong).build().run(1).result).error).toMatchObject({
      code: "NO_ANSWER_HANDLER",
      node: "wrong",
    })
  })

  test("a task that fails has asked nothing (M3)", async () => {
    const fails = node({
      id: "fails",
      run: (_: number, ctx: Context) => {
        ctx.request("?")
        throw new Error("boom")
      },
      onAnswer: () => 1,
    })
    const caught = node("caught", () => "caught")
    const result = await workflow("w").start(fails).onError(fails, caught).build().run(1)
    expect(result).toMatchObject({ status: "completed", outputs: ["caught"], requests: [] })
  })

  test("a deadline with a default answers; without one it fails the run", async () => {
    const clock = manualClock()
    const waits = (more: object) =>
      node({
        id: "waits",
        run: (_: number, ctx: Context) => ctx.request({ prompt: "Ready?", timeout: 100, ...more }),
        onAnswer: (answer) => answer,
      })
    const defaulted = workflow("w")
      .start(waits({ default: "taken" }))
      .build()
      .run(1, { clock })
    await defaulted
    await clock.advance(100)
    expect((await defaulted).outputs).toEqual(["taken"])
    const expired = workflow("w").start(waits({})).build().run(1, { clock })
    await expired
    await clock.advance(100)
    expect((await expired.result).error).toMatchObject({ code: "REQUEST_EXPIRED", node: "waits" })
  })

  test("comes back after a resume", async () => {
    const store = memoryStore()
    const built = workflow("w").start(answers).build()
    await built.run(7, { store, runId: "r" })
    const again = built.resume("r", { store })
    expect((await again).requests).toHaveLength(2)
    await expect(again.respond("r1", "many")).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    await again.respond("r1", 1)
    await again.respond("r2", 2)
    expect((await again).outputs).toEqual(["asked", "answer 1 in task 2", "answer 2 in task 3"])
  })
})
