import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { citedIn, mapCitations } from "./citations.ts"
import { finishReport, joinSections, reportMarkdown } from "./finish-report.ts"
import type { ResearchSource } from "./report.ts"

const A = { url: "https://a.example/", title: "A" }
const B = { url: "https://b.example/x", title: "B" }
const C = { url: "notes.md:3", title: "notes.md:3" }

/** Undefined: the writer did not receive it. */
function finished(
  text: string,
  evidence: readonly (ResearchSource | undefined)[],
  incomplete = [] as never[],
) {
  const all = evidence.map((one) => one ?? B)
  const isShown = (place: number) => evidence[place] !== undefined
  return finishReport({ question: "Q?", text, evidence: all, isShown, incomplete })
}

const report = (text: string, evidence: readonly (ResearchSource | undefined)[]) =>
  reportMarkdown(finished(text, evidence))
/** The text without its lists and marks. */
const body = (text: string, sources = [A, B, C]) =>
  report(text, sources)
    .split(/\n\n(?:###? (?:Sources|Also read)|No source is cited)/)[0]
    ?.replaceAll(" *(no source)*", "")
    .trimEnd()
const listed = (text: string, sources: readonly ResearchSource[] = [A, B, C]) =>
  report(text, sources).split("## Sources\n\n")[1]?.split("\n\n")[0]?.trim()

describe("a report", () => {
  test("has sources for all its numbers, once each, in the order of the text (R1, R2)", () => {
    expect(report("One [3]. Two [1]. Three [3].", [A, B, C])).toBe(
      "One [1]. Two [2]. Three [1].\n\n## Sources\n\n1. notes.md:3\n2. [A](<https://a.example/>)\n\n### Also read\n\n- [B](<https://b.example/x>)\n",
    )
  })

  test("loses numbers without a source (R1)", () => {
    expect(body("One [1]. Two [7]. Three [0][2].")).toBe("One [1]. Two. Three [2].")
    expect(body("One [7].", [])).toBe("One.")
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

  test("leaves years, code and other brackets unchanged", () => {
    const text = "In [2024] `list[1]` was [sic].\n\n```js\nlist[9]\n```"
    expect(body(`${text}\n\nx [1]`)).toBe(`${text}\n\nx [1]`)
  })

  test("lists its sources below code that the model did not close", () => {
    expect(report("x [1]\n\n```js\nlist[9]", [A])).toBe(
      "x [1]\n\n```js\nlist[9]\n```\n\n## Sources\n\n1. [A](<https://a.example/>)\n",
    )
  })

  test.each([
    ["a heading", "Text [1].\n\n## References\n\n[1] somewhere else\n"],
    ["a bold line", "Text [1].\n\n**Sources:**\n- https://x.example"],
    ["a plain line", "Text [1].\n\nSources:\n[1] a\n[2] b"],
    ["definitions", "Text [1].\n\n[1]: https://x.example\n[^2]: https://y.example"],
    ["a heading, with headings below it", "Text [1].\n\n## References\n\n### Books\n\n- a book"],
    ["a heading, with code in it", "Text [1].\n\n## References\n\n- `a` https://x.example\n- `b` y\n"],
    ["a heading in another language", "Text [1].\n\n## Références\n\n- x"],
    ["a heading of two words", "Text [1].\n\n### 7. **Sources and References**\n\n- x"],
    ["a line that is drawn under", "Text [1].\n\nReferences\n----------\n1. x\n   more of it"],
  ])("lists its sources once, even if the model listed some after %s", (_, text) => {
    expect(report(text, [A])).toBe("Text [1].\n\n## Sources\n\n1. [A](<https://a.example/>)\n")
  })

  test("keeps what comes after a list of sources in the middle", () => {
    expect(body("Text [1].\n\n## Sources\n\n- x\n\n## Outlook\n\nMore [2].")).toBe(
      "Text [1].\n\n## Outlook\n\nMore [2].",
    )
    expect(body("Text [1].\n\n**Sources:**\n- x\n\nIn short: tea [2].")).toBe(
      "Text [1].\n\nIn short: tea [2].",
    )
    expect(body("Sources of tea are many [1].\n\n## Water sources\n\nRivers.")).toBe(
      "Sources of tea are many [1].\n\n## Water sources\n\nRivers.",
    )
  })

  test("without citations lists what was read, and reports that nothing has a source (R4, R5)", () => {
    expect(report("Text.", [A, C])).toBe(
      "Text. *(no source)*\n\n## Also read\n\n- [A](<https://a.example/>)\n- notes.md:3\n\nNo source is cited for 1 of 1 statements.\n",
    )
  })

  test("cites only sources that its writer received", () => {
    expect(report("One [1]. Two [2]. [B](https://b.example/x).", [A, undefined])).toBe(
      "One [1]. Two. B.\n\n## Sources\n\n1. [A](<https://a.example/>)\n\n### Also read\n\n- [B](<https://b.example/x>)\n",
    )
  })

  test("begins with its problems, whose reasons create no links or source numbers", () => {
    const reason = "[x](https://evil.example) [1] <https://evil.example>\n# Big"
    const problem = { source: "web", reason }
    const text = reportMarkdown(finished("Text [1].", [A], [problem, problem] as never[]))
    const [first = "", ...rest] = text.split("\n\n")
    expect(rest[0]).toBe("Text [1].")
    expect(citedIn(first)).toEqual([])
    expect(first).toBe(
      "Incomplete: web: \\[x\\](`https://evil.example`) \\[1\\] \\<`https://evil.example`\\> # Big",
    )
  })

  test("untrusted titles and addresses produce no links or markup", () => {
    const odd = { url: "https://a.example/x)<y> [z](evil)", title: "![x](https://evil.example)\n# Big *b*" }
    const bad = { url: "javascript:alert(1)", title: "Click" }
    expect(listed("x [1] y [2]", [odd, bad])).toBe(
      `1. [\\!\\[x\\](https://evil.example) \\# Big \\*b\\*](<https://a.example/x)%3Cy%3E%20[z](evil)>)\n2. Click (javascript:alert(1))`,
    )
  })
})

describe("links and images that a model writes", () => {
  test.each([
    ["a link to another host", "See [here](https://evil.example/?q=1).", "See here."],
    ["a link with a title", 'See [here](https://evil.example "a \\" b").', "See here."],
    ["a link in angle brackets", "See [here](<https://evil.example/a b>).", "See here."],
    ["a link to a script", "See [here](javascript:alert(1)).", "See here."],
    ["a link with brackets in its text", "See [a [b] c](https://evil.example).", "See a [b] c."],
    ["an image", "Look: ![a cat](https://evil.example/?secret=tea)", "Look: a cat"],
    ["an image that is a link", "[![cat](https://evil.example/1)](https://evil.example/2)", "cat"],
    ["an image by reference", "![cat][1x]\n\n[1x]: https://evil.example", "cat"],
    [
      "definitions of links",
      "See [it][x].\n\n> [x]: https://evil.example 'x'\n[y]:\n<//y.example>",
      "See [it][x].",
    ],
    ["an address in brackets", "See <https://evil.example/x>.", "See `https://evil.example/x`."],
    [
      "an address",
      "See https://evil.example/x, or www.evil.example.",
      "See `https://evil.example/x`, or `www.evil.example`.",
    ],
    [
      "HTML",
      'H<sub>2</sub>O<br> <img src="https://evil.example">',
      'H<sub>2</sub>O<br> &lt;img src="`https://evil.example`">',
    ],
    ["a comment", "a <!-- hidden --> b", "a &lt;!-- hidden --> b"],
    ["code that is none", "\\`[x](https://evil.example)\\`", "\\`x\\`"],
  ])("are removed (R3): %s", (_, text, expected) => {
    expect(body(`${text}\n\nx [1]`)).toBe(`${expected}\n\nx [1]`)
  })

  test("are a number if they link to a source, also with a fragment", () => {
    expect(body("[Beta](https://b.example/x#top) says so. [A](https://a.example) too [1].")).toBe(
      "Beta [1] says so. A [2] too [2].",
    )
  })

  test("are a number if their text is one, wherever they lead", () => {
    expect(body('x [2](https://evil.example "y"), [^1](<https://evil.example>)')).toBe("x [1], [2]")
  })

  test("stay unchanged in code", () => {
    const text =
      "Use `[x](https://c.example)`:\n\n```md\n![y](https://c.example)\n<img>\n```\n\n- x\n\n      ```\n      list[9]\n      ```"
    expect(body(`${text}\n\nx [1]`)).toBe(`${text}\n\nx [1]`)
  })
})

test("a report takes linear time, whatever it contains", () => {
  const parts = [
    "[",
    "![",
    "](",
    "[a](",
    "`",
    "``a",
    "~~~\n",
    "<",
    "[1]",
    "[1,",
    "https://",
    "# Sources\n",
    "    ```\n",
    "\n[a]:",
  ]
  for (const part of parts) report(part.repeat(1_500), [A])
})

describe("a section", () => {
  const section = (text: string) =>
    joinSections([
      { title: "Other", draft: { text: "x [1]", sources: [C] } },
      { title: "Green", draft: { text, sources: [A, B] } },
    ]).texts[1]

  test("is under its heading, with the numbers of the report, and headings below its own", () => {
    const text = "# Green tea\n\nGreen [1]. Unknown [5].\n\n# Taste\n\nBitter [2].\n\n## Sources\n\n1. x"
    expect(section(text)).toBe("## Green\n\nGreen [2]. Unknown.\n\n### Taste\n\nBitter [3].")
  })

  test("loses its own title, and no other heading", () => {
    expect(section("## green\n\nText.")).toBe("## Green\n\nText.")
    expect(section("## Taste\n\nBitter.")).toBe("## Green\n\n### Taste\n\nBitter.")
  })

  test("links only to its sources", () => {
    expect(section("See [A](https://a.example/), [x](https://evil.example).")).toBe(
      "## Green\n\nSee A [2], x.",
    )
  })

  test("that failed has a reason", () => {
    const failed = (reason: string) => joinSections([{ title: "Green", reason }]).texts[0]
    expect(failed("no model")).toBe("## Green\n\n[Research failed: no model]")
    expect(failed("no\n\n# model\n")).toBe("## Green\n\n[Research failed: no # model]")
    expect(citedIn(failed("[1] and [x](https://evil.example)") ?? "")).toEqual([])
  })
})

test("numbers are found in the order of their occurrence", () => {
  expect(citedIn("a [3] b [1,2] `[9]` c [3]")).toEqual([3, 1, 2])
  expect(mapCitations("a [3] b [1,2]", (n) => (n === 2 ? undefined : n + 10))).toBe("a [13] b [11]")
})

test("whatever a model writes, its numbers are those of the list", () => {
  const piece = fc.constantFrom(
    ..."[1]|[2]|[9]|[1, 3]|[2-4]|[^3]|[|]|(|)|(https://evil.example)|[x](https://evil.example)|![y](//evil.example)|<https://evil.example>|[r]: https://evil.example|`|``|```|~~~|    |\\|\n|\n\n|# |## Sources|Sources:|- |x | |https://b.example/x|[B](https://b.example/x#y)|<img src=x>".split(
      "|",
    ),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = report(pieces.join(""), [A, B, C])
      const at = text.lastIndexOf("## Sources\n\n")
      const list = at < 0 ? [] : (text.slice(at).split("\n\n")[1] ?? "").trim().split("\n")
      const cited = citedIn(at < 0 ? text : text.slice(0, at))
      // In the order of occurrence, and exactly those of the list.
      expect(cited).toEqual(cited.map((_, i) => i + 1))
      expect(list).toHaveLength(cited.length)
      expect(new Set(list).size).toBe(list.length)
    }),
    { numRuns: 100 },
  )
})
