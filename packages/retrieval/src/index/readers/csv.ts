/**
 * Reads tables in text files. Each row becomes a line with the names of its columns ("name: Ada; city: London"), so that
 * it is understandable alone. Malformed rows are read as far as possible.
 */
import type { Part } from "../chunks.ts"
import type { TextSource } from "./text-file.ts"

interface Row {
  readonly cells: readonly string[]
  /** The line on which it begins. */
  readonly line: number
}

/** Limits of a row, whatever the file contains. */
const MAX_COLUMNS = 10_000
const MAX_ROW_LENGTH = 256 * 1_024
/** Limits a quote that is never closed. */
const MAX_QUOTED_LENGTH = 64 * 1_024

export async function* readCsv(
  source: TextSource,
  options: { readonly delimiter?: string | undefined; readonly signal?: AbortSignal | undefined } = {},
): AsyncGenerator<Part> {
  let names: readonly string[] | undefined
  for await (const { cells, line } of rowsOf(source, options)) {
    if (names === undefined) {
      names = cells.map(tidy)
      continue
    }
    const text = rowText(names, cells)
    if (text !== "") yield { text: `${text}\n`, line }
  }
}

function rowText(names: readonly string[], cells: readonly string[]): string {
  return cells
    .map((cell, at) => [names[at] || `column ${at + 1}`, tidy(cell)] as const)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}: ${value}`)
    .join("; ")
}

function tidy(cell: string): string {
  return cell.replace(/\s+/g, " ").trim()
}

async function* rowsOf(
  source: TextSource,
  {
    delimiter,
    signal,
  }: { readonly delimiter?: string | undefined; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<Row> {
  let parser: RowParser | undefined
  let before = ""
  for await (const piece of source.pieces(signal)) {
    if (parser === undefined) {
      before += piece
      if (delimiter === undefined && !/[\r\n]/.test(before) && before.length < MAX_QUOTED_LENGTH) continue
      parser = rowParser(delimiter ?? likelyDelimiter(before))
      yield* parser.take(before)
    } else yield* parser.take(piece)
  }
  parser ??= rowParser(delimiter ?? likelyDelimiter(before))
  yield* parser.end(before)
}

/** The most frequent delimiter of the first line, outside of quotes. */
function likelyDelimiter(text: string): string {
  const first = (/^[^\r\n]*/.exec(text)?.[0] ?? "").replace(/"[^"]*"/g, "")
  const counts = [",", ";", "\t", "|"].map((character) => [first.split(character).length, character] as const)
  return counts.reduce((best, one) => (one[0] > best[0] ? one : best))[1]
}

interface RowParser {
  take(text: string): Generator<Row>
  /** `unread` is the text that was not consumed. */
  end(unread: string): Generator<Row>
}

function rowParser(delimiter: string): RowParser {
  let cells: string[] = []
  let cell = ""
  let [line, begins, quoted, held] = [1, 1, 0, 0]
  /** Outside of quotes; inside; or after a quote inside, which closes them or is the first of two. */
  let state: "plain" | "quoted" | "quote" = "plain"
  let isTaken = false
  /** A carriage return that no line feed follows also ends a line, as on old Macs. */
  let isReturn = false

  const endCell = () => {
    if (cells.length < MAX_COLUMNS) cells.push(cell)
    cell = ""
  }
  const add = (character: string) => {
    if (held >= MAX_ROW_LENGTH) return
    cell += character
    held += 1
  }
  function* endRow(): Generator<Row> {
    endCell()
    if (cells.some((one) => one.trim() !== "")) yield { cells, line: begins }
    cells = []
    held = 0
    begins = line
  }

  function* take(text: string): Generator<Row> {
    isTaken = true
    for (const character of text) {
      if (isReturn && character !== "\n") {
        line += 1
        yield* endRow()
      }
      isReturn = character === "\r" && state !== "quoted"
      if (character === "\n") line += 1
      if (state === "quoted") {
        quoted += 1
        if (character === '"') state = "quote"
        else add(character)
        if (quoted > MAX_QUOTED_LENGTH && character === "\n") {
          state = "plain"
          yield* endRow()
        }
      } else if (state === "quote" && character === '"') {
        add('"')
        state = "quoted"
      } else {
        state = "plain"
        if (character === '"' && cell.trim() === "") {
          cell = ""
          quoted = 0
          state = "quoted"
        } else if (character === delimiter) endCell()
        else if (character === "\n") yield* endRow()
        else if (character !== "\r") add(character)
      }
    }
  }

  return {
    take,
    *end(unread) {
      if (!isTaken) yield* take(unread)
      if (cell !== "" || cells.length > 0) yield* endRow()
    },
  }
}
