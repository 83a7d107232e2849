import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Context, node, on, type RunEvent, workflow } from "../../index.ts"

const start = node("start", (n: number) => n)
const big = node("big", (n: number) => `big ${n}`)
const small = node("small", (n: number) => `small ${n}`)

async function eventsOf(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

describe("a single edge with a condition", () => {
  const isBig = workflow("w")
    .start(start)
    .edge(start, big, { when: (n) => n > 10 })
    .build()

  test("is taken when the condition holds", async () => {
    expect(await isBig.run(11)).toMatchObject({ outputs: ["big 11"], undelivered: [] })
  })

  test("is not taken when it does not, and the message is reported with the reason", async () => {
    const result = await isBig.run(10)
    expect(result).toMatchObject({ status: "completed", outputs: [] })
    expect(result.undelivered).toEqual([
      { from: "start", reason: expect.stringContaining('the condition to "big" did not hold'), value: 10 },
    ])
  })

  test("may take its time to decide", async () => {
    const slow = workflow("w")
      .start(start)
      .edge(start, big, { when: async (n) => n > 10 })
      .build()
    expect((await slow.run(11)).outputs).toEqual(["big 11"])
    expect((await slow.run(1)).undelivered).toHaveLength(1)
  })

  test("delivers along the other edges when it is not taken itself", async () => {
    const both = workflow("w")
      .start(start)
      .edge(start, big, { when: (n) => n > 10 })
      .edge(start, small)
      .build()
    expect(await both.run(1)).toMatchObject({ outputs: ["small 1"], undelivered: [] })
  })

  test.each<[string, () => boolean | Promise<boolean>]>([
    [
      "throws",
      () => {
        throw new Error("no idea")
      },
    ],
    ["rejects", () => Promise.reject(new Error("no idea"))],
  ])("that %s fails the run and names the edge, whatever error routes there are", async (_, when) => {
    const caught = node("caught", () => "caught")
    const retried = node({ id: "retried", retry: { attempts: 3, delay: 0 }, run: (n: number) => n })
    const built = workflow("w").start(retried).edge(retried, big, { when }).onError(retried, caught).build()
    const { status, error, outputs } = await built.run(1).result
    expect(status).toBe("failed")
    expect(outputs).toEqual([])
    expect(error).toMatchObject({ code: "EDGE_FAILED", node: "retried", attempt: 1 })
    expect(error?.message).toContain('"retried" -> "big"')
    expect(error?.message).toContain("no idea")
  })

  test("that throws fails the run also where the node settles its own failures", async () => {
    const settling = node({ id: "settling", onError: "settle", run: (n: number) => n })
    const got = node("got", (value: unknown) => value)
    const when = () => {
      throw new Error("no idea")
    }
    const { error } = await workflow("w").start(settling).edge(settling, got, { when }).build().run(1).result
    expect(error).toMatchObject({ code: "EDGE_FAILED" })
  })
})

describe("a fan-out", () => {
  test("delivers to all targets", async () => {
    const all = workflow("w").start(start).fanOut(start, [big, small]).build()
    expect((await all.run(5)).outputs).toEqual(["big 5", "small 5"])
  })

  test("delivers to those that the selection names, in the order they were declared", async () => {
    const third = node("third", (n: number) => `third ${n}`)
    const some = workflow("w")
      .start(start)
      .fanOut(start, [big, small, third], { select: async () => ["third", "big", "third"] })
      .build()
    expect((await some.run(5)).outputs).toEqual(["big 5", "third 5"])
  })

  test("gives the selection the message and the names of the targets", async () => {
    const seen: unknown[] = []
    const select = (message: number, targets: readonly string[]) => {
      seen.push(message, targets)
      return targets
    }
    await workflow("w").start(start).fanOut(start, [big, small], { select }).build().run(5)
    expect(seen).toEqual([5, ["big", "small"]])
  })

  test("that selects none drops the message, with an event", async () => {
    const none = workflow("w")
      .start(start)
      .fanOut(start, [big, small], { select: () => [] })
      .build()
    const events = await eventsOf(none.stream(5))
    expect(events.filter(({ type }) => type === "message.undelivered")).toMatchObject([
      { from: "start", reason: "the selection was empty", value: 5 },
    ])
  })

  test.each<[string, () => unknown, RegExp]>([
    ["names an unknown node", () => ["big", "nobody"], /"nobody", which is not a target/],
    ["names a node that is no target of this fan-out", () => ["start"], /"start", which is not a target/],
    ["is not a list", () => "big", /must return a list/],
    ["is nothing", () => undefined, /must return a list/],
    ["throws", () => Promise.reject(new Error("no idea")), /threw: no idea/],
  ])("fails the run when the selection %s", async (_, select, message) => {
    const wrong = workflow("w")
      .start(start)
      .fanOut(start, [big, small], { select: select as never })
      .build()
    const { status, error } = await wrong.run(5).result
    expect(status).toBe("failed")
    expect(error?.code).toBe("EDGE_FAILED")
    expect(error?.message).toMatch(message)
    expect(error?.message).toContain('"start" -> "big", "small"')
  })
})

describe("a switch", () => {
  const other = node("other", (n: number) => `other ${n}`)
  const built = workflow("w")
    .start(start)
    .switch(
      start,
      [
        { when: (n) => n > 100, to: big },
        { when: async (n) => n > 10, to: small },
        { when: (n) => n > 10, to: other },
      ],
      other,
    )
    .build()

  test("takes the first case that holds, and only that", async () => {
    expect((await built.run(101)).outputs).toEqual(["big 101"])
    expect((await built.run(11)).outputs).toEqual(["small 11"])
  })

  test("takes the default when none holds", async () => {
    expect((await built.run(1)).outputs).toEqual(["other 1"])
  })

  test("with a condition that throws fails the run and names the edge", async () => {
    const broken = { when: () => Promise.reject(new Error("no idea")), to: small }
    const failing = workflow("w").start(start).switch(start, [broken], other).build()
    const { error } = await failing.run(1).result
    expect(error?.message).toContain('"start" -> "small"')
  })
})

describe("a loop", () => {
  const add = node("add", (n: number) => n + 1)
  const done = node("done", (n: number) => `done ${n}`)

  test("goes round while its condition holds, then takes the exit", async () => {
    const loop = workflow("w")
      .start(add)
      .loop(add, add, { while: (n) => n < 5, exit: done })
      .build()
    expect((await loop.run(0)).outputs).toEqual(["done 5"])
  })

  test("goes round until its condition holds; without an exit the message is the output", async () => {
    const loop = workflow("w")
      .start(add)
      .loop(add, add, { until: async (n) => n >= 5 })
      .build()
    expect((await loop.run(0)).outputs).toEqual([5])
  })

  test("loops at most so many times, then takes the exit", async () => {
    const loop = workflow("w").start(add).loop(add, add, { max: 3, exit: done }).build()
    expect((await loop.run(0)).outputs).toEqual(["done 4"])
  })

  test("without a condition and without a limit is refused at build", () => {
    const endless = workflow("w").start(add).loop(add, add, {})
    expect(() => endless.build()).toThrow("CYCLE_WITHOUT_LIMIT")
  })
})

describe("a message that no target accepts", () => {
  const numbers = node({ id: "numbers", input: z.number(), run: (n) => n })

  test("is reported with the reason of every handler, and the run continues", async () => {
    const picky = node({ id: "picky", handlers: [on(z.string(), () => 1), on(z.boolean(), () => 2)] })
    const source = node("source", (n: number): unknown => n)
    const result = await workflow("w")
      .start(source)
      .fanOut(source, [picky as never, numbers as never])
      .build()
      .run(5)
    expect(result).toMatchObject({ status: "completed", outputs: [5] })
    expect(result.undelivered).toHaveLength(1)
    expect(result.undelivered[0]).toMatchObject({ from: "source", to: "picky", value: 5 })
    expect(result.undelivered[0]?.reason).toMatch(/no handler accepts it:.*string.*\|.*boolean/i)
  })

  test("is an event too", async () => {
    const source = node("source", (_: number): unknown => "text")
    const events = await eventsOf(
      workflow("w")
        .start(source)
        .edge(source, numbers as never)
        .build()
        .stream(5),
    )
    expect(events).toContainEqual(
      expect.objectContaining({ type: "message.undelivered", from: "source", to: "numbers", value: "text" }),
    )
  })

  test("is one that a node without an edge out sends", async () => {
    const sends = node("sends", (_: number, ctx: Context) => ctx.send("hello"))
    expect((await workflow("w").start(sends).build().run(1)).undelivered).toEqual([
      { from: "sends", reason: "no edge leads out", value: "hello" },
    ])
  })

  test("a schema that throws is a failure of the node, not a refusal", async () => {
    const breaks = z.unknown().transform(() => {
      throw new Error("schema broke")
    })
    const broken = node({ id: "broken", input: breaks, run: () => 1 })
    const { status, error } = await workflow("w")
      .chain(start, broken as never)
      .build()
      .run(1).result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ node: "broken", message: expect.stringContaining("schema broke") })
  })
})

