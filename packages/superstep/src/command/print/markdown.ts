/**
 * Renders Markdown on a terminal, line by line as it streams: headings, lists, quotes, code, tables, emphasis and links. The
 * text comes from models, so it is sanitized before anything else: no escape sequence of theirs reaches the terminal.
 *
 * 1. Nothing is lost: what is not understood is printed as it is.
 * 2. No line is wider than the terminal, except lines of code, which stay as they are for copying.
 * 3. Only a table waits for its last line.
 */
import { cellsOf, graphemes } from "@superstep/engine/text"
import { type Paint, sanitize, type Terminal, widthOf } from "../terminal/terminal.ts"

type Style = keyof Paint
interface Piece {
  readonly text: string
  readonly styles: readonly Style[]
}

/** Longer lines are printed without emphasis: finding it would take long. */
const MAX_INLINE = 4_000
const MAX_DEPTH = 4
const MIN_CELL = 6

/** For output that streams: writes rendered lines to the terminal. `flush` ends what is open. */
export interface MarkdownWriter {
  write(text: string): void
  flush(): void
}

/** A pipe receives the text unchanged. */
export function markdownWriter(out: Terminal): MarkdownWriter {
  if (!out.isTerminal) return { write: (text) => out.write(text), flush: () => undefined }
  const lines = new MarkdownLines(out)
  let open = ""
  const print = (rendered: readonly string[]) => {
    for (const line of rendered) out.line(line)
  }
  return {
    write(text) {
      const [first = "", ...others] = text.split("\n")
      open += first
      for (const next of others) {
        print(lines.add(open))
        open = next
      }
    },
    flush() {
      if (open !== "") print(lines.add(open))
      open = ""
      print(lines.end())
    },
  }
}

export function printMarkdown(out: Terminal, text: string): void {
  const writer = markdownWriter(out)
  writer.write(`${text}\n`)
  writer.flush()
}

class MarkdownLines {
  readonly #width: number
  readonly #paint: Paint
  /** What closes the block of code. */
  #fence: string | undefined
  #table: string[] = []

  constructor({ width, paint }: Terminal) {
    this.#width = width
    this.#paint = paint
  }

