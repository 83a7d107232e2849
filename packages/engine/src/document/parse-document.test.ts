import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { documentText, MAX_FILE_SIZE, parseDocument } from "./parse-document.ts"

/** `code line:column+length` of every diagnostic. */
function summarize(text: string, file: string): string[] {
  return parseDocument(text, file).diagnostics.map(
    ({ code, place }) => `${code} ${place?.line}:${place?.column}+${place?.length}`,
  )
}

describe("a YAML file", () => {
  test("becomes plain data", () => {
    const { document, diagnostics } = parseDocument(
      "name: x\nlist:\n  - 1\n  - true\n  - ~\n  - 2024-01-01\n  - yes\ntext: |\n  a\n  b\n",
      "a.yaml",
    )
    expect(diagnostics).toEqual([])
    expect(document).toMatchObject({ file: "a.yaml", format: "yaml" })
    expect(document?.data).toEqual({ name: "x", list: [1, true, null, "2024-01-01", "yes"], text: "a\nb\n" })
  })

  test.each([
    ["a: 'x\nb: 1\n", ["YAML_SYNTAX 1:4+1"], "a quote is never closed: at the quote"],
    ["a:\n  b: [1, 2\nc: 3\n", ["YAML_SYNTAX 2:6+1"], "a bracket is never closed: at the bracket"],
    ["a: b: c\n", ["YAML_SYNTAX 1:4+1"], "a colon in a bare value"],
    ["a:\n\tb: 1\n", ["YAML_SYNTAX 2:1+1"], "a tab for indentation"],
    ["a: @x\nb: %y\n", ["YAML_SYNTAX 1:4+1", "YAML_SYNTAX 2:4+1"], "two mistakes: both"],
    ["a: 1\nb: 2\na: 3\na: 4\n", ["DUPLICATE_KEY 3:1+1", "DUPLICATE_KEY 4:1+1"], "a key three times"],
    ["a: {b: 1, b: 2}\n", ["DUPLICATE_KEY 1:11+1"], "a key twice in one line"],
    ["a: !!js/function 'x'\n", ["UNKNOWN_TAG 1:4+13"], "a tag that would make code"],
    ["a: !!binary aGk=\nb: !mine 1\n", ["UNKNOWN_TAG 1:4+8", "UNKNOWN_TAG 2:4+5"], "tags of other data"],
    ["a: !!int x\n", ["YAML_SYNTAX 1:4+5"], "a value that does not fit its tag"],
    ["a: 1\n---\nb: 2\n", ["SEVERAL_DOCUMENTS 2:1+3"], "two documents"],
    ["? [a]\n: b\n", ["KEY_NOT_TEXT 1:3+3"], "a list for a key"],
    [": a\n", ["KEY_NOT_TEXT 1:1+1"], "no key"],
    ["a: .nan\nb: -.inf\nc: 1e999\n", ["NOT_JSON 1:4+4", "NOT_JSON 2:4+5", "NOT_JSON 3:4+5"], "no numbers"],
    ["a: *x\n", ["UNKNOWN_ANCHOR 1:4+2"], "an alias of nothing"],
    ["x: &a\n  y: *a\n", ["ALIAS_CYCLE 2:6+2"], "a value inside itself"],
    ["<<: 1\n", ["YAML_SYNTAX 1:1+2"], "a merge of no mapping"],
    ["", ["FILE_EMPTY 1:1+1"], "nothing"],
    ["# only\n\n", ["FILE_EMPTY 1:1+1"], "only a comment"],
    ["---\n", ["FILE_EMPTY 1:1+1"], "only the beginning of a document"],
    ["a: x\0y", ["NOT_TEXT 1:5+1"], "binary"],
    ["a: \uFFFD", ["NOT_TEXT 1:4+1"], "what was not UTF-8"],
  ])("%j is rejected with its position: %s", (text, expected) => {
    expect(summarize(text, "a.yaml")).toEqual(expected)
  })

  test("has no document after a structural error, but has one after a duplicate key", () => {
    expect(parseDocument("a: [1\nb: 2", "a.yaml").document).toBeUndefined()
    // Further checks use the first value.
    expect(parseDocument("a: 1\na: 2\n", "a.yaml").document?.data).toEqual({ a: 1 })
  })

  test("suggests a fix for an unquoted template and for a star", () => {
    expect(parseDocument("a: {{ input }}\n", "a.yaml").diagnostics[0]?.message).toContain("in quotes")
    expect(parseDocument("a: *.ts\n", "a.yaml").diagnostics[0]?.message).toContain("in quotes")
    expect(parseDocument("a: &base 1\nb: *bsae\n", "a.yaml").diagnostics[0]?.suggestion).toBe("*base")
  })

  test("warns about whole numbers that lose digits", () => {
    const { document, diagnostics } = parseDocument("id: 12345678901234567890\nok: 1e300\n", "a.yaml")
    expect(diagnostics).toMatchObject([{ severity: "warning", code: "NUMBER_INEXACT", place: { line: 1 } }])
    expect(document).toBeDefined()
  })

  test("keeps keys as written", () => {
    const { data } = parseDocument("1: a\ntrue: b\n~: c\n0x1F: d\n'': e\n", "a.yaml").document ?? {}
    expect(data).toEqual({ "1": "a", true: "b", "~": "c", "0x1F": "d", "": "e" })
  })

  test("is read as YAML 1.2, even if it declares another version", () => {
    expect(parseDocument("%YAML 1.1\n---\na: yes\nb: 2024-01-01\n", "a.yaml").document?.data).toEqual({
      a: "yes",
      b: "2024-01-01",
    })
  })

  test("may begin with a byte order mark and have Windows line endings", () => {
    const { document } = parseDocument("\uFEFFa: 1\r\nb:\r\n  - x\r\n", "a.yaml")
    expect(document?.data).toEqual({ a: 1, b: ["x"] })
    expect(document?.place(["a"], "key")).toEqual({ file: "a.yaml", line: 1, column: 1, length: 1 })
    expect(document?.place(["b", 0])).toEqual({ file: "a.yaml", line: 3, column: 5, length: 1 })
  })
})

