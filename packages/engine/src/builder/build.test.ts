import { describe, expect, test } from "vitest"
import { append, channel, GraphInvalidError, replace } from "../index.ts"
import { node, on, workflow } from "./index.ts"

const a = node("a", (n: number) => n + 1)
const b = node("b", (n: number) => n * 2)
const c = node("c", (n: number) => n - 3)

describe("a node", () => {
  test.each<[string, () => unknown]>([
    ["no handler", () => node("x", undefined as never)],
    ["a handler that is no function", () => node("x", "run" as never)],
    ["no id", () => node({ run: () => 1 } as never)],
    ["an id that is no text", () => node(5 as never, () => 1)],
    ["an empty list of handlers", () => node({ id: "x", handlers: [] })],
    ["a list with something else in it", () => node({ id: "x", handlers: [{ schema: undefined }] as never })],
  ])("with %s is refused at once", (_, make) => {
    expect(make).toThrow(expect.objectContaining({ code: "NODE_INVALID" }))
  })

  test("cannot be changed after it is made", () => {
    expect(Object.isFrozen(a)).toBe(true)
    expect(Object.isFrozen(a.definition)).toBe(true)
  })

  test("may be used in any number of workflows, and any number of times in one", async () => {
    const one = workflow("one").chain(a, b).build()
    const two = workflow("two").chain(b, a).build()
    const three = workflow("three").start(a).edge(a, b).edge(b, c).edge(a, c).build()
    expect((await one.run(1)).outputs).toEqual([4])
    expect((await two.run(1)).outputs).toEqual([3])
    expect((await three.run(1)).outputs).toEqual([-1, 1])
  })
})

