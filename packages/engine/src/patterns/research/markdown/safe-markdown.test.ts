import fc from "fast-check"
import MarkdownIt from "markdown-it"
import { describe, expect, test } from "vitest"
import { finishReport, reportMarkdown } from "../report/finish-report.ts"
import type { ResearchSource } from "../report/report.ts"
import { isCheapMarkdown, withoutMarkup } from "./markdown-parts.ts"
import { safeMarkdown } from "./safe-markdown.ts"

/** A parser other than the one in the code, with all its link features, and without safety. */
const reader = new MarkdownIt({ html: true, linkify: true })
reader.validateLink = () => true
// Bare names such as `a.md` are more often files than hosts.
reader.linkify.set({ fuzzyLink: false })
const plainReader = new MarkdownIt("commonmark", { html: true })
plainReader.validateLink = () => true

const LAYOUT = /^<\/?(?:br|sub|sup|b|i|em|strong|u|s|kbd)\s*\/?>$/i

/** Every address and piece of HTML in the rendered text. */
function activeIn(text: string): string[] {
  return [reader, plainReader].flatMap((one) =>
    one
      .parse(text, {})
      .flatMap((token) => [token, ...(token.children ?? [])])
      .flatMap((token) => {
        if (token.type === "html_block") return [token.content]
        if (token.type === "html_inline") return LAYOUT.test(token.content) ? [] : [token.content]
        return [token.attrGet("href") ?? "", token.attrGet("src") ?? ""].filter((target) => target !== "")
      }),
  )
}

function reportOf(text: string, evidence: readonly ResearchSource[]): string {
  return reportMarkdown(finishReport({ question: "Q?", text, evidence, isShown: () => true, incomplete: [] }))
}

const isOwn = (target: string) => target.startsWith("#")

describe("text from a model has no external link, no image and no HTML (S1, S2)", () => {
  test.each([
    ["a nested link", "[a [b](javascript:x) c](javascript:y)", "a b c"],
    ["a link nested deep", `${"[".repeat(5)}a${"](javascript:x)".repeat(5)}`, "a"],
    ["a reference", "[a][b]\n\n[b]: javascript:alert(1)", "[a][b]\n\n"],
    ["a reference without text", "[b]\n\n[b]: //evil.example", "[b]\n\n"],
    ["a reference in a quote, defined in a list", "> [b]\n\n- [b]: data:text/html,x", "> [b]\n\n- "],
    ["an entity in the scheme", "[a](java&#115;cript:x)", "a"],
    ["a control character in the scheme", "[a](java&Tab;script:x)", "a"],
    ["percent-encoding in the scheme", "[a](%6aavascript:x)", "a"],
    ["a backslash in the address", "[a](\\/\\/evil.example)", "a"],
    ["an address without scheme", "[a](//evil.example)", "a"],
    ["a relative address", "[a](/x?q=secret)", "a"],
    ["angle brackets", "[a](<javascript:x y>)", "a"],
    ["a line break before the address", "[a](\njavascript:x\n'title'\n)", "a"],
    ["an image in a link", "[![a](https://evil.example/1)](https://evil.example/2)", "a"],
    ["a link in an image", "![a [b](javascript:x)](https://evil.example/1)", "a b"],
    ["an autolink", "<javascript:alert(1)>", "`javascript:alert(1)`"],
    ["an autolink of mail", "<a@evil.example>", "`a@evil.example`"],
    ["a bare address", "See https://evil.example/x.", "See `https://evil.example/x`."],
    ["a bare address of mail", "Write to a@evil.example.", "Write to `a@evil.example`."],
    ["a bare address without scheme", "See //evil.example/x.", "See `//evil.example/x`."],
    ["a bare address with an entity", "http&#58;//evil.example/x", " `http://evil.example/x` "],
    ["a bare address with a backslash", "http\\://evil.example/x", " `http://evil.example/x` "],
    ["HTML in a line", "a <img src=x onerror=y> b", "a &lt;img src=x onerror=y> b"],
    ["HTML by itself", "<script>\nx\n</script>", "&lt;script>\nx\n&lt;/script>"],
    ["a layout tag with attributes", "<b onclick=x>a</b>", "&lt;b onclick=x>a</b>"],
    ["a tag alone in a line, before code", "<b>\u00a0\n`<img src=x>`", "&lt;b>\u00a0\n`<img src=x>`"],
    ["a link that HTML hides", "<div>\n[a](javascript:x)\n</div>", "&lt;div>\na\n&lt;/div>"],
    ["a link that a table makes", "|a|b|\n|-|-|\n|`x|[a](javascript:x)`|", "|a|b|\n|-|-|\n|&#96;x|a&#96;|"],
    ["a footnote", "a[^n]\n\n[^n]: b\n\n    [c](javascript:x)", "a[^n]\n\n\\[^n]: b\n\n    c"],
  ])("%s", (_, text, expected) => {
    const safe = safeMarkdown(text)
    expect(safe).toBe(expected)
    expect(activeIn(safe)).toEqual([])
  })

  test("a link to a heading of the text stays", () => {
    expect(safeMarkdown("See [below](#results) and [x](<#y z>).")).toBe(
      "See [below](#results) and [x](<#y z>).",
    )
  })

  test("words, code, tables and emphasis stay unchanged", () => {
    const text =
      "# A *b* __c__\n\n- x [sic] `[y](javascript:z)` \\[w\\]\n  1. y\n\n|a|b|\n|-|-|\n|1|2|\n\n```html\n<img src=x>\n[a](javascript:x)\n```\n\n    [code](//x.example)\n\nH<sub>2</sub>O<br>1 < 2 & 3"
    expect(safeMarkdown(text)).toBe(text)
  })

  test("an unclosed code block is closed", () => {
    expect(safeMarkdown("a\n\n~~~~js\nx")).toBe("a\n\n~~~~js\nx\n~~~~")
    expect(safeMarkdown("- ```\n  x")).toBe("- ```\n  x")
  })
})

