/**
 * A report as one HTML file: it needs no other file, loads nothing, and runs nothing. The texts are Markdown that was made
 * safe; the page's policy forbids everything else all the same.
 *
 * H1 the only links that leave the page are those of sources.
 * H2 of HTML in the report, pairs of tags that lay out words stay, within one line; everything else is shown as it is written.
 */
import { micromark } from "micromark"
import { gfmTable, gfmTableHtml } from "micromark-extension-gfm-table"
import type { CompileContext, Extension, HtmlExtension, Token } from "micromark-util-types"
import { incompleteLines } from "../../incomplete.ts"
import { isCheapMarkdown } from "../markdown/markdown-cost.ts"
import { safeMarkdown } from "../markdown/safe-markdown.ts"
import { oneLine } from "../search-key.ts"
import { mapCitations } from "./citations.ts"
import { NO_SOURCE } from "./claims.ts"
import { plainTitle } from "./headings.ts"
import type { ReportSource, ResearchReport, ResearchSource } from "./report.ts"
import { isAddress, shortAddress, statementsText } from "./report-markdown.ts"
import { REPORT_STYLE } from "./report-style.ts"

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

/** Emphasis takes the square of the number of marks in a paragraph: text with too many of them has none. */
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
  // Links cost more than the numbers that they are made of.
  const linked = isCheapMarkdown(cited) ? cited : text
  const html = micromark(linked, { extensions, htmlExtensions: [gfmTableHtml(), layoutTags(linked)] })
  return html.replaceAll(`<em>${NO_SOURCE.slice(1, -1)}</em>`, '<span class="no-source">no source</span>')
}

/** A title in one line: what a paragraph would have. */
function inline(title: string): string {
  return markdown(oneLine(title))
    .replace(/^<p>|<\/p>$/g, "")
    .replace(/<a [^>]*>|<\/a>/g, "")
}

const PAIRED = "sub|sup|b|i|em|strong|u|s|kbd"
const OPENING = new RegExp(`^<(${PAIRED})>[^<>|\\n]*</\\1>`, "i")
const CLOSING = new RegExp(`<(${PAIRED})>[^<>|\\n]*</\\1>$`, "i")

/** H2. */
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
