/** Reads Markdown. A heading is the title of the text below it, after the headings above it ("Guide › Install"). */
import { calendarDate, cutText } from "@superstep/engine/text"
import type { DocumentFacts, DocumentPart, Part } from "../chunks.ts"
import { type Line, linesOf, type TextSource } from "./text-file.ts"

const HEADING = /^ {0,3}(#{1,6})[ \t]/
const FENCE = /^ {0,3}(`{3,}|~{3,})/
const MAX_TITLE_LENGTH = 200
/** Maximum characters of a heading. */
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
  /** A heading without text so far. */
  let bare: { readonly level: number; readonly part: Part } | undefined
  const titleNow = () => titleOf([options.title, ...headings])
  yield { section: { title: titleNow() } }
  for await (const { text, line, isTruncated } of linesOf(source, signal)) {
    const facts = frontMatter.take(text)
    if (facts !== undefined) yield { facts }
    fence = fenceAfter(text, fence)
    const heading = fence === undefined ? headingOf(text) : undefined
    if (heading === undefined) {
      if (text.trim() !== "") bare = undefined
      yield { text: isTruncated ? text : `${text}\n`, ...(hasLines && { line }) }
    } else {
      const { level, name } = heading
      // A heading without text is a chunk of its own, so that it can be found.
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

/**
 * The fence of the code block that the next line is in. Only a bare fence of at least the opening length ends the block.
 */
function fenceAfter(text: string, fence: string | undefined): string | undefined {
  const mark = FENCE.exec(text)?.[1]
  if (mark === undefined) return fence
  if (fence === undefined) return mark
  return mark.startsWith(fence) && text.trim() === mark ? undefined : fence
}

/** Works in steps that are linear in the length of the line; one regular expression would backtrack over its spaces. */
function headingOf(text: string): { readonly level: number; readonly name: string } | undefined {
  const [begin, marks = ""] = HEADING.exec(text) ?? []
  if (begin === undefined) return undefined
  const name = text.slice(begin.length, begin.length + MAX_HEADING_LENGTH).trim()
  let end = name.length
  while (name[end - 1] === "#") end -= 1
  const isClosed = end === 0 || /\s/.test(name[end - 1] as string)
  return { level: marks.length, name: plain(isClosed ? name.slice(0, end) : name) }
}

/** Reads plain text, without markup. */
export async function* readText(source: TextSource, signal?: AbortSignal): AsyncGenerator<Part> {
  for await (const { text, line, isTruncated } of linesOf(source, signal))
    yield part({ text, line, isTruncated })
}

function part({ text, line, isTruncated }: Line): Part {
  return { text: isTruncated ? text : `${text}\n`, line }
}

/** Removes links and emphasis, which do not help a search. */
function plain(heading: string): string {
  return heading
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
    .replace(/[*_`]+/g, "")
    .trim()
}

function titleOf(names: readonly (string | undefined)[]): string | undefined {
  const path = names.filter((name) => name !== undefined && name !== "")
  // The title of a page often repeats its first heading.
  const title = path.filter((name, at) => name !== path[at - 1]).join(" › ")
  return title === "" ? undefined : cutText(title, MAX_TITLE_LENGTH)
}

// The author and the date in the front matter of Markdown: lines `name: value` between two lines `---` at the beginning.

const MAX_LINES = 200
const MAX_AUTHOR_LENGTH = 100
const FIELD = /^(authors?|date|published|created)[ \t]*:(.*)$/i

/** Consumes the lines of a document, and reports when the front matter has ended. */
class FrontMatter {
  #lines = 0
  #isOver = false
  #authors: string[] = []
  #date: string | undefined
  /** Inside a list of authors with one line each. */
  #isList = false

  /** Returns the metadata at the line that ends the front matter. */
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
