import { describe, expect, test } from "vitest"
import { z } from "zod"
import type { Path } from "./diagnostic.ts"
import { parseDocument } from "./parse-document.ts"
import { readShape } from "./read-shape.ts"

function read(text: string, schema: z.ZodType, path?: Path) {
  const { document, diagnostics } = parseDocument(text, "a.yaml")
  if (document === undefined) throw new Error(JSON.stringify(diagnostics))
  return readShape(document, schema, path)
}

/** `CODE line:column+length message (suggestion)`, as the only one. */
function summarize(text: string, schema: z.ZodType, path?: Path): string[] {
  return read(text, schema, path).diagnostics.map(({ code, place, message, suggestion }) => {
    const meant = suggestion === undefined ? "" : ` (${suggestion})`
    return `${code} ${place?.line}:${place?.column}+${place?.length} ${message}${meant}`
  })
}

const step = z.strictObject({
  name: z.string().min(1),
  times: z.int().min(1).max(9).optional(),
  quiet: z.boolean().optional(),
  mode: z.enum(["flow", "superstep"]).optional(),
  tags: z.array(z.string()).nonempty().optional(),
})

describe("data of the right shape", () => {
  test("is returned typed, with defaults, from any path", () => {
    const schema = z.strictObject({ name: z.string(), times: z.int().default(3) })
    const { value, diagnostics } = read("a:\n  - name: x\n", schema, ["a", 0])
    expect(diagnostics).toEqual([])
    expect(value).toEqual({ name: "x", times: 3 })
  })
})

describe("data with unknown fields", () => {
  const list = z.union([z.array(step), z.strictObject({ steps: z.array(step) })])

  test("is returned with the names that were meant, so that later checks can run", () => {
    const { value, diagnostics } = read(
      "steps:\n  - { name: x, qiet: true }\n  - { name: y, a: 1, b: 2 }\n",
      list,
    )
    expect(diagnostics.map(({ code, place }) => `${code} ${place?.line}`)).toEqual([
      "UNKNOWN_FIELD 2",
      "UNKNOWN_FIELD 3",
      "UNKNOWN_FIELD 3",
    ])
    expect(value).toEqual({ steps: [{ name: "x", quiet: true }, { name: "y" }] })
  })

  test("is not returned if something else is invalid too", () => {
    expect(read("steps: [{ name: 5, a: 1 }]", list).value).toBeUndefined()
  })
})

describe("a problem is reported in plain words, at its position", () => {
  test.each([
    ["name: 5", 'WRONG_TYPE 1:7+1 `name` must be a string, not the number 5. ("5")'],
    ["name: [a]", "WRONG_TYPE 1:7+3 `name` must be a string, not a list."],
    ["name:", "WRONG_TYPE 1:1+4 `name` must be a string, but it is empty."],
    ["name: ''", "OUT_OF_RANGE 1:7+2 `name` must not be empty."],
    ["name: x\ntimes: ten", 'WRONG_TYPE 2:8+3 `times` must be a whole number, not the string "ten".'],
    ["name: x\ntimes: '5'", 'WRONG_TYPE 2:8+3 `times` must be a whole number, not the string "5". (5)'],
    ["name: x\ntimes: 1.5", "WRONG_TYPE 2:8+3 `times` must be a whole number, not the number 1.5."],
    ["name: x\ntimes: 0", "OUT_OF_RANGE 2:8+1 `times` must be at least 1, not 0."],
    ["name: x\ntimes: 10", "OUT_OF_RANGE 2:8+2 `times` must be at most 9, not 10."],
    ["name: x\nquiet: yes", 'WRONG_TYPE 2:8+3 `quiet` must be true or false, not the string "yes". (true)'],
    ["name: x\nmode: flwo", 'NOT_ONE_OF 2:7+4 `mode` must be one of "flow", "superstep", not "flwo". (flow)'],
    ["name: x\nmode: 1", 'NOT_ONE_OF 2:7+1 `mode` must be one of "flow", "superstep", not the number 1.'],
    ["name: x\ntags: [a, 2]", 'WRONG_TYPE 2:11+1 Item 2 of `tags` must be a string, not the number 2. ("2")'],
    ["name: x\ntags: []", "OUT_OF_RANGE 2:7+2 `tags` must not be empty."],
    ["nmae: x", "UNKNOWN_FIELD 1:1+4 There is no field `nmae`. (name)"],
    ["times: 1", "MISSING_FIELD 1:1+8 `name` is missing; it must be a string."],
    ["text", 'WRONG_TYPE 1:1+4 The file must be a mapping, not the string "text".'],
  ])("%j: %s", (text, expected) => {
    expect(summarize(text, step)).toEqual([expected])
  })

  test("a field that resembles no known field is reported with the list of known fields", () => {
    expect(summarize("name: x\nbanana: 1", step)).toEqual([
      "UNKNOWN_FIELD 2:1+6 There is no field `banana`. Known are: name, times, quiet, mode, tags.",
    ])
  })

  test("each of very many unknown fields is reported", () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `nam${i}: 1\n`).join("")
    const all = summarize(`${many}name: x\n`, step)
    expect(all).toHaveLength(5_000)
    expect(all[4_999]).toContain("UNKNOWN_FIELD 5000:1+7 There is no field `nam4999`.")
  })

  test("all problems are reported at once, at any depth, and none twice", () => {
    const schema = z.strictObject({ jobs: z.record(z.string(), z.strictObject({ steps: z.array(step) })) })
    const text = "jobs:\n  one:\n    steps:\n      - nam: x\n        times: 0\n  two:\n    stps: []\nfoo: 1\n"
    expect(summarize(text, schema)).toEqual([
      "OUT_OF_RANGE 5:16+1 `times` must be at least 1, not 0.",
      "UNKNOWN_FIELD 4:9+3 There is no field `nam` in item 1 of `steps`. (name)",
      "UNKNOWN_FIELD 7:5+4 There is no field `stps` in `two`. (steps)",
      "UNKNOWN_FIELD 8:1+3 There is no field `foo`. Known are: jobs.",
    ])
  })

  test("problems of record keys are reported at the key", () => {
    const names = z.record(z.string().regex(/^[a-z]+$/), z.number())
    expect(summarize("ok: 1\nNot ok: 2\n", names)).toEqual([
      'BAD_KEY 2:1+6 The key must match /^[a-z]+$/; "Not ok" does not.',
    ])
    expect(
      summarize("flow: 1\nflwo: 2\n", z.partialRecord(z.enum(["flow", "step"]), z.number())),
    ).toHaveLength(1)
  })

  test("a schema's own messages and codes are kept", () => {
    const schema = z.strictObject({
      id: z.string({ error: "An id is a string." }),
      to: z.string().superRefine((to, context) => {
        if (to === "b") return
        context.addIssue({
          code: "custom",
          message: "No such node.",
          params: { code: "NO_NODE", suggestion: "b" },
        })
      }),
      at: z.string().refine((at) => at !== "c"),
    })
    expect(summarize("id: 1\nto: d\nat: c", schema)).toEqual([
      'WRONG_TYPE 1:5+1 An id is a string. ("1")',
      "NO_NODE 2:5+1 No such node. (b)",
      "INVALID_VALUE 3:5+1 `at` is not valid.",
    ])
  })

  test("`__proto__` is an unknown field", () => {
    expect(summarize("name: x\n__proto__: {a: 1}", step)[0]).toContain("UNKNOWN_FIELD 2:1+9")
  })
})

