import { describe, expect, it } from "vitest"
import type { Json } from "../core/index.ts"
import { condition } from "./index.ts"

const holds = (source: string, value?: Json) =>
  condition(source, "steps").holds((root) => (root === "value" ? value : undefined))

describe("a condition of steps", () => {
  it.each<Json>([true, 1, "true", "1", "yes", " YES \n", "True"])("%j is true", (value) => {
    expect(holds("{{ $value }}", value)).toBe(true)
    expect(holds("$value", value)).toBe(true)
    expect(holds("$value && true", value)).toBe(true)
  })

  it.each<Json>([false, 0, "false", "0", "no", "  No ", "", "   ", null])("%j is false", (value) => {
    expect(holds("{{ $value }}", value)).toBe(false)
    expect(holds("$value", value)).toBe(false)
    expect(holds("!$value", value)).toBe(true)
  })

  it("is false if its path is missing", () => {
    expect(holds("{{ $steps.qa.output.is_approved }}")).toBe(false)
    expect(holds("!$steps.qa.output.is_approved")).toBe(false)
    expect(holds("$steps.qa.output.score > 3")).toBe(false)
  })

  it.each<[Json, string]>([
    ["maybe", "maybe"],
    [2, "2"],
    [{ a: 1 }, `{"a":1}`],
    [[], "[]"],
  ])("%j is neither, and the error reports it", (value, shown) => {
    expect(() => holds("{{ $value }}", value)).toThrowError(
      expect.objectContaining({
        code: "CONDITION_NOT_BOOLEAN",
        message: `workflow: condition did not resolve to boolean: "${shown}"`,
      }),
    )
  })

  it("with text around an expression is rendered and then parsed", () => {
    expect(holds("{{ $value }}s", "ye")).toBe(true)
    expect(holds("{{ $value }} {{ $nothing }}", "no")).toBe(false)
    expect(() => holds("it's {{ $value }}", "so")).toThrowError(`"it's so"`)
  })

  it("may be a single word", () => {
    expect(holds("Yes")).toBe(true)
    expect(holds(" no ")).toBe(false)
  })

  it("with braces in a string literal is an expression", () => {
    expect(holds(`$value == "{{"`, "{{")).toBe(true)
  })

  it("reports its references with their ranges, with or without braces", () => {
    for (const source of ["{{ $value.a }}", "$value.a", "is {{ $value.a }}"]) {
      const { references } = condition(source, "steps")
      expect(references.map(({ start, end }) => source.slice(start, end))).toEqual(["$value.a"])
      expect(condition(source, "steps").source).toBe(source)
    }
  })

  it.each(["", "  ", "maybe"])("%j is not a condition", (source) => {
    expect(() => condition(source, "steps")).toThrowError(
      expect.objectContaining({ code: "EXPRESSION_INVALID" }),
    )
  })
})
