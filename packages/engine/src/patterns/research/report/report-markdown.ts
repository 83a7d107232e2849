/** A report in Markdown. */

import { decodeString } from "micromark-util-decode-string"
import { incompleteLines } from "../../failures.ts"
import { isCheapMarkdown, markdownParts, withoutMarkup } from "../markdown/markdown-parts.ts"
import { safeMarkdown } from "../markdown/safe-markdown.ts"
import { oneLine } from "../search-key.ts"
import type { ReportSource, ResearchReport, ResearchSource } from "./report.ts"

/** Sources that are listed although they are not cited. */
const MAX_ALSO_READ = 50

export function reportMarkdown(report: ResearchReport): string {
  const { title, summary, sections } = report
  const isDeep = sections.some((section) => section.title !== undefined)
  const body = [
    ...(title === undefined ? [] : [`# ${title}`]),
    ...(summary === undefined ? [] : [`## Summary\n\n${summary.text}`]),
    ...(isDeep ? [contents(report)] : []),
    ...sections.map((section) =>
      section.title === undefined ? section.text : `## ${section.title}\n\n${section.text}`,
    ),
  ]
  // Each part is safe; what their neighbourhood makes of them is looked at too.
  const text = body.filter((part) => part !== "").join("\n\n")
  const whole = safeMarkdown(text) === text ? text : withoutMarkup(text)
  const lists = [sourceList(report, isDeep), alsoRead(report), statements(report)]
  return [...problems(report), whole, ...lists]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n")
}

