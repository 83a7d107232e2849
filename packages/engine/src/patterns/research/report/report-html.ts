/**
 * Renders a report as one self-contained HTML file, without external resources and scripts. The texts are safe Markdown;
 * the page's policy nevertheless forbids everything else.
 *
 * H1 The only external links are those of sources.
 * H2 Of HTML in the report, pairs of tags that lay out words stay, within one line; everything else is shown as text.
 */
import { micromark } from "micromark"
import { gfmTable, gfmTableHtml } from "micromark-extension-gfm-table"
import type { CompileContext, Extension, HtmlExtension, Token } from "micromark-util-types"
import { incompleteLines } from "../../failures.ts"
import { isCheapMarkdown } from "../markdown/markdown-parts.ts"
import { safeMarkdown } from "../markdown/safe-markdown.ts"
import { oneLine } from "../search-key.ts"
import { mapCitations, NO_SOURCE } from "./citations.ts"
import type { ReportSource, ResearchReport, ResearchSource } from "./report.ts"
import { isAddress, plainTitle, shortAddress, statementsText } from "./report-markdown.ts"

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

export function reportHtml(report: ResearchReport): string {
  const { title, question, summary, sections } = report
  const name = title === undefined ? question : plainTitle(title)
  const isDeep = sections.some((section) => section.title !== undefined)
  const parts = [
    `<h1>${title === undefined ? escaped(question) : inline(title)}</h1>`,
    ...(title === undefined || name === question ? [] : [`<p class="question">${escaped(question)}</p>`]),
    problems(report),
    summary === undefined ? "" : part("summary", "Summary", markdown(summary.text)),
    isDeep ? contents(report) : "",
    ...sections.map((section, i) => {
      const { title: heading, text, failed } = section
      if (heading === undefined) return markdown(text)
      const body =
        failed === undefined ? markdown(text) : `<p class="notice">Research failed: ${escaped(failed)}</p>`
      return part(`section-${i + 1}`, inline(heading), body)
    }),
    sourceTable(report),
    alsoRead(report),
    statementsText(report) === "" ? "" : `<p class="notice">${statementsText(report)}</p>`,
  ]
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${escaped(name)}</title>
<style>
${REPORT_STYLE}</style>
</head>
<body>
<main dir="auto">
${parts.filter((one) => one !== "").join("\n")}
</main>
</body>
</html>
`
}

function part(id: string, title: string, body: string): string {
  return `<section id="${id}">\n<h2>${title}</h2>\n${body}\n</section>`
}

function problems({ incomplete }: ResearchReport): string {
  const items = incompleteLines(incomplete).map((line) => `<li>${escaped(line)}</li>`)
  return items.length === 0 ? "" : `<ul class="notice">\n${items.join("\n")}\n</ul>`
}

function contents({ sections }: ResearchReport): string {
  const items = sections.map(
    ({ title = "" }, i) => `<li><a href="#section-${i + 1}">${escaped(plainTitle(title))}</a></li>`,
  )
  return `<nav>\n<h2>Contents</h2>\n<ol>\n${items.join("\n")}\n</ol>\n</nav>`
}

function sourceTable({ sources }: ResearchReport): string {
  if (sources.length === 0) return ""
  const isKnown = (field: "author" | "date") => sources.some((source) => source[field] !== undefined)
  const fields = (["author", "date"] as const).filter(isKnown)
  const heads = [
    "No.",
    "Title",
    ...fields.map((field) => (field === "author" ? "Author" : "Date")),
    "Location",
    "Cited",
  ]
  const row = (source: ReportSource) => {
    const { number, url, title, cited } = source
    const cells = [
      String(number),
      escaped(title === "" ? url : title),
      ...fields.map((field) => `<span class="${field}">${escaped(source[field] ?? "")}</span>`),
      place(url),
      `${cited}×`,
    ]
    return `<tr id="source-${number}">${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`
  }
  const head = `<thead><tr>${heads.map((text) => `<th>${text}</th>`).join("")}</tr></thead>`
  const table = `<table class="sources">\n${head}\n<tbody>\n${sources.map(row).join("\n")}\n</tbody>\n</table>`
  return part("sources", "Sources", table)
}

function alsoRead({ alsoRead: read }: ResearchReport): string {
  if (read.length === 0) return ""
  const item = ({ url, title, author, date }: ResearchSource) => {
    const by = [author, date].flatMap((text) => (text === undefined ? [] : [escaped(text)]))
    const name = title === "" || title === url ? [] : [escaped(title)]
    return `<li>${[...name, ...by, place(url)].join(", ")}</li>`
  }
  return part("also-read", "Also read", `<ul>\n${[...new Set(read.map(item))].join("\n")}\n</ul>`)
}

function place(url: string): string {
  if (!isAddress(url)) return escaped(url)
  return `<a href="${escaped(new URL(url).href)}" rel="noreferrer noopener">${escaped(shortAddress(url))}</a>`
}

/** Emphasis is quadratic in the number of marks in a paragraph, so text with too many of them has none. */
const MAX_EMPHASIS_MARKS = 4_000
const NO_EMPHASIS: Extension = { disable: { null: ["attention"] } }

function markdown(text: string): string {
  if (!isCheapMarkdown(text) || safeMarkdown(text) !== text) return `<pre class="text">${escaped(text)}</pre>`
  const cited = mapCitations(
    text,
    (number) => number,
    (number) => `[\\[${number}\\]](#source-${number})`,
  )
  const isDense = text.split(/\n{2,}/).some((one) => (one.match(/[*_]+/g)?.length ?? 0) > MAX_EMPHASIS_MARKS)
  const extensions = isDense ? [gfmTable(), NO_EMPHASIS] : [gfmTable()]
  // Links cost more to parse than the numbers that they replace.
  const linked = isCheapMarkdown(cited) ? cited : text
  const html = micromark(linked, { extensions, htmlExtensions: [gfmTableHtml(), layoutTags(linked)] })
  return html.replaceAll(`<em>${NO_SOURCE.slice(1, -1)}</em>`, '<span class="no-source">no source</span>')
}

/** Renders a title on one line, without the paragraph. */
function inline(title: string): string {
  return markdown(oneLine(title))
    .replace(/^<p>|<\/p>$/g, "")
    .replace(/<a [^>]*>|<\/a>/g, "")
}

const PAIRED = "sub|sup|b|i|em|strong|u|s|kbd"
const OPENING = new RegExp(`^<(${PAIRED})>[^<>|\\n]*</\\1>`, "i")
const CLOSING = new RegExp(`<(${PAIRED})>[^<>|\\n]*</\\1>$`, "i")

/** Implements H2. */
function layoutTags(source: string): HtmlExtension {
  return {
    enter: {
      htmlText(this: CompileContext, { start, end }: Token) {
        const tag = source.slice(start.offset, end.offset)
        const isKept =
          /^<br ?\/?>$/i.test(tag) ||
          OPENING.test(source.slice(start.offset)) ||
          CLOSING.test(source.slice(Math.max(0, end.offset - 2_000), end.offset))
        if (isKept) this.setData("ignoreEncode", true)
      },
    },
  }
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
}

/** The style of a report: on screens of any width, in light and dark, and on paper. */
const REPORT_STYLE = `:root {
  color-scheme: light dark;
  --text: #1c1d21; --soft: #5d6069; --line: #dfe0e4; --page: #fff; --tint: #f5f5f7; --link: #1a56b8; --warn: #8a4b00; --warn-tint: #fdf4e3;
}
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e4e8; --soft: #a0a3ad; --line: #37393f; --page: #17181b; --tint: #202226; --link: #8ab4f8; --warn: #f2bd6b; --warn-tint: #2c2415; }
}
* { box-sizing: border-box; }
html { font-size: 17px; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.62 Charter, "Bitstream Charter", "Iowan Old Style", "Palatino Linotype", Cambria, Georgia, serif; }
main { max-width: 42rem; margin: 0 auto; padding: 3.5rem 1.25rem 5rem; overflow-wrap: break-word; }
h1, h2, h3, h4, h5, h6, nav, table, .notice, .question, .no-source { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; text-wrap: balance; }
h1 { font-size: 2.1rem; letter-spacing: -0.015em; margin: 0 0 1rem; }
h2 { font-size: 1.4rem; letter-spacing: -0.01em; margin: 2.6rem 0 0.8rem; }
h3 { font-size: 1.12rem; margin: 2rem 0 0.5rem; }
h4, h5, h6 { font-size: 1rem; margin: 1.6rem 0 0.4rem; }
p, ul, ol, pre, blockquote, table { margin: 0 0 1.1rem; }
li { margin: 0.2rem 0; }
li > p { margin-bottom: 0.4rem; }
a { color: var(--link); text-decoration-thickness: 0.06em; text-underline-offset: 0.15em; }
a[href^="#source-"] { font: 0.72em/1 system-ui, sans-serif; vertical-align: 0.35em; text-decoration: none; padding: 0 0.06em; }
a[href^="#source-"]:hover { text-decoration: underline; }
.question { color: var(--soft); font-size: 1rem; margin-bottom: 2rem; }
.no-source { color: var(--warn); background: var(--warn-tint); border-radius: 0.25em; font-size: 0.72em; padding: 0.1em 0.4em; white-space: nowrap; }
.notice { color: var(--warn); background: var(--warn-tint); border-radius: 0.4rem; font-size: 0.88rem; line-height: 1.5; padding: 0.7rem 1rem; }
ul.notice { padding-left: 2rem; }
nav { background: var(--tint); border-radius: 0.5rem; font-size: 0.92rem; margin: 2.2rem 0; padding: 1rem 1.25rem; }
nav h2 { color: var(--soft); font-size: 0.8rem; letter-spacing: 0.06em; margin: 0 0 0.5rem; text-transform: uppercase; }
nav ol { margin: 0; padding-left: 1.4rem; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
table { border-collapse: collapse; display: block; font-size: 0.84rem; line-height: 1.45; max-width: 100%; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: 0.45rem 0.9rem 0.45rem 0; text-align: left; vertical-align: top; }
th[align="right"], td[align="right"] { text-align: right; }
th[align="center"], td[align="center"] { text-align: center; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
.sources td:first-child, .sources td:last-child { font-variant-numeric: tabular-nums; white-space: nowrap; }
.sources .date { white-space: nowrap; }
.sources tr:target td { background: var(--tint); }
blockquote { border-left: 3px solid var(--line); color: var(--soft); padding-left: 1rem; }
code { background: var(--tint); border-radius: 0.25em; font: 0.86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; padding: 0.1em 0.3em; }
pre { background: var(--tint); border-radius: 0.4rem; overflow-x: auto; padding: 0.9rem 1rem; }
pre code { background: none; padding: 0; }
pre.text { background: none; font: inherit; padding: 0; white-space: pre-wrap; }
hr { border: 0; border-top: 1px solid var(--line); margin: 2rem 0; }
@media (max-width: 30rem) { html { font-size: 16px; } main { padding-top: 2rem; } h1 { font-size: 1.7rem; } }
@media print {
  :root { color-scheme: light; --text: #000; --soft: #444; --line: #bbb; --page: #fff; --tint: #f5f5f5; --link: #000; --warn: #5a3200; --warn-tint: #f7f0e2; }
  @page { margin: 20mm 18mm; }
  html { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  h1, h2, h3, h4, h5, h6 { break-after: avoid; }
  p, li { orphans: 3; widows: 3; }
  tr, pre, blockquote, nav, .notice { break-inside: avoid; }
  table { display: table; overflow: visible; }
  pre { white-space: pre-wrap; }
  nav, .notice, .no-source { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`