describe("a YAML file with the same mistake many times", () => {
  test("reports a hundred of them, each at its position", () => {
    const brackets = Array.from({ length: 1_000 }, (_, i) => `k${i}: [\n`).join("")
    expect(summarize(brackets, "a.yaml")).toEqual(
      Array.from({ length: 100 }, (_, i) => `YAML_SYNTAX ${i + 1}:${4 + String(i).length}+1`),
    )
    const aliases = Array.from({ length: 1_000 }, (_, i) => `- &a${i} x\n- *b${i}\n`).join("")
    expect(summarize(aliases, "a.yaml")).toHaveLength(100)
  })

  test("reports the first of countless invalid escapes", () => {
    expect(summarize(`a: "${"\\q".repeat(100_000)}"`, "a.yaml")).toEqual(["YAML_SYNTAX 1:5+2"])
    expect(summarize(`a: "${"\\n\\x41\\u0041".repeat(10_000)}"`, "a.yaml")).toEqual([])
  })
})

describe("anchors", () => {
  test("are copied, not shared, by aliases and merge keys, and written entries take precedence", () => {
    const text =
      "base: &b { k: 1, l: { m: 2 } }\nc: *b\nd:\n  l: 3\n  <<: *b\ne:\n  <<: [*b, { z: 1, k: 9 }]\n"
    const data = parseDocument(text, "a.yaml").document?.data as Record<string, unknown>
    expect(data).toEqual({
      base: { k: 1, l: { m: 2 } },
      c: { k: 1, l: { m: 2 } },
      d: { k: 1, l: 3 },
      e: { k: 1, l: { m: 2 }, z: 1 },
    })
    expect(data.c).not.toBe(data.base)
  })

  test("may be used often", () => {
    const text = `a: &a { x: 1 }\nlist:\n${"  - *a\n".repeat(1000)}`
    expect(parseDocument(text, "a.yaml").diagnostics).toEqual([])
  })

  test("cannot make a small file huge", () => {
    const levels = Array.from(
      { length: 30 },
      (_, i) => `l${i + 1}: &l${i + 1} [${"*l".concat(`${i}, `).repeat(9)}]`,
    )
    const text = `l0: &l0 [x, x, x]\n${levels.join("\n")}\n`
    const { diagnostics } = parseDocument(text, "a.yaml")
    expect(diagnostics.map(({ code }) => code)).toEqual(["ALIAS_LIMIT"])
  })

  test("cannot make a small file huge with a long string", () => {
    const text = `a: &a ${"x".repeat(1_000_000)}\nlist:\n${"  - *a\n".repeat(1_000)}`
    const { document, diagnostics } = parseDocument(text, "a.yaml")
    expect(diagnostics).toMatchObject([{ code: "ALIAS_LIMIT", place: { line: 12 } }])
    expect(diagnostics[0]?.message).toContain("10 MB of text")
    // An omitted value would otherwise be reported as missing.
    expect(document).toBeUndefined()
  })

  test("cannot nest without limit", () => {
    const levels = Array.from({ length: 50 }, (_, i) => `l${i + 1}: &l${i + 1} [[[[[[[[[[*l${i}]]]]]]]]]]`)
    const { diagnostics } = parseDocument(`l0: &l0 x\n${levels.join("\n")}\n`, "a.yaml")
    expect(diagnostics[0]).toMatchObject({ code: "TOO_DEEP", place: { line: 21 } })
  })
})