describe("a message that names its target", () => {
  const router = (to: string | { id: string }) =>
    node("router", (n: number, ctx: Context) => ctx.send(n, { to }))

  test("goes to that one alone, past selections", async () => {
    const from = router("small")
    const built = workflow("w")
      .start(from)
      .fanOut(from, [big, small], { select: () => ["big"] })
      .build()
    expect((await built.run(1)).outputs).toEqual(["small 1"])
  })

  test("goes there only where the edge's condition holds, and is reported undelivered otherwise", async () => {
    const from = router("small")
    const built = (when: (n: number) => boolean | Promise<boolean>) =>
      workflow("w").start(from).edge(from, small, { when }).edge(from, big).build()
    for (const holds of [(n: number) => n < 5, async (n: number) => n < 5]) {
      expect((await built(holds).run(1)).outputs).toEqual(["small 1"])
      expect(await built(holds).run(9)).toMatchObject({
        outputs: [],
        undelivered: [{ from: "router", value: 9, reason: 'the condition to "small" did not hold' }],
      })
    }
  })

  test("goes to a case of a switch only where that case holds, whatever cases come before it", async () => {
    const built = (to: string) => {
      const from = router(to)
      const always = node("always", (n: number) => `always ${n}`)
      return workflow("w")
        .start(from)
        .switch(
          from,
          [
            { when: () => true, to: always },
            { when: (n: number) => n < 5, to: small },
          ],
          big,
        )
        .build()
    }
    expect((await built("small").run(1)).outputs).toEqual(["small 1"])
    expect((await built("big").run(1)).outputs).toEqual(["big 1"])
    expect(await built("small").run(9)).toMatchObject({ outputs: [], undelivered: [{ value: 9 }] })
  })

  test("goes along every edge to the target: one that does not hold keeps none of the others from it", async () => {
    const from = router("both")
    const other = node("other", (n: number) => n)
    const both = node("both", (message: number | readonly number[]) => message)
    const built = (holds: boolean) =>
      workflow("w")
        .start(from)
        .edge(from, other)
        .fanIn([from, other], both as never)
        .edge(from, both, { when: () => holds })
        .build()
    const joined = "nothing more can reach the join"
    expect(await built(false).run(1)).toMatchObject({
      outputs: [],
      undelivered: [{ from: "router", to: "both", reason: expect.stringContaining(joined) }],
    })
    expect(await built(true).run(1)).toMatchObject({
      outputs: [1],
      undelivered: [{ from: "router", to: "both", reason: expect.stringContaining(joined) }],
    })
  })

  test("goes round a loop no more often than the loop allows", async () => {
    const again = node("again", (n: number, ctx: Context) => ctx.send(n + 1, { to: "again" }))
    const built = workflow("w")
      .start(again)
      .loop(again, again, { while: () => true, max: 3 })
      .build()
    const { status, undelivered } = await built.run(0)
    expect({ status, undelivered }).toMatchObject({ status: "completed", undelivered: [{ value: 4 }] })
  })

  test("may name it by the node itself", async () => {
    const from = router(small)
    const built = workflow("w").start(from).fanOut(from, [big, small]).build()
    expect((await built.run(1)).outputs).toEqual(["small 1"])
  })

  test("fails its task when there is no edge to it, and lists the targets there are", async () => {
    const from = router("nobody")
    const built = workflow("w").start(from).fanOut(from, [big, small]).build()
    const { error } = await built.run(1).result
    expect(error).toMatchObject({ code: "UNKNOWN_TARGET", node: "router" })
    expect(error?.message).toContain('"big", "small"')
  })
})
