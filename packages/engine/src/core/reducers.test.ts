import { describe, expect, test } from "vitest"
import type { Json } from "./json.ts"
import {
  type BuiltInReducer,
  canonicalJson,
  isBuiltInReducer,
  ownCopy,
  reduce,
  writeProblem,
} from "./reducers.ts"

function fold(reducer: BuiltInReducer, initial: Json | undefined, ...writes: Json[]): Json | undefined {
  return writes.reduce<Json | undefined>((current, write) => reduce(reducer, current, write), initial)
}

describe("the built-in reducers", () => {
  test("replace: the last write stays", () => {
    expect(fold("replace", 1, 2, null, "x")).toBe("x")
  })

  test("append: writes are added in order, duplicates too", () => {
    expect(fold("append", [1], [2, 3], [], [3])).toEqual([1, 2, 3, 3])
    expect(fold("append", undefined, ["a"])).toEqual(["a"])
  })

  test("append takes the items of the write, so that a list can be an item", () => {
    expect(fold("append", [], [[1, 2]])).toEqual([[1, 2]])
  })

  test("union: equal data is added once, whatever the order of its keys", () => {
    expect(fold("union", [{ a: 1, b: 2 }], [{ b: 2, a: 1 }, 1], ["1", 1])).toEqual([{ a: 1, b: 2 }, 1, "1"])
    expect(fold("union", undefined, [1, 1])).toEqual([1])
  })

  test("union keeps knowing what it holds over many writes", () => {
    let list: Json | undefined
    for (let i = 0; i < 1_000; i++) list = reduce("union", list, [i % 10])
    expect(list).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  test("merge: keys are set one by one, not deeply", () => {
    expect(fold("merge", { a: 1, b: { x: 1 } }, { b: { y: 2 } }, { c: 3 })).toEqual({
      a: 1,
      b: { y: 2 },
      c: 3,
    })
    expect(fold("merge", undefined, { a: 1 })).toEqual({ a: 1 })
  })

  test("add: a sum, from 0 where there was nothing", () => {
    expect(fold("add", 1, 2, -5)).toBe(-2)
    expect(fold("add", undefined, 4)).toBe(4)
  })

  test("what was written is not changed by later writes", () => {
    const write = [1]
    const state = fold("append", undefined, write, [2])
    expect(write).toEqual([1])
    expect(state).toEqual([1, 2])
  })
})

describe("a write that does not fit", () => {
  test.each<[string, Json]>([
    ["append", 1],
    ["append", { length: 1 }],
    ["union", "text"],
    ["merge", []],
    ["merge", null],
    ["add", "1"],
    ["add", null],
  ])("%s refuses %j", (reducer, write) => {
    expect(writeProblem(reducer, write)).toContain(`"${reducer}" needs`)
  })

  test.each<[string, Json]>([
    ["append", []],
    ["union", [1]],
    ["merge", {}],
    ["add", 0],
    ["replace", null],
    ["a reducer of one's own", [{}]],
  ])("%s takes %j", (reducer, write) => {
    expect(writeProblem(reducer, write)).toBeUndefined()
  })
})

test("five names are built in, and no others", () => {
  expect(["replace", "append", "merge", "add", "union"].every(isBuiltInReducer)).toBe(true)
  expect(["Append", "toString", "constructor", ""].some(isBuiltInReducer)).toBe(false)
})

test("an own copy can be written to without changing the original", () => {
  const list = [1]
  const record = { a: 1 }
  ;(ownCopy(list) as number[]).push(2)
  ;(ownCopy(record) as Record<string, number>).b = 2
  expect(list).toEqual([1])
  expect(record).toEqual({ a: 1 })
  expect(ownCopy("text")).toBe("text")
})

test("canonical JSON is the same for equal data and different for unequal data", () => {
  expect(canonicalJson({ b: [1, { d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[1,{"c":2,"d":1}]}')
  expect(canonicalJson({ a: undefined })).toBe("{}")
  expect(canonicalJson(["1"])).not.toBe(canonicalJson([1]))
})
