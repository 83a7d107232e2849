/** V1 to V3: nothing outside a run can change a value that it holds, and live values are what the journal gives back. */
import { describe, expect, test } from "vitest"
import {
  append,
  type Context,
  channel,
  fork,
  type Json,
  memoryStore,
  merge,
  node,
  type RunResult,
  reducer,
  replace,
  type Store,
  settle,
  type Workflow,
  workflow,
} from "../../index.ts"
import { foldJournal } from "../../testing/index.ts"
import { tamper } from "../../testing/simulation/tamper.ts"
import type { Callable } from "../index.ts"

interface Order {
  n: number
  items: { name: string }[]
}
const order = (): Order => ({ n: 1, items: [{ name: "lamp" }] })
/** What TypeScript would not let through: a value as if it were the handler's own. */
const asMine = <T>(value: T) => value as { -readonly [K in keyof T]: T[K] }

/** The run as its journal gives it, beside its own result (M6). */
async function expectJournalAgrees<In, Out>(
  built: Callable<In, Out>,
  store: Store,
  result: RunResult<Out>,
): Promise<void> {
  const machine = foldJournal(built, await store.read(result.runId, 0))
  const { outputs, state } = result
  expect({ outputs, state }).toEqual({ outputs: machine.outputs, state: machine.allState() })
}

describe("a forbidden mutation throws at its line, in", () => {
  const list = channel("list", append<{ x: number }>([{ x: 1 }]))
  const attempts: [string, (message: Order, ctx: Context) => unknown | Promise<unknown>][] = [
    ["the message", (message) => message.n++],
    ["a part of the message", (message) => message.items.push({ name: "desk" })],
    ["a part of a part", (message) => Object.assign(message.items[0] as object, { name: "desk" })],
    ["state", (_, ctx) => asMine(ctx.state.get(list) as { x: number }[]).push({ x: 2 })],
    ["a part of state", (_, ctx) => Object.assign(ctx.state.get(list)[0] as object, { x: 2 })],
    [
      "the node's own state",
      (_, ctx) => {
        ctx.local.set("seen", [1])
        ctx.local.get<number[]>("seen")?.push(2)
      },
    ],
    ["the result of a step", async (_, ctx) => (await ctx.step("s", () => [1])).push(2)],
    ["what the run has used", (_, ctx) => Object.assign(ctx.usedHere, { usd: 0 })],
    ["the outputs of a call", async (_, ctx) => (await ctx.call(inner, 1)).pop()],
    ["one output of a call", async (_, ctx) => (await ctx.call(inner, 1)).map((one) => one.list.push(2))],
  ]
  const inner = workflow("inner")
    .start(node("give", (n: number) => ({ list: [n] })))
    .build()

  test.each(attempts)("%s", async (_, attempt) => {
    const store = memoryStore()
    const tries = node("tries", attempt)
    const built = workflow("w", { state: [list] })
      .start(tries)
      .build()
    const { error } = await built.run(order(), { store, runId: "r" }).result
    expect(error).toMatchObject({ node: "tries", cause: expect.any(TypeError) })
    expect(String((error as { cause: Error }).cause.stack)).toContain("owned-values.test.ts")
  })

  test("a condition, a selection and a reducer", async () => {
    const from = node("from", order)
    const to = node("to", (one: Order) => one.n)
    const other = node("other", (one: Order) => one.n)
    const total = channel(
      "total",
      reducer<{ n: number }, { by: number }>(
        "sum",
        (current, write) => {
          if (current !== undefined) asMine(current).n += write.by
          return current ?? { n: write.by }
        },
        { n: 0 },
      ),
    )
    const adds = node("adds", (_: null, ctx: Context) => ctx.state.write(total, { by: 1 }))
    const failures = [
      workflow("w")
        .start(from)
        .edge(from, to, { when: (one) => one.n++ > 0 })
        .build(),
      workflow("w")
        .start(from)
        .fanOut(from, [to, other], { select: (_, targets) => asMine(targets).splice(0, 1) })
        .build(),
      workflow("w", { state: [total] })
        .start(adds)
        .build(),
    ]
    for (const built of failures) {
      const { error } = await built.run(null as never).result
      expect(error?.message).toMatch(/read only|not extensible|object that is not|Cannot (add|assign|delete)/)
    }
  })
})

