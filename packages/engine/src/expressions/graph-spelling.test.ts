import { describe, expect, it } from "vitest"
import type { Json } from "../core/index.ts"
import { condition, expression } from "./index.ts"

const STATE: Record<string, Json> = {
  latest: "done",
  outputs: { triage: { intents: ["sql", "multi"], confidence: 0.9 }, "my-node": "dash" },
  goal: "",
  retries: 0,
  nothing: null,
  items: [],
  size: 4,
  order: { and: 1 },
}
const scope = (root: string) => (Object.hasOwn(STATE, root) ? STATE[root] : undefined)
const value = (source: string) => expression(source, "graph").evaluate(scope)

describe("the graph spelling", () => {
  it.each<[string, Json]>([
    [`latest == "done"`, true],
    [`latest != 'done'`, false],
    ["outputs.triage.confidence >= 0.9", true],
    ["outputs.triage.confidence <= 0.5", false],
    ["outputs.triage.confidence > 1", false],
    ["outputs.triage.confidence < 1", true],
    [`"sql" in outputs.triage.intents`, true],
    [`"csv" not in outputs.triage.intents`, true],
    [`not "csv" in outputs.triage.intents`, true],
    [`outputs.triage.intents[0] == "sql" and outputs.triage.intents[-1] == "multi"`, true],
    [`outputs["my-node"] == "dash"`, true],
    ["nothing is None", true],
    ["latest is not None", true],
    ["retries == 0 and retries == 0.0", true],
    ["True and not False", true],
    ["true and not false", true],
    ["None == null", true],
    ["retries == 1 or latest == 'done' and retries == 0", true],
    ["(retries == 1 or latest == 'done') and retries == 1", false],
    ["not retries == 1 and not latest == 'x'", true],
    ["not not retries == 0", true],
    [`latest in ["done", "failed"] or 1 == 2`, true],
    ["size == 4", true],
    ["size(latest) == size", true],
    [`latest.startsWith("do")`, true],
    [`outputs.triage.intents.exists(i, i == "multi")`, true],
    ["order.and == 1", true],
    ["latest == 'a and b' or latest == 'not in'", false],
    ["retries < 3 ? 'again' : 'stop'", "again"],
  ])("%s", (source, expected) => {
    expect(value(source)).toEqual(expected)
  })

  it("returns the operand that decided, as in `name or default`", () => {
    expect(value(`goal or "no goal"`)).toBe("no goal")
    expect(value("latest and size")).toBe(4)
    expect(value("goal and size")).toBe("")
  })

  it("treats missing values as None", () => {
    expect(value("unknown is None")).toBe(true)
    expect(value("unknown.deep[2] is not None")).toBe(false)
    expect(value("not unknown")).toBe(true)
    expect(value(`unknown != "a"`)).toBe(true)
    expect(value("unknown == nothing")).toBe(true)
    expect(value("unknown > 3")).toBeUndefined()
    expect(value("unknown > 3 or latest == 'done'")).toBe(true)
  })

  it("requests the first name of a path", () => {
    const { references } = expression("outputs.triage.intents[-1] == goal", "graph")
    expect(references.map(({ root, path }) => [root, path])).toEqual([
      ["outputs", ["triage", "intents", -1]],
      ["goal", []],
    ])
  })

  it.each([
    ["1 < size < 3", 2, 10],
    ["latest == goal in items", 7, 17],
    ["$latest", 0, 1],
    ["latest is done", 7, 9],
  ])("%s is refused", (source, start, end) => {
    expect(() => expression(source, "graph")).toThrowError(
      expect.objectContaining({ code: "EXPRESSION_INVALID", start, end }),
    )
  })

  it.each<[string, boolean]>([
    ["latest", true],
    ["goal", false],
    ["retries", false],
    ["nothing", false],
    ["items", false],
    ["unknown", false],
    ["unknown > 3", false],
    ["outputs", true],
    ["{}", false],
    ["{{ latest == 'done' }}", true],
    ["  {{ retries }}  ", false],
  ])("the condition %s is %s", (source, expected) => {
    expect(condition(source, "graph").holds(scope)).toBe(expected)
  })
})
