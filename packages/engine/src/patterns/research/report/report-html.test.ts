import fc from "fast-check"
import { Parser } from "htmlparser2"
import { describe, expect, test } from "vitest"
import { finishDeepReport, finishReport, joinSections } from "./finish-report.ts"
import type { ResearchSource } from "./report.ts"
import { reportHtml } from "./report-html.ts"

const A: ResearchSource = {
  url: "https://a.example/x?y=1&z=2",
  title: "A & B",
  author: "Ada <b>",
  date: "2026-03-14",
}
const NOTES: ResearchSource = { url: "notes.md:3", title: "Notes" }

const html = (text: string, evidence: readonly ResearchSource[] = [A, NOTES], incomplete = [] as never[]) =>
  reportHtml(finishReport({ question: "What is tea?", text, evidence, isShown: () => true, incomplete }))
const main = (text: string) => /<main dir="auto">\n([\s\S]*)\n<\/main>/.exec(html(text))?.[1] ?? ""

/** Every tag with its attributes, as a browser's parser sees them. */
function tagsIn(page: string): { name: string; attributes: Record<string, string> }[] {
  const tags: { name: string; attributes: Record<string, string> }[] = []
  const parser = new Parser({ onopentag: (name, attributes) => void tags.push({ name, attributes }) })
  parser.end(page)
  return tags
}

test("is one page with its style, without external resources and scripts", () => {
  const page = html("# Tea\n\nTea is a drink [1].")
  expect(page).toMatch(/^<!doctype html>\n/)
  expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'`)
  expect(page).toContain("<title>Tea</title>")
  expect(page).not.toMatch(/url\(|@import/)
  const names = new Set(tagsIn(page).map(({ name }) => name))
  for (const name of ["script", "link", "img", "iframe", "object", "base", "form"]) {
    expect(names).not.toContain(name)
  }
})

test("has citations that link to the sources, with author, date, location and number of citations", () => {
  const page = main("# Tea\n\nTea [1] is hot [1]. Notes [2].")
  expect(page).toContain('<p>Tea <a href="#source-1">[1]</a> is hot')
  expect(page).toContain(
    '<tr id="source-1"><td>1</td><td>A &amp; B</td><td><span class="author">Ada &lt;b&gt;</span></td><td><span class="date">2026-03-14</span></td><td><a href="https://a.example/x?y=1&amp;z=2" rel="noreferrer noopener">a.example/x</a></td><td>2×</td></tr>',
  )
  expect(page).toContain(
    '<td>Notes</td><td><span class="author"></span></td><td><span class="date"></span></td><td>notes.md:3</td><td>1×</td>',
  )
})

test("marks statements without a source, and counts them", () => {
  const page = main("Tea is old.\n\nTea is hot [1].")
  expect(page).toContain('<p>Tea is old. <span class="no-source">no source</span></p>')
  expect(page).toContain('<p class="notice">No source is cited for 1 of 2 statements.</p>')
  expect(page).toContain("<h1>What is tea?</h1>")
})

test("lays out tables, lists, emphasis and code", () => {
  const page = main("|a|b|\n|-|-:|\n|1|*2* [1]|\n\n- **x** `y` [1]")
  expect(page).toContain('<td align="right"><em>2</em> <a href="#source-1">[1]</a></td>')
  expect(page).toContain("<li><strong>x</strong> <code>y</code>")
})

test("keeps pairs of tags that lay out words, and shows all others as text (H2)", () => {
  const page = main("H<sub>2</sub>O<br>x</b> <b>open [1]\n\nnext <i>a\nb</i> [1]")
  expect(page).toContain("H<sub>2</sub>O<br>x&lt;/b&gt; &lt;b&gt;open")
  expect(page).toContain("next &lt;i&gt;a\nb&lt;/i&gt;")
})

test("of a deep research has a summary, linked contents, and failures in their place", () => {
  const joined = joinSections([
    { title: "Green <script>", draft: { text: "## Taste\n\nMild [1].", sources: [A] } },
    { title: "Black", reason: "the <model> is gone" },
  ])
  const report = finishDeepReport({
    question: "Tea?",
    title: "All of *tea*",
    opening: "Tea is old [1].",
    joined,
    incomplete: [{ source: "web", reason: "<b>down</b>" }],
  })
  const page = reportHtml(report)
  expect(page).toContain("<h1>All of *tea*</h1>")
  expect(page).toContain('<p class="question">Tea?</p>')
  expect(page).toContain("<li>Incomplete: web: &lt;b&gt;down&lt;/b&gt;</li>")
  expect(page).toContain('<section id="summary">\n<h2>Summary</h2>\n<p>Tea is old')
  expect(page).toContain('<li><a href="#section-1">Green &lt;script&gt;</a></li>')
  expect(page).toContain('<section id="section-1">\n<h2>Green &lt;script&gt;</h2>\n<h3>Taste</h3>')
  expect(page).toContain('<p class="notice">Research failed: the &lt;model&gt; is gone</p>')
})

describe("whatever a model and its sources contain", () => {
  const FRAGMENTS =
    "[|]|(|)|![|](|[a]: |[^a]|[1]|<|>|<b>|</b>|<img src=//e.example onerror=x>|<!--|-->|<![CDATA[|<script>|</main>|</style>|<a href=javascript:x>|javascript:x|data:text/html,x|//e.example|https://e.example|[x](javascript:x)|![x](//e.example)|[x](#y)|`|```|~~~|\\|&|&lt;|*|_|\"|'|# |- |> |1. |    |\n|\n\n| |x|$&".split(
      "|",
    )
  const hostile = fc
    .array(fc.constantFrom(...FRAGMENTS, "|", "|-|-|\n"), { maxLength: 30 })
    .map((pieces) => pieces.join(""))
  const KNOWN = new Set(
    "html head meta title style body main section nav h1 h2 h3 h4 h5 h6 p ul ol li a table thead tbody tr th td em strong code pre blockquote hr br sub sup b i u s kbd span".split(
      " ",
    ),
  )

  test("the page has only its own tags, attributes and addresses", () => {
    fc.assert(
      fc.property(hostile, hostile, (text, title) => {
        const page = html(text, [{ url: "https://a.example/", title, author: title, date: title }])
        for (const { name, attributes } of tagsIn(page)) {
          expect(KNOWN).toContain(name)
          const { href = "#", ...others } = attributes
          expect(href.startsWith("#") || href === "https://a.example/").toBe(true)
          expect(Object.keys(others).filter((key) => /^on|^src|^style/.test(key))).toEqual([])
        }
      }),
      { numRuns: 100 },
    )
  })
})
