import { describe, expect, test } from "vitest"
import { cellWidth } from "../text/index.ts"
import type { Diagnostic } from "./diagnostic.ts"
import { printDiagnostics } from "./print-diagnostics.ts"

const at = (line: number, column: number, length: number, file = "flow.yaml") => ({
  file,
  line,
  column,
  length,
})

function error(message: string, place?: Diagnostic["place"], suggestion?: string): Diagnostic {
  return {
    severity: "error",
    code: "BAD",
    message,
    ...(place !== undefined && { place }),
    ...(suggestion !== undefined && { suggestion }),
  }
}

function print(diagnostics: readonly Diagnostic[], text: string, width?: number): string {
  return printDiagnostics(diagnostics, () => text, { color: false, ...(width !== undefined && { width }) })
}

/** The source line and the underline of one diagnostic. */
function excerpt(text: string, column: number, length: number, width?: number): string[] {
  return print([error("No.", at(1, column, length))], text, width)
    .split("\n")
    .slice(2, 4)
}

describe("diagnostics on a terminal", () => {
  test("have position, severity and code, a message, the underlined source, a suggestion, and a count", () => {
    const text = "agents:\n  - translator\nsteps:\n  - agent: transaltor\n"
    const warning: Diagnostic = {
      severity: "warning",
      code: "UNUSED",
      message: "Nobody uses it.",
      place: at(2, 5, 10),
    }
    expect(print([error("There is no agent here.", at(4, 12, 10), "translator"), warning], text)).toBe(
      `flow.yaml:2:5: warning UNUSED
  Nobody uses it.
  2 |   - translator
    |     ^~~~~~~~~~

flow.yaml:4:12: error BAD
  There is no agent here.
  4 |   - agent: transaltor
    |            ^~~~~~~~~~ did you mean \`translator\`?

1 error, 1 warning
`,
    )
  })

  test("are in the order of the text, file by file, those without a position separately", () => {
    const all = [
      error("x", at(9, 1, 1, "b.yaml")),
      error("x"),
      error("x", at(2, 5, 1, "a.yaml")),
      error("x", at(2, 1, 1, "a.yaml")),
      error("x", at(3, 1, 1, "b.yaml")),
    ]
    const heads = printDiagnostics(all, () => undefined, { color: false })
      .split("\n")
      .filter((line) => line.includes("error BAD"))
    expect(heads).toEqual([
      "b.yaml:3:1: error BAD",
      "b.yaml:9:1: error BAD",
      "error BAD",
      "a.yaml:2:1: error BAD",
      "a.yaml:2:5: error BAD",
    ])
  })

  test("without a source still have their message", () => {
    expect(printDiagnostics([error("No.", at(1, 1, 1), "yes")], () => undefined, { color: false })).toBe(
      "flow.yaml:1:1: error BAD\n  No.\n  did you mean `yes`?\n\n1 error\n",
    )
  })

  test("are empty if there are none, and limited if there are too many", () => {
    expect(print([], "x")).toBe("")
    const many = Array.from({ length: 250 }, (_, i) => error("No.", at(i + 1, 1, 1)))
    expect(print(many, "x\n".repeat(250))).toMatch(/… and 150 more\n\n250 errors\n$/)
  })

  test("wrap long sentences, words and suggestions", () => {
    const text = print(
      [error(`${"long words ".repeat(20)}${"x".repeat(200)}`, at(1, 1, 4), "y ".repeat(90))],
      "some",
    )
    for (const line of text.split("\n")) expect(cellWidth(line)).toBeLessThanOrEqual(80)
  })

  test("have colours on request, and no escape codes otherwise", () => {
    const one = [error("No.", at(1, 1, 4), "same")]
    const coloured = printDiagnostics(one, () => "some", { color: true })
    expect(coloured).toContain("\x1B[1;31merror BAD\x1B[0m")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are made of
    expect(coloured.replace(/\x1B\[[\d;]*m/g, "")).toBe(print(one, "some"))
    expect(print(one, "some")).not.toContain("\x1B")
  })
})

describe("the underline", () => {
  test.each([
    ["日本語: x", 1, 3, "  1 | 日本語: x", "    | ^~~~~~", "wide characters count twice"],
    ["日本: 値x", 5, 2, "  1 | 日本: 値x", "    |       ^~~", "and push what follows"],
    ["👩‍💻: x", 8, 1, "  1 | 👩‍💻: x", "    |     ^", "a joined emoji is one"],
    ["e\u0301a: x", 3, 1, "  1 | e\u0301a: x", "    |  ^", "an accent belongs to its letter"],
    ["\ta: x", 2, 1, "  1 |     a: x", "    |     ^", "tabs become spaces"],
    ["ab\tc", 4, 1, "  1 | ab  c", "    |     ^", "up to the next stop"],
    ["a: 😀", 5, 1, "  1 | a: 😀", "    |    ^~", "half an emoji is all of it"],
    ["a:", 3, 1, "  1 | a:", "    |   ^", "just behind the end"],
    ["a: x", 50, 9, "  1 | a: x", "    |     ^", "of a place that is not there, the end"],
  ])("of %j at %i+%i: %5$s", (text, column, length, source, underline) => {
    expect(excerpt(text, column, length)).toEqual([source, underline])
  })

  test("stays visible if the line is long", () => {
    const text = `${"left ".repeat(50)}HERE${" right".repeat(50)}`
    const [source = "", underline = ""] = excerpt(text, 251, 4)
    expect(cellWidth(source)).toBeLessThanOrEqual(80)
    expect(source).toMatch(/^ {2}1 \| ….*HERE.*…$/)
    expect(source.slice(underline.indexOf("^"), underline.lastIndexOf("~") + 1)).toBe("HERE")
    expect(excerpt(`${"x".repeat(200)}`, 1, 200, 40)).toEqual([
      `  1 | ${"x".repeat(32)}…`,
      `    | ^${"~".repeat(31)}`,
    ])
  })

  test("is found fast in a line of megabytes", () => {
    const text = `${"a".repeat(5_000_000)}HERE${"b".repeat(5_000_000)}`
    const [source = "", underline = ""] = excerpt(text, 5_000_001, 4)
    expect(source.slice(underline.indexOf("^"), underline.lastIndexOf("~") + 1)).toBe("HERE")
  })
})

describe("unsafe characters", () => {
  test("never reach the terminal, from the source, the message, the name or the suggestion", () => {
    const bad = "a\x1B[2J\x07\x9B\u202Eb\x7F\u2028c"
    const text = printDiagnostics([error(bad, { ...at(1, 1, 3), file: bad }, bad)], () => bad, {
      color: false,
    })
    expect(text).toContain("a␛[2J␇��b␡�c")
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202E\u2028]/u)
  })
})
