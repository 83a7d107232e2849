import { describe, expect, test } from "vitest"
import { fragments, nested, plainTitle, titleText, withTitle } from "./report-markdown.ts"

describe("headings of Markdown that is a part of a report", () => {
  test("are moved below those of the report, and keep their relative levels", () => {
    expect(nested("# A\n\n## B\n\n#### C ####\n\ntext", 3)).toBe("### A\n\n#### B\n\n###### C\n\ntext")
    expect(nested("## A\n\n# B", 3)).toBe("#### A\n\n### B")
  })

  test("are also moved if they are underlined, in lists and in quotations", () => {
    expect(nested("A\nb\n===\n\nC\n---\n\n> # D\n\n- # E", 2)).toBe("## A b\n\n### C\n\n> ## D\n\n- ## E")
  })

  test("stay unchanged if they are deep enough, and in code", () => {
    expect(nested("#### A\n\n```\n# B\n```\n\n# not\\#", 1)).toBe("#### A\n\n```\n# B\n```\n\n# not\\#")
    expect(nested("no heading", 3)).toBe("no heading")
  })

  test("have at most six levels", () => {
    expect(nested("# A\n\n###### B", 5)).toBe("##### A\n\n###### B")
  })
})

test("the title is the heading at the very beginning", () => {
  const isFirst = (level: number) => level === 1
  expect(withTitle("# Tea *x*\n\nText.", isFirst)).toEqual({ title: "Tea *x*", body: "Text." })
  expect(withTitle("Tea\n===\nText.", isFirst)).toEqual({ title: "Tea", body: "Text." })
  expect(withTitle("Text.\n\n# Tea", isFirst)).toEqual({ body: "Text.\n\n# Tea" })
  expect(withTitle("## Tea\n\nText.", isFirst)).toEqual({ body: "## Tea\n\nText." })
})

test.each([
  ["C# and snake_case, 100 % * 2", "C# and snake_case, 100 % \\* 2"],
  ["**Bold** _x_ `code` [1]", "\\*\\*Bold\\*\\* \\_x\\_ \\`code\\` \\[1\\]"],
  ["<script>alert(1)</script>", "\\<script>alert(1)\\</script>"],
  ["[x](https://evil.example)", "\\[x\\](`https://evil.example`)"],
  ["Ends with ##", "Ends with \\#\\#"],
  ["&lt;b&gt; & co", "\\&lt;b\\&gt; & co"],
  ["two\n\nlines", "two lines"],
])("a planned title is plain words without markup: %s", (title, expected) => {
  expect(titleText(title)).toBe(expected)
})

test("fragments are those that viewers assign to headings, numbered for equal titles", () => {
  expect(fragments(["What's new?", "C# & F#", "Überblick", "What's new?", "\\*\\*x\\*\\* `y`"])).toEqual([
    "whats-new",
    "c--f",
    "überblick",
    "whats-new-1",
    "x-y",
  ])
  expect(plainTitle("A *b* \\[1\\]")).toBe("A b [1]")
})