describe("nothing outside changes a run:", () => {
  test("a caller that uses its input, options and state again", async () => {
    const log = channel("log", append<{ x: number }>())
    const slow = node("slow", async (one: Order, ctx: Context) => {
      await ctx.step("wait", () => undefined)
      return one
    })
    const after = node("after", (one: Order) => one)
    const built = workflow("w", { state: [log] })
      .chain(slow, after)
      .build()
    const store = memoryStore()
    const input = order()
    const options = { store, runId: "r", state: { log: [{ x: 1 }] }, limits: { supersteps: 5 } }
    const run = built.run(input, options)
    input.n = 99
    input.items.length = 0
    ;(options.state.log[0] as { x: number }).x = 99
    options.limits.supersteps = 1
    const result = await run
    expect(result).toMatchObject({ outputs: [order()], state: { log: [{ x: 1 }] } })
    await expectJournalAgrees(built, store, result)
  })

  test("a handler that changes what it returned, sent, wrote or recorded", async () => {
    const log = channel("log", append<Order>())
    const last = channel("last", replace<Order>())
    const mine: Order[] = []
    const make = () => {
      const one = order()
      mine.push(one)
      return one
    }
    const sends = node("sends", async (_: null, ctx: Context) => {
      ctx.state.write(log, [make()])
      ctx.state.write(last, make())
      ctx.output(make())
      ctx.send(make())
      await ctx.step("one", make)
      for (const one of mine) one.n = 99
      return make()
    })
    const takes = node("takes", (one: Order) => {
      for (const own of mine) own.items.length = 0
      return one
    })
    const store = memoryStore()
    const built = workflow("w", { state: [log, last] })
      .chain(sends, takes)
      .build()
    const result = await built.run(null, { store })
    expect(result.outputs).toEqual([order(), order(), order()])
    expect(result.state).toEqual({ log: [order()], last: order() })
    await expectJournalAgrees(built, store, result)
  })

  test("siblings of a fan-out, which get the same message", async () => {
    const from = node("from", order)
    const [first, second] = ["first", "second"].map((id) =>
      node(id, (one: Order) => {
        try {
          one.items.push({ name: id })
        } catch {}
        return one.items.length
      }),
    ) as [ReturnType<typeof node>, ReturnType<typeof node>]
    const built = workflow("w")
      .start(from)
      .fanOut(from, [first as never, second as never])
      .build()
    expect((await built.run(null as never)).outputs).toEqual([1, 1])
  })

  test("a watcher that edits events", async () => {
    const store = memoryStore()
    const log = channel("log", append<Order>([order()]))
    const one = node("one", (input: Order, ctx: Context) => {
      ctx.emit("progress", input)
      ctx.state.write(log, [input])
      return input
    })
    const two = node("two", async (input: Order, ctx: Context) => ctx.step("same", () => input))
    const built = workflow("w", { state: [log] })
      .chain(one, two)
      .build()
    const run = built.stream(order(), { store })
    const parts = []
    for await (const event of run) {
      parts.push(...Object.values(event))
      tamper(event)
    }
    const result = await run
    // The event itself is its only watcher's; what is in it is the run's.
    expect(parts.flatMap((part) => tamper(part).changed)).toEqual([])
    expect(result).toMatchObject({ outputs: [order()], state: { log: [order(), order()] } })
    await expectJournalAgrees(built, store, result)
  })

  test("a watcher that edits events which another one gets too", async () => {
    const built = workflow("w")
      .start(node("one", (input: Order) => input))
      .build()
    const run = built.stream(order())
    const edited: unknown[] = []
    const edit = async () => {
      for await (const event of run.events()) edited.push(...tamper(event).changed)
    }
    const kept: string[] = []
    const read = async () => {
      for await (const event of run) kept.push(event.type)
    }
    await Promise.all([edit(), read()])
    expect(edited).toEqual([])
    expect(kept).toContain("task.finished")
  })

  test("a caller that edits a result, or what it reads from the store", async () => {
    const store = memoryStore()
    const log = channel("log", append<Order>())
    const asks = node("asks", async (input: Order, ctx: Context) => {
      ctx.state.write(log, [input])
      await ctx.ask({ prompt: "well?", data: input, default: "no" })
      return input
    })
    const lost = node("lost", (input: Order) => input)
    const from = node("from", (input: Order) => input)
    const built = workflow("w", { state: [log] })
      .start(from)
      .edge(from, asks)
      .edge(from, lost, { when: () => false })
      .build()
    const run = built.run(order(), { store, runId: "r" })
    const waiting = await run
    tamper(waiting)
    tamper(await store.read("r", 0))
    tamper(await store.run("r"))
    tamper(await store.requests({}))
    await run.respond((await store.requests({}))[0]?.id ?? "", "yes")
    const result = await run
    tamper(await store.read("r", 0))
    expect(result).toMatchObject({ outputs: [order()], state: { log: [order()] } })
    await expectJournalAgrees(built, store, result)
  })

  describe("routes, which all runs of a workflow share, of", () => {
    const edits: [string, (built: Workflow<number, number>) => Promise<void>][] = [
      [
        "stored records",
        async (built) => {
          const store = memoryStore()
          await built.run(1, { store, runId: "r" })
          tamper(await store.read("r", 0))
        },
      ],
      ["records that a store is given", (built) => runWithEditingStore(built)],
      ["streamed events", (built) => editEvents(built.stream(1))],
      ["early events", (built) => editEvents(built.run(1))],
    ]
    async function editEvents(events: AsyncIterable<unknown>): Promise<void> {
      for await (const event of events) tamper(event)
    }
    async function runWithEditingStore(built: Workflow<number, number>): Promise<void> {
      const inner = memoryStore()
      const append: Store["append"] = (lease, after, records, change) => {
        const stored = structuredClone(records)
        for (const { entry } of records)
          if (entry.type === "task.finished") for (const { route } of entry.sends) tamper(route)
        return inner.append(lease, after, stored, change)
      }
      await built.run(1, { store: { ...inner, append } })
    }

    test.each(edits)("%s", async (_, edit) => {
      const first = node("first", (n: number) => n + 1)
      const second = node("second", (n: number) => n * 2)
      const last = node("last", (n: number) => n)
      const built = workflow("w")
        .start(first)
        .edge(first, second)
        .loop(second, first, { while: (n) => n < 10, max: 5, exit: last })
        .build()
      await edit(built)
      expect((await built.run(1)).outputs).toEqual([10])
    })
  })

  test("a caller that uses an answer again", async () => {
    const asks = node("asks", async (_: null, ctx: Context) => {
      const answer = await ctx.ask<Order>("well?")
      await ctx.sleep(0)
      return answer
    })
    const store = memoryStore()
    const built = workflow("w").start(asks).build()
    const run = built.run(null, { store })
    const { requests } = await run
    const answer = order()
    const responded = run.respond(requests[0]?.id as string, answer)
    answer.n = 99
    await responded
    answer.items.length = 0
    const result = await run
    expect(result.outputs).toEqual([order()])
    await expectJournalAgrees(built, store, result)
  })

  test("a caller that uses an answer again, to a run that is being restored", async () => {
    const asks = node("asks", (_: null, ctx: Context) => ctx.ask<Order>("well?"))
    const store = memoryStore()
    const built = workflow("w").start(asks).build()
    const { requests } = await built.run(null, { store, runId: "r" })
    const run = built.resume("r", { store, takeOver: true })
    const answer = order()
    const responded = run.respond(requests[0]?.id as string, answer)
    answer.n = 99
    await responded
    expect((await run).outputs).toEqual([order()])
  })

  test("a caller that uses the values of a fork again", async () => {
    const store = memoryStore()
    const log = channel("log", append<Order>())
    const asks = node("asks", (_: Order, ctx: Context) => ctx.ask<Order>("well?"))
    const built = workflow("w", { state: [log] })
      .start(asks)
      .build()
    const { requests } = await built.run(order(), { store, runId: "r" })
    const id = requests[0]?.id as string
    const mine = { state: { log: [order()] }, answers: { [id]: order() } }
    const forking = fork(store, "r", mine)
    mine.state.log.push(order())
    Object.assign(mine.answers[id] as Order, { n: 99 })
    const { outputs, state } = await built.resume(await forking, { store })
    expect({ outputs, state }).toEqual({ outputs: [order()], state: { log: [order()] } })
    const other = { input: order() }
    const restarting = fork(store, "r", other)
    other.input.n = 99
    const [first] = await store.read(await restarting, 0)
    expect(first?.entry).toMatchObject({ input: order() })
  })

  test("a budget that is changed after the workflow is built", async () => {
    const budget = { iterations: 5 }
    const left = node("left", (_: null, ctx: Context) => ctx.budget.left.iterations)
    const built = workflow("w", { budget }).start(left).build()
    budget.iterations = 1
    expect((await built.run(null)).outputs).toEqual([5])
  })

  test("first values of channels that are changed after the workflow is built", async () => {
    const initial = [{ x: 1 }]
    const list = channel("list", append(initial))
    const facts = channel("facts", merge<{ a?: { b: number } }>({ a: { b: 1 } }))
    const built = workflow("w", { state: [list, facts] })
      .start(node("n", () => 1))
      .build()
    ;(initial[0] as { x: number }).x = 2
    initial.push({ x: 3 })
    expect((await built.run(null as never)).state).toEqual({ list: [{ x: 1 }], facts: { a: { b: 1 } } })
  })

  test("handlers of a fork, which shares its past with the run it comes from", async () => {
    const store = memoryStore()
    const one = node("one", order)
    const two = node("two", (input: Order) => {
      tamper(input)
      return input
    })
    const built = workflow("w").chain(one, two).build()
    const run = built.run(null as never, { store })
    const { outputs } = await run
    const forked = await fork(store, run.id, { at: { superstep: 1 } })
    expect((await built.resume(forked, { store })).outputs).toEqual(outputs)
    expect(foldJournal(built, await store.read(run.id, 0)).outputs).toEqual(outputs)
  })
})