describe("a union reports the problems of the branch that was probably meant", () => {
  const shell = z.strictObject({ type: z.literal("shell"), command: z.string() })
  const mcp = z.strictObject({
    type: z.literal("mcp"),
    url: z.string(),
    tools: z.array(z.string()).optional(),
  })

  describe.each([
    ["discriminated", z.discriminatedUnion("type", [shell, mcp])],
    ["plain", z.union([shell, mcp])],
    ["after a string", z.union([z.string(), shell, mcp])],
    ["nested", z.union([z.string(), z.union([shell, mcp])])],
  ])("%s", (_, union) => {
    const schema = z.array(union)
    test.each([
      ["- type: mcp\n  ulr: x", "UNKNOWN_FIELD 2:3+3 There is no field `ulr` in item 1. (url)"],
      [
        "- type: mcp\n  url: x\n  tools: [1]",
        'WRONG_TYPE 3:11+1 Item 1 of `tools` must be a string, not the number 1. ("1")',
      ],
      [
        "- type: shel\n  url: x",
        'NOT_ONE_OF 1:9+4 `type` must be one of "shell", "mcp", not "shel". (shell)',
      ],
      ["- url: x", 'MISSING_FIELD 1:3+6 `type` is missing; it must be one of "shell", "mcp".'],
    ])("%j: %s", (text, expected) => {
      expect(summarize(text, schema)).toEqual([expected])
    })
  })

  test("without a discriminator, the branch with the fewest problems", () => {
    const schema = z.union([
      z.strictObject({ agent: z.string(), prompt: z.string() }),
      z.strictObject({ tool: z.string(), args: z.record(z.string(), z.unknown()) }),
    ])
    expect(summarize("tool: x\nargz: {}\n", schema)).toEqual([
      "UNKNOWN_FIELD 2:1+4 There is no field `argz`. (args)",
    ])
  })

  test("if no branch accepts such a value, the accepted values", () => {
    const schema = z.strictObject({
      a: z.union([z.string(), z.boolean(), z.array(z.string())]).optional(),
      b: z.union([z.literal("never"), z.strictObject({ times: z.int() })]).optional(),
      c: z.union([z.literal("x"), z.literal("y")]),
    })
    expect(summarize("a: {k: 1}\nb: nevr\nc: z", schema)).toEqual([
      "WRONG_TYPE 1:4+6 `a` must be a string, true, false or a list, not a mapping.",
      'NOT_ONE_OF 2:4+4 `b` must be a mapping or "never", not "nevr". (never)',
      'NOT_ONE_OF 3:4+1 `c` must be one of "x", "y", not "z".',
    ])
    expect(summarize("a: x", schema)).toEqual([
      'MISSING_FIELD 1:1+4 `c` is missing; it must be one of "x", "y".',
    ])
  })

  test("in recursive schemas", () => {
    interface Group {
      readonly type: "group"
      readonly items: readonly (Group | z.infer<typeof shell>)[]
    }
    const group: z.ZodType<Group> = z.strictObject({
      type: z.literal("group"),
      items: z.array(z.lazy(() => z.union([group, shell]))),
    })
    const text = "type: group\nitems:\n  - type: group\n    items:\n      - type: shell\n        comand: ls\n"
    expect(summarize(text, group)).toEqual([
      "UNKNOWN_FIELD 6:9+6 There is no field `comand` in item 1 of `items`. (command)",
    ])
  })
})
