import { describe, expect, test } from "vitest"
import { jsonProblem, jsonSize, ownJson } from "./own-json.ts"

class Point {
  x = 1
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = [value]
  return value
}

describe("plain data may enter the journal", () => {
  test.each<[string, unknown]>([
    ["null", null],
    ["a string", "text"],
    ["an empty string", ""],
    ["a number", -0.5],
    ["a boolean", false],
    ["an empty list", []],
    ["an empty object", {}],
    ["a mixed tree", { a: [1, "b", null, { c: true }] }],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
    ["a property that is undefined, which JSON leaves out", { a: undefined }],
    ["the same object in two places", ((one) => [one, one])({ a: 1 })],
    ["keys that are names of Object's own", { constructor: 1, hasOwnProperty: 2, toString: "x" }],
    ["data nested 500 deep", nested(500)],
  ])("%s", (_, value) => {
    expect(jsonProblem(value)).toBeUndefined()
  })
})

describe("what JSON cannot hold is refused, with the reason", () => {
  test.each<[string, unknown, RegExp]>([
    ["undefined", undefined, /undefined/],
    ["NaN", Number.NaN, /NaN/],
    ["Infinity", Number.NEGATIVE_INFINITY, /Infinity/],
    ["a BigInt", 10n, /bigint/],
    ["a function", () => 1, /function/],
    ["a symbol", Symbol("s"), /symbol/],
    ["a Date", new Date(0), /Date/],
    ["a Map", new Map(), /Map/],
    ["a Set", new Set(), /Set/],
    ["a typed array", new Uint8Array(1), /Uint8Array/],
    ["an Error", new Error("e"), /Error/],
    ["an instance of a class", new Point(), /Point/],
    ["a promise", Promise.resolve(1), /Promise/],
    ["a hole in a list", Array(2), /undefined/],
    ["data nested 501 deep", nested(501), /deeper than 500/],
  ])("%s", (_, value, reason) => {
    expect(jsonProblem(value)?.reason).toMatch(reason)
    expect(jsonProblem({ in: { a: [value] } })?.reason).toMatch(reason)
  })

  test("a value that contains itself", () => {
    const list: unknown[] = [1]
    list.push(list)
    expect(jsonProblem(list)?.reason).toMatch(/cyclic/)
    const a: Record<string, unknown> = {}
    a.b = { c: [{ a }] }
    expect(jsonProblem(a)).toMatchObject({ path: "b.c[0].a", reason: expect.stringMatching(/cyclic/) })
  })

  test("a key __proto__, which would not come back as it was", () => {
    const hostile = JSON.parse('{"a": {"__proto__": {"admin": true}}}')
    expect(jsonProblem(hostile)).toMatchObject({ path: "a.__proto__" })
    expect(jsonProblem(JSON.parse('{"__proto__": "text"}'))?.reason).toMatch(/not allowed/)
    expect(jsonProblem(JSON.parse('{"__proto__": null}'))?.reason).toMatch(/not allowed/)
  })
})

describe("the place of a problem", () => {
  test("is the path to it", () => {
    expect(jsonProblem({ items: [{}, { "first name": { x: 1n } }] })?.path).toBe('items[1]["first name"].x')
  })

  test("is empty for the value itself", () => {
    expect(jsonProblem(1n)?.path).toBe("")
  })

  test("is that of the first problem", () => {
    expect(jsonProblem({ a: 1, b: 1n, c: 2n })?.path).toBe("b")
  })

  test("is cut where it would be endless", () => {
    const loop: Record<string, unknown> = {}
    loop.again = loop
    expect(jsonProblem(loop)?.path.length).toBeLessThan(250)
  })
})

describe("the size of a value", () => {
  test.each<[string, unknown]>([
    ["a string", "x".repeat(100)],
    ["a list of texts", ["ab", "cd", "ef"]],
    ["a list of lists", [[], [[]], [[], []]]],
    ["numbers", [1, 22, 3333, -5]],
    ["a record", { one: 1, two: [true, null], three: { four: "4" } }],
    ["the same list in several places", ((one) => [one, one, { one }])(["abc", 1])],
  ])("is about the length of its JSON: %s", (_, value) => {
    const { length } = JSON.stringify(value)
    expect(jsonProblem(value, length + 10)).toBeUndefined()
    expect(jsonProblem(value, Math.floor(length * 0.8))).toMatchObject({
      path: "",
      tooLarge: expect.any(Number),
    })
  })

  test("is counted no further than to the limit", () => {
    let looked = 0
    const list = Array.from({ length: 1_000 }, () => ({
      get item() {
        looked++
        return "x".repeat(100)
      },
    }))
    expect(jsonProblem(list, 2_500)?.tooLarge).toBeGreaterThan(2_500)
    expect(looked).toBeLessThan(30)
  })

  test("of data that is endless as JSON is found at once", () => {
    let value: unknown = "x"
    for (let i = 0; i < 200; i++) value = { a: value, b: value }
    expect(jsonProblem(value, 10_000)?.tooLarge).toBeGreaterThan(10_000)
  })

  test("is no matter where something else is wrong before", () => {
    expect(jsonProblem([1n, "x".repeat(100)], 50)).toEqual({
      path: "[0]",
      reason: expect.stringMatching(/bigint/),
    })
  })
})

test("the size of plain data is about the length of its JSON, whether a run owns it or not", () => {
  const value = {
    text: "a sentence without characters that need an escape",
    list: [1, 22, 4_444, true, null, { nested: ["x".repeat(1_000), { deep: [] }] }],
    empty: {},
  }
  const { length } = JSON.stringify(value)
  const owned = ownJson(value, 10_000, () => new Error("too large"))
  for (const size of [jsonSize(value), jsonSize(owned), jsonSize([owned])]) {
    expect(size).toBeGreaterThan(length * 0.9)
    expect(size).toBeLessThan(length * 1.1)
  }
})
