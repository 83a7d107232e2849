import { describe, expect, test } from "vitest"
import { citedIn, mapCitations } from "./citations.ts"
import { finishReport } from "./report.ts"
import { failedSection, sectionText } from "./section-text.ts"

const A = { url: "https://a.example/", title: "A" }
const B = { url: "https://b.example/x", title: "B" }
const C = { url: "notes.md:3", title: "notes.md:3" }
const body = (text: string, sources = [A, B, C]) => finishReport(text, sources).split("\n\n## Sources")[0]
const listed = (text: string, sources = [A, B, C]) =>
  finishReport(text, sources).split("## Sources\n\n")[1]?.trim()

describe("a report", () => {
  test("has sources for all its numbers, once each, in the order of the text (R1, R2)", () => {
    expect(finishReport("One [3]. Two [1]. Three [3].", [A, B, C])).toBe(
      "One [1]. Two [2]. Three [1].\n\n## Sources\n\n1. notes.md:3\n2. [A](<https://a.example/>)\n",
    )
  })

  test("loses numbers that no source has (R1)", () => {
    expect(body("One [1]. Two [7]. Three [0][2].")).toBe("One [1]. Two. Three [2].")
    expect(finishReport("One [7].", [])).toBe("One.\n")
  })

  test.each([
    ["lists", "x [1, 3]", "x [1][2]"],
    ["ranges", "x [1-3]", "x [1][2][3]"],
    ["ranges that are longer than the sources", "x [2–9]", "x [1][2]"],
    ["footnotes", "x[^2]", "x[1]"],
    ["links", "x [1](https://evil.example/a_(b))", "x [1]"],
    ["twice the same", "x [1] [2, 1]", "x [1][2]"],
  ])("reads %s of numbers", (_, text, expected) => {
    expect(body(text)).toBe(expected)
  })

  test("leaves years, code and other brackets alone", () => {
    const text = "In [2024] `list[1]` was [sic].\n\n```js\nlist[9]\n```"
    expect(body(`${text} x [1]`)).toBe(`${text} x [1]`)
  })

  test.each([
    ["a heading", "Text [1].\n\n## References\n\n[1] somewhere else\n"],
    ["a bold line", "Text [1].\n\n**Sources:**\n- https://x.example"],
    ["a plain line", "Text [1].\n\nSources:\n[1] a\n[2] b"],
    ["definitions", "Text [1].\n\n[1]: https://x.example\n[^2]: https://y.example"],
  ])("lists its sources once, also where the model listed some after %s", (_, text) => {
    expect(finishReport(text, [A])).toBe("Text [1].\n\n## Sources\n\n1. [A](<https://a.example/>)\n")
  })

  test("keeps what comes after a list of sources in the middle", () => {
    expect(body("Text [1].\n\n## Sources\n\n- x\n\n## Outlook\n\nMore [2].")).toBe(
      "Text [1].\n\n## Outlook\n\nMore [2].",
    )
  })

  test("that cites nothing lists what it was written from", () => {
    expect(listed("Text.", [A, C])).toBe("1. [A](<https://a.example/>)\n2. notes.md:3")
  })

  test("makes no links and markup of strangers' titles and addresses", () => {
    const odd = { url: "https://a.example/x)<y> [z](evil)", title: "![x](https://evil.example)\n# Big *b*" }
    const bad = { url: "javascript:alert(1)", title: "Click" }
    expect(listed("x [1] y [2]", [odd, bad])).toBe(
      `1. [\\!\\[x\\](https://evil.example) \\# Big \\*b\\*](<https://a.example/x)%3Cy%3E%20[z](evil)>)\n2. Click (javascript:alert(1))`,
    )
  })
})

describe("a section", () => {
  test("is under its heading, with numbers of the whole, and headings below its own", () => {
    const draft = "# Green tea\n\nGreen [1]. Unknown [5].\n\n# Taste\n\nBitter [2].\n\n## Sources\n\n1. x"
    expect(sectionText("Green", draft, (local) => [4, 7][local - 1])).toBe(
      "# Green\n\nGreen [4]. Unknown.\n\n## Taste\n\nBitter [7].",
    )
  })

  test("that failed says why", () => {
    expect(failedSection("Green", "no model")).toBe("# Green\n\n[Research failed: no model]")
  })
})

test("numbers are found in the order in which they occur", () => {
  expect(citedIn("a [3] b [1,2] `[9]` c [3]")).toEqual([3, 1, 2])
  expect(mapCitations("a [3] b [1,2]", (n) => (n === 2 ? undefined : n + 10))).toBe("a [13] b [11]")
})
