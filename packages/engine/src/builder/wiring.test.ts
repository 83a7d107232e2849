import { describe, expect, expectTypeOf, test } from "vitest"
import { z } from "zod"
import type { Settled } from "../core/index.ts"
import { type Failure, type LimitNotice, node, on, workflow } from "./index.ts"
import { any, type Node, quorum, settle } from "./wiring.ts"

// The compiler is the judge here: a line marked with @ts-expect-error that compiles fails the type check.

const toText = node("toText", (n: number) => String(n))
const length = node("length", (text: string) => text.length)
const invert = node("invert", (flag: boolean) => !flag)
const list = node("list", (n: number) => Array.from({ length: n }, (_, i) => i))
const sum = node("sum", (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0))

describe("what a node takes and gives follows from its handler", () => {
  test("a function, plain or asynchronous", () => {
    expectTypeOf(toText).toEqualTypeOf<Node<number, string>>()
    expectTypeOf(node("x", async (n: number) => ({ n }))).toEqualTypeOf<Node<number, { n: number }>>()
  })

  test("a handler that may return nothing sends nothing then", () => {
    const some = node("some", (n: number) => (n > 1 ? n : undefined))
    expectTypeOf(some).toEqualTypeOf<Node<number, number>>()
    expectTypeOf(node("none", (_: number) => undefined)).toEqualTypeOf<Node<number, never>>()
  })

  test("a schema", () => {
    const parsed = node({ id: "parsed", input: z.object({ a: z.number() }), run: ({ a }) => a })
    expectTypeOf(parsed).toEqualTypeOf<Node<{ a: number }, number>>()
  })

  test("several handlers", () => {
    const handlers = [on(z.string(), (text) => text.length), on(z.number(), (n) => n > 1)] as const
    const several = node({ id: "several", handlers })
    expectTypeOf(several).toEqualTypeOf<Node<string | number, number | boolean>>()
  })

  test("a node that settles gives a value or an error", () => {
    const risky = node({ id: "risky", onError: "settle", run: (n: number) => String(n) })
    expectTypeOf(risky).toEqualTypeOf<Node<number, Settled<string>>>()
  })

  test("the output schema must fit what the handler returns", () => {
    node({ id: "ok", output: z.string(), run: (n: number) => String(n) })
    // @ts-expect-error the schema says number, the handler returns a string
    node({ id: "wrong", output: z.number(), run: (n: number) => String(n) })
  })

  test("the answer's handler takes what the answer's schema gives", () => {
    node({ id: "ok", run: () => 1, answer: z.string(), onAnswer: (text) => text.length })
    // @ts-expect-error the schema gives a string
    node({ id: "wrong", run: () => 1, answer: z.string(), onAnswer: (n: number) => n })
  })
})

