import { Ajv } from "ajv"
import { describe, expect, test } from "vitest"
import { parseDocument } from "../document/index.ts"
import { jsonSchemas, loadDefinition } from "./load.ts"
import { BASES, type Base, MISTAKES, type Mistake, misspelt, mistyped } from "./mistakes.test-support.ts"

const bases = Object.keys(BASES) as Base[]
const all = [...bases.flatMap((base) => [...misspelt(base), ...mistyped(base)]), ...MISTAKES]
const cases = all.map((one) => [one.name, one] as const)

function problemsOf(text: string) {
  return loadDefinition({ file: "a.yaml", text }, { env: { OPENAI_API_KEY: "x", OWN_KEY: "x" } }).diagnostics
}

test.each(bases)("%s: the base is valid", (base) => {
  expect(problemsOf(BASES[base])).toEqual([])
})

describe("one mistake is one error, where it is", () => {
  test.each(cases)("%s", (_, { text, line, column, code, suggestion }) => {
    const found = problemsOf(text)
    const shown = found.map((one) => `${one.place?.line}:${one.place?.column} ${one.code} ${one.message}`)
    expect(shown).toHaveLength(1)
    const [only] = found
    expect(only?.severity).toBe("error")
    expect(only?.code).toMatch(code)
    expect([only?.place?.line, only?.place?.column], shown[0]).toEqual([line, column])
    expect(only?.suggestion).toBe(suggestion)
  })
})

describe("the JSON Schema for editors finds what the checks find", () => {
  const ajv = new Ajv({ strict: false, allowUnionTypes: true })
  const schemas = { steps: ajv.compile(jsonSchemas.steps()), graph: ajv.compile(jsonSchemas.graph()) }
  const accepts = (base: string, text: string) =>
    schemas[base === "steps" || base === "agents" ? "steps" : "graph"](
      parseDocument(text, "a.yaml").document?.data,
    )

  test.each(bases)("%s: the base is valid", (base) => {
    expect(accepts(base, BASES[base])).toBe(true)
  })

  /** What a schema can express: fields, kinds of values, their ranges, and what a type needs. */
  const expressible = new Set([
    "UNKNOWN_FIELD",
    "UNKNOWN_TYPE",
    "UNKNOWN_MODE",
    "WRONG_TYPE",
    "NOT_ONE_OF",
    "OUT_OF_RANGE",
    "BAD_FORMAT",
    "FIELD_NOT_FOR_TYPE",
    "MISSING_FIELD",
    "AGENT_MISSING",
    "BAD_KEY",
  ])
  const isExpressible = ({ code }: Mistake) => typeof code !== "string" || expressible.has(code)
  /** Either of two fields, which only the checks see together; and an amount of time. */
  const beyond = [
    "rows: entrypointNodeId: router → nothing",
    "steps: concurrency: 2 → concurrency: 2 ⏎ steps:",
    "steps: period: 1m } → period: ▸0 }",
  ]

  test.each(all.filter(isExpressible).map((one) => [one.name, one] as const))("%s", (name, { text }) => {
    const base = name.split(":", 1)[0] as Base
    const isBeyond = beyond.some((one) => name.startsWith(one))
    expect(accepts(base, text)).toBe(isBeyond)
  })

  test("and nothing else: references, expressions and routes are for the checks", () => {
    // Some of the problems of nodes are a missing field. A file with a key twice is no document.
    const either: readonly unknown[] = ["NODE_INVALID", "DUPLICATE_KEY"]
    const other = MISTAKES.filter((one) => !isExpressible(one) && !either.includes(one.code))
    const refused = other.filter(({ name, text }) => !accepts(name.split(":", 1)[0] as Base, text))
    expect(refused.map(({ name }) => name)).toEqual([])
  })
})
