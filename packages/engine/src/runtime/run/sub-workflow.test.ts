import { describe, expect, test } from "vitest"
import { z } from "zod"
import { signatureOf } from "../../core/index.ts"
import { type Context, memoryStore, node, type RunEvent, workflow } from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"

const add = node("add", (n: number) => n + 1)
const twice = node("twice", (n: number) => n * 2)
const inner = workflow("inner").chain(add, twice).build()
const asks = (prompt: string) => node("asks", async (_: number, ctx: Context) => ctx.ask(prompt))

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

describe("a workflow as a node", () => {
  test("takes the message as its input, and its outputs are the node's messages", async () => {
    const end = node("end", (n: number) => `end ${n}`)
    expect((await workflow("w").chain(add, inner.asNode(), end).build().run(1)).outputs).toEqual(["end 6"])
  })

  test("is an output of the parent where it has no edge out", async () => {
    expect((await workflow("w").chain(add, inner.asNode()).build().run(1)).outputs).toEqual([6])
  })

  test("sends each of several outputs, in order, and nothing where there is none", async () => {
    const several = node("several", (n: number, ctx: Context) => {
      ctx.output(n)
      ctx.output(n + 1)
    })
    const many = workflow("many").start(several).build().asNode()
    const show = node("show", (n: unknown) => `got ${n}`)
    expect((await workflow("w").start(many).edge(many, show).build().run(5)).outputs).toEqual([
      "got 5",
      "got 6",
    ])
    const none = workflow("none")
      .start(node("quiet", () => undefined))
      .build()
      .asNode()
    expect(await workflow("w").start(none).edge(none, show).build().run(5)).toMatchObject({
      outputs: [],
      undelivered: [],
    })
  })

  test("may be used several times under ids of its own, at once and in loops", async () => {
    const [one, two] = [inner.asNode({ id: "one" }), inner.asNode({ id: "two" })]
    const built = workflow("w").start(add).fanOut(add, [one, two]).build()
    expect((await built.run(0)).outputs).toEqual([4, 4])
    const loop = inner.asNode()
    const looped = workflow("w")
      .start(loop)
      .loop(loop, loop, { while: (n) => n < 20 })
      .build()
    expect((await looped.run(1)).outputs).toEqual([22])
  })

  test("is nested as deep as one likes", async () => {
    let built = inner
    for (let depth = 0; depth < 20; depth++) built = workflow(`level ${depth}`).start(built.asNode()).build()
    expect((await built.run(1)).outputs).toEqual([4])
  })

  test("refuses a message that its start node does not take, like any node", async () => {
    const strict = workflow("strict")
      .start(node({ id: "s", input: z.string(), run: (s) => s }))
      .build()
    const source = node("source", (n: number): string => n as never)
    const result = await workflow("w").chain(source, strict.asNode()).build().run(5)
    expect(result).toMatchObject({ status: "completed", outputs: [] })
    expect(result.undelivered).toMatchObject([{ from: "source", to: "strict", value: 5 }])
  })

  test("reports what it left undelivered in the result of the run, now and after a resume", async () => {
    const drops = workflow("drops")
      .start(add)
      .edge(add, twice, { when: () => false })
      .build()
    const middle = workflow("middle").start(drops.asNode()).build()
    const calls = node("calls", async (n: number, ctx: Context) => {
      await ctx.call(middle, n)
    })
    const undelivered = (...path: string[]) => [
      { path, from: "add", reason: 'the condition to "twice" did not hold', value: 2 },
    ]
    for (const [first, path] of [
      [drops.asNode(), ["drops#1"]],
      [middle.asNode(), ["middle#1", "drops#1"]],
      [calls, ["calls#1", "drops#1"]],
    ] as const) {
      const store = memoryStore()
      const built = workflow("w").start(first).build()
      const result = await built.run(1, { store, runId: "r" })
      expect(result).toMatchObject({ status: "completed", outputs: [] })
      expect(result.undelivered).toEqual(undelivered(...path))
      expect((await built.resume("r", { store })).undelivered).toEqual(result.undelivered)
    }
  })

  test("hands the message on as it came: the start node reads it once", async () => {
    const doubling = z.string().transform((text) => text + text)
    const reads = workflow("reads")
      .start(node({ id: "s", input: doubling, run: (s) => s }))
      .build()
    expect((await workflow("w").start(reads.asNode()).build().run("ab")).outputs).toEqual(["abab"])
  })

  test("carries its path in its events, down to the innermost", async () => {
    const middle = workflow("middle").start(inner.asNode()).build()
    const events = await collect(workflow("w").chain(add, middle.asNode()).build().stream(1))
    expect(new Set(events.map(({ path }) => path.join(" > ")))).toEqual(
      new Set(["", "middle#2", "middle#2 > inner#1"]),
    )
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    expect(events).toContainEqual(
      expect.objectContaining({ type: "run.started", workflow: "inner", path: ["middle#2", "inner#1"] }),
    )
  })

  test("fails its node with its own error as the cause", async () => {
    const fails = node("fails", () => {
      throw new Error("deep down")
    })
    const broken = workflow("broken").start(fails).build()
    const { status, error } = await workflow("w").chain(add, broken.asNode()).build().run(1).result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ node: "broken", attempt: 1 })
    expect(error?.message).toMatch(/"broken".*deep down/)
  })

  test("is run again from the start when its node retries", async () => {
    let ran = 0
    const flaky = node("flaky", (n: number) => {
      if (++ran === 1) throw new Error("once")
      return n
    })
    const sub = workflow("sub").start(flaky).build()
    const retried = sub.asNode({ retry: { attempts: 2, delay: 0 } })
    expect((await workflow("w").start(retried).build().run(7)).outputs).toEqual([7])
    expect(ran).toBe(2)
  })

  test("that hits a limit of its own fails its node", async () => {
    const loop = workflow("loop", { limits: { supersteps: 3 } })
      .start(add)
      .edge(add, add, { when: () => true })
      .build()
    const { status, error } = await workflow("w").start(loop.asNode()).build().run(1).result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ node: "loop", code: "CONVERGENCE" })
  })

  test("that takes longer than it may fails its node", async () => {
    const slow = workflow("slow", { timeout: 50 }).start(controlled("never")).build()
    const clock = manualClock()
    const run = workflow("w").chain(add, slow.asNode()).build().run(1, { clock })
    await settled()
    await clock.advance(51)
    const { status, error } = await run.result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ node: "slow", code: "RUN_TIMEOUT" })
  })

  test("changes the parent's signature when it changes, however deep", () => {
    const build = (leaf: typeof add) => {
      const low = workflow("low").start(leaf).build()
      const high = workflow("high").start(low.asNode()).build()
      return signatureOf(workflow("w").start(high.asNode()).build().program.graph).hash
    }
    expect(build(add)).toBe(build(node("add", (n: number) => n - 1)))
    expect(build(add)).not.toBe(build(twice))
  })

  test("does not hold up its parent: siblings continue", async () => {
    const hold = controlled<number, number>("hold")
    const slow = workflow("slow").start(hold).build()
    const next = controlled<number, number>("next")
    const run = workflow("w").start(add).fanOut(add, [slow.asNode(), twice]).edge(twice, next).build().run(1)
    await hold.started()
    await next.started()
    next.finish(1)
    await settled()
    hold.finish(2)
    expect((await run).outputs).toEqual([1, 2])
  })
})

