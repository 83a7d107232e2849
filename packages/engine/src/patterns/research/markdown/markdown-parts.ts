/**
 * The structure of Markdown: where code, links, images, HTML and plain text are in the source. Offsets are exact, so that
 * one part can be changed and the rest stays unchanged. Viewers of a report parse Markdown differently, so it is parsed
 * in two dialects: CommonMark, and with GitHub's tables, footnotes and bare addresses.
 */
import { parse, postprocess, preprocess } from "micromark"
import { gfmAutolinkLiteral } from "micromark-extension-gfm-autolink-literal"
import { gfmFootnote } from "micromark-extension-gfm-footnote"
import { gfmTable } from "micromark-extension-gfm-table"
import { decodeString } from "micromark-util-decode-string"
import type { Event, Extension, Token, TokenType } from "micromark-util-types"

export interface Range {
  readonly start: number
  readonly end: number
}

interface LinkPart extends Range {
  readonly kind: "link" | "image"
  /** Between its brackets. */
  readonly label: Range
  /** Undefined for a reference to a definition. */
  readonly target: string | undefined
}

interface Heading extends Range {
  readonly level: number
  /** Its text. Undefined if it has none. */
  readonly content: Range | undefined
}

/** A block with content: a paragraph, also in a list, or a table with rows. */
interface TextBlock extends Range {
  /** The number of lists around it. */
  readonly depth: number
  /** The offset at which text can be added. */
  readonly markAt: number
}

export interface MarkdownParts {
  readonly code: readonly Range[]
  readonly headings: readonly Heading[]
  readonly blocks: readonly TextBlock[]
  readonly links: readonly LinkPart[]
  /** `[name]: address`. */
  readonly definitions: readonly Range[]
  /** `[^name]: …`. The text of a footnote is ordinary text. */
  readonly footnotes: readonly Range[]
  /** `<https://…>`. */
  readonly autolinks: readonly Range[]
  readonly html: readonly (Range & { readonly isBlock: boolean })[]
  /**
   * Text that is shown unchanged, in order. `data` has no escapes and no entities; GitHub turns an `address` into a link.
   */
  readonly text: readonly (Range & { readonly kind: "data" | "escaped" | "address" })[]
  /** The closing fence that a code block at the end lacks. */
  readonly openFence: string | undefined
}

export type MarkdownDialect = "commonmark" | "github"

// Emphasis does not affect links, and parsing it is quadratic in the length of the text.
const NO_EMPHASIS: Extension = { disable: { null: ["attention"] } }
const DIALECTS: Readonly<Record<MarkdownDialect, readonly Extension[]>> = {
  commonmark: [NO_EMPHASIS],
  github: [NO_EMPHASIS, gfmAutolinkLiteral(), gfmFootnote(), gfmTable()],
}

const KEPT = 6
/** Several passes parse the same text. */
const recent = new Map<string, MarkdownParts>()

export function markdownParts(text: string, dialect: MarkdownDialect): MarkdownParts {
  const key = `${dialect} ${text}`
  const known = recent.get(key)
  if (known !== undefined) return known
  const parts = partsOf(text, dialect)
  recent.set(key, parts)
  for (const old of recent.keys()) if (recent.size > KEPT) recent.delete(old)
  return parts
}

const CODE = new Set<TokenType>(["codeFenced", "codeIndented", "codeText"])
const LISTS = new Set<TokenType>(["listOrdered", "listUnordered"])
const HEADING_TEXTS = new Set<TokenType>(["atxHeadingText", "setextHeadingText"])
/** Tokens whose content is not text. */
const OPAQUE = new Set<string>([
  ...CODE,
  "htmlFlow",
  "htmlText",
  "autolink",
  "definition",
  "resource",
  "reference",
  "gfmFootnoteDefinitionLabel",
  "literalAutolink",
  "characterEscape",
  "characterReference",
])

