/**
 * Output for people: plain if it is not a terminal, at most 80 columns wide, in colours that are readable on dark and on
 * light backgrounds. Text from models, tools and files is untrusted: `sanitize` removes control sequences.
 */
import type { Writable } from "node:stream"
import { cellsOf, cellWidth, graphemes, printable, wrapText as wrapped } from "@superstep/engine/text"

export { wrapped }

export interface Terminal {
  /** Whether a person sees the output. */
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
  readonly italic: Painter
  readonly red: Painter
  readonly green: Painter
  readonly magenta: Painter
}

const MAX_WIDTH = 80
const MIN_WIDTH = 20

export interface TerminalOptions {
  /** `--no-color`. */
  readonly noColor?: boolean | undefined
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

export function terminal(
  stream: Writable & { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined },
  { noColor = false, env = {} }: TerminalOptions = {},
): Terminal {
  const isTerminal = stream.isTTY === true
  const hasColor = isTerminal && !noColor && !env.NO_COLOR && env.TERM !== "dumb"
  return {
    isTerminal,
    hasColor,
    get width() {
      const columns = isTerminal ? stream.columns || MAX_WIDTH : MAX_WIDTH
      return Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, columns))
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
  // Yellow, cyan and blue are unreadable on one of the two backgrounds.
  return {
    bold: paint(1),
    dim: paint(2),
    italic: paint(3),
    red: paint(31),
    green: paint(32),
    magenta: paint(35),
  }
}

/** Makes untrusted text safe to print. Line breaks and tabs stay. */
export function sanitize(text: string): string {
  return printable(text.replace(/\r\n/g, "\n"), "\n\t")
}

/** Like `sanitize`, on one line. */
export function sanitizeLine(text: string): string {
  return sanitize(text.replace(/\s+/g, " ").trim())
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours that `paint` adds.
const COLORS = /\x1B\[\d*m/g

/** The width in columns. Colours have no width. */
export function widthOf(text: string): number {
  return cellWidth(text.replace(COLORS, ""))
}

/** At most `width` columns, with … if it was truncated. For text without colours. */
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

/** Padded with spaces to the width. */
export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)))
}

export interface ParagraphOptions {
  /** Printed before the first line; may have colours. */
  readonly label?: string | undefined
  /** Columns before every other line. Default: as wide as the label. */
  readonly indent?: number | undefined
  readonly paint?: Painter | undefined
}

/** Wraps text to the width of the terminal. For text without colours. */
export function paragraph(
  text: string,
  width: number,
  { label = "", indent = widthOf(label), paint = (line) => line }: ParagraphOptions = {},
): string[] {
  const first = label === "" ? " ".repeat(indent) : label
  const lines = wrapped(text, width - Math.max(indent, widthOf(first)))
  return lines.map((line, i) => {
    if (i === 0) return first + paint(line)
    return line === "" ? "" : " ".repeat(indent) + paint(line)
  })
}

export function printText(terminal: Terminal, text: string, options?: ParagraphOptions): void {
  for (const line of paragraph(text, terminal.width, options)) terminal.line(line)
}

// Characters that JSON does not escape, but that control some terminals or count as line breaks in some readers.
const UNSAFE = /[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/g

/** JSON that is safe to print on any terminal. Unsafe characters are escaped, so the data stays the same. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent) ?? "null"
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

/** Prints one line of JSON for each. */
export function printJsonLines(terminal: Terminal, values: readonly unknown[]): void {
  for (const value of values) terminal.line(jsonText(value))
}

/** Quotes one word of a suggested command line, for the shell and for the terminal. */
export function shellWord(text: string): string {
  const shown = sanitizeLine(text)
  return /^[\w./:@%+,=-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`
}

/** One line that is rewritten while work proceeds; prints nothing if stderr is not a terminal. */

export interface ProgressBar {
  /** `share` is from 0 to 1. */
  show(share: number, text: string): void
  /** Erases the line. */
  clear(): void
}

const WIDTH = 20
/** Milliseconds between two updates. */
const PAUSE = 80

export function progressBar(terminal: Terminal): ProgressBar {
  let last = Number.NEGATIVE_INFINITY
  let isShown = false
  return {
    show(share, text) {
      if (!terminal.isTerminal || Date.now() - last < PAUSE) return
      last = Date.now()
      isShown = true
      const full = Math.round(Math.min(1, Math.max(0, share)) * WIDTH)
      const bar = `${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${String(Math.floor(share * 100)).padStart(3)}%  `
      terminal.write(`\r\x1B[2K${bar}${clipped(sanitizeLine(text), terminal.width - widthOf(bar) - 1)}`)
    },
    clear() {
      if (isShown) terminal.write("\r\x1B[2K")
      isShown = false
    },
  }
}
