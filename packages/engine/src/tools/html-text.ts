/**
 * A web page as text that can be read: headings, lists, links, no scripts and styles. One pass, in time that
 * grows with the page's length whatever is in it; a page is written by strangers.
 */
import { decodeEntities } from "./html-entities.ts"

export interface PageText {
  readonly title?: string
  readonly text: string
}

/** What is in these is not for reading. */
const SKIPPED = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "iframe",
  "object",
  "select",
  "canvas",
])
const BLOCKS = new Set(
  "address article aside blockquote dd div dl dt fieldset figcaption figure footer form header hr main nav ol p pre section table tbody thead tr ul".split(
    " ",
  ),
)

interface Tag {
  /** Lower case; with `/` in front when it closes. */
  readonly name: string
  readonly source: string
  /** Where the text goes on. */
  readonly end: number
}

export function htmlToText(html: string, base?: string): PageText {
  // Letters of ASCII alone: others may change the length.
  const lower = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const page = pageWriter(base)
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf("<", at)
    page.text(html.slice(at, open < 0 ? html.length : open))
    if (open < 0) break
    const tag = readTag(html, lower, open)
    if (tag === undefined) {
      page.text("<")
      at = open + 1
      continue
    }
    page.tag(tag)
    at = SKIPPED.has(tag.name) ? afterElement(lower, tag) : tag.end
  }
  return page.done()
}

/** Undefined when `<` is just a character. What never ends goes to the end of the page. */
function readTag(html: string, lower: string, open: number): Tag | undefined {
  const next = lower[open + 1] ?? ""
  if (next === "!" || next === "?") {
    const isComment = html.startsWith("<!--", open)
    const close = isComment ? html.indexOf("-->", open + 4) : html.indexOf(">", open)
    return { name: "", source: "", end: close < 0 ? html.length : close + (isComment ? 3 : 1) }
  }
  if (!/[a-z/]/.test(next)) return undefined
  let end = open + 1
  let quote = ""
  for (; end < html.length; end++) {
    const char = html[end] as string
    if (quote !== "") {
      if (char === quote) quote = ""
    } else if (char === ">") break
    else if ((char === '"' || char === "'") && html[end - 1] === "=") quote = char
  }
  const source = html.slice(open + 1, end)
  const name = /^\/?[a-z0-9]+/.exec(lower.slice(open + 1, Math.min(end, open + 32)))?.[0] ?? ""
  return { name, source, end: Math.min(end + 1, html.length) }
}

function afterElement(lower: string, tag: Tag): number {
  if (tag.source.endsWith("/")) return tag.end
  const close = lower.indexOf(`</${tag.name}`, tag.end)
  return close < 0 ? lower.length : close
}

interface PageWriter {
  text(source: string): void
  tag(tag: Tag): void
  done(): PageText
}

function pageWriter(base: string | undefined): PageWriter {
  const pieces: string[] = []
  const links: (string | undefined)[] = []
  let title: string | undefined
  let inTitle = false
  let inPre = 0

  const opened: Readonly<Record<string, (tag: Tag) => void>> = {
    title: () => {
      inTitle = title === undefined
    },
    "/title": () => {
      inTitle = false
    },
    pre: () => inPre++,
    "/pre": () => {
      inPre = Math.max(0, inPre - 1)
    },
    br: () => pieces.push("\n"),
    li: () => pieces.push("\n- "),
    td: () => pieces.push(" | "),
    th: () => pieces.push(" | "),
    img: ({ source }) => pieces.push(attribute(source, "alt") ?? ""),
    a: ({ source }) => {
      const target = linkTarget(attribute(source, "href"), base)
      links.push(target)
      if (target !== undefined) pieces.push("[")
    },
    "/a": () => {
      const target = links.pop()
      if (target !== undefined) pieces.push(`](${target})`)
    },
  }

  return {
    text(source) {
      const text = readable(decodeEntities(source))
      if (inTitle) title = `${title ?? ""}${text}`
      else pieces.push(inPre > 0 ? text : text.replace(/\s+/g, " "))
    },

    tag(tag) {
      const bare = tag.name.replace("/", "")
      if (/^h[1-6]$/.test(bare))
        pieces.push(tag.name === bare ? `\n\n${"#".repeat(Number(bare[1]))} ` : "\n\n")
      else if (BLOCKS.has(bare)) pieces.push("\n\n")
      opened[tag.name]?.(tag)
    },

    done() {
      const lines = pieces.join("").split("\n")
      const text = lines.map((line) => line.trimEnd().replace(/^ +(?=\S)/, inPreLine)).join("\n")
      const tidy = text.replace(/\n{3,}/g, "\n\n").trim()
      const name = title?.replace(/\s+/g, " ").trim()
      return { text: tidy, ...(name === undefined || name === "" ? {} : { title: name }) }
    },
  }
}

/** A single space at the start of a line is left over from a collapsed line break; more of them are meant. */
function inPreLine(spaces: string): string {
  return spaces.length === 1 ? "" : spaces
}

function linkTarget(href: string | undefined, base: string | undefined): string | undefined {
  if (href === undefined || href.startsWith("#") || !URL.canParse(href, base)) return undefined
  const url = new URL(href, base)
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : undefined
}

function attribute(source: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}=(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i").exec(source)
  const value = found?.[1] ?? found?.[2] ?? found?.[3]
  return value === undefined ? undefined : decodeEntities(value).trim()
}

/** Without characters that nobody sees and that a model would read all the same. */
function readable(text: string): string {
  return text.replace(/[\u200b\u2060\u2062-\u2064\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu, "")
}
