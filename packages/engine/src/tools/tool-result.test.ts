import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { cutToSize, toJson } from "./call-tool.ts"

describe("a result as plain data", () => {
  test("is unchanged if it is already plain", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as unknown
        fc.pre(!JSON.stringify(plain).includes("__proto__"))
        expect(toJson(plain, "t")).toBe(plain)
      }),
      { numRuns: 50 },
    )
  })

  test("has the same content in plain data", () => {
    class Place {
      readonly name = "Oslo"
    }
    const value = {
      at: new Date(0),
      big: 10n,
      map: new Map([["a", 1]]),
      set: new Set([1, 2]),
      place: new Place(),
      bytes: Buffer.from("hi"),
      raw: new Uint8Array([104, 105]),
      list: [undefined, () => 1, Number.NaN],
      skip: () => 1,
      error: new TypeError("no"),
    }
    expect(toJson(value, "t")).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      big: "10",
      map: { a: 1 },
      set: [1, 2],
      place: { name: "Oslo" },
      bytes: "aGk=",
      raw: "aGk=",
      list: [null, null, null],
      error: { name: "TypeError", message: "no" },
    })
    expect(toJson(() => 1, "t")).toBeNull()
    expect(toJson(Symbol("x"), "t")).toBeNull()
    expect(toJson(Buffer.from("hi"), "t")).toBe("aGk=")
  })

  test("does not contain a key that would change other objects", () => {
    const value: unknown = JSON.parse('{ "a": { "__proto__": { "admin": true }, "b": 1 } }')
    expect(toJson(value, "t")).toEqual({ a: { b: 1 } })
    expect(toJson(new Map([["__proto__", { admin: true }]]), "t")).toEqual({})
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  test("is rejected with the problem if it cannot be converted", () => {
    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    const throwing = {
      get a() {
        throw new Error("not now")
      },
      b: () => 1,
    }
    let deep: unknown = 1
    for (let level = 0; level < 5_000; level++) deep = [deep]
    for (const value of [cyclic, throwing, deep]) {
      expect(() => toJson(value, "t")).toThrow(expect.objectContaining({ code: "TOOL_RESULT_INVALID" }))
    }
  })
})

describe("a result that would not fit in memory as JSON", () => {
  const endless = () => {
    let value: unknown = ["x"]
    for (let i = 0; i < 40; i++) value = [value, value]
    return value
  }

  test.each<[string, () => unknown]>([
    ["plain data", endless],
    ["beside data that is not plain", () => ({ at: new Date(0), list: endless() })],
    ["in a map", () => new Map([["list", endless()]])],
  ])("is rejected and not retried: %s", (_, value) => {
    expect(() => toJson(value(), "t")).toThrow(
      expect.objectContaining({
        code: "VALUE_TOO_LARGE",
        retryable: false,
        message: expect.stringMatching(/^Tool "t" ran, but its result is too large/),
      }),
    )
  })

  test("is cut if it is one string", () => {
    const text = "x".repeat(40_000_000)
    expect(cutToSize(toJson(text, "t"), 10)).toMatchObject({ cut: { shown: 10, of: 40_000_000 } })
  })
})

describe("a result that is too long", () => {
  test("is cut, with a notice", () => {
    expect(cutToSize("abcdef", 6)).toEqual({ value: "abcdef" })
    expect(cutToSize("abcdef", 3)).toEqual({
      value: "abc\n… [cut: the first 3 of 6 characters; ask for less to see the rest]",
      cut: { shown: 3, of: 6 },
    })
    expect(cutToSize(["abcdef"], 4)).toMatchObject({
      value: expect.stringMatching(/^\["ab\n/),
      cut: { of: 10 },
    })
    expect(cutToSize({ a: 1 }, 7)).toEqual({ value: { a: 1 } })
  })

  test("is not cut within a character", () => {
    expect(cutToSize("ab😀", 3)).toMatchObject({ value: expect.stringMatching(/^ab\n/), cut: { shown: 2 } })
  })
})
