/** Renders a report as Markdown. */

import { decodeString } from "micromark-util-decode-string"
import { incompleteLines } from "../../failures.ts"
import { isCheapMarkdown, markdownParts, withoutMarkup } from "../markdown/markdown-parts.ts"
import { safeMarkdown } from "../markdown/safe-markdown.ts"
import { oneLine } from "../search-key.ts"
import type { ReportSource, ResearchReport, ResearchSource } from "./report.ts"

/** Maximum sources that are listed although they are not cited. */
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
  // Each part is safe; the combination is checked too.
  const text = body.filter((part) => part !== "").join("\n\n")
  const whole = safeMarkdown(text) === text ? text : withoutMarkup(text)
  const lists = [sourceList(report, isDeep), alsoRead(report), statements(report)]
  return [...problems(report), whole, ...lists]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n")
}

/** The first lines list what is missing from the report. Reasons quote tools and servers, so they contain no markup. */
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

/** For the last column of the table. */
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

/** Headings of Markdown that becomes a part of a report: moved below the report's own headings, and as link targets. */

const MAX_LEVEL = 6

/** Moves all headings by the same number of levels, so that none is above level `top`, as far as there are levels. */
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
  return "#".repeat(Math.min(MAX_LEVEL, level))
}

/** Joins a heading of several lines, as an underlined heading may have, also in a quotation. */
function lineOf(content: string): string {
  return content.replace(/\n[ \t>]*/g, " ").trim()
}

/** The heading at the beginning of the text, if `isTitle` accepts it as the title, and the text below it. */
export function withTitle(
  text: string,
  isTitle: (level: number, words: string) => boolean,
): { readonly title?: string; readonly body: string } {
  if (!isCheapMarkdown(text)) return { body: text }
  const [first] = markdownParts(text, "github").headings
  if (first?.content === undefined || text.slice(0, first.start).trim() !== "") return { body: text }
  const title = lineOf(text.slice(first.content.start, first.content.end))
  if (!isTitle(first.level, title)) return { body: text }
  // Leading spaces of a line stay, because they may make it code.
  return {
    title,
    body: text
      .slice(first.end)
      .replace(/^(?:[ \t]*\n)+/, "")
      .trimEnd(),
  }
}

/** Escapes a title as Markdown: a plan's titles come from a model, and contain no markup. */
export function titleText(title: string): string {
  const escaped = oneLine(title)
    .replace(/[\\`*[\]<~]|&(?=#?\w+;)|\b_|_\b|#(?=#*$)/g, String.raw`\$&`)
    .replace(/^(?:[-+>]|\d+[.)])(?=\s|$)/, String.raw`\$&`)
  return safeMarkdown(escaped)
}

/** A title without markup. */
export function plainTitle(title: string): string {
  return oneLine(decodeString(title.replace(/(?<!\\)[*`]/g, "")))
}

/** The fragments of headings, as GitHub and most viewers form them. */
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
