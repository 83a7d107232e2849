import { describe, expect, it } from "vitest"
import type { Json } from "../core/index.ts"
import { ExpressionError, expression } from "./index.ts"

const VALUES: Record<string, Json> = {
  steps: {
    gen: { output: { title: "Moon", score: 3, is_approved: true, note: null } },
    "gen-2": { output: "yes" },
    "prüfung-2": { output: "ü" },
    par: { outputs: { "left-1": { output: "L" }, right: { output: "R" } }, list: [{ output: "first" }] },
  },
  input: "hello",
  env: { HOME: "/home" },
  run: { id: "run-1" },
  item: { n: 2, in: "word", größe: 7 },
  index: 1,
  list: [1, 2, 3],
  people: [{ name: "Ann", age: 40 }, { name: "Bob", age: 20 }, { name: "Cid" }],
}

const scope = (root: string) => (Object.hasOwn(VALUES, root) ? VALUES[root] : undefined)
const value = (source: string) => expression(source, "steps").evaluate(scope)

function invalid(source: string): ExpressionError {
  try {
    expression(source, "steps")
  } catch (error) {
    if (error instanceof ExpressionError) return error
    throw error
  }
  throw new Error(`${source} was accepted`)
}

describe("a reference", () => {
  it.each<[string, Json]>([
    ["$steps.gen.output.is_approved", true],
    ["$steps.par.list[0].output", "first"],
    ["$steps.par.outputs.right.output", "R"],
    ["$steps['gen']['output'].title", "Moon"],
    ["$input", "hello"],
    ["$env.HOME", "/home"],
    ["$run.id", "run-1"],
    ["$item.n", 2],
    ["$item.in", "word"],
    ["$index", 1],
    ["$list[-1]", 3],
    ["$steps.gen-2.output", "yes"],
    ["$steps.par.outputs.left-1.output", "L"],
    ["$steps.prüfung-2.output", "ü"],
    ["$item.größe", 7],
  ])("%s is read", (source, expected) => {
    expect(value(source)).toEqual(expected)
  })

  it("is reported with its root, path and range", () => {
    const source = `$input == "x" || $steps.par.list[-1].output.size() > 1`
    const { references } = expression(source, "steps")
    expect(references.map(({ root, path }) => ({ root, path }))).toEqual([
      { root: "input", path: [] },
      { root: "steps", path: ["par", "list", -1, "output"] },
    ])
    expect(references.map(({ start, end }) => source.slice(start, end))).toEqual([
      "$input",
      "$steps.par.list[-1].output",
    ])
  })

  it("ends where something has to be computed", () => {
    const { references } = expression("$list[$index].name", "steps")
    expect(references.map(({ root, path }) => [root, path])).toEqual([
      ["list", []],
      ["index", []],
    ])
    expect(value("$people[$index].name")).toBe("Bob")
  })

  it("is not a name that a macro binds", () => {
    const { references } = expression("$people.map(person, person.name)", "steps")
    expect(references.map(({ root }) => root)).toEqual(["people"])
    expect(invalid("$people.map(person, person.name) == person").start).toBe(36)
  })

  it("in a string literal is text", () => {
    expect(expression(`"$input" == '$steps.gen {{ and or not'`, "steps").references).toEqual([])
    expect(value(`"$input && {{ " + 'a "b"'`)).toBe('$input && {{ a "b"')
  })

  it("with a dash that is not part of a step id is a subtraction", () => {
    expect(value("$index-1")).toBe(0)
    expect(value("$item.n-$index")).toBe(1)
    expect(invalid("$steps.gen.output.is-approved").message).toContain('["a-b"]')
  })
})