/** The first lines say what the report lacks. Reasons quote tools and servers, so nothing in them is markup. */
function problems({ incomplete }: ResearchReport): string[] {
  return incompleteLines(incomplete).map((line) =>
    safeMarkdown(oneLine(line).replace(/[\\`[\]<>|!]/g, String.raw`\$&`)),
  )
}

function contents({ title, summary, sections }: ResearchReport): string {
  const before = [...(title === undefined ? [] : [title]), ...(summary === undefined ? [] : ["Summary"])]
  const within = summary === undefined ? [] : headingsIn(summary.text)
  const lists = sections.map((section) => [section.title ?? "", ...headingsIn(section.text)])
  const targets = fragments([...before, ...within, "Contents", ...lists.flat()])
  let at = before.length + within.length + 1
  const lines = sections.map((section, i) => {
    const target = targets[at]
    at += lists[i]?.length ?? 0
    return `${i + 1}. [${section.title ?? ""}](#${target})`
  })
  return `## Contents\n\n${lines.join("\n")}`
}

function sourceList({ sources }: ResearchReport, isTable: boolean): string {
  if (sources.length === 0) return ""
  const rows = isTable
    ? [
        "| No. | Title | Author | Date | Location | Cited |",
        "| --: | --- | --- | --- | --- | --: |",
        ...sources.map(tableRow),
      ]
    : sources.map((source) => `${source.number}. ${sourceLine(source)}`)
  return `## Sources\n\n${rows.join("\n")}`
}

function tableRow({ number, title, author = "", date = "", url, cited }: ReportSource): string {
  const words = [title === url ? "" : title, author, date].map((text) => safeMarkdown(escaped(text)))
  const place = isAddress(url) ? link(shortAddress(url), url) : safeMarkdown(escaped(url))
  return `| ${[number, ...words, place, `${cited}×`].join(" | ")} |`
}

function sourceLine({ url, title, author, date }: ResearchSource): string {
  const by = [author, date].flatMap((text) =>
    text === undefined ? [] : [`, ${safeMarkdown(escaped(text))}`],
  )
  if (isAddress(url)) return `${link(title === "" ? url : title, url)}${by.join("")}`
  const name = title === "" || title === url ? escaped(url) : `${escaped(title)} (${escaped(url)})`
  return `${safeMarkdown(name)}${by.join("")}`
}

function alsoRead({ alsoRead: read, sources }: ResearchReport): string {
  if (read.length === 0) return ""
  const distinct = [...new Map(read.map((source) => [JSON.stringify(source), source])).values()]
  const lines = distinct.slice(0, MAX_ALSO_READ).map((source) => `- ${sourceLine(source)}`)
  const more = distinct.length - lines.length
  const listed = more > 0 ? [...lines, `- … and ${more} more`] : lines
  return `${sources.length === 0 ? "##" : "###"} Also read\n\n${listed.join("\n")}`
}

export function statementsText({ statements }: ResearchReport): string {
  const { total, withoutSource } = statements
  return withoutSource === 0 ? "" : `No source is cited for ${withoutSource} of ${total} statements.`
}

function statements(report: ResearchReport): string {
  return statementsText(report)
}

export function isAddress(url: string): boolean {
  return /^https?:/i.test(url) && URL.canParse(url)
}

/** As the last column of a table shows it. */
export function shortAddress(url: string): string {
  const { host, pathname } = new URL(url)
  const short = `${host.replace(/^www\./, "")}${pathname === "/" ? "" : pathname}`
  return short.length > 60 ? `${short.slice(0, 59)}…` : short
}

function link(name: string, url: string): string {
  return `[${escaped(name)}](<${new URL(url).href.replace(/[<>|]/g, encodeURIComponent)}>)`
}

/** Escapes Markdown in a title. Titles are untrusted and must not create links, headings or images. */
function escaped(text: string): string {
  return oneLine(text).replace(/[\\`*_[\]<>#|!]/g, String.raw`\$&`)
}

/** Headings of Markdown that becomes a part of a report: moved below those of the whole, and as targets of links. */

const DEEPEST = 6

/** With no heading above level `top`: all are moved by the same number of levels, as far as there are levels. */
export function nested(text: string, top: number): string {
  if (!isCheapMarkdown(text)) {
    return text.replace(/^#{1,6}(?=\s)/gm, (mark) => levelMark(mark.length + top - 1))
  }
  const { headings } = markdownParts(text, "github")
  const by = top - Math.min(...headings.map(({ level }) => level))
  let [changed, at] = ["", 0]
  for (const { start, end, level, content } of headings) {
    const words = content === undefined ? "" : lineOf(text.slice(content.start, content.end))
    changed += `${text.slice(at, start)}${levelMark(level + Math.max(0, by))} ${words}`.trimEnd()
    at = end
  }
  return changed + text.slice(at)
}

function levelMark(level: number): string {
  return "#".repeat(Math.min(DEEPEST, level))
}

/** A heading of several lines, as Markdown has it with a line drawn under them, also in a quotation. */
function lineOf(content: string): string {
  return content.replace(/\n[ \t>]*/g, " ").trim()
}

/** The heading that the text begins with, if `isTitle` takes it for the title of the whole, and the text below it. */
export function withTitle(
  text: string,
  isTitle: (level: number, words: string) => boolean,
): { readonly title?: string; readonly body: string } {
  if (!isCheapMarkdown(text)) return { body: text }
  const [first] = markdownParts(text, "github").headings
  if (first?.content === undefined || text.slice(0, first.start).trim() !== "") return { body: text }
  const title = lineOf(text.slice(first.content.start, first.content.end))
  if (!isTitle(first.level, title)) return { body: text }
  // Spaces at the beginning of a line are left: they may make code of it.
  return {
    title,
    body: text
      .slice(first.end)
      .replace(/^(?:[ \t]*\n)+/, "")
      .trimEnd(),
  }
}

/** A title that is only words, as Markdown: a plan's titles are a model's, and none of it is markup. */
export function titleText(title: string): string {
  const escaped = oneLine(title)
    .replace(/[\\`*[\]<~]|&(?=#?\w+;)|\b_|_\b|#(?=#*$)/g, String.raw`\$&`)
    .replace(/^(?:[-+>]|\d+[.)])(?=\s|$)/, String.raw`\$&`)
  return safeMarkdown(escaped)
}

/** What a title says: without markup. */
export function plainTitle(title: string): string {
  return oneLine(decodeString(title.replace(/(?<!\\)[*`]/g, "")))
}

/** The fragments that lead to headings, as GitHub and most viewers form them. */
export function fragments(titles: readonly string[]): string[] {
  const used = new Map<string, number>()
  return titles.map((title) => {
    const base = plainTitle(title)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\p{Pc}\- ]/gu, "")
      .replaceAll(" ", "-")
    const before = used.get(base) ?? 0
    used.set(base, before + 1)
    return before === 0 ? base : `${base}-${before}`
  })
}

/** The titles of all headings, in order. */
function headingsIn(text: string): string[] {
  if (!isCheapMarkdown(text)) return []
  return markdownParts(text, "github").headings.map(({ content }) =>
    content === undefined ? "" : lineOf(text.slice(content.start, content.end)),
  )
}
