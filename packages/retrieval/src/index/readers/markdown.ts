/** Markdown: headings become the titles of what is below them, with those above ("Guide › Install"). */
import { calendarDate, cutText } from "@superstep/engine/text"
import type { DocumentFacts, DocumentPart, Part } from "../chunks.ts"
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

// The author and the date in the front matter of Markdown: lines `name: value` between two lines `---` at the beginning.

const MAX_LINES = 200
const MAX_AUTHOR_LENGTH = 100
const FIELD = /^(authors?|date|published|created)[ \t]*:(.*)$/i

/** Takes the lines of a document, one by one, and says when the front matter has ended. */
class FrontMatter {
  #lines = 0
  #isOver = false
  #authors: string[] = []
  #date: string | undefined
  /** Within a list of authors that has a line for each. */
  #isList = false

  /** What is known, at the line that ends the front matter. */
  take(line: string): DocumentFacts | undefined {
    if (this.#isOver) return undefined
    this.#lines += 1
    const text = line.trimEnd()
    if (this.#lines === 1) {
      this.#isOver = text !== "---"
      return undefined
    }
    if (text === "---" || text === "...") {
      this.#isOver = true
      return this.#facts()
    }
    this.#isOver = this.#lines > MAX_LINES
    this.#read(text)
    return undefined
  }

  #read(text: string): void {
    const [, name = "", value = ""] = FIELD.exec(text.slice(0, 1_000)) ?? []
    const item = /^\s*-\s+(.*)$/.exec(text.slice(0, 1_000))?.[1]
    if (item !== undefined && this.#isList) this.#authors.push(...names(item))
    else this.#isList = false
    if (/^author/i.test(name)) {
      this.#isList = value.trim() === ""
      this.#authors.push(...names(value))
    } else if (name !== "") this.#date ??= calendarDate(unquoted(value))
  }

  #facts(): DocumentFacts | undefined {
    const author = cutText([...new Set(this.#authors)].join(", "), MAX_AUTHOR_LENGTH)
    if (author === "" && this.#date === undefined) return undefined
    return { ...(author !== "" && { author }), ...(this.#date !== undefined && { date: this.#date }) }
  }
}

/** `Ada`, `"Ada"`, `[Ada, Grace]`, `name: Ada`. */
function names(value: string): string[] {
  const list = value.trim().replace(/^\[|\]$/g, "")
  return (list === value.trim() ? [list] : list.split(","))
    .map((one) => unquoted(one.replace(/^\s*name[ \t]*:/i, "")))
    .filter((one) => one !== "")
}

function unquoted(value: string): string {
  return value
    .trim()
    .replace(/^(["'])(.*)\1$/, "$2")
    .replace(/\s+/g, " ")
    .trim()
}
