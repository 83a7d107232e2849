/**
 * Removes links from text that a model wrote. The model may invent addresses, or a page that it read may have asked for
 * them. A viewer of the report loads its images, so an image address can leak the report's content. The words stay.
 *
 * S1 In no Markdown dialect does the result have a link (except to a heading of the text itself), an image, a definition
 *    of a link or of a footnote, or HTML other than tags that lay out text.
 * S2 Addresses in the text become code, which no viewer turns into a link, except those that the caller knows.
 *
 * Parts are changed where the parser found them, and the result is parsed again until it is stable: removing one link can
 * create another one. Text that does not become stable soon, or that is too costly to parse, loses all of its markup.
 */
import { decodeString } from "micromark-util-decode-string"
import {
  isCheapMarkdown,
  type MarkdownDialect,
  type MarkdownParts,
  markdownParts,
  type Range,
  withoutMarkup,
} from "./markdown-parts.ts"

interface Edit extends Range {
  readonly text: string
  /** Whether the line break is removed too. */
  readonly isLine?: boolean
}

/** The number of a source that a link points to. */
export type NumberOf = (url: string) => number | undefined

const MAX_ROUNDS = 10
const DIALECTS: readonly MarkdownDialect[] = ["github", "commonmark"]

/** Whether an address may stay unchanged. */
export type IsKnownAddress = (address: string) => boolean

/** A link to one of the sources becomes its number. */
export function safeMarkdown(
  source: string,
  numberOf: NumberOf = () => undefined,
  isKnown: IsKnownAddress = () => false,
): string {
  let text = source.replace(/\uFEFF/g, "").replace(/\r\n?/g, "\n")
  for (let round = 0; round < MAX_ROUNDS && isCheapMarkdown(text); round++) {
    const before = text
    for (const dialect of DIALECTS) {
      const edits = editsOf(text, markdownParts(text, dialect), { numberOf, isKnown, isStrict: round > 2 })
      text = applied(text, edits)
    }
    if (text === before) return closed(text)
  }
  return withoutMarkup(text)
}

/** Closes an unclosed code block, which would swallow the text below it. */
function closed(text: string): string {
  const { openFence } = markdownParts(text, "github")
  return openFence === undefined ? text : `${text.replace(/\n$/, "")}\n${openFence}`
}

interface Policy {
  readonly numberOf: NumberOf
  readonly isKnown: IsKnownAddress
  /** Whether to escape brackets that could become a link. */
  readonly isStrict: boolean
}

function editsOf(text: string, parts: MarkdownParts, { numberOf, isKnown, isStrict }: Policy): Edit[] {
  const found = [
    ...linkEdits(text, parts, numberOf),
    ...parts.definitions.map((range) => withItsLine(text, range)),
    ...parts.footnotes.map(({ start }) => ({ start, end: start + 1, text: "\\[" })),
    ...parts.autolinks.map((range) => autolinkEdit(text, range)),
    ...htmlEdits(text, parts),
    ...addressEdits(text, parts, isKnown),
    // A stray backtick would start code together with one of those around an address, and parsers disagree on which of
    // three backticks belong together.
    ...characterEdits(text, parts, /`/g, () => "&#96;"),
  ]
  if (isStrict && found.length > 0) {
    const marks = citationRanges(text)
    found.push(
      ...characterEdits(text, parts, /[[\]]/g, (character, at) =>
        marks.has(at) ? character : `\\${character}`,
      ),
    )
  }
  return found
}

const CITATION = /^\^?\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*$/

function linkEdits(text: string, { links }: MarkdownParts, numberOf: NumberOf): Edit[] {
  return links.flatMap(({ kind, start, end, label, target }): Edit[] => {
    // A link by name is plain text without its definition.
    if (kind === "link" && target === undefined) return []
    if (kind === "link" && target?.startsWith("#")) return []
    const said = text.slice(label.start, label.end).trim()
    const isCitation = kind === "link" && CITATION.test(said)
    const number = kind === "image" || isCitation ? undefined : numberOf(target ?? "")
    const after = isCitation ? "]" : number === undefined ? "" : ` [${number}]`
    return [
      { start, end: label.start, text: isCitation ? "[" : "" },
      { start: label.end, end, text: after },
    ]
  })
}

/** The whole line of a definition that is alone on it. */
function withItsLine(text: string, { start, end }: Range): Edit {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1
  const lineEnd = text.indexOf("\n", end)
  const isAlone =
    /^[ \t>]*$/.test(text.slice(lineStart, start)) &&
    /^[ \t]*$/.test(text.slice(end, lineEnd < 0 ? text.length : lineEnd))
  if (!isAlone) return { start, end, text: "" }
  return { start: lineStart, end: lineEnd < 0 ? text.length : lineEnd + 1, text: "", isLine: true }
}

function autolinkEdit(text: string, { start, end }: Range): Edit {
  const address = text.slice(start + 1, end - 1)
  if (/[`|\\]/.test(address)) return { start, end: start + 1, text: "&lt;" }
  return { start, end, text: asCode(text, start, end, address) }
}

/** HTML tags that only lay out text. */
const LAYOUT = /^<\/?(?:br|sub|sup|b|i|em|strong|u|s|kbd)\s*\/?>$/i