describe("a JSON file", () => {
  test("parses like JSON.parse", () => {
    const text = '{"a": [1, -2.5e3, true, null, "x\\n\\u00e9\\"\\/"], "b": {}, "c": []}'
    const { document, diagnostics } = parseDocument(text, "a.json")
    expect(diagnostics).toEqual([])
    expect(document?.format).toBe("json")
    expect(document?.data).toEqual(JSON.parse(text))
  })

  test.each([
    ['{\n  "a": 1,\n}\n', ["JSON_SYNTAX 2:9+1"], "a comma after the last"],
    ['// hi\n{"a": 1 /* x */}', ["JSON_SYNTAX 1:1+5", "JSON_SYNTAX 2:9+7"], "comments"],
    ["{'a': 1, b: 2}", ["JSON_SYNTAX 1:2+1", "JSON_SYNTAX 1:10+1"], "keys without double quotes"],
    ['{"a": 1 "b": 2}', ["JSON_SYNTAX 1:9+1"], "a comma is missing"],
    ['{"a": None, "b": tru}', ["JSON_SYNTAX 1:7+4", "JSON_SYNTAX 1:18+3"], "words"],
    ["[01, +1, .5, 1.]", [1, 2, 3, 4].map((_, i) => `JSON_SYNTAX 1:${[2, 6, 10, 14][i]}+2`), "numbers"],
    ['{"a": "x\ny"}', ["JSON_SYNTAX 1:7+2"], "a string over two lines"],
    [
      '["a\tb", "\\q", "\\u12"]',
      ["JSON_SYNTAX 1:4+1", "JSON_SYNTAX 1:10+2", "JSON_SYNTAX 1:16+2"],
      "escapes",
    ],
    ['{"a": [1, 2', ["JSON_SYNTAX 1:7+1"], "a bracket is never closed"],
    ['{"a": 1}}', ["JSON_SYNTAX 1:9+1"], "more than one value"],
    ["[1,,2]", ["JSON_SYNTAX 1:4+1"], "a value is missing"],
    ['{"a": 1,\n "a": 2}', ["DUPLICATE_KEY 2:2+3"], "a key twice"],
    ["[1e999]", ["NOT_JSON 1:2+5"], "a number too large"],
    ["  \n", ["FILE_EMPTY 1:1+1"], "nothing"],
  ])("%j is rejected with its position: %s", (text, expected) => {
    expect(summarize(text, "a.json")).toEqual(expected)
  })

  test.each([
    ["[},".repeat(10_000), "TOO_DEEP"],
    ['{"a": ['.repeat(10_000), "TOO_DEEP"],
    [`[${",".repeat(2_600_000)}`, "FILE_TOO_LARGE"],
    [`[${"a ".repeat(600_000)}`, "FILE_TOO_LARGE"],
    [`{${'"":'.repeat(1_300_000)}`, "FILE_TOO_LARGE"],
    [`[${"1 ".repeat(400_000)}`, "JSON_SYNTAX"],
    [`["${"\\q".repeat(100_000)}"]`, "JSON_SYNTAX"],
  ])("reports one error for a flood of mistakes: %#", (text, code) => {
    expect(parseDocument(text, "a.json").diagnostics.map((one) => one.code)).toEqual([code])
  })

  test("reports a comment and the mistakes around it, also a comment with #", () => {
    expect(summarize('{"a": None, // x, y\n "b": 2,}', "a.json")).toEqual([
      "JSON_SYNTAX 1:7+4",
      "JSON_SYNTAX 1:13+7",
      "JSON_SYNTAX 2:8+1",
    ])
    expect(summarize('{"a": 1, # one\n "b": tru}', "a.json")).toEqual([
      "JSON_SYNTAX 1:10+5",
      "JSON_SYNTAX 2:7+3",
    ])
  })

  test("suggests what was probably meant", () => {
    const { diagnostics } = parseDocument('{"a": None, "b": tru, c: 1}', "a.json")
    expect(diagnostics.map(({ suggestion }) => suggestion)).toEqual(["null", "true", '"c"'])
  })

  test("is recognised by its first character if its name has no known extension", () => {
    expect(parseDocument(' {"a": 1}', "-").document?.format).toBe("json")
    expect(parseDocument("{a: 1}", "-").document?.format).toBe("yaml")
    expect(parseDocument("a: 1", "-").document?.format).toBe("yaml")
    expect(summarize('{"a": [}', "-")).toEqual(["JSON_SYNTAX 1:8+1"])
  })
})

