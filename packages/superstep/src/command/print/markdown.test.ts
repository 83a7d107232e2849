import { PassThrough } from "node:stream"
import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import { terminal, widthOf } from "../terminal/terminal.ts"
import { markdownWriter, printMarkdown } from "./markdown.ts"

function screen(columns = 40, isTTY = true, env: Record<string, string> = { NO_COLOR: "1" }) {
  const stream = Object.assign(new PassThrough(), { isTTY, columns })
  let text = ""
  stream.setEncoding("utf8").on("data", (more: string) => {
    text += more
  })
  return { out: terminal(stream, { env }), text: () => text }
}

function rendered(markdown: string, columns?: number): string[] {
  const { out, text } = screen(columns)
  printMarkdown(out, markdown)
  return text().replace(/\n$/, "").split("\n")
}

describe("on a terminal", () => {
  it("shows headings, emphasis, code and links without their marks", () => {
    expect(rendered("# Title\nA **bold** and *slanted* `a*b` in snake_case_name, 2 * 3 * 4.")).toEqual([
      "Title",
      "A bold and slanted a*b in",
      "snake_case_name, 2 * 3 * 4.",
    ])
    expect(rendered("See [docs](https://x.y/z) \\*not\\*.")).toEqual(["See docs (https://x.y/z) *not*."])
  })

  it("indents the lines of a list below their text", () => {
    expect(rendered("- one two three four five\n  1. four five six seven\n- [x] done", 20)).toEqual([
      "• one two three four",
      "  five",
      "  1. four five six",
      "     seven",
      "☑ done",
    ])
  })

  it("keeps code as it is, and does not look for emphasis in it", () => {
    const long = "x".repeat(60)
    expect(rendered(`\`\`\`ts\nconst a = **1**\n${long}\n\`\`\`\nafter`)).toEqual([
      "    ts",
      "    const a = **1**",
      `    ${long}`,
      "after",
    ])
  })

  it("aligns tables, and wraps their cells", () => {
    const table = "| name | n |\n|:-----|--:|\n| a | 10 |\n| a long cell here | 7 |"
    expect(rendered(`${table}\nend`, 20)).toEqual([
      "name            │  n",
      "────────────────┼───",
      "a               │ 10",
      "a long cell     │  7",
      "here            │",
      "end",
    ])
  })

  it("paints with colours if it has them", () => {
    const { out, text } = screen(40, true, {})
    printMarkdown(out, "**b** `c`")
    expect(text()).toBe("\x1B[1mb\x1B[0m \x1B[35mc\x1B[0m\n")
  })

  it("prints a line as soon as it is complete, and the rest when it is flushed", () => {
    const { out, text } = screen()
    const writer = markdownWriter(out)
    writer.write("**on")
    expect(text()).toBe("")
    writer.write("e**\ntw")
    expect(text()).toBe("one\n")
    writer.flush()
    expect(text()).toBe("one\ntw\n")
  })
})

test("a pipe receives the text unchanged", () => {
  const { out, text } = screen(40, false)
  printMarkdown(out, "# T\n\n**b**")
  expect(text()).toBe("# T\n\n**b**\n")
})

test("no escape sequence of a model reaches the terminal, in any position", () => {
  const attack = "\x1B]0;owned\x07 \x1B[2J `\x1B[31m` [a\x9B](b\x1B) | \x1B[5m |"
  for (const shape of [
    attack,
    `# ${attack}`,
    `- ${attack}`,
    `| ${attack} |\n|---|\n`,
    `\`\`\`${attack}\n${attack}\n`,
  ]) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be printed.
    expect(rendered(shape).join("\n")).not.toMatch(/[\x00-\x09\x0B-\x1F\x7F-\x9F]/)
  }
})

test("whatever the text is, no line is too wide, no letter is lost, and it ends", () => {
  const marks = fc.constantFrom(
    "*",
    "**",
    "_",
    "`",
    "```",
    "|",
    "[",
    "](",
    ")",
    "#",
    "- ",
    "> ",
    "\n",
    " ",
    "\\",
    "word",
    "漢字",
  )
  fc.assert(
    fc.property(fc.array(marks, { maxLength: 60 }), (parts) => {
      const text = parts.join("")
      const lines = rendered(text, 20)
      if (!/```|\|/.test(text)) for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(20)
      const letters = (all: string) => all.replace(/[^a-z漢字]/g, "")
      expect(letters(lines.join(""))).toBe(letters(text))
    }),
  )
})
