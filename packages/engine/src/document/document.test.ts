import { describe, expect, test } from "vitest"
import type { Part, Path } from "./diagnostic.ts"
import { parseDocument } from "./parse-document.ts"

/** The text that a source range underlines. */
function underlined(text: string, path: Path, part?: Part, file = "a.yaml"): string {
  const { document, diagnostics } = parseDocument(text, file)
  if (document === undefined) throw new Error(JSON.stringify(diagnostics))
  const { line, column, length } = document.place(path, part)
  const found = text.split(/\r?\n/)[line - 1] ?? ""
  return `${line}: ${found.slice(column - 1, column - 1 + length)}`
}

const WORKFLOW = `agents:
  root:
    model: openai/gpt
    tools: [a, "b c", {name: d}]
steps:
  - id: one
    next:
`

describe("the position", () => {
  test.each<[Path, Part | undefined, string]>([
    [["agents", "root", "model"], undefined, "3: openai/gpt"],
    [["agents", "root", "model"], "key", "3: model"],
    [["agents", "root", "tools", 1], undefined, '4: "b c"'],
    [["agents", "root", "tools", 2, "name"], undefined, "4: d"],
    [["steps", 0, "id"], "key", "6: id"],
  ])("of %j (%j) is %j", (path, part, expected) => {
    expect(underlined(WORKFLOW, path, part)).toBe(expected)
  })

  test.each<[Path, string, string]>([
    [[], "1: agents:", "the file: its first line"],
    [["agents", "root"], "3: model: openai/gpt", "a mapping: its first line"],
    [["steps", 0, "next"], "7: next", "an empty value: its key"],
    [["agents", "root", "prompt"], "2: root", "a missing field: the key of what it is missing from"],
    [["agents", "root", "model", "x"], "3: model", "a field of a string: the key of the string"],
    [["steps", 5], "5: steps", "a missing item: the key of the list"],
    [["steps", 0, "agent"], "6: id: one", "a field missing from an item: the item's first line"],
    [["nothing", "at", "all"], "1: agents:", "nothing there"],
  ])("of %j is %j: %s", (path, expected) => {
    expect(underlined(WORKFLOW, path)).toBe(expected)
  })

  test("is that of an anchor's value, and of an alias itself", () => {
    const text = "a: &x { k: hello }\nb: *x\nc: &t say\nd: *t\n"
    expect(underlined(text, ["b"])).toBe("2: *x")
    expect(underlined(text, ["b", "k"])).toBe("1: hello")
    expect(underlined(text, ["d"], { from: 1, to: 2 })).toBe("3: a")
  })

  test("is known for JSON as well", () => {
    const text = '{\n  "a": {"b": [1, 20]}\n}'
    expect(underlined(text, ["a", "b", 1], undefined, "a.json")).toBe("2: 20")
    expect(underlined(text, ["a", "b"], "key", "a.json")).toBe('2: "b"')
    expect(underlined(text, ["a", "c"], undefined, "a.json")).toBe('2: "a"')
  })
})

describe("the range of characters inside a string", () => {
  const find = (text: string, word: string, file = "a.yaml") => {
    const { t: value } = (parseDocument(text, file).document?.data ?? { t: "" }) as { t: string }
    const from = value.indexOf(word)
    return underlined(text, ["t"], { from, to: from + word.length }, file)
  }

  test.each([
    ["t: say steps.one now", "1: steps.one", "plain"],
    ["t: say\n  and steps.one\n\n  now", "2: steps.one", "plain over several lines"],
    ["t: |\n  say\n\n    steps.one\n  now\n", "4: steps.one", "literal block"],
    ["t: |2-  # note\n   say\n  steps.one\n\n", "3: steps.one", "literal block with a header"],
    ["t: >\n  say\n  and\n\n    steps.one\n  now\n", "5: steps.one", "folded block"],
    ["t: |\r\n  say\r\n  steps.one\r\n", "3: steps.one", "block with the line ends of Windows"],
    ["t: 'it''s steps.one'", "1: steps.one", "single quotes"],
    ['t: "\\t\\"\\x41\\u00e9\\U0001F600 \\\n  steps.one"', "2: steps.one", "double quotes with escapes"],
    ['t: "a\n\n  b steps.one"', "3: steps.one", "double quotes over several lines"],
    ["t: &a !!str steps.one", "1: steps.one", "behind an anchor and a tag"],
    ["t: 😀 steps.one", "1: steps.one", "behind an emoji"],
  ])("%j: %s", (text, expected) => {
    expect(find(text, "steps.one")).toBe(expected)
  })

  test("is exact in JSON, with its escapes", () => {
    expect(find('{"t": "\\n\\ud83d\\ude00\\/ steps.one \\\\"}', "steps.one", "a.json")).toBe("1: steps.one")
    expect(find('{"t": "a\\u0062c"}', "b", "a.json")).toBe("1: \\u0062")
  })

  test("is found fast, for long strings and for many lookups", () => {
    const wide = `t: "\\t${" ".repeat(1_000_000)}steps.one"`
    expect(find(wide, "steps.one")).toBe("1: steps.one")
    const lines = `t: |\n${"  say steps.one\n".repeat(20_000)}`
    const { document } = parseDocument(lines, "a.yaml")
    for (let i = 0; i < 20_000; i++) {
      const from = i * "say steps.one\n".length + "say ".length
      expect(document?.place(["t"], { from, to: from + 9 })).toEqual({
        file: "a.yaml",
        line: i + 2,
        column: 7,
        length: 9,
      })
    }
  })

  test("keeps spaces where they are", () => {
    expect(underlined("t: a  b", ["t"], { from: 1, to: 3 })).toBe("1:   ")
    expect(underlined("t: |\n  a\n    b\n", ["t"], { from: 2, to: 5 })).toBe("3:   b")
  })

  test("ends with its first line, and is the whole value if it is unknown", () => {
    expect(underlined("t: |\n  a b\n  c d\n", ["t"], { from: 2, to: 6 })).toBe("2: b")
    expect(underlined("t: hello", ["t"], { from: 9, to: 12 })).toBe("1: hello")
    expect(underlined("t: 25", ["t"], { from: 0, to: 1 })).toBe("1: 25")
    expect(underlined("t: hello", ["t"], { from: 5, to: 5 })).toBe("1: ")
  })
})
