/** What the compiler refuses as a message, an input, an output or state, and what it knows of a run's state. */
import { describe, expect, expectTypeOf, test } from "vitest"
import { z } from "zod"
import {
  add,
  append,
  type Channel,
  type Context,
  channel,
  type Json,
  memoryStore,
  merge,
  type RunResult,
  Runtime,
  replace,
} from "../index.ts"
import type { NotJson, ProblemOf } from "../runtime/ports/channel.ts"
import { node, on, workflow } from "./index.ts"
import type { NotBuilt } from "./wiring.ts"

// The compiler is the judge here: a line marked with @ts-expect-error that compiles fails the type check.

class Account {
  #balance = 0
  readonly owner = "Ada"
  get isEmpty() {
    return this.#balance === 0
  }
}
class Visitor {
  readonly name = "Bo"
  greet() {
    return `Hello, ${this.name}`
  }
}
interface Order {
  readonly id: string
  readonly lines: readonly Line[]
  readonly note?: string
  readonly gift?: boolean | undefined
}
interface Line {
  readonly sku: string
  readonly count: number
}
interface Tree {
  readonly value: number
  readonly children: readonly Tree[]
}

describe("the reason says where and what", () => {
  test("for what is not JSON", () => {
    expectTypeOf<ProblemOf<Date>>().toEqualTypeOf<"this is a Date, which is not JSON: use toISOString()">()
    expectTypeOf<
      ProblemOf<{ a: { at: Date } }>
    >().toEqualTypeOf<"a.at is a Date, which is not JSON: use toISOString()">()
    expectTypeOf<
      ProblemOf<{ users: readonly { ids: Set<string> }[] }>
    >().toEqualTypeOf<"users[].ids is a Set, which is not JSON: use [...set]">()
    expectTypeOf<
      ProblemOf<string | Map<string, number>>
    >().toEqualTypeOf<"this is a Map, which is not JSON: use Object.fromEntries(map)">()
    expectTypeOf<
      ProblemOf<{ n?: bigint }>
    >().toEqualTypeOf<"n is a bigint, which is not JSON: use a string">()
    expectTypeOf<ProblemOf<Visitor>>().toEqualTypeOf<"greet is a function, which is not JSON">()
    expectTypeOf<
      ProblemOf<{ account: Account }>
    >().toEqualTypeOf<"account is an instance of a class, which is not JSON: use a plain object">()
    expectTypeOf<ProblemOf<[Error]>>().toEqualTypeOf<"[] is an Error, which is not JSON: use its message">()
    expectTypeOf<
      ProblemOf<Uint8Array>
    >().toEqualTypeOf<"this is binary data, which is not JSON: use a base64 string">()
  })

  test("and there is none for JSON, however it is declared", () => {
    expectTypeOf<ProblemOf<Order>>().toEqualTypeOf<never>()
    expectTypeOf<ProblemOf<Tree>>().toEqualTypeOf<never>()
    expectTypeOf<ProblemOf<Json>>().toEqualTypeOf<never>()
    expectTypeOf<ProblemOf<RunResult["state"]>>().toEqualTypeOf<never>()
    expectTypeOf<ProblemOf<string | Order | null | readonly Line[]>>().toEqualTypeOf<never>()
    expectTypeOf<ProblemOf<Record<string, Order>>>().toEqualTypeOf<never>()
    expectTypeOf<ProblemOf<Partial<Order>>>().toEqualTypeOf<never>()
    // biome-ignore lint/suspicious/noExplicitAny: what has no type is checked at run time.
    expectTypeOf<ProblemOf<any>>().toEqualTypeOf<never>()
    expectTypeOf<ProblemOf<unknown>>().toEqualTypeOf<never>()
    expectTypeOf<ProblemOf<{ data: unknown }>>().toEqualTypeOf<never>()
    expectTypeOf<ProblemOf<undefined>>().toEqualTypeOf<never>()
    const order = z.object({ id: z.string(), at: z.iso.datetime().optional(), kind: z.enum(["a", "b"]) })
    expectTypeOf<ProblemOf<z.infer<typeof order>>>().toEqualTypeOf<never>()
  })
})

