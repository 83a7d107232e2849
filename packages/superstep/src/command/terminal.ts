/**
 * Text for people: plain where it is not a terminal, at most 80 columns wide, in colours that are readable on dark and on
 * light. Text of models, tools and files is foreign: `foreign` takes from it what would steer the terminal.
 */
import type { Writable } from "node:stream"
import { cellsOf, cellWidth, graphemes, printable } from "@superstep/engine/text"

export interface Terminal {
  /** A person looks at it. */
  readonly isTerminal: boolean
  readonly hasColor: boolean
  readonly width: number
  readonly paint: Paint
  write(text: string): void
  line(text?: string): void
}

type Painter = (text: string) => string

export interface Paint {
  readonly bold: Painter
  readonly dim: Painter
  readonly red: Painter
  readonly green: Painter
  readonly magenta: Painter
}

const WIDEST = 80
const NARROWEST = 20

export interface TerminalOptions {
  /** As `--no-color` wants it. */
  readonly noColor?: boolean | undefined
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

export function terminal(
  stream: Writable & { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined },
  options: TerminalOptions = {},
): Terminal {
  const { noColor = false, env = {} } = options
  const isTerminal = stream.isTTY === true
  const hasColor = isTerminal && !noColor && !env.NO_COLOR && env.TERM !== "dumb"
  return {
    isTerminal,
    hasColor,
    get width() {
      const columns = isTerminal ? stream.columns || WIDEST : WIDEST
      return Math.min(WIDEST, Math.max(NARROWEST, columns))
    },
    paint: paintWith(hasColor),
    write: (text) => void stream.write(text),
    line: (text = "") => void stream.write(`${text}\n`),
  }
}

function paintWith(hasColor: boolean): Paint {
  const paint =
    (code: number): Painter =>
    (text) =>
      hasColor && text !== "" ? `\x1B[${code}m${text}\x1B[0m` : text
  // Yellow, cyan and blue cannot be read on one of the two backgrounds.
  return { bold: paint(1), dim: paint(2), red: paint(31), green: paint(32), magenta: paint(35) }
}

/** Text of models, tools and files. Line breaks and tabs stay. */
export function foreign(text: string): string {
  return printable(text.replace(/\r\n/g, "\n"), "\n\t")
}

/** The same on one line. */
export function foreignLine(text: string): string {
  return foreign(text.replace(/\s+/g, " ").trim())
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours that `paint` adds.
const COLORS = /\x1B\[\d*m/g

/** How many columns it takes; colours take none. */
export function widthOf(text: string): number {
  return cellWidth(text.replace(COLORS, ""))
}

/** At most so many columns, with … where something was cut off. For text without colours. */
export function clipped(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ""
  let used = 0
  for (const grapheme of graphemes(text)) {
    used += cellsOf(grapheme)
    if (used > width - 1) break
    kept += grapheme
  }
  return `${kept}…`
}

/** With spaces up to the column. */
export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)))
}

/** Broken at spaces; line breaks stay; a word that is wider than a line is broken where it must. For text without colours. */
export function wrapped(text: string, width: number): string[] {
  return text.split("\n").flatMap((paragraph) => wrapParagraph(paragraph, width))
}

function wrapParagraph(paragraph: string, width: number): string[] {
  const indent = /^ */.exec(paragraph)?.[0].slice(0, Math.floor(width / 2)) ?? ""
  const lines: string[] = []
  let line = indent
  for (const word of paragraph.trim().split(/\s+/)) {
    const isFirst = line === indent
    if (!isFirst && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = indent
    }
    line += line === indent ? word : ` ${word}`
    while (widthOf(line) > width) {
      const head = fitting(line, width)
      lines.push(head)
      line = indent + line.slice(head.length)
    }
  }
  return [...lines, line]
}

function fitting(text: string, width: number): string {
  let kept = ""
  let used = 0
  for (const grapheme of graphemes(text)) {
    used += cellsOf(grapheme)
    if (used > width && kept !== "") break
    kept += grapheme
  }
  return kept
}