describe("its requests", () => {
  test("show up at the parent, under an id that leads to them, and are answered there", async () => {
    const sub = workflow("sub").start(asks("deep?")).build()
    const middle = workflow("middle").start(sub.asNode()).build()
    const run = workflow("w").chain(add, middle.asNode()).build().run(1)
    const { status, requests } = await run
    expect(status).toBe("waiting")
    expect(requests).toMatchObject([{ node: "asks", prompt: "deep?" }])
    await run.respond(requests[0]?.id ?? "", "answer")
    expect((await run).outputs).toEqual(["answer"])
  })

  test("of two at once do not get mixed up", async () => {
    const sub = workflow("sub").start(asks("?")).build()
    const built = workflow("w")
      .start(add)
      .fanOut(add, [sub.asNode({ id: "one" }), sub.asNode({ id: "two" })])
      .build()
    const run = built.run(1)
    const ids = (await run).requests.map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
    await run.respond(ids[1] as string, "two")
    expect((await run).requests.map(({ id }) => id)).toEqual([ids[0]])
    await run.respond(ids[0] as string, "one")
    expect((await run).outputs).toEqual(["two", "one"])
  })

  test("are checked, and answered once, like the parent's own", async () => {
    const typed = node("typed", async (_: number, ctx: Context) =>
      ctx.ask({ prompt: "?", schema: z.number() }),
    )
    const run = workflow("w").start(workflow("sub").start(typed).build().asNode()).build().run(1)
    const id = (await run).requests[0]?.id ?? ""
    await expect(run.respond(id, "text")).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    await expect(run.respond("r1", 1)).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
    await run.respond(id, 5)
    expect((await run).outputs).toEqual([5])
    await expect(run.respond(id, 6)).rejects.toMatchObject({ code: "REQUEST_ANSWERED" })
  })

  test("may be handled by the parent: it never waits then", async () => {
    const seen: unknown[] = []
    const sub = workflow("sub").start(asks("how many?")).build()
    const handled = sub.asNode({
      onRequest: async (request) => {
        seen.push(request.prompt)
        return 42
      },
    })
    expect(await workflow("w").start(handled).build().run(1)).toMatchObject({
      status: "completed",
      outputs: [42],
    })
    expect(seen).toEqual(["how many?"])
  })

  test("that the parent does not answer are left to the person", async () => {
    const sub = workflow("sub").start(asks("?")).build()
    const run = workflow("w")
      .start(sub.asNode({ onRequest: () => undefined }))
      .build()
      .run(1)
    const { status, requests } = await run
    expect(status).toBe("waiting")
    await run.respond(requests[0]?.id ?? "", "person")
    expect((await run).outputs).toEqual(["person"])
  })

  test("go to the nearest caller that can answer", async () => {
    const sub = workflow("sub").start(asks("?")).build()
    const near = workflow("near")
      .start(sub.asNode({ onRequest: () => "near" }))
      .build()
    const far = (from: typeof near) =>
      workflow("w")
        .start(from.asNode({ onRequest: () => "far" }))
        .build()
    expect((await far(near).run(1)).outputs).toEqual(["near"])
    expect(
      (await far(workflow("between").start(sub.asNode()).build() as typeof near).run(1)).outputs,
    ).toEqual(["far"])
  })

  test.each<[string, () => unknown, string]>([
    [
      "throws",
      () => {
        throw new Error("cannot say")
      },
      "cannot say",
    ],
    ["answers with the wrong shape", () => "text", "REQUEST_INVALID"],
    ["answers with what JSON cannot hold", () => 1n, "NOT_SERIALISABLE"],
  ])("fail the sub-workflow when the parent's handler %s", async (_, onRequest, problem) => {
    const typed = node("typed", async (_: number, ctx: Context) =>
      ctx.ask({ prompt: "Well?", schema: z.number() }),
    )
    const sub = workflow("sub").start(typed).build()
    const { status, error } = await workflow("w").start(sub.asNode({ onRequest })).build().run(1).result
    expect(status).toBe("failed")
    expect(error?.node).toBe("sub")
    expect(`${error?.code} ${error?.message}`).toContain(problem)
  })

  test("asked without waiting work too", async () => {
    const requests = node({
      id: "requests",
      run: (_: number, ctx: Context) => ctx.request("?"),
      onAnswer: (answer) => `answered ${answer}`,
    })
    const sub = workflow("sub").start(requests).build()
    const run = workflow("w").start(sub.asNode()).build().run(1)
    await run.respond((await run).requests[0]?.id ?? "", 1)
    expect((await run).outputs).toEqual(["answered 1"])
    const handled = sub.asNode({ onRequest: () => 2 })
    expect((await workflow("w").start(handled).build().run(1)).outputs).toEqual(["answered 2"])
  })

  test("keep their deadlines", async () => {
    const clock = manualClock()
    const dated = node("dated", async (_: number, ctx: Context) =>
      ctx.ask({ prompt: "?", timeout: 50, default: "late" }),
    )
    const run = workflow("w").start(workflow("sub").start(dated).build().asNode()).build().run(1, { clock })
    await run
    await clock.advance(50)
    expect((await run).outputs).toEqual(["late"])
  })
})