const FRAGMENTS =
  '[|]|(|)|![|](|][|]:|[a]|[a]: |[^a]|[^a]: |[1]|<|>|</|<b>|<img src=//e.example>|<!--|-->|<?|<![CDATA[|<div>|<a href=javascript:x>|javascript:x|java&#115;cript:x|data:text/html,x|//e.example|https://e.example|http&#58;//e.example|www.e.example|a@e.example|mailto:a@e.example|<javascript:x>|(javascript:x)|(<javascript:x>)|(//e.example "t")|[x](javascript:x)|![x](//e.example)|[x](#y)|`|``|```|~~~|\\|&|&lt;|&#91;|*|_|~~|"|\'|#|# |- |> |1. |  |    |\t|\n|\n\n|\r\n| |x|.|!|:|\u00a0|\ufeff|$'.split(
    "|",
  )
const piece = fc.constantFrom(...FRAGMENTS, "|", "|-|-|\n")
const link = fc
  .tuple(piece, piece, piece)
  .map(([before, inside, target]) => `[${before}${inside}](${target})`)
const nested = fc
  .tuple(link, fc.constantFrom("javascript:x", "//e.example", "#z"))
  .map(([a, b]) => `[${a} y](${b})`)
const hostile = fc
  .array(fc.oneof({ weight: 6, arbitrary: piece }, link, nested), { maxLength: 30 })
  .map((pieces) => pieces.join(""))

test("another parser finds nothing in any combination of hostile fragments", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const safe = safeMarkdown(text)
      expect(activeIn(safe).filter((target) => !isOwn(target))).toEqual([])
      expect(safeMarkdown(safe)).toBe(safe)
    }),
    { numRuns: 100 },
  )
})

test("a report of them links only to its sources", () => {
  const source = { url: "https://a.example/", title: "A" }
  fc.assert(
    fc.property(hostile, hostile, (text, title) => {
      const report = reportOf(text, [source, { url: "notes.md", title, author: title, date: title }])
      const outward = activeIn(report).filter((target) => !isOwn(target) && target !== source.url)
      expect(outward).toEqual([])
    }),
    { numRuns: 60 },
  )
})

describe("text that is too costly to parse", () => {
  test.each([
    "[",
    "]",
    "![",
    "](",
    "[a](",
    "[^a]",
    "> ",
    "1. ",
    "- ",
    "a\n",
    "<b>\n",
    "[a]: b\n",
    "https://e.example ",
  ])("keeps its words and loses its markup: 400 KB of %j", (part) => {
    const text = part.repeat(400_000 / part.length)
    expect(isCheapMarkdown(text)).toBe(false)
    const safe = safeMarkdown(text)
    expect(safe).not.toMatch(/[[\]<>`@]|\/\/|www\./)
    reportOf(text, [])
  })

  test("has nothing that a parser would find", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(activeIn(withoutMarkup(text))).toEqual([])
      }),
      { numRuns: 60 },
    )
  })

  test("does not include text of ordinary length", () => {
    const list = "- Tea is brewed [1][2], says [the guide](https://a.example/tea) in its [second] part.\n"
    expect(
      isCheapMarkdown(`# Tea\n\n${list.repeat(1_000)}\n\n${`${"Tea. ".repeat(100)}[1] \n\n`.repeat(200)}`),
    ).toBe(true)
  })
})
