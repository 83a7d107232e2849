import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { htmlToText } from "./web-page.ts"

describe("a page as text", () => {
  test("has headings, lists, links and tables, and no scripts, styles or comments", async () => {
    const html = `<!doctype html><html><head><title>A &amp; B</title><style>p{}</style>
      <script>if (1 < 2) alert("<p>no</p>")</script></head><body><!-- <p>hidden</p> -->
      <h1>Top</h1><p>Some <b>bold</b>
      text&nbsp;here &lt;3.</p><ul><li>one<li>two</ul>
      <a href="/x?a=1&amp;b=2">link</a> <a href="javascript:evil()">bad</a>
      <table><tr><td>1</td><td>2</td></tr></table><pre>a
  b</pre><img alt="A cat"></body></html>`
    const { title, text } = await htmlToText(html, "https://host.example/dir/")
    expect(title).toBe("A & B")
    expect(text).toContain("# Top")
    expect(text).toContain("Some bold text here <3.")
    expect(text).toContain("- one\n- two")
    expect(text).toContain("[link](https://host.example/x?a=1&b=2)")
    expect(text).toContain("bad")
    expect(text).toContain("| 1 | 2")
    expect(text).toContain("a\n  b")
    expect(text).toContain("A cat")
    expect(text).not.toMatch(/alert|hidden|p\{\}|javascript/)
  })

  test("has the author and the date that it states, and no URL of a profile", async () => {
    const page =
      await htmlToText(`<head><meta charset="utf-8"><meta name="Author" content=" Ada &amp;  Grace ">
      <meta property="article:author" content="https://x.example/ada">
      <meta property="article:published_time" content="2026-03-14T10:00:00Z"><meta name="date" content="1999">
      <meta name="citation_author" content="Lovelace, Ada"><meta name="citation_author" content="Hopper, Grace"></head>Hi`)
    expect(page).toEqual({ text: "Hi", author: "Lovelace, Ada, Hopper, Grace", date: "2026-03-14" })
    const other = '<meta name=author content="A &amp;  B"><meta name=date content="last week">Hi'
    expect(await htmlToText(other)).toEqual({ text: "Hi", author: "A & B" })
    expect(await htmlToText('<meta property="article:author" content="https://x.example">Hi')).toEqual({
      text: "Hi",
    })
  })

  test("keeps a < that does not start a tag, and parses attributes that contain >", async () => {
    const { text } = await htmlToText('1 < 2 <b title="a > b">x</b>')
    expect(text).toBe("1 < 2 x")
  })

  test("drops invisible characters", async () => {
    const hidden = [..."do evil"].map((char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))).join("")
    expect(await htmlToText(`<p>vis\u200bible${hidden}</p>`)).toEqual({ text: "visible" })
  })

  test.each([
    "<a ".repeat(300_000),
    '<a href="'.repeat(100_000),
    "<!--".repeat(200_000),
    "<script>".repeat(100_000),
    "<script".repeat(100_000),
    "<".repeat(500_000),
    "&".repeat(500_000),
    "&#".repeat(300_000),
    " ".repeat(1_000_000),
    `<p>${"\n ".repeat(500_000)}`,
    "<pre>".repeat(100_000),
    `<a ${" href=".repeat(100_000)}>`,
    "<b>".repeat(100_000) + "</x>".repeat(100_000),
    "<svg>".repeat(100_000),
  ])("is fast for a page that is designed to be slow (%#)", async (html) => {
    const began = process.cpuUsage()
    await htmlToText(html, "https://a.example/")
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(3_000)
  })

  test("accepts any text", async () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      "</",
      "<p>",
      "<script>",
      "</script>",
      "<!--",
      "-->",
      '"',
      "=",
      "&",
      "a",
      "<a href=x>",
      "İ",
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (pieces) => {
        const { text } = await htmlToText(pieces.join(""), "https://a.example/")
        expect(typeof text).toBe("string")
      }),
    )
  })
})