describe("wrong wiring does not compile", () => {
  test("into a node with several handlers: one of them must take it", () => {
    const handlers = [on(z.string(), (text) => text.length), on(z.number(), (n) => n)] as const
    const several = node({ id: "several", handlers })
    workflow("w").chain(toText, several)
    workflow("w").edge(length, several)
    // @ts-expect-error neither takes a boolean
    workflow("w").edge(invert, several)
  })

  test("edge", () => {
    workflow("w").start(toText).edge(toText, length)
    // @ts-expect-error a string is sent, a boolean is taken
    workflow("w").start(toText).edge(toText, invert)
    // @ts-expect-error the condition gets a string
    workflow("w").edge(toText, length, { when: (n: number) => n > 1 })
  })

  test("a node that takes more than it is given is right, one that takes less is not", () => {
    const wide = node("wide", (value: string | number) => value)
    workflow("w").edge(toText, wide)
    // @ts-expect-error a number may come too
    workflow("w").edge(wide, length)
  })

  test("chain, at its second and its fourth element", () => {
    workflow("w").chain(toText, length, toText, length)
    // @ts-expect-error the second takes a boolean
    workflow("w").chain(toText, invert)
    // @ts-expect-error the fourth takes a boolean
    workflow("w").chain(toText, length, toText, invert)
  })

  test("fanOut", () => {
    workflow("w").fanOut(toText, [length, node("also", (text: string) => text)])
    // @ts-expect-error one of the targets takes a boolean
    workflow("w").fanOut(toText, [length, invert])
    // @ts-expect-error the selection gets a string
    workflow("w").fanOut(toText, [length], { select: (n: number) => [String(n)] })
  })

  test("fanIn: the target takes the list of what the sources give, in their order", () => {
    const both = node("both", ([text, n]: readonly [string, number]) => text.length + n)
    const swapped = node("swapped", ([n, text]: readonly [number, string]) => text.length + n)
    const mixed = node("mixed", (values: readonly (string | number)[]) => values.length)
    workflow("w").fanIn([toText, length], both)
    workflow("w").fanIn([toText, length], mixed)
    // @ts-expect-error the list has the string first
    workflow("w").fanIn([toText, length], swapped)
    // @ts-expect-error a list is given
    workflow("w").fanIn([toText, length], length)
  })

  test("fanIn: the policy decides which list it is", () => {
    const both = node("both", ([text, n]: readonly [string, number]) => text.length + n)
    const some = node("some", (values: readonly (string | number)[]) => values.length)
    const settled = node("settled", (values: readonly [Settled<string>, Settled<number>]) => values.length)
    workflow("w").fanIn([toText, length], some, { join: any() })
    workflow("w").fanIn([toText, length], some, { join: quorum(1) })
    workflow("w").fanIn([toText, length], settled, { join: settle() })
    // @ts-expect-error with any, one of the two may be missing
    workflow("w").fanIn([toText, length], both, { join: any() })
    // @ts-expect-error with settle, each is a value or an error
    workflow("w").fanIn([toText, length], both, { join: settle() })
    // @ts-expect-error without settle, nothing is wrapped
    workflow("w").fanIn([toText, length], settled)
  })

  test("switch", () => {
    const other = node("other", (text: string) => text)
    workflow("w").switch(toText, [{ when: (text) => text === "", to: length }], other)
    // @ts-expect-error the case leads to a node that takes a boolean
    workflow("w").switch(toText, [{ when: () => true, to: invert }], other)
    // @ts-expect-error the default takes a boolean
    workflow("w").switch(toText, [{ when: () => true, to: length }], invert)
    // @ts-expect-error the condition gets a string
    workflow("w").switch(toText, [{ when: (n: number) => n > 1, to: length }], other)
  })

  test("map", () => {
    const half = node("half", (n: number) => n / 2)
    workflow("w").map(list, half, sum)
    workflow("w").map(list, half)
    // @ts-expect-error the worker takes a string, the items are numbers
    workflow("w").map(list, length, sum)
    // @ts-expect-error what the worker gives is not what the target takes
    workflow("w").map(list, toText, sum)
    // @ts-expect-error the source gives no list
    workflow("w").map(toText, half, sum)
    // @ts-expect-error with settle the target gets values and errors
    workflow("w").map(list, half, sum, { settle: true })
  })

  test("loop", () => {
    const next = node("next", (n: number) => n + 1)
    const done = node("done", (n: number) => n)
    workflow("w").loop(next, next, { while: (n) => n < 5, max: 9, exit: done })
    // @ts-expect-error the loop leads back to a node that takes a string
    workflow("w").loop(next, length, { max: 2 })
    // @ts-expect-error the exit takes a string
    workflow("w").loop(next, next, { max: 2, exit: length })
    // @ts-expect-error the condition gets a number
    workflow("w").loop(next, next, { until: (text: string) => text === "" })
  })

  test("onError and onLimit", () => {
    workflow("w").onError(
      toText,
      node("caught", ({ error }: Failure) => error.code),
    )
    workflow("w").onLimit(node("late", ({ code }: LimitNotice) => code))
    // @ts-expect-error a failure is sent, a string is taken
    workflow("w").onError(toText, length)
    // @ts-expect-error a notice is sent, a string is taken
    workflow("w").onLimit(length)
  })

  test("the input of a run", () => {
    const built = workflow("w").chain(toText, length).build()
    const typed = () => built.run(5)
    // @ts-expect-error the start node takes a number
    const wrong = () => built.run("five")
    // @ts-expect-error and so does its stream
    const alsoWrong = () => built.stream("five")
    expect([typed, wrong, alsoWrong]).toHaveLength(3)
  })
})

