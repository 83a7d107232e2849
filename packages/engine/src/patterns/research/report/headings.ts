/** Headings of Markdown that becomes a part of a report: moved below those of the whole, and as targets of links. */
import { decodeString } from "micromark-util-decode-string"
import { isCheapMarkdown } from "../markdown/markdown-cost.ts"
import { markdownParts } from "../markdown/markdown-parts.ts"
import { safeMarkdown } from "../markdown/safe-markdown.ts"
import { oneLine } from "../search-key.ts"

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
export function headingsIn(text: string): string[] {
  if (!isCheapMarkdown(text)) return []
  return markdownParts(text, "github").headings.map(({ content }) =>
    content === undefined ? "" : lineOf(text.slice(content.start, content.end)),
  )
}