describe.each(["a.yaml", "a.json"])("%s", (file) => {
  test("cannot change a prototype", () => {
    const { document } = parseDocument('{"__proto__": {"polluted": true}, "constructor": 1}', file)
    const data = document?.data as Record<string, unknown>
    expect(Object.keys(data)).toEqual(["__proto__", "constructor"])
    expect(Object.getPrototypeOf(data)).toBe(Object.prototype)
    expect(data.polluted).toBeUndefined()
    expect(document?.place(["__proto__", "polluted"])).toMatchObject({ column: 28, length: 4 })
  })

  test("may be nested 200 levels deep, and no deeper", () => {
    expect(summarize("[".repeat(200) + "]".repeat(200), file)).toEqual([])
    expect(summarize("[".repeat(201) + "]".repeat(201), file)).toEqual(["TOO_DEEP 1:201+1"])
    expect(summarize("[".repeat(50_000), file)).toEqual(["TOO_DEEP 1:201+1"])
  })

  test("has at most 10 MB, counted in bytes", () => {
    expect(summarize("é".repeat(MAX_FILE_SIZE / 2 + 1), file)).toEqual(["FILE_TOO_LARGE 1:1+1"])
    expect(parseDocument(`"${"x".repeat(MAX_FILE_SIZE - 2)}"`, file).diagnostics).toEqual([])
  })

  test("has at most half a million values", () => {
    expect(summarize(`[${"1,".repeat(600_000)}1]`, file).map((one) => one.split(" ")[0])).toEqual([
      "FILE_TOO_LARGE",
    ])
  })
})

const shared = { id: "a" }
const document = {
  id: "story",
  texts: [
    "yes",
    "1e3",
    "null",
    "",
    "  two lines\nand a tab\t",
    "{{ $steps.a.output }}",
    "# no comment",
    "é 漢 🎈",
    " \n",
    "a sign that was no text: \uFFFD",
    "\x00\x07\x1b[31m\x7f\n\uFFFD",
  ],
  "\x7f a key \uFFFD": 1,
  "<<": { id: "no merge" },
  parts: [shared, shared],
  prompt: `${"a long sentence that is not broken anywhere ".repeat(5)}\nand continues`,
}

test.each(["yaml", "json"] as const)("data written as %s parses to the same data", (format) => {
  const text = documentText(document, format)
  expect(text.endsWith("\n")).toBe(true)
  expect(parseDocument(text, `file.${format}`).document?.data).toEqual(document)
})

test("YAML is readable: no aliases, long strings in blocks", () => {
  const text = documentText(document, "yaml")
  expect(text).not.toContain("&")
  expect(text).toContain("prompt: |")
})

test("any object parses from YAML to the same data", () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.string({
        unit: fc.oneof(
          fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
          fc.constantFrom(..."\uFFFD\x7f\x00\x85\u2028\uFEFF\r\n\t :#'\""),
        ),
      }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.string({ minLength: 1, unit: "binary" }), tie("value"), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
    ),
  })).value
  fc.assert(
    fc.property(value, (inner) => {
      const data = { inner } as never
      expect(parseDocument(documentText(data, "yaml"), "any.yaml").document?.data).toEqual(data)
    }),
    { numRuns: 100 },
  )
})