describe("lists that the engine puts together are frozen too:", () => {
  const start = node("start", (n: number) => n)
  const [a, b] = ["a", "b"].map((id) =>
    node(id, (n: number) => {
      if (n < 0) throw new Error("negative")
      return { n }
    }),
  ) as unknown as [typeof start, typeof start]
  const gathers = node("gathers", (list: Json) => {
    const { refused, changed } = tamper(list)
    return changed.length === 0 ? refused : changed
  })

  test("those of joins", async () => {
    const join = workflow("w")
      .start(start)
      .fanOut(start, [a, b])
      .fanIn([a, b], gathers as never)
    expect((await join.build().run(1)).outputs[0]).toBeGreaterThan(3)
    const settles = workflow("w")
      .start(start)
      .fanOut(start, [a, b])
      .fanIn([a, b], gathers as never, { join: settle() })
    for (const n of [1, -1]) expect((await settles.build().run(n)).outputs[0]).toBeGreaterThan(3)
  })

  test("those of maps", async () => {
    const lists = node("lists", () => [1, 2])
    const built = workflow("w")
      .start(lists)
      .map(lists, a, gathers as never)
      .build()
    expect((await built.run(null as never)).outputs[0]).toBeGreaterThan(3)
  })

  test("failures, and the notice of a limit", async () => {
    const fails = node("fails", () => {
      throw new Error("no", { cause: new Error("why") })
    })
    const onError = workflow("w")
      .start(fails)
      .onError(fails, gathers as never)
      .build()
    expect((await onError.run(null as never)).outputs[0]).toBeGreaterThan(3)
    const loops = node("loops", () => 1)
    const limited = workflow("w", { limits: { supersteps: 2 } })
      .start(loops)
      .edge(loops, loops, { when: () => true })
      .onLimit(gathers as never)
      .build()
    expect((await limited.run(null as never).result).outputs[0]).toBeGreaterThan(1)
  })
})

