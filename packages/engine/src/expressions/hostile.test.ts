import { describe, expect, it } from "vitest"
import type { Json } from "../core/index.ts"
import { condition, expression, type Spelling, template } from "./index.ts"

const TOO_COSTLY = expect.objectContaining({ code: "EXPRESSION_TOO_COSTLY", retryable: false })
const INVALID = expect.objectContaining({ code: "EXPRESSION_INVALID" })

function evaluate(source: string, values: Record<string, unknown>, spelling: Spelling = "steps") {
  // A careless scope: it looks names up in the prototype too.
  return expression(source, spelling).evaluate((root) => values[root] as Json)
}

describe("data that an expression cannot reach", () => {
  class Secret {
    key = "secret"
  }
  const values = {
    object: {
      call: () => "called",
      get lazy() {
        return "computed"
      },
      made: new Secret(),
      date: new Date(0),
      map: new Map([["key", "secret"]]),
    },
    list: [1],
    text: "abc",
    parsed: JSON.parse(`{"__proto__": {"polluted": true}}`),
  }

  it.each([
    "$object.constructor",
    "$object.constructor.constructor",
    "$object.__proto__",
    `$object["__proto__"]["toString"]`,
    `$object["proto" + "type"]`,
    `$object["__pro" + "to__"]`,
    "$object.toString",
    "$object.hasOwnProperty",
    "$object.lazy",
    "$object.call",
    "$object.made",
    "$object.made.key",
    "$object.date",
    "$object.map",
    "$object.map.key",
    "$parsed.__proto__.polluted",
    "$list.length",
    "$list.constructor",
    `$list["0"]`,
    "$text.length",
    "$text[0]",
    "$constructor",
    "$toString",
    "$__proto__",
    "$hasOwnProperty",
    "[$object.map][0].key",
    "$list.map(x, x.constructor)[0].name",
    `{"a": 1}["constructor"]`,
  ])("%s is missing", (source) => {
    expect(evaluate(source, values) ?? null).toBeNull()
  })

  it("is missing in the graph spelling too", () => {
    for (const source of ["constructor.name", "__proto__.toString", "toString", "valueOf is not None"]) {
      expect(evaluate(source, values, "graph") || undefined).toBeUndefined()
    }
  })

  it.each(["$object.call()", "$object.toString()", `$text.constructor("x")`, "eval('1')", "Function('1')"])(
    "%s is not a call",
    (source) => {
      expect(() => evaluate(source, values)).toThrowError(INVALID)
    },
  )

  it("finds only own keys of an object", () => {
    expect(evaluate(`"toString" in $object || "__proto__" in $parsed`, values)).toBe(false)
    expect(evaluate(`{"constructor": 1}.constructor`, values)).toBe(1)
    expect(() => evaluate(`{"__proto__": 1}`, values)).toThrowError("a key must be text")
  })

  it("is not changed: a created object has no other prototype, and a pattern no state", () => {
    expect(Object.getPrototypeOf(evaluate(`{"a": $parsed}`, values))).toBe(Object.prototype)
    expect(evaluate(`$text.matches("b") && $text.matches("b")`, values)).toBe(true)
  })
})