describe("an operator", () => {
  it.each<[string, Json]>([
    ["$index == 1.0", true],
    ["1 == $index", true],
    ["$index != 2", true],
    ["$index > 0.5", true],
    ["$index >= 1", true],
    ["$index < 2", true],
    ["$index <= 0", false],
    [`"a" < "b"`, true],
    ["2 in $list", true],
    ["2.5 in $list", false],
    ["2 not in $list", false],
    [`"ell" in $input`, true],
    [`"title" in $steps.gen.output`, true],
    ["true && $index == 1", true],
    ["true and false or true", true],
    ["true or false and false", true],
    ["not true or true", true],
    ["not $index == 2", true],
    ["not 5 in $list", true],
    ["!($index == 2)", true],
    ["not (true and not false)", false],
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["7 / 2", 3.5],
    ["7 % 4", 3],
    ["-$index - 1", -2],
    ["0x10 + 1", 17],
    ["size($list) + 0.5", 3.5],
    ["$list + [4]", [1, 2, 3, 4]],
    [`$index == 1 ? "one" : $index == 2 ? "two" : "many"`, "one"],
    ["$index == 1 ? 1 : null", 1],
    [`{"a": [1, "b", null]}`, { a: [1, "b", null] }],
    [`{"a": 1} == {"a": 1.0}`, true],
    ["[1, [2]] == [1, [2.0]]", true],
    ["[1] == [1, 2]", false],
    ["$steps.gen.output.note == null", true],
    ["$steps.gen.output.note is None", true],
    ["$input is not None", true],
    [`r"\\d" + "\\t"`, "\\d\t"],
  ])("%s", (source, expected) => {
    expect(value(source)).toEqual(expected)
  })
})

describe("a function", () => {
  it.each<[string, Json]>([
    ["size($input) > 2", true],
    ["$list.size()", 3],
    [`size("a💡")`, 2],
    ["size($item)", 3],
    [`"a💡b".substring(0, size("a💡b") - 1)`, "a💡"],
    [`"💡💡b".indexOf("b") + "💡b💡b".lastIndexOf("b")`, 5],
    [`"💡b💡b".indexOf("b", 2) - "💡b💡b".lastIndexOf("b", 2)`, 2],
    [`"abc".indexOf("d") + "abc".lastIndexOf("")`, 2],
    [`"abc".indexOf("a", -5) + "abc".indexOf("c", 9)`, -1],
    [`"a💡".split("")`, ["a", "💡"]],
    [`"".split("")`, []],
    [`"éAÉa".lowerAscii() + "éAÉa".upperAscii()`, "éaÉaéAÉA"],
    [`$input.contains("ell") && $input.startsWith("he") && $input.endsWith("lo")`, true],
    [`" aB ".trim().lowerAscii() + "aB".upperAscii()`, "abAB"],
    [`$input.indexOf("l") + $input.lastIndexOf("l")`, 5],
    [`$input.indexOf("l", 3)`, 3],
    ["$input.substring(1, 3)", "el"],
    [`"a,b".split(",")`, ["a", "b"]],
    [`["a", "b"].join("-") + ["c"].join()`, "a-bc"],
    [`$input.matches("^h.l+o$")`, true],
    ["string($index) + string(true) + string([1])", "1true[1]"],
    [`int("42") + int(2.9) + double("0.5")`, 44.5],
    [`bool("Yes")`, true],
    ["$people.exists(p, p.age > 30)", true],
    ["$people.all(p, p.age > 10)", false],
    ["$people.exists_one(p, p.age < 30)", true],
    ["$people.filter(p, p.age > 10).map(p, p.name)", ["Ann", "Bob"]],
    [`$people.map(p, p.age > 30, p.name + "!")`, ["Ann!"]],
    ["$list.map(x, $list.map(y, x * y)[-1])", [3, 6, 9]],
    ["$list.map(x, $list.filter(x, x > 2)[0] + x)", [4, 5, 6]],
    ["$item.map(key, key)", ["n", "in", "größe"]],
    ["$list.map(x, [x].map(x, x + 1)[0])", [2, 3, 4]],
  ])("%s", (source, expected) => {
    expect(value(source)).toEqual(expected)
  })
})