  add(raw: string): string[] {
    const line = sanitize(raw).replaceAll("\t", "    ")
    if (this.#fence !== undefined) return this.#code(line)
    if (isRow(line)) {
      this.#table.push(line)
      return []
    }
    return [...this.end(), ...this.#line(line)]
  }

  end(): string[] {
    const rows = this.#table
    this.#table = []
    if (rows.length === 0) return []
    const isTable = rows.length > 1 && isDivider(rows[1] as string)
    return isTable ? this.#printTable(rows) : rows.flatMap((row) => this.#wrap(row))
  }

  #code(line: string): string[] {
    if (
      line.trim() === this.#fence ||
      (line.trim().startsWith(this.#fence as string) && /^\s*(`+|~+)\s*$/.test(line))
    ) {
      this.#fence = undefined
      return []
    }
    return [line === "" ? "" : `    ${this.#paint.magenta(line)}`]
  }

  #line(line: string): string[] {
    const { bold, dim } = this.#paint
    const [, fence, language = ""] = /^\s{0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line) ?? []
    if (fence !== undefined) {
      this.#fence = fence
      return language.trim() === "" ? [] : [dim(`    ${language.trim()}`)]
    }
    if (line.trim() === "") return [""]
    if (/^\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/.test(line))
      return [dim("─".repeat(Math.min(40, this.#width)))]
    const [, , title] = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line) ?? []
    if (title !== undefined) return this.#wrap(title, { styles: ["bold"] })
    const [, quoted] = /^\s{0,3}>\s?(.*)$/.exec(line) ?? []
    if (quoted !== undefined) return this.#wrap(quoted, { head: dim("│ "), rest: dim("│ "), indent: 2 })
    const [, space = "", mark, item = ""] = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(line) ?? []
    if (mark === undefined) return this.#wrap(line)
    const bullet = /\d/.test(mark) ? mark : "•"
    const [, box, task] = /^\[([ xX])\]\s+(.*)$/.exec(item) ?? []
    const shown = box === undefined ? `${bullet} ` : box === " " ? "☐ " : "☑ "
    const indent = Math.min(space.length, 12) + widthOf(shown)
    const head = " ".repeat(Math.min(space.length, 12)) + bold(shown)
    return this.#wrap(task ?? item, { head, rest: " ".repeat(indent), indent })
  }

  #wrap(
    text: string,
    {
      head = "",
      rest = "",
      indent = 0,
      styles = [],
    }: { head?: string; rest?: string; indent?: number; styles?: readonly Style[] } = {},
  ): string[] {
    const own = /^\s*/.exec(text)?.[0] ?? ""
    const margin = head === "" ? own.slice(0, 12) : ""
    const lines = wrapPieces(
      piecesOf(text.trim(), styles),
      Math.max(10, this.#width - indent - margin.length),
    )
    return lines.map((line, i) => (i === 0 ? head : rest) + margin + painted(line, this.#paint))
  }

  #printTable([header = "", divider = "", ...rows]: readonly string[]): string[] {
    const { dim } = this.#paint
    const columns = cellsIn(divider)
    const aligns = columns.map((cell) =>
      /^:?-+:$/.test(cell) ? (cell.startsWith(":") ? "center" : "right") : "left",
    )
    const cells = [header, ...rows].map((row, i) =>
      columns.map((_, column) => piecesOf(cellsIn(row)[column] ?? "", i === 0 ? ["bold"] : [])),
    )
    const widths = fitted(
      columns.map((_, column) => Math.max(1, ...cells.map((row) => lengthOf(row[column] ?? [])))),
      this.#width - 3 * (columns.length - 1),
    )
    const printed = cells.map((row) => {
      const wrapped = row.map((cell, column) => wrapPieces(cell, widths[column] as number))
      const height = Math.max(...wrapped.map((lines) => lines.length))
      return Array.from({ length: height }, (_, y) =>
        wrapped
          .map((lines, column) =>
            aligned(lines[y] ?? [], widths[column] as number, aligns[column], this.#paint),
          )
          .join(dim(" │ "))
          .trimEnd(),
      )
    })
    const line = dim(widths.map((width) => "─".repeat(width)).join("─┼─"))
    const [titles = [], ...others] = printed
    return [...titles, line, ...others.flat()]
  }
}

function isRow(line: string): boolean {
  return /^\s*\|.*\|\s*$/.test(line)
}

function isDivider(line: string): boolean {
  return cellsIn(line).every((cell) => /^:?-+:?$/.test(cell))
}

/** `\|` is a bar inside of a cell. */
function cellsIn(row: string): string[] {
  const inner = row.trim().replace(/^\|/, "").replace(/\|$/, "")
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"))
}

/** Takes from the widest column until the table fits. */
function fitted(wanted: readonly number[], room: number): number[] {
  const widths = [...wanted]
  let over = widths.reduce((sum, width) => sum + width, 0) - room
  while (over > 0) {
    const widest = Math.max(...widths)
    if (widest <= MIN_CELL) break
    widths[widths.indexOf(widest)] = widest - 1
    over--
  }
  return widths
}

function aligned(pieces: readonly Piece[], width: number, align: string | undefined, paint: Paint): string {
  const free = Math.max(0, width - lengthOf(pieces))
  const left = align === "right" ? free : align === "center" ? Math.floor(free / 2) : 0
  return " ".repeat(left) + painted(pieces, paint) + " ".repeat(free - left)
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text }) => sum + widthOf(text), 0)
}

function painted(pieces: readonly Piece[], paint: Paint): string {
  return pieces.map(({ text, styles }) => styles.reduce((all, style) => paint[style](all), text)).join("")
}

// Emphasis, code and links inside of a line.

function piecesOf(text: string, styles: readonly Style[] = [], depth = 0): readonly Piece[] {
  if (text.length > MAX_INLINE || depth > MAX_DEPTH) return [{ text, styles }]
  const pieces: Piece[] = []
  let plain = ""
  const flush = () => {
    if (plain !== "") pieces.push({ text: plain, styles })
    plain = ""
  }
  for (let i = 0; i < text.length; ) {
    const found = special(text, i, styles, depth)
    if (found === undefined) {
      plain += text[i++]
      continue
    }
    if (typeof found.pieces === "string") plain += found.pieces
    else {
      flush()
      pieces.push(...found.pieces)
    }
    i = found.end
  }
  flush()
  return pieces
}

interface Special {
  readonly pieces: readonly Piece[] | string
  readonly end: number
}

function special(text: string, i: number, styles: readonly Style[], depth: number): Special | undefined {
  const char = text[i] as string
  if (char === "\\" && /[\\`*_{}[\]()#+\-.!|~>]/.test(text[i + 1] ?? "")) {
    return { pieces: text[i + 1] as string, end: i + 2 }
  }
  if (char === "`") {
    const [ticks = "`"] = /^`+/.exec(text.slice(i, i + 10)) ?? []
    const close = text.indexOf(ticks, i + ticks.length)
    if (close < 0) return { pieces: ticks, end: i + ticks.length }
    const code = text.slice(i + ticks.length, close).replace(/^ (.+) $/, "$1")
    return { pieces: [{ text: code, styles: [...styles, "magenta"] }], end: close + ticks.length }
  }
  if (char === "*" || char === "_") return emphasis(text, i, styles, depth)
  if (char === "[") return link(text, i, styles, depth)
  return undefined
}

function emphasis(text: string, i: number, styles: readonly Style[], depth: number): Special | undefined {
  const char = text[i] as string
  const mark = text[i + 1] === char ? char + char : char
  const start = i + mark.length
  // Inside of a word, _ is a part of a name.
  const isInWord = char === "_" && /\w/.test(text[i - 1] ?? "")
  if (isInWord || /\s/.test(text[start] ?? " ")) return undefined
  for (let end = text.indexOf(mark, start + 1); end > 0; end = text.indexOf(mark, end + 1)) {
    const after = text[end + mark.length] ?? ""
    const isClosed = !/\s/.test(text[end - 1] as string) && !(char === "_" && /\w/.test(after))
    if (!isClosed || (mark.length === 1 && after === char)) continue
    const style: Style = mark.length === 2 ? "bold" : "italic"
    return { pieces: piecesOf(text.slice(start, end), [...styles, style], depth + 1), end: end + mark.length }
  }
  return { pieces: mark, end: start }
}

/** `text (address)`: the address stays visible, so that a link cannot hide where it leads. */
function link(text: string, i: number, styles: readonly Style[], depth: number): Special | undefined {
  const [whole, label, address] =
    /^\[([^[\]]{1,500})\]\(([^()\s]{1,1000})\)/.exec(text.slice(i, i + 1_600)) ?? []
  if (whole === undefined || label === undefined || address === undefined) return undefined
  const shown = label === address ? [] : [{ text: ` (${address})`, styles: [...styles, "dim" as const] }]
  return { pieces: [...piecesOf(label, styles, depth + 1), ...shown], end: i + whole.length }
}

// Wrapping text that has styles.

function wrapPieces(pieces: readonly Piece[], width: number): Piece[][] {
  const lines: Piece[][] = [[]]
  let used = 0
  const put = (text: string, styles: readonly Style[]) => {
    lines.at(-1)?.push({ text, styles })
    used += widthOf(text)
  }
  const breakLine = () => {
    const last = lines.at(-1)
    // Spaces at the end of a line are not visible.
    while (last !== undefined && last.length > 0 && last.at(-1)?.text.trim() === "") last.pop()
    lines.push([])
    used = 0
  }
  for (const word of wordsOf(pieces)) {
    const length = lengthOf(word)
    const isSpace = word.every(({ text }) => text.trim() === "")
    if (used + length > width && used > 0) breakLine()
    if (isSpace && used === 0) continue
    if (length <= width) {
      for (const { text, styles } of word) put(text, styles)
      continue
    }
    for (const { text, styles } of word) {
      let part = ""
      for (const grapheme of graphemes(text)) {
        if (used + widthOf(part) + cellsOf(grapheme) > width) {
          put(part, styles)
          part = ""
          breakLine()
        }
        part += grapheme
      }
      put(part, styles)
    }
  }
  return lines
}

/** Words may consist of several pieces: `**bold**ly` is one word. */
function* wordsOf(pieces: readonly Piece[]): Generator<readonly Piece[]> {
  let word: Piece[] = []
  for (const { text, styles } of pieces) {
    for (const part of text.split(/(\s+)/)) {
      if (part === "") continue
      if (part.trim() === "") {
        if (word.length > 0) yield word
        word = []
        yield [{ text: part, styles }]
      } else word.push({ text: part, styles })
    }
  }
  if (word.length > 0) yield word
}