describe("the cost of an expression", () => {
  const many = Array.from({ length: 10_000 }, (_, i) => i)
  const long = "a".repeat(900_000)

  it("lets a macro iterate over ten thousand items", () => {
    expect(evaluate("$many.filter(x, x % 2 == 0).map(x, x + 1).size()", { many })).toBe(5_000)
  })

  it.each([
    ["$more.map(x, x)", "more items than a macro goes over"],
    ["$many.all(x, $many.all(y, x + y >= 0))", "nested macros"],
    ["$many.map(x, $many.map(y, $many.map(z, z)))", "three macros"],
    ["$many.filter(x, $long == $same)", "comparing long texts for every item"],
    ["$many.filter(x, $long < $same)", "ordering long texts for every item"],
    ["$many.filter(x, $long.contains('b'))", "searching a long text for every item"],
    ["$many.filter(x, $many == $others)", "comparing lists for every item"],
    ["$many.filter(x, x + 1 in $many)", "looking through a list for every item"],
    ["$many.map(x, $many)", "a result of shared parts that is long as text"],
    ["$few.map(x, $few.map(y, $many)) == $few.map(x, $few.map(y, $others))", "comparing shared parts"],
    ["$many.map(x, $long)", "a long text many times"],
    ["$long + $long", "a string made of two long ones"],
    ["[$long, $long].join('')", "joined texts"],
    ["string($many.map(x, $many))", "text of a long value"],
    ["$many.filter(x, $long.matches('(a|b)*c'))", "a pattern for every item"],
    ["$many.filter(x, ($many.map(y, y) + $many).size() > 0)", "lists made for every item"],
    ["$many.filter(x, $blank)", "reading a long text as a truth value"],
    ["$many.filter(x, $many.exists(y, y.missing > 1))", "failures for every item"],
    ["$many.all(x, $many.all(y, y.missing > 1 || true))", "failures that the other side makes up for"],
    ["$many.filter(x, $empty == $wide)", "counting the keys of an object for every item"],
    ["$many.filter(x, $wide.exists(y, true))", "listing the keys of an object for every item"],
    ["$many.filter(x, $mixed.lowerAscii() == '')", "changing the case of a long text for every item"],
    ["$many.filter(x, size($long) == 0)", "counting characters for every item"],
    ["$many.filter(x, $blank.trim() == 'x')", "trimming a long text for every item"],
    ["$few.filter(x, $long.contains($part))", "searching a long text for a long part"],
    ["$few.filter(x, $part in $long)", "searching it by `in`"],
    ["$few.filter(x, $long.lastIndexOf($part) == 0)", "searching it from its end"],
    ["$few.filter(x, $long.split($part).size() == 0)", "splitting it"],
    ["$many.all(x, $many.all(y, 'a'.matches($pattern + string(y)) || true))", "a new pattern for every item"],
    ["$many.all(x, $many.all(y, 'a'.matches('(' + string(y)) || true))", "a wrong pattern for every item"],
  ])("stops %s (%s)", (source) => {
    const values = {
      many,
      long,
      blank: " ".repeat(900_000),
      few: many.slice(0, 100),
      more: [...many, 1],
      others: [...many],
      same: `${long.slice(1)}b`,
      empty: {},
      wide: Object.fromEntries(many.map((i) => [`k${i}`, i])),
      mixed: "aB".repeat(450_000),
      part: `${"a".repeat(100_000)}b${"a".repeat(100_000)}`,
      pattern: "(a|b){90}",
    }
    expect(() => evaluate(source, values)).toThrowError(TOO_COSTLY)
  })

  it("counts listing the keys of an object for every item in the graph spelling", () => {
    const wide = Object.fromEntries(many.map((i) => [`k${i}`, i]))
    expect(() => evaluate("many.filter(x, wide)", { many, wide }, "graph")).toThrowError(TOO_COSTLY)
  })

  it("lets the test of a macro be missing for ten thousand items", () => {
    expect(evaluate("$many.filter(x, x.age > 3).size()", { many })).toBe(0)
  })

  it("searches a long part that nearly matches everywhere in linear time", () => {
    const [text, part] = ["ab".repeat(200_000), `aabb${"ab".repeat(50_000)}`]
    expect(evaluate("$text.contains($part)", { text, part })).toBe(false)
    expect(evaluate("$text.lastIndexOf($part)", { text, part: `${"ab".repeat(50_000)}b` })).toBe(-1)
  })

  it.each([["string($deep)"], ["$deep == $other"], ["[$deep]"], ["$deep in [$other]"]])(
    "stops at values that are nested deeper than the stack allows: %s",
    (source) => {
      const nested = () => JSON.parse("[".repeat(100_000) + "]".repeat(100_000))
      const values = { deep: nested(), other: nested() }
      expect(() => evaluate(source, values)).toThrowError(TOO_COSTLY)
    },
  )

  it("stops at such a value in a template", () => {
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000))
    expect(() => template("It is {{ $deep }}.", "steps").render(() => deep)).toThrowError(TOO_COSTLY)
  })

  it("looks for strings only in what is short enough to be an expression", () => {
    expect(() => condition("\\'".repeat(1_000_000), "steps")).toThrowError(INVALID)
    const text = `${"\\'".repeat(1_000_000)}{{ $a }}`
    expect(() => condition(text, "steps").holds(() => "x")).toThrowError(/did not resolve to boolean/)
  })

  it("does not stop a macro because of a missing path", () => {
    expect(() => evaluate("$nothing > 1 || $more.exists(x, false)", { more: [...many, 1] })).toThrowError(
      TOO_COSTLY,
    )
  })

  it.each([
    ["a+", "(a+)+$"],
    ["(a|a)*", "(a|a)*b"],
    ["(a*)*", "^(a*)*$"],
    ["(.*)(.*)(.*)b", "(.*)(.*)(.*)[^a!]"],
    ["a?{n}a{n}", `${"a?".repeat(100)}${"a".repeat(100)}b`],
  ])("matches a pattern like %s without backtracking", (_, pattern) => {
    const text = `${"a".repeat(2_000)}!`
    expect(evaluate(`$text.matches($pattern)`, { text, pattern })).toBe(false)
  })

  it("refuses patterns that are too large", () => {
    for (const pattern of ["(a{1000}){1000}", "a".repeat(1_001), "(".repeat(100) + ")".repeat(100)]) {
      expect(() => evaluate("$text.matches($pattern)", { text: "a", pattern })).toThrowError("the pattern")
    }
  })

  it("limits length and nesting before anything is parsed", () => {
    expect(expression("1".padEnd(4_096), "steps").evaluate(() => null)).toBe(1)
    expect(() => expression("1".padEnd(4_097), "steps")).toThrowError(INVALID)
    const nested = (open: string, close: string, levels: number) =>
      `${open.repeat(levels)}1${close.repeat(levels)}`
    expect(expression(nested("(", ")", 64), "steps").evaluate(() => null)).toBe(1)
    for (const source of [
      nested("(", ")", 65),
      nested("[", "]", 2_000),
      "!".repeat(4_000),
      "not ".repeat(1_000),
    ]) {
      expect(() => expression(source, "steps")).toThrowError(INVALID)
    }
    expect(evaluate(`1${" + 1".repeat(1_000)}`, {})).toBe(1_001)
    expect(() => expression(`${"true ? 1 : ".repeat(300)}1`, "steps")).toThrowError(INVALID)
    expect(() => expression(`$a${".trim()".repeat(300)}`, "steps")).toThrowError("has too many parts")
  })

  it("limits the size of a rendered template", () => {
    const text = template("{{ $long }}".repeat(12), "steps")
    expect(() => text.render(() => long)).toThrowError(TOO_COSTLY)
  })

  it("passes a value through unchanged, however long it is", () => {
    const huge = "x".repeat(2_000_000)
    expect(evaluate("$huge", { huge })).toBe(huge)
    expect(evaluate("true ? $huge : 1", { huge })).toBe(huge)
  })
})