describe("a missing path", () => {
  it.each([
    "$nothing",
    "$steps.nobody.output",
    "$input.length",
    "$list[9]",
    "$list[-4]",
    "$nothing > 3",
    "!$nothing",
    `$nothing != "a"`,
    "size($nothing)",
    "$nothing.map(x, x)",
    `"a" + $nothing`,
    "$nothing && true",
    "$nothing ? 1 : 2",
    "$list.filter(x, x > 5)[0].name",
  ])("makes %s missing, without an error", (source) => {
    expect(value(source)).toBeUndefined()
  })

  it("is null when compared with null", () => {
    expect(value("$nothing == null")).toBe(true)
    expect(value("$nothing != null")).toBe(false)
  })

  it("does not matter if the other operand decides", () => {
    expect(value("$nothing > 3 || $index == 1")).toBe(true)
    expect(value("$index == 2 && $nothing")).toBe(false)
    expect(value("$nothing && $index == 2")).toBe(false)
    expect(value("$index == 1 ? 1 : $nothing")).toBe(1)
  })

  it("is what has() tests", () => {
    expect(value("has($steps.gen.output.note)")).toBe(true)
    expect(value("has($steps.gen.output.other)")).toBe(false)
    expect(value("$people.filter(p, !has(p.age)).map(p, p.name)")).toEqual(["Cid"])
  })

  it("makes a test on an item false, and only for that item", () => {
    expect(value("$people.filter(p, p.age < 100).size()")).toBe(2)
  })
})

describe("a failure other than a missing path", () => {
  it.each([
    [`$index > 0 && $input < 3`, "character 15", "double(x)"],
    [`$nothing == null && $input > 3`, "character 21", `">" cannot be used`],
    ["$nothing == null ? 1 / 0 : 2", "character 20", "division by zero"],
    ["($nothing > 1 || true) && $input > 3", "character 27", `">" cannot be used`],
    [`$input > 3`, "character 1", `">" cannot be used between text and a number`],
    [`true && ("n: " + $index) == "n: 1"`, "character 10", "string(x)"],
    ["1 / ($index - 1)", "character 1", "division by zero"],
    ["$input && true", "character 1", "true or false"],
    ["$input.substring(9)", "character 1", "outside a string of 5"],
    [`int($input)`, "character 1", "not a number"],
    ["$index.map(x, x)", "character 1", "needs a list"],
  ])("%s reports the problem and its position", (source, place, reason) => {
    const run = () => value(source)
    expect(run).toThrowError(expect.objectContaining({ code: "EXPRESSION_FAILED", retryable: false }))
    expect(run).toThrowError(place)
    expect(run).toThrowError(reason)
    expect(run).toThrowError(source)
  })
})

describe("text that is not an expression", () => {
  it.each<[string, number, number]>([
    ["", 0, 0],
    ["$input ==", 9, 9],
    ["$input = 1", 7, 8],
    ["($input", 0, 1],
    ["$input)", 6, 7],
    ["[1, 2)", 5, 6],
    ["'open", 0, 5],
    ["$input $index", 7, 13],
    ["$", 0, 1],
    ["$input # 1", 7, 8],
    ["input == 1", 0, 5],
    ["1 && $input", 0, 1],
    [`$input && ("a" == 1)`, 11, 19],
    ["!5", 1, 2],
    [`-"a"`, 0, 4],
    [`1 < 2 < 3`, 0, 9],
    ["size()", 0, 6],
    ["size(1)", 5, 6],
    ["contains($input)", 0, 16],
    ["$input.explode()", 0, 16],
    [`$input.matches("(a")`, 15, 19],
    [`timestamp("2020-01-01T00:00:00Z")`, 0, 33],
    ["cel.bind(x, 1, x)", 0, 3],
    [`b"bytes"`, 0, 1],
    ["$input // comment", 10, 17],
    ["$list.map(x)", 10, 11],
    ["$list.map(1, 2)", 10, 11],
    ["$input is 3", 7, 9],
    [`"\\q"`, 0, 4],
    ["$input?.a", 6, 8],
    ["$input == 💡", 10, 12],
    ["$input == 12345678901234567890", 10, 30],
  ])("%s is rejected with its range", (source, start, end) => {
    const error = invalid(source)
    expect(error).toMatchObject({ code: "EXPRESSION_INVALID", start, end })
    expect(error.message).toMatch(/\.$/)
  })
})