describe("the outputs of a run have the types of the nodes that give them", () => {
  test("the last of a chain", async () => {
    const { outputs } = await workflow("w").chain(toText, length).build().run(12_345)
    expectTypeOf(outputs).toEqualTypeOf<number[]>()
    expect(outputs).toEqual([5])
  })

  test("a single node", async () => {
    const { outputs } = await workflow("w").start(toText).build().run(7)
    expectTypeOf(outputs).toEqualTypeOf<string[]>()
    expect(outputs).toEqual(["7"])
  })

  test("a node that settles", async () => {
    const risky = node({ id: "risky", onError: "settle", run: (n: number) => String(n) })
    const { outputs } = await workflow("w").start(risky).build().run(7)
    expectTypeOf(outputs).toEqualTypeOf<Settled<string>[]>()
    expect(outputs).toEqual([{ ok: true, value: "7" }])
  })

  test("a map without a target", async () => {
    const { outputs } = await workflow("w").start(list).map(list, toText).build().run(3)
    expectTypeOf(outputs).toEqualTypeOf<(readonly string[])[]>()
    expect(outputs).toEqual([["0", "1", "2"]])
  })

  test("a map with a target", async () => {
    const half = node("half", (n: number) => n / 2)
    const { outputs } = await workflow("w").start(list).map(list, half, sum).build().run(3)
    expectTypeOf(outputs).toEqualTypeOf<number[]>()
    expect(outputs).toEqual([1.5])
  })

  test("a sub-workflow", async () => {
    const inner = workflow("inner").chain(toText, length).build()
    const asNode = inner.asNode()
    expectTypeOf(asNode).toEqualTypeOf<Node<number, number>>()
    const { outputs } = await workflow("w")
      .chain(
        asNode,
        node("twice", (n: number) => n * 2),
      )
      .build()
      .run(123)
    expectTypeOf(outputs).toEqualTypeOf<number[]>()
    expect(outputs).toEqual([6])
  })

  test("only those that .output names", async () => {
    const built = workflow("w").chain(toText, length).output(toText).build()
    const { outputs } = await built.run(1)
    expectTypeOf(outputs).toEqualTypeOf<string[]>()
    expect(outputs).toEqual(["1"])
  })
})

describe("where types are lost, the build finds it", () => {
  const textOut = node({ id: "textOut", input: z.number(), output: z.string(), run: (n) => String(n) })
  const numberIn = node({ id: "numberIn", input: z.number(), run: (n) => n })
  const numbersIn = node({ id: "numbersIn", input: z.array(z.number()), run: (all) => all.length })
  const lost = numberIn as unknown as Node<string, number>
  const lostList = numbersIn as unknown as Node<readonly string[], number>
  const other = node("other", (_: string) => "other")

  test.each([
    ["edge", () => workflow("w").start(textOut).edge(textOut, lost), "numberIn"],
    ["chain", () => workflow("w").chain(textOut, lost), "numberIn"],
    ["fanOut", () => workflow("w").start(textOut).fanOut(textOut, [other, lost]), "numberIn"],
    [
      "switch",
      () =>
        workflow("w")
          .start(textOut)
          .switch(textOut, [{ when: () => true, to: lost }], other),
      "numberIn",
    ],
    ["loop", () => workflow("w").start(textOut).loop(textOut, other, { max: 1, exit: lost }), "numberIn"],
    ["fanIn", () => workflow("w").chain(textOut, other).fanIn([textOut, other], lostList), "numbersIn"],
  ])("%s: the problem names both nodes", (_, make, to) => {
    expect(() => make().build()).toThrow(
      expect.objectContaining({
        code: "GRAPH_INVALID",
        message: expect.stringMatching(`INCOMPATIBLE_SCHEMAS: "textOut" cannot feed "${to}"`),
      }),
    )
  })

  test("right wiring with schemas on both sides is built and runs", async () => {
    const textIn = node({ id: "textIn", input: z.string(), run: (text) => text.length })
    expect((await workflow("w").chain(textOut, textIn).build().run(100)).outputs).toEqual([3])
  })
})