describe("calling a workflow from a handler", () => {
  test("gives its outputs", async () => {
    const calls = node("calls", async (n: number, ctx: Context) => ctx.call(inner, n))
    expect((await workflow("w").start(calls).build().run(1)).outputs).toEqual([[4]])
  })

  test("may be done several times, one after another and at once", async () => {
    const calls = node("calls", async (n: number, ctx: Context) => {
      const [first] = await ctx.call(inner, n)
      const rest = await Promise.all([ctx.call(inner, 10), ctx.call(inner, 20)])
      return [first, ...rest.flat()]
    })
    expect((await workflow("w").start(calls).build().run(1)).outputs).toEqual([[4, 22, 42]])
  })

  test("with an input that it does not take is an error in the handler", async () => {
    const strict = workflow("strict")
      .start(node({ id: "s", input: z.string(), run: (s) => s }))
      .build()
    const calls = node("calls", async (n: number, ctx: Context) => {
      try {
        return await ctx.call(strict, n as never)
      } catch (error) {
        return (error as { code: string }).code
      }
    })
    expect((await workflow("w").start(calls).build().run(1)).outputs).toEqual(["INPUT_INVALID"])
  })

  test("that fails is an error in the handler, which may catch it", async () => {
    const broken = workflow("broken").start(
      node("fails", () => {
        throw new Error("deep down")
      }),
    )
    const calls = node("calls", async (n: number, ctx: Context) => {
      try {
        return await ctx.call(broken.build(), n)
      } catch (error) {
        return (error as Error).message
      }
    })
    const { outputs } = await workflow("w").start(calls).build().run(1)
    expect(outputs).toEqual([expect.stringContaining("deep down")])
  })

  test("that succeeded is not made again in a later attempt", async () => {
    let ran = 0
    const counted = workflow("counted")
      .start(node("counts", () => ++ran))
      .build()
    const calls = node({
      id: "calls",
      retry: { attempts: 2, delay: 0 },
      run: async (n: number, ctx: Context) => {
        const outputs = await ctx.call(counted, n)
        if (ctx.attempt === 1) throw new Error("again")
        return outputs
      },
    })
    expect((await workflow("w").start(calls).build().run(1)).outputs).toEqual([[1]])
    expect(ran).toBe(1)
  })

  test("lets its requests surface, or be handled", async () => {
    const sub = workflow("sub").start(asks("?")).build()
    const surfaces = node("surfaces", async (n: number, ctx: Context) => ctx.call(sub, n))
    const run = workflow("w").start(surfaces).build().run(1)
    await run.respond((await run).requests[0]?.id ?? "", "person")
    expect((await run).outputs).toEqual([["person"]])
    const handles = node("handles", async (n: number, ctx: Context) =>
      ctx.call(sub, n, { onRequest: () => "code" }),
    )
    expect((await workflow("w").start(handles).build().run(1)).outputs).toEqual([["code"]])
  })

  test("that the caller does not wait for is stopped when the caller's task ends", async () => {
    const hold = controlled<number, number>("hold")
    const sub = workflow("sub").start(hold).build()
    const hasty = node("hasty", async (n: number, ctx: Context) => {
      void ctx.call(sub, n)
      await hold.started()
      return "done"
    })
    expect((await workflow("w").start(hasty).build().run(1)).outputs).toEqual(["done"])
    expect(hold.atWork).toHaveLength(0)
  })
})