function htmlEdits(text: string, { html }: MarkdownParts): Edit[] {
  return html.flatMap(({ start, end, isBlock }) => {
    const source = text.slice(start, end)
    if (!isBlock && LAYOUT.test(source) && !isAlone(text, { start, end })) return []
    const characters = isBlock ? [...source.matchAll(/</g)].map(({ index }) => index) : [0]
    return characters.map((at) => ({ start: start + at, end: start + at + 1, text: "&lt;" }))
  })
}

/**
 * Whether a tag is alone on its line. Parsers that accept more kinds of spaces than CommonMark treat it, and what
 * follows, as a block of HTML.
 */
function isAlone(text: string, { start, end }: Range): boolean {
  const lineEnd = text.indexOf("\n", end)
  if (text.slice(end, lineEnd < 0 ? text.length : lineEnd).trim() !== "") return false
  return /^[\s>*+\-\d.)]*$/.test(text.slice(text.lastIndexOf("\n", start - 1) + 1, start))
}

/** Addresses that some programs turn into links: with a scheme, of the web, of mail. */
const ADDRESS =
  /(?:\b[a-z][a-z0-9+.-]{0,30}:)?\/\/[^\s<>"'`|\\/][^\s<>"'`|\\]*|\bwww\.[^\s<>"'`|\\]+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w-]+(?:\.[\w-]+)*/giu

/** Turns addresses into code, in each run of text without markup. */
function addressEdits(text: string, { text: pieces }: MarkdownParts, isKnown: IsKnownAddress): Edit[] {
  const edits: Edit[] = []
  for (let i = 0; i < pieces.length; ) {
    const run = [pieces[i++] as MarkdownParts["text"][number]]
    while (pieces[i]?.start === run.at(-1)?.end) run.push(pieces[i++] as MarkdownParts["text"][number])
    const [start, end] = [run[0]?.start ?? 0, run.at(-1)?.end ?? 0]
    edits.push(...runEdits(text, { start, end }, run, isKnown))
  }
  return edits
}

function runEdits(
  text: string,
  { start, end }: Range,
  run: MarkdownParts["text"],
  isKnown: IsKnownAddress,
): Edit[] {
  const raw = text.slice(start, end)
  const found = addressesIn(raw)
  const isEscaped = run.some(({ kind }) => kind === "escaped")
  const shown = isEscaped ? decodeString(raw) : raw
  const wanted = isEscaped ? addressesIn(shown) : found
  if (wanted.map(({ address }) => address).join(" ") !== found.map(({ address }) => address).join(" ")) {
    return [{ start, end, text: rewritten(shown, wanted) }]
  }
  const ranges = found.map(({ at, address }) => ({ start: start + at, end: start + at + address.length }))
  let next = 0
  const missed = run.filter(({ kind, ...one }) => {
    while ((ranges[next]?.end ?? Number.POSITIVE_INFINITY) <= one.start) next++
    return kind === "address" && (ranges[next]?.start ?? Number.POSITIVE_INFINITY) >= one.end
  })
  return [...ranges, ...missed].flatMap((range) => {
    const address = text.slice(range.start, range.end)
    if (isKnown(address)) return []
    return [{ start: range.start, end: range.end, text: asCode(text, range.start, range.end, address) }]
  })
}

export function addressesIn(text: string): { at: number; address: string }[] {
  return [...text.matchAll(ADDRESS)].flatMap(({ 0: found, index }) => {
    let length = found.length
    while (length > 0 && ".,;:!?)]}*_".includes(found[length - 1] as string)) length--
    return length === 0 ? [] : [{ at: index, address: found.slice(0, length) }]
  })
}

/** Rewrites text whose addresses were hidden in escapes and entities. */
function rewritten(shown: string, addresses: readonly { at: number; address: string }[]): string {
  const literal = (part: string) => part.replace(/[!-/:-@[-`{-~]/g, String.raw`\$&`).replace(/\s+/g, " ")
  let [text, at] = ["", 0]
  for (const { at: next, address } of addresses) {
    text += `${literal(shown.slice(at, next))} \`${address}\` `
    at = next + address.length
  }
  return text + literal(shown.slice(at))
}

/** Separates it from adjacent code. */
function asCode(text: string, start: number, end: number, address: string): string {
  const [before, after] = [text[start - 1] ?? "", text[end] ?? ""]
  return `${/[`\\]/.test(before) ? " " : ""}\`${address}\`${after === "`" ? " " : ""}`
}

/** Edits of single characters in plain text. */
function characterEdits(
  text: string,
  { text: pieces }: MarkdownParts,
  characters: RegExp,
  change: (character: string, at: number) => string,
): Edit[] {
  return pieces.flatMap(({ start, end, kind }) =>
    kind !== "data"
      ? []
      : [...text.slice(start, end).matchAll(characters)].flatMap(({ 0: character, index }) => {
          const [at, changed] = [start + index, change(character, start + index)]
          return changed === character ? [] : [{ start: at, end: at + 1, text: changed }]
        }),
  )
}

function citationRanges(text: string): ReadonlySet<number> {
  const marks = text.matchAll(/\[\^?\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*\]/g)
  return new Set([...marks].flatMap(({ 0: mark, index }) => [index, index + mark.length - 1]))
}

/** Edits that overlap with an earlier one are left to the next round. */
function applied(text: string, edits: readonly Edit[]): string {
  let [changed, at] = ["", 0]
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (edit.start < at) continue
    changed += text.slice(at, edit.start) + edit.text
    at = edit.end
    while (edit.isLine && changed.endsWith("\n\n") && text[at] === "\n") at++
  }
  return changed + text.slice(at)
}