describe("a live value is what the journal gives back (V3):", () => {
  test("a step gives the first time what it gives after a resume", async () => {
    const returned: unknown[] = []
    const steps = node("steps", async (_: null, ctx: Context) => {
      returned.push(await ctx.step("odd", () => ({ kept: 1, dropped: undefined, zero: -0, own: [] })))
      await ctx.ask("well?")
      return 1
    })
    const built = workflow("w").start(steps).build()
    const store = memoryStore()
    const run = built.run(null, { store })
    await run
    const again = built.resume(run.id, { store, takeOver: true })
    await again
    expect(returned).toStrictEqual([
      { kept: 1, zero: 0, own: [] },
      { kept: 1, zero: 0, own: [] },
    ])
  })

  test("a message has no properties that are undefined", async () => {
    const has = node("has", (message: object) => Object.keys(message))
    const from = node("from", () => ({ a: undefined, b: 1 }))
    expect(
      (
        await workflow("w")
          .chain(from, has)
          .build()
          .run(null as never)
      ).outputs,
    ).toEqual([["b"]])
  })
})

describe("a value that is passed on is not copied (V2):", () => {
  test("the same object reaches every node, however deep it is wrapped", async () => {
    const seen: object[] = []
    const first = node("first", () => ({ big: { list: [1, 2, 3] } }))
    const wraps = node("wraps", (message: { big: object }) => {
      seen.push(message.big)
      return { big: message.big, again: [message.big] }
    })
    const last = node("last", (message: { big: object; again: object[] }) => {
      seen.push(message.big, message.again[0] as object)
    })
    await workflow("w")
      .chain(first, wraps, last)
      .build()
      .run(null as never)
    expect(new Set(seen).size).toBe(1)
  })

  test("its size counts where it is put into something larger, and its depth", async () => {
    const grows = node("grows", (message: Json) => [message, message])
    const grow = (limits: { valueBytes?: number; supersteps: number }) =>
      workflow("w", { limits })
        .start(grows)
        .edge(grows, grows, { when: () => true })
        .build()
        .run("x".repeat(100)).result
    expect((await grow({ valueBytes: 10_000, supersteps: 100 })).error).toMatchObject({
      code: "VALUE_TOO_LARGE",
    })
    const nests = node("nests", (message: Json) => [message])
    const { error } = await workflow("w", { limits: { supersteps: 1_000 } })
      .start(nests)
      .edge(nests, nests, { when: () => true })
      .build()
      .run(1).result
    expect(error?.message).toMatch(/nested deeper than 500/)
  })
})