describe("what is not JSON does not compile", () => {
  test("as what a handler returns", () => {
    // @ts-expect-error a Date
    node("x", () => new Date())
    // @ts-expect-error a Date in an object
    node("x", (n: number) => ({ n, at: new Date() }))
    // @ts-expect-error a Map, later
    node("x", async (n: number) => new Map([[n, n]]))
    // @ts-expect-error a Set
    node({ id: "x", run: () => new Set([1]) })
    // @ts-expect-error a bigint, sometimes
    node("x", (n: number) => (n > 1 ? BigInt(n) : n))
    // @ts-expect-error a function
    node("x", () => () => 1)
    // @ts-expect-error an instance of a class with private fields
    node("x", () => new Account())
    // @ts-expect-error an instance of a class with methods
    node("x", () => [new Visitor()])
    // @ts-expect-error from one of several handlers
    on(z.string(), () => new Date())
    // @ts-expect-error from the handler of answers
    node({ id: "x", run: () => 1, onAnswer: () => new Date() })
  })

  test("as a message that a handler takes, and as the input of a workflow", () => {
    // @ts-expect-error nobody can send a Date
    node("x", (at: Date) => at.getTime())
    const dated = node({ id: "x", input: z.date(), run: (at) => at.getTime() })
    // @ts-expect-error the input would be a Date
    workflow("w").start(dated)
  })

  test("as what a handler sends or puts out", () => {
    node("x", (_: number, ctx) => {
      ctx.send({ a: [1, "2", null] })
      ctx.output([{ deep: { enough: true } }])
      // @ts-expect-error a Date
      ctx.send(new Date())
      // @ts-expect-error a Map
      ctx.output(new Map())
      // @ts-expect-error a Set
      ctx.output(new Set())
      // @ts-expect-error a bigint
      ctx.send(1n)
      // @ts-expect-error a function
      ctx.send(() => 1)
      // @ts-expect-error a promise that nobody awaited
      ctx.output(Promise.resolve(1))
    })
  })

  test("as state", () => {
    // @ts-expect-error a Date
    channel("at", replace(new Date()))
    // @ts-expect-error a list of Maps
    channel("maps", append<Map<string, number>>())
    // @ts-expect-error a record with a Set
    channel("record", merge({ ids: new Set<string>() }))
    channel("order", replace<Order>({ id: "1", lines: [] }))
  })

  test("while plain data does", () => {
    node("order", (order: Order) => order)
    node("tree", (tree: Tree) => tree.children)
    node("nothing", () => undefined)
    node("anything", (value: unknown) => value)
    node("typeless", (value) => value)
  })
})

describe("a handler that declares what it sends and puts out", () => {
  interface Email {
    readonly to: string
  }
  const post = node("post", ({ to }: Email) => to.length)
  const write = node("write", (names: readonly string[], ctx: Context<Email, Order>) => {
    for (const to of names) ctx.send({ to })
    ctx.output({ id: "1", lines: [] })
    // @ts-expect-error the edges take an Email
    ctx.send(5)
    // @ts-expect-error the outputs are Orders
    ctx.output("done")
  })

  test("is wired by that, and the outputs of the run have it", async () => {
    const flow = workflow("w").start(write).edge(write, post).build()
    const typed = () => flow.run(["ada"])
    expectTypeOf<Awaited<ReturnType<typeof typed>>["outputs"]>().toEqualTypeOf<(number | Order)[]>()
    const wrong = node("wrong", (n: number) => n)
    // @ts-expect-error an Email is sent, a number is taken
    workflow("w").edge(write, wrong)
    expect(typed).toBeTypeOf("function")
  })

  test("must declare JSON", () => {
    // @ts-expect-error a Date is declared
    node("x", (_: number, _ctx: Context<Date>) => 1)
  })

  test("may hand its context to code that knows nothing of it", () => {
    const tell = (ctx: Context) => ctx.log("info", "here")
    node("x", (_: number, ctx: Context<Email>) => tell(ctx))
  })
})

