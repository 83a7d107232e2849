/** Markdown: headings become the titles of what is below them, with those above ("Guide › Install"). */
import { cutText } from "@superstep/engine/text"
import type { DocumentPart, Part } from "../chunks.ts"
import { FrontMatter } from "./front-matter.ts"
import { type Line, linesOf, type TextSource } from "./text-file.ts"

const HEADING = /^ {0,3}(#{1,6})[ \t]/
const FENCE = /^ {0,3}(`{3,}|~{3,})/
const MAX_TITLE_LENGTH = 200
/** What is looked at of a heading. */
const MAX_HEADING_LENGTH = 1_000

export async function* readMarkdown(
  source: TextSource,
  options: {
    readonly title?: string | undefined
    readonly hasLines?: boolean
    readonly signal?: AbortSignal | undefined
  } = {},
): AsyncGenerator<DocumentPart> {
  const { hasLines = true, signal } = options
  const frontMatter = new FrontMatter()
  const headings: string[] = []
  let fence: string | undefined
  /** A heading with nothing below it so far. */
  let bare: { readonly level: number; readonly part: Part } | undefined
  const titleNow = () => titleOf([options.title, ...headings])
  yield { section: { title: titleNow() } }
  for await (const { text, line, isCut } of linesOf(source, signal)) {
    const facts = frontMatter.take(text)
    if (facts !== undefined) yield { facts }
    fence = fenceAfter(text, fence)
    const heading = fence === undefined ? headingOf(text) : undefined
    if (heading === undefined) {
      if (text.trim() !== "") bare = undefined
      yield { text: isCut ? text : `${text}\n`, ...(hasLines && { line }) }
    } else {
      const { level, name } = heading
      // One that titles nothing would not be found at all.
      if (bare !== undefined && bare.level >= level) yield bare.part
      headings.length = Math.min(headings.length, level - 1)
      while (headings.length < level - 1) headings.push("")
      headings.push(name)
      bare = { level, part: { text: `${name}\n`, ...(hasLines && { line }) } }
      yield { section: { title: titleNow() } }
    }
  }
  if (bare !== undefined) yield bare.part
}

/** The fence of the block of code that the next line is in. Only a bare one as long as that which began it ends it. */
function fenceAfter(text: string, fence: string | undefined): string | undefined {
  const mark = FENCE.exec(text)?.[1]
  if (mark === undefined) return fence
  if (fence === undefined) return mark
  return mark.startsWith(fence) && text.trim() === mark ? undefined : fence
}

/** In steps that each take no longer than the line is: one expression for all would try every way to part its spaces. */
function headingOf(text: string): { readonly level: number; readonly name: string } | undefined {
  const [begin, marks = ""] = HEADING.exec(text) ?? []
  if (begin === undefined) return undefined
  const name = text.slice(begin.length, begin.length + MAX_HEADING_LENGTH).trim()
  let end = name.length
  while (name[end - 1] === "#") end -= 1
  const isClosed = end === 0 || /\s/.test(name[end - 1] as string)
  return { level: marks.length, name: plain(isClosed ? name.slice(0, end) : name) }
}

/** Plain text, without markup. */
export async function* readText(source: TextSource, signal?: AbortSignal): AsyncGenerator<Part> {
  for await (const { text, line, isCut } of linesOf(source, signal)) yield part({ text, line, isCut })
}

function part({ text, line, isCut }: Line): Part {
  return { text: isCut ? text : `${text}\n`, line }
}

/** Without links and emphasis, which are useless for search. */
function plain(heading: string): string {
  return heading
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
    .replace(/[*_`]+/g, "")
    .trim()
}

function titleOf(names: readonly (string | undefined)[]): string | undefined {
  const path = names.filter((name) => name !== undefined && name !== "")
  // A page's title is often its first heading again.
  const title = path.filter((name, at) => name !== path[at - 1]).join(" › ")
  return title === "" ? undefined : cutText(title, MAX_TITLE_LENGTH)
}