describe("building", () => {
  test("lists every problem in one error, with the workflow's name and typed codes", () => {
    const stray = node("stray", () => 1)
    const twin = node("b", (n: number) => n)
    const broken = workflow("broken", { limits: { supersteps: 0 } })
      .start(a)
      .fanOut(a, [b])
      .edge(b, a)
      .edge(a, twin)
      .output(stray)
    let error: unknown
    try {
      broken.build()
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(GraphInvalidError)
    expect(error).toMatchObject({ code: "GRAPH_INVALID", message: expect.stringContaining('"broken"') })
    const codes = (error as GraphInvalidError).problems.map(({ code }) => code)
    expect(new Set(codes)).toEqual(
      new Set([
        "INVALID_NUMBER",
        "FAN_OUT_TOO_SMALL",
        "DUPLICATE_NODE",
        "DUPLICATE_EDGE",
        "UNREACHABLE_NODE",
        "CYCLE_WITHOUT_LIMIT",
      ]),
    )
  })

  test("needs a start: the first of a chain is one, and one that is named goes before it", async () => {
    expect(() => workflow("w").edge(a, b).build()).toThrow("START_MISSING")
    expect((await workflow("w").chain(a, b).build().run(1)).outputs).toEqual([4])
    const named = workflow("w").start(a).chain(b, c).edge(a, b).build()
    expect((await named.run(1)).outputs).toEqual([1])
  })

  test("takes an empty workflow for one without a start", () => {
    expect(() => workflow("w").build()).toThrow("START_MISSING")
    expect(() => workflow(" ").start(a).build()).toThrow("EMPTY_ID")
    expect(() =>
      workflow("w")
        .start(node("", () => 1))
        .build(),
    ).toThrow("EMPTY_ID")
  })

  test("keeps warnings apart: the workflow is built and has them", () => {
    const built = workflow("w").start(a).edge(a, a, { max: 2 }).edge(a, b).edge(a, c).output(c).build()
    expect(built.warnings.map(({ code }) => code)).toEqual(["SELF_LOOP", "DEAD_END"])
    expect(workflow("w").chain(a, b).build().warnings).toEqual([])
  })

  test("refuses what types would have refused", () => {
    const schedule = "sideways" as never
    expect(() => workflow("w", { schedule }).start(a).build()).toThrow(/sideways/)
    const map = channel("map", replace<unknown>(new Map()))
    expect(() =>
      workflow("w", { state: [map] })
        .start(a)
        .build(),
    ).toThrow(/"map".*Map/)
  })

  test("refuses two different nodes under one id, also two copies of a sub-workflow", () => {
    const inner = workflow("inner").start(a).build()
    const [one, two] = [inner.asNode(), inner.asNode()]
    expect(() => workflow("w").start(b).fanOut(b, [one, two]).build()).toThrow("DUPLICATE_NODE")
    const apart = [inner.asNode({ id: "one" }), inner.asNode({ id: "two" })]
    expect(workflow("w").start(b).fanOut(b, apart).build().program.graph.nodes).toHaveLength(3)
  })
})

describe("a workflow that is built", () => {
  test("cannot be changed", () => {
    const built = workflow("w", { description: "what it does" }).chain(a, b).build()
    expect(built).toMatchObject({ name: "w", description: "what it does" })
    expect(Object.isFrozen(built)).toBe(true)
    expect(Object.isFrozen(built.program.graph)).toBe(true)
    expect(() => (built.program.graph.spec.edges as unknown[]).push({})).toThrow(TypeError)
  })

  test("stays as it is when its builder changes", async () => {
    const builder = workflow("w").chain(a, b)
    const first = builder.build()
    const second = builder.edge(b, c).build()
    expect((await first.run(1)).outputs).toEqual([4])
    expect((await second.run(1)).outputs).toEqual([1])
  })

  test("does not freeze what belongs to its author", () => {
    const [initial, on] = [[1], ["RATE_LIMIT"]]
    const options = { state: [channel("list", append(initial))], limits: { supersteps: 5 } }
    const retry = { attempts: 2, on }
    const retried = node({ id: "retried", retry, run: (n: number) => n })
    workflow("w", options).start(retried).build()
    for (const mine of [initial, on, options, options.state, options.limits, retry]) {
      expect(Object.isFrozen(mine)).toBe(false)
    }
  })

  test("does not see later changes of what its author gave it", async () => {
    const initial = [1]
    const limits = { supersteps: 5 }
    const list = channel("list", append(initial))
    const built = workflow("w", { state: [list], limits })
      .chain(a, b)
      .build()
    initial.push(2)
    limits.supersteps = 1
    expect(await built.run(1)).toMatchObject({ status: "completed", state: { list: [1] } })
  })

  test("is a node under its own name, or another", () => {
    const built = workflow("w").start(a).build()
    expect(built.asNode().id).toBe("w")
    expect(built.asNode({ id: "other" }).id).toBe("other")
  })
})

test("a node may have any id that is not blank", async () => {
  const ids = [
    "__proto__",
    "constructor",
    "a/b",
    "a:b",
    "a+b",
    "=>",
    "r1",
    "#1",
    "ünï cödé",
    '"quoted"',
    "a\nb",
  ]
  for (const id of ids) {
    const odd = node(id, (n: number) => n + 1)
    const [left, right] = [node(`${id} left`, (n: number) => n), node(`${id} right`, (n: number) => n)]
    const join = node(`${id} join`, (pair: readonly number[]) => pair)
    const built = workflow(id).start(odd).fanOut(odd, [left, right]).fanIn([left, right], join).build()
    const outer = workflow(`outer ${id}`).start(built.asNode()).build()
    expect((await outer.run(1)).outputs).toEqual([[2, 2]])
  }
})

test("a handler may be any Standard Schema's", async () => {
  const isText = {
    "~standard": {
      version: 1,
      vendor: "hand-made",
      validate: (value: unknown) =>
        typeof value === "string"
          ? { value }
          : { issues: [{ message: "not text", path: [{ key: "a" }, 0] }] },
    },
  } as const
  const takes = node({ id: "takes", handlers: [on(isText, (text) => text.length)] })
  const built = workflow("w").start(takes).build()
  expect((await built.run("abc")).outputs).toEqual([3])
  await expect(built.run(5 as never)).rejects.toThrow(/a\.0: not text/)
})