function partsOf(text: string, dialect: MarkdownDialect): MarkdownParts {
  const reading = new Reading(text)
  const extensions = [...DIALECTS[dialect]]
  const events = postprocess(
    parse({ extensions })
      .document()
      .write(preprocess()(text, undefined, true)),
  )
  for (const [kind, token] of events) reading.read(kind, token)
  return reading
}

interface OpenLink {
  readonly token: Token
  label?: Range
  target?: string
}

class Reading implements MarkdownParts {
  readonly code: Range[] = []
  readonly headings: Heading[] = []
  readonly blocks: TextBlock[] = []
  readonly links: LinkPart[] = []
  readonly definitions: Range[] = []
  readonly footnotes: Range[] = []
  readonly autolinks: Range[] = []
  readonly html: (Range & { isBlock: boolean })[] = []
  readonly text: (Range & { kind: "data" | "escaped" | "address" })[] = []
  openFence: string | undefined
  readonly #source: string
  readonly #open: Token[] = []
  readonly #links: OpenLink[] = []
  #opaque = 0
  #fences: string[] = []
  #lists = 0
  #content: Range | undefined
  #lastCell: number | undefined

  constructor(source: string) {
    this.#source = source
  }

  read(kind: Event[0], token: Token): void {
    if (kind === "exit") this.#leave(token)
    else this.#enter(token)
  }

  #enter(token: Token): void {
    const parent = this.#open.at(-1)
    this.#open.push(token)
    const range = rangeOf(token)
    const link = this.#links.at(-1)
    if (token.type === "link" || token.type === "image") this.#links.push({ token })
    else if (token.type === "label" && link !== undefined && parent === link.token) {
      link.label = { start: range.start + (parent.type === "image" ? 2 : 1), end: range.end - 1 }
    } else if (token.type === "resource" && link !== undefined && parent === link.token) link.target = ""
    else if (token.type === "resourceDestinationString" && link !== undefined) {
      link.target = decodeString(this.#source.slice(range.start, range.end))
    } else if (token.type === "codeFencedFenceSequence") {
      this.#fences.push(this.#source.slice(range.start, range.end))
    }
    if (this.#opaque === 0) this.#part(token, range)
    if (OPAQUE.has(token.type)) this.#opaque++
    if (LISTS.has(token.type)) this.#lists++
    else if (HEADING_TEXTS.has(token.type)) this.#content = range
    else if (token.type === "tableHead") this.#lastCell = undefined
    else if (token.type === "tableContent") this.#lastCell = range.end
  }

  #part(token: Token, range: Range): void {
    const { type } = token
    if (CODE.has(type)) this.code.push(range)
    else if (type === "definition") this.definitions.push(range)
    else if (type === "gfmFootnoteDefinition") this.footnotes.push(range)
    else if (type === "autolink") this.autolinks.push(range)
    else if (type === "htmlFlow" || type === "htmlText")
      this.html.push({ ...range, isBlock: type === "htmlFlow" })
    else if (type === "data") this.text.push({ ...range, kind: "data" })
    else if (type === "literalAutolink") this.text.push({ ...range, kind: "address" })
    else if (type === "characterEscape" || type === "characterReference")
      this.text.push({ ...range, kind: "escaped" })
  }