describe("the state of a result", () => {
  const total = channel("total", add())
  const names = channel("names", append<string>())
  const order = channel("order", replace<Order>())

  test("has the types of the channels", async () => {
    const count = node("count", (n: number, ctx) => {
      ctx.state.write(total, n)
      ctx.state.write(names, ["a"])
      return n
    })
    const flow = workflow("w", { state: [total, names, order] })
      .start(count)
      .build()
    const { state } = await flow.run(5)
    expectTypeOf(state).toEqualTypeOf<{
      readonly total: number
      readonly names: readonly string[]
      readonly order: Order | undefined
    }>()
    // @ts-expect-error there is no such channel
    expect(state.totals).toBeUndefined()
    expect(state.total).toBe(5)
    const store = memoryStore()
    await using runtime = new Runtime({ store, workflows: [flow] })
    const started = await runtime.start(flow, 5)
    expectTypeOf(started.state.names).toEqualTypeOf<readonly string[]>()
    expect(started.state.names).toEqual(["a"])
  })

  test("is any JSON where the channels are not known", async () => {
    const channels: readonly Channel[] = [total]
    const { state } = await workflow("w", { state: channels })
      .start(node("n", (n: number) => n))
      .build()
      .run(1)
    expectTypeOf(state.total).toEqualTypeOf<Json | undefined>()
    expect(state).toEqual({ total: 0 })
  })
})

describe("a builder that is not built", () => {
  const half = node("half", (n: number) => n / 2)

  test("says so where it is run", () => {
    const builder = workflow("halving").start(half)
    // @ts-expect-error it is not built
    const run = () => builder.run(4)
    expectTypeOf(builder.run).toEqualTypeOf<NotBuilt<"call .build() first">>()
    expect(run).toThrow(expect.objectContaining({ code: "NOT_BUILT" }))
    expect(run).toThrow('Workflow "halving" is not built, so it has no run(): call .build()')
  })

  test("says that it has no start", () => {
    const builder = workflow("empty")
    // @ts-expect-error it is not built, and has no start
    const run = () => builder.stream(4)
    expect(run).toThrow(/no stream\(\): give it a start with \.start\(node\) or \.chain/)
    // @ts-expect-error a workflow without a start takes nothing
    const built = () => builder.build().run(4)
    expect(built).toThrow("START_MISSING")
  })

  test.each(["resume", "asNode"] as const)("has no %s", (method) => {
    const call = workflow("w").start(half)[method] as unknown as () => void
    expect(call).toThrow(`Workflow "w" is not built, so it has no ${method}()`)
  })
})

describe("something else in place of a node", () => {
  const half = node("half", (n: number) => n / 2)
  const inner = workflow("inner").start(half).build()

  test("a workflow: asNode() is named", () => {
    // @ts-expect-error a workflow is no node
    expect(() => workflow("w").start(inner)).toThrow(
      'Workflow "w": expected a node, got workflow "inner": pass its .asNode().',
    )
    // @ts-expect-error a workflow is no node
    expect(() => workflow("w").start(half).edge(half, inner)).toThrow(".asNode()")
    // @ts-expect-error a workflow is no node
    expect(() => workflow("w").chain(half, inner)).toThrow(".asNode()")
    expect(() =>
      workflow("w")
        .start(half)
        .fanOut(half, [inner as never]),
    ).toThrow(".asNode()")
    expect(() => workflow("w").start(inner.asNode()).build()).not.toThrow()
  })

  test.each<[string, unknown, RegExp]>([
    ["a builder", workflow("v").start(half), /not built: call \.build\(\)\.asNode\(\)/],
    ["nothing", undefined, /got undefined: make one with node/],
    ["null", null, /got null/],
    ["a function", () => 1, /got function/],
  ])("%s", (_, given, message) => {
    const start = () => workflow("w").start(given as never)
    expect(start).toThrow(expect.objectContaining({ code: "NODE_INVALID" }))
    expect(start).toThrow(message)
  })
})

test("the type that refuses carries its reason", () => {
  expectTypeOf<NotJson<"why">>().not.toBeNever()
})