  #leave(token: Token): void {
    this.#open.pop()
    if (OPAQUE.has(token.type)) this.#opaque--
    if (LISTS.has(token.type)) this.#lists--
    if (token.type === "codeFenced") this.#leaveFenced(token)
    this.#leaveBlock(token)
    if (token.type !== "link" && token.type !== "image") return
    const { label, target } = this.#links.pop() ?? {}
    const { start, end } = rangeOf(token)
    const inside = label ?? { start: end, end }
    this.links.push({ kind: token.type, start, end, label: inside, target })
  }

  #leaveBlock(token: Token): void {
    const range = rangeOf(token)
    if (token.type === "atxHeading" || token.type === "setextHeading") {
      const mark = /^#{1,6}/.exec(this.#source.slice(range.start, range.end))?.[0]
      const level =
        token.type === "atxHeading" ? (mark?.length ?? 1) : this.#source[range.end - 1] === "=" ? 1 : 2
      this.headings.push({ ...range, level, content: this.#content })
      this.#content = undefined
    } else if (token.type === "paragraph") {
      this.blocks.push({ ...range, depth: this.#lists, markAt: range.end })
    } else if (token.type === "tableBody" && this.#lastCell !== undefined) {
      this.blocks.push({ ...range, depth: this.#lists, markAt: this.#lastCell })
    }
  }

  #leaveFenced(token: Token): void {
    const [first, second] = this.#fences
    this.#fences = []
    const isOpen = second === undefined && this.#open.length === 0 && token.end.offset === this.#source.length
    this.openFence = isOpen ? first : undefined
  }
}

function rangeOf({ start, end }: Token): Range {
  return { start: start.offset, end: end.offset }
}

/** Changes what is not code. */
export function outsideCode(text: string, change: (plain: string) => string): string {
  let changed = ""
  let at = 0
  for (const { start, end } of codeIn(text)) {
    changed += change(text.slice(at, start)) + text.slice(start, end)
    at = end
  }
  return changed + change(text.slice(at))
}

/** The same text with code replaced by blanks, so that its length and its lines stay the same. */
export function codeMasked(text: string): string {
  let masked = ""
  let at = 0
  for (const { start, end } of codeIn(text)) {
    masked += text.slice(at, start) + text.slice(start, end).replace(/[^\n]/g, "x")
    at = end
  }
  return masked + text.slice(at)
}

/** Text that is too costly to parse loses its markup anyway. */
function codeIn(text: string): readonly Range[] {
  return isCheapMarkdown(text) ? markdownParts(text, "github").code : []
}

/**
 * Estimates the cost of parsing Markdown. The parser is quadratic in the number of brackets in a paragraph, and in the
 * number of nested quotes and lists in one line. Text that would take too long keeps its words and loses its markup.
 */

/** In microseconds, measured on hostile texts: about a second. */
const MAX_COST = 800_000
const PER_CHARACTER = 2.4
const PER_LINE = 40
const PER_BRACKET_AND_CHARACTER = 0.01
const PER_MARKER_PAIR = 0.02

const MARKERS = /^[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]*)+/
/** A line that starts a block of its own. */
const OWN_BLOCK = /^(?: {0,3}[*+-] \S|#|\s*$)/

export function isCheapMarkdown(text: string): boolean {
  let cost = text.length * PER_CHARACTER
  let [length, brackets] = [0, 0]
  for (const line of text.split("\n")) {
    const marks = MARKERS.exec(line)?.[0].length ?? 0
    cost += PER_LINE + marks * marks * PER_MARKER_PAIR
    if (OWN_BLOCK.test(line)) [length, brackets] = [0, 0]
    const more = count(line, "[") + count(line, "]")
    // The cost of the paragraph with this line, minus its cost without it.
    cost += ((length + line.length) * (brackets + more) - length * brackets) * PER_BRACKET_AND_CHARACTER
    length += line.length
    brackets += more
    if (cost > MAX_COST) return false
  }
  return true
}

function count(text: string, character: string): number {
  let found = 0
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) found++
  return found
}

const LOOK_ALIKES: Readonly<Record<string, string>> = {
  "[": "(",
  "]": ")",
  "<": "‹",
  ">": "›",
  "`": "'",
  "~": "∼",
  "\\": "∖",
  "&": "＆",
  "@": "＠",
  "|": "¦",
}

/** Plain text in which, by construction, no parser finds links, HTML or code. */
export function withoutMarkup(text: string): string {
  return text
    .replace(/[[\]<>`~\\&@|]/g, (character) => LOOK_ALIKES[character] ?? "")
    .replace(/\/\//g, "⁄⁄")
    .replace(/www\./gi, "www ")
    .split(/\r\n?|\n/)
    .map((line) => line.replace(MARKERS, "").trimStart())
    .join("\n")
}
